// SPDX-License-Identifier: MIT
// Software prefetch.
#pragma once

#include <cstdint>
#include <type_traits>

#include "../../types.hpp"

#if defined(__has_builtin)
#    if __has_builtin(__builtin_prefetch)
#        define ROPE_HAS_PREFETCH 1
#    endif
#elif ROPE_HAS_ATTRIBUTES
#    define ROPE_HAS_PREFETCH 1  // g++ 9 and older
#endif

ROPE_DETAIL_BEGIN

/// The prefetch distance of streaming calls, in bytes ahead of a load. See benchmarks/tuning.md.
inline constexpr std::uintptr_t kPrefetchDistance = 8192;

/// Prefetches a cache line. The address is a number: it may lie outside the tensor, where no pointer may point.
template <bool to_write>
ROPE_INLINE void prefetch_line(std::uintptr_t address) noexcept {
#if defined(ROPE_HAS_PREFETCH)
    __builtin_prefetch(reinterpret_cast<const void*>(address), to_write);  // NOLINT(performance-no-int-to-ptr)
#else
    static_cast<void>(address);
#endif
}

/// Prefetches the lines `distance` bytes ahead of p[0] .. p[count - 1], `at_once` of them per iteration: to read if T is
/// const (threads share tables), else to write.
template <int at_once = 1, class T>
ROPE_INLINE void prefetch(T* p, Index count, std::uintptr_t distance = kPrefetchDistance) noexcept {
    constexpr bool to_write = !std::is_const_v<T>;
    std::uintptr_t ahead = reinterpret_cast<std::uintptr_t>(p) + distance;
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

ROPE_DETAIL_END
