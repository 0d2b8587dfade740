// SPDX-License-Identifier: MIT
// xPos: tables whose magnitude grows with the position are as right as any, scores of their queries and keys depend on
// the distance alone and fall with it, and what would undo such a rotation is the other side's transpose.
#include <rope/core.hpp>
#include <rope/reference.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "support/catch.hpp"
#include "support/data.hpp"
#include "support/exact/mpfr.hpp"
#include "support/exact/schedules.hpp"
#include "support/refusal.hpp"

using rope::Config;
using rope::CosSinCache;
using rope::Index;
using rope::Layout;
using support::Real;
using support::size;
using Side = rope::schedule::Xpos::Side;

namespace {

Config xpos(Side side, double scale_base = 512.0, double centre = 0.0, Index head_dim = 32) {
    Config config = {head_dim};
    config.schedule = rope::schedule::Xpos{side, scale_base, centre};
    return config;
}

/// The largest error of a table's entries, in ulp of max(|exact|, M * 2^-10), M being the pair's magnitude there.
template <class T>
double worst_ulp(const Config& config, Index first, Index count) {
    const CosSinCache<T> table(config, count, first);
    const support::RealFrequencies f = support::real_frequencies(config);
    double worst = 0.0;
    for (Index p = first; p < first + count; ++p)
        for (Index i = 0; i < table.pairs(); ++i) {
            const Real growth = exp((Real::integer(p) - Real(f.centre)) * f.log_growth[size(i)]);
            const Real magnitude = f.magnitude * growth;
            const support::RealCosSin angle = support::cos_sin(p, f.inv_freq[size(i)]);
            const std::pair<T, Real> entries[] = {{table.cos_row(p)[i], magnitude * angle.cos},
                                                  {table.sin_row(p)[i], magnitude * angle.sin}};
            for (const auto& [entry, exact] : entries) {
                const Real unit = support::max(abs(exact), scaled(magnitude, -10));
                const long exponent = static_cast<long>(mpfr_get_exp(unit.get()));
                const Real error = abs(Real(static_cast<double>(entry)) - exact);
                const double ulp = scaled(error, std::numeric_limits<T>::digits - exponent).to_double();
                worst = rope::detail::is_finite(ulp) ? std::max(worst, ulp) : 1e300;
            }
        }
    return worst;
}

}  // namespace

TEMPLATE_TEST_CASE("entries are as right as those of other tables, relative to the magnitude of the pair", "", float,
                   double) {
    struct Case {
        double scale_base, centre;
        Index first, count;
    };
    double worst = 0.0;
    for (const Side side : {Side::query, Side::key})
        for (const Case& c :
             {Case{512.0, 0.0, 0, 300},           // as published
              Case{512.0, 4096.0, 8100, 200},     // over the edge of an anchor
              Case{100.0, 0.5, -150, 300},        // on both sides of the centre
              Case{512.0, 0.0, 26000, 100},       // near e^64
              Case{2.0, 1e6, 999900, 201},        // growing as fast as it may, far from position 0
              Case{2.0, -8200.0, -8290, 180},     //
              Case{6e7, 0.0, 2147483000, 20}}) {  // at the largest positions, where double keeps no bound
            Config config = xpos(side, c.scale_base, c.centre);
            config.attention_factor = c.centre > 1e5 ? 1.1386294361119891 : 1.0;
            CAPTURE(c.scale_base, c.centre, c.first);
            const double ulp = worst_ulp<TestType>(config, c.first, c.count);
            if (c.first < (Index(1) << 22) || sizeof(TestType) == sizeof(float))
                CHECK(ulp <= CosSinCache<TestType>::kMaxUlpError);
            worst = c.first < (Index(1) << 22) ? std::max(worst, ulp) : worst;
        }
    std::printf("xPos tables in %s: largest error %.6f ulp\n", sizeof(TestType) == 4 ? "float" : "double", worst);
}

TEST_CASE("an entry's bits do not depend on where its table begins or ends") {
    const Config config = xpos(Side::key, 40.0, 8192.0);
    const CosSinCache<float> whole(config, 1000, 7700);
    const CosSinCache<double> whole_in_double(config, 1000, 7700);
    for (const Index first : {7700, 7701, 7808, 8191, 8192, 8319, 8690})
        for (const Index count : {1, 2, 10}) {
            const CosSinCache<float> part(config, count, first);
            const CosSinCache<double> part_in_double(config, count, first);
            CHECK(std::memcmp(part.data(), whole.cos_row(first), part.bytes()) == 0);
            CHECK(std::memcmp(part_in_double.data(), whole_in_double.cos_row(first), part_in_double.bytes()) == 0);
        }
}

