// SPDX-License-Identifier: MIT
// Rows that are given other frequencies are rows made for them, bit for bit, and allocate nothing.
#include <rope/axis_map.hpp>
#include <rope/rows.hpp>

#include <cmath>
#include <cstring>
#include <vector>

#include "support/catch.hpp"
#include "support/count_allocations.hpp"
#include "support/data.hpp"
#include "support/refusal.hpp"

using rope::Index;
using support::invalid;
using support::size;

namespace {

rope::Frequencies drawn(Index entries, unsigned seed, bool grows = false) {
    rope::Frequencies f;
    for (const double x : support::normal<double>(entries, seed)) {
        f.inv_freq.push_back(x);
        f.inv_freq_low.push_back(x * 0x1p-55);
        if (grows) f.log_growth.push_back(x * 0x1p-12);
        if (grows) f.log_growth_low.push_back(0.0);
    }
    f.attention_factor = 1.0 + 0.1 * seed;
    f.centre = grows ? seed : 0.0;
    return f;
}

template <class T>
bool same_rows(const rope::Rows<T>& a, const rope::Rows<T>& b) {
    const std::size_t bytes = size(a.pairs()) * sizeof(T);
    for (Index r = 0; r < a.rows(); ++r)
        if (std::memcmp(a.cos_row(r), b.cos_row(r), bytes) != 0 || std::memcmp(a.sin_row(r), b.sin_row(r), bytes) != 0)
            return false;
    return a.rows() == b.rows() && a.attention_factor() == b.attention_factor() && a.pairs() == b.pairs();
}

}  // namespace

TEMPLATE_TEST_CASE("rows with other frequencies are those of new rows, without an allocation", "", float, double) {
    const Index tokens = 300;
    const bool grows = GENERATE(false, true);
    const rope::AxisMap map = GENERATE(rope::AxisMap(), rope::mrope_sections({2, 3, 3}),
                                       rope::mrope_interleaved({3, 3, 2}), rope::mixed_axes(2));
    if (grows && map.is_mixed) return;
    std::vector<double> positions;
    for (Index i = 0; i < map.axes * tokens; ++i) positions.push_back(static_cast<double>((i * 7) % 500 - 100));
    positions[3] += 0.25;
    const rope::AxisPositions given(positions, map.axes);
    const rope::HeadSlice slice = {20, 1};
    rope::Rows<TestType> rows(drawn(8, 1, grows), map, slice);
    rows.build(given, tokens);
    for (const unsigned seed : {2u, 3u, 2u}) {
        const rope::Frequencies f = drawn(8, seed, grows);
        const long before = support::allocations;
        rows.use_frequencies(f);
        const Index rows_then = rows.rows();
        rows.build(given, tokens);
        const long after = support::allocations;
        CHECK(rows_then == 0);
        CHECK(after == before);
        rope::Rows<TestType> expected(f, map, slice);
        expected.build(given, tokens);
        CHECK(same_rows(rows, expected));
    }
}

TEST_CASE("rows of a schedule with a longest sequence take other frequencies for all positions") {
    rope::Config config;
    config.head_dim = 16;
    rope::schedule::DynamicNtk dynamic;
    dynamic.factor = 2.0;
    dynamic.max_position_embeddings = 64;
    config.schedule = dynamic;
    rope::Rows<float> rows(config);
    support::out_of_range([&] { rows.build(rope::start_at(0), 100); });
    rows.use_frequencies(drawn(8, 1));
    rows.build(rope::start_at(0), 100);
    CHECK(rows.rows() == 100);
}

TEST_CASE("other frequencies that do not fit are refused, and the rows stay") {
    rope::Rows<float> rows(drawn(8, 1)), expected(drawn(8, 1));
    rows.build(rope::start_at(5), 10);
    expected.build(rope::start_at(5), 10);
    CHECK(invalid([&] { rows.use_frequencies(drawn(7, 2)); }) == "inv_freq has 7 entries; these rows were made for 8.");
    CHECK(invalid([&] { rows.use_frequencies(drawn(8, 2, true)); }) ==
          "log_growth has 8 entries; these rows were made for 0.");
    rope::Frequencies f = drawn(8, 2);
    f.inv_freq[3] = support::nan_value();
    CHECK(invalid([&] { rows.use_frequencies(f); }) ==
          "inv_freq[3] is nan; a frequency must be finite and of magnitude at most 2^32 radians per position.");
    CHECK(same_rows(rows, expected));
}

TEST_CASE("frequencies of mixed axes before training") {
    const double angle = GENERATE(0.0, 0.3, -2.5), base = GENERATE(10.0, 100.0);
    const Index pairs = GENERATE(2, 16);
    const rope::Frequencies f = rope::mixed_frequencies(pairs, base, angle);
    REQUIRE(f.inv_freq.size() == size(2 * pairs));
    CHECK(f.attention_factor == 1.0);
    // As rope-vit's code writes it, for heads of 2 * pairs features.
    const double dim = 2.0 * static_cast<double>(pairs), half_pi = std::acos(0.0);
    for (Index j = 0; j < pairs / 2; ++j) {
        const double mag = 1.0 / std::pow(base, 4.0 * static_cast<double>(j) / dim);
        const auto w = [&](Index i) { return Approx(f.inv_freq[size(i)]).margin(1e-15).epsilon(1e-14); };
        CHECK(mag * std::cos(angle) == w(j));
        CHECK(mag * std::cos(angle + half_pi) == w(pairs / 2 + j));
        CHECK(mag * std::sin(angle) == w(pairs + j));
        CHECK(mag * std::sin(angle + half_pi) == w(pairs + pairs / 2 + j));
    }
}

TEST_CASE("mixed frequencies that mean nothing") {
    CHECK(invalid([] { rope::mixed_frequencies(3, 10.0, 0.0); }) ==
          "pairs is 3; it must be even and from 2 to 524288.");
    CHECK(invalid([] { rope::mixed_frequencies(0, 10.0, 0.0); }) ==
          "pairs is 0; it must be even and from 2 to 524288.");
    CHECK(invalid([] { rope::mixed_frequencies(524290, 10.0, 0.0); }) ==
          "pairs is 524290; it must be even and from 2 to 524288.");
    CHECK(invalid([] { rope::mixed_frequencies(4, 0.0, 0.0); }) == "base is 0; it must be finite and above 0.");
    CHECK(invalid([] { rope::mixed_frequencies(4, 10.0, support::infinity()); }) ==
          "angle is inf; it must be from -2^32 to 2^32.");
}
