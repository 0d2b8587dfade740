// SPDX-License-Identifier: MIT
// A key that was rotated at one position and is moved to another is, within the stated error, the original key rotated
// there: by a delta, from ids to ids, from schedule to schedule, on several axes, in any view and type. Its magnitude
// is in it once. Many small moves stay within the stated error, and one move from where a key was rotated is exact
// however often it has moved. The largest errors are printed.
#include <rope/reposition.hpp>
#include <rope/rows.hpp>

#include <rope/detail/kernels/interface.hpp>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <functional>
#include <random>
#include <type_traits>
#include <utility>
#include <vector>

#include "support/catch.hpp"
#include "support/data.hpp"
#include "support/exact/mpfr.hpp"
#include "support/exact/oracle.hpp"
#include "support/exact/schedules.hpp"
#include "support/strided.hpp"

using rope::AxisMap;
using rope::AxisPositions;
using rope::Config;
using rope::Index;
using rope::Layout;
using rope::Moves;
using support::Real;
using support::same_bits;
using support::size;
using support::TableOf;
namespace schedule = rope::schedule;

namespace {

constexpr Index kBatch = 2, kSeq = 7, kHeads = 2, kTokens = kBatch * kSeq;

template <class X>
const char* type_name() {
    return std::is_same_v<X, float>        ? "float"
           : std::is_same_v<X, double>     ? "double"
           : std::is_same_v<X, rope::half> ? "half"
                                           : "bfloat16";
}

/// A schedule, and the position of each token on each axis.
struct Stand {
    Config config;
    Index seq_len;
    std::vector<std::vector<double>> at;

