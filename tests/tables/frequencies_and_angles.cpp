// SPDX-License-Identifier: MIT
// What tables are made of, against 256-bit arithmetic: frequencies, fixed-point phases, their cos and sin,
// and double-double arithmetic with its one rounding to float.
#include <rope/core.hpp>

#include <rope/detail/angles/phase.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <limits>
#include <random>

#include "support/catch.hpp"
#include "support/data.hpp"
#include "support/exact/mpfr.hpp"

namespace {

using rope::Index;
using rope::detail::DoubleDouble;
using rope::detail::Phase;
using support::power_of_two;
using support::Real;

/// The sum of both halves; exact as long as it needs no more than 256 bits.
Real real(DoubleDouble x) { return Real(x.hi) + Real(x.lo); }

/// The fixed-point number, exactly; in [0, 1).
Real real(Phase t) { return scaled(Real::unsigned_integer(t.hi), -64) + scaled(Real::unsigned_integer(t.lo), -128); }

/// The distance of two angles in turns, around the circle.
Real turns_apart(const Real& a, const Real& b) {
    const Real once = a - b - floor(a - b);
    return once < Real(0.5) ? once : Real(1.0) - once;
}

/// The largest of many errors. A NaN is remembered: it would lose every comparison.
class Largest {
 public:
    void add(const Real& error) {
        const bool nan = mpfr_nan_p(error.get()) != 0;
        if (nan || value_ < error) value_ = error;
        nan_ = nan_ || nan;
    }
    void add_relative(const Real& value, const Real& exact) { add(abs(value - exact) / abs(exact)); }
    bool below(long exponent) const { return !nan_ && value_ < power_of_two(exponent); }
    void print(const char* what) const {
        std::printf("%-46s largest error %s2^%.1f\n", what, nan_ ? "NaN, else " : "",
                    mpfr_zero_p(value_.get()) != 0 ? -999.0 : (log(value_) / log(Real(2.0))).to_double());
    }

 private:
    Real value_;
    bool nan_ = false;
};

/// Random numbers with uniform exponents, of both signs.
class RandomDoubles {
 public:
    explicit RandomDoubles(unsigned seed) : engine_(seed) {}

    double operator()(int lowest_exponent, int highest_exponent) {
        std::uniform_int_distribution<int> exponent(lowest_exponent, highest_exponent - 1);
        const std::uint64_t fraction = engine_() >> 12;
        const double mantissa = 1.0 + std::ldexp(static_cast<double>(fraction), -52);
        return std::ldexp(engine_() % 2 == 0 ? mantissa : -mantissa, exponent(engine_));
    }
    DoubleDouble pair(int lowest_exponent, int highest_exponent) {
        const double hi = (*this)(lowest_exponent, highest_exponent);
        const double part = std::ldexp(static_cast<double>(engine_() >> 12), -52);  // in [0, 1)
        return {hi, std::ldexp(engine_() % 2 == 0 ? part : -part, std::ilogb(hi) - 54)};
    }
    std::uint64_t bits() { return engine_(); }

 private:
    std::mt19937_64 engine_;
};

/// Whether no double is nearer to exact than x, up to 2^-95 of it: between two doubles that are equally near
/// to that many bits, either will do. (0.1 / 0.1 is such a case: the double 0.1 is not a tenth.)
bool is_nearest(double x, const Real& exact) {
    const Real least = abs(Real(exact.to_double()) - exact);
    return abs(Real(x) - exact) <= least + exact * power_of_two(-95);
}

bool same_double(double a, double b) { return std::memcmp(&a, &b, sizeof(a)) == 0; }
bool same_float(float a, float b) { return std::memcmp(&a, &b, sizeof(a)) == 0; }

}  // namespace

TEST_CASE("frequencies agree with the real formula to 2^-95, and their first half is the nearest double") {
    Largest largest;
    int not_nearest = 0;
    for (const double base : {1.0, 1.5, 0.5, 100.0, 1e4, 1.5e5, 5e5, 1e6, 1e7, 12345.678, 1e30, 1e200})
        for (const Index d : {2, 4, 6, 10, 64, 80, 96, 100, 128, 256, 576, 1000})
            for (const double factor : {1.0, 3.0, 32.0, 0.1, 1e-3, 40.5}) {
                rope::Config config;
                config.head_dim = d;
                config.base = base;
                config.interpolation_factor = factor;
                const rope::Frequencies f = rope::frequencies(config);
                REQUIRE(f.inv_freq.size() == support::size(d / 2));
                REQUIRE(f.inv_freq_low.size() == support::size(d / 2));
                for (std::size_t i = 0; i < f.inv_freq.size(); ++i) {
                    const Real exact = support::inverse_frequency(base, static_cast<Index>(i), d, factor);
                    if (!is_nearest(f.inv_freq[i], exact)) ++not_nearest;
                    largest.add_relative(real(DoubleDouble{f.inv_freq[i], f.inv_freq_low[i]}), exact);
                }
            }
    largest.print("inv_freq + inv_freq_low, relative");
    CHECK(largest.below(-95));
    CHECK(not_nearest == 0);
}

