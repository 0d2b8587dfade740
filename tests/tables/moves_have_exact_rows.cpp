// SPDX-License-Identifier: MIT
// Entries of moves: within one schedule they have the bits of a table without magnitude at the distance, whatever the
// positions, the axes and the way in which they are said; between two schedules, at fractions and on mixed axes they
// are within the table's error of the formula. Executors make no difference, what is moved back is back, and from the
// second step on building allocates nothing. The largest errors are printed.
#include <rope/reposition.hpp>

#include <rapidcheck.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <limits>
#include <random>
#include <thread>
#include <vector>

#include "support/catch.hpp"
#include "support/count_allocations.hpp"
#include "support/data.hpp"
#include "support/exact/mpfr.hpp"
#include "support/jobs.hpp"

using rope::AxisMap;
using rope::AxisPositions;
using rope::Config;
using rope::CosSinCache;
using rope::Frequencies;
using rope::Index;
using rope::Layout;
using rope::Moves;
using support::Real;
using support::same_bits;
using support::size;

namespace {

constexpr Index kFar = Index(1) << 52;

Config config_of(Index head_dim, double base = 10000.0, double attention_factor = 1.25) {
    Config config = {head_dim};
    config.base = base;
    config.attention_factor = attention_factor;
    return config;
}

template <class T>
std::vector<T> row(const Moves<T>& moves, Index r) {
    std::vector<T> list(moves.cos_row(r), moves.cos_row(r) + moves.pairs());
    list.insert(list.end(), moves.sin_row(r), moves.sin_row(r) + moves.pairs());
    return list;
}
template <class T>
std::vector<T> all_rows(const Moves<T>& moves) {
    std::vector<T> list;
    for (Index r = 0; r < moves.rows(); ++r)
        for (const T x : row(moves, r)) list.push_back(x);
    return list;
}
/// What a table has at a distance.
template <class T>
std::vector<T> table_row(Frequencies f, Index distance) {
    f.attention_factor = 1.0;
    f.centre = 0.0;
    const CosSinCache<T> table(f, 1, {}, distance);
    return std::vector<T>(table.data(), table.data() + 2 * table.pairs());
}

Real real(double high, const std::vector<double>& low, Index i) {
    return Real(high) + Real(low.empty() ? 0.0 : low[size(i)]);
}
Real real_frequency(const Frequencies& f, Index i) { return real(f.inv_freq[size(i)], f.inv_freq_low, i); }

/// The largest error of a row whose angles and magnitudes are exact(i), in ulp of max(|entry|, m * 2^-10).
template <class T, class Exact>
double worst_ulp(const std::vector<T>& entries, const Exact& exact) {
    const Index pairs = static_cast<Index>(entries.size()) / 2;
    double worst = 0.0;
    for (Index i = 0; i < pairs; ++i) {
        const auto [angle, m] = exact(i);
        const support::RealCosSin unit = support::cos_sin(angle);
        for (const bool is_sin : {false, true}) {
            const Real wanted = (is_sin ? unit.sin : unit.cos) * m;
            const double is = static_cast<double>(entries[size(is_sin ? pairs + i : i)]);
            const long exponent = mpfr_get_exp(support::max(abs(wanted), scaled(m, -10)).get());
            const double ulp = scaled(abs(Real(is) - wanted), std::numeric_limits<T>::digits - exponent).to_double();
            worst = rope::detail::is_finite(ulp) ? std::max(worst, ulp) : 1e300;
        }
    }
    return worst;
}
struct AngleAndMagnitude {
    Real angle, m;
};

template <class T>
void report(const char* what, double worst) {
    std::printf("%-6s %-52s %.6f ulp\n", sizeof(T) == 4 ? "float" : "double", what, worst);
    CHECK(worst <= CosSinCache<T>::kMaxUlpError);
    CHECK(worst > 0.4);
}

/// Three axes, the pairs of which are not side by side.
AxisMap dealt(Index pairs) { return rope::mrope_interleaved({pairs - pairs / 3 * 2, pairs / 3, pairs / 3}); }

/// Pieces of random sizes in random order, on three threads.
struct OnThreads {
    std::mt19937_64 engine{7};
    Index largest = 0;
    template <class F>
    void operator()(Index count, F&& f) {
        largest = std::max(largest, count);
        const auto pieces = support::random_pieces(count, 20, engine);
        std::vector<std::thread> threads;
        for (std::size_t t = 0; t < 3; ++t)
            threads.emplace_back([&f, &pieces, t] {
                for (std::size_t i = t; i < pieces.size(); i += 3) f(pieces[i].first, pieces[i].second);
            });
        for (std::thread& t : threads) t.join();
    }
};

}  // namespace

