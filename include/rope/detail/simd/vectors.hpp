// SPDX-License-Identifier: MIT
// Vectors, written in the names of registers.hpp, which includes this file at its end. No include guard: every set has
// vectors of its own, compiled in its region. README.md lists the names that a set supplies.

#include "integers.hpp"

ROPE_DETAIL_BEGIN
namespace ROPE_ISA {

#if defined(ROPE_IN_REGISTER)  // the constraint of an asm; a set without has functions of its own
template <class R>
ROPE_INLINE R in_register(R x) noexcept {
    __asm__("" : ROPE_IN_REGISTER(x));
    return x;
}
template <class R>
ROPE_INLINE void in_registers(R& a, R& b) noexcept {
    __asm__("" : ROPE_IN_REGISTER(a), ROPE_IN_REGISTER(b));
}
#endif

/// Numbers below 2^31, without their fractions; and back.
template <class F, class I = Ints>
ROPE_INLINE I truncated(F x) noexcept {
    return __builtin_convertvector(x, I);
}
template <class I, class F = Floats>
ROPE_INLINE F as_floats(I x) noexcept {
    return __builtin_convertvector(x, F);
}

/// a / b. A set whose compiler may make a product of it has a function of its own.
template <class R>
ROPE_INLINE R divided(R a, R b) noexcept {
    ROPE_ISA::in_registers(a, b);
    return ROPE_ISA::in_register(a / b);
}

/// a * b, rounded to double: no compiler fuses it with a following sum.
ROPE_INLINE double product(double a, double b) noexcept { return hide_from_optimizer(a * b); }

// ---- floats to bfloat16: the result is in the upper half of each word ----

// The first two are templates, so that a set may have shorter ones in registers.hpp: compilers prefer those.

/// Rounds the upper 16 bits of each float to the nearest bfloat16, ties to even. The lower 16 bits are then undefined.
template <class W>
ROPE_INLINE Words round_upper_half(W bits) noexcept {
    const Words last = shift_right_16(bits) & all_words(1);
    return add(bits, add(last, all_words(0x7fff)));
}
/// Rounds both as round_upper_half does, and interleaves the upper halves: `even` in the lower half of each word.
template <class W>
ROPE_INLINE Words round_and_interleave(W even, W odd) noexcept {
    return interleave_upper_halves(round_upper_half(even), round_upper_half(odd));
}
/// A NaN becomes a quiet one with zeros below.
ROPE_INLINE Floats truncate_nans(Floats x) noexcept {
    const Words bits = words(x);
    const auto is_nan = is_greater(bits & all_words(0x7fffffff), all_words(0x7f800000));
    const Words quiet = (bits | all_words(0x00400000)) & all_words(0xffff0000);
    return floats(blend(is_nan, bits, quiet));
}

/// Words whose upper halves are x as bfloat16: rounded to nearest, ties to even, a NaN quiet.
ROPE_INLINE Words as_bfloat16(Floats x) noexcept {
    const Words bits = words(x);
    const auto is_nan = is_greater(bits & all_words(0x7fffffff), all_words(0x7f800000));
    return blend(is_nan, round_upper_half(bits), bits | all_words(0x00400000));
}
/// Stores the upper 16 bits of each word of a, then of each word of b.
template <class W>
ROPE_INLINE void store_upper_halves(void* p, W a, W b) noexcept {
    store_shorts(p, upper_halves(a));
    store_shorts(static_cast<unsigned char*>(p) + sizeof(a) / 2, upper_halves(b));
}

/// The lower halves of integers.
template <class I>
ROPE_INLINE void store_lower_shorts(void* p, I x) noexcept {
    store_shorts(p, upper_halves(words(floats_of(shifted_left<16>(x)))));
}

/// Absolute values above `limit` become it and keep their sign; a NaN stays. On the bits as integers, Lane, of the
/// compiler's vector type, as a comparison of floats need not know NaNs.
template <class Lane, class R>
ROPE_INLINE R clamped(R x, R limit) noexcept {
    typedef Lane Lanes __attribute__((vector_size(sizeof(R))));
    constexpr Lane without_sign = static_cast<Lane>(sizeof(Lane) == 4 ? 0x7fffffff : 0x7fffffffffffffff);
    constexpr int mantissa = sizeof(Lane) == 4 ? 23 : 52;
    constexpr Lane infinity = without_sign >> mantissa << mantissa;
    Lanes bits, most;
    std::memcpy(&bits, &x, sizeof(x));
    std::memcpy(&most, &limit, sizeof(x));
    const Lanes of_x = bits & without_sign, is_over = (of_x > most) & (of_x <= infinity);
    bits = (is_over & (most | (bits ^ of_x))) | (~is_over & bits);
    std::memcpy(&x, &bits, sizeof(x));
    return x;
}

/// Two vectors as bfloat16.
struct ByIntegers {
    /// As one vector, `even` at even places. Their NaNs have zeros in the lower 16 bits.
    ROPE_INLINE static Words interleaved(Floats even, Floats odd) noexcept {
        return round_and_interleave(words(even), words(odd));
    }
};
#if defined(ROPE_BFLOAT16_CONVERSION)  // whether this machine has an instruction for it; see README.md
/// The same bits by the instruction, and by integers for vectors with numbers that it takes for zeros.
struct ByConversion {
    ROPE_INLINE static Words interleaved(Floats even, Floats odd) noexcept {
        if (__builtin_expect(convert_loses(even, odd), 0)) return ByIntegers::interleaved(even, odd);
        return convert_and_interleave(even, odd);
    }
    ROPE_INLINE static void store(void* p, Floats a, Floats b) noexcept {
        if (__builtin_expect(convert_loses(a, b), 0)) return store_upper_halves(p, as_bfloat16(a), as_bfloat16(b));
        store_words(p, convert_two(a, b));
    }
};
#endif

template <>
struct Vector<float> {
    static constexpr Index kWidth = sizeof(Floats) / sizeof(float);
    Floats v;