    /// Magnitudes are what frequencies(...) say, which the tests of schedules compare with the formula.
    support::RealFrequencies formula() const {
        support::RealFrequencies f = support::real_frequencies(config, seq_len);
        f.magnitude = rope::frequencies(config, seq_len).attention_factor;
        return f;
    }
    /// All positions, axis after axis.
    template <class Number>
    std::vector<Number> ids() const {
        std::vector<Number> list;
        for (const std::vector<double>& axis : at)
            for (const double p : axis) list.push_back(static_cast<Number>(p));
        return list;
    }
};

/// cos and sin of a pair at a position, times its magnitude m.
struct Turn {
    Real cos, sin, m;
};
Turn turn(const support::RealFrequencies& f, Index pair, double position) {
    Real m = f.magnitude;
    if (!f.log_growth.empty()) m = m * exp((Real(position) - Real(f.centre)) * f.log_growth[size(pair)]);
    const support::RealCosSin unit = support::cos_sin(Real(position) * f.inv_freq[size(pair)]);
    return {unit.cos * m, unit.sin * m, m};
}
Turn between(const Turn& a, const Turn& b) {
    const Real square = a.m * a.m;
    return {(b.cos * a.cos + b.sin * a.sin) / square, (b.sin * a.cos - b.cos * a.sin) / square, b.m / a.m};
}

/// Features of a pair, exact, and how far what is stored may be from them.
struct Pair {
    Real a, b;
    double error_a, error_b;
};

/// The pair turned, with the error that apply.hpp allows, and `more` of both products.
template <class X>
Pair turned(const Pair& x, const Turn& t, const Pair& exact, double more) {
    using Storage = typename rope::ElementTraits<X>::storage;
    constexpr bool is_double = std::is_same_v<Storage, double>;
    const double u = is_double ? 0x1p-53 : 0x1p-24;
    if (is_double) more += 0.5;
    const double least = rope::detail::kSmallEntry * t.m.to_double();
    const double c = std::fabs(t.cos.to_double()), s = std::fabs(t.sin.to_double());
    const double a = std::fabs(x.a.to_double()) + x.error_a, b = std::fabs(x.b.to_double()) + x.error_b;
    const auto error = [&](double own, double other, double along, const Real& result) {
        const double size = std::fabs(result.to_double()) + along;
        const double computed =
            (rope::detail::own_term(rope::detail::active_isa_has_fma()) + more) * u * own * std::fmax(c, least) +
            (rope::detail::kOtherTerm + more) * u * other * std::fmax(s, least) + u * size + 0x1p-149;
        const double stored = support::Precision<Storage>::store * (size + computed);
        return (along + computed + stored + support::Precision<Storage>::store_min) * (1.0 + 0x1p-20);
    };
    return {exact.a, exact.b, error(a, b, c * x.error_a + s * x.error_b, exact.a),
            error(b, a, c * x.error_b + s * x.error_a, exact.b)};
}

/// The largest error of moved keys over its bound: that of the rotation which made them, turned along, and the move's.
template <class X>
double worst_over_bound(const rope::TensorView<X>& after, const std::vector<X>& original, Layout layout,
                        const AxisMap& map, const Stand& from, const Stand& to) {
    const support::RealFrequencies f = from.formula(), g = to.formula();
    const Index pairs = static_cast<Index>(f.inv_freq.size());
    const double more = f.magnitude == g.magnitude ? 0.0 : 1.0;  // their ratio is rounded to double, which double sees
    double worst = 0.0;
    for (Index token = 0; token < kTokens; ++token)
        for (Index i = 0; i < pairs; ++i) {
            const std::size_t axis = map.axis_of.empty() ? 0 : map.axis_of[size(i)];
            const Turn first = turn(f, i, from.at[axis][size(token)]), wanted = turn(g, i, to.at[axis][size(token)]);
            const Turn move = between(first, wanted);
            const bool interleaved = layout == Layout::interleaved;
            const Index j = from.config.rotary_offset + (interleaved ? 2 * i : i), k = j + (interleaved ? 1 : pairs);
            for (Index h = 0; h < after.heads; ++h) {
                const X* const head = &original[size((token * after.heads + h) * after.head_dim)];
                const Pair x = {support::to_double(head[j]), support::to_double(head[k]), 0.0, 0.0};
                const auto exact = [&x](const Turn& t) {
                    return Pair{x.a * t.cos - x.b * t.sin, x.a * t.sin + x.b * t.cos, 0.0, 0.0};
                };
                const Pair rotated = turned<X>(x, first, exact(first), 0.0);
                const Pair moved = turned<X>(rotated, move, exact(wanted), std::is_same_v<X, double> ? more : 0.0);
                const auto ratio = [&](Index feature, const Real& value, double bound) {
                    const double is = support::to_double(after(token / kSeq, token % kSeq, h, feature));
                    const double error = abs(Real(is) - value).to_double();
                    return rope::detail::is_finite(error) ? error / bound : 1e300;
                };
                worst = std::max({worst, ratio(j, moved.a, moved.error_a), ratio(k, moved.b, moved.error_b)});
            }
        }
    return worst;
}

/// A plain buffer, slices of a fused one, heads first, features in columns, tokens backwards.
std::vector<support::MemoryOrder> views() {
    std::vector<support::MemoryOrder> list(5);
    list[1].gap = 24;
    list[2].outer_to_inner = {0, 2, 1, 3};
    list[3].outer_to_inner = {0, 2, 3, 1};
    list[4].outer_to_inner = {1, 0, 2, 3};
    list[4].backwards = {false, true, true, false};
    return list;
}

/// Rotates keys where `from` says, lets move(layout, view) move them, and compares with the original ones at `to`.
template <class X, class Move>
void check_moved(double& worst_of_all, const Stand& from, const Stand& to, const AxisMap& map, const Move& move) {
    rope::Rows<TableOf<X>> rows(from.config, map, from.seq_len);
    const auto ids = from.ids<double>();
    rows.build(AxisPositions(ids.data(), map.axes, kTokens), kSeq, kBatch);
    const Index dim = from.config.head_dim, begin = from.config.rotary_offset, end = begin + rows.rotary_dim();
    const auto original = support::normal<X>(kTokens * kHeads * dim, 11);
    double worst = 0.0;
    for (const Layout layout : {Layout::interleaved, Layout::half_split})
        for (const support::MemoryOrder& order : views()) {
            support::StridedTensor<X> k({kBatch, kSeq, kHeads, dim}, order);
            k.set(original);
            rope::apply(layout, k.view(), rows);
            move(layout, k.view());
            CHECK(k.fence_is_intact());
            const auto after = k.elements();
            for (Index i = 0; i < kTokens * kHeads * dim; ++i)
                if (i % dim < begin || i % dim >= end)
                    REQUIRE(std::memcmp(&after[size(i)], &original[size(i)], sizeof(X)) == 0);
            worst = std::max(worst, worst_over_bound(k.view(), original, layout, map, from, to));
        }
    CHECK(worst <= 1.0);
    CHECK(worst > 0.01);
    worst_of_all = std::max(worst_of_all, worst);
}
template <class X>
void report(const char* what, double worst) {
    std::printf("%-8s keys, %-52s error up to %.3f of its bound\n", type_name<X>(), what, worst);
}

Config config_of(Index head_dim, Index rotary_dim = 0, Index rotary_offset = 0) {
    Config config = {head_dim, rotary_dim, rotary_offset};
    config.attention_factor = 1.25;
    return config;
}
Config with_schedule(Index head_dim, const rope::Schedule& s, double attention_factor = 1.0) {
    Config config = {head_dim};
    config.schedule = s;
    config.attention_factor = attention_factor;
    return config;
}

/// Unordered positions, with repeats.
std::vector<double> positions(unsigned seed, Index most) {
    std::mt19937_64 engine(seed);
    std::vector<double> list;
    for (Index i = 0; i < kTokens; ++i)
        list.push_back(static_cast<double>(engine() % static_cast<std::uint64_t>(most)));
    list[1] = list[0];
    return list;
}
std::vector<double> shifted(std::vector<double> list, double delta) {
    for (double& p : list) p += delta;
    return list;
}

}  // namespace

