// SPDX-License-Identifier: MIT
// Vectors of NEON, which has fma and conversions of half on every machine. What a set supplies is listed in
// ../README.md.
#pragma once

namespace rope {
inline namespace ROPE_VERSION_NAMESPACE {
namespace detail {
namespace neon {

inline constexpr bool kHas32Registers = false;

// ---- scalars ----

ROPE_INLINE float fma(float a, float b, float c) noexcept { return __builtin_fmaf(a, b, c); }
ROPE_INLINE double product(double a, double b) noexcept { return hide_from_optimizer(a * b); }
ROPE_INLINE double fma(double a, double b, double c) noexcept { return __builtin_fma(a, b, c); }

// ---- bytes: 16 or 8 of them. Loaded and stored as such, so that the elements may be of any type and alignment. ----

ROPE_INLINE uint8x16_t load_16_bytes(const void* p) noexcept { return vld1q_u8(static_cast<const std::uint8_t*>(p)); }
ROPE_INLINE uint8x8_t load_8_bytes(const void* p) noexcept { return vld1_u8(static_cast<const std::uint8_t*>(p)); }
ROPE_INLINE void store_bytes(void* p, uint8x16_t x) noexcept { vst1q_u8(static_cast<std::uint8_t*>(p), x); }
ROPE_INLINE void store_bytes(void* p, uint8x8_t x) noexcept { vst1_u8(static_cast<std::uint8_t*>(p), x); }

/// As store_bytes, but the first `kept` bytes stay what they are.
ROPE_INLINE void store_bytes_after(void* p, Index kept, uint8x16_t x) noexcept {
    store_bytes(p, vbslq_u8(load_16_bytes(tail_mask(kept)), load_16_bytes(p), x));
}
ROPE_INLINE void store_bytes_after(void* p, Index kept, uint8x8_t x) noexcept {
    store_bytes(p, vbsl_u8(load_8_bytes(tail_mask(kept)), load_8_bytes(p), x));
}

// ---- floats to bfloat16: 16 bits with the rest of the sum still below ----

/// The float plus what makes its upper 16 bits the nearest bfloat16, ties to even. For floats that are no NaN, and for
/// NaNs whose lower 16 bits are zero.
ROPE_INLINE uint32x4_t round_to_bf16_in_place(float32x4_t x) noexcept {
    const uint32x4_t bits = vreinterpretq_u32_f32(x);
    const uint32x4_t last_on_top = vshlq_n_u32(bits, 15);
    return vsraq_n_u32(vaddq_u32(bits, vdupq_n_u32(0x7fff)), last_on_top, 31);
}

/// The same for every float: NaN becomes a quiet one with zeros below.
ROPE_INLINE float32x4_t with_short_nan(float32x4_t x) noexcept {
    const uint32x4_t bits = vreinterpretq_u32_f32(x);
    const uint32x4_t magnitude = vandq_u32(bits, vdupq_n_u32(0x7fffffff));
    const uint32x4_t is_nan = vcgtq_u32(magnitude, vdupq_n_u32(0x7f800000));
    const uint32x4_t quiet = vandq_u32(vorrq_u32(bits, vdupq_n_u32(0x00400000)), vdupq_n_u32(0xffff0000));
    return vreinterpretq_f32_u32(vbslq_u32(is_nan, quiet, bits));
}

template <class T>
struct ROPE_ABI Vector;
template <class T>
struct ROPE_ABI EvenOdd;

template <>
struct Vector<float> {
    static constexpr Index kWidth = 4;
    float32x4_t v;

    /// This vector, in a register. Used twice, it would be read from memory twice.
    ROPE_INLINE Vector in_register() const noexcept {
        float32x4_t x = v;
        __asm__("" : "+w"(x));
        return {x};
    }

    /// As bfloat16 has them: a NaN becomes a quiet one with zeros below.
    ROPE_INLINE Vector truncate_nans() const noexcept { return {with_short_nan(v)}; }
    ROPE_INLINE static Vector all(float x) noexcept { return {vdupq_n_f32(x)}; }

    ROPE_INLINE static Vector load(const float* p) noexcept { return {vreinterpretq_f32_u8(load_16_bytes(p))}; }
    ROPE_INLINE static Vector load(const half* p) noexcept {
        return {vcvt_f32_f16(vreinterpret_f16_u8(load_8_bytes(p)))};
    }
    ROPE_INLINE static Vector load(const bfloat16* p) noexcept {
        return {vreinterpretq_f32_u32(vshll_n_u16(vreinterpret_u16_u8(load_8_bytes(p)), 16))};
    }
    /// p[0], p[0], p[1], p[1]
    ROPE_INLINE static Vector load_dup(const float* p) noexcept {
        const float32x2_t both = vreinterpret_f32_u8(load_8_bytes(p));
        const float32x4_t twice = vcombine_f32(both, both);
        return {vzip1q_f32(twice, twice)};
    }

    ROPE_INLINE uint8x16_t bits(const float*) const noexcept { return vreinterpretq_u8_f32(v); }
    ROPE_INLINE uint8x8_t bits(const half*) const noexcept { return vreinterpret_u8_f16(vcvt_f16_f32(v)); }
    ROPE_INLINE uint8x8_t bits(const bfloat16*) const noexcept {
        return vreinterpret_u8_u16(vshrn_n_u32(round_to_bf16_in_place(with_short_nan(v)), 16));
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
    ROPE_INLINE Vector swap_adjacent() const noexcept { return {vrev64q_f32(v)}; }
    /// Each element of the lower half twice, and of the upper one.
    ROPE_INLINE Vector dup_lower() const noexcept { return {vzip1q_f32(v, v)}; }
    ROPE_INLINE Vector dup_upper() const noexcept { return {vzip2q_f32(v, v)}; }
};
/// Both are in registers before anything is computed from what comes back.
template <class T>
ROPE_INLINE void in_registers(Vector<T>& a, Vector<T>& b) noexcept {
    __asm__("" : "+w"(a.v), "+w"(b.v));
}
ROPE_INLINE Vector<float> operator+(Vector<float> a, Vector<float> b) noexcept { return {vaddq_f32(a.v, b.v)}; }
ROPE_INLINE Vector<float> operator*(Vector<float> a, Vector<float> b) noexcept { return {vmulq_f32(a.v, b.v)}; }
ROPE_INLINE Vector<float> fma(Vector<float> a, Vector<float> b, Vector<float> c) noexcept {
    return {vfmaq_f32(c.v, a.v, b.v)};
}
/// a * b - c in even lanes, a * b + c in odd ones. NEON has no such sum, so the sign of c is turned.
ROPE_INLINE Vector<float> fmaddsub(Vector<float> a, Vector<float> b, Vector<float> c) noexcept {
    const uint32x4_t even = vreinterpretq_u32_u64(vdupq_n_u64(0x80000000));
    return {vfmaq_f32(vreinterpretq_f32_u32(veorq_u32(vreinterpretq_u32_f32(c.v), even)), a.v, b.v)};
}
/// NEON's own subtraction is c - a * b, whose zeros have the other sign when it is turned.
ROPE_INLINE Vector<float> fms(Vector<float> a, Vector<float> b, Vector<float> c) noexcept {
    return {vfmaq_f32(vnegq_f32(c.v), a.v, b.v)};
}

template <>
struct Vector<double> {
    static constexpr Index kWidth = 2;
    float64x2_t v;

    /// This vector, in a register. Used twice, it would be read from memory twice.
    ROPE_INLINE Vector in_register() const noexcept {
        float64x2_t x = v;
        __asm__("" : "+w"(x));
        return {x};
    }

    ROPE_INLINE static Vector all(double x) noexcept { return {vdupq_n_f64(x)}; }
    ROPE_INLINE static Vector load(const double* p) noexcept { return {vreinterpretq_f64_u8(load_16_bytes(p))}; }
    ROPE_INLINE static Vector load_dup(const double* p) noexcept { return {vdupq_n_f64(*p)}; }
    ROPE_INLINE void store(double* p) const noexcept { store_bytes(p, vreinterpretq_u8_f64(v)); }
    ROPE_INLINE void store(float* p) const noexcept { store_bytes(p, vreinterpret_u8_f32(vcvt_f32_f64(v))); }
    ROPE_INLINE void store_skipping_first(double* p, Index kept) const noexcept {
        store_bytes_after(p, kept * static_cast<Index>(sizeof(double)), vreinterpretq_u8_f64(v));
    }
    ROPE_INLINE Vector swap_adjacent() const noexcept { return {vextq_f64(v, v, 1)}; }
    ROPE_INLINE Vector dup_lower() const noexcept { return {vzip1q_f64(v, v)}; }
    ROPE_INLINE Vector dup_upper() const noexcept { return {vzip2q_f64(v, v)}; }
};
ROPE_INLINE Vector<double> operator+(Vector<double> a, Vector<double> b) noexcept { return {vaddq_f64(a.v, b.v)}; }
ROPE_INLINE Vector<double> operator-(Vector<double> a, Vector<double> b) noexcept { return {vsubq_f64(a.v, b.v)}; }
ROPE_INLINE Vector<double> operator*(Vector<double> a, Vector<double> b) noexcept { return {vmulq_f64(a.v, b.v)}; }
/// a * b, rounded whatever is done with it next.
ROPE_INLINE Vector<double> product(Vector<double> a, Vector<double> b) noexcept {
    float64x2_t result = vmulq_f64(a.v, b.v);
    __asm__("" : "+w"(result));
    return {result};
}
ROPE_INLINE Vector<double> fma(Vector<double> a, Vector<double> b, Vector<double> c) noexcept {
    return {vfmaq_f64(c.v, a.v, b.v)};
}
ROPE_INLINE Vector<double> fmaddsub(Vector<double> a, Vector<double> b, Vector<double> c) noexcept {
    const uint64x2_t even = vcombine_u64(vdup_n_u64(0x8000000000000000), vdup_n_u64(0));
    return {vfmaq_f64(vreinterpretq_f64_u64(veorq_u64(vreinterpretq_u64_f64(c.v), even)), a.v, b.v)};
}
ROPE_INLINE Vector<double> fms(Vector<double> a, Vector<double> b, Vector<double> c) noexcept {
    return {vfmaq_f64(vnegq_f64(c.v), a.v, b.v)};
}

/// 8 numbers as those at even and those at odd places. A bfloat16 is the upper half of a float, so 8 of them in a
/// register become two vectors by one shift and one mask.
template <>
struct EvenOdd<bfloat16> {
    static constexpr Index kWidth = 8;
    Vector<float> even, odd;

    ROPE_INLINE EvenOdd in_register() const noexcept { return *this; }  // load has seen to it
    ROPE_INLINE static EvenOdd load(const bfloat16* p) noexcept {
        uint32x4_t bits = vreinterpretq_u32_u8(load_16_bytes(p));
        __asm__("" : "+w"(bits));  // read once
        return {{vreinterpretq_f32_u32(vshlq_n_u32(bits, 16))},
                {vreinterpretq_f32_u32(vandq_u32(bits, vdupq_n_u32(0xffff0000)))}};
    }
    ROPE_INLINE static EvenOdd load(const float* p) noexcept {
        const float32x4_t low = Vector<float>::load(p).v;
        const float32x4_t high = Vector<float>::load(p + 4).v;
        return {{with_short_nan(vuzp1q_f32(low, high))}, {with_short_nan(vuzp2q_f32(low, high))}};
    }
    /// A NaN among them has zeros in its lower 16 bits, as those have that were loaded.
    ROPE_INLINE uint8x16_t bits() const noexcept {
        return vreinterpretq_u8_u32(vsriq_n_u32(round_to_bf16_in_place(odd.v), round_to_bf16_in_place(even.v), 16));
    }
    ROPE_INLINE void store(bfloat16* p) const noexcept { store_bytes(p, bits()); }
    ROPE_INLINE void store_skipping_first(bfloat16* p, Index kept) const noexcept {
        store_bytes_after(p, 2 * kept, bits());
    }
};

}  // namespace neon
}  // namespace detail
}  // namespace ROPE_VERSION_NAMESPACE
}  // namespace rope
