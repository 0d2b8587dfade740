// SPDX-License-Identifier: MIT
// Whether the machine runs this set. Compiled for the unit's own machine, so that it can be asked anywhere.
#pragma once

#include "../../../version.hpp"

namespace rope {
inline namespace ROPE_VERSION_NAMESPACE {
namespace detail {
namespace avx512 {

inline constexpr bool kHasFma = true;

ROPE_ABI inline bool is_available() noexcept {
    __builtin_cpu_init();  // for calls from initialisers that run before the compiler's library has done it
    // The compiler's own test includes whether the system saves the wide registers. Who has these has fma and f16c.
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("fma");
}

}  // namespace avx512
}  // namespace detail
}  // namespace ROPE_VERSION_NAMESPACE
}  // namespace rope
