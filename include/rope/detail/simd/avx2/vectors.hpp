// SPDX-License-Identifier: MIT
// Vectors of AVX2, FMA and F16C. What a set supplies is listed in ../README.md.
#pragma once

namespace rope {
inline namespace ROPE_VERSION_NAMESPACE {
namespace detail {
namespace avx2 {

inline constexpr bool kHas32Registers = false;

// ---- scalars ----

ROPE_INLINE float fma(float a, float b, float c) noexcept { return __builtin_fmaf(a, b, c); }
ROPE_INLINE double product(double a, double b) noexcept { return hide_from_optimizer(a * b); }
ROPE_INLINE double fma(double a, double b, double c) noexcept { return __builtin_fma(a, b, c); }

// ---- bytes ----

ROPE_INLINE __m128i load_16_bytes(const void* p) noexcept { return _mm_loadu_si128(static_cast<const __m128i*>(p)); }
ROPE_INLINE __m256i load_32_bytes(const void* p) noexcept { return _mm256_loadu_si256(static_cast<const __m256i*>(p)); }
ROPE_INLINE void store_bytes(void* p, __m128i x) noexcept { _mm_storeu_si128(static_cast<__m128i*>(p), x); }
ROPE_INLINE void store_bytes(void* p, __m256i x) noexcept { _mm256_storeu_si256(static_cast<__m256i*>(p), x); }

/// As store_bytes, but the first `kept` bytes stay what they are.
ROPE_INLINE void store_bytes_after(void* p, Index kept, __m128i x) noexcept {
    store_bytes(p, _mm_blendv_epi8(x, load_16_bytes(p), load_16_bytes(tail_mask(kept))));
}
ROPE_INLINE void store_bytes_after(void* p, Index kept, __m256i x) noexcept {
    store_bytes(p, _mm256_blendv_epi8(x, load_32_bytes(p), load_32_bytes(tail_mask(kept))));
}

// ---- floats to bfloat16: 16 bits with the rest of the sum still below ----

/// The float plus what makes its upper 16 bits the nearest bfloat16, ties to even. For floats that are no NaN, and for
/// NaNs whose lower 16 bits are zero.
ROPE_INLINE __m256i round_to_bf16_in_place(__m256 x) noexcept {
    const __m256i bits = _mm256_castps_si256(x);
    const __m256i last = _mm256_and_si256(_mm256_srli_epi32(bits, 16), _mm256_set1_epi32(1));
    return _mm256_add_epi32(bits, _mm256_add_epi32(last, _mm256_set1_epi32(0x7fff)));
}

/// The same for every float: NaN becomes a quiet one with zeros below.
ROPE_INLINE __m256 with_short_nan(__m256 x) noexcept {
    const __m256i bits = _mm256_castps_si256(x);
    const __m256i magnitude = _mm256_and_si256(bits, _mm256_set1_epi32(0x7fffffff));
    const __m256i is_nan = _mm256_cmpgt_epi32(magnitude, _mm256_set1_epi32(0x7f800000));
    const __m256i quiet = _mm256_and_si256(_mm256_or_si256(bits, _mm256_set1_epi32(0x00400000)),
                                           _mm256_set1_epi32(static_cast<int>(0xffff0000)));
    return _mm256_castsi256_ps(_mm256_blendv_epi8(bits, quiet, is_nan));
}

template <class T>
struct ROPE_ABI Vector;
template <class T>
struct ROPE_ABI EvenOdd;

template <>
struct Vector<float> {
    static constexpr Index kWidth = 8;
    __m256 v;

    /// This vector, in a register. Used twice, it would be read from memory twice.
    ROPE_INLINE Vector in_register() const noexcept {
        __m256 x = v;
        __asm__("" : "+x"(x));
        return {x};
    }

    /// As bfloat16 has them: a NaN becomes a quiet one with zeros below.
    ROPE_INLINE Vector truncate_nans() const noexcept { return {with_short_nan(v)}; }
    ROPE_INLINE static Vector all(float x) noexcept { return {_mm256_set1_ps(x)}; }

    ROPE_INLINE static Vector load(const float* p) noexcept { return {_mm256_loadu_ps(p)}; }
    ROPE_INLINE static Vector load(const half* p) noexcept { return {_mm256_cvtph_ps(load_16_bytes(p))}; }
    ROPE_INLINE static Vector load(const bfloat16* p) noexcept {
        return {_mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(load_16_bytes(p)), 16))};
    }
    /// p[0], p[0], p[1], p[1], ...
    ROPE_INLINE static Vector load_dup(const float* p) noexcept {
        const __m256 both = _mm256_castsi256_ps(_mm256_broadcastsi128_si256(load_16_bytes(p)));
        return {_mm256_permutevar_ps(both, _mm256_setr_epi32(0, 0, 1, 1, 2, 2, 3, 3))};
    }

    ROPE_INLINE __m256i bits(const float*) const noexcept { return _mm256_castps_si256(v); }
    ROPE_INLINE __m128i bits(const half*) const noexcept { return _mm256_cvtps_ph(v, _MM_FROUND_TO_NEAREST_INT); }
    ROPE_INLINE __m128i bits(const bfloat16*) const noexcept {
        const __m256i upper = _mm256_srli_epi32(round_to_bf16_in_place(with_short_nan(v)), 16);
        return _mm256_castsi256_si128(
            _mm256_permute4x64_epi64(_mm256_packus_epi32(upper, upper), _MM_SHUFFLE(2, 0, 2, 0)));
    }
    template <class T>
    ROPE_INLINE void store(T* p) const noexcept {
        store_bytes(p, bits(p));
    }
    template <class T>
    ROPE_INLINE void store_skipping_first(T* p, Index kept) const noexcept {
        store_bytes_after(p, kept * static_cast<Index>(sizeof(T)), bits(p));
    }

    /// The two elements of each pair of neighbours exchanged.
    ROPE_INLINE Vector swap_adjacent() const noexcept { return {_mm256_permute_ps(v, _MM_SHUFFLE(2, 3, 0, 1))}; }
    /// Each element of the lower half twice, and of the upper one.
    ROPE_INLINE Vector dup_lower() const noexcept {
        return {_mm256_permutevar8x32_ps(v, _mm256_setr_epi32(0, 0, 1, 1, 2, 2, 3, 3))};
    }
    ROPE_INLINE Vector dup_upper() const noexcept {
        return {_mm256_permutevar8x32_ps(v, _mm256_setr_epi32(4, 4, 5, 5, 6, 6, 7, 7))};
    }
};
/// Both are in registers before anything is computed from what comes back.
template <class T>
ROPE_INLINE void in_registers(Vector<T>& a, Vector<T>& b) noexcept {
    __asm__("" : "+x"(a.v), "+x"(b.v));
}
ROPE_INLINE Vector<float> operator+(Vector<float> a, Vector<float> b) noexcept { return {_mm256_add_ps(a.v, b.v)}; }
ROPE_INLINE Vector<float> operator*(Vector<float> a, Vector<float> b) noexcept { return {_mm256_mul_ps(a.v, b.v)}; }
ROPE_INLINE Vector<float> fma(Vector<float> a, Vector<float> b, Vector<float> c) noexcept {
    return {_mm256_fmadd_ps(a.v, b.v, c.v)};
}
/// a * b - c in even lanes, a * b + c in odd ones.
ROPE_INLINE Vector<float> fmaddsub(Vector<float> a, Vector<float> b, Vector<float> c) noexcept {
    return {_mm256_fmaddsub_ps(a.v, b.v, c.v)};
}
ROPE_INLINE Vector<float> fms(Vector<float> a, Vector<float> b, Vector<float> c) noexcept {
    return {_mm256_fmsub_ps(a.v, b.v, c.v)};
}

template <>
struct Vector<double> {
    static constexpr Index kWidth = 4;
    __m256d v;

    /// This vector, in a register. Used twice, it would be read from memory twice.
    ROPE_INLINE Vector in_register() const noexcept {
        __m256d x = v;
        __asm__("" : "+x"(x));
        return {x};
    }

    ROPE_INLINE static Vector all(double x) noexcept { return {_mm256_set1_pd(x)}; }
    ROPE_INLINE static Vector load(const double* p) noexcept { return {_mm256_loadu_pd(p)}; }
    ROPE_INLINE static Vector load_dup(const double* p) noexcept {
        const __m256d both = _mm256_castsi256_pd(_mm256_broadcastsi128_si256(load_16_bytes(p)));
        return {_mm256_permute_pd(both, 0b1100)};
    }
    ROPE_INLINE void store(double* p) const noexcept { _mm256_storeu_pd(p, v); }
    ROPE_INLINE void store(float* p) const noexcept { _mm_storeu_ps(p, _mm256_cvtpd_ps(v)); }
    ROPE_INLINE void store_skipping_first(double* p, Index kept) const noexcept {
        store_bytes_after(p, kept * static_cast<Index>(sizeof(double)), _mm256_castpd_si256(v));
    }
    ROPE_INLINE Vector swap_adjacent() const noexcept { return {_mm256_permute_pd(v, 0b0101)}; }
    ROPE_INLINE Vector dup_lower() const noexcept { return {_mm256_permute4x64_pd(v, _MM_SHUFFLE(1, 1, 0, 0))}; }
    ROPE_INLINE Vector dup_upper() const noexcept { return {_mm256_permute4x64_pd(v, _MM_SHUFFLE(3, 3, 2, 2))}; }
};
ROPE_INLINE Vector<double> operator+(Vector<double> a, Vector<double> b) noexcept { return {_mm256_add_pd(a.v, b.v)}; }
ROPE_INLINE Vector<double> operator-(Vector<double> a, Vector<double> b) noexcept { return {_mm256_sub_pd(a.v, b.v)}; }
ROPE_INLINE Vector<double> operator*(Vector<double> a, Vector<double> b) noexcept { return {_mm256_mul_pd(a.v, b.v)}; }
/// a * b, rounded whatever is done with it next.
ROPE_INLINE Vector<double> product(Vector<double> a, Vector<double> b) noexcept {
    __m256d result = _mm256_mul_pd(a.v, b.v);
    __asm__("" : "+x"(result));
    return {result};
}
ROPE_INLINE Vector<double> fma(Vector<double> a, Vector<double> b, Vector<double> c) noexcept {
    return {_mm256_fmadd_pd(a.v, b.v, c.v)};
}
ROPE_INLINE Vector<double> fmaddsub(Vector<double> a, Vector<double> b, Vector<double> c) noexcept {
    return {_mm256_fmaddsub_pd(a.v, b.v, c.v)};
}
ROPE_INLINE Vector<double> fms(Vector<double> a, Vector<double> b, Vector<double> c) noexcept {
    return {_mm256_fmsub_pd(a.v, b.v, c.v)};
}

/// 16 numbers as those at even and those at odd places. A bfloat16 is the upper half of a float, so 16 of them in a
/// register become two vectors by one shift and one mask.
template <>
struct EvenOdd<bfloat16> {
    static constexpr Index kWidth = 16;
    Vector<float> even, odd;

    ROPE_INLINE EvenOdd in_register() const noexcept { return *this; }  // both loads shuffle or convert
    ROPE_INLINE static EvenOdd load(const bfloat16* p) noexcept {
        __m256i bits = load_32_bytes(p);
        __asm__("" : "+x"(bits));  // read once
        return {{_mm256_castsi256_ps(_mm256_slli_epi32(bits, 16))},
                {_mm256_castsi256_ps(_mm256_and_si256(bits, _mm256_set1_epi32(static_cast<int>(0xffff0000))))}};
    }
    ROPE_INLINE static EvenOdd load(const float* p) noexcept {
        const __m256 low = _mm256_loadu_ps(p);
        const __m256 high = _mm256_loadu_ps(p + 8);
        const __m256 even = _mm256_shuffle_ps(low, high, _MM_SHUFFLE(2, 0, 2, 0));
        const __m256 odd = _mm256_shuffle_ps(low, high, _MM_SHUFFLE(3, 1, 3, 1));
        constexpr int order = _MM_SHUFFLE(3, 1, 2, 0);
        return {{with_short_nan(_mm256_castpd_ps(_mm256_permute4x64_pd(_mm256_castps_pd(even), order)))},
                {with_short_nan(_mm256_castpd_ps(_mm256_permute4x64_pd(_mm256_castps_pd(odd), order)))}};
    }
    /// A NaN among them has zeros in its lower 16 bits, as those have that were loaded.
    ROPE_INLINE __m256i bits() const noexcept {
        return _mm256_blend_epi16(_mm256_srli_epi32(round_to_bf16_in_place(even.v), 16), round_to_bf16_in_place(odd.v),
                                  0xaa);
    }
    ROPE_INLINE void store(bfloat16* p) const noexcept { store_bytes(p, bits()); }
    ROPE_INLINE void store_skipping_first(bfloat16* p, Index kept) const noexcept {
        store_bytes_after(p, 2 * kept, bits());
    }
};

}  // namespace avx2
}  // namespace detail
}  // namespace ROPE_VERSION_NAMESPACE
}  // namespace rope
