// SPDX-License-Identifier: MIT
// Memory for a table, shared by its copies.
#pragma once

#include <cstddef>
#include <memory>
#include <new>

#include "../types.hpp"

#include "hide_macros.hpp"

namespace rope {
inline namespace ROPE_VERSION_NAMESPACE {
namespace detail {

/// rows * row_size uninitialised numbers, 64-byte aligned; null when there is no such memory. Both counts are positive.
template <class T>
ROPE_ABI inline std::shared_ptr<T[]> table_memory(Index rows, Index row_size) {
    constexpr std::align_val_t alignment{64};
    const Index row_bytes = row_size * static_cast<Index>(sizeof(T));
    if (rows > kMemoryBytes / row_bytes) return nullptr;
    void* const memory = ::operator new(static_cast<std::size_t>(row_bytes * rows), alignment, std::nothrow);
    if (memory == nullptr) return nullptr;
    return std::shared_ptr<T[]>(static_cast<T*>(memory), [](T* p) { ::operator delete (p, std::align_val_t{64}); });
}

}  // namespace detail
}  // namespace ROPE_VERSION_NAMESPACE
}  // namespace rope

#include "restore_macros.hpp"
