// SPDX-License-Identifier: MIT
// Rows of angles that a model computes, and of their running sums: exact, whatever the chunks.
#include <rope/angle_rows.hpp>
#include <rope/apply.hpp>
#include <rope/part.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <type_traits>
#include <vector>

#include "support/catch.hpp"
#include "support/data.hpp"
#include "support/exact/mpfr.hpp"
#include "support/refusal.hpp"

using rope::Index;
using rope::Layout;
using support::Real;
using support::same_bits;
using support::size;

namespace {

constexpr Index kPairs = 5, kHeads = 3;

template <class T>
auto as_view(std::vector<T>& x, Index batch, Index tokens, Index heads = kHeads) {
    return rope::view(x.data(), batch, tokens, heads, kPairs);
}
/// The distance of an entry from the real number, in ulps of its own, or of 2^-64 if that is larger.
template <class T>
double ulps(T got, const Real& exact) {
    int exponent = 0;
    std::frexp(std::max(std::abs(static_cast<double>(got)), 0x1p-64), &exponent);
    const Real gap(std::ldexp(1.0, exponent - std::numeric_limits<T>::digits));
    return abs((Real(static_cast<double>(got)) - exact) / gap).to_double();
}

}  // namespace

TEMPLATE_TEST_CASE("rows of angles are their cosines and sines", "", float, double, rope::half, rope::bfloat16) {
    using X = TestType;
    using T = std::conditional_t<std::is_same_v<X, double>, double, float>;
    std::vector<X> angles = support::normal<X>(2 * 7 * kHeads * kPairs, 3);
    if constexpr (std::is_same_v<X, T>) {
        angles[0] = T(1e20);
        angles[1] = T(-3e7);
        angles[2] = T(0);
        angles[3] = T(1.5707963267948966);
        angles[4] = std::numeric_limits<T>::min() / 4;
        for (int i = 5; i < 40; ++i) angles[size(i)] = std::ldexp(T(0.7), i - 25);
    }
    rope::AngleRows<T> rows(kPairs, kHeads);
    rows.build(as_view(angles, 2, 7));
    CHECK(rows.rows() == 14);
    double worst = 0;
    for (Index t = 0; t < 14; ++t)
        for (Index i = 0; i < kHeads * kPairs; ++i) {
            const Real angle(support::to_double(angles[size(t * kHeads * kPairs + i)]));
            worst = std::max(worst, ulps(rows.cos_row(t)[i], cos(angle)));
            worst = std::max(worst, ulps(rows.sin_row(t)[i], sin(angle)));
        }
    CHECK(worst < 0.501);
    CHECK(worst > 0.3);
}

TEMPLATE_TEST_CASE("sums have the bits of one chunk in chunks of any size", "", float, double) {
    using T = TestType;
    constexpr Index tokens = 3000;
    std::vector<T> steps = support::normal<T>(2 * tokens * kHeads * kPairs, 4);
    const auto all = as_view(steps, 2, tokens);
    rope::AngleRows<T> whole(kPairs, kHeads), chunks(kPairs, kHeads), by_caller(kPairs, kHeads);
    whole.build_sums(all, [](Index count, const auto& f) {
        for (Index i = count; i > 0; --i) f(i - 1, i);
    });
    std::vector<rope::AngleSum> sums(2 * kHeads * kPairs);
    int wrong = 0;
    for (Index begin = 0, count = 1; begin < tokens; begin += count, count = count % 97 + 13) {
        if (count > tokens - begin) count = tokens - begin;
        chunks.build_sums(all.slice_tokens(begin, count));
        rope::AngleRows<T> other(kPairs, kHeads);  // which goes on where the caller's sums are
        other.use_sums(sums.data());
        other.build_sums(all.slice_tokens(begin, count));
        for (Index b = 0; b < 2; ++b)
            for (Index t = 0; t < count; ++t)
                for (Index i = 0; i < kHeads * kPairs; ++i) {
                    const Index at = b * tokens + begin + t, here = b * count + t;
                    wrong += chunks.cos_row(here)[i] != whole.cos_row(at)[i];
                    wrong += chunks.sin_row(here)[i] != whole.sin_row(at)[i];
                    wrong += other.sin_row(here)[i] != whole.sin_row(at)[i];
                }
    }
    CHECK(wrong == 0);
    // The last one against the real sum.
    for (Index i = 0; i < kHeads * kPairs; ++i) {
        Real sum(0);
        for (Index t = 0; t < tokens; ++t) sum = sum + Real(static_cast<double>(steps[size(t * kHeads * kPairs + i)]));
        CHECK(ulps(whole.cos_row(tokens - 1)[i], cos(sum)) < 0.501);
        CHECK(ulps(whole.sin_row(tokens - 1)[i], sin(sum)) < 0.501);
    }
    chunks.restart();
    chunks.build_sums(all.slice_tokens(0, 1));
    CHECK(chunks.cos_row(1)[2] == whole.cos_row(tokens)[2]);
    by_caller.use_sums(sums.data());
    by_caller.build_sums(all.slice_tokens(0, 1));
    CHECK(by_caller.cos_row(0)[2] != whole.cos_row(0)[2]);
    by_caller.restart();
    by_caller.build_sums(all.slice_tokens(0, 1));
    CHECK(by_caller.cos_row(0)[2] == whole.cos_row(0)[2]);
}

