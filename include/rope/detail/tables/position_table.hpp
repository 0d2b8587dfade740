// SPDX-License-Identifier: MIT
// PositionTable, the base of CosSinCache: one row for each of some consecutive positions.
#pragma once

#include <cstddef>
#include <memory>

#include "../../errors.hpp"
#include "../../frequencies.hpp"
#include "../../types.hpp"
#include "sourced_rows.hpp"

ROPE_SOURCE_BEGIN

template <class T>
class PositionTable : public SourcedRows<T> {
 protected:
    ROPE_ABI PositionTable() = default;
    ROPE_ABI PositionTable(const PositionTable&) = default;
    ROPE_ABI PositionTable& operator=(const PositionTable&) = default;
    ROPE_ABI ~PositionTable() = default;

    void build(const TableSource& source, Index count, Index first);
    ROPE_API void build(const GivenSource& given, bool is_float32_chain, Index count, Index first);
    /// Adds rows up to `count` of them.
    ROPE_API void extend(const Frequencies& f, Index count);
    /// Entry i of a position's row.
    ROPE_API const T* find(Index position, Index i) const;

    std::shared_ptr<T[]> table_;

 private:
    /// Gets the memory of `count` rows.
    void allocate(Index count, Index first);
    /// Computes rows `begin` and after.
    void fill(const Frequencies& f, Index begin);
    Status check_extension(Index count) const noexcept;
    /// Requires frequencies that give the first and the last row again. `count` is the number of rows to be had.
    Status check_rows_of(const Frequencies& f, Index count) const;
    T* row(Index i) const noexcept;
    std::size_t row_bytes() const noexcept;

    Index longest_ = kNoLongest;  // sequence that the frequencies are for
    bool is_chain_ = false;
};

ROPE_SOURCE_END
