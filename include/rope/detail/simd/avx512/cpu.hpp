// SPDX-License-Identifier: MIT
// Whether the machine runs this instruction set. Compiled with the flags of the translation unit, so that every machine
// can run the test.
#pragma once

#include "../../../version.hpp"

ROPE_DETAIL_BEGIN
namespace avx512 {

inline constexpr bool kHasFma = true;

inline bool is_available() noexcept {
    __builtin_cpu_init();  // for calls from initialisers that run before the compiler's library calls it
    // The compiler's test includes whether the system saves the wide registers. Machines with these have fma and f16c.
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("fma");
}

}  // namespace avx512
ROPE_DETAIL_END