TEMPLATE_TEST_CASE("within one schedule, the bits are those of a table at the distance", "", float, double) {
    std::vector<Config> configs = {config_of(128), config_of(14, 5e5, 0.5)};
    configs.push_back(config_of(10));
    configs.back().schedule = rope::schedule::Xpos{rope::schedule::Xpos::Side::key, 512.0, 77.5};
    for (const Config& config : configs) {
        const Frequencies f = rope::frequencies(config);
        const bool grows = !f.log_growth.empty();
        Moves<TestType> moves(config), of_axes(config, dealt(config.head_dim / 2));
        CHECK(moves.attention_factor() == 1.0);
        CHECK(moves.magnitude_grows() == grows);
        const bool ok = rc::check("rows of moves == rows of tables", [&] {
            const Index most = grows ? 10000 : kFar;
            const auto position = rc::gen::inRange<Index>(-most, most + 1);
            const auto old_ids = *rc::gen::container<std::vector<Index>>(5, position);
            const auto new_ids = *rc::gen::container<std::vector<Index>>(5, position);
            moves.build(old_ids, new_ids, 5);
            std::vector<Index> old_axes, new_axes;
            for (int axis = 0; axis < 3; ++axis) {
                old_axes.insert(old_axes.end(), old_ids.begin(), old_ids.end());
                new_axes.insert(new_axes.end(), new_ids.begin(), new_ids.end());
            }
            of_axes.build(AxisPositions(old_axes.data(), 3, 5), AxisPositions(new_axes.data(), 3, 5), 5);
            RC_ASSERT(moves.rows() == 5);
            for (Index t = 0; t < 5; ++t) {
                const auto wanted = table_row<TestType>(f, new_ids[size(t)] - old_ids[size(t)]);
                RC_ASSERT(same_bits(row(moves, t), wanted));
                RC_ASSERT(same_bits(row(of_axes, t), wanted));
            }
            const Index delta = new_ids[0] - old_ids[0];
            for (Moves<TestType>* each : {&moves, &of_axes}) {
                each->build(delta);
                RC_ASSERT(each->rows() == 1);
                RC_ASSERT(same_bits(row(*each, 0), table_row<TestType>(f, delta)));
            }
        });
        CHECK(ok);
    }
    // A fraction that stays is no distance.
    Moves<TestType> moves(config_of(16));
    const double from[] = {3.25, -7.75}, to[] = {1000.25, -100.75};
    moves.build(AxisPositions(from, 1, 2), AxisPositions(to, 1, 2), 2);
    CHECK(same_bits(row(moves, 0), table_row<TestType>(rope::frequencies(config_of(16)), 997)));
    CHECK(same_bits(row(moves, 1), table_row<TestType>(rope::frequencies(config_of(16)), -93)));
    // Each entry of a batch has rows of its own; positions that the batch shares make them equal.
    const std::vector<int> old_ids = {1, 2, 3}, new_ids = {5, 5, 5, 9, 9, 9};
    moves.build(old_ids, new_ids, 3, 2);
    for (Index t = 0; t < 6; ++t)
        CHECK(same_bits(row(moves, t), table_row<TestType>(rope::frequencies(config_of(16)),
                                                           new_ids[size(t)] - old_ids[size(t % 3)])));
}

