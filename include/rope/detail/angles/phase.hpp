// SPDX-License-Identifier: MIT
// Phases: angles as fractions of a revolution, in 128-bit fixed point. Integer overflow reduces them modulo one
// revolution: exactly, at every position, under all floating-point flags.
#pragma once

#include <cstdint>

#include "../base/bits.hpp"
#include "double_double.hpp"

ROPE_DETAIL_BEGIN

/// (hi * 2^64 + lo) / 2^128 of a revolution. Negative angles are the two's complement.
struct Phase {
    std::uint64_t hi = 0;
    std::uint64_t lo = 0;
};

inline Phase operator+(Phase a, Phase b) noexcept {
    const std::uint64_t lo = a.lo + b.lo;
    return {a.hi + b.hi + (lo < a.lo ? 1 : 0), lo};
}

inline Phase operator-(Phase a) noexcept { return {~a.hi + (a.lo == 0 ? 1 : 0), ~a.lo + 1}; }

/// The full product of two 64-bit numbers, from 32-bit halves: no compiler extension.
inline Phase wide_product(std::uint64_t a, std::uint64_t b) noexcept {
    const std::uint64_t mask = 0xffffffffu;
    const std::uint64_t low = (a & mask) * (b & mask);
    const std::uint64_t cross1 = (a >> 32) * (b & mask) + (low >> 32);
    const std::uint64_t cross2 = (a & mask) * (b >> 32) + (cross1 & mask);
    return {(a >> 32) * (b >> 32) + (cross1 >> 32) + (cross2 >> 32), cross2 << 32 | (low & mask)};
}

/// The angle of `count` steps, modulo one revolution.
inline Phase operator*(Phase step, std::int64_t count) noexcept {
    const std::uint64_t n = count < 0 ? 0 - static_cast<std::uint64_t>(count) : static_cast<std::uint64_t>(count);
    Phase product = wide_product(step.lo, n);
    product.hi += step.hi * n;
    return count < 0 ? -product : product;
}

/// radians / (2 pi), modulo one revolution, for |radians| < 2^96. Error below 2^-127 of a revolution: Payne-Hanek
/// reduction multiplies the double, taken as exact, by 320 bits of 1/(2 pi).
inline Phase phase_from_radians(double radians) noexcept {
    const std::uint64_t bits = bit_cast<std::uint64_t>(radians);
    const int biased = static_cast<int>(bits >> 52 & 0x7ff);
    if (biased == 0) return {};  // zero, or a subnormal: below 2^-1022 of a radian
    const std::uint64_t mantissa = (bits & ((std::uint64_t(1) << 52) - 1)) | std::uint64_t(1) << 52;

    // product = mantissa * floor(2^320 / (2 pi)), least significant word first
    constexpr std::uint64_t inverse_two_pi[] = {0x6dc91b8e909374b8, 0x7f9458eaf7aef158, 0x36d8a5664f10e410,
                                                0x7f09d5f47d4d3770, 0x28be60db9391054a};
    std::uint64_t product[9] = {};  // three words of zeros above, for shifts past the end
    for (int i = 0; i < 5; ++i) {
        const Phase word = wide_product(mantissa, inverse_two_pi[i]);
        const Phase sum = Phase{word.hi, word.lo} + Phase{0, product[i]};
        product[i] = sum.lo;
        product[i + 1] = sum.hi;
    }
    // radians = +-mantissa * 2^(biased - 1075), so the 128 fraction bits start at bit 192 - (biased - 1075).
    const int shift = 192 - (biased - 1075);
    if (shift >= 384) return {};
    const int word = shift / 64;
    const int bit = shift % 64;
    const auto at = [&](int i) { return bit == 0 ? product[i] : product[i] >> bit | product[i + 1] << (64 - bit); };
    const Phase phase = {at(word + 1), at(word)};
    return radians < 0.0 ? -phase : phase;
}

/// The phase per position of a frequency of hi + lo radians per position.
inline Phase phase_from_radians(DoubleDouble radians) noexcept {
    return phase_from_radians(radians.hi) + phase_from_radians(radians.lo);
}

/// cos and sin of one angle. T is double or DoubleDouble.
template <class T>
struct CosSin {
    T cos;
    T sin;
};

/// An angle as its nearest quarter of a revolution and the rest, from -1/8 to 1/8 of one.
struct Quartered {
    std::uint64_t quarter;
    bool is_negative;       // the rest
    DoubleDouble fraction;  // its magnitude, exactly
};
inline Quartered quartered(Phase angle) noexcept {
    const std::uint64_t quarter = (angle.hi + (std::uint64_t(1) << 61)) >> 62;
    Phase rest = angle;
    rest.hi -= quarter << 62;
    const bool is_negative = rest.hi >> 63 != 0;
    if (is_negative) rest = -rest;
    const double scale = 0x1p-32;
    const double w3 = static_cast<double>(rest.hi >> 32) * scale;
    const double w2 = static_cast<double>(rest.hi & 0xffffffffu) * scale * scale;
    const double w1 = static_cast<double>(rest.lo >> 32) * scale * scale * scale;
    const double w0 = static_cast<double>(rest.lo & 0xffffffffu) * scale * scale * scale * scale;
    return {quarter, is_negative, quick_two_sum(w3, w2) + quick_two_sum(w1, w0)};
}
/// Turns the cosine and sine of the rest's magnitude by the rest's sign and the angle's quarters.
template <class T>
inline CosSin<T> from_rest(const Quartered& angle, const T& c, const T& sin_of_magnitude) noexcept {
    const T s = angle.is_negative ? -sin_of_magnitude : sin_of_magnitude;
    switch (angle.quarter & 3) {
        case 0: return {c, s};
        case 1: return {-s, c};
        case 2: return {-c, -s};
        default: return {s, -c};
    }
}

/// cos and sin of an angle, absolute error below 2^-100.
inline CosSin<DoubleDouble> cos_sin(Phase angle) noexcept {
    const Quartered of = quartered(angle);
    const DoubleDouble x = kTwoPi * of.fraction;  // |x| <= pi/4: 28 terms reach 2^-105
    const DoubleDouble minus_x2 = -(x * x);
    return from_rest(of, factorial_series(minus_x2, 0, 2), x * factorial_series(minus_x2, 1, 2));
}

/// Angle addition: cos and sin of the sum of two angles.
inline CosSin<DoubleDouble> operator*(CosSin<DoubleDouble> a, CosSin<DoubleDouble> b) noexcept {
    return {a.cos * b.cos - a.sin * b.sin, a.sin * b.cos + a.cos * b.sin};
}

ROPE_DETAIL_END
