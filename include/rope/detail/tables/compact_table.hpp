// SPDX-License-Identifier: MIT
// CompactTable, the base of CompactCosSinCache: fine and coarse rows.
#pragma once

#include <memory>

#include "../../types.hpp"
#include "sourced_rows.hpp"

ROPE_SOURCE_BEGIN

/// A row is combined from a coarse one, of every 2^n-th position, and a fine one.
template <class T>
class CompactTable : public SourcedRows<T> {
 protected:
    ROPE_ABI CompactTable() = default;
    ROPE_ABI CompactTable(const CompactTable&) = default;
    ROPE_ABI CompactTable& operator=(const CompactTable&) = default;
    ROPE_ABI ~CompactTable() = default;

    ROPE_API void build(const GivenSource& given, Index max_positions, Index first_position);
    /// Writes the row of a position, as kernels with fma do.
    ROPE_API void combine(Index position, T* cos, T* sin) const;

    Index rows_ = 0;

 private:
    std::shared_ptr<T[]> table_;  // fine rows, then coarse ones
};

ROPE_SOURCE_END
