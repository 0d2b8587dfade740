// SPDX-License-Identifier: MIT
// Double-double arithmetic: a number is the unevaluated sum hi + lo, |lo| <= ulp(hi)/2, about 106 bits. Makes tables,
// never rotates data. Source: Dekker (1971); Knuth's two-sum; Hida, Li and Bailey, "Library for double-double and
// quad-double arithmetic" (2007).
#pragma once

#include <cmath>
#include <cstdint>

#include "../../version.hpp"
#include "../base/arithmetic.hpp"
#include "../base/bits.hpp"

ROPE_DETAIL_BEGIN

struct DoubleDouble {
    double hi = 0.0;
    double lo = 0.0;
};

/// a + b exactly, for |a| >= |b| or a = 0 (Dekker's fast two-sum).
inline DoubleDouble quick_two_sum(double a, double b) noexcept {
    const double s = hide_from_optimizer(a + b);
    return {s, b - hide_from_optimizer(s - a)};
}

/// a + b exactly (Knuth's two-sum).
inline DoubleDouble two_sum(double a, double b) noexcept {
    const double s = hide_from_optimizer(a + b);
    const double from_b = hide_from_optimizer(s - a);
    const double from_a = hide_from_optimizer(s - from_b);
    return {s, hide_from_optimizer(a - from_a) + hide_from_optimizer(b - from_b)};
}

/// a * b exactly, for absolute values below 2^996, by fma or by Dekker's product.
inline DoubleDouble two_product(double a, double b) noexcept {
    const double p = hide_from_optimizer(a * b);
#if ROPE_HAS_FMA
    return {p, std::fma(a, b, -p)};
#else
    // Without the instruction, std::fma is slow, and clang's -ffast-math replaces it by a product and a sum. Dekker's
    // product cuts both factors into halves of 26 bits, whose products are exact.
    const double cut = 0x1p27 + 1.0;
    const double a_high =
        hide_from_optimizer(hide_from_optimizer(cut * a) - hide_from_optimizer(hide_from_optimizer(cut * a) - a));
    const double b_high =
        hide_from_optimizer(hide_from_optimizer(cut * b) - hide_from_optimizer(hide_from_optimizer(cut * b) - b));
    const double a_low = hide_from_optimizer(a - a_high);
    const double b_low = hide_from_optimizer(b - b_high);
    const double rest = hide_from_optimizer(hide_from_optimizer(a_high * b_high) - p);
    return {p, hide_from_optimizer(hide_from_optimizer(rest + a_high * b_low) + a_low * b_high) + a_low * b_low};
#endif
}

inline DoubleDouble operator-(DoubleDouble a) noexcept { return {-a.hi, -a.lo}; }

inline DoubleDouble operator+(DoubleDouble a, DoubleDouble b) noexcept {
    const DoubleDouble s = two_sum(a.hi, b.hi);
    const DoubleDouble t = two_sum(a.lo, b.lo);
    const DoubleDouble u = quick_two_sum(s.hi, hide_from_optimizer(s.lo + t.hi));
    return quick_two_sum(u.hi, hide_from_optimizer(u.lo + t.lo));
}

inline DoubleDouble operator-(DoubleDouble a, DoubleDouble b) noexcept { return a + -b; }

inline DoubleDouble operator*(DoubleDouble a, DoubleDouble b) noexcept {
    const DoubleDouble p = two_product(a.hi, b.hi);
    const double cross = hide_from_optimizer(hide_from_optimizer(a.hi * b.lo) + hide_from_optimizer(a.lo * b.hi));
    return quick_two_sum(p.hi, hide_from_optimizer(p.lo + cross));
}

inline DoubleDouble operator/(DoubleDouble a, DoubleDouble b) noexcept {
    const double q1 = hide_from_optimizer(a.hi / b.hi);
    const DoubleDouble r1 = a - DoubleDouble{q1, 0.0} * b;
    const double q2 = hide_from_optimizer(r1.hi / b.hi);
    const DoubleDouble r2 = r1 - DoubleDouble{q2, 0.0} * b;
    const double q3 = hide_from_optimizer(r2.hi / b.hi);
    return quick_two_sum(q1, q2) + DoubleDouble{q3, 0.0};
}

