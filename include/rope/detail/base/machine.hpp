// SPDX-License-Identifier: MIT
// ROPE_MACHINE: an identifier of the instructions that the flags of this translation unit let the compiler use unasked.
// Translation units with different ones must not share a function. The test machine_flags asks compilers for all flags.
#pragma once

#include "compiler.hpp"

// The widest vectors of x86, and the number of a generation, or of bits in a vector. g++ changes its macros in regions
// for other instruction sets, so all that a region may change is fixed here.
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
#else
#    define ROPE_M_VECTORS base_
#endif
#if defined(__ARCH__)
#    define ROPE_M_NUMBER __ARCH__  // s390x
#elif defined(__ARM_FEATURE_SVE_BITS)
#    define ROPE_M_NUMBER __ARM_FEATURE_SVE_BITS
#elif defined(__riscv_v_fixed_vlen)
#    define ROPE_M_NUMBER __riscv_v_fixed_vlen
#elif defined(__arm__) && defined(__ARM_FP)
#    define ROPE_M_NUMBER __ARM_FP
#else
#    define ROPE_M_NUMBER 0
#endif
#if defined(__FMA__)
#    define ROPE_M_FMA 1
#endif
#if defined(__F16C__)
#    define ROPE_M_F16C 1
#endif
#if defined(__POPCNT__)
#    define ROPE_M_POPCNT 1
#endif
#if defined(__CRC32__)
#    define ROPE_M_CRC32 1
#endif
#if defined(__XSAVE__)
#    define ROPE_M_XSAVE 1
#endif
#if defined(__AVX512BW__)
#    define ROPE_M_BW 1
#endif
#if defined(__AVX512DQ__)
#    define ROPE_M_DQ 1
#endif
#if defined(__AVX512VL__)
#    define ROPE_M_VL 1
#endif
#if defined(__EVEX512__)
#    define ROPE_M_EVEX512 1
#endif
#if defined(__ARM_FEATURE_RCPC) && __ARM_FEATURE_RCPC == 3
#    define ROPE_M_RCPC3 1
#endif

