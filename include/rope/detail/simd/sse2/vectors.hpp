// SPDX-License-Identifier: MIT
// Vectors of SSE2, which has no fma: products and sums are rounded one by one. What a set supplies is listed in
// ../README.md.
#pragma once

namespace rope {
inline namespace ROPE_VERSION_NAMESPACE {
namespace detail {
namespace sse2 {

inline constexpr bool kHas32Registers = false;

// ---- scalars ----

ROPE_INLINE float fma(float a, float b, float c) noexcept { return a * b + c; }
ROPE_INLINE double product(double a, double b) noexcept { return hide_from_optimizer(a * b); }
ROPE_INLINE double fma(double a, double b, double c) noexcept { return a * b + c; }

// ---- bytes ----

ROPE_INLINE __m128i load_16_bytes(const void* p) noexcept { return _mm_loadu_si128(static_cast<const __m128i*>(p)); }
ROPE_INLINE __m128i load_8_bytes(const void* p) noexcept { return _mm_loadl_epi64(static_cast<const __m128i*>(p)); }

/// Lanes of a where the mask has ones, of b where it has zeros.
ROPE_INLINE __m128i choose(__m128i mask, __m128i a, __m128i b) noexcept {
    return _mm_or_si128(_mm_and_si128(mask, a), _mm_andnot_si128(mask, b));
}

/// 16 or 8 bytes in a register.
struct ROPE_ABI Bytes16 {
    __m128i x;
    ROPE_INLINE void store(void* p) const noexcept { _mm_storeu_si128(static_cast<__m128i*>(p), x); }
    ROPE_INLINE void store_skipping_first(void* p, Index kept) const noexcept {
        Bytes16{choose(load_16_bytes(tail_mask(kept)), load_16_bytes(p), x)}.store(p);
    }
};
struct ROPE_ABI Bytes8 {
    __m128i x;
    ROPE_INLINE void store(void* p) const noexcept { _mm_storel_epi64(static_cast<__m128i*>(p), x); }
    ROPE_INLINE void store_skipping_first(void* p, Index kept) const noexcept {
        Bytes8{choose(load_8_bytes(tail_mask(kept)), load_8_bytes(p), x)}.store(p);
    }
};

// ---- floats and 16-bit elements: the arithmetic of ../arithmetic.hpp, four at a time ----

/// The float plus what makes its upper 16 bits the nearest bfloat16, ties to even. For floats that are no NaN, and for
/// NaNs whose lower 16 bits are zero.
ROPE_INLINE __m128i round_to_bf16_in_place(__m128 x) noexcept {
    const __m128i bits = _mm_castps_si128(x);
    const __m128i last = _mm_and_si128(_mm_srli_epi32(bits, 16), _mm_set1_epi32(1));
    return _mm_add_epi32(bits, _mm_add_epi32(last, _mm_set1_epi32(0x7fff)));
}

/// The same for every float: NaN becomes a quiet one with zeros below.
ROPE_INLINE __m128 with_short_nan(__m128 x) noexcept {
    const __m128i bits = _mm_castps_si128(x);
    const __m128i magnitude = _mm_and_si128(bits, _mm_set1_epi32(0x7fffffff));
    const __m128i is_nan = _mm_cmpgt_epi32(magnitude, _mm_set1_epi32(0x7f800000));
    const __m128i quiet =
        _mm_and_si128(_mm_or_si128(bits, _mm_set1_epi32(0x00400000)), _mm_set1_epi32(static_cast<int>(0xffff0000)));
    return _mm_castsi128_ps(choose(is_nan, quiet, bits));
}

/// The lower halves of four 32-bit lanes that hold signed 16-bit numbers.
ROPE_INLINE Bytes8 packed(__m128i x) noexcept { return {_mm_packs_epi32(x, x)}; }

ROPE_INLINE __m128 floats_from_halves(__m128i x) noexcept {
    const __m128i wide = _mm_unpacklo_epi16(x, _mm_setzero_si128());
    const __m128i magnitude = _mm_slli_epi32(_mm_and_si128(wide, _mm_set1_epi32(0x7fff)), 13);
    const __m128i sign = _mm_slli_epi32(_mm_and_si128(wide, _mm_set1_epi32(0x8000)), 16);
    const __m128i exponent = _mm_and_si128(magnitude, _mm_set1_epi32(0x0f800000));
    const __m128i bias = _mm_set1_epi32(112 << 23);
    const __m128i is_special = _mm_cmpeq_epi32(exponent, _mm_set1_epi32(0x0f800000));
    const __m128i normal = _mm_add_epi32(_mm_add_epi32(magnitude, bias), _mm_and_si128(is_special, bias));
    const __m128i least = _mm_set1_epi32(113 << 23);
    const __m128 subnormal = _mm_sub_ps(_mm_castsi128_ps(_mm_add_epi32(magnitude, least)), _mm_castsi128_ps(least));
    const __m128i is_subnormal = _mm_cmpeq_epi32(exponent, _mm_setzero_si128());
    return _mm_castsi128_ps(_mm_or_si128(choose(is_subnormal, _mm_castps_si128(subnormal), normal), sign));
}

ROPE_INLINE Bytes8 halves_from_floats(__m128 x) noexcept {
    const __m128i bits = _mm_castps_si128(x);
    const __m128i magnitude = _mm_and_si128(bits, _mm_set1_epi32(0x7fffffff));
    const __m128i last = _mm_and_si128(_mm_srli_epi32(magnitude, 13), _mm_set1_epi32(1));
    const __m128i normal =
        _mm_srli_epi32(_mm_add_epi32(_mm_add_epi32(magnitude, last), _mm_set1_epi32(0xfff - (112 << 23))), 13);
    const __m128i subnormal = _mm_sub_epi32(
        _mm_castps_si128(_mm_add_ps(_mm_castsi128_ps(magnitude), _mm_set1_ps(0.5f))), _mm_set1_epi32(0x3f000000));
    const __m128i finite = choose(_mm_cmplt_epi32(magnitude, _mm_set1_epi32(113 << 23)), subnormal, normal);
    const __m128i payload = _mm_and_si128(_mm_srli_epi32(magnitude, 13), _mm_set1_epi32(0x3ff));
    const __m128i is_nan = _mm_cmpgt_epi32(magnitude, _mm_set1_epi32(0x7f800000));
    const __m128i large = choose(is_nan, _mm_or_si128(payload, _mm_set1_epi32(0x7e00)), _mm_set1_epi32(0x7c00));
    const __m128i is_large = _mm_cmpgt_epi32(magnitude, _mm_set1_epi32(0x477fefff));
    // The sign goes in as bits 15 and above, so that packing with signed saturation changes nothing.
    const __m128i sign = _mm_and_si128(_mm_srai_epi32(bits, 16), _mm_set1_epi32(static_cast<int>(0xffff8000)));
    return packed(_mm_or_si128(choose(is_large, large, finite), sign));
}

template <class T>
struct ROPE_ABI Vector;
template <class T>
struct ROPE_ABI EvenOdd;

template <>
struct Vector<float> {
    static constexpr Index kWidth = 4;
    __m128 v;

    /// This vector, in a register. Used twice, it would be read from memory twice.
    ROPE_INLINE Vector in_register() const noexcept {
        __m128 x = v;
        __asm__("" : "+x"(x));
        return {x};
    }

    /// As bfloat16 has them: a NaN becomes a quiet one with zeros below.
    ROPE_INLINE Vector truncate_nans() const noexcept { return {with_short_nan(v)}; }
    ROPE_INLINE static Vector all(float x) noexcept { return {_mm_set1_ps(x)}; }

    ROPE_INLINE static Vector load(const float* p) noexcept { return {_mm_loadu_ps(p)}; }
    ROPE_INLINE static Vector load(const half* p) noexcept { return {floats_from_halves(load_8_bytes(p))}; }
    ROPE_INLINE static Vector load(const bfloat16* p) noexcept {
        return {_mm_castsi128_ps(_mm_unpacklo_epi16(_mm_setzero_si128(), load_8_bytes(p)))};
    }
    /// p[0], p[0], p[1], p[1]
    ROPE_INLINE static Vector load_dup(const float* p) noexcept {
        const __m128 both = _mm_castsi128_ps(load_8_bytes(p));
        return {_mm_unpacklo_ps(both, both)};
    }

    ROPE_INLINE Bytes16 bits(const float*) const noexcept { return {_mm_castps_si128(v)}; }
    ROPE_INLINE Bytes8 bits(const half*) const noexcept { return halves_from_floats(v); }
    ROPE_INLINE Bytes8 bits(const bfloat16*) const noexcept {
        return packed(_mm_srai_epi32(round_to_bf16_in_place(with_short_nan(v)), 16));
    }
    template <class T>
    ROPE_INLINE void store(T* p) const noexcept {
        bits(p).store(p);
    }
    template <class T>
    ROPE_INLINE void store_skipping_first(T* p, Index kept) const noexcept {
        bits(p).store_skipping_first(p, kept * static_cast<Index>(sizeof(T)));
    }

    /// The two elements of each pair of neighbours exchanged.
    ROPE_INLINE Vector swap_adjacent() const noexcept { return {_mm_shuffle_ps(v, v, _MM_SHUFFLE(2, 3, 0, 1))}; }
    /// Each element of the lower half twice, and of the upper one.
    ROPE_INLINE Vector dup_lower() const noexcept { return {_mm_unpacklo_ps(v, v)}; }
    ROPE_INLINE Vector dup_upper() const noexcept { return {_mm_unpackhi_ps(v, v)}; }
};
/// Both are in registers before anything is computed from what comes back.
template <class T>
ROPE_INLINE void in_registers(Vector<T>& a, Vector<T>& b) noexcept {
    __asm__("" : "+x"(a.v), "+x"(b.v));
}
ROPE_INLINE Vector<float> operator+(Vector<float> a, Vector<float> b) noexcept { return {_mm_add_ps(a.v, b.v)}; }
ROPE_INLINE Vector<float> operator*(Vector<float> a, Vector<float> b) noexcept { return {_mm_mul_ps(a.v, b.v)}; }
ROPE_INLINE Vector<float> fma(Vector<float> a, Vector<float> b, Vector<float> c) noexcept {
    return {_mm_add_ps(_mm_mul_ps(a.v, b.v), c.v)};
}
/// a * b - c in even lanes, a * b + c in odd ones. SSE2 has no such sum, so the sign of c is turned.
ROPE_INLINE Vector<float> fmaddsub(Vector<float> a, Vector<float> b, Vector<float> c) noexcept {
    const __m128 even = _mm_castsi128_ps(_mm_setr_epi32(INT32_MIN, 0, INT32_MIN, 0));
    return {_mm_add_ps(_mm_mul_ps(a.v, b.v), _mm_xor_ps(c.v, even))};
}
ROPE_INLINE Vector<float> fms(Vector<float> a, Vector<float> b, Vector<float> c) noexcept {
    return {_mm_sub_ps(_mm_mul_ps(a.v, b.v), c.v)};
}

template <>
struct Vector<double> {
    static constexpr Index kWidth = 2;
    __m128d v;

    /// This vector, in a register. Used twice, it would be read from memory twice.
    ROPE_INLINE Vector in_register() const noexcept {
        __m128d x = v;
        __asm__("" : "+x"(x));
        return {x};
    }

    ROPE_INLINE static Vector all(double x) noexcept { return {_mm_set1_pd(x)}; }
    ROPE_INLINE static Vector load(const double* p) noexcept { return {_mm_loadu_pd(p)}; }
    ROPE_INLINE static Vector load_dup(const double* p) noexcept { return {_mm_set1_pd(*p)}; }
    ROPE_INLINE void store(double* p) const noexcept { _mm_storeu_pd(p, v); }
    ROPE_INLINE void store(float* p) const noexcept { Bytes8{_mm_castps_si128(_mm_cvtpd_ps(v))}.store(p); }
    ROPE_INLINE void store_skipping_first(double* p, Index kept) const noexcept {
        Bytes16{_mm_castpd_si128(v)}.store_skipping_first(p, kept * static_cast<Index>(sizeof(double)));
    }
    ROPE_INLINE Vector swap_adjacent() const noexcept { return {_mm_shuffle_pd(v, v, 0b01)}; }
    ROPE_INLINE Vector dup_lower() const noexcept { return {_mm_unpacklo_pd(v, v)}; }
    ROPE_INLINE Vector dup_upper() const noexcept { return {_mm_unpackhi_pd(v, v)}; }
};
ROPE_INLINE Vector<double> operator+(Vector<double> a, Vector<double> b) noexcept { return {_mm_add_pd(a.v, b.v)}; }
ROPE_INLINE Vector<double> operator-(Vector<double> a, Vector<double> b) noexcept { return {_mm_sub_pd(a.v, b.v)}; }
ROPE_INLINE Vector<double> operator*(Vector<double> a, Vector<double> b) noexcept { return {_mm_mul_pd(a.v, b.v)}; }
/// a * b, rounded whatever is done with it next.
ROPE_INLINE Vector<double> product(Vector<double> a, Vector<double> b) noexcept {
    __m128d result = _mm_mul_pd(a.v, b.v);
    __asm__("" : "+x"(result));
    return {result};
}
ROPE_INLINE Vector<double> fma(Vector<double> a, Vector<double> b, Vector<double> c) noexcept {
    return {_mm_add_pd(_mm_mul_pd(a.v, b.v), c.v)};
}
ROPE_INLINE Vector<double> fmaddsub(Vector<double> a, Vector<double> b, Vector<double> c) noexcept {
    const __m128d even = _mm_castsi128_pd(_mm_setr_epi32(0, INT32_MIN, 0, 0));
    return {_mm_add_pd(_mm_mul_pd(a.v, b.v), _mm_xor_pd(c.v, even))};
}
ROPE_INLINE Vector<double> fms(Vector<double> a, Vector<double> b, Vector<double> c) noexcept {
    return {_mm_sub_pd(_mm_mul_pd(a.v, b.v), c.v)};
}

/// 8 numbers as those at even and those at odd places. A bfloat16 is the upper half of a float, so 8 of them in a
/// register become two vectors by one shift and one mask.
template <>
struct EvenOdd<bfloat16> {
    static constexpr Index kWidth = 8;
    Vector<float> even, odd;

    ROPE_INLINE static __m128i upper_halves(__m128i x) noexcept {
        return _mm_and_si128(x, _mm_set1_epi32(static_cast<int>(0xffff0000)));
    }
    ROPE_INLINE EvenOdd in_register() const noexcept { return *this; }  // both loads shuffle or convert
    ROPE_INLINE static EvenOdd load(const bfloat16* p) noexcept {
        __m128i bits = load_16_bytes(p);
        __asm__("" : "+x"(bits));  // read once
        return {{_mm_castsi128_ps(_mm_slli_epi32(bits, 16))}, {_mm_castsi128_ps(upper_halves(bits))}};
    }
    ROPE_INLINE static EvenOdd load(const float* p) noexcept {
        const __m128 low = _mm_loadu_ps(p);
        const __m128 high = _mm_loadu_ps(p + 4);
        return {{with_short_nan(_mm_shuffle_ps(low, high, _MM_SHUFFLE(2, 0, 2, 0)))},
                {with_short_nan(_mm_shuffle_ps(low, high, _MM_SHUFFLE(3, 1, 3, 1)))}};
    }
    /// A NaN among them has zeros in its lower 16 bits, as those have that were loaded.
    ROPE_INLINE Bytes16 bits() const noexcept {
        return {_mm_or_si128(_mm_srli_epi32(round_to_bf16_in_place(even.v), 16),
                             upper_halves(round_to_bf16_in_place(odd.v)))};
    }
    ROPE_INLINE void store(bfloat16* p) const noexcept { bits().store(p); }
    ROPE_INLINE void store_skipping_first(bfloat16* p, Index kept) const noexcept {
        bits().store_skipping_first(p, 2 * kept);
    }
};

}  // namespace sse2
}  // namespace detail
}  // namespace ROPE_VERSION_NAMESPACE
}  // namespace rope