    ROPE_INLINE static Vector from(Ints x) noexcept { return {floats_of(x)}; }
    ROPE_INLINE Ints ints() const noexcept { return ints_of(v); }
    /// This vector, in a register. Used twice, it would be read from memory twice.
    ROPE_INLINE Vector in_register() const noexcept { return {ROPE_ISA::in_register(v)}; }
    /// As bfloat16 has them: a NaN becomes a quiet one with zeros below.
    ROPE_INLINE Vector truncate_nans() const noexcept { return {ROPE_ISA::truncate_nans(v)}; }
    ROPE_INLINE Vector clamped(Vector limit) const noexcept { return {ROPE_ISA::clamped<int>(v, limit.v)}; }
    /// Rounded, never a product with a reciprocal.
    ROPE_INLINE Vector divided_by(Vector b) const noexcept { return {ROPE_ISA::divided(v, b.v)}; }
    ROPE_INLINE static Vector all(float x) noexcept { return {ROPE_ISA::all(x)}; }

    ROPE_INLINE static Vector load(const float* p) noexcept { return {load_floats(p)}; }
    ROPE_INLINE static Vector load(const half* p) noexcept { return {from_half(load_shorts(p))}; }
    ROPE_INLINE static Vector load(const bfloat16* p) noexcept { return {floats(as_upper_halves(load_shorts(p)))}; }
    /// p[0], p[0], p[1], p[1], ...
    ROPE_INLINE static Vector load_dup(const float* p) noexcept { return {ROPE_ISA::load_dup(p)}; }

