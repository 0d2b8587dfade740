// SPDX-License-Identifier: MIT
// Entries of a compact table are within the error that its header states, in every instruction set, at all positions
// below 2^22 and at random ones up to 10^7, the largest errors printed; ten million positions fit into 4 MiB; and what
// a compact table cannot be or does not hold is refused in a sentence.
#include <rope/compact_cos_sin_cache.hpp>
#include <rope/core.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <random>
#include <string>
#include <type_traits>
#include <vector>

#include "support/catch.hpp"
#include "support/data.hpp"
#include "support/exact/compact.hpp"
#include "support/exact/mpfr.hpp"
#include "support/isas.hpp"
#include "support/refusal.hpp"

using rope::CompactCosSinCache;
using rope::Config;
using rope::CosSinCache;
using rope::Index;
using rope::Layout;
using support::Expanded;
using support::Real;
using support::refusal;
using support::size;

namespace {

constexpr Index kMany = 10'000'000;

Config config_of(Index head_dim, double base = 1e4, double m = 1.0) {
    Config config;
    config.head_dim = head_dim;
    config.base = base;
    config.attention_factor = m;
    return config;
}

/// The largest of some errors. They are compared as integers, so that a NaN is the largest of all, even with
/// -ffast-math.
struct Worst {
    std::uint64_t bits = 0;
    long long count = 0;

    void add(double error) {
        bits = std::max(bits, rope::detail::bit_cast<std::uint64_t>(std::fabs(error)));
        ++count;
    }
    bool within(double bound) const { return bits <= rope::detail::bit_cast<std::uint64_t>(bound); }
    void check(const std::string& name, double unit, double bound) const {
        std::printf("%-62s %6.4f <= %.2f  (%lld entries)\n", name.c_str(), rope::detail::bit_cast<double>(bits) / unit,
                    bound, count);
        std::fflush(stdout);
        CHECK(count > 0);
        CHECK(within(bound * unit));
    }
};

// ---- Entries as a call uses them: turned are (1, 0), (1, 0), ..., which become (cos, sin). ----

template <class T>
class Entries {
 public:
    Entries(const CompactCosSinCache<T>& table, const rope::Positions& positions, Index tokens)
        : d_(table.head_dim()), x_(size(tokens * d_)) {
        for (Index i = 0; i < tokens * d_; ++i) x_[size(i)] = i % d_ < d_ / 2 ? T(1) : T(0);
        rope::apply<Layout::half_split>(rope::view(x_.data(), tokens, 1, d_), table, positions);
    }
    const T* cos(Index token) const { return &x_[size(token * d_)]; }
    const T* sin(Index token) const { return cos(token) + d_ / 2; }

 private:
    Index d_;
    std::vector<T> x_;
};

/// cos and sin in double, of 2048 * block + row for any block and row; right to 2^-50, as the sum of two angles.
class Oracle {
 public:
    explicit Oracle(const Config& config)
        : rows_(config, kRows), blocks_(scaled(rope::frequencies(config)), (kMany + kRows - 1) / kRows) {}

    /// f(pair, cos, sin) for every pair.
    template <class F>
    void at(Index position, F&& f) const {
        const Index block = position / kRows, row = position % kRows;
        const double* const c1 = blocks_.cos_row(block);
        const double* const s1 = blocks_.sin_row(block);
        const double* const c2 = rows_.cos_row(row);
        const double* const s2 = rows_.sin_row(row);
        for (Index i = 0; i < rows_.pairs(); ++i) f(i, c1[i] * c2[i] - s1[i] * s2[i], s1[i] * c2[i] + c1[i] * s2[i]);
    }

 private:
    static constexpr Index kRows = 2048;
    static rope::Frequencies scaled(rope::Frequencies f) {
        f.attention_factor = 1.0;
        for (rope::List<double>* list : {&f.inv_freq, &f.inv_freq_low})
            for (double& w : *list) w *= static_cast<double>(kRows);
        return f;
    }
    CosSinCache<double> rows_, blocks_;  // rows_ have the magnitude
};

void add_errors(Worst& worst, const Entries<float>& entries, const Oracle& oracle, Index token, Index position) {
    const float* const c = entries.cos(token);
    const float* const s = entries.sin(token);
    oracle.at(position, [&](Index i, double cos, double sin) {
        worst.add(static_cast<double>(c[i]) - cos);
        worst.add(static_cast<double>(s[i]) - sin);
    });
}

}  // namespace