#if !ROPE_HAS_ASM
// Microsoft's compiler: its flags for x86-64 change no more than this, and its older preprocessor does not expand what follows.
#    define ROPE_MACHINE ROPE_M_VECTORS
#else
// Every other feature, four for each hexadecimal digit: IF has those that flags add, NO those that plain flags have.
// The words in ROPE_N are parts of names, so that a program's own macros do not change them.
// clang-format off
#if defined(__x86_64__) || defined(__i386__)
#    define ROPE_N(F, a, b, c, d) F(__##a##__, __##b##__, __##c##__, __##d##__)
#    define ROPE_FEATURES(IF, NO) \
        IF(ROPE_M_FMA, ROPE_M_F16C, ROPE_M_POPCNT, ROPE_M_CRC32) IF(ROPE_M_XSAVE, ROPE_M_BW, ROPE_M_DQ, ROPE_M_VL) \
        IF(ROPE_M_EVEX512, __GCC_HAVE_SYNC_COMPARE_AND_SWAP_16, _SOFT_FLOAT, 0) ROPE_N(IF, 3dNOW, 3dNOW_A, ABM, ADX) \
        ROPE_N(IF, AES, LZCNT, BMI, BMI2) ROPE_N(IF, FMA4, XOP, TBM, LWP) ROPE_N(IF, SSE4A, MOVBE, PCLMUL, GFNI) \
        ROPE_N(IF, SHA, SHA512, SM3, SM4) ROPE_N(IF, VAES, VPCLMULQDQ, RDRND, RDSEED) \
        ROPE_N(IF, AVX512CD, AVX512ER, AVX512PF, AVX512IFMA) \
        ROPE_N(IF, AVX512VBMI, AVX512VBMI2, AVX512VNNI, AVX512BF16) \
        ROPE_N(IF, AVX512FP16, AVX512BITALG, AVX512VPOPCNTDQ, AVX512VP2INTERSECT) \
        ROPE_N(IF, AVX5124FMAPS, AVX5124VNNIW, AVXVNNI, AVXVNNIINT8) \
        ROPE_N(IF, AVXVNNIINT16, AVXIFMA, AVXNECONVERT, EVEX256) \
        ROPE_N(IF, AVX10_1, AVX10_1_512, AVX10_2, AVX10_2_512) ROPE_N(IF, AMXTILE, AMXINT8, AMXBF16, AMX_TILE) \
        ROPE_N(IF, AMX_INT8, AMX_BF16, AMX_FP16, AMX_COMPLEX) ROPE_N(IF, AMX_FP8, AMX_TF32, AMX_AVX512, AMX_MOVRS) \
        ROPE_N(IF, AMX_TRANSPOSE, APX_F, EGPR, PUSH2POP2) ROPE_N(IF, PPX, NDD, CCMP, NF) \
        ROPE_N(IF, CF, ZU, CLDEMOTE, CLFLUSHOPT) ROPE_N(IF, CLWB, CLZERO, CMPCCXADD, ENQCMD) \
        ROPE_N(IF, FSGSBASE, HLE, HRESET, INVPCID) ROPE_N(IF, KL, WIDEKL, LAHF_SAHF, MOVDIRI) \
        ROPE_N(IF, MOVDIR64B, MOVRS, MWAITX, PCONFIG) ROPE_N(IF, PKU, PREFETCHI, PREFETCHWT1, PRFCHW) \
        ROPE_N(IF, PTWRITE, RAOINT, RDPID, RDPRU) ROPE_N(IF, RTM, SERIALIZE, SGX, SHSTK) \
        ROPE_N(IF, TSXLDTRK, UINTR, USERMSR, WAITPKG) ROPE_N(IF, WBNOINVD, XSAVEC, XSAVEOPT, XSAVES) \
        NO(__MMX__, __FXSR__, __GCC_HAVE_SYNC_COMPARE_AND_SWAP_8, __GCC_HAVE_SYNC_COMPARE_AND_SWAP_4)
#elif defined(__aarch64__) || defined(__arm__)
#    define ROPE_N(F, a, b, c, d) F(__ARM_FEATURE_##a, __ARM_FEATURE_##b, __ARM_FEATURE_##c, __ARM_FEATURE_##d)
#    define ROPE_ARM_FEATURES(IF, NO) \
        ROPE_N(IF, AES, ATOMICS, BF16, BF16_SCALAR_ARITHMETIC) \
        ROPE_N(IF, BF16_VECTOR_ARITHMETIC, BTI, COMPLEX, CRC32) \
        ROPE_N(IF, CRYPTO, DOTPROD, FP16_FML, FP16_SCALAR_ARITHMETIC) \
        ROPE_N(IF, FP16_VECTOR_ARITHMETIC, FRINT, GCS, JCVT) ROPE_N(IF, LS64, LSE128, MATMUL_INT8, MEMORY_TAGGING) \
        ROPE_N(IF, MOPS, PAUTH, PAUTH_LR, QRDMX) ROPE_N(IF, RCPC, RNG, SHA2, SHA3) ROPE_N(IF, SHA512, SM3, SM4, SME) \
        ROPE_N(IF, SME2, SME2p1, SME2p2, SME_B16B16) ROPE_N(IF, SME_F16F16, SME_F64F64, SME_I16I64, SME_FA64) \
        ROPE_N(IF, SVE, SVE2, SVE2_AES, SVE2_BITPERM) ROPE_N(IF, SVE2_SHA3, SVE2_SM4, SVE2p1, SVE2p2) \
        ROPE_N(IF, SVE_B16B16, SVE_BF16, SVE_MATMUL_FP32, SVE_MATMUL_FP64) \
        ROPE_N(IF, SVE_MATMUL_INT8, SYSREG128, TME, FP8) ROPE_N(IF, FP8FMA, FP8DOT2, FP8DOT4, FAMINMAX) \
        ROPE_N(IF, LUT, CSSC, x, x) IF(ROPE_M_RCPC3, 0, 0, 0)