TEMPLATE_TEST_CASE("moved keys are the keys rotated at their new positions", "", float, double, rope::half,
                   rope::bfloat16) {
    double worst = 0.0;
    // The whole head; a slice at its beginning, in the middle, at its end; more pairs than are joined at once.
    for (const Config& config :
         {config_of(16), config_of(20, 12), config_of(20, 12, 4), config_of(20, 12, 8), config_of(140, 134, 6)}) {
        const Stand from = {config, 0, {positions(1, 5000)}};
        const auto old_ids = from.ids<int>();
        for (const Index delta : {Index(-1024), Index(100000)})
            check_moved<TestType>(worst, from, {config, 0, {shifted(from.at[0], static_cast<double>(delta))}}, {},
                                  [&](Layout layout, const auto& k) { rope::reposition(layout, k, config, delta); });
        Stand to = {config, 0, {positions(2, 9000)}};
        const auto new_ids = to.ids<unsigned short>();
        check_moved<TestType>(worst, from, to, {}, [&](Layout layout, const auto& k) {
            rope::reposition(layout, k, config, old_ids, new_ids);
        });
        to.config.base = 5e5;
        to.config.attention_factor = 0.7;
        check_moved<TestType>(worst, from, to, {}, [&](Layout layout, const auto& k) {
            rope::reposition(layout, k, config, old_ids, to.config, new_ids);
        });
    }
    report<TestType>("by a delta, from ids to ids, to another base", worst);
}

TEMPLATE_TEST_CASE("keys move on several axes, in whole numbers and fractions", "", float, double, rope::bfloat16) {
    double worst = 0.0;
    const Config config = config_of(152, 140, 4);
    AxisMap map = {3};
    for (Index i = 0; i < 70; ++i) map.axis_of.push_back(static_cast<unsigned char>(i * i % 3 + i % 2));
    const Stand from = {config, 0, {positions(1, 50), positions(2, 40), positions(3, 40)}};
    const auto old_at = from.ids<int>();
    for (const double fraction : {0.0, 0.375})
        for (const double base : {config.base, 5e5}) {
            Stand to = {config, 0, {shifted(from.at[0], 9), shifted(positions(4, 60), fraction), from.at[2]}};
            to.config.base = base;
            to.config.attention_factor = base == config.base ? 1.25 : 0.7;
            const auto new_at = to.ids<double>();
            Moves<TableOf<TestType>> one(config, map), two(config, 0, to.config, 0, map);
            Moves<TableOf<TestType>>& moves = base == config.base ? one : two;
            moves.build(AxisPositions(old_at.data(), 3, kTokens), AxisPositions(new_at.data(), 3, kTokens), kSeq,
                        kBatch);
            check_moved<TestType>(worst, from, to, map,
                                  [&](Layout layout, const auto& k) { rope::reposition(layout, k, moves); });
        }
    report<TestType>("on three axes", worst);
}

