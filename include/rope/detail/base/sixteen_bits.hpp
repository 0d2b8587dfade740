// SPDX-License-Identifier: MIT
// Conversions between float and the 16-bit types, without branches so that loops over them vectorise.
#pragma once

#include <cstdint>

#include "../../types.hpp"
#include "bits.hpp"

ROPE_DETAIL_BEGIN

/// Exact.
inline float float_from(bfloat16 x) noexcept { return bit_cast<float>(static_cast<std::uint32_t>(x.bits) << 16); }

/// Exact. One exact subtraction of normal floats makes subnormal halves, so flush-to-zero does not lose them.
inline float float_from(half x) noexcept {
    const std::uint32_t absolute = (std::uint32_t(x.bits) & 0x7fffu) << 13;
    const std::uint32_t exponent = absolute & 0x0f800000u;
    const std::uint32_t normal = absolute + (112u << 23) + (exponent == 0x0f800000u ? 112u << 23 : 0u);
    const float subnormal = bit_cast<float>(absolute + (113u << 23)) - bit_cast<float>(113u << 23);
    const std::uint32_t bits = exponent == 0 ? bit_cast<std::uint32_t>(subnormal) : normal;
    return bit_cast<float>(bits | (std::uint32_t(x.bits) & 0x8000u) << 16);
}

/// Nearest, ties to even; overflow to infinity; NaN stays NaN, quiet, with its sign and upper payload.
inline bfloat16 bfloat16_from(float x) noexcept {
    const std::uint32_t bits = bit_cast<std::uint32_t>(x);
    const std::uint32_t nearest = (bits + 0x7fffu + (bits >> 16 & 1u)) >> 16;
    const std::uint32_t quiet = bits >> 16 | 0x40u;
    const bool nan = (bits & 0x7fffffffu) > 0x7f800000u;
    return {static_cast<std::uint16_t>(nan ? quiet : nearest)};
}

/// Nearest, ties to even; from 65520 on infinity; NaN stays NaN, quiet, with its sign and upper payload.
inline half half_from(float x) noexcept {
    const std::uint32_t bits = bit_cast<std::uint32_t>(x);
    const std::uint32_t absolute = bits & 0x7fffffffu;
    // Normal halves: drop 13 bits, nearest even, and move the exponent's bias. A carry may reach infinity.
    const std::uint32_t normal = (absolute - (112u << 23) + 0xfffu + (absolute >> 13 & 1u)) >> 13;
    // Below 2^-14: adding 0.5 aligns the last bit of the float with the last bit of a subnormal half, so the addition
    // itself rounds to nearest even.
    const std::uint32_t subnormal = bit_cast<std::uint32_t>(bit_cast<float>(absolute) + 0.5f) - 0x3f000000u;
    const std::uint32_t nan = 0x7e00u | (absolute >> 13 & 0x3ffu);
    const std::uint32_t finite = absolute < (113u << 23) ? subnormal : normal;
    const std::uint32_t large = absolute > 0x7f800000u ? nan : 0x7c00u;
    const std::uint32_t result = absolute >= 0x477ff000u ? large : finite;
    return {static_cast<std::uint16_t>(result | (bits >> 16 & 0x8000u))};
}

ROPE_DETAIL_END

ROPE_BEGIN

ROPE_ABI inline float ToFloat::operator()(half x) const noexcept { return detail::float_from(x); }
ROPE_ABI inline float ToFloat::operator()(bfloat16 x) const noexcept { return detail::float_from(x); }
ROPE_ABI inline half to_half(float x) noexcept { return detail::half_from(x); }
ROPE_ABI inline bfloat16 to_bfloat16(float x) noexcept { return detail::bfloat16_from(x); }

ROPE_END
