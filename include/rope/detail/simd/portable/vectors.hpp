// SPDX-License-Identifier: MIT
// A vector of one number, with which kernels are loops over single pairs. The compiler may vectorise them.
#pragma once

ROPE_DETAIL_BEGIN
namespace portable {

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

template <class T>
struct Vector {
    static constexpr Index kWidth = 1;
};
template <class T>
struct EvenOdd;
template <class T>
struct VectorPair;

}  // namespace portable
ROPE_DETAIL_END