#    if defined(__aarch64__)
#        define ROPE_FEATURES(IF, NO) \
            ROPE_ARM_FEATURES(IF, NO) NO(__ARM_FEATURE_UNALIGNED, __ARM_NEON, 1, 1)
#    else
#        define ROPE_FEATURES(IF, NO) \
            ROPE_ARM_FEATURES(IF, NO) IF(__ARM_ARCH_4T__, __ARM_ARCH_5T__, __ARM_ARCH_5TE__, __ARM_ARCH_5TEJ__) \
            IF(__ARM_ARCH_6J__, __ARM_ARCH_6K__, __ARM_ARCH_6Z__, __ARM_ARCH_6KZ__) \
            IF(__ARM_ARCH_6ZK__, __ARM_ARCH_6T2__, __ARM_ARCH_6M__, __ARM_ARCH_7A__) \
            IF(__ARM_ARCH_7R__, __ARM_ARCH_7M__, __ARM_ARCH_7EM__, __ARM_ARCH_7S__) \
            IF(__ARM_ARCH_7VE__, __ARM_ARCH_8M_BASE__, __ARM_ARCH_8M_MAIN__, __ARM_ARCH_8_1M_MAIN__) \
            IF(__ARM_ARCH_8R__, __ARM_NEON, __ARM_VFPV2__, __ARM_VFPV3__) \
            IF(__ARM_VFPV4__, __ARM_FPV5__, __ARM_ARCH_ISA_ARM, __thumb__) \
            IF(__ARM_ARCH_4__, __ARM_ARCH_iwmmxt__, __ARM_ARCH_8A__, __ARM_ARCH_9A__) \
            IF(__thumb2__, __XSCALE__, __IWMMXT__, __IWMMXT2__) ROPE_N(IF, CLZ, CMSE, DIRECTED_ROUNDING, DSP) \
            ROPE_N(IF, FMA, IDIV, MVE, NUMERIC_MAXMIN) ROPE_N(IF, QBIT, SAT, SIMD32, x) \
            NO(__ARM_FEATURE_UNALIGNED, 1, 1, 1)
#    endif
#elif defined(__riscv)
#    define ROPE_N(F, a, b, c, d) F(__riscv_##a, __riscv_##b, __riscv_##c, __riscv_##d)
#    define ROPE_FEATURES(IF, NO) \
        ROPE_N(IF, zmmul, zicond, zimop, zcmop) ROPE_N(IF, zihintntl, zihintpause, zawrs, zaamo) \
        ROPE_N(IF, zalrsc, zabha, zacas, zalasr) ROPE_N(IF, ztso, zba, zbb, zbc) ROPE_N(IF, zbs, zbkb, zbkc, zbkx) \
        ROPE_N(IF, zknd, zkne, zknh, zkr) ROPE_N(IF, zksed, zksh, zkt, zk) ROPE_N(IF, zkn, zks, b, zca) \
        ROPE_N(IF, zcb, zcd, zce, zcf) ROPE_N(IF, zcmp, zcmt, zclsd, zilsd) ROPE_N(IF, zfa, zfh, zfhmin, zfbfmin) \
        ROPE_N(IF, zfinx, zdinx, zhinx, zhinxmin) ROPE_N(IF, v, vector, zve32x, zve32f) \
        ROPE_N(IF, zve64x, zve64f, zve64d, zvbb) ROPE_N(IF, zvbc, zvfh, zvfhmin, zvfbfmin) \
        ROPE_N(IF, zvfbfwma, zvkb, zvkg, zvkn) ROPE_N(IF, zvknc, zvkned, zvkng, zvknha) \
        ROPE_N(IF, zvknhb, zvks, zvksc, zvksed) ROPE_N(IF, zvksg, zvksh, zvkt, zvl32b) \
        ROPE_N(IF, zvl64b, zvl128b, zvl256b, zvl512b) ROPE_N(IF, zvl1024b, zvl2048b, zvl4096b, zvl8192b) \
        ROPE_N(IF, zvl16384b, zvl32768b, zvl65536b, zicbom) ROPE_N(IF, zicbop, zicboz, zicfilp, zicfiss) \
        ROPE_N(IF, zicntr, zihpm, h, 32e) ROPE_N(IF, xcvalu, xcvbi, xcvbitmanip, xcvelw) \
        ROPE_N(IF, xcvmac, xcvmem, xcvsimd, xsfcease) \
        ROPE_N(IF, xsfvcp, xsfvfnrclipxfqf, xsfvfwmaccqqq, xsfvqmaccdod) \
        ROPE_N(IF, xsfvqmaccqoq, xtheadba, xtheadbb, xtheadbs) \
        ROPE_N(IF, xtheadcmo, xtheadcondmov, xtheadfmemidx, xtheadmac) \
        ROPE_N(IF, xtheadmemidx, xtheadmempair, xtheadsync, xtheadvdot) \
        ROPE_N(IF, xventanacondops, xsifivecdiscarddlone, xsifivecflushdlone, x) \
        ROPE_N(NO, mul, div, muldiv, a) ROPE_N(NO, atomic, f, d, c) ROPE_N(NO, compressed, fdiv, fsqrt, i)
