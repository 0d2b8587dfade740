// SPDX-License-Identifier: MIT
// Cache formats: what lies in memory for a head, written by a kernel of every instruction set and read by one function.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>

#include "../../isa.hpp"
#include "../../types.hpp"
#include "../base/arithmetic.hpp"
#include "../base/bits.hpp"

ROPE_LOOPS_BEGIN

ROPE_DETAIL_BEGIN

enum class CacheFormat : unsigned char {
    elements,
    int8,
    uint8,
    uint4,
    fp8_e4m3,
    fp8_e5m2,
    fp8_e4m3_by_head,
    fp8_e4m3_by_power,
    q8_0,
    q4_0
};

/// A number that stands beside the codes of each head.
enum class Beside : unsigned char { none, number, power };  // power: the exponent of a power of two, in a byte

/// The shape of a format's codes: `block` features take `bytes`.
struct FormatShape {
    const char* name;
    Index block, bytes;
    Beside scale, zero;
};
inline constexpr FormatShape kFormatShapes[] = {
    {"elements", 1, 0, Beside::none, Beside::none},   {"int8", 1, 1, Beside::number, Beside::none},
    {"uint8", 1, 1, Beside::number, Beside::number},  {"uint4", 2, 1, Beside::number, Beside::number},
    {"fp8_e4m3", 1, 1, Beside::none, Beside::none},   {"fp8_e5m2", 1, 1, Beside::none, Beside::none},
    {"fp8_e4m3", 1, 1, Beside::number, Beside::none}, {"fp8_e4m3", 1, 1, Beside::power, Beside::none},
    {"q8_0", 32, 34, Beside::none, Beside::none},     {"q4_0", 32, 18, Beside::none, Beside::none}};
constexpr const FormatShape& shape_of(CacheFormat format) noexcept { return kFormatShapes[static_cast<int>(format)]; }

/// Where a head goes.
struct FormatRow {
    unsigned char* codes;
    float* scale;
    unsigned char* power;  // the scale is 2^(power - 127)
    float* zero;
    float factor;  // of 8-bit floats
    bool divides;  // by the factor; else multiplies
};
using WriteFormat = void(const float* x, Index count, const FormatRow& to) noexcept;

/// Added to a number below 2^22, it leaves no fraction.
inline constexpr float kRounder = 12582912.0f;

/// 1 / scale; 0, which makes all codes 0, where it has no use: of zeros, of numbers so small that it overflows, and
/// beside an infinity or a NaN, which the scale then is.
inline float usable_inverse(std::uint32_t most, float scale) noexcept {
    if (most >= 0x7f800000u || scale == 0.0f) return 0.0f;
    const float inverse = nearest_quotient(1.0f, scale);
    return (bit_cast<std::uint32_t>(inverse) & 0x7fffffffu) < 0x7f800000u ? inverse : 0.0f;
}