TEST_CASE("scores depend on the distance alone, and each pair's share falls as zeta^(distance / scale_base)") {
    constexpr Index kDim = 32, kPairs = kDim / 2, kLast = 3000;
    const double scale_base = 64.0, m = 1.25;
    for (const double centre : {0.0, 1500.0}) {
        Config q_config = xpos(Side::query, scale_base, centre), k_config = xpos(Side::key, scale_base, centre);
        q_config.attention_factor = k_config.attention_factor = m;
        const CosSinCache<double> q_table(q_config, kLast), k_table(k_config, kLast);
        CHECK(q_table.magnitude_grows());
        CHECK(k_table.magnitude_grows());
        for (Index pair = 0; pair < kPairs; ++pair) {
            // One pair is not zero, and the second key is the first, turned by a right angle: both scores together
            // tell the magnitude and the angle.
            const auto scores = [&](Index at_q, Index at_k) {
                std::vector<double> q(size(kDim)), k(size(2 * kDim));
                q[size(2 * pair)] = k[size(2 * pair)] = 0.6;
                q[size(2 * pair + 1)] = k[size(2 * pair + 1)] = 0.8;
                k[size(kDim + 2 * pair)] = -0.8;
                k[size(kDim + 2 * pair + 1)] = 0.6;
                // Each at its own position, so in calls of their own: a call with both takes the same for both.
                rope::apply<Layout::interleaved>(rope::view(q.data(), 1, 1, kDim), q_table, rope::start_at(at_q));
                rope::apply<Layout::interleaved>(rope::view(k.data(), 1, 2, kDim), k_table, rope::start_at(at_k));
                double along = 0.0, across = 0.0;
                for (std::size_t i = 0; i < size(kDim); ++i) {
                    along += q[i] * k[i];
                    across += q[i] * k[size(kDim) + i];
                }
                return std::pair<double, double>(along, across);
            };
            const double zeta = (2.0 * static_cast<double>(pair) + 0.4 * kDim) / (1.4 * kDim);
            const double w = std::pow(10000.0, -2.0 * static_cast<double>(pair) / kDim);
            double before = 1e300;
            for (const Index distance : {0, 1, 2, 17, 64, 500, 1500}) {
                const double size_here = m * m * std::pow(zeta, static_cast<double>(distance) / scale_base);
                const double angle = static_cast<double>(distance) * w;
                for (const Index at_k : {Index(0), Index(1), Index(700), kLast - 1 - distance}) {
                    const auto [along, across] = scores(at_k + distance, at_k);
                    CAPTURE(centre, pair, distance, at_k);
                    CHECK(std::fabs(along - size_here * std::cos(angle)) <= 1e-12 * size_here);
                    CHECK(std::fabs(across - size_here * std::sin(angle)) <= 1e-12 * size_here);
                }
                const auto [along, across] = scores(distance, 0);
                const double magnitude = std::hypot(along, across);
                CHECK(magnitude < before);
                before = magnitude;
            }
        }
    }
}

TEST_CASE("one call turns q and k, each with the table of its side") {
    constexpr Index kSeq = 5, kDim = 16;
    const CosSinCache<float> q_table(xpos(Side::query, 100.0, 0.0, kDim), 200);
    const CosSinCache<float> k_table(xpos(Side::key, 100.0, 0.0, kDim), 200);
    std::vector<float> q = support::normal<float>(kSeq * 3 * kDim, 1), k = support::normal<float>(kSeq * kDim, 2);
    std::vector<float> alone_q = q, alone_k = k;
    rope::apply<Layout::half_split>(rope::view(q.data(), kSeq, 3, kDim), rope::view(k.data(), kSeq, 1, kDim), q_table,
                                    k_table, rope::start_at(150));
    rope::apply<Layout::half_split>(rope::view(alone_q.data(), kSeq, 3, kDim), q_table, rope::start_at(150));
    rope::apply<Layout::half_split>(rope::view(alone_k.data(), kSeq, 1, kDim), k_table, rope::start_at(150));
    CHECK(support::same_bits(q, alone_q));
    CHECK(support::same_bits(k, alone_k));
}

TEST_CASE("the dense matrix has the magnitudes, too") {
    for (const Side side : {Side::query, Side::key}) {
        const Config config = xpos(side, 64.0, 10.0, 16);
        const CosSinCache<double> table(config, 300);
        for (const Index p : {0, 10, 299}) {
            const std::vector<double> before = support::normal<double>(16, 3);
            std::vector<double> after = before;
            rope::apply<Layout::half_split>(rope::view(after.data(), 1, 1, 16), table, rope::start_at(p));
            const Eigen::VectorXd expected = rope::reference::rotation_matrix<Layout::half_split>(config, p) *
                                             Eigen::Map<const Eigen::VectorXd>(before.data(), 16);
            for (Index i = 0; i < 16; ++i)
                CHECK(std::fabs(after[size(i)] - expected[i]) <= 1e-14 * std::fabs(expected[i]) + 1e-14);
        }
    }
}

