// SPDX-License-Identifier: MIT
// Memory that is asked for ahead of the work.
#pragma once

#include <cstdint>
#include <type_traits>

#include "../../types.hpp"

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

/// How far ahead of a load streams ask for memory, in bytes. benchmarks/tuning.md has what was measured.
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

/// How far ahead of a load kernels ask for memory that is in L3, in bytes: two lines beside the load of two others.
/// benchmarks/tuning.md has what was measured.
inline constexpr std::uintptr_t kNearPrefetchDistance = 1024;

/// What kernels ask for beside their work on two vectors at x: nothing, or the 128 bytes of two wide ones, near ahead.
struct ROPE_ABI NoPrefetch {
    template <class In>
    ROPE_INLINE void operator()(const In*) const noexcept {}
};
struct ROPE_ABI PrefetchNear {
    template <class In>
    ROPE_INLINE void operator()(const In* x) const noexcept {
        const std::uintptr_t prefetch_features = reinterpret_cast<std::uintptr_t>(x) + kNearPrefetchDistance;
        prefetch_line<false>(prefetch_features);
        prefetch_line<false>(prefetch_features + 64);
    }
};

/// What lies ahead of p[0] .. p[count - 1], `at_once` lines at once: to read if T is const, as tables are that threads
/// share, else to write.
template <int at_once = 1, class T>
ROPE_INLINE void prefetch(T* p, Index count) noexcept {
    constexpr bool to_write = !std::is_const_v<T>;
    std::uintptr_t prefetch_features = reinterpret_cast<std::uintptr_t>(p) + kPrefetchDistance;
    const std::uintptr_t end = prefetch_features + static_cast<std::uintptr_t>(count) * sizeof(T);
    if constexpr (at_once == 4)
        for (; prefetch_features + 192 < end; prefetch_features += 256) {
            prefetch_line<to_write>(prefetch_features);
            prefetch_line<to_write>(prefetch_features + 64);
            prefetch_line<to_write>(prefetch_features + 128);
            prefetch_line<to_write>(prefetch_features + 192);
        }
    for (; prefetch_features < end; prefetch_features += 64) prefetch_line<to_write>(prefetch_features);
}

}  // namespace detail
}  // namespace ROPE_VERSION_NAMESPACE
}  // namespace rope