TEST_CASE("ten million positions fit into 4 MiB") {
    const auto begin = std::chrono::steady_clock::now();
    const CompactCosSinCache<float> table(config_of(128), kMany);
    const double ms = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count() * 1e3;
    std::printf("10^7 positions of 64 pairs in float: %.2f MiB, built in %.1f ms\n",
                static_cast<double>(table.bytes()) / (1 << 20), ms);
    CHECK(table.bytes() <= size(4 << 20));
    CHECK(CompactCosSinCache<double>(config_of(128), kMany).bytes() == 2 * table.bytes());
    // No more rows than 2.5 times the square root, and no fewer than twice that.
    for (Index n = 1; n < (Index(1) << 40); n = n * 3 / 2 + 1) {
        const CompactCosSinCache<float> t(config_of(2), n);
        const double rows = static_cast<double>(t.bytes()) / 8, root = std::sqrt(static_cast<double>(n));
        CAPTURE(n, rows);
        CHECK(rows <= 2.5 * root + 1);
        CHECK(rows >= 2 * root - 1);
    }
}

TEST_CASE("entries at all positions below 2^22") {
    const Config config = config_of(128);
    const CompactCosSinCache<float> table(config, kMany);
    const Oracle oracle(config);
    constexpr Index at_once = 4096;
    // compact_tables_in_calls shows that each class has one sequence of bits.
    support::for_each_class_of_bits([&](const char* isa) {
        Worst worst;
        for (Index first = 0; first < (Index(1) << 22); first += at_once) {
            const Entries<float> entries(table, rope::start_at(first), at_once);
            for (Index t = 0; t < at_once; ++t) add_errors(worst, entries, oracle, t, first + t);
        }
        worst.check(std::string("all positions below 2^22, ") + isa + ", units of 2^-23", 0x1p-23,
                    support::most_error(1.0));
        CHECK(worst.within(CompactCosSinCache<float>::kMaxError));
    });
}

TEST_CASE("entries at a million random positions below 10^7") {
    constexpr Index at_once = 4000;
    for (const double base : {1e4, 1e6})
        for (const double m : {1.0, 0.25, 1.0 + 0x1p-20, 1.1, 1.3465735902799727, 1.9}) {
            const Config config = config_of(128, base, m);
            const CompactCosSinCache<float> table(config, kMany);
            const Oracle oracle(config);
            support::for_each_class_of_bits([&](const char* isa) {
                std::mt19937_64 random(5);
                Worst worst;
                std::vector<Index> ids(size(at_once));
                for (int call = 0; call < (m == 1.0 && base == 1e4 ? 250 : 25); ++call) {
                    for (Index& id : ids) id = static_cast<Index>(random() % static_cast<std::uint64_t>(kMany));
                    const Entries<float> entries(table, ids, at_once);
                    for (Index t = 0; t < at_once; ++t) add_errors(worst, entries, oracle, t, ids[size(t)]);
                }
                char name[96];
                std::snprintf(name, sizeof(name), "random positions, base %g, m %.3g, %s, units of 2^-23 m", base, m,
                              isa);
                worst.check(name, 0x1p-23 * m, support::most_error(m));
            });
        }
}