TEST_CASE("frequencies of an enormous base are right as far as the range of double goes") {
    rope::Config config;
    config.head_dim = 256;
    config.base = 1e300;
    const rope::Frequencies f = rope::frequencies(config);
    Largest largest;
    int not_nearest = 0;
    for (std::size_t i = 0; i < f.inv_freq.size(); ++i) {
        const Real exact = support::inverse_frequency(config.base, static_cast<Index>(i), 256, 1.0);
        const Real error = abs(real(DoubleDouble{f.inv_freq[i], f.inv_freq_low[i]}) - exact);
        // What was cut off from 10^-300 is subnormal, so it has an absolute error too.
        largest.add(error / (exact + power_of_two(-1074 + 95)));
        if (!is_nearest(f.inv_freq[i], exact)) ++not_nearest;
    }
    largest.print("the same, base 10^300");
    CHECK(largest.below(-95));
    CHECK(not_nearest == 0);
}

TEST_CASE("pair 0 turns by exactly one radian over the factor, and base 1 turns every pair so") {
    rope::Config config;
    config.head_dim = 64;
    config.base = 1.0;
    for (const double w : rope::frequencies(config).inv_freq) CHECK(same_double(w, 1.0));
    for (const double low : rope::frequencies(config).inv_freq_low) CHECK(low == 0.0);
    config.base = 777.0;
    config.interpolation_factor = 4.0;
    CHECK(same_double(rope::frequencies(config).inv_freq[0], 0.25));
    CHECK(rope::frequencies(config).inv_freq_low[0] == 0.0);
}

TEST_CASE("radians become turns to 2^-127, up to 2^96 radians") {
    RandomDoubles random(1);
    Largest usual, enormous;
    const auto error = [](double x) {
        return turns_apart(real(rope::detail::phase_from_radians(x)), Real(x) / Real::two_pi());
    };
    for (int n = 0; n < 40000; ++n) {
        usual.add(error(random(-200, 32)));
        enormous.add(error(random(32, 96)));
    }
    for (const double x : {0x1p32, -0x1p32, 1.0, -1.0, 0x1.fffffffffffffp31, 0x1.921fb54442d18p+2, 0.0, -0.0, 0x1p-126,
                           0x1p-1022, 0x1p-1074, -0x1p-1074})
        usual.add(error(x));
    usual.print("phase_from_radians, up to 2^32");
    enormous.print("the same, from 2^32 to 2^96");
    CHECK(usual.below(-127));
    CHECK(enormous.below(-127));
}

TEST_CASE("turns of a double-double are the turns of the sum") {
    RandomDoubles random(2);
    Largest largest;
    for (int n = 0; n < 20000; ++n) {
        const DoubleDouble x = random.pair(-60, 32);
        largest.add(turns_apart(real(rope::detail::phase_from_radians(x)), real(x) / Real::two_pi()));
    }
    CHECK(largest.below(-126));
}

TEST_CASE("turns add, negate and multiply exactly, modulo one turn") {
    RandomDoubles random(3);
    const std::uint64_t edges[] = {0,
                                   1,
                                   2,
                                   ~std::uint64_t(0),
                                   std::uint64_t(1) << 63,
                                   (std::uint64_t(1) << 63) - 1,
                                   0xffffffff,
                                   std::uint64_t(1) << 32};
    const auto word = [&] { return random.bits() % 4 == 0 ? edges[random.bits() % 8] : random.bits(); };
    int wrong = 0;
    const auto expect = [&](Phase result, const Real& exact) {
        if (!(real(result) == exact - floor(exact))) ++wrong;
    };
    for (int n = 0; n < 20000; ++n) {
        const Phase a = {word(), word()};
        const Phase b = {word(), word()};
        expect(a + b, real(a) + real(b));
        expect(-a, Real(0.0) - real(a));
        const std::uint64_t x = word();
        const std::uint64_t y = word();
        expect(rope::detail::wide_product(x, y), scaled(Real::unsigned_integer(x) * Real::unsigned_integer(y), -128));
        const std::int64_t count = static_cast<std::int64_t>(word());
        expect(a * count, real(a) * Real::integer(count));
        const std::int64_t small = count >> 40;
        expect(a * small, real(a) * Real::integer(small));
    }
    CHECK(wrong == 0);
}

