// SPDX-License-Identifier: MIT
// The codes of every cache format, by the definitions of <rope/destinations.hpp>: one struct for each. A format without one
// here does not compile.
#pragma once

#include <rope/heads.hpp>

#include <rope/detail/kernels/formats.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <vector>

#include "../rounded.hpp"

namespace support {

using Head = std::vector<float>;
namespace formats = rope::detail::portable;

/// Where the codes of a head go, and the numbers beside them.
struct CodesInMemory {
    unsigned char* codes;
    void *scale, *zero;
    float factor;
    bool divides;

    void put_scale(float x) const { std::memcpy(scale, &x, 4); }
    void put_zero(float x) const { std::memcpy(zero, &x, 4); }
};

inline constexpr float kNotANumber = std::numeric_limits<float>::quiet_NaN();

/// max |x| of count numbers; a NaN where there is one.
inline float largest_of(const float* x, std::size_t count) {
    float most = 0.0f;
    for (std::size_t i = 0; i < count && !std::isnan(most); ++i)
        most = std::isnan(x[i]) ? kNotANumber : std::max(most, std::fabs(x[i]));
    return most;
}
inline float largest_of(const Head& x) { return largest_of(x.data(), x.size()); }

/// The nearest whole number, ties to even.
inline double nearest(double x) { return std::nearbyint(x); }
inline unsigned char low_byte(double x) { return static_cast<unsigned char>(static_cast<int>(x)); }
inline double held(double x, double low, double high) { return std::min(std::max(x, low), high); }

/// 1 / scale, or 0 where it is none.
inline float inverse_of(float scale) {
    const float inverse = scale == 0.0f || !std::isfinite(scale) ? 0.0f : rounded_quotient(1.0f, scale);
    return std::isfinite(inverse) ? inverse : 0.0f;
}
/// x times 1 / scale, each rounded to float; 0 where 1 / scale is none, whatever x is.
inline float by_inverse(float x, float scale) {
    const float inverse = inverse_of(scale);
    return inverse == 0.0f ? 0.0f : rounded_product(x, inverse);
}
inline void put_half(unsigned char* to, float x) {
    const auto bits = static_cast<std::uint16_t>(bits_in(kHalf, nearest_in(kHalf, static_cast<double>(x)), 16));
    std::memcpy(to, &bits, 2);
}

template <class Format>
struct Codes;

template <>
struct Codes<formats::Int8> {
    static void write(const Head& x, const CodesInMemory& to) {
        const float scale = rounded_quotient(largest_of(x), 127.0f);
        const bool is_tiny = std::isfinite(scale) && scale > 0.0f && inverse_of(scale) == 0.0f;
        to.put_scale(scale);
        for (std::size_t i = 0; i < x.size(); ++i) {
            const float of_x = is_tiny ? rounded_quotient(x[i], scale) : by_inverse(x[i], scale);
            to.codes[i] = low_byte(held(nearest(static_cast<double>(of_x)), -127.0, 127.0));
        }
    }
};

/// Codes 0 .. levels, `in_byte` of them in a byte.
inline void write_range_codes(const Head& x, const CodesInMemory& to, int levels, std::size_t in_byte) {
    float low = x[0], high = x[0];
    bool is_finite = true;
    for (const float number : x) {
        is_finite = is_finite && std::isfinite(number);
        if (number < low) low = number;
        if (number > high) high = number;
    }
    const double range = rounded_sum(static_cast<double>(high), -static_cast<double>(low));
    const float scale =
        is_finite ? static_cast<float>(rounded_quotient(range, static_cast<double>(levels))) : kNotANumber;
    to.put_scale(scale);
    to.put_zero(is_finite ? low : kNotANumber);
    for (std::size_t i = 0; i < x.size(); ++i) {
        double code = 0.0;
        if (scale > 0.0f)
            code = nearest(rounded_quotient(rounded_sum(static_cast<double>(x[i]), -static_cast<double>(low)),
                                            static_cast<double>(scale)));
        const unsigned char here = low_byte(held(code, 0.0, static_cast<double>(levels)));
        unsigned char& byte = to.codes[i / in_byte];
        byte = static_cast<unsigned char>(i % in_byte == 0 ? here : byte + 16 * here);
    }
}
template <>
struct Codes<formats::Uint8> {
    static void write(const Head& x, const CodesInMemory& to) { write_range_codes(x, to, 255, 1); }
};
template <>
struct Codes<formats::Uint4> {
    static void write(const Head& x, const CodesInMemory& to) { write_range_codes(x, to, 15, 2); }
};

inline unsigned char code_of_float8(const NarrowFormat& f, float x) {
    return static_cast<unsigned char>(bits_in(f, nearest_in(f, static_cast<double>(x)), 8));
}
inline void write_float8_codes(const NarrowFormat& f, const Head& x, const CodesInMemory& to) {
    for (std::size_t i = 0; i < x.size(); ++i)
        to.codes[i] =
            code_of_float8(f, to.divides ? rounded_quotient(x[i], to.factor) : rounded_product(x[i], to.factor));
}
template <>
struct Codes<formats::Fp8<formats::E4m3>> {
    static void write(const Head& x, const CodesInMemory& to) { write_float8_codes(kE4m3, x, to); }
};
template <>
struct Codes<formats::Fp8<formats::E5m2>> {
    static void write(const Head& x, const CodesInMemory& to) { write_float8_codes(kE5m2, x, to); }
};
template <>
struct Codes<formats::Fp8E4m3ByHead> {
    static void write(const Head& x, const CodesInMemory& to) {
        const float scale = rounded_quotient(largest_of(x), 448.0f);
        to.put_scale(scale);
        for (std::size_t i = 0; i < x.size(); ++i)
            to.codes[i] = scale > 0.0f && std::isfinite(scale) ? code_of_float8(kE4m3, rounded_quotient(x[i], scale))
                                                               : static_cast<unsigned char>(0);
    }
};
template <>
struct Codes<formats::Fp8E4m3ByPower> {
    static void write(const Head& x, const CodesInMemory& to) {
        const float scale = rounded_quotient(largest_of(x), 448.0f);
        int exponent = -126;
        while (std::isfinite(scale) && std::ldexp(1.0f, exponent) < std::max(scale, 1e-4f)) ++exponent;
        *static_cast<unsigned char*>(to.scale) =
            static_cast<unsigned char>(std::isfinite(scale) ? exponent + 127 : 255);
        for (std::size_t i = 0; i < x.size(); ++i)
            to.codes[i] = std::isfinite(scale)
                              ? code_of_float8(kE4m3, rounded_quotient(x[i], std::ldexp(1.0f, exponent)))
                              : static_cast<unsigned char>(0);
    }
};

template <>
struct Codes<formats::Q8_0> {
    static void write(const Head& x, const CodesInMemory& to) {
        unsigned char* codes = to.codes;
        for (std::size_t i = 0; i < x.size(); i += 32, codes += 34) {
            const float d = rounded_quotient(largest_of(&x[i], 32), 127.0f);
            put_half(codes, d);
            for (std::size_t k = 0; k < 32; ++k)  // std::round: ties away from zero
                codes[2 + k] = low_byte(std::round(static_cast<double>(by_inverse(x[i + k], d))));
        }
    }
};
template <>
struct Codes<formats::Q4_0> {
    static void write(const Head& x, const CodesInMemory& to) {
        unsigned char* codes = to.codes;
        for (std::size_t i = 0; i < x.size(); i += 32, codes += 18) {
            const float most = largest_of(&x[i], 32);
            float first = std::isnan(most) ? most : 0.0f;  // of the numbers of largest magnitude
            for (std::size_t k = 32; k-- > 0 && most != 0.0f;)
                if (std::fabs(x[i + k]) == most) first = x[i + k];
            const float d = rounded_quotient(first, -8.0f);
            put_half(codes, d);
            const auto code = [&](float number) {
                return low_byte(std::min(15.0f, std::floor(rounded_sum(by_inverse(number, d), 8.5f))));
            };
            for (std::size_t k = 0; k < 16; ++k)
                codes[2 + k] = static_cast<unsigned char>(code(x[i + k]) + 16 * code(x[i + 16 + k]));
        }
    }
};

}  // namespace support
