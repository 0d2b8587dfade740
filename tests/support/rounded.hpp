// SPDX-License-Identifier: MIT
// Arithmetic with one rounding for each operation, and numbers of few bits, by their definitions. Nothing here is the library's
// but the types.
#pragma once

#include <rope/types.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

namespace support {

// volatile, so that no compiler makes one operation of two.
template <class T>
T rounded(T x) {
    const volatile T result = x;
    return result;
}
template <class T>
T rounded_product(T a, T b) {
    const volatile T x = a * b;
    return x;
}
template <class T>
T rounded_sum(T a, T b) {
    const volatile T x = a + b;
    return x;
}
template <class T>
T rounded_quotient(T a, T b) {
    const volatile T x = a / b;
    return x;
}
/// a * b + c in either class of bits. std::fma rounds once on every machine.
template <class T>
T product_and_sum(bool fma, T a, T b, T c) {
    return fma ? std::fma(a, b, c) : rounded_sum(rounded_product(a, b), c);
}

/// Binary numbers with a sign, an exponent and `mantissa` bits, the exponent of the smallest normal number `least`.
struct NarrowFormat {
    int mantissa, least;
    double largest;
    bool has_infinity;
};
inline constexpr NarrowFormat kHalf = {10, -14, 65504.0, true};
inline constexpr NarrowFormat kBfloat16 = {7, -126, 0x1.fep127, true};
inline constexpr NarrowFormat kE4m3 = {3, -6, 448.0, false};
inline constexpr NarrowFormat kE5m2 = {2, -14, 57344.0, false};  // infinities are not written

/// The distance between numbers of the format around x, which is finite and not 0.
inline double step_at(const NarrowFormat& f, double x) {
    return std::ldexp(1.0, std::max(std::ilogb(x), f.least) - f.mantissa);
}

/// The nearest number of the format, ties to even; beyond the largest infinity, or the largest.
inline double nearest_in(const NarrowFormat& f, double x) {
    if (x == 0.0 || std::isnan(x)) return x;
    const double infinity = std::numeric_limits<double>::infinity();
    const double step = std::isinf(x) ? 0.0 : step_at(f, x);
    const double nearest = std::isinf(x) ? x : std::nearbyint(x / step) * step;
    if (std::fabs(nearest) <= f.largest) return nearest;
    return std::copysign(f.has_infinity ? infinity : f.largest, x);
}
/// The bits of a number of the format: sign, exponent, mantissa. A NaN has ones everywhere but for its sign.
inline std::uint32_t bits_in(const NarrowFormat& f, double x, int bits) {
    const std::uint32_t sign = std::signbit(x) ? 1u << (bits - 1) : 0u, ones = (1u << (bits - 1)) - 1u;
    const double magnitude = std::fabs(x);
    if (std::isnan(x)) return sign | ones;
    if (std::isinf(x)) return sign | (ones >> f.mantissa << f.mantissa);
    if (magnitude == 0.0) return sign;
    const int exponent = std::max(std::ilogb(magnitude), f.least);
    const auto mantissa =
        static_cast<std::uint32_t>(std::ldexp(magnitude, f.mantissa - exponent));  // of a normal with its first bit
    return sign | ((static_cast<std::uint32_t>(exponent - f.least) << f.mantissa) + mantissa);
}
/// The number that bits stand for, of a format with infinities.
inline double number_of(const NarrowFormat& f, std::uint32_t code, int bits) {
    const std::uint32_t magnitude = code & ((1u << (bits - 1)) - 1u), mantissa = magnitude & ((1u << f.mantissa) - 1u);
    const std::uint32_t exponent = magnitude >> f.mantissa, all = (1u << (bits - 1 - f.mantissa)) - 1u;
    const double sign = code >> (bits - 1) != 0 ? -1.0 : 1.0;
    if (exponent == all)
        return sign *
               (mantissa != 0 ? std::numeric_limits<double>::quiet_NaN() : std::numeric_limits<double>::infinity());
    const double fraction = static_cast<double>(mantissa + (exponent != 0 ? 1u << f.mantissa : 0u));
    return sign * std::ldexp(fraction, static_cast<int>(exponent != 0 ? exponent : 1u) - 1 + f.least - f.mantissa);
}

}  // namespace support