TEST_CASE("cos and sin of turns are right to 2^-100") {
    RandomDoubles random(4);
    Largest largest;
    const auto add = [&](Phase angle) {
        const auto result = rope::detail::cos_sin(angle);
        const support::RealCosSin exact = support::cos_sin(real(angle) * Real::two_pi());
        largest.add(abs(real(result.cos) - exact.cos));
        largest.add(abs(real(result.sin) - exact.sin));
    };
    for (int n = 0; n < 20000; ++n) {
        add({random.bits(), random.bits()});
        // Close to an eighth of a turn and its multiples: where the quadrant changes, and where one of the
        // two is nearly zero.
        const Phase edge = {static_cast<std::uint64_t>(n % 8) << 61, 0};
        const Phase little = {random.bits() >> (1 + random.bits() % 63), random.bits()};
        const Phase tiny = {0, random.bits() >> (random.bits() % 64)};
        add(edge + little);
        add(edge + -little);
        add(edge + tiny);
        add(edge + -tiny);
        add(edge);
    }
    largest.print("cos_sin, absolute");
    CHECK(largest.below(-100));
}

TEST_CASE("cos and sin of whole quarter turns are exact") {
    const double cosines[] = {1.0, 0.0, -1.0, 0.0};
    for (int quarter = 0; quarter < 4; ++quarter) {
        const auto result = rope::detail::cos_sin(Phase{static_cast<std::uint64_t>(quarter) << 62, 0});
        CHECK(real(result.cos) == Real(cosines[quarter]));
        CHECK(real(result.sin) == Real(cosines[(quarter + 3) % 4]));
    }
}

TEST_CASE("sums and products of two doubles are exact") {
    RandomDoubles random(5);
    int wrong = 0;
    const auto expect = [&](DoubleDouble result, const Real& exact) {
        if (!(real(result) == exact) || !same_double(result.hi, exact.to_double())) ++wrong;
    };
    for (int n = 0; n < 50000; ++n) {
        const double a = random(-80, 80);
        const double b = random(-80, 80);
        const double near = -std::ldexp(random(0, 1), std::ilogb(a));  // cancels, or nearly
        const Real sum = Real(a) + Real(b);
        expect(rope::detail::two_sum(a, b), sum);
        expect(rope::detail::two_sum(b, a), sum);
        expect(rope::detail::two_sum(a, near), Real(a) + Real(near));
        if (std::fabs(a) >= std::fabs(b)) expect(rope::detail::quick_two_sum(a, b), sum);
        expect(rope::detail::two_product(a, b), Real(a) * Real(b));
    }
    CHECK(wrong == 0);
    CHECK(real(rope::detail::two_sum(0.0, 3.0)) == Real(3.0));
    CHECK(real(rope::detail::quick_two_sum(0.0, 3.0)) == Real(3.0));
}

TEST_CASE("double-double sums, products and quotients are right to about 100 bits") {
    RandomDoubles random(6);
    Largest sum, product, quotient;
    for (int n = 0; n < 30000; ++n) {
        const DoubleDouble a = random.pair(-40, 40);
        const DoubleDouble b = n % 2 == 0 ? random.pair(-40, 40) : random.pair(-1, 1);
        sum.add_relative(real(a + b), real(a) + real(b));
        sum.add_relative(real(a - b), real(a) - real(b));
        product.add_relative(real(a * b), real(a) * real(b));
        quotient.add_relative(real(a / b), real(a) / real(b));
    }
    sum.print("double-double sum, relative");
    product.print("product");
    quotient.print("quotient");
    CHECK(sum.below(-100));
    CHECK(product.below(-102));
    CHECK(quotient.below(-100));
}

