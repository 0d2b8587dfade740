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
#elif defined(__GNUC__)
#    define ROPE_HAS_PREFETCH 1  // g++ 9 and older
#endif

namespace rope {
inline namespace ROPE_VERSION_NAMESPACE {
namespace detail {

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

/// The prefetch distance of kernels whose data are in L3, in bytes ahead of a load: two lines beside the load of two
/// others. See benchmarks/tuning.md.
inline constexpr std::uintptr_t kNearPrefetchDistance = 1024;

/// Prefetch policies of kernels, called for each two vectors at x: none, or 128 bytes (two 64-byte vectors), a short
/// distance ahead.
struct ROPE_ABI NoPrefetch {
    template <class In>
    ROPE_INLINE void operator()(const In*) const noexcept {}
};
struct ROPE_ABI PrefetchNear {
    template <class In>
    ROPE_INLINE void operator()(const In* x) const noexcept {
        const std::uintptr_t ahead = reinterpret_cast<std::uintptr_t>(x) + kNearPrefetchDistance;
        prefetch_line<false>(ahead);
        prefetch_line<false>(ahead + 64);
    }
};

/// Prefetches the lines kPrefetchDistance ahead of p[0] .. p[count - 1], `at_once` of them per iteration: to read if T
/// is const (threads share tables), else to write.
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
