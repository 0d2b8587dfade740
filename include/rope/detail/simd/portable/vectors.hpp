// SPDX-License-Identifier: MIT
// A vector of one number, with which kernels are loops over single pairs. The compiler may vectorise them.
#pragma once

ROPE_DETAIL_BEGIN
namespace portable {

using Floats = float;
using Ints = std::int32_t;

inline constexpr bool kHas32Registers = false;

/// a * b + c: rounded once where the machine can, else the product and the sum are rounded. Should a compiler know of an
/// fma that ROPE_HAS_FMA does not, it may put that in place of one expression, but not of two statements (clang), or says
/// so (g++).
template <class T>
ROPE_INLINE T fma(T a, T b, T c) noexcept {
#if ROPE_HAS_FMA
    return std::fma(a, b, c);
#else
    const T product = a * b;
    return product + c;
#endif
}

/// a * b, rounded: no compiler fuses it with a following sum.
ROPE_INLINE double product(double a, double b) noexcept { return ROPE_HAS_FMA ? hide_from_optimizer(a * b) : a * b; }

ROPE_INLINE double square_root(double x) noexcept { return std::sqrt(x); }

/// A mask of all bits, as other sets have it.
ROPE_INLINE Ints is_above(Ints a, Ints b) noexcept { return -static_cast<Ints>(a > b); }
ROPE_INLINE Ints load_codes(const unsigned char* p) noexcept { return *p; }
ROPE_INLINE void store_codes(unsigned char* p, Ints x) noexcept { *p = static_cast<unsigned char>(x & 0xff); }
/// A number below 2^31, without its fraction; and back.
ROPE_INLINE Ints truncated(Floats x) noexcept { return static_cast<Ints>(x); }
ROPE_INLINE Floats as_floats(Ints x) noexcept { return static_cast<Floats>(x); }
ROPE_INLINE void split_even_odd(Floats&, Floats&) noexcept {}

}  // namespace portable
ROPE_DETAIL_END

#include "../integers.hpp"

ROPE_DETAIL_BEGIN
namespace portable {

template <class T>
struct Vector {
    static constexpr Index kWidth = 1;
    T v;

    ROPE_INLINE static Vector from(Ints x) noexcept { return {floats_of(x)}; }
    ROPE_INLINE Ints ints() const noexcept { return ints_of(v); }
    ROPE_INLINE Vector in_register() const noexcept { return {hide_from_optimizer(v)}; }
    ROPE_INLINE Vector divided_by(Vector b) const noexcept {
        return {static_cast<T>(quotient(static_cast<double>(v), static_cast<double>(b.v)))};
    }
    ROPE_INLINE static Vector all(T x) noexcept { return {x}; }
    template <class P>
    ROPE_INLINE static Vector load(const P* p) noexcept {
        return {static_cast<T>(*p)};
    }
    template <class P>
    ROPE_INLINE void store(P* p) const noexcept {
        *p = static_cast<P>(v);
    }
};
struct ByIntegers {};
template <class Rounding>
struct EvenOdd;
template <class T>
struct VectorPair;

}  // namespace portable
ROPE_DETAIL_END