TEST_CASE("the constants are right to 2^-105") {
    Largest largest;
    Real factorial(1.0);
    for (int n = 0; n < rope::detail::kFactorials; ++n) {
        if (n > 0) factorial = factorial * Real::integer(n);
        largest.add_relative(real(rope::detail::kInverseFactorial[n]), Real(1.0) / factorial);
    }
    largest.add_relative(real(rope::detail::kLn2), log(Real(2.0)));
    largest.add_relative(real(rope::detail::kTwoPi), Real::two_pi());
    largest.print("1 / n!, ln 2 and 2 pi, relative");
    CHECK(largest.below(-105));
}

TEST_CASE("exp, log and pow keep to their bounds") {
    RandomDoubles random(7);
    Largest exp_error, log_error, pow_error;
    for (int n = 0; n < 20000; ++n) {
        // Below e^-670 the lower half is subnormal and loses bits; the range of frequencies ends before that.
        const DoubleDouble x = random.pair(-60, 10);
        if (x.hi >= -670.0 && x.hi <= 709.0) exp_error.add_relative(real(rope::detail::exp(x)), exp(real(x)));

        DoubleDouble y = n % 4 == 0 ? random.pair(-900, 900) : random.pair(-3, 3);
        if (y.hi < 0.0) y = -y;
        const Real log_y = log(real(y));
        log_error.add(abs(real(rope::detail::log(y)) - log_y) / support::max(Real(1.0), abs(log_y)));

        DoubleDouble base = random.pair(-2, 40);
        if (base.hi < 0.0) base = -base;
        const DoubleDouble exponent = random.pair(-20, 3);
        pow_error.add_relative(real(rope::detail::pow(base, exponent)), pow(real(base), real(exponent)));
    }
    exp_error.print("exp, relative");
    log_error.print("log, relative to max(1, |log|)");
    pow_error.print("pow, relative");
    CHECK(exp_error.below(-95));
    CHECK(log_error.below(-97));
    CHECK(pow_error.below(-94));

    CHECK(real(rope::detail::exp({0.0, 0.0})) == Real(1.0));
    CHECK(real(rope::detail::log({1.0, 0.0})) == Real(0.0));
    CHECK(real(rope::detail::pow({1.0, 0.0}, {0.7, 0.0})) == Real(1.0));
    CHECK(real(rope::detail::pow({123.0, 0.0}, {0.0, 0.0})) == Real(1.0));
    CHECK(same_double(rope::detail::exp({800.0, 0.0}).hi, std::numeric_limits<double>::infinity()));
    CHECK(rope::detail::exp({-800.0, 0.0}).hi == 0.0);
}

TEST_CASE("a double-double is rounded to float once, to nearest even") {
    RandomDoubles random(8);
    int wrong = 0;
    const auto expect = [&](DoubleDouble x) {
        if (!same_float(rope::detail::round_to_float(x), real(x).to_float())) ++wrong;
    };
    for (int n = 0; n < 100000; ++n) {
        expect(random.pair(-149, 127));
        // A tie between two floats, then the smallest and the largest rest on either side: rounding to double
        // first sees a tie in all of them.
        const float a = static_cast<float>(random(-120, 120));
        const double half_step = std::ldexp(1.0, std::ilogb(static_cast<double>(a)) - 24);
        const double tie = static_cast<double>(a) + (n % 2 == 0 ? half_step : -half_step);
        const double rest = std::ldexp(half_step, -29);
        for (const double lo : {0.0, rest * 0x1p-150, rest * 0x1p-40, rest * 0.5}) {
            expect({tie, lo});
            expect({tie, -lo});
            expect({static_cast<double>(a), lo});
            expect({static_cast<double>(a), -lo});
        }
        // The neighbours of a tie, whose rest points back at it.
        const double above = std::nextafter(tie, 1e300);
        const double below = std::nextafter(tie, -1e300);
        expect({above, -rest * 0.25});
        expect({below, rest * 0.25});
    }
    // Powers of two, where the step below is half of the step above; zero; and the subnormal floats.
    for (int exponent = -149; exponent < 127; ++exponent)
        for (const double sign : {1.0, -1.0}) {
            const double x = std::ldexp(sign, exponent);
            for (const double lo : {0.0, x * 0x1p-54, -x * 0x1p-54, x * 0x1p-80, -x * 0x1p-80}) {
                expect({x, lo});
                expect({1.5 * x, lo});
            }
        }
    expect({0.0, 0.0});
    expect({0x1p-150, 0.0});
    expect({0x1p-150, 0x1p-210});
    expect({0x1p-150, -0x1p-210});
    expect({0x1.ffffffp127, -0x1p60});  // just below the tie between the largest float and infinity
    CHECK(wrong == 0);
}
