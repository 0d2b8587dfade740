// SPDX-License-Identifier: MIT
// Memory for a table, shared by its copies.
#pragma once

#include <cstddef>
#include <memory>
#include <new>

#include "../../errors.hpp"
#include "../../types.hpp"

ROPE_DETAIL_BEGIN

/// Whether rows * row_size elements fit into kMemoryBytes. All three are positive.
inline bool table_can_be(Index rows, Index row_size, std::size_t element) noexcept {
    return rows <= kMemoryBytes / static_cast<Index>(element) / row_size;
}
/// Refuses the argument that asks for more rows than fit into kMemoryBytes.
inline Status check_table_size(const char* name, Index value, Index rows, Index row_size,
                               std::size_t element) noexcept {
    if (table_can_be(rows, row_size, element)) return Status();
    return invalid(
        "{} is {}; {} {row|rows} of {} {entry|entries} of {} {byte|bytes} must not exceed what memory can hold ({} "
        "{byte|bytes}).",
        {name, value, rows, row_size, element, kMemoryBytes});
}
/// The error if a possible size cannot be allocated. No argument is wrong then, so none is named.
ROPE_COLD Status no_memory(Index rows, Index row_size, std::size_t element) noexcept {
    return out_of_memory("There is no memory for {} {row|rows} of {} {entry|entries} of {} {byte|bytes}.",
                         {rows, row_size, element});
}

/// Allocates rows * row_size uninitialised numbers, 64-byte aligned; null without memory. table_can_be must hold.
template <class T>
inline std::shared_ptr<T[]> table_memory(Index rows, Index row_size) {
    constexpr std::align_val_t alignment{64};
    const std::size_t bytes = static_cast<std::size_t>(rows * row_size) * sizeof(T);
    void* const memory = ::operator new(bytes, alignment, std::nothrow);
    if (memory == nullptr) return nullptr;
    return std::shared_ptr<T[]>(static_cast<T*>(memory), [](T* p) { ::operator delete (p, std::align_val_t{64}); });
}

ROPE_DETAIL_END