#elif defined(__powerpc__)
#    define ROPE_FEATURES(IF, NO) \
        IF(_ARCH_PWR9, _ARCH_PWR10, _ARCH_PWR11, _ARCH_PWR_FUTURE) IF(__HTM__, __MMA__, __PCREL__, __POWER9_VECTOR__) \
        IF(__POWER10_VECTOR__, __FLOAT128_HARDWARE__, __ROP_PROTECT__, __SPE__) IF(_SOFT_FLOAT, 0, 0, 0) \
        NO(__ALTIVEC__, __VSX__, __CRYPTO__, __POWER8_VECTOR__) NO(_ARCH_PPCGR, _ARCH_PPCSQ, _ARCH_PWR4, _ARCH_PWR5) \
        NO(_ARCH_PWR5X, _ARCH_PWR6, _ARCH_PWR7, _ARCH_PWR8)
#elif defined(__wasm__)
#    define ROPE_N(F, a, b, c, d) F(__wasm_##a##__, __wasm_##b##__, __wasm_##c##__, __wasm_##d##__)
#    define ROPE_FEATURES(IF, NO) \
        ROPE_N(IF, simd128, relaxed_simd, atomics, bulk_memory) \
        ROPE_N(IF, bulk_memory_opt, call_indirect_overlong, exception_handling, extended_const) \
        ROPE_N(IF, fp16, half_precision, multimemory, nontrapping_fptoint) \
        ROPE_N(IF, tail_call, gc, memory64, wide_arithmetic) \
        ROPE_N(NO, multivalue, mutable_globals, reference_types, sign_ext)
#else
#    define ROPE_FEATURES(IF, NO) \
        IF(__VX__, __HTM__, __loongarch_sx, __loongarch_asx) \
        IF(__loongarch_frecipe, __loongarch_div32, __loongarch_lam_bh, __loongarch_lamcas) \
        IF(__loongarch_ld_seq_sa, __loongarch_scq, 0, 0)
#endif
// clang-format on

