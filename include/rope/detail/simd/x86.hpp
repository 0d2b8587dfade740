// SPDX-License-Identifier: MIT
// Whether this machine, an x86-64, has the sets that not every one has. Compiled with the flags of the translation
// unit, so that every machine can run the test.
#pragma once

#include "../base/arithmetic.hpp"

#if defined(__x86_64__) && defined(__GNUC__) && ROPE_WIDE_VECTORS_ON_STACK && !ROPE_FOR_DEVICE
#    include <cpuid.h>

ROPE_DETAIL_BEGIN

// Both begin with __builtin_cpu_init for calls from initialisers that run before the compiler's library calls it. The
// compiler's tests include whether the system saves the wide registers.

inline bool machine_has_avx2() noexcept {
    __builtin_cpu_init();
    // clang 14 does not know "f16c".
    if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma")) return false;
    unsigned a = 0, b = 0, c = 0, d = 0;
    return __get_cpuid(1, &a, &b, &c, &d) != 0 && (c & bit_F16C) != 0;
}

/// Machines with these have fma and f16c.
inline bool machine_has_avx512() noexcept {
    __builtin_cpu_init();
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("fma");
}

/// Whether a machine with AVX-512 has its conversion to bfloat16, too. Asked once, for on virtual machines the question
/// takes as long as a call.
inline bool machine_has_avx512_bf16() noexcept {
    static const bool has = [] {
        unsigned a = 0, b = 0, c = 0, d = 0;
        return __get_cpuid_count(7, 1, &a, &b, &c, &d) != 0 && (a & 1u << 5) != 0;
    }();
    return has;
}

ROPE_DETAIL_END
#endif