/// 1 / n! for n = 0 .. 27.
inline constexpr DoubleDouble kInverseFactorial[] = {
    {0x1.0000000000000p+0, 0x0.0p+0},
    {0x1.0000000000000p+0, 0x0.0p+0},
    {0x1.0000000000000p-1, 0x0.0p+0},
    {0x1.5555555555555p-3, 0x1.5555555555555p-57},
    {0x1.5555555555555p-5, 0x1.5555555555555p-59},
    {0x1.1111111111111p-7, 0x1.1111111111111p-63},
    {0x1.6c16c16c16c17p-10, -0x1.f49f49f49f49fp-65},
    {0x1.a01a01a01a01ap-13, 0x1.a01a01a01a01ap-73},
    {0x1.a01a01a01a01ap-16, 0x1.a01a01a01a01ap-76},
    {0x1.71de3a556c734p-19, -0x1.c154f8ddc6c00p-73},
    {0x1.27e4fb7789f5cp-22, 0x1.cbbc05b4fa99ap-76},
    {0x1.ae64567f544e4p-26, -0x1.c062e06d1f209p-80},
    {0x1.1eed8eff8d898p-29, -0x1.2aec959e14c06p-83},
    {0x1.6124613a86d09p-33, 0x1.f28e0cc748ebep-87},
    {0x1.93974a8c07c9dp-37, 0x1.05d6f8a2efd1fp-92},
    {0x1.ae7f3e733b81fp-41, 0x1.1d8656b0ee8cbp-97},
    {0x1.ae7f3e733b81fp-45, 0x1.1d8656b0ee8cbp-101},
    {0x1.952c77030ad4ap-49, 0x1.ac981465ddc6cp-103},
    {0x1.6827863b97d97p-53, 0x1.eec01221a8b0bp-107},
    {0x1.2f49b46814157p-57, 0x1.2650f61dbdcb4p-112},
    {0x1.e542ba4020225p-62, 0x1.ea72b4afe3c2fp-120},
    {0x1.71b8ef6dcf572p-66, -0x1.d043ae40c4647p-120},
    {0x1.0ce396db7f853p-70, -0x1.aebcdbd20331cp-124},
    {0x1.761b41316381ap-75, -0x1.3423c7d91404fp-130},
    {0x1.f2cf01972f578p-80, -0x1.9ada5fcc1ab14p-135},
    {0x1.3f3ccdd165fa9p-84, -0x1.58ddadf344487p-139},
    {0x1.88e85fc6a4e5ap-89, -0x1.71c37ebd16540p-143},
    {0x1.d1ab1c2dccea3p-94, 0x1.054d0c78aea14p-149},
};
inline constexpr int kFactorials = static_cast<int>(sizeof(kInverseFactorial) / sizeof(kInverseFactorial[0]));

/// The sum of power^(n / step) / n! over n = first, first + step, ... below 28, by Horner's scheme. The series of exp,
/// cos and sin differ only in `first`, `step` and the sign of `power`.
inline DoubleDouble factorial_series(DoubleDouble power, int first, int step) noexcept {
    int n = first + (kFactorials - 1 - first) / step * step;
    DoubleDouble sum = kInverseFactorial[n];
    for (n -= step; n >= first; n -= step) sum = sum * power + kInverseFactorial[n];
    return sum;
}

inline constexpr DoubleDouble kLn2 = {0x1.62e42fefa39efp-1, 0x1.abc9e3b39803fp-56};
inline constexpr DoubleDouble kTwoPi = {0x1.921fb54442d18p+2, 0x1.1a62633145c07p-52};

/// e^x, relative error below 2^-95 for -670 <= x <= 709. Below, hi + lo becomes subnormal, then zero; above, infinity.
inline DoubleDouble exp(DoubleDouble x) noexcept {
    if (x.hi > 709.0) return {HUGE_VAL, 0.0};
    if (x.hi < -745.0) return {0.0, 0.0};
    const double k = std::nearbyint(x.hi / kLn2.hi);
    const DoubleDouble r = x - DoubleDouble{k, 0.0} * kLn2;  // |r| <= 0.35, so 28 terms reach 2^-130
    const DoubleDouble y = factorial_series(r, 0, 1);
    const int n = static_cast<int>(k);
    return {std::ldexp(y.hi, n), std::ldexp(y.lo, n)};
}

/// The natural logarithm of a finite x > 0, by one Newton step from the double value.
inline DoubleDouble log(DoubleDouble x) noexcept {
    int n = 0;
    const double m = std::frexp(x.hi, &n);  // in [0.5, 1): e^-y below stays in range
    const DoubleDouble mantissa = {m, std::ldexp(x.lo, -n)};
    const DoubleDouble y = {std::log(m), 0.0};
    const DoubleDouble residual = mantissa * exp(-y) - DoubleDouble{1.0, 0.0};  // about 2^-53
    // log(1 + r) = r - r^2/2; the next term is below 2^-159.
    const DoubleDouble correction = residual - DoubleDouble{0.5 * residual.hi * residual.hi, 0.0};
    return y + correction + DoubleDouble{static_cast<double>(n), 0.0} * kLn2;
}

/// base^exponent for base > 0. 1^e is exactly 1, and so is b^0.
inline DoubleDouble pow(DoubleDouble base, DoubleDouble exponent) noexcept { return exp(exponent * log(base)); }

/// hi + lo rounded once to float, to nearest even. float(hi) alone would round twice.
inline float round_to_float(DoubleDouble x) noexcept {
    // Rounds to odd first: if lo is not zero, an even hi moves one step towards lo. No odd 53-bit number is a tie
    // between two floats, so the second rounding sees on which side the sum lies.
    std::uint64_t bits = bit_cast<std::uint64_t>(x.hi);
    if (x.lo != 0.0 && bits % 2 == 0) {
        const bool away_from_zero = (x.lo > 0.0) == (x.hi > 0.0);
        bits = away_from_zero ? bits + 1 : bits - 1;
    }
    return static_cast<float>(bit_cast<double>(bits));
}

inline DoubleDouble exact(double x) noexcept { return {x, 0.0}; }
inline DoubleDouble exact(Index x) noexcept {  // beyond 2^53, the nearest double
    return {static_cast<double>(x), 0.0};
}

ROPE_DETAIL_END