TEMPLATE_TEST_CASE("deltas move each token by a number of its own", "", float, double) {
    std::vector<Config> configs = {config_of(128), config_of(14, 5e5, 0.5)};
    configs.push_back(config_of(10));
    configs.back().schedule = rope::schedule::Xpos{rope::schedule::Xpos::Side::key, 512.0, 77.5};
    for (const Config& config : configs) {
        const Frequencies f = rope::frequencies(config);
        Moves<TestType> moves(config), between(config), of_axes(config, dealt(config.head_dim / 2));
        const bool ok = rc::check("rows of deltas == rows of tables == rows from positions to positions", [&] {
            const Index most = f.log_growth.empty() ? 2 * kFar : 10000;
            const auto deltas = *rc::gen::container<std::vector<Index>>(6, rc::gen::inRange<Index>(-most, most + 1));
            moves.build(deltas, 3, 2);
            of_axes.build(deltas, 6);
            RC_ASSERT(moves.rows() == 6);
            for (Index t = 0; t < 6; ++t) {
                const auto wanted = table_row<TestType>(f, deltas[size(t)]);
                RC_ASSERT(same_bits(row(moves, t), wanted));
                RC_ASSERT(same_bits(row(of_axes, t), wanted));
            }
            // From positions to positions that lie as far apart.
            std::vector<Index> from, to;
            for (const Index delta : deltas) {
                to.push_back(delta / 2);
                from.push_back(delta / 2 - delta);
            }
            between.build(from, to, 3, 2);
            RC_ASSERT(same_bits(all_rows(moves), all_rows(between)));
        });
        CHECK(ok);
    }
    // Lists of every type; one for all entries of a batch.
    Moves<TestType> moves(config_of(16)), of_one(config_of(16));
    const auto wanted = [&](std::initializer_list<int> list) {
        std::vector<TestType> all;
        for (const int delta : list)
            for (const TestType x : table_row<TestType>(rope::frequencies(config_of(16)), delta)) all.push_back(x);
        return all;
    };
    moves.build(std::vector<int>{-3, 0, 7}, 3, 2);
    CHECK(same_bits(all_rows(moves), wanted({-3, 0, 7, -3, 0, 7})));
    moves.build(std::vector<std::int8_t>{-128, 127}, 2);
    CHECK(same_bits(all_rows(moves), wanted({-128, 127})));
    moves.build(std::vector<std::uint16_t>{1, 65535}, std::size_t(2));
    CHECK(same_bits(all_rows(moves), wanted({1, 65535})));
    moves.build({5, -5}, 2);
    CHECK(same_bits(all_rows(moves), wanted({5, -5})));
    const short list[] = {9, -9};
    moves.build(rope::ids(list, 2), 2);
    CHECK(same_bits(all_rows(moves), wanted({9, -9})));
    moves.build(std::vector<int>(), 0);
    CHECK(moves.rows() == 0);
    // The same delta for all is one move of all.
    const std::vector<TestType> keys = support::normal<TestType>(4 * 16, 3);
    std::vector<TestType> by_list = keys, by_one = keys;
    moves.build({-6, -6, -6, -6}, 4);
    of_one.build(-6);
    rope::reposition<Layout::half_split>(rope::view(by_list, 4, 1, 16), moves);
    rope::reposition<Layout::half_split>(rope::view(by_one, 4, 1, 16), of_one);
    CHECK(same_bits(by_list, by_one));
}

