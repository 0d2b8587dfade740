// SPDX-License-Identifier: MIT
// ROPE_MACHINE: an identifier of the instructions that the flags of this translation unit let the compiler use unasked.
// Translation units with different ones must not share a function. It is fixed here, before any region is compiled for
// another instruction set, because g++ changes these macros there.
#pragma once

// The widest vectors, or the generation.
#if defined(__AVX512F__)
#    define ROPE_M_VECTORS avx512_
#elif defined(__AVX2__)
#    define ROPE_M_VECTORS avx2_
#elif defined(__AVX__)
#    define ROPE_M_VECTORS avx_
#elif defined(__SSE4_2__)
#    define ROPE_M_VECTORS sse42_
#elif defined(__SSE4_1__)
#    define ROPE_M_VECTORS sse41_
#elif defined(__SSSE3__)
#    define ROPE_M_VECTORS ssse3_
#elif defined(__SSE3__)
#    define ROPE_M_VECTORS sse3_
#elif defined(__SSE2__)
#    define ROPE_M_VECTORS sse2_
#elif defined(__SSE__)
#    define ROPE_M_VECTORS sse_
#elif defined(__ARM_FEATURE_SVE2)
#    define ROPE_M_VECTORS sve2_
#elif defined(__ARM_FEATURE_SVE)
#    define ROPE_M_VECTORS sve_
#elif defined(__riscv_vector)
#    define ROPE_M_VECTORS rvv_
#elif defined(__VX__)
#    define ROPE_M_VECTORS vx_
#elif defined(_ARCH_PWR10)
#    define ROPE_M_VECTORS power10_
#elif defined(_ARCH_PWR9)
#    define ROPE_M_VECTORS power9_
#elif defined(_ARCH_PWR8)
#    define ROPE_M_VECTORS power8_
#elif defined(__VSX__)
#    define ROPE_M_VECTORS vsx_
#else
#    define ROPE_M_VECTORS base_
#endif
#if defined(__ARCH__)
#    define ROPE_M_GENERATION __ARCH__  // s390x: a number, which no set changes
#else
#    define ROPE_M_GENERATION 0
#endif

// One digit for each feature that a flag may name alone. All translation units of a program are for one architecture,
// so features of x86-64, aarch64 and riscv share digits, in this order.
#if defined(__FMA__) || defined(__ARM_FEATURE_ATOMICS) || defined(__riscv_zba)
#    define ROPE_M_01 1
#else
#    define ROPE_M_01 0
#endif
#if defined(__F16C__) || defined(__ARM_FEATURE_BF16_VECTOR_ARITHMETIC) || defined(__riscv_zbb)
#    define ROPE_M_02 1
#else
#    define ROPE_M_02 0
#endif
#if defined(__POPCNT__) || defined(__ARM_FEATURE_FP16_VECTOR_ARITHMETIC) || defined(__riscv_zbs)
#    define ROPE_M_03 1
#else
#    define ROPE_M_03 0
#endif
#if defined(__MOVBE__) || defined(__ARM_FEATURE_DOTPROD) || defined(__riscv_zbc)
#    define ROPE_M_04 1
#else
#    define ROPE_M_04 0
#endif
#if defined(__LZCNT__) || defined(__ARM_FEATURE_COMPLEX) || defined(__riscv_zfh)
#    define ROPE_M_05 1
#else
#    define ROPE_M_05 0
#endif
#if defined(__BMI__) || defined(__ARM_FEATURE_RCPC) || defined(__riscv_zfa)
#    define ROPE_M_06 1
#else
#    define ROPE_M_06 0
#endif
#if defined(__BMI2__) || defined(__ARM_FEATURE_SHA3) || defined(__riscv_zicond)
#    define ROPE_M_07 1
#else
#    define ROPE_M_07 0
#endif
#if defined(__FMA4__) || defined(__ARM_FEATURE_MATMUL_INT8) || defined(__riscv_compressed)
#    define ROPE_M_08 1
#else
#    define ROPE_M_08 0
#endif
#if defined(__XOP__) || defined(__ARM_FEATURE_QRDMX) || defined(__riscv_zvfh)
#    define ROPE_M_09 1
#else
#    define ROPE_M_09 0
#endif
#if defined(__TBM__) || defined(__ARM_FEATURE_FP16_FML)
#    define ROPE_M_10 1
#else
#    define ROPE_M_10 0
#endif
#if defined(__GFNI__) || defined(__ARM_FEATURE_MOPS)
#    define ROPE_M_11 1
#else
#    define ROPE_M_11 0
#endif
#if defined(__SSE4A__) || defined(__ARM_FEATURE_JCVT)
#    define ROPE_M_12 1
#else
#    define ROPE_M_12 0
#endif
#if defined(__AVX512CD__) || defined(__ARM_FEATURE_FRINT)
#    define ROPE_M_13 1
#else
#    define ROPE_M_13 0
#endif
#if defined(__AVX512BW__)
#    define ROPE_M_14 1
#else
#    define ROPE_M_14 0
#endif
#if defined(__AVX512DQ__)
#    define ROPE_M_15 1
#else
#    define ROPE_M_15 0
#endif
#if defined(__AVX512VL__)
#    define ROPE_M_16 1
#else
#    define ROPE_M_16 0
#endif
#if defined(__AVX512IFMA__)
#    define ROPE_M_17 1
#else
#    define ROPE_M_17 0
#endif
#if defined(__AVX512VBMI__)
#    define ROPE_M_18 1
#else
#    define ROPE_M_18 0
#endif
#if defined(__AVX512VBMI2__)
#    define ROPE_M_19 1
#else
#    define ROPE_M_19 0
#endif
#if defined(__AVX512BITALG__)
#    define ROPE_M_20 1
#else
#    define ROPE_M_20 0
#endif
#if defined(__AVX512VPOPCNTDQ__)
#    define ROPE_M_21 1
#else
#    define ROPE_M_21 0
#endif
#if defined(__AVX512VNNI__)
#    define ROPE_M_22 1
#else
#    define ROPE_M_22 0
#endif
#if defined(__AVXVNNI__)
#    define ROPE_M_23 1
#else
#    define ROPE_M_23 0
#endif
#if defined(__AVX512BF16__)
#    define ROPE_M_24 1
#else
#    define ROPE_M_24 0
#endif
#if defined(__AVX512FP16__)
#    define ROPE_M_25 1
#else
#    define ROPE_M_25 0
#endif
#if defined(__PRFCHW__) || defined(__3dNOW__)  // either lets prefetch.hpp have an instruction of its own
#    define ROPE_M_26 1
#else
#    define ROPE_M_26 0
#endif

