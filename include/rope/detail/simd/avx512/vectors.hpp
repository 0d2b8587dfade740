// SPDX-License-Identifier: MIT
// Vectors of 512 bits, in the words of registers.hpp: of AVX-512, and of ../emulated, which has the same in
// plain C++. No include guard: it is included once by each of the two. What a set supplies is listed in ../README.md.
//
// bfloat16 is rounded by integers: the instruction for it (AVX512_BF16) makes subnormal numbers zero, and would give
// other bits than every other set.

namespace rope {
inline namespace ROPE_VERSION_NAMESPACE {
namespace detail {
namespace ROPE_ISA {

inline constexpr bool kHas32Registers = true;

// ---- scalars ----

ROPE_INLINE float fma(float a, float b, float c) noexcept { return __builtin_fmaf(a, b, c); }
ROPE_INLINE double product(double a, double b) noexcept { return hide_from_optimizer(a * b); }
ROPE_INLINE double fma(double a, double b, double c) noexcept { return __builtin_fma(a, b, c); }

// ---- masks: all lanes but the first n ----

ROPE_INLINE Mask8 after_8(Index n) noexcept { return static_cast<Mask8>(~0u << n); }
ROPE_INLINE Mask16 after_16(Index n) noexcept { return static_cast<Mask16>(~0u << n); }

// ---- floats to bfloat16: 16 bits with the rest of the sum still below ----

/// The float plus what makes its upper 16 bits the nearest bfloat16, ties to even. For floats that are no NaN, and for
/// NaNs whose lower 16 bits are zero.
ROPE_INLINE Words round_to_bf16_in_place(Floats x) noexcept {
    const Words last = both(down_16(words(x)), all_words(1));
    return add(words(x), add(last, all_words(0x7fff)));
}
/// The same for every float: NaN becomes a quiet one with zeros below.
ROPE_INLINE Floats with_short_nan(Floats x) noexcept {
    const Words bits = words(x);
    const Mask16 is_nan = is_greater(both(bits, all_words(0x7fffffff)), all_words(0x7f800000));
    return floats(chosen(is_nan, bits, both(either(bits, all_words(0x00400000)), all_words(0xffff0000))));
}

// Which lane comes where. Of 32 lanes, those of the second register follow those of the first.
inline constexpr int kLowerTwice[16] = {0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7};
inline constexpr int kEven[16] = {0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30};
inline constexpr int kOdd[16] = {1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31};

template <class T>
struct ROPE_ABI Vector;
template <class T>
struct ROPE_ABI EvenOdd;

template <>
struct Vector<float> {
    static constexpr Index kWidth = 16;
    Floats v;

    ROPE_INLINE Vector in_register() const noexcept { return {ROPE_ISA::in_register(v)}; }
    /// As bfloat16 has them: a NaN becomes a quiet one with zeros below.
    ROPE_INLINE Vector truncate_nans() const noexcept { return {with_short_nan(v)}; }
    ROPE_INLINE static Vector all(float x) noexcept { return {ROPE_ISA::all(x)}; }

    ROPE_INLINE static Vector load(const float* p) noexcept { return {load_floats(p)}; }
    ROPE_INLINE static Vector load(const half* p) noexcept { return {from_half(load_shorts(p))}; }
    ROPE_INLINE static Vector load(const bfloat16* p) noexcept { return {floats(up_16(widened(load_shorts(p))))}; }
    /// p[0], p[0], p[1], p[1], ...
    ROPE_INLINE static Vector load_dup(const float* p) noexcept {
        return {permuted(load_lower(p), load_order(kLowerTwice))};
    }

    ROPE_INLINE Shorts bits(const half*) const noexcept { return to_half(v); }
    ROPE_INLINE Shorts bits(const bfloat16*) const noexcept {
        return narrowed(down_16(round_to_bf16_in_place(with_short_nan(v))));
    }
    ROPE_INLINE void store(float* p) const noexcept { ROPE_ISA::store(p, v); }
    template <class T>
    ROPE_INLINE void store(T* p) const noexcept {
        store_shorts(p, bits(p));
    }
    ROPE_INLINE void store_skipping_first(float* p, Index kept) const noexcept {
        ROPE_ISA::store(p, v, after_16(kept));
    }
    template <class T>
    ROPE_INLINE void store_skipping_first(T* p, Index kept) const noexcept {
        store_shorts(p, bits(p), after_16(kept));
    }
    /// The two elements of each pair of neighbours exchanged.
    ROPE_INLINE Vector swap_adjacent() const noexcept { return {ROPE_ISA::swap_adjacent(v)}; }
};

template <>
struct Vector<double> {
    static constexpr Index kWidth = 8;
    Doubles v;

    ROPE_INLINE Vector in_register() const noexcept { return {ROPE_ISA::in_register(v)}; }
    ROPE_INLINE static Vector all(double x) noexcept { return {ROPE_ISA::all(x)}; }

    ROPE_INLINE static Vector load(const double* p) noexcept { return {load_doubles(p)}; }
    ROPE_INLINE static Vector load_dup(const double* p) noexcept { return {ROPE_ISA::dup_lower(load_lower(p))}; }
    ROPE_INLINE void store(double* p) const noexcept { ROPE_ISA::store(p, v); }
    ROPE_INLINE void store(float* p) const noexcept { store_as_floats(p, v); }
    ROPE_INLINE void store_skipping_first(double* p, Index kept) const noexcept {
        ROPE_ISA::store(p, v, after_8(kept));
    }
    ROPE_INLINE Vector swap_adjacent() const noexcept { return {ROPE_ISA::swap_adjacent(v)}; }
};

template <class T>
ROPE_INLINE void in_registers(Vector<T>& a, Vector<T>& b) noexcept {
    ROPE_ISA::in_registers(a.v, b.v);
}
template <class T>
ROPE_INLINE Vector<T> operator+(Vector<T> a, Vector<T> b) noexcept {
    return {add(a.v, b.v)};
}
template <class T>
ROPE_INLINE Vector<T> operator*(Vector<T> a, Vector<T> b) noexcept {
    return {multiply(a.v, b.v)};
}
template <class T>
ROPE_INLINE Vector<T> fma(Vector<T> a, Vector<T> b, Vector<T> c) noexcept {
    return {fused_add(a.v, b.v, c.v)};
}
template <class T>
ROPE_INLINE Vector<T> fms(Vector<T> a, Vector<T> b, Vector<T> c) noexcept {
    return {fused_subtract(a.v, b.v, c.v)};
}
/// a * b - c in even lanes, a * b + c in odd ones.
template <class T>
ROPE_INLINE Vector<T> fmaddsub(Vector<T> a, Vector<T> b, Vector<T> c) noexcept {
    return {fused_subtract_add(a.v, b.v, c.v)};
}
ROPE_INLINE Vector<double> operator-(Vector<double> a, Vector<double> b) noexcept { return {subtract(a.v, b.v)}; }
/// a * b, rounded whatever is done with it next.
ROPE_INLINE Vector<double> product(Vector<double> a, Vector<double> b) noexcept {
    return {in_register(multiply(a.v, b.v))};
}

/// 32 numbers as those at even and those at odd places. A bfloat16 is the upper half of a float, so 32 of them in a
/// register become two vectors by one shift and one mask.
template <>
struct EvenOdd<bfloat16> {
    static constexpr Index kWidth = 32;
    Vector<float> even, odd;

    ROPE_INLINE EvenOdd in_register() const noexcept { return *this; }  // load has seen to it
    ROPE_INLINE static EvenOdd apart(Words both_of_each) noexcept {
        const Words x = ROPE_ISA::in_register(both_of_each);
        return {{floats(up_16(x))}, {floats(both(x, all_words(0xffff0000)))}};
    }
    ROPE_INLINE static EvenOdd apart(Floats low, Floats high) noexcept {
        return {{with_short_nan(permuted(low, high, load_order(kEven)))},
                {with_short_nan(permuted(low, high, load_order(kOdd)))}};
    }
    ROPE_INLINE static EvenOdd load(const bfloat16* p) noexcept { return apart(load_words(p)); }
    ROPE_INLINE static EvenOdd load(const float* p) noexcept { return apart(load_floats(p), load_floats(p + 16)); }
    /// A NaN among them has zeros in its lower 16 bits, as those have that were loaded.
    ROPE_INLINE Words bits() const noexcept {
        return chosen_16(0xaaaaaaaa, down_16(round_to_bf16_in_place(even.v)), round_to_bf16_in_place(odd.v));
    }
    ROPE_INLINE void store(bfloat16* p) const noexcept { store_words(p, bits()); }
};

}  // namespace ROPE_ISA
}  // namespace detail
}  // namespace ROPE_VERSION_NAMESPACE
}  // namespace rope
