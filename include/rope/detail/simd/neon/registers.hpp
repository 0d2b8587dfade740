// SPDX-License-Identifier: MIT
// The instructions of NEON, under the names that ../vectors.hpp uses (../README.md lists them). Every NEON has fma and
// conversions of half.
#pragma once

ROPE_DETAIL_BEGIN
namespace neon {

using Floats = float32x4_t;
using Doubles = float64x2_t;
using Words = uint32x4_t;
using Shorts = uint16x4_t;
using Ints = int32x4_t;

inline constexpr bool kHas32Registers = false;

// ---- load and store: as bytes, so that the elements may be of any type and alignment ----

ROPE_INLINE uint8x16_t load_bytes(const void* p) noexcept { return vld1q_u8(static_cast<const std::uint8_t*>(p)); }
ROPE_INLINE uint8x8_t load_8_bytes(const void* p) noexcept { return vld1_u8(static_cast<const std::uint8_t*>(p)); }
ROPE_INLINE void store_bytes(void* p, uint8x16_t x) noexcept { vst1q_u8(static_cast<std::uint8_t*>(p), x); }
ROPE_INLINE void store_8_bytes(void* p, uint8x8_t x) noexcept { vst1_u8(static_cast<std::uint8_t*>(p), x); }

ROPE_INLINE Floats load_floats(const float* p) noexcept { return vreinterpretq_f32_u8(load_bytes(p)); }
ROPE_INLINE Doubles load_doubles(const double* p) noexcept { return vreinterpretq_f64_u8(load_bytes(p)); }
ROPE_INLINE Doubles load_doubles(const float* p) noexcept { return vcvt_f64_f32(vreinterpret_f32_u8(load_8_bytes(p))); }
ROPE_INLINE Words load_words(const void* p) noexcept { return vreinterpretq_u32_u8(load_bytes(p)); }
ROPE_INLINE Shorts load_shorts(const void* p) noexcept { return vreinterpret_u16_u8(load_8_bytes(p)); }
ROPE_INLINE Floats load_dup(const float* p) noexcept {
    const float32x2_t lower = vreinterpret_f32_u8(load_8_bytes(p));
    const Floats both = vcombine_f32(lower, lower);
    return vzip1q_f32(both, both);
}
ROPE_INLINE Doubles load_dup(const double* p) noexcept { return vdupq_n_f64(*p); }

ROPE_INLINE void store(float* p, Floats x) noexcept { store_bytes(p, vreinterpretq_u8_f32(x)); }
ROPE_INLINE void store(double* p, Doubles x) noexcept { store_bytes(p, vreinterpretq_u8_f64(x)); }
ROPE_INLINE void store_words(void* p, Words x) noexcept { store_bytes(p, vreinterpretq_u8_u32(x)); }
ROPE_INLINE void store_shorts(void* p, Shorts x) noexcept { store_8_bytes(p, vreinterpret_u8_u16(x)); }
ROPE_INLINE void store_as_floats(float* p, Doubles x) noexcept {
    store_8_bytes(p, vreinterpret_u8_f32(vcvt_f32_f64(x)));
}

// ---- floats ----

ROPE_INLINE float fma(float a, float b, float c) noexcept { return __builtin_fmaf(a, b, c); }
ROPE_INLINE Floats all(float x) noexcept { return vdupq_n_f32(x); }
ROPE_INLINE Floats fma(Floats a, Floats b, Floats c) noexcept { return vfmaq_f32(c, a, b); }
/// NEON's own subtraction is c - a * b, whose zeros have the other sign when it is turned.
ROPE_INLINE Floats fms(Floats a, Floats b, Floats c) noexcept { return vfmaq_f32(vnegq_f32(c), a, b); }
/// NEON has no such sum, so the sign of c is changed.
ROPE_INLINE Floats fmaddsub(Floats a, Floats b, Floats c) noexcept {
    const Words even = vreinterpretq_u32_u64(vdupq_n_u64(0x80000000));
    return fma(a, b, vreinterpretq_f32_u32(veorq_u32(vreinterpretq_u32_f32(c), even)));
}
ROPE_INLINE Floats swap_adjacent(Floats x) noexcept { return vrev64q_f32(x); }
ROPE_INLINE Floats dup_lower(Floats x) noexcept { return vzip1q_f32(x, x); }
ROPE_INLINE Floats dup_upper(Floats x) noexcept { return vzip2q_f32(x, x); }
ROPE_INLINE void split_even_odd(Floats& a, Floats& b) noexcept {
    const Floats even = vuzp1q_f32(a, b);
    b = vuzp2q_f32(a, b);
    a = even;
}
ROPE_INLINE Floats from_half(Shorts x) noexcept { return vcvt_f32_f16(vreinterpret_f16_u16(x)); }
ROPE_INLINE Shorts to_half(Floats x) noexcept { return vreinterpret_u16_f16(vcvt_f16_f32(x)); }

// ---- doubles ----

ROPE_INLINE double fma(double a, double b, double c) noexcept { return __builtin_fma(a, b, c); }
ROPE_INLINE Doubles all(double x) noexcept { return vdupq_n_f64(x); }
ROPE_INLINE Doubles fma(Doubles a, Doubles b, Doubles c) noexcept { return vfmaq_f64(c, a, b); }
ROPE_INLINE Doubles fms(Doubles a, Doubles b, Doubles c) noexcept { return vfmaq_f64(vnegq_f64(c), a, b); }
ROPE_INLINE Doubles fmaddsub(Doubles a, Doubles b, Doubles c) noexcept {
    const uint64x2_t even = vcombine_u64(vdup_n_u64(0x8000000000000000), vdup_n_u64(0));
    return fma(a, b, vreinterpretq_f64_u64(veorq_u64(vreinterpretq_u64_f64(c), even)));
}
ROPE_INLINE Doubles swap_adjacent(Doubles x) noexcept { return vextq_f64(x, x, 1); }
ROPE_INLINE Doubles dup_lower(Doubles x) noexcept { return vzip1q_f64(x, x); }
ROPE_INLINE Doubles dup_upper(Doubles x) noexcept { return vzip2q_f64(x, x); }
ROPE_INLINE void split_even_odd(Doubles& a, Doubles& b) noexcept {
    const Doubles even = vuzp1q_f64(a, b);
    b = vuzp2q_f64(a, b);
    a = even;
}
ROPE_INLINE Doubles square_root(Doubles x) noexcept { return vsqrtq_f64(x); }
/// The sum of each of 2 vectors.
ROPE_INLINE Doubles sums_of(const Doubles (&x)[2]) noexcept { return vpaddq_f64(x[0], x[1]); }

// ---- words and shorts ----

ROPE_INLINE Words words(Floats x) noexcept { return vreinterpretq_u32_f32(x); }
ROPE_INLINE Words words(Doubles x) noexcept { return vreinterpretq_u32_f64(x); }
ROPE_INLINE Floats floats(Words x) noexcept { return vreinterpretq_f32_u32(x); }
ROPE_INLINE Words all_words(unsigned x) noexcept { return vdupq_n_u32(x); }
ROPE_INLINE Words add(Words a, Words b) noexcept { return vaddq_u32(a, b); }
ROPE_INLINE Words shift_left_16(Words x) noexcept { return vshlq_n_u32(x, 16); }
ROPE_INLINE Words is_greater(Words a, Words b) noexcept { return vcgtq_u32(a, b); }
ROPE_INLINE Words blend(Words mask, Words a, Words b) noexcept { return vbslq_u32(mask, b, a); }
ROPE_INLINE Shorts blend(Shorts mask, Shorts a, Shorts b) noexcept { return vbsl_u16(mask, b, a); }
ROPE_INLINE Words as_upper_halves(Shorts x) noexcept { return vshll_n_u16(x, 16); }
ROPE_INLINE Shorts upper_halves(Words x) noexcept { return vshrn_n_u32(x, 16); }
ROPE_INLINE Ints larger(Ints a, Ints b) noexcept { return vmaxq_s32(a, b); }
ROPE_INLINE Ints smaller(Ints a, Ints b) noexcept { return vminq_s32(a, b); }
/// Bytes as numbers, and the lowest byte of each number: codes of a cache format.
ROPE_INLINE Ints load_codes(const unsigned char* p) noexcept {
    std::uint32_t bytes;
    std::memcpy(&bytes, p, sizeof(bytes));
    const uint16x8_t wide = vmovl_u8(vreinterpret_u8_u32(vdup_n_u32(bytes)));
    return vreinterpretq_s32_u32(vmovl_u16(vget_low_u16(wide)));
}
ROPE_INLINE Ints load_signed_codes(const unsigned char* p) noexcept {
    std::uint32_t bytes;
    std::memcpy(&bytes, p, sizeof(bytes));
    return vmovl_s16(vget_low_s16(vmovl_s8(vreinterpret_s8_u32(vdup_n_u32(bytes)))));
}
ROPE_INLINE void store_codes(unsigned char* p, Ints x) noexcept {
    const uint16x4_t lower = vmovn_u32(vreinterpretq_u32_s32(x));
    const std::uint32_t bytes = vget_lane_u32(vreinterpret_u32_u8(vmovn_u16(vcombine_u16(lower, lower))), 0);
    std::memcpy(p, &bytes, sizeof(bytes));
}
/// Shift and add in one instruction.
ROPE_INLINE Words round_upper_half(Words x) noexcept {
    const Words last_on_top = vshlq_n_u32(x, 15);
    return vsraq_n_u32(add(x, all_words(0x7fff)), last_on_top, 31);
}
ROPE_INLINE Words round_and_interleave(Words even, Words odd) noexcept {
    const Words upper = round_upper_half(odd);
    return vsriq_n_u32(upper, round_upper_half(even), 16);
}

#if defined(ROPE_BFLOAT16_CONVERSION)

// ---- floats to bfloat16, where the machine has FEAT_BF16 ----

/// NEON's conversion keeps subnormals, unless FPCR.FZ is set: then products and sums make them zero, too.
constexpr bool convert_loses(Floats, Floats) noexcept { return false; }
/// x as bfloat16 in the lower half. As text, since intrinsics are for the functions of another region.
ROPE_INLINE uint16x8_t convert_one(Floats x) noexcept {
    uint16x8_t lower;
    __asm__(".arch_extension bf16\n\tbfcvtn %0.4h, %1.4s" : "=w"(lower) : "w"(x));
    return lower;
}
ROPE_INLINE Words convert_two(Floats lower, Floats upper) noexcept {
    return vreinterpretq_u32_u16(vcombine_u16(vget_low_u16(convert_one(lower)), vget_low_u16(convert_one(upper))));
}
ROPE_INLINE Words convert_and_interleave(Floats even, Floats odd) noexcept {
    return vreinterpretq_u32_u16(vzip1q_u16(convert_one(even), convert_one(odd)));
}
#endif

}  // namespace neon
ROPE_DETAIL_END

#include "../tail_store.hpp"
#define ROPE_IN_REGISTER "+w"
#include "../vectors.hpp"
#undef ROPE_IN_REGISTER
