// SPDX-License-Identifier: MIT
// Memory that is asked for ahead of the work.
#pragma once

#include <cstdint>
#include <type_traits>

#include "../types.hpp"

#if defined(__has_builtin)
#    if __has_builtin(__builtin_prefetch)
#        define ROPE_HAS_PREFETCH 1
#    endif
#elif defined(__GNUC__)
#    define ROPE_HAS_PREFETCH 1  // g++ 9 and older
#endif

namespace rope {
inline namespace ROPE_VERSION_NAMESPACE {
namespace detail {

/// How far ahead, in bytes. Time over that of `scale` on a Zen 5, AVX-512 and AVX2, half-split and interleaved:
///
///  bytes ahead                    2048                   4096                   8192                  16384
///  float, [2048, 32, 128]    1.36 1.29  1.34 1.42   1.28 1.11  1.19 1.27   1.01 0.91  1.00 1.12   0.82 0.75  0.92 1.09
///  float, [8192, 32, 128]    1.08 1.02  1.07 1.09   1.02 0.99  0.98 0.99   1.02 0.99  0.94 0.94   1.04 1.01  1.00 0.97
///  double, [2048, 32, 128]   1.24 1.14  1.32 1.18   1.13 1.08  1.09 1.06   1.00 0.97  0.91 0.90   1.13 0.97  0.95 0.86
///  half, [8192, 32, 128]     1.08 1.12  1.11 1.21   0.98 1.01  1.00 1.16   0.90 0.90  0.89 1.08   0.93 0.89  0.91 1.07
///
/// On a Zen 3 there was nothing between 4096 and 8192; 16384 took 1.1 times as long, none at all 1.5 times.
inline constexpr std::uintptr_t kPrefetchDistance = 8192;

/// A line of the cache, as a number: what lies ahead may be outside the tensor, where no pointer may point.
template <bool to_write>
ROPE_INLINE void prefetch_line(std::uintptr_t address) noexcept {
#if defined(ROPE_HAS_PREFETCH)
    __builtin_prefetch(reinterpret_cast<const void*>(address), to_write);  // NOLINT(performance-no-int-to-ptr)
#else
    static_cast<void>(address);
#endif
}

/// How far ahead, in bytes, kernels ask for what is in L3, each two lines beside the load of two others. Time over that
/// of `scale` on the Zen 5, float, AVX-512, half-split and interleaved:
///
///  bytes ahead             none         512          1024         1536         2048
///  [128, 32, 128]       1.07 1.06    1.09 1.04    1.01 0.99    1.02 1.00    1.04 1.01
///
/// All of a head's lines at once, before its first load, gained a third of that; into L2 only (_MM_HINT_T1) took 1.2
/// times as long as nothing.
inline constexpr std::uintptr_t kNearPrefetchDistance = 1024;

/// What kernels ask for beside their work on two vectors at x: nothing, or the 128 bytes of two wide ones, near ahead.
struct ROPE_ABI AskNothing {
    template <class In>
    ROPE_INLINE void operator()(const In*) const noexcept {}
};
struct ROPE_ABI AskNear {
    template <class In>
    ROPE_INLINE void operator()(const In* x) const noexcept {
        const std::uintptr_t ahead = reinterpret_cast<std::uintptr_t>(x) + kNearPrefetchDistance;
        prefetch_line<false>(ahead);
        prefetch_line<false>(ahead + 64);
    }
};

/// What lies ahead of p[0] .. p[count - 1], `at_once` lines at once: to read if T is const, as tables are that threads
/// share, else to write.
template <int at_once = 1, class T>
ROPE_INLINE void prefetch(T* p, Index count) noexcept {
    constexpr bool to_write = !std::is_const_v<T>;
    std::uintptr_t ahead = reinterpret_cast<std::uintptr_t>(p) + kPrefetchDistance;
    const std::uintptr_t end = ahead + static_cast<std::uintptr_t>(count) * sizeof(T);
    if constexpr (at_once == 4)
        for (; ahead + 192 < end; ahead += 256) {
            prefetch_line<to_write>(ahead);
            prefetch_line<to_write>(ahead + 64);
            prefetch_line<to_write>(ahead + 128);
            prefetch_line<to_write>(ahead + 192);
        }
    for (; ahead < end; ahead += 64) prefetch_line<to_write>(ahead);
}

}  // namespace detail
}  // namespace ROPE_VERSION_NAMESPACE
}  // namespace rope