TEMPLATE_TEST_CASE("the inverse is the transpose with the other side's table, and apply_inverse says so", "", float,
                   double) {
    constexpr Index kSeq = 40, kDim = 32;
    const double m = 2.0;
    Config configs[] = {xpos(Side::query, 100.0), xpos(Side::key, 100.0)};
    for (Config& config : configs) config.attention_factor = m;
    const CosSinCache<TestType> tables[] = {{configs[0], 900}, {configs[1], 900}};
    for (const std::size_t side : {0u, 1u}) {
        const std::vector<TestType> before = support::normal<TestType>(kSeq * kDim, 4);
        std::vector<TestType> x = before, y(before.size());
        const auto view = rope::view(x.data(), kSeq, 1, kDim);
        const auto other = rope::view(y.data(), kSeq, 1, kDim);
        rope::apply<Layout::half_split>(view, tables[side], rope::start_at(850));
        const std::vector<TestType> turned = x;

        const std::string sentence =
            " has a magnitude that grows with the position (xPos); its inverse is apply_transpose with the table of "
            "the other side, queries or keys.";
        const auto message = [&](auto&& call) {
            const support::Refusal r = support::refusal(call);
            CHECK(r.code == rope::StatusCode::invalid_argument);
            return r.message;
        };
        const rope::Positions at = rope::start_at(850);
        CHECK(message([&] { rope::apply_inverse<Layout::half_split>(view, tables[side], at); }) ==
              "the cache of x" + sentence);
        CHECK(message([&] { rope::apply_inverse(Layout::interleaved, view, tables[side], at); }) ==
              "the cache of x" + sentence);
        CHECK(message([&] { rope::apply_inverse_copy<Layout::half_split>(view, other, tables[side], at); }) ==
              "the cache of in" + sentence);
        // One of two tables is enough, whichever it is.
        const CosSinCache<TestType> plain(Config{kDim}, 900);
        CHECK(message([&] { rope::apply_inverse<Layout::half_split>(view, other, tables[side], plain, at); }) ==
              "the cache of q" + sentence);
        CHECK(message([&] { rope::apply_inverse<Layout::half_split>(view, other, plain, tables[side], at); }) ==
              "the cache of k" + sentence);
        CHECK(support::same_bits(x, turned));
        CHECK(y == std::vector<TestType>(before.size()));

        rope::apply_transpose<Layout::half_split>(view, tables[1 - side], at);
        for (std::size_t i = 0; i < x.size(); ++i)
            CHECK(std::fabs(static_cast<double>(x[i]) / (m * m) - static_cast<double>(before[i])) <=
                  16.0 * static_cast<double>(std::numeric_limits<TestType>::epsilon()));
    }
}

TEST_CASE("a table stays within e^64 of its centre") {
    // The fastest grows pair 0: ln 3.5 per scale_base positions.
    const Index last = static_cast<Index>(64.0 * 512.0 / std::log(3.5));
    const auto message = [](Index max_positions, Index first, double centre) {
        return support::refusal(
                   [&] { CosSinCache<float> table(xpos(Side::query, 512.0, centre), max_positions, first); })
            .message;
    };
    const auto begin = [](const std::string& farthest) {
        return "At " + farthest + " positions from the centre the growing magnitude (xPos; log_growth[0] is ";
    };
    const std::string end = ") would leave e^-64 .. e^64; a table must stay nearer to it.";
    CHECK(message(last + 1, 0, 0.0) == "(accepted)");
    const std::string too_long = message(last + 2, 0, 0.0);
    CHECK(too_long.find(begin(std::to_string(last + 1)) + "-0.002446802") == 0);
    CHECK(too_long.find(end) != std::string::npos);
    CHECK(message(1, -last, 0.0) == "(accepted)");
    CHECK(message(1, -last - 1, 0.0).find(begin(std::to_string(last + 1))) == 0);
    CHECK(message(2 * last, 0, static_cast<double>(last)) == "(accepted)");
    CHECK(message(1, 0, 1e9).find(begin("1e+09")) == 0);
    // A longer table is refused in the same words, and the one that is there stays.
    const Config config = xpos(Side::key);
    const CosSinCache<float> table(config, 10);
    const rope::Frequencies f = rope::frequencies(config);
    CHECK(support::refusal([&] { (void)table.extended(f, last + 2); }).message.find(end) != std::string::npos);
    CHECK(table.max_positions() == 10);
    const CosSinCache<float> longer = table.extended(f, last + 1);
    CHECK(longer.magnitude_grows());
    CHECK(std::memcmp(longer.data(), CosSinCache<float>(config, last + 1).data(), longer.bytes()) == 0);
}