TEMPLATE_TEST_CASE("between two schedules, at fractions and on mixed axes, entries are within the table's error", "",
                   float, double) {
    const Index most = sizeof(TestType) == 4 ? Index(1) << 31 : Index(1) << 22;
    const Frequencies a = rope::frequencies(config_of(140)), b = rope::frequencies(config_of(140, 5e5, 0.7));
    std::mt19937_64 engine(3);
    constexpr Index kCount = 60;
    std::vector<Index> p, q;
    for (Index t = 0; t < kCount; ++t) {
        p.push_back(static_cast<Index>(engine() % static_cast<std::uint64_t>(most)));
        q.push_back(static_cast<Index>(engine() % static_cast<std::uint64_t>(most)));
    }
    Moves<TestType> two(a, b), one(a);
    const Real ratio = Real(two.attention_factor());
    CHECK(two.attention_factor() == 0.7 / 1.25);
    two.build(p, q, kCount);
    double worst = 0.0;
    for (Index t = 0; t < kCount; ++t)
        worst = std::max(worst, worst_ulp(row(two, t), [&](Index i) {
                             return AngleAndMagnitude{Real::integer(q[size(t)]) * real_frequency(b, i) -
                                                          Real::integer(p[size(t)]) * real_frequency(a, i),
                                                      ratio};
                         }));
    report<TestType>("between two schedules", worst);
    std::vector<Index> old_axes, new_axes;
    for (int axis = 0; axis < 3; ++axis) {
        old_axes.insert(old_axes.end(), p.begin(), p.end());
        new_axes.insert(new_axes.end(), q.begin(), q.end());
    }
    Moves<TestType> of_axes(a, b, dealt(70));
    of_axes.build(AxisPositions(old_axes.data(), 3, kCount), AxisPositions(new_axes.data(), 3, kCount), kCount);
    CHECK(same_bits(all_rows(of_axes), all_rows(two)));

    std::vector<double> from, to;
    for (Index t = 0; t < kCount; ++t) {
        from.push_back(std::ldexp(static_cast<double>(engine() >> 20), -24) - 1e5);
        to.push_back(std::ldexp(static_cast<double>(engine() >> 20), -24) - 1e5);
    }
    for (Moves<TestType>* moves : {&one, &two}) {
        const Frequencies& f = moves == &one ? a : b;
        moves->build(AxisPositions(from.data(), 1, kCount), AxisPositions(to.data(), 1, kCount), kCount);
        worst = 0.0;
        for (Index t = 0; t < kCount; ++t)
            worst = std::max(worst, worst_ulp(row(*moves, t), [&](Index i) {
                                 return AngleAndMagnitude{Real(to[size(t)]) * real_frequency(f, i) -
                                                              Real(from[size(t)]) * real_frequency(a, i),
                                                          Real(moves->attention_factor())};
                             }));
        report<TestType>(moves == &one ? "at fractions" : "at fractions, between two schedules", worst);
    }

    // Two axes of 35 pairs each: every pair turns by the sum.
    Moves<TestType> mixed(a, rope::mixed_axes(2)), mixed_two(a, b, rope::mixed_axes(2));
    for (Moves<TestType>* moves : {&mixed, &mixed_two}) {
        const Frequencies& f = moves == &mixed ? a : b;
        CHECK(moves->pairs() == 35);
        constexpr Index kHalf = kCount / 2;
        moves->build(AxisPositions(from.data(), 2, kHalf), AxisPositions(to.data(), 2, kHalf), kHalf);
        worst = 0.0;
        for (Index t = 0; t < kHalf; ++t)
            worst = std::max(worst, worst_ulp(row(*moves, t), [&](Index i) {
                                 Real angle = 0.0;
                                 for (Index axis = 0; axis < 2; ++axis)
                                     angle = angle +
                                             Real(to[size(axis * kHalf + t)]) * real_frequency(f, axis * 35 + i) -
                                             Real(from[size(axis * kHalf + t)]) * real_frequency(a, axis * 35 + i);
                                 return AngleAndMagnitude{angle, Real(moves->attention_factor())};
                             }));
        report<TestType>(moves == &mixed ? "on mixed axes" : "on mixed axes, between two schedules", worst);
    }
}

TEMPLATE_TEST_CASE("magnitudes that grow, between two schedules", "", float, double) {
    const auto xpos = [](double scale_base, double centre, double m) {
        Config config = config_of(24, 10000.0, m);
        config.schedule = rope::schedule::Xpos{rope::schedule::Xpos::Side::key, scale_base, centre};
        return rope::frequencies(config);
    };
    const Frequencies a = xpos(512, 100.25, 1.5), b = xpos(2048, -3000, 1.0);
    Moves<TestType> moves(a, b);
    CHECK(moves.magnitude_grows());
    for (const double part : {0.0, 0.375}) {
        const std::vector<double> p = {0, 4000, 17, 2500, -900}, q = {0, 4000, 100 + part, 64, -1};
        moves.build(AxisPositions(p.data(), 1, 5), AxisPositions(q.data(), 1, 5), 5);
        double worst = 0.0;
        for (Index t = 0; t < 5; ++t)
            worst = std::max(
                worst, worst_ulp(row(moves, t), [&](Index i) {
                    const auto growth = [i](const Frequencies& f, double at) {
                        return real(f.log_growth[size(i)], f.log_growth_low, i) * (Real(at) - Real(f.centre));
                    };
                    const double x = p[size(t)], y = q[size(t)];
                    return AngleAndMagnitude{Real(y) * real_frequency(b, i) - Real(x) * real_frequency(a, i),
                                             Real(moves.attention_factor()) * exp(growth(b, y) - growth(a, x))};
                }));
        report<TestType>("xPos, between two schedules", worst);
    }
}