/// Rounds to nearest, ties to even; what is larger than the largest number, infinity too, becomes that.
template <int mantissa, int bias>
inline std::uint32_t float8_magnitude(std::uint32_t magnitude, std::uint32_t most) noexcept {
    magnitude = magnitude < most ? magnitude : most;
    constexpr std::uint32_t dropped = 23 - mantissa, smallest = static_cast<std::uint32_t>(128 - bias) << 23;
    const std::uint32_t normal = (magnitude - (static_cast<std::uint32_t>(127 - bias) << 23) +
                                  ((1u << (dropped - 1)) - 1) + (magnitude >> dropped & 1u)) >>
                                 dropped;
    // The sum rounds: its last bit is the smallest subnormal.
    constexpr std::uint32_t aligner = static_cast<std::uint32_t>(127 + 24 - bias - mantissa) << 23;
    const std::uint32_t subnormal =
        bit_cast<std::uint32_t>(bit_cast<float>(magnitude) + bit_cast<float>(aligner)) - aligner;
    return magnitude < smallest ? subnormal : normal;
}
/// The code of x with its sign; `most` are the bits of the largest number.
template <int mantissa, int bias>
inline unsigned char float8_from(float x, std::uint32_t most) noexcept {
    const std::uint32_t bits = bit_cast<std::uint32_t>(x), magnitude = bits & 0x7fffffffu;
    const std::uint32_t code = magnitude > 0x7f800000u ? 0x7fu : float8_magnitude<mantissa, bias>(magnitude, most);
    return static_cast<unsigned char>(code | (bits >> 31) << 7);
}
/// 4 bits of exponent and 3 of mantissa, without infinity: OCP's E4M3.
struct E4m3 {
    static unsigned char from(float x) noexcept { return float8_from<3, 7>(x, 0x43e00000u); }
    static float to_float(unsigned char code) noexcept {
        const std::uint32_t magnitude = code & 0x7fu;
        const float normal = bit_cast<float>((magnitude << 20) + (120u << 23));
        const float x = magnitude == 0x7f ? bit_cast<float>(0x7fc00000u)
                        : magnitude < 8   ? static_cast<float>(magnitude) * 0x1p-9f
                                          : normal;
        return bit_cast<float>(bit_cast<std::uint32_t>(x) | static_cast<std::uint32_t>(code >> 7) << 31);
    }
};
/// 2^(byte - 127), as OCP's E8M0 has it: 0 is 2^-127, and 255 a NaN.
inline float power_of_two(unsigned char byte) noexcept {
    const auto bits = static_cast<std::uint32_t>(byte);
    return bit_cast<float>(bits == 0 ? 0x00400000u : bits == 255 ? 0x7fc00000u : bits << 23);
}
/// 5 bits of exponent and 2 of mantissa: the upper byte of a half.
struct E5m2 {
    static unsigned char from(float x) noexcept { return float8_from<2, 15>(x, 0x47600000u); }
    static float to_float(unsigned char code) noexcept {
        return float_from(half{static_cast<std::uint16_t>(code << 8)});
    }
};

ROPE_DETAIL_END

#define ROPE_FOR_EACH_ISA "../../kernels/format_kernels.hpp"
#include "../simd/isa_list.hpp"

ROPE_LOOPS_END

ROPE_DETAIL_BEGIN

ROPE_INLINE WriteFormat* write_format(IsaId isa, CacheFormat format) noexcept {
    const int i = static_cast<int>(format);
#define ROPE_ISA_ENTRY(name, ...) \
    if (isa == name::kIsaId) return name::kWriteFormat[i];
#include "../simd/isa_list.hpp"
    return portable::kWriteFormat[i];
}

/// Reads what a kernel has written for one head.
ROPE_COLD void read_format(CacheFormat format, const FormatRow& from, float* x, Index count) noexcept {
    for (Index i = 0; i < count; ++i) {
        const unsigned char* const codes = from.codes;
        half d = {};
        switch (format) {
            case CacheFormat::elements: break;
            case CacheFormat::int8: x[i] = static_cast<float>(static_cast<signed char>(codes[i])) * *from.scale; break;
            case CacheFormat::uint8: x[i] = fused(static_cast<float>(codes[i]), *from.scale, *from.zero); break;
            case CacheFormat::uint4:
                x[i] = fused(static_cast<float>(codes[i / 2] >> (i % 2 * 4) & 15), *from.scale, *from.zero);
                break;
            case CacheFormat::fp8_e4m3:
            case CacheFormat::fp8_e5m2: {
                const float value =
                    format == CacheFormat::fp8_e4m3 ? E4m3::to_float(codes[i]) : E5m2::to_float(codes[i]);
                x[i] = from.divides ? nearest_product(value, from.factor) : nearest_quotient(value, from.factor);
                break;
            }
            case CacheFormat::fp8_e4m3_by_head: x[i] = nearest_product(E4m3::to_float(codes[i]), *from.scale); break;
            case CacheFormat::fp8_e4m3_by_power:
                x[i] = nearest_product(E4m3::to_float(codes[i]), power_of_two(*from.power));
                break;
            case CacheFormat::q8_0:
                std::memcpy(&d, codes + i / 32 * 34, 2);
                x[i] = static_cast<float>(static_cast<signed char>(codes[i / 32 * 34 + 2 + i % 32])) * float_from(d);
                break;
            case CacheFormat::q4_0:
                std::memcpy(&d, codes + i / 32 * 18, 2);
                x[i] =
                    static_cast<float>((codes[i / 32 * 18 + 2 + i % 16] >> (i % 32 / 16 * 4) & 15) - 8) * float_from(d);
                break;
        }
    }
}

ROPE_DETAIL_END