TEMPLATE_TEST_CASE("keys of one schedule become keys of another", "", float, double, rope::half) {
    double worst = 0.0;
    const schedule::DynamicNtk dynamic = {2.0, 64};
    schedule::LongRope longrope = {{1, 1.1, 1.2, 1.3, 1.5, 2, 3, 4}, {1, 2, 4, 8, 16, 20, 30, 40}, 64, 4096};
    longrope.short_mscale = 1.0625;
    longrope.long_mscale = 1.375;
    const auto xpos = [](double scale_base, double centre) {
        return schedule::Xpos{schedule::Xpos::Side::key, scale_base, centre};
    };
    struct Change {
        const char* name;
        Config before, after;
        Index length_before, length_after;
    };
    for (const Change& c :
         {Change{"dynamic NTK, longer", with_schedule(16, dynamic), with_schedule(16, dynamic), 64, 4096},
          {"LongRoPE, short to long", with_schedule(16, longrope), with_schedule(16, longrope), 64, 65},
          {"YaRN, another factor", with_schedule(16, schedule::Yarn{4.0, 64}, 1.5),
           with_schedule(16, schedule::Yarn{16.0, 64}), 0, 0},
          {"YaRN, from the default", with_schedule(16, schedule::Default()), with_schedule(16, schedule::Yarn{8.0, 64}),
           0, 0},
          {"xPos, another scale and centre", with_schedule(16, xpos(512, 10)), with_schedule(16, xpos(300, -20), 2.0),
           0, 0}})
        for (const bool is_moved : {false, true}) {
            CAPTURE(c.name, is_moved);
            const Stand from = {c.before, c.length_before, {positions(1, 64)}};
            const Stand to = {c.after, c.length_after, {is_moved ? positions(2, 64) : from.at[0]}};
            const auto old_ids = from.ids<int>(), new_ids = to.ids<int>();
            Moves<TableOf<TestType>> moves(c.before, c.length_before, c.after, c.length_after);
            moves.build(old_ids, new_ids, kSeq, kBatch);
            check_moved<TestType>(worst, from, to, {},
                                  [&](Layout layout, const auto& k) { rope::reposition(layout, k, moves); });
        }
    const Config config = with_schedule(16, xpos(512, 10), 1.5);
    const Stand from = {config, 0, {positions(1, 3000)}}, to = {config, 0, {positions(2, 3000)}};
    check_moved<TestType>(worst, from, to, {}, [&](Layout layout, const auto& k) {
        rope::reposition(layout, k, config, from.ids<int>(), to.ids<int>());
    });
    report<TestType>("from schedule to schedule", worst);
}

