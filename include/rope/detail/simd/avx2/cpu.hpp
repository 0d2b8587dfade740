// SPDX-License-Identifier: MIT
// Whether the machine runs this instruction set. Compiled with the flags of the translation unit, so that every machine
// can run the test.
#pragma once

#include <cpuid.h>

#include "../../../version.hpp"

ROPE_DETAIL_BEGIN
namespace avx2 {

inline constexpr bool kHasFma = true;

inline bool is_available() noexcept {
    __builtin_cpu_init();  // for calls from initialisers that run before the compiler's library calls it
    // The compiler's test includes whether the system saves the wide registers. clang 14 does not know "f16c".
    if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma")) return false;
    unsigned a = 0, b = 0, c = 0, d = 0;
    return __get_cpuid(1, &a, &b, &c, &d) != 0 && (c & bit_F16C) != 0;
}

}  // namespace avx2
ROPE_DETAIL_END