// Compilers copy these names thousands of times, so digits that are all 0, as with plain -O2, are left out.
#if ROPE_M_01 || ROPE_M_02 || ROPE_M_03 || ROPE_M_04 || ROPE_M_05 || ROPE_M_06 || ROPE_M_07 || ROPE_M_08 || \
    ROPE_M_09 || ROPE_M_10 || ROPE_M_11 || ROPE_M_12 || ROPE_M_13 || ROPE_M_14 || ROPE_M_15 || ROPE_M_16 || \
    ROPE_M_17 || ROPE_M_18 || ROPE_M_19 || ROPE_M_20 || ROPE_M_21 || ROPE_M_22 || ROPE_M_23 || ROPE_M_24 || \
    ROPE_M_25 || ROPE_M_26
#    define ROPE_JOIN_(v, g, d01, d02, d03, d04, d05, d06, d07, d08, d09, d10, d11, d12, d13, d14, d15, d16, d17, d18, \
                       d19, d20, d21, d22, d23, d24, d25, d26)                                                         \
        v##g##d01##d02##d03##d04##d05##d06##d07##d08##d09##d10##d11##d12##d13##d14##d15##d16##d17##d18##d19##d20##d21##d22##d23##d24##d25##d26
#    define ROPE_JOIN(...) ROPE_JOIN_(__VA_ARGS__)
#    define ROPE_MACHINE                                                                                               \
        ROPE_JOIN(ROPE_M_VECTORS, ROPE_M_GENERATION, ROPE_M_01, ROPE_M_02, ROPE_M_03, ROPE_M_04, ROPE_M_05, ROPE_M_06, \
                  ROPE_M_07, ROPE_M_08, ROPE_M_09, ROPE_M_10, ROPE_M_11, ROPE_M_12, ROPE_M_13, ROPE_M_14, ROPE_M_15,   \
                  ROPE_M_16, ROPE_M_17, ROPE_M_18, ROPE_M_19, ROPE_M_20, ROPE_M_21, ROPE_M_22, ROPE_M_23, ROPE_M_24,   \
                  ROPE_M_25, ROPE_M_26)
#else
#    define ROPE_JOIN_(v, g) v##g
#    define ROPE_JOIN(...) ROPE_JOIN_(__VA_ARGS__)
#    define ROPE_MACHINE ROPE_JOIN(ROPE_M_VECTORS, ROPE_M_GENERATION)
#endif
