// SPDX-License-Identifier: MIT
// Load and store of one element with explicit rounding; barriers for compilers.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "../../types.hpp"
#include "bits.hpp"
#include "sixteen_bits.hpp"

// ROPE_HAS_FMA: this translation unit is compiled for a machine with fused multiply-add. For the portable loops it
// decides between the two classes of bits. g++ defines __FP_FAST_FMAF; clang does not, so the machine decides there (of
// 32 bits: ARM with VFPv4, PowerPC, RISC-V and Hexagon). tests/builds/other_machines/other_machines.cmake compares this
// with clang's code.
#if defined(__FMA__) || defined(__FMA4__) || defined(__FP_FAST_FMAF) || defined(__aarch64__) || defined(_M_ARM64) || \
    defined(__ARM_FEATURE_FMA) || defined(__s390x__) || defined(__riscv_flen) || defined(__loongarch_hard_float) ||  \
    defined(__hexagon__) || (defined(__powerpc__) && !defined(_SOFT_FLOAT) && !defined(__NO_FPRS__))
#    define ROPE_HAS_FMA 1
#else
#    define ROPE_HAS_FMA 0
#endif

ROPE_DETAIL_BEGIN

#if ROPE_HAS_ASM && defined(__SSE2__)
#    define ROPE_SCALAR_IN_REGISTER "+x"
#elif ROPE_HAS_ASM && defined(__aarch64__)
#    define ROPE_SCALAR_IN_REGISTER "+w"
#endif

/// Returns x, and hides from the compiler how it was computed. -ffast-math simplifies error-free transformations such
/// as (a + b) - a - b to zero; with every rounded intermediate hidden there is nothing to simplify.
template <class T, std::enable_if_t<std::is_floating_point_v<T>, int> = 0>
inline T hide_from_optimizer(T x) noexcept {
#if defined(ROPE_SCALAR_IN_REGISTER)
    __asm__("" : ROPE_SCALAR_IN_REGISTER(x));
    return x;
#else
    volatile T v = x;
    return v;
#endif
}

/// a / b, rounded. -ffast-math makes one reciprocal of a divisor that several quotients share, or that a loop does not
/// change; here each quotient has a divisor of its own, which depends on a as far as the compiler knows.
inline double quotient(double a, double b) noexcept {
#if defined(ROPE_SCALAR_IN_REGISTER)
    __asm__("" : ROPE_SCALAR_IN_REGISTER(a), ROPE_SCALAR_IN_REGISTER(b));
    return hide_from_optimizer(a / b);
#else
    volatile double divisor = b;
    return hide_from_optimizer(a / divisor);
#endif
}
#undef ROPE_SCALAR_IN_REGISTER

/// a / b and a * b, each rounded to the nearest float. A double has enough bits to decide that rounding;
/// hide_from_optimizer keeps -ffast-math from computing in float.
inline float nearest_quotient(float a, float b) noexcept {
    return static_cast<float>(quotient(static_cast<double>(a), static_cast<double>(b)));
}
inline float nearest_product(float a, float b) noexcept {
    return static_cast<float>(hide_from_optimizer(static_cast<double>(a) * static_cast<double>(b)));
}

/// a * b + c, rounded once. Where no instruction does it, clang's -ffast-math replaces std::fma by a product and a sum; so
/// the function of the C library is called by a pointer that the compiler must read.
template <class T>
inline T fused(T a, T b, T c) noexcept {
    if constexpr (ROPE_HAS_FMA) {
        return std::fma(a, b, c);
    } else if constexpr (sizeof(T) == 4) {
        float (*volatile const function)(float, float, float) = &::fmaf;
        return function(a, b, c);
    } else {
        double (*volatile const function)(double, double, double) = &::fma;
        return function(a, b, c);
    }
}

/// Returns x in a register of its own. A caller has just stored the fields of its view one by one, and g++ would load
/// two of them at once, which waits until both have left the store buffer: half of the time of a small call.
ROPE_INLINE Index hide_from_optimizer(Index x) noexcept {
#if ROPE_HAS_ASM
    __asm__("" : "+r"(x));
#endif
    return x;
}

/// Keeps the compiler from moving loads and stores across this point.
ROPE_INLINE void compiler_fence() noexcept {
#if ROPE_HAS_ASM
    __asm__ volatile("" ::: "memory");
#endif
}

// ---- load and store: the only places that know how an element lies in memory ----
// 16-bit elements are accessed as bytes, so an array of any type with these bits may be passed. Arrays of float and
// double have exactly that type.

template <class Compute, class Storage>
struct Element {
    static Compute load(const Storage* p) noexcept {
        if constexpr (std::is_same_v<Compute, Storage>) {
            return *p;
        } else {
            Storage x;
            std::memcpy(&x, p, sizeof(x));
            return float_from(x);
        }
    }
    static void store(Storage* p, Compute value) noexcept {
        if constexpr (std::is_same_v<Compute, Storage>) {
            *p = value;
        } else if constexpr (std::is_same_v<Storage, half>) {
            const half x = half_from(value);
            std::memcpy(p, &x, sizeof(x));
        } else {
            static_assert(std::is_same_v<Storage, bfloat16>, "a storage type that has no rounding here");
            const bfloat16 x = bfloat16_from(value);
            std::memcpy(p, &x, sizeof(x));
        }
    }
};

ROPE_DETAIL_END