    ROPE_INLINE Shorts bits(const half*) const noexcept { return to_half(v); }
    ROPE_INLINE Shorts bits(const bfloat16*) const noexcept { return upper_halves(as_bfloat16(v)); }
    ROPE_INLINE void store(float* p) const noexcept { ROPE_ISA::store(p, v); }
    template <class T>
    ROPE_INLINE void store(T* p) const noexcept {
        store_shorts(p, bits(p));
    }
    ROPE_INLINE void store_skipping_first(float* p, Index kept) const noexcept {
        ROPE_ISA::store_skipping_first(p, v, kept);
    }
    template <class T>
    ROPE_INLINE void store_skipping_first(T* p, Index kept) const noexcept {
        store_shorts_skipping_first(p, bits(p), kept);
    }
    /// The two elements of each pair of neighbours exchanged.
    ROPE_INLINE Vector swap_adjacent() const noexcept { return {ROPE_ISA::swap_adjacent(v)}; }
#if !defined(ROPE_FALLBACK_ISA)
    /// Each element of the lower half twice, and of the upper one.
    ROPE_INLINE Vector dup_lower() const noexcept { return {ROPE_ISA::dup_lower(v)}; }
    ROPE_INLINE Vector dup_upper() const noexcept { return {ROPE_ISA::dup_upper(v)}; }
#endif
};

template <>
struct Vector<double> {
    static constexpr Index kWidth = sizeof(Doubles) / sizeof(double);
    Doubles v;

    ROPE_INLINE Vector in_register() const noexcept { return {ROPE_ISA::in_register(v)}; }
    ROPE_INLINE Vector clamped(Vector limit) const noexcept { return {ROPE_ISA::clamped<long long>(v, limit.v)}; }
    /// Rounded, never a product with a reciprocal.
    ROPE_INLINE Vector divided_by(Vector b) const noexcept { return {ROPE_ISA::divided(v, b.v)}; }
    ROPE_INLINE static Vector all(double x) noexcept { return {ROPE_ISA::all(x)}; }

    ROPE_INLINE static Vector load(const double* p) noexcept { return {load_doubles(p)}; }
    ROPE_INLINE static Vector load(const float* p) noexcept { return {load_doubles(p)}; }
    ROPE_INLINE static Vector load_dup(const double* p) noexcept { return {ROPE_ISA::load_dup(p)}; }
    ROPE_INLINE void store(double* p) const noexcept { ROPE_ISA::store(p, v); }
    ROPE_INLINE void store(float* p) const noexcept { store_as_floats(p, v); }
    ROPE_INLINE void store_skipping_first(double* p, Index kept) const noexcept {
        ROPE_ISA::store_skipping_first(p, v, kept);
    }
    ROPE_INLINE Vector swap_adjacent() const noexcept { return {ROPE_ISA::swap_adjacent(v)}; }
#if !defined(ROPE_FALLBACK_ISA)
    ROPE_INLINE Vector dup_lower() const noexcept { return {ROPE_ISA::dup_lower(v)}; }
    ROPE_INLINE Vector dup_upper() const noexcept { return {ROPE_ISA::dup_upper(v)}; }
#endif
};

/// Keeps both values in registers, loaded before any of the operations that follow.
template <class T>
ROPE_INLINE void in_registers(Vector<T>& a, Vector<T>& b) noexcept {
    ROPE_ISA::in_registers(a.v, b.v);
}
template <class T>
ROPE_INLINE Vector<T> fma(Vector<T> a, Vector<T> b, Vector<T> c) noexcept {
    return {fma(a.v, b.v, c.v)};
}
template <class T>
ROPE_INLINE Vector<T> fms(Vector<T> a, Vector<T> b, Vector<T> c) noexcept {
    return {fms(a.v, b.v, c.v)};
}
/// a * b - c in even lanes, a * b + c in odd ones.
template <class T>
ROPE_INLINE Vector<T> fmaddsub(Vector<T> a, Vector<T> b, Vector<T> c) noexcept {
    return {fmaddsub(a.v, b.v, c.v)};
}
/// a * b, rounded to double: no compiler fuses it with a following sum.
ROPE_INLINE Vector<double> product(Vector<double> a, Vector<double> b) noexcept { return {in_register(a.v * b.v)}; }

/// Numbers as those at even and those at odd places. A bfloat16 is the upper half of a float, so a register of them
/// becomes two vectors by one shift and one mask.
template <class Rounding>
struct EvenOdd {
    static constexpr Index kWidth = 2 * Vector<float>::kWidth;
    Vector<float> even, odd;

