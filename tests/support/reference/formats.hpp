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

/// Scales or zeros beside the codes of a head, one for each group of its features.
struct Beside {
    std::vector<unsigned char*> at;  // none: there are none
    rope::detail::ElementType type;
    bool is_given;
    rope::detail::ZeroUse use;

    float get(std::size_t i) const {
        std::uint16_t bits;
        float x;
        switch (type) {
            case rope::detail::ElementType::f32: std::memcpy(&x, at[i], 4); return x;
            case rope::detail::ElementType::i8: return static_cast<float>(static_cast<signed char>(*at[i]));
            case rope::detail::ElementType::u8: return static_cast<float>(*at[i]);
            default: break;
        }
        std::memcpy(&bits, at[i], 2);
        return static_cast<float>(number_of(type == rope::detail::ElementType::f16 ? kHalf : kBfloat16, bits, 16));
    }
    /// Stores x, rounded to the type.
    void put(std::size_t i, float x) const {
        if (type == rope::detail::ElementType::f32) return void(std::memcpy(at[i], &x, 4));
        if (type == rope::detail::ElementType::i8 || type == rope::detail::ElementType::u8)
            return void(*at[i] = static_cast<unsigned char>(static_cast<int>(x)));
        const NarrowFormat& f = type == rope::detail::ElementType::f16 ? kHalf : kBfloat16;
        std::uint16_t bits = static_cast<std::uint16_t>(bits_in(f, nearest_in(f, static_cast<double>(x)), 16));
        if (std::isnan(x)) bits = type == rope::detail::ElementType::f16 ? 0x7e00 : 0x7fc0;
        std::memcpy(at[i], &bits, 2);
    }
    /// The number for a feature of a head of so many.
    std::size_t group(std::size_t feature, std::size_t features) const { return feature / (features / at.size()); }
};

/// Where the codes of a head go, and the numbers beside them.
struct CodesInMemory {
    unsigned char* codes;
    Beside scales, zeros;
    float factor;
    bool divides;