TEST_CASE("queries see moved keys as they would see new ones") {
    constexpr Index kDim = 64, kCount = 200;
    constexpr Layout layout = Layout::half_split;
    schedule::LongRope longrope = {std::vector<double>(32, 1.5), std::vector<double>(32, 4.0), 4096, 131072};
    longrope.short_mscale = 1.1;
    longrope.long_mscale = 1.4;
    const schedule::DynamicNtk dynamic = {4.0, 4096};
    struct Change {
        Config before, after;
        Index length_before, length_after;
    };
    for (const Change& c :
         {Change{with_schedule(kDim, dynamic), with_schedule(kDim, dynamic), 4096, 20000},
          {with_schedule(kDim, longrope), with_schedule(kDim, longrope), 4096, 20000},
          {with_schedule(kDim, schedule::Yarn{4.0, 4096}), with_schedule(kDim, schedule::Yarn{32.0, 4096}), 0, 0}}) {
        const rope::CosSinCache<float> before(c.before, 4096, 0, c.length_before);
        const rope::CosSinCache<float> after(c.after, 20000, 0, c.length_after);
        const auto original = support::normal<float>(kCount * kDim, 1);
        auto q = support::normal<float>(kDim, 2), moved = original, anew = original;
        const auto view = [](std::vector<float>& x, Index tokens) { return rope::view(x.data(), tokens, 1, kDim); };
        rope::apply<layout>(view(q, 1), after, rope::start_at(19000));
        rope::apply<layout>(view(moved, kCount), before, rope::start_at(3000));
        Moves<float> moves(c.before, c.length_before, c.after, c.length_after);
        CHECK(moves.attention_factor() == Approx(after.attention_factor() / before.attention_factor()));
        moves.build(rope::start_at(3000), rope::start_at(100), kCount);
        rope::reposition<layout>(view(moved, kCount), moves);
        rope::apply<layout>(view(anew, kCount), after, rope::start_at(100));
        for (Index t = 0; t < kCount; ++t) {
            double score = 0.0, wanted = 0.0, norm_q = 0.0, norm_k = 0.0;
            for (Index j = 0; j < kDim; ++j) {
                const double x = static_cast<double>(q[size(j)]);
                const double k = static_cast<double>(anew[size(t * kDim + j)]);
                score += x * static_cast<double>(moved[size(t * kDim + j)]);
                wanted += x * k;
                norm_q += x * x;
                norm_k += k * k;
            }
            // Three rotations stand between the two.
            CHECK(std::fabs(score - wanted) <= 3 * 4 * 0x1p-24 * std::sqrt(norm_q * norm_k));
        }
    }
}

TEMPLATE_TEST_CASE("many small moves stay within the stated error, and one move from the beginning is exact", "", float,
                   double, rope::half, rope::bfloat16) {
    constexpr Index kDim = 128, kCount = 16;
    constexpr Layout layout = Layout::interleaved;
    using T = TableOf<TestType>;
    const Config config = config_of(kDim);
    const auto original = support::normal<TestType>(kCount * kHeads * kDim, 5);
    const auto view = [](std::vector<TestType>& x) { return rope::view(x.data(), kCount, kHeads, kDim); };
    const double e = std::is_same_v<T, double> ? 6 * 0x1p-53 : 4 * 0x1p-24 + support::Precision<TestType>::store;
    auto often = original;
    Moves<T> step(config), moves(config);
    step.build(1);
    // Leaving the keys as they are, and counting.
    std::vector<int> rotated_at(size(kCount)), now_at(size(kCount));
    for (Index t = 0; t < kCount; ++t) rotated_at[size(t)] = now_at[size(t)] = static_cast<int>(1500 - 90 * t);
    for (int n = 1; n <= 1000; ++n) {
        rope::reposition<layout>(view(often), step);
        for (int& position : now_at) ++position;
        if (n != 1 && n != 10 && n != 100 && n != 1000) continue;
        auto once = original, late = original, kept = original;
        moves.build(n);
        rope::reposition<layout>(view(once), moves);
        moves.build(rotated_at, now_at, kCount);
        rope::apply_copy<layout>(view(kept), view(late), moves);
        CHECK(same_bits(late, once));
        CHECK(same_bits(kept, original));
        if (n == 1) CHECK(same_bits(often, once));
        double worst = 0.0;
        for (std::size_t at = 0; at < original.size(); at += 2) {
            const auto value = [at](const std::vector<TestType>& x, std::size_t i) {
                return support::to_double(x[at + i]);
            };
            const double r = std::hypot(value(original, 0), value(original, 1));
            const double difference = std::hypot(value(often, 0) - value(once, 0), value(often, 1) - value(once, 1));
            REQUIRE(difference <= r * (std::expm1(n * std::log1p(e)) + e));
            if (r > 0.01) worst = std::max(worst, difference / r);
        }
        std::printf("%-8s %4d moves of 1 against one: differ by %.3g of the norm\n", type_name<TestType>(), n, worst);
    }
}
