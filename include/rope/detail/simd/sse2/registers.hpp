// SPDX-License-Identifier: MIT
// The instructions of SSE2, under the names that ../vectors.hpp uses (../README.md lists them). SSE2 has no fma: products
// and sums are rounded one by one.
#pragma once

ROPE_DETAIL_BEGIN
namespace sse2 {

using Floats = __m128;    // 4
using Doubles = __m128d;  // 2
using Words = __m128i;    // 4 of 32 bits, or 8 of 16
using Shorts = __m128i;   // 4 of 16 bits, in the lower half
typedef int Ints __attribute__((vector_size(16)));

inline constexpr bool kHas32Registers = false;

// ---- load and store ----

ROPE_INLINE Floats load_floats(const float* p) noexcept { return _mm_loadu_ps(p); }
ROPE_INLINE Doubles load_doubles(const double* p) noexcept { return _mm_loadu_pd(p); }
ROPE_INLINE Words load_words(const void* p) noexcept { return _mm_loadu_si128(static_cast<const __m128i*>(p)); }
ROPE_INLINE Shorts load_shorts(const void* p) noexcept { return _mm_loadl_epi64(static_cast<const __m128i*>(p)); }
ROPE_INLINE Doubles load_doubles(const float* p) noexcept { return _mm_cvtps_pd(_mm_castsi128_ps(load_shorts(p))); }
ROPE_INLINE Floats load_dup(const float* p) noexcept {
    const Floats lower = _mm_castsi128_ps(load_shorts(p));
    return _mm_unpacklo_ps(lower, lower);
}
ROPE_INLINE Doubles load_dup(const double* p) noexcept { return _mm_set1_pd(*p); }

ROPE_INLINE void store(float* p, Floats x) noexcept { _mm_storeu_ps(p, x); }
ROPE_INLINE void store(double* p, Doubles x) noexcept { _mm_storeu_pd(p, x); }
ROPE_INLINE void store_words(void* p, Words x) noexcept { _mm_storeu_si128(static_cast<__m128i*>(p), x); }
ROPE_INLINE void store_shorts(void* p, Shorts x) noexcept { _mm_storel_epi64(static_cast<__m128i*>(p), x); }
ROPE_INLINE void store_as_floats(float* p, Doubles x) noexcept { store_shorts(p, _mm_castps_si128(_mm_cvtpd_ps(x))); }

// ---- floats ----

ROPE_INLINE float fma(float a, float b, float c) noexcept { return a * b + c; }
ROPE_INLINE Floats all(float x) noexcept { return _mm_set1_ps(x); }
ROPE_INLINE Floats fma(Floats a, Floats b, Floats c) noexcept { return _mm_add_ps(_mm_mul_ps(a, b), c); }
ROPE_INLINE Floats fms(Floats a, Floats b, Floats c) noexcept { return _mm_sub_ps(_mm_mul_ps(a, b), c); }
/// SSE2 has no such sum, so the sign of c is changed.
ROPE_INLINE Floats fmaddsub(Floats a, Floats b, Floats c) noexcept {
    return fma(a, b, _mm_xor_ps(c, _mm_castsi128_ps(_mm_setr_epi32(INT32_MIN, 0, INT32_MIN, 0))));
}
ROPE_INLINE Floats swap_adjacent(Floats x) noexcept { return _mm_shuffle_ps(x, x, _MM_SHUFFLE(2, 3, 0, 1)); }
ROPE_INLINE Floats dup_lower(Floats x) noexcept { return _mm_unpacklo_ps(x, x); }
ROPE_INLINE Floats dup_upper(Floats x) noexcept { return _mm_unpackhi_ps(x, x); }
ROPE_INLINE void split_even_odd(Floats& a, Floats& b) noexcept {
    const Floats even = _mm_shuffle_ps(a, b, _MM_SHUFFLE(2, 0, 2, 0));
    b = _mm_shuffle_ps(a, b, _MM_SHUFFLE(3, 1, 3, 1));
    a = even;
}
/// Not by an intrinsic, which g++ replaces by an estimated reciprocal with -ffast-math.
ROPE_INLINE Floats divided(Floats a, Floats b) noexcept {
    __asm__("{divps %1, %0|divps %0, %1}" : "+x"(a) : "x"(b));
    return a;
}

// ---- doubles ----

ROPE_INLINE double fma(double a, double b, double c) noexcept { return a * b + c; }
ROPE_INLINE Doubles all(double x) noexcept { return _mm_set1_pd(x); }
ROPE_INLINE Doubles fma(Doubles a, Doubles b, Doubles c) noexcept { return _mm_add_pd(_mm_mul_pd(a, b), c); }
ROPE_INLINE Doubles fms(Doubles a, Doubles b, Doubles c) noexcept { return _mm_sub_pd(_mm_mul_pd(a, b), c); }
ROPE_INLINE Doubles fmaddsub(Doubles a, Doubles b, Doubles c) noexcept {
    return fma(a, b, _mm_xor_pd(c, _mm_castsi128_pd(_mm_setr_epi32(0, INT32_MIN, 0, 0))));
}
ROPE_INLINE Doubles swap_adjacent(Doubles x) noexcept { return _mm_shuffle_pd(x, x, 0b01); }
ROPE_INLINE Doubles dup_lower(Doubles x) noexcept { return _mm_unpacklo_pd(x, x); }
ROPE_INLINE Doubles dup_upper(Doubles x) noexcept { return _mm_unpackhi_pd(x, x); }
ROPE_INLINE void split_even_odd(Doubles& a, Doubles& b) noexcept {
    const Doubles even = _mm_unpacklo_pd(a, b);
    b = _mm_unpackhi_pd(a, b);
    a = even;
}
ROPE_INLINE Doubles square_root(Doubles x) noexcept { return _mm_sqrt_pd(x); }
/// The sum of each of 2 vectors.
ROPE_INLINE Doubles sums_of(const Doubles (&x)[2]) noexcept {
    return _mm_add_pd(_mm_unpacklo_pd(x[0], x[1]), _mm_unpackhi_pd(x[0], x[1]));
}

// ---- words and shorts ----

ROPE_INLINE Words words(Floats x) noexcept { return _mm_castps_si128(x); }
ROPE_INLINE Words words(Doubles x) noexcept { return _mm_castpd_si128(x); }
ROPE_INLINE Floats floats(Words x) noexcept { return _mm_castsi128_ps(x); }
ROPE_INLINE Words all_words(unsigned x) noexcept { return _mm_set1_epi32(static_cast<int>(x)); }
ROPE_INLINE Words add(Words a, Words b) noexcept { return _mm_add_epi32(a, b); }
ROPE_INLINE Words shift_left_16(Words x) noexcept { return _mm_slli_epi32(x, 16); }
ROPE_INLINE Words shift_right_16(Words x) noexcept { return _mm_srli_epi32(x, 16); }
ROPE_INLINE Words is_greater(Words a, Words b) noexcept { return _mm_cmpgt_epi32(a, b); }
ROPE_INLINE Words blend(Words mask, Words a, Words b) noexcept {
    return _mm_or_si128(_mm_and_si128(mask, b), _mm_andnot_si128(mask, a));
}
ROPE_INLINE Words as_upper_halves(Shorts x) noexcept { return _mm_unpacklo_epi16(_mm_setzero_si128(), x); }
/// The lower halves of words that are signed numbers of 16 bits.
ROPE_INLINE Shorts pack(Words x) noexcept { return _mm_packs_epi32(x, x); }
ROPE_INLINE Shorts upper_halves(Words x) noexcept { return pack(_mm_srai_epi32(x, 16)); }
ROPE_INLINE void store_upper_halves(void* p, Words a, Words b) noexcept {
    store_words(p, _mm_packs_epi32(_mm_srai_epi32(a, 16), _mm_srai_epi32(b, 16)));
}
ROPE_INLINE Words interleave_upper_halves(Words even, Words odd) noexcept {
    return shift_right_16(even) | (odd & all_words(0xffff0000));
}

/// Bytes as numbers, and the lowest byte of each number: codes of a cache format.
ROPE_INLINE Ints load_codes(const unsigned char* p) noexcept {
    std::int32_t bytes;
    std::memcpy(&bytes, p, sizeof(bytes));
    const Words none = _mm_setzero_si128();
    return reinterpret_cast<Ints>(_mm_unpacklo_epi16(_mm_unpacklo_epi8(_mm_cvtsi32_si128(bytes), none), none));
}
ROPE_INLINE void store_codes(unsigned char* p, Ints x) noexcept {
    const Words lowest = reinterpret_cast<Words>(x) & all_words(0xff);
    const std::int32_t bytes = _mm_cvtsi128_si32(_mm_packus_epi16(pack(lowest), lowest));
    std::memcpy(p, &bytes, sizeof(bytes));
}

// ---- halves, which SSE2 cannot convert: the arithmetic of ../../base/arithmetic.hpp, four at a time ----

ROPE_INLINE Floats from_half(Shorts x) noexcept {
    const Words wide = _mm_unpacklo_epi16(x, _mm_setzero_si128());
    const Words absolute = _mm_slli_epi32(wide & all_words(0x7fff), 13);
    const Words sign = shift_left_16(wide & all_words(0x8000));
    const Words exponent = absolute & all_words(0x0f800000);
    const Words bias = all_words(112 << 23);
    const Words is_special = _mm_cmpeq_epi32(exponent, all_words(0x0f800000));
    const Words normal = add(add(absolute, bias), is_special & bias);
    const Words least = all_words(113 << 23);
    const Words subnormal = words(_mm_sub_ps(floats(add(absolute, least)), floats(least)));
    const Words is_subnormal = _mm_cmpeq_epi32(exponent, _mm_setzero_si128());
    return floats(blend(is_subnormal, normal, subnormal) | sign);
}
ROPE_INLINE Shorts to_half(Floats x) noexcept {
    const Words bits = words(x);
    const Words absolute = bits & all_words(0x7fffffff);
    const Words last = _mm_srli_epi32(absolute, 13) & all_words(1);
    const Words normal = _mm_srli_epi32(add(add(absolute, last), all_words(0xfffu - (112u << 23))), 13);
    const Words subnormal = _mm_sub_epi32(words(floats(absolute) + all(0.5f)), all_words(0x3f000000));
    const Words finite = blend(_mm_cmplt_epi32(absolute, all_words(113 << 23)), normal, subnormal);
    const Words payload = _mm_srli_epi32(absolute, 13) & all_words(0x3ff);
    const Words is_nan = is_greater(absolute, all_words(0x7f800000));
    const Words large = blend(is_nan, all_words(0x7c00), payload | all_words(0x7e00));
    const Words is_large = is_greater(absolute, all_words(0x477fefff));
    // The sign goes in as bits 15 and above, so that packing with signed saturation changes nothing.
    const Words sign = _mm_srai_epi32(bits, 16) & all_words(0xffff8000);
    return pack(blend(is_large, finite, large) | sign);
}

ROPE_INLINE std::uint32_t signs_of(Ints x) noexcept {
    return static_cast<std::uint32_t>(_mm_movemask_ps(_mm_castsi128_ps(reinterpret_cast<__m128i>(x))));
}

}  // namespace sse2
ROPE_DETAIL_END

#include "../tail_store.hpp"
#define ROPE_IN_REGISTER "+x"
#include "../vectors.hpp"
#undef ROPE_IN_REGISTER