TEST_CASE("heads rotate by angles of their own, or all by the same") {
    constexpr Index tokens = 4, dim = 16;
    for (const Index heads : {Index(0), kHeads}) {
        std::vector<double> angles = support::normal<double>(2 * tokens * (heads > 0 ? heads : 1) * kPairs, 6);
        rope::AngleRows<double> rows(kPairs, heads, {dim, 4});
        rows.build(as_view(angles, 2, tokens, heads > 0 ? heads : 1));
        std::vector<double> x = support::normal<double>(2 * tokens * kHeads * dim, 7), got = x;
        rope::apply<Layout::half_split>(rope::view(got.data(), 2, tokens, kHeads, dim), rows);
        for (Index t = 0; t < 2 * tokens; ++t)
            for (Index h = 0; h < kHeads; ++h)
                for (Index i = 0; i < kPairs; ++i) {
                    const double angle = angles[size((heads > 0 ? t * heads + h : t) * kPairs + i)];
                    const std::size_t a = size((t * kHeads + h) * dim + 4 + i), b = a + kPairs;
                    CHECK(std::abs(got[a] - (x[a] * std::cos(angle) - x[b] * std::sin(angle))) < 1e-14);
                    CHECK(std::abs(got[b] - (x[b] * std::cos(angle) + x[a] * std::sin(angle))) < 1e-14);
                }
    }
}

TEST_CASE("angles that are none are refused, and rows and sums stay") {
    using support::invalid;
    CHECK(invalid([] { rope::AngleRows<float> bad(0); }) == "pairs is 0; it must be from 1 to 524288.");
    CHECK(invalid([] { rope::AngleRows<float> bad(1 << 18, 3); }) ==
          "heads is 3; it must be from 0, where all share rows, to 2 of 262144 pairs.");
    CHECK(invalid([] { rope::AngleRows<float> bad(4, -1); }).find("heads is -1;") == 0);
    CHECK_FALSE(invalid([] { rope::AngleRows<float> bad(4, 1, {6, 0}); }).empty());
    std::vector<float> steps(3 * kHeads * kPairs, 0.25f);
    rope::AngleRows<float> rows(kPairs, kHeads), same(kPairs, kHeads);
    rows.build_sums(as_view(steps, 1, 3));
    same.build_sums(as_view(steps, 1, 3));
    std::vector<float> bad = steps;
    bad[16] = static_cast<float>(support::nan_value());
    CHECK(invalid([&] { rows.build_sums(as_view(bad, 1, 3)); }) ==
          "angles[0][1][0][1] is nan; angles must be finite and below 2^96.");
    bad[16] = -0x1p96f;
    CHECK(invalid([&] { rows.build(as_view(bad, 1, 3)); }).find("angles[0][1][0][1] is -7.92") == 0);
    CHECK(invalid([&] { rows.build(as_view(steps, 1, 9, 1)); }) ==
          "angles are [1, 9, 1, 5]; they must be [batch, tokens, 3, 5].");
    CHECK(invalid([&] { rows.build_sums(as_view(steps, 3, 1)); }) ==
          "batch is 3; the sums under way are of 1 batch entry: call restart() first.");
    CHECK(rows.cos_row(2)[1] == same.cos_row(2)[1]);
    CHECK(support::out_of_range([&] { (void)rows.cos_row(3); }) ==
          "row is 3; it must be at least 0 and below the number of rows (3).");
    rows.build_sums(as_view(steps, 1, 3));
    same.build_sums(as_view(steps, 1, 3));
    CHECK(rows.cos_row(2)[1] == same.cos_row(2)[1]);
    CHECK(std::abs(rows.cos_row(2)[1] - std::cos(1.5f)) < 1e-6f);
    std::vector<float> x(4 * kHeads * 2 * kPairs, 1.0f);
    CHECK(support::out_of_range([&] {
              rope::apply<Layout::half_split>(rope::view(x.data(), 4, kHeads, 2 * kPairs), rows);
          }).find("this table of angles holds") != std::string::npos);
    rows.build(rope::view(steps.data(), 1, 0, kHeads, kPairs));
    CHECK(rows.rows() == 0);
    // After an executor has thrown there are no rows, and the sums are those of before.
    std::vector<float> many(4000 * kHeads * kPairs, 0.25f);
    CHECK_THROWS_AS(rows.build_sums(as_view(many, 1, 4000),
                                    [](Index, const auto& f) {
                                        f(Index(0), Index(1));
                                        throw 5;
                                    }),
                    int);
    CHECK(rows.rows() == 0);
    CHECK_FALSE(rope::check(rope::view(x.data(), 4, kHeads, 2 * kPairs), rows).ok());
    rows.build_sums(as_view(steps, 1, 3));
    same.build_sums(as_view(steps, 1, 3));
    CHECK(rows.cos_row(2)[1] == same.cos_row(2)[1]);
}