TEMPLATE_TEST_CASE("entries against the real formula, near, far and negative", "", float, double) {
    struct Window {
        Index first, count;
    };
    for (const double m : {1.0, 1.1}) {
        Worst worst[2];
        for (const double base : {1e4, 5e5, 1e6})
            for (const auto& [first, count] :
                 {Window{0, 1}, Window{0, 5}, Window{0, kMany}, Window{-kMany, 2 * kMany},
                  Window{(Index(1) << 31) - 1000, 1000}, Window{-(Index(1) << 31), 70000}, Window{-17, 40}}) {
                const Config config = config_of(128, base, m);
                const CompactCosSinCache<TestType> table(config, count, first);
                CHECK(table.first_position() == first);
                CHECK(table.max_positions() == count);
                constexpr Index tokens = 200;
                std::mt19937_64 random(3);
                std::vector<Index> ids = {first, first + count - 1};
                while (ids.size() < size(tokens))
                    ids.push_back(first + static_cast<Index>(random() % static_cast<std::uint64_t>(count)));
                std::vector<Entries<TestType>> entries[2];
                support::for_each_class_of_bits(
                    [&](const char*) { entries[rope::detail::active_isa_has_fma()].emplace_back(table, ids, tokens); });
                for (Index i = 0; i < 64; ++i) {
                    const Real w = support::inverse_frequency(base, i, 128, 1.0);
                    for (Index t = i % 3; t < tokens; t += 3) {
                        const support::RealCosSin real = support::cos_sin(ids[size(t)], w);
                        const auto add = [&](Worst& to, TestType entry, const Real& exact) {
                            to.add((Real(static_cast<double>(entry)) - Real(m) * exact).to_double());
                        };
                        for (const bool has_fma : {false, true})
                            for (const Entries<TestType>& e : entries[has_fma]) {
                                add(worst[has_fma], e.cos(t)[i], real.cos);
                                add(worst[has_fma], e.sin(t)[i], real.sin);
                            }
                    }
                }
            }
        const std::string name = std::is_same_v<TestType, float> ? "float" : "double";
        for (const bool has_fma : {false, true}) {
            if (worst[has_fma].count == 0) continue;  // the machine has no such set
            worst[has_fma].check(name + " against MPFR, m " + (m == 1.0 ? "1" : "1.1") +
                                     (has_fma ? ", with fma" : ", without fma") + ", units of u m",
                                 support::kCompactUnit<TestType> * m, support::most_error(m));
        }
    }
}

TEMPLATE_TEST_CASE("tables of every small length", "", float, double) {
    // Where a table ends beside a coarse row, and where the number of fine rows doubles.
    for (Index count = 1; count <= 300; ++count) {
        const Index first = count % 3 == 0 ? 0 : -5 * count;
        const rope::Frequencies f = rope::frequencies(config_of(10, 100.0));
        const CompactCosSinCache<TestType> table(f, count, {}, first);
        const CosSinCache<TestType> full(f, count, {}, first);
        CAPTURE(count, first);
        for (const bool has_fma : {false, true}) {
            const Expanded<TestType> plain(table, has_fma);
            Worst worst;
            for (std::size_t i = 0; i < plain.rows().size(); ++i)
                worst.add(static_cast<double>(plain.rows()[i]) - static_cast<double>(full.data()[i]));
            // The full table's own error comes on top.
            REQUIRE(worst.within((support::most_error(1.0) + 0.51) * support::kCompactUnit<TestType>));
            if (!has_fma) continue;
            // The same rows, one by one.
            std::vector<TestType> row(10);
            for (Index k = 0; k < count; ++k) {
                table.row(first + k, row.data(), row.data() + 5);
                REQUIRE(std::equal(row.begin(), row.end(), plain.rows().begin() + 10 * k));
            }
        }
    }
}

TEST_CASE("copies share the table, and outlive what they were copied from") {
    std::vector<float> row(8), again(8);
    const CompactCosSinCache<float> copy = [&] {
        Config config = config_of(8);
        config.layout = Layout::half_split;
        const CompactCosSinCache<float> table(config, 1000, -3);
        table.row(500, row.data(), row.data() + 4);
        return CompactCosSinCache<float>(table);
    }();
    copy.row(500, again.data(), again.data() + 4);
    CHECK(row == again);
    CHECK(copy.layout() == Layout::half_split);
    CHECK(copy.first_position() == -3);
    CompactCosSinCache<float> other(config_of(4), 7);
    other = copy;
    CHECK(other.bytes() == copy.bytes());
    CHECK(other.head_dim() == 8);
    CHECK(other.attention_factor() == 1.0);
    CHECK_FALSE(other.magnitude_grows());
}

// ---- Refusals ----