    ROPE_INLINE EvenOdd in_register() const noexcept { return *this; }  // both loads shuffle or convert
    ROPE_INLINE static EvenOdd load(const bfloat16* p) noexcept {
        const Words both = ROPE_ISA::in_register(load_words(p));  // read once
        return {{floats(shift_left_16(both))}, {floats(both & all_words(0xffff0000))}};
    }
    ROPE_INLINE static EvenOdd load(const float* p) noexcept {
        Floats first = load_floats(p), second = load_floats(p + Vector<float>::kWidth);
        split_even_odd(first, second);
        return {{truncate_nans(first)}, {truncate_nans(second)}};
    }
    /// A NaN among them has zeros in its lower 16 bits, as those have that were loaded.
    ROPE_INLINE Words bits() const noexcept { return Rounding::interleaved(even.v, odd.v); }
    ROPE_INLINE void store(bfloat16* p) const noexcept { store_words(p, bits()); }
#if !defined(ROPE_FALLBACK_ISA)
    ROPE_INLINE void store_skipping_first(bfloat16* p, Index kept) const noexcept {
        store_words_skipping_first(p, bits(), kept);
    }
#endif
};

/// Two vectors as one. Operations wait for both halves of an operand, so that compilers keep the order written here:
/// each operation on the first vector, then on the second, then the next operation. On a Zen 3 this takes 0.95 of the
/// time of g++'s own order. (Each result has a name first, because arguments are evaluated in any order.)
template <class T>
struct VectorPair {
    using V = Vector<T>;
    V first, second;

    template <class P>
    ROPE_INLINE static VectorPair load(const P* p) noexcept {
        V x = V::load(p), y = V::load(p + V::kWidth);
        in_registers(x, y);
        return {x, y};
    }
    ROPE_INLINE VectorPair swap_adjacent() const noexcept {
        V x = first.swap_adjacent(), y = second.swap_adjacent();
        in_registers(x, y);
        return {x, y};
    }
};
template <class T>
ROPE_INLINE VectorPair<T> operator*(VectorPair<T> a, VectorPair<T> b) noexcept {
    Vector<T> x = a.first * b.first, y = a.second * b.second;
    in_registers(x, y);
    return {x, y};
}
template <class T>
ROPE_INLINE VectorPair<T> fma(VectorPair<T> a, VectorPair<T> b, VectorPair<T> c) noexcept {
    Vector<T> x = fma(a.first, b.first, c.first), y = fma(a.second, b.second, c.second);
    in_registers(x, y);
    return {x, y};
}
template <class T>
ROPE_INLINE VectorPair<T> fms(VectorPair<T> a, VectorPair<T> b, VectorPair<T> c) noexcept {
    Vector<T> x = fms(a.first, b.first, c.first), y = fms(a.second, b.second, c.second);
    in_registers(x, y);
    return {x, y};
}
template <class T>
ROPE_INLINE VectorPair<T> fmaddsub(VectorPair<T> a, VectorPair<T> b, VectorPair<T> c) noexcept {
    Vector<T> x = fmaddsub(a.first, b.first, c.first);
    Vector<T> y = fmaddsub(a.second, b.second, c.second);
    in_registers(x, y);
    return {x, y};
}

// Two vectors of bfloat16 as one: each operation applies to both.
template <class Rounding>
ROPE_INLINE EvenOdd<Rounding> operator*(EvenOdd<Rounding> a, EvenOdd<Rounding> b) noexcept {
    return {a.even * b.even, a.odd * b.odd};
}
template <class Rounding>
ROPE_INLINE EvenOdd<Rounding> fma(EvenOdd<Rounding> a, EvenOdd<Rounding> b, EvenOdd<Rounding> c) noexcept {
    return {fma(a.even, b.even, c.even), fma(a.odd, b.odd, c.odd)};
}
template <class Rounding>
ROPE_INLINE EvenOdd<Rounding> fms(EvenOdd<Rounding> a, EvenOdd<Rounding> b, EvenOdd<Rounding> c) noexcept {
    return {fms(a.even, b.even, c.even), fms(a.odd, b.odd, c.odd)};
}

}  // namespace ROPE_ISA
ROPE_DETAIL_END