// ROPE_HAS(x) is 1 if x is defined as 1, or as another number that compilers give to a feature, such as the version of
// an extension of RISC-V; else 0. ROPE_LACKS(x) is the opposite.
#    define ROPE_VALUE_1 0, 1, 0
#    define ROPE_VALUE_3 0, 1, 0
#    define ROPE_VALUE_1000 0, 1, 0
#    define ROPE_VALUE_12000 0, 1, 0
#    define ROPE_VALUE_1000000 0, 1, 0
#    define ROPE_VALUE_2000000 0, 1, 0
#    define ROPE_VALUE_2001000 0, 1, 0
#    define ROPE_VALUE_2002000 0, 1, 0
#    define ROPE_SECOND(a, b, ...) b
#    define ROPE_THIRD(a, b, c, ...) c
#    define ROPE_CALL(macro, ...) macro(__VA_ARGS__)
#    define ROPE_HAS_(x) ROPE_CALL(ROPE_SECOND, ROPE_VALUE_##x, 0, 0)
#    define ROPE_HAS(x) ROPE_HAS_(x)
#    define ROPE_LACKS_(x) ROPE_CALL(ROPE_THIRD, ROPE_VALUE_##x, 0, 1, 0)
#    define ROPE_LACKS(x) ROPE_LACKS_(x)

// Compilers copy these names thousands of times, so digits that are all 0, as with plain -O2, are left out.
#    define ROPE_COUNT_IF(a, b, c, d) +ROPE_HAS(a) + ROPE_HAS(b) + ROPE_HAS(c) + ROPE_HAS(d)
#    define ROPE_COUNT_NO(a, b, c, d) +ROPE_LACKS(a) + ROPE_LACKS(b) + ROPE_LACKS(c) + ROPE_LACKS(d)
#    define ROPE_JOIN_(v, g, a, b, c, d, e, f, h, i, j, k, l, m, n, o, p, q, r, s, t, u, w, x, y, z, A, B, C, D, E, F, \
                       G, H, I, J, K, L, M, N, O, P, Q, ...)                                                           \
        v##g##a##b##c##d##e##f##h##i##j##k##l##m##n##o##p##q##r##s##t##u##w##x##y##z##A##B##C##D##E##F##G##H##I##J##K##L##M##N##O##P##Q
#    if ROPE_FEATURES(ROPE_COUNT_IF, ROPE_COUNT_NO)
#        define ROPE_HEX_0000 0
#        define ROPE_HEX_0001 1
#        define ROPE_HEX_0010 2
#        define ROPE_HEX_0011 3
#        define ROPE_HEX_0100 4
#        define ROPE_HEX_0101 5
#        define ROPE_HEX_0110 6
#        define ROPE_HEX_0111 7
#        define ROPE_HEX_1000 8
#        define ROPE_HEX_1001 9
#        define ROPE_HEX_1010 a
#        define ROPE_HEX_1011 b
#        define ROPE_HEX_1100 c
#        define ROPE_HEX_1101 d
#        define ROPE_HEX_1110 e
#        define ROPE_HEX_1111 f
#        define ROPE_DIGIT(a, b, c, d) ROPE_HEX_##a##b##c##d
#        define ROPE_DIGIT_IF(a, b, c, d) , ROPE_CALL(ROPE_DIGIT, ROPE_HAS(a), ROPE_HAS(b), ROPE_HAS(c), ROPE_HAS(d))
#        define ROPE_DIGIT_NO(a, b, c, d) \
            , ROPE_CALL(ROPE_DIGIT, ROPE_LACKS(a), ROPE_LACKS(b), ROPE_LACKS(c), ROPE_LACKS(d))
#        define ROPE_MACHINE                                                                                           \
            ROPE_CALL(ROPE_JOIN_, ROPE_M_VECTORS, ROPE_M_NUMBER ROPE_FEATURES(ROPE_DIGIT_IF, ROPE_DIGIT_NO), , , , , , \
                      , , , , , , , , , , , , , , , , , , , , , , , , , , , , , , , , , , , , )
#    else
#        define ROPE_PLAIN_(v, g) v##g
#        define ROPE_MACHINE ROPE_CALL(ROPE_PLAIN_, ROPE_M_VECTORS, ROPE_M_NUMBER)
#    endif
#endif