TEMPLATE_TEST_CASE("executors make the same rows and the same keys", "", float, double) {
    constexpr Index kCount = 3000;
    std::vector<int> p, q;
    std::mt19937 engine(5);
    for (Index t = 0; t < kCount; ++t) {
        p.push_back(static_cast<int>(engine() % 1000000));
        q.push_back(static_cast<int>(engine() % 1000000));
    }
    const Config config = config_of(128), other = config_of(128, 5e5, 0.7);
    Moves<TestType> one(config), two(config, 0, other, 0), one_again(config), two_again(config, 0, other, 0);
    OnThreads executor;
    one.build(p, q, kCount);
    two.build(p, q, kCount);
    // In the order in which blocks are cut, more are needed than there is room for; then all are in their places.
    one_again.build(p, q, kCount, 1, executor);
    two_again.build(p, q, kCount, 1, executor);
    CHECK(same_bits(all_rows(one), all_rows(one_again)));
    CHECK(same_bits(all_rows(two), all_rows(two_again)));
    std::vector<int> deltas(p.size());
    for (std::size_t t = 0; t < p.size(); ++t) deltas[t] = q[t] - p[t];
    one_again.build(rope::start_at(0), rope::start_at(1), kCount);
    one_again.build(deltas, kCount, 1, executor);
    CHECK(same_bits(all_rows(one), all_rows(one_again)));
    executor.largest = 0;
    one_again.build(rope::start_at(5), rope::start_at(70), kCount, 1, executor);
    CHECK(executor.largest > 50);
    std::vector<double> from(p.begin(), p.begin() + 40), to(q.begin(), q.begin() + 40);
    for (double& x : to) x += 0.5;
    executor.largest = 0;
    one.build(AxisPositions(from.data(), 1, 40), AxisPositions(to.data(), 1, 40), 40);
    one_again.build(AxisPositions(from.data(), 1, 40), AxisPositions(to.data(), 1, 40), 40, 1, executor);
    CHECK(executor.largest >= 40);
    CHECK(same_bits(all_rows(one), all_rows(one_again)));

    auto k = support::normal<TestType>(kCount * 128, 1), same = k;
    rope::reposition<Layout::half_split>(rope::view(k.data(), kCount, 1, 128), config, p, other, q);
    executor.largest = 0;
    rope::reposition<Layout::half_split>(rope::view(same.data(), kCount, 1, 128), config, p, other, q, executor);
    CHECK(executor.largest > 50);
    CHECK(same_bits(k, same));
}

TEST_CASE("what is moved back is back, and a moved copy leaves the key") {
    Moves<float> moves(config_of(64), 0, config_of(64, 5e5, 0.7), 0);
    moves.build(rope::start_at(100), {7, 3, 12345, 0}, 4);
    const auto original = support::normal<float>(4 * 2 * 64, 1);
    auto k = original, copy = original;
    const auto view = rope::view(k.data(), 4, 2, 64);
    rope::apply_copy<Layout::interleaved>(view, rope::view(copy.data(), 4, 2, 64), moves);
    CHECK(same_bits(k, original));
    rope::reposition<Layout::interleaved>(view, moves);
    CHECK(same_bits(k, copy));
    CHECK_FALSE(same_bits(k, original));
    rope::apply_inverse<Layout::interleaved>(view, moves);
    for (std::size_t i = 0; i < k.size(); ++i) CHECK(k[i] == Approx(original[i]).margin(1e-5));
}

TEST_CASE("from the second step on building allocates nothing") {
    Moves<float> one(config_of(64)), two(config_of(64), 0, config_of(64, 5e5), 0);
    std::vector<int> p(100, 3), q(100, 5000);
    const auto step = [&](Index tokens) {
        for (Moves<float>* moves : {&one, &two})
            moves->build(rope::ids(p.data(), tokens), rope::ids(q.data(), tokens), tokens);
        one.build(tokens);
    };
    step(50);
    long before = support::allocations;
    for (const Index tokens : {50, 20, 1, 0, 50}) step(tokens);
    CHECK(support::allocations == before);
    step(51);  // twice the room
    before = support::allocations;
    step(100);
    CHECK(support::allocations == before);
}
