// SPDX-License-Identifier: MIT
// The instructions of AVX2, FMA and F16C, under the names that ../vectors.hpp uses. ../README.md lists them.
#pragma once

ROPE_DETAIL_BEGIN
namespace avx2 {

using Floats = __m256;    // 8
using Doubles = __m256d;  // 4
using Words = __m256i;    // 8 of 32 bits, or 16 of 16
using Shorts = __m128i;   // 8 of 16 bits
typedef int Ints __attribute__((vector_size(32)));

inline constexpr bool kHas32Registers = false;

// ---- load and store ----

ROPE_INLINE Floats load_floats(const float* p) noexcept { return _mm256_loadu_ps(p); }
ROPE_INLINE Doubles load_doubles(const double* p) noexcept { return _mm256_loadu_pd(p); }
ROPE_INLINE Doubles load_doubles(const float* p) noexcept { return _mm256_cvtps_pd(_mm_loadu_ps(p)); }
ROPE_INLINE Words load_words(const void* p) noexcept { return _mm256_loadu_si256(static_cast<const __m256i*>(p)); }
ROPE_INLINE Shorts load_shorts(const void* p) noexcept { return _mm_loadu_si128(static_cast<const __m128i*>(p)); }
ROPE_INLINE Floats load_dup(const float* p) noexcept {
    const Floats both = _mm256_castsi256_ps(_mm256_broadcastsi128_si256(load_shorts(p)));
    return _mm256_permutevar_ps(both, _mm256_setr_epi32(0, 0, 1, 1, 2, 2, 3, 3));
}
ROPE_INLINE Doubles load_dup(const double* p) noexcept {
    return _mm256_permute_pd(_mm256_castsi256_pd(_mm256_broadcastsi128_si256(load_shorts(p))), 0b1100);
}

ROPE_INLINE void store(float* p, Floats x) noexcept { _mm256_storeu_ps(p, x); }
ROPE_INLINE void store(double* p, Doubles x) noexcept { _mm256_storeu_pd(p, x); }
ROPE_INLINE void store_words(void* p, Words x) noexcept { _mm256_storeu_si256(static_cast<__m256i*>(p), x); }
ROPE_INLINE void store_shorts(void* p, Shorts x) noexcept { _mm_storeu_si128(static_cast<__m128i*>(p), x); }
ROPE_INLINE void store_as_floats(float* p, Doubles x) noexcept { _mm_storeu_ps(p, _mm256_cvtpd_ps(x)); }

// ---- floats ----

ROPE_INLINE float fma(float a, float b, float c) noexcept { return __builtin_fmaf(a, b, c); }
ROPE_INLINE Floats all(float x) noexcept { return _mm256_set1_ps(x); }
ROPE_INLINE Floats fma(Floats a, Floats b, Floats c) noexcept { return _mm256_fmadd_ps(a, b, c); }
ROPE_INLINE Floats fms(Floats a, Floats b, Floats c) noexcept { return _mm256_fmsub_ps(a, b, c); }
ROPE_INLINE Floats fmaddsub(Floats a, Floats b, Floats c) noexcept { return _mm256_fmaddsub_ps(a, b, c); }
ROPE_INLINE Floats swap_adjacent(Floats x) noexcept { return _mm256_permute_ps(x, _MM_SHUFFLE(2, 3, 0, 1)); }
ROPE_INLINE Floats dup_lower(Floats x) noexcept {
    return _mm256_permutevar8x32_ps(x, _mm256_setr_epi32(0, 0, 1, 1, 2, 2, 3, 3));
}
ROPE_INLINE Floats dup_upper(Floats x) noexcept {
    return _mm256_permutevar8x32_ps(x, _mm256_setr_epi32(4, 4, 5, 5, 6, 6, 7, 7));
}
/// Pairs of lanes 0, 1, 2, 3 in the order 0, 2, 1, 3, which shuffles within halves leave to be done.
ROPE_INLINE Floats swap_middle_pairs(Floats x) noexcept {
    return _mm256_castpd_ps(_mm256_permute4x64_pd(_mm256_castps_pd(x), _MM_SHUFFLE(3, 1, 2, 0)));
}
ROPE_INLINE void split_even_odd(Floats& a, Floats& b) noexcept {
    const Floats odd = swap_middle_pairs(_mm256_shuffle_ps(a, b, _MM_SHUFFLE(3, 1, 3, 1)));
    a = swap_middle_pairs(_mm256_shuffle_ps(a, b, _MM_SHUFFLE(2, 0, 2, 0)));
    b = odd;
}
ROPE_INLINE Floats from_half(Shorts x) noexcept { return _mm256_cvtph_ps(x); }
ROPE_INLINE Shorts to_half(Floats x) noexcept { return _mm256_cvtps_ph(x, _MM_FROUND_TO_NEAREST_INT); }
/// Not by an intrinsic, which g++ replaces by an estimated reciprocal with -ffast-math.
ROPE_INLINE Floats divided(Floats a, Floats b) noexcept {
    __asm__("{vdivps %1, %0, %0|vdivps %0, %0, %1}" : "+x"(a) : "x"(b));
    return a;
}

// ---- doubles ----

ROPE_INLINE double fma(double a, double b, double c) noexcept { return __builtin_fma(a, b, c); }
ROPE_INLINE Doubles all(double x) noexcept { return _mm256_set1_pd(x); }
ROPE_INLINE Doubles fma(Doubles a, Doubles b, Doubles c) noexcept { return _mm256_fmadd_pd(a, b, c); }
ROPE_INLINE Doubles fms(Doubles a, Doubles b, Doubles c) noexcept { return _mm256_fmsub_pd(a, b, c); }
ROPE_INLINE Doubles fmaddsub(Doubles a, Doubles b, Doubles c) noexcept { return _mm256_fmaddsub_pd(a, b, c); }
ROPE_INLINE Doubles swap_adjacent(Doubles x) noexcept { return _mm256_permute_pd(x, 0b0101); }
ROPE_INLINE Doubles dup_lower(Doubles x) noexcept { return _mm256_permute4x64_pd(x, _MM_SHUFFLE(1, 1, 0, 0)); }
ROPE_INLINE Doubles dup_upper(Doubles x) noexcept { return _mm256_permute4x64_pd(x, _MM_SHUFFLE(3, 3, 2, 2)); }
ROPE_INLINE void split_even_odd(Doubles& a, Doubles& b) noexcept {
    const Doubles odd = _mm256_permute4x64_pd(_mm256_unpackhi_pd(a, b), _MM_SHUFFLE(3, 1, 2, 0));
    a = _mm256_permute4x64_pd(_mm256_unpacklo_pd(a, b), _MM_SHUFFLE(3, 1, 2, 0));
    b = odd;
}
ROPE_INLINE Doubles square_root(Doubles x) noexcept { return _mm256_sqrt_pd(x); }
/// Adds the two halves of a vector: the sums of a become the lower half, the sums of b the upper half.
ROPE_INLINE Doubles add_halves(Doubles a, Doubles b) noexcept {
    return _mm256_add_pd(_mm256_permute2f128_pd(a, b, 0x20), _mm256_permute2f128_pd(a, b, 0x31));
}
/// The sum of each of 4 vectors, by halves.
ROPE_INLINE Doubles sums_of(const Doubles (&x)[4]) noexcept {
    const Doubles even = add_halves(x[0], x[2]), odd = add_halves(x[1], x[3]);
    return _mm256_add_pd(_mm256_unpacklo_pd(even, odd), _mm256_unpackhi_pd(even, odd));
}

// ---- words and shorts ----

ROPE_INLINE Words words(Floats x) noexcept { return _mm256_castps_si256(x); }
ROPE_INLINE Words words(Doubles x) noexcept { return _mm256_castpd_si256(x); }
ROPE_INLINE Floats floats(Words x) noexcept { return _mm256_castsi256_ps(x); }
ROPE_INLINE Words all_words(unsigned x) noexcept { return _mm256_set1_epi32(static_cast<int>(x)); }
ROPE_INLINE Words add(Words a, Words b) noexcept { return _mm256_add_epi32(a, b); }
ROPE_INLINE Words shift_left_16(Words x) noexcept { return _mm256_slli_epi32(x, 16); }
ROPE_INLINE Words shift_right_16(Words x) noexcept { return _mm256_srli_epi32(x, 16); }
ROPE_INLINE Words is_greater(Words a, Words b) noexcept { return _mm256_cmpgt_epi32(a, b); }
ROPE_INLINE Words blend(Words mask, Words a, Words b) noexcept { return _mm256_blendv_epi8(a, b, mask); }
ROPE_INLINE Shorts blend(Shorts mask, Shorts a, Shorts b) noexcept { return _mm_blendv_epi8(a, b, mask); }
ROPE_INLINE Words as_upper_halves(Shorts x) noexcept { return shift_left_16(_mm256_cvtepu16_epi32(x)); }
ROPE_INLINE Shorts upper_halves(Words x) noexcept {
    const Words both = _mm256_packus_epi32(shift_right_16(x), shift_right_16(x));
    return _mm256_castsi256_si128(_mm256_permute4x64_epi64(both, _MM_SHUFFLE(2, 0, 2, 0)));
}
ROPE_INLINE void store_upper_halves(void* p, Words a, Words b) noexcept {
    const Words both = _mm256_packus_epi32(shift_right_16(a), shift_right_16(b));
    store_words(p, _mm256_permute4x64_epi64(both, _MM_SHUFFLE(3, 1, 2, 0)));
}
ROPE_INLINE Words interleave_upper_halves(Words even, Words odd) noexcept {
    return _mm256_blend_epi16(shift_right_16(even), odd, 0xaa);
}
ROPE_INLINE Ints larger(Ints a, Ints b) noexcept {
    return reinterpret_cast<Ints>(_mm256_max_epi32(reinterpret_cast<Words>(a), reinterpret_cast<Words>(b)));
}
ROPE_INLINE Ints smaller(Ints a, Ints b) noexcept {
    return reinterpret_cast<Ints>(_mm256_min_epi32(reinterpret_cast<Words>(a), reinterpret_cast<Words>(b)));
}
/// Bytes as numbers, and the lowest byte of each number: codes of a cache format.
ROPE_INLINE Ints load_codes(const void* p) noexcept {
    return reinterpret_cast<Ints>(_mm256_cvtepu8_epi32(_mm_loadl_epi64(static_cast<const __m128i*>(p))));
}
ROPE_INLINE Ints load_signed_codes(const unsigned char* p) noexcept {
    return reinterpret_cast<Ints>(
        _mm256_cvtepi8_epi32(_mm_loadl_epi64(static_cast<const __m128i*>(static_cast<const void*>(p)))));
}
ROPE_INLINE void store_codes(void* p, Ints x) noexcept {
    const __m256i order = _mm256_broadcastsi128_si256(_mm_setr_epi32(0x0c080400, -1, -1, -1));
    const __m256i bytes = _mm256_shuffle_epi8(reinterpret_cast<__m256i>(x), order);
    const __m128i both = _mm_unpacklo_epi32(_mm256_castsi256_si128(bytes), _mm256_extracti128_si256(bytes, 1));
    _mm_storel_epi64(static_cast<__m128i*>(p), both);
}
ROPE_INLINE Words lowest_bytes(Ints x) noexcept { return reinterpret_cast<Words>(x) & all_words(0xff); }
/// The lowest bytes of the numbers of four vectors.
ROPE_INLINE void store_codes(unsigned char* p, Ints a, Ints b, Ints c, Ints d) noexcept {
    const Words first = _mm256_packus_epi32(lowest_bytes(a), lowest_bytes(b));
    const Words last = _mm256_packus_epi32(lowest_bytes(c), lowest_bytes(d));
    const Words order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
    store_words(p, _mm256_permutevar8x32_epi32(_mm256_packus_epi16(first, last), order));
}
ROPE_INLINE Words lowest_nibbles(Ints x) noexcept { return reinterpret_cast<Words>(x) & all_words(15); }
/// The lowest halves of the lowest bytes of two times four vectors, two in a byte.
ROPE_INLINE void store_nibbles(unsigned char* p, const Ints (&x)[8]) noexcept {
    const Words order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7), weights = _mm256_set1_epi16(0x1001);
    const Words first = _mm256_packus_epi16(_mm256_packus_epi32(lowest_nibbles(x[0]), lowest_nibbles(x[1])),
                                            _mm256_packus_epi32(lowest_nibbles(x[2]), lowest_nibbles(x[3])));
    const Words last = _mm256_packus_epi16(_mm256_packus_epi32(lowest_nibbles(x[4]), lowest_nibbles(x[5])),
                                           _mm256_packus_epi32(lowest_nibbles(x[6]), lowest_nibbles(x[7])));
    const Words lower = _mm256_maddubs_epi16(_mm256_permutevar8x32_epi32(first, order), weights);
    const Words upper = _mm256_maddubs_epi16(_mm256_permutevar8x32_epi32(last, order), weights);
    store_words(p, _mm256_permute4x64_epi64(_mm256_packus_epi16(lower, upper), _MM_SHUFFLE(3, 1, 2, 0)));
}
ROPE_INLINE std::int32_t largest_of(Ints x) noexcept {
    const Words all = reinterpret_cast<Words>(x);
    const Shorts of_halves = _mm_max_epi32(_mm256_castsi256_si128(all), _mm256_extracti128_si256(all, 1));
    const Shorts of_two = _mm_max_epi32(of_halves, _mm_shuffle_epi32(of_halves, _MM_SHUFFLE(1, 0, 3, 2)));
    return _mm_cvtsi128_si32(_mm_max_epi32(of_two, _mm_shuffle_epi32(of_two, _MM_SHUFFLE(2, 3, 0, 1))));
}

ROPE_INLINE std::uint32_t signs_of(Ints x) noexcept {
    return static_cast<std::uint32_t>(_mm256_movemask_ps(floats(reinterpret_cast<Words>(x))));
}
ROPE_INLINE Ints looked_up(const signed char* table, Ints places) noexcept {
    const Words numbers = _mm256_broadcastsi128_si256(load_shorts(table));
    // A place in the uppermost byte of each number; the other bytes become 0.
    const Words upper = _mm256_slli_epi32(reinterpret_cast<Words>(places), 24) | all_words(0x00808080);
    return reinterpret_cast<Ints>(_mm256_srai_epi32(_mm256_shuffle_epi8(numbers, upper), 24));
}

ROPE_INLINE Floats looked_up(const float* table, Ints places) noexcept {
    return _mm256_permutevar8x32_ps(load_floats(table), reinterpret_cast<Words>(places));
}

}  // namespace avx2
ROPE_DETAIL_END

#include "../tail_store.hpp"
#define ROPE_IN_REGISTER "+x"
#include "../vectors.hpp"
#undef ROPE_IN_REGISTER
