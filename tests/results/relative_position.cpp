// SPDX-License-Identifier: MIT
// What a rotary embedding is for: scores depend on the distance of two tokens alone. And what a rotation is:
// it keeps norms, angles add, and it can be undone.
#include <rope/core.hpp>

#include <rapidcheck.h>

#include <cmath>
#include <vector>

#include "support/catch.hpp"
#include "support/data.hpp"

using rope::Index;
using rope::Layout;
using support::size;

namespace {

/// In long double, so that the sum's own rounding stays below the bounds of double data.
template <class T>
double dot(const std::vector<T>& a, const std::vector<T>& b) {
    long double sum = 0.0L;
    for (std::size_t i = 0; i < a.size(); ++i)
        sum += static_cast<long double>(support::to_double(a[i])) * static_cast<long double>(support::to_double(b[i]));
    return static_cast<double>(sum);
}

/// One head turned at one position, through a table of that position alone.
template <class T>
std::vector<T> turned(std::vector<T> x, const rope::Config& config, Index position, Layout layout) {
    const rope::CosSinCache<support::TableOf<T>> cache(config, 1, position);
    rope::apply(layout, rope::view(x.data(), 1, 1, config.head_dim), cache, rope::start_at(position));
    return x;
}

/// Unit roundoff of the stored result.
template <class T>
constexpr double kUnit = std::is_same_v<T, double>       ? 0x1p-53
                         : std::is_same_v<T, float>      ? 0x1p-24
                         : std::is_same_v<T, rope::half> ? 0x1p-11
                                                         : 0x1p-8;

struct Drawn {
    rope::Config config;
    Layout layout;
    unsigned seed;
};

Drawn draw() {
    Drawn d;
    d.config.head_dim = 2 * *rc::gen::inRange<Index>(1, 80);
    d.config.base = *rc::gen::element(10000.0, 500000.0, 1000000.0);
    d.config.interpolation_factor = *rc::gen::element(1.0, 4.0, 32.0);
    d.layout = *rc::gen::element(Layout::interleaved, Layout::half_split);
    d.seed = *rc::gen::arbitrary<unsigned>();
    return d;
}

}  // namespace

TEMPLATE_TEST_CASE("scores depend on the distance only, for shifts up to a million", "", float, double, rope::half,
                   rope::bfloat16) {
    const bool ok = rc::check("<R(m)q, R(n)k> == <R(m+s)q, R(n+s)k>", [] {
        const Drawn d = draw();
        const auto q = support::normal<TestType>(d.config.head_dim, d.seed);
        const auto k = support::normal<TestType>(d.config.head_dim, d.seed + 1);
        const Index m = *rc::gen::inRange<Index>(0, 10000);
        const Index n = *rc::gen::inRange<Index>(0, 10000);
        const Index shift = *rc::gen::inRange<Index>(0, 1000001);
        const double here = dot(turned(q, d.config, m, d.layout), turned(k, d.config, n, d.layout));
        const double there = dot(turned(q, d.config, m + shift, d.layout), turned(k, d.config, n + shift, d.layout));
        // Each of the four rotations is off by at most 4 u |x| per element (see apply.hpp), plus the store's
        // rounding, so by Cauchy and Schwarz the scores differ by at most 4 * 5 u |q| |k|.
        const double bound = 20.0 * kUnit<TestType> * std::sqrt(dot(q, q) * dot(k, k));
        RC_ASSERT(std::fabs(here - there) <= bound);
    });
    REQUIRE(ok);
}

TEMPLATE_TEST_CASE("norms are kept, and multiplied by the attention factor", "", float, double, rope::half,
                   rope::bfloat16) {
    const bool ok = rc::check("|R x| == m |x|", [] {
        Drawn d = draw();
        d.config.attention_factor = *rc::gen::element(1.0, 0.5, 1.25);
        const auto x = support::normal<TestType>(d.config.head_dim, d.seed);
        const auto y = turned(x, d.config, *rc::gen::inRange<Index>(0, 1000001), d.layout);
        const double m = d.config.attention_factor;
        RC_ASSERT(std::fabs(std::sqrt(dot(y, y)) - m * std::sqrt(dot(x, x))) <=
                  6.0 * kUnit<TestType> * m * std::sqrt(dot(x, x)));
    });
    REQUIRE(ok);
}

TEMPLATE_TEST_CASE("angles add, also negative ones", "", float, double) {
    const bool ok = rc::check("R(a) R(b) == R(a + b)", [] {
        const Drawn d = draw();
        const Index a = *rc::gen::inRange<Index>(-1000000, 1000001);
        const Index b = *rc::gen::inRange<Index>(-1000000, 1000001);
        const auto x = support::normal<TestType>(d.config.head_dim, d.seed);
        const auto twice = turned(turned(x, d.config, a, d.layout), d.config, b, d.layout);
        const auto once = turned(x, d.config, a + b, d.layout);
        double square = 0.0;
        for (std::size_t i = 0; i < x.size(); ++i)
            square += std::pow(support::to_double(twice[i]) - support::to_double(once[i]), 2);
        RC_ASSERT(std::sqrt(square) <= 15.0 * kUnit<TestType> * std::sqrt(dot(x, x)));
    });
    REQUIRE(ok);
}

TEMPLATE_TEST_CASE("the inverse undoes, the transpose multiplies by m twice", "", float, double) {
    const bool ok = rc::check("inverse and transpose", [] {
        Drawn d = draw();
        d.config.attention_factor = *rc::gen::element(1.0, 0.75, 1.13863);
        const Index position = *rc::gen::inRange<Index>(0, 1000001);
        const rope::CosSinCache<TestType> cache(d.config, 1, position);
        const auto x = support::normal<TestType>(d.config.head_dim, d.seed);
        auto y = turned(x, d.config, position, d.layout);
        auto z = y;
        rope::apply_inverse(d.layout, rope::view(y.data(), 1, 1, d.config.head_dim), cache, rope::start_at(position));
        rope::apply_transpose(d.layout, rope::view(z.data(), 1, 1, d.config.head_dim), cache, rope::start_at(position));
        const double m2 = d.config.attention_factor * d.config.attention_factor;
        const double norm = std::sqrt(dot(x, x));
        for (std::size_t i = 0; i < x.size(); ++i) {
            RC_ASSERT(std::fabs(support::to_double(y[i]) - support::to_double(x[i])) <= 15.0 * kUnit<TestType> * norm);
            RC_ASSERT(std::fabs(support::to_double(z[i]) - m2 * support::to_double(x[i])) <=
                      15.0 * kUnit<TestType> * m2 * norm);
        }
    });
    REQUIRE(ok);
}

TEST_CASE("the transpose is the gradient's direction") {
    // <R x, y> == <x, R^T y> for all x and y.
    rope::Config config;
    config.head_dim = 96;
    config.attention_factor = 1.25;
    const rope::CosSinCache<double> cache(config, 1, 777);
    const auto x = support::normal<double>(96, 1);
    const auto y = support::normal<double>(96, 2);
    for (const Layout layout : {Layout::interleaved, Layout::half_split}) {
        auto rx = x, rty = y;
        rope::apply(layout, rope::view(rx.data(), 1, 1, 96), cache, rope::start_at(777));
        rope::apply_transpose(layout, rope::view(rty.data(), 1, 1, 96), cache, rope::start_at(777));
        CHECK(std::fabs(dot(rx, y) - dot(x, rty)) < 1e-13);
    }
}