    /// Code i of 8 or 4 bits.
    void put_code(std::size_t i, int code, int bits) const {
        unsigned char& byte = codes[bits == 8 ? i : i / 2];
        if (bits == 8)
            byte = static_cast<unsigned char>(code & 255);
        else
            byte = static_cast<unsigned char>(i % 2 == 0 ? code & 15 : (byte & 15) + (code & 15) * 16);
    }
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

/// Scales of the largest absolute value, and codes -most .. most.
inline void write_symmetric(const Head& x, const CodesInMemory& to, int bits) {
    const double most = bits == 8 ? 127.0 : 7.0;
    const std::size_t width = x.size() / to.scales.at.size();
    for (std::size_t g = 0; g < to.scales.at.size(); ++g) {
        const float largest = largest_of(&x[g * width], width);
        to.scales.put(g, rounded_quotient(largest, static_cast<float>(most)));
        const float scale = to.scales.get(g);
        const bool is_usable = std::isfinite(largest) && std::isfinite(scale) && scale > 0.0f;
        for (std::size_t i = g * width; i < (g + 1) * width; ++i) {
            float of_x = 0.0f;
            if (is_usable) of_x = inverse_of(scale) == 0.0f ? rounded_quotient(x[i], scale) : by_inverse(x[i], scale);
            to.put_code(i, static_cast<int>(held(nearest(static_cast<double>(of_x)), -most, most)), bits);
        }
    }
}
/// The code nearest to a number, by a scale and a zero, all in double.
inline int nearest_of(double x, double scale, double zero, rope::detail::ZeroUse use, double least, double most) {
    using rope::detail::ZeroUse;
    double code = rounded_quotient(use == ZeroUse::minimum ? rounded_sum(x, -zero) : x, scale);
    if (std::isnan(code) || !std::isfinite(scale) || scale == 0.0) code = 0.0;
    if (use == ZeroUse::minimum) code = nearest(code) + least;
    if (use == ZeroUse::whole_code) code = nearest(code) + zero;
    if (use == ZeroUse::code) code = nearest(rounded_sum(code, zero));
    if (std::isnan(code)) code = 0.0;
    return static_cast<int>(held(code, least, most));
}
/// Scales and zeros of the range of each group.
inline void make_ranges(const Head& x, const CodesInMemory& to, double least, double most) {
    using rope::detail::ZeroUse;
    const std::size_t width = x.size() / to.scales.at.size();
    for (std::size_t g = 0; g < to.scales.at.size(); ++g) {
        const Head group(x.begin() + static_cast<std::ptrdiff_t>(g * width),
                         x.begin() + static_cast<std::ptrdiff_t>((g + 1) * width));
        float low = group[0], high = low;
        bool is_finite = true;
        for (const float number : group) {
            is_finite = is_finite && std::isfinite(number);
            if (number < low) low = number;
            if (number > high) high = number;
        }
        if (to.zeros.use == ZeroUse::whole_code) {
            low = std::min(low, 0.0f);
            high = std::max(high, 0.0f);
        }
        const double range = rounded_sum(static_cast<double>(high), -static_cast<double>(low));
        float scale = is_finite ? static_cast<float>(rounded_quotient(range, most - least)) : kNotANumber;
        to.scales.put(g, scale);
        if (to.zeros.use == ZeroUse::code && to.scales.get(g) == 0.0f) to.scales.put(g, 1e-4f);
        scale = to.scales.get(g);
        float zero = low;
        if (to.zeros.use == ZeroUse::code)
            zero = static_cast<float>(
                rounded_sum(rounded_quotient(-static_cast<double>(low), static_cast<double>(scale)), least));
        if (!is_finite) zero = kNotANumber;
        if (to.zeros.use == ZeroUse::whole_code)
            zero = static_cast<float>(nearest_of(is_finite ? -static_cast<double>(low) : 0.0,
                                                 static_cast<double>(scale), least, ZeroUse::whole_code, least, most));
        to.zeros.put(g, zero);
    }
}
/// Whole numbers of 8 or 4 bits, with scales and perhaps zeros.
inline void write_whole_numbers(const Head& x, const CodesInMemory& to, int bits, bool is_signed) {
    const bool has_zeros = !to.zeros.at.empty();
    if (!to.scales.is_given && !has_zeros) return write_symmetric(x, to, bits);
    const double least = is_signed ? -std::ldexp(1.0, bits - 1) : 0.0, most = least + std::ldexp(1.0, bits) - 1.0;
    if (!to.scales.is_given) make_ranges(x, to, least, most);
    for (std::size_t i = 0; i < x.size(); ++i) {
        const double scale = static_cast<double>(to.scales.get(to.scales.group(i, x.size())));
        const double zero = has_zeros ? static_cast<double>(to.zeros.get(to.zeros.group(i, x.size()))) : 0.0;
        const auto use = has_zeros ? to.zeros.use : rope::detail::ZeroUse::whole_code;
        to.put_code(i, nearest_of(static_cast<double>(x[i]), scale, zero, use, least, most), bits);
    }
}
template <>
struct Codes<formats::Int8> {
    static void write(const Head& x, const CodesInMemory& to) { write_whole_numbers(x, to, 8, true); }
};
template <>
struct Codes<formats::Uint8> {
    static void write(const Head& x, const CodesInMemory& to) { write_whole_numbers(x, to, 8, false); }
};
template <>
struct Codes<formats::Int4> {
    static void write(const Head& x, const CodesInMemory& to) { write_whole_numbers(x, to, 4, true); }
};
template <>
struct Codes<formats::Uint4> {
    static void write(const Head& x, const CodesInMemory& to) { write_whole_numbers(x, to, 4, false); }
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
        const std::size_t width = x.size() / to.scales.at.size();
        for (std::size_t g = 0; g < to.scales.at.size() && !to.scales.is_given; ++g)
            to.scales.put(g, rounded_quotient(largest_of(&x[g * width], width), 448.0f));
        for (std::size_t i = 0; i < x.size(); ++i) {
            const float scale = to.scales.get(i / width);
            const bool is_usable = to.scales.is_given || (scale > 0.0f && std::isfinite(scale));
            to.codes[i] =
                is_usable ? code_of_float8(kE4m3, rounded_quotient(x[i], scale)) : static_cast<unsigned char>(0);
        }
    }
};
template <>
struct Codes<formats::Fp8E4m3ByPower> {
    static void write(const Head& x, const CodesInMemory& to) {
        const std::size_t width = x.size() / to.scales.at.size();
        for (std::size_t g = 0; g < to.scales.at.size(); ++g) {
            const float scale = rounded_quotient(largest_of(&x[g * width], width), 448.0f);
            int exponent = -126;
            while (std::isfinite(scale) && std::ldexp(1.0f, exponent) < std::max(scale, 1e-4f)) ++exponent;
            *to.scales.at[g] = static_cast<unsigned char>(std::isfinite(scale) ? exponent + 127 : 255);
            for (std::size_t i = g * width; i < (g + 1) * width; ++i)
                to.codes[i] = std::isfinite(scale)
                                  ? code_of_float8(kE4m3, rounded_quotient(x[i], std::ldexp(1.0f, exponent)))
                                  : static_cast<unsigned char>(0);
        }
    }
};

