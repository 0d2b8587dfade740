// SPDX-License-Identifier: MIT
// Memory that is asked for ahead of the work.
#pragma once

#include <cstdint>
#include <type_traits>

#include "../types.hpp"

namespace rope {
inline namespace ROPE_VERSION_NAMESPACE {
namespace detail {

/// How far ahead, in bytes.
inline constexpr std::uintptr_t kPrefetchDistance = 4096;

/// A line of the cache, as a number: what lies ahead may be outside the tensor, where no pointer may point.
template <bool to_write>
ROPE_INLINE void prefetch_line(std::uintptr_t address) noexcept {
    __builtin_prefetch(reinterpret_cast<const void*>(address), to_write);  // NOLINT(performance-no-int-to-ptr)
}

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
