// SPDX-License-Identifier: MIT
// The instructions of AVX-512, under the names that lanes.hpp and ../vectors.hpp use.
// tests/support/emulated_registers.hpp has the same in plain C++. Where an intrinsic without a mask begins from an
// undefined register, g++ 12 warns; then it is the one with a mask of all lanes.
#pragma once

ROPE_DETAIL_BEGIN
namespace avx512 {

using Floats = __m512;    // 16
using Doubles = __m512d;  // 8
using Words = __m512i;    // 16 of 32 bits, or 32 of 16
using Shorts = __m256i;   // 16 of 16 bits
typedef int Ints __attribute__((vector_size(64)));
using Mask8 = __mmask8;
using Mask16 = __mmask16;
using Mask32 = __mmask32;

inline constexpr Mask8 kAll8 = 0xff;
inline constexpr Mask16 kAll16 = 0xffff;

// ---- load and store: lanes outside a mask are not written ----

ROPE_INLINE Floats load_floats(const float* p) noexcept { return _mm512_loadu_ps(p); }
/// A lower half. The upper one, which nobody uses, is 0 at no cost: else MemorySanitizer would report it.
ROPE_INLINE Floats load_lower(const float* p) noexcept {
    return _mm512_maskz_insertf32x8(kAll16, _mm512_setzero_ps(), _mm256_loadu_ps(p), 0);
}
ROPE_INLINE Doubles load_doubles(const double* p) noexcept { return _mm512_loadu_pd(p); }
ROPE_INLINE Doubles load_doubles(const float* p) noexcept { return _mm512_maskz_cvtps_pd(kAll8, _mm256_loadu_ps(p)); }
ROPE_INLINE Doubles load_lower(const double* p) noexcept {
    return _mm512_maskz_insertf64x4(kAll8, _mm512_setzero_pd(), _mm256_loadu_pd(p), 0);
}
ROPE_INLINE Words load_words(const void* p) noexcept { return _mm512_loadu_si512(p); }
ROPE_INLINE Shorts load_shorts(const void* p) noexcept { return _mm256_loadu_si256(static_cast<const __m256i*>(p)); }

ROPE_INLINE void store(float* p, Floats x) noexcept { _mm512_storeu_ps(p, x); }
ROPE_INLINE void store(float* p, Floats x, Mask16 m) noexcept { _mm512_mask_storeu_ps(p, m, x); }
ROPE_INLINE void store(double* p, Doubles x) noexcept { _mm512_storeu_pd(p, x); }
ROPE_INLINE void store(double* p, Doubles x, Mask8 m) noexcept { _mm512_mask_storeu_pd(p, m, x); }
ROPE_INLINE void store_words(void* p, Words x) noexcept { _mm512_storeu_si512(p, x); }
ROPE_INLINE void store_shorts(void* p, Shorts x) noexcept { _mm256_storeu_si256(static_cast<__m256i*>(p), x); }
ROPE_INLINE void store_shorts(void* p, Shorts x, Mask16 m) noexcept { _mm256_mask_storeu_epi16(p, m, x); }
ROPE_INLINE void store_as_floats(float* p, Doubles x) noexcept { _mm256_storeu_ps(p, _mm512_maskz_cvtpd_ps(kAll8, x)); }

// ---- floats ----

ROPE_INLINE float fma(float a, float b, float c) noexcept { return __builtin_fmaf(a, b, c); }
ROPE_INLINE Floats all(float x) noexcept { return _mm512_set1_ps(x); }
ROPE_INLINE Floats fma(Floats a, Floats b, Floats c) noexcept { return _mm512_fmadd_ps(a, b, c); }
ROPE_INLINE Floats fms(Floats a, Floats b, Floats c) noexcept { return _mm512_fmsub_ps(a, b, c); }
ROPE_INLINE Floats fmaddsub(Floats a, Floats b, Floats c) noexcept { return _mm512_fmaddsub_ps(a, b, c); }
ROPE_INLINE Floats swap_adjacent(Floats x) noexcept {
    return _mm512_maskz_permute_ps(kAll16, x, _MM_SHUFFLE(2, 3, 0, 1));
}
/// Each lane of `order` names the lane of x that comes there.
ROPE_INLINE Floats permute(Floats x, Words order) noexcept { return _mm512_maskz_permutexvar_ps(kAll16, order, x); }
/// The same with 32 lanes: a has the numbers 0 to 15, b 16 to 31.
ROPE_INLINE Floats permute(Floats a, Floats b, Words order) noexcept { return _mm512_permutex2var_ps(a, order, b); }
ROPE_INLINE Floats from_half(Shorts x) noexcept { return _mm512_maskz_cvtph_ps(kAll16, x); }
ROPE_INLINE Shorts to_half(Floats x) noexcept {
    return _mm512_maskz_cvtps_ph(kAll16, x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}
/// Not by an intrinsic, which g++ replaces by an estimated reciprocal with -ffast-math.
ROPE_INLINE Floats divided(Floats a, Floats b) noexcept {
    __asm__("{vdivps %1, %0, %0|vdivps %0, %0, %1}" : "+v"(a) : "v"(b));
    return a;
}

// ---- doubles ----

ROPE_INLINE double fma(double a, double b, double c) noexcept { return __builtin_fma(a, b, c); }
ROPE_INLINE Doubles all(double x) noexcept { return _mm512_set1_pd(x); }
ROPE_INLINE Doubles fma(Doubles a, Doubles b, Doubles c) noexcept { return _mm512_fmadd_pd(a, b, c); }
ROPE_INLINE Doubles fms(Doubles a, Doubles b, Doubles c) noexcept { return _mm512_fmsub_pd(a, b, c); }
ROPE_INLINE Doubles fmaddsub(Doubles a, Doubles b, Doubles c) noexcept { return _mm512_fmaddsub_pd(a, b, c); }
ROPE_INLINE Doubles swap_adjacent(Doubles x) noexcept { return _mm512_maskz_permute_pd(kAll8, x, 0x55); }
/// Lanes 0, 0, 1, 1, 2, 2, 3, 3.
ROPE_INLINE Doubles dup_lower(Doubles x) noexcept {
    return _mm512_maskz_permutexvar_pd(kAll8, _mm512_setr_epi64(0, 0, 1, 1, 2, 2, 3, 3), x);
}
ROPE_INLINE void split_even_odd(Doubles& a, Doubles& b) noexcept {
    const Doubles even = _mm512_permutex2var_pd(a, _mm512_setr_epi64(0, 2, 4, 6, 8, 10, 12, 14), b);
    b = _mm512_permutex2var_pd(a, _mm512_setr_epi64(1, 3, 5, 7, 9, 11, 13, 15), b);
    a = even;
}
ROPE_INLINE Doubles square_root(Doubles x) noexcept { return _mm512_maskz_sqrt_pd(kAll8, x); }
/// The lower halves of a and b, and their upper ones, added; then the same of each half of a vector.
ROPE_INLINE Doubles add_halves(Doubles a, Doubles b) noexcept {
    return _mm512_maskz_shuffle_f64x2(kAll8, a, b, 0x44) + _mm512_maskz_shuffle_f64x2(kAll8, a, b, 0xee);
}
ROPE_INLINE Doubles add_quarters(Doubles a, Doubles b) noexcept {
    const __m512i lower = _mm512_setr_epi64(0, 1, 8, 9, 4, 5, 12, 13),
                  upper = _mm512_setr_epi64(2, 3, 10, 11, 6, 7, 14, 15);
    return _mm512_permutex2var_pd(a, lower, b) + _mm512_permutex2var_pd(a, upper, b);
}
/// The sum of each of 8 vectors, by halves.
ROPE_INLINE Doubles sums_of(const Doubles (&x)[8]) noexcept {
    const Doubles even = add_quarters(add_halves(x[0], x[4]), add_halves(x[2], x[6]));
    const Doubles odd = add_quarters(add_halves(x[1], x[5]), add_halves(x[3], x[7]));
    return _mm512_maskz_unpacklo_pd(kAll8, even, odd) + _mm512_maskz_unpackhi_pd(kAll8, even, odd);
}

// ---- words ----

ROPE_INLINE Words words(Floats x) noexcept { return _mm512_castps_si512(x); }
ROPE_INLINE Floats floats(Words x) noexcept { return _mm512_castsi512_ps(x); }
ROPE_INLINE Words all_words(unsigned x) noexcept { return _mm512_set1_epi32(static_cast<int>(x)); }
ROPE_INLINE Words load_order(const int* p) noexcept { return _mm512_loadu_si512(p); }
ROPE_INLINE Words add(Words a, Words b) noexcept { return _mm512_add_epi32(a, b); }
ROPE_INLINE Words shift_left_16(Words x) noexcept { return _mm512_maskz_slli_epi32(kAll16, x, 16); }
ROPE_INLINE Words shift_right_16(Words x) noexcept { return _mm512_maskz_srli_epi32(kAll16, x, 16); }
/// As signed numbers.
ROPE_INLINE Mask16 is_greater(Words a, Words b) noexcept { return _mm512_cmpgt_epi32_mask(a, b); }
ROPE_INLINE Words blend(Mask16 m, Words a, Words b) noexcept { return _mm512_mask_blend_epi32(m, a, b); }
/// The same of 16 bits each.
ROPE_INLINE Words blend_16(Mask32 m, Words a, Words b) noexcept { return _mm512_mask_blend_epi16(m, a, b); }
ROPE_INLINE Words widen(Shorts x) noexcept { return _mm512_maskz_cvtepu16_epi32(kAll16, x); }
/// The lower 16 bits of each.
ROPE_INLINE Shorts narrow(Words x) noexcept { return _mm512_maskz_cvtepi32_epi16(kAll16, x); }
ROPE_INLINE Ints larger(Ints a, Ints b) noexcept {
    return reinterpret_cast<Ints>(
        _mm512_maskz_max_epi32(kAll16, reinterpret_cast<Words>(a), reinterpret_cast<Words>(b)));
}
ROPE_INLINE Ints smaller(Ints a, Ints b) noexcept {
    return reinterpret_cast<Ints>(
        _mm512_maskz_min_epi32(kAll16, reinterpret_cast<Words>(a), reinterpret_cast<Words>(b)));
}

// ---- floats to bfloat16, where the machine has AVX512-BF16 ----

/// Whether a subnormal is among them, which the conversion takes for zero. (With MXCSR.DAZ all instructions do so.)
ROPE_INLINE bool convert_loses(Floats a, Floats b) noexcept {
    constexpr int subnormal = 0x20;
    return _kortestz_mask16_u8(_mm512_fpclass_ps_mask(a, subnormal), _mm512_fpclass_ps_mask(b, subnormal)) == 0;
}
/// Both as bfloat16, `lower` in the lower half. As text, since only the functions of another region have the intrinsic.
ROPE_INLINE Words convert_two(Floats lower, Floats upper) noexcept {
    Words both;
    __asm__("{vcvtne2ps2bf16 %1, %2, %0|vcvtne2ps2bf16 %0, %2, %1}" : "=v"(both) : "v"(lower), "v"(upper));
    return both;
}
/// permute, for lanes of 16 bits.
ROPE_INLINE Words permute_16(Words x, Words order) noexcept {
    return _mm512_maskz_permutexvar_epi16(0xffffffff, order, x);
}

// ---- codes ----

/// Bytes as numbers, and the lowest byte of each number: codes of a cache format.
ROPE_INLINE Ints load_codes(const void* p) noexcept {
    return reinterpret_cast<Ints>(_mm512_maskz_cvtepu8_epi32(kAll16, _mm_loadu_si128(static_cast<const __m128i*>(p))));
}
ROPE_INLINE Ints load_signed_codes(const unsigned char* p) noexcept {
    return reinterpret_cast<Ints>(
        _mm512_maskz_cvtepi8_epi32(kAll16, _mm_loadu_si128(static_cast<const __m128i*>(static_cast<const void*>(p)))));
}
ROPE_INLINE void store_codes(void* p, Ints x) noexcept {
    _mm_storeu_si128(static_cast<__m128i*>(p), _mm512_maskz_cvtepi32_epi8(kAll16, reinterpret_cast<Words>(x)));
}

ROPE_INLINE std::uint32_t signs_of(Ints x) noexcept {
    return _mm512_cmplt_epi32_mask(reinterpret_cast<Words>(x), _mm512_setzero_si512());
}
ROPE_INLINE Ints looked_up(const signed char* table, Ints places) noexcept {
    const Words numbers = _mm512_maskz_cvtepi8_epi32(
        kAll16, _mm_loadu_si128(static_cast<const __m128i*>(static_cast<const void*>(table))));
    return reinterpret_cast<Ints>(_mm512_maskz_permutexvar_epi32(kAll16, reinterpret_cast<Words>(places), numbers));
}

ROPE_INLINE Floats looked_up(const float* table, Ints places) noexcept {
    const Floats twice = _mm512_maskz_insertf32x8(kAll16, load_lower(table), _mm256_loadu_ps(table), 1);
    return _mm512_maskz_permutexvar_ps(kAll16, reinterpret_cast<Words>(places), twice);
}

}  // namespace avx512
ROPE_DETAIL_END

#include "lanes.hpp"

#define ROPE_IN_REGISTER "+v"
#include "../vectors.hpp"
#undef ROPE_IN_REGISTER