TEMPLATE_TEST_CASE("what a compact table cannot be is refused in a sentence", "", float, double) {
    using Table = CompactCosSinCache<TestType>;
    const auto message = [](auto&&... arguments) {
        const support::Refusal r = refusal([&] { Table table(arguments...); });
        if (r.message != "(accepted)") CHECK(r.code == rope::StatusCode::invalid_argument);
        return r.message;
    };
    const std::string fine = "(accepted)";
    const Index most = std::numeric_limits<Index>::max();
    CHECK(message(config_of(7), 4) ==
          "head_dim is 7; it must be even, because all of it rotates where rotary_dim is 0. For a part of it, set "
          "rotary_dim.");
    CHECK(message(config_of(8), 0) == "max_positions is 0; it must be at least 1.");
    CHECK(message(config_of(8), most - 1, -most) ==
          "first_position is -9223372036854775807; the 9223372036854775806 positions from there must lie between -2^62 "
          "and 2^62.");
    CHECK(message(config_of(8), 5, (Index(1) << 62) - 4) ==
          "first_position is 4611686018427387900; the 5 positions from there must lie between -2^62 and 2^62.");
    CHECK(message(config_of(8), 4, (Index(1) << 62) - 4) == fine);
    CHECK(message(config_of(8), 4, -(Index(1) << 62)) == fine);
    CHECK(message(config_of(2048), 4) == fine);
    CHECK(message(config_of(6000), 4) == fine);
    const Index huge = Index(1) << 62;
    const support::Refusal missing = support::refusal([&] { CompactCosSinCache<TestType> c(config_of(2048), huge); });
    CHECK(missing.code == rope::StatusCode::out_of_memory);
    CHECK(missing.message ==
          "There is no memory for 4294967296 rows of 2048 entries of " + std::to_string(sizeof(TestType)) + " bytes.");
    Config xpos = config_of(8);
    xpos.schedule = rope::schedule::Xpos();
    CHECK(message(xpos, 4) ==
          "The magnitude grows with the position (xPos, log_growth); a compact table has one for all positions: use "
          "CosSinCache or Rows.");
    CHECK(message(rope::Frequencies(), 4) == "inv_freq has 0 entries; it must have one per pair, from 1 to 524288.");
    CHECK(message(rope::Frequencies{{1.0}, {}, 1.0}, 4, rope::HeadSlice{6, 5}) ==
          "rotary_offset is 5; it must be from 0 to 4, so that 2 rotated features fit into head_dim (6).");

    Config dynamic = config_of(8);
    dynamic.schedule = rope::schedule::DynamicNtk{2.0, 100};
    CHECK(message(dynamic, 100) == fine);
    CHECK(message(dynamic, 101) == refusal([&] { CosSinCache<TestType> table(dynamic, 101); }).message);
    CHECK(message(dynamic, 101, 0, 101) == fine);
    CHECK(message(dynamic, 1, 100, 50) == refusal([&] { CosSinCache<TestType> table(dynamic, 1, 100, 50); }).message);
    CHECK(message(dynamic, 101) != fine);
    CHECK(message(dynamic, 4, 0, -1) == "seq_len is -1; it must be from 0 to 2^40.");
}

TEST_CASE("positions and layouts that a compact table does not have are refused, and nothing is written") {
    Config config = config_of(8);
    config.layout = Layout::half_split;
    const CompactCosSinCache<float> table(config, 1000, -20);
    const std::vector<float> before = support::normal<float>(4 * 8, 1);
    std::vector<float> x = before;
    const auto view = rope::view(x.data(), 4, 1, 8);
    const auto says = [&](auto&& call, rope::StatusCode code, const std::string& sentence) {
        const support::Refusal r = refusal(call);
        CHECK(r.message == sentence);
        CHECK(r.code == code);
        CHECK(x == before);
    };
    using rope::StatusCode;
    const std::vector<int> ids = {0, 979, 980, -20}, below = {0, -21, 4, 3};
    says([&] { rope::apply<Layout::half_split>(view, table, ids); }, StatusCode::out_of_range,
         "positions[2] is 980; this cache holds positions -20 to 979.");
    says([&] { rope::apply<Layout::half_split>(view, table, below); }, StatusCode::out_of_range,
         "positions[1] is -21; this cache holds positions -20 to 979.");
    says([&] { rope::apply<Layout::interleaved>(view, table); }, StatusCode::invalid_argument,
         "layout is interleaved; the cache of x was made from a Config whose layout is half_split.");
    for (const Index position : {Index(-21), Index(980), std::numeric_limits<Index>::max()})
        says([&] { table.row(position, x.data(), x.data() + 4); }, StatusCode::out_of_range,
             "position is " + std::to_string(position) + "; this cache holds positions -20 to 979.");
    const std::vector<int> ends = {-20, 979, 0, 1};
    CHECK(refusal([&] { rope::apply<Layout::half_split>(view, table, ends); }).message == "(accepted)");
    CHECK(x != before);
    CHECK(std::string(rope::check<Layout::half_split>(view, table, ids).message()) ==
          "positions[2] is 980; this cache holds positions -20 to 979.");
}