inline constexpr NarrowFormat kE2m1 = {1, 0, 6.0, false};
inline int code_of_e2m1(double x) { return static_cast<int>(bits_in(kE2m1, nearest_in(kE2m1, x), 4)); }
template <>
struct Codes<formats::Mxfp4> {
    static void write(const Head& x, const CodesInMemory& to) {
        for (std::size_t g = 0; g < x.size() / 32; ++g) {
            const float most = largest_of(&x[g * 32], 32);
            int power = 0;
            if (!std::isfinite(most)) power = 255;
            if (std::isfinite(most) && most > 0.0f) power = std::max(std::ilogb(most) - 2 + 127, 0);
            *to.scales.at[g] = static_cast<unsigned char>(power);
            for (std::size_t i = g * 32; i < g * 32 + 32; ++i)
                to.put_code(i, power == 255 ? 0 : code_of_e2m1(std::ldexp(static_cast<double>(x[i]), 127 - power)), 4);
        }
    }
};
template <>
struct Codes<formats::Nvfp4> {
    static void write(const Head& x, const CodesInMemory& to) {
        for (std::size_t g = 0; g < x.size() / 16; ++g) {
            const float most = largest_of(&x[g * 16], 16);
            const float exact = rounded_quotient(rounded_quotient(most, 6.0f), to.factor);
            const double scale = nearest_in(kE4m3, static_cast<double>(exact));
            *to.scales.at[g] = std::isfinite(most) ? static_cast<unsigned char>(bits_in(kE4m3, scale, 8)) : 0x7f;
            const float all = rounded_product(static_cast<float>(scale), to.factor);
            for (std::size_t i = g * 16; i < g * 16 + 16; ++i) {
                const bool is_usable = std::isfinite(most) && all > 0.0f;
                to.put_code(i, is_usable ? code_of_e2m1(static_cast<double>(rounded_quotient(x[i], all))) : 0, 4);
            }
        }
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
/// Bytes of codes of 4 bits, and the fifth bits of codes of 5 before them.
template <class Code>
void put_halves(unsigned char* to, int bits, const float* x, const Code& code) {
    std::uint32_t fifth = 0;
    unsigned char* const bytes = to + (bits == 5 ? 4 : 0);
    for (std::size_t k = 0; k < 16; ++k) {
        const unsigned lower = code(x[k]), upper = code(x[k + 16]);
        bytes[k] = static_cast<unsigned char>((lower & 15u) + (upper & 15u) * 16u);
        fifth |= lower / 16u << k | upper / 16u << (k + 16);
    }
    for (int k = 0; bits == 5 && k < 4; ++k) to[k] = static_cast<unsigned char>(fifth >> (8 * k));
}
/// The first of the numbers of largest magnitude; a NaN, if there is one.
inline float first_of_largest(const float* x) {
    const float most = largest_of(x, 32);
    float first = std::isnan(most) ? most : 0.0f;
    for (std::size_t k = 32; k-- > 0 && most != 0.0f;)
        if (std::fabs(x[k]) == most) first = x[k];
    return first;
}
/// q4_0 and q5_0.
inline void write_of_largest(const Head& x, unsigned char* block, int bits, std::size_t bytes) {
    const float middle = bits == 4 ? 8.0f : 16.0f;
    for (std::size_t i = 0; i < x.size(); i += 32, block += bytes) {
        const float d = rounded_quotient(first_of_largest(&x[i]), -middle);
        put_half(block, d);
        put_halves(block + 2, bits, &x[i], [&](float number) {
            const float sum = rounded_sum(by_inverse(number, d), middle + 0.5f);
            return static_cast<unsigned>(std::min(2 * middle - 1, std::floor(sum)));
        });
    }
}
/// q4_1 and q5_1.
inline void write_of_range(const Head& x, unsigned char* block, int bits, std::size_t bytes) {
    const float levels = bits == 4 ? 15.0f : 31.0f;
    for (std::size_t i = 0; i < x.size(); i += 32, block += bytes) {
        float low = x[i], high = low;
        bool is_finite = true;
        for (std::size_t k = i; k < i + 32; ++k) {
            is_finite = is_finite && std::isfinite(x[k]);
            if (x[k] < low) low = x[k];
            if (x[k] > high) high = x[k];
        }
        const float d = is_finite ? rounded_quotient(rounded_sum(high, -low), levels) : kNotANumber;
        put_half(block, d);
        put_half(block + 2, is_finite ? low : kNotANumber);
        put_halves(block + 4, bits, &x[i], [&](float number) {
            const float product = inverse_of(d) == 0.0f ? 0.0f : by_inverse(rounded_sum(number, -low), d);
            return static_cast<unsigned>(std::min(levels, std::floor(rounded_sum(product, 0.5f))));
        });
    }
}
template <>
struct Codes<formats::Q4_0> {
    static void write(const Head& x, const CodesInMemory& to) { write_of_largest(x, to.codes, 4, 18); }
};
template <>
struct Codes<formats::Q5_0> {
    static void write(const Head& x, const CodesInMemory& to) { write_of_largest(x, to.codes, 5, 22); }
};
template <>
struct Codes<formats::Q4_1> {
    static void write(const Head& x, const CodesInMemory& to) { write_of_range(x, to.codes, 4, 20); }
};
template <>
struct Codes<formats::Q5_1> {
    static void write(const Head& x, const CodesInMemory& to) { write_of_range(x, to.codes, 5, 24); }
};

/// ggml's search in a table in order: of two numbers as near, the upper one.
inline unsigned nearest_in_table(const int (&table)[16], float x) {
    if (x <= static_cast<float>(table[0])) return 0;
    if (x >= static_cast<float>(table[15])) return 15;
    unsigned upper = 1;
    while (x >= static_cast<float>(table[upper])) ++upper;
    const float below = rounded_sum(x, -static_cast<float>(table[upper - 1]));
    return below < rounded_sum(static_cast<float>(table[upper]), -x) ? upper - 1 : upper;
}
template <>
struct Codes<formats::Iq4_nl> {
    static void write(const Head& x, const CodesInMemory& to) {
        static constexpr int table[16] = {-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113};
        unsigned char* block = to.codes;
        for (std::size_t i = 0; i < x.size(); i += 32, block += 18) {
            const float first = first_of_largest(&x[i]);
            const bool has_codes = std::isfinite(first) && std::fabs(first) >= 1e-15f;
            float d = std::isfinite(first) ? 0.0f : kNotANumber, of_products = 0.0f, of_squares = 0.0f;
            const float inverse = has_codes ? rounded_quotient(1.0f, rounded_quotient(first, -127.0f)) : 0.0f;
            for (std::size_t k = i; k < i + 32; ++k) {
                const auto q = static_cast<float>(table[nearest_in_table(table, rounded_product(inverse, x[k]))]);
                const float weighted = rounded_product(rounded_product(x[k], x[k]), q);
                of_products = rounded_sum(of_products, rounded_product(weighted, x[k]));
                of_squares = rounded_sum(of_squares, rounded_product(weighted, q));
            }
            if (has_codes && of_squares > 0.0f) d = rounded_quotient(of_products, of_squares);
            put_half(block, d);
            put_halves(block + 2, 4, &x[i], [&](float number) {
                return has_codes ? nearest_in_table(table, rounded_product(inverse, number)) : 8u;
            });
        }
    }
};
template <>
struct Codes<formats::GgmlMxfp4> {
    static void write(const Head& x, const CodesInMemory& to) {
        static constexpr float twice[16] = {0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12};
        unsigned char* block = to.codes;
        for (std::size_t i = 0; i < x.size(); i += 32, block += 17) {
            const float most = largest_of(&x[i], 32);
            int e = 0;
            if (std::isfinite(most) && most > 0.0f)
                e = std::max(static_cast<int>(std::floor(std::log2(most))) - 2 + 127, 0);
            if (!std::isfinite(most)) e = 255;
            block[0] = static_cast<unsigned char>(e);
            const float half_scale = std::ldexp(1.0f, e - 128);
            put_halves(block + 1, 4, &x[i], [&](float number) {
                if (e == 255) return 7u;
                unsigned best = 0;
                for (unsigned k = 1; k < 16; ++k)
                    if (std::fabs(rounded_sum(rounded_product(twice[k], half_scale), -number)) <
                        std::fabs(rounded_sum(rounded_product(twice[best], half_scale), -number)))
                        best = k;
                return best;
            });
        }
    }
};

}  // namespace support
