// SPDX-License-Identifier: MIT
// SourcedRows: rows that are made from a TableSource, whose definition is in table_source.hpp.
#pragma once

#include "../../config.hpp"
#include "../../cos_sin_rows.hpp"
#include "../../types.hpp"

ROPE_SOURCE_BEGIN

struct TableSource;
inline constexpr Index kNoLongest = kMaxIndex;

template <class T>
class SourcedRows : public CosSinRows<T> {
 protected:
    ROPE_ABI SourcedRows() noexcept = default;
    ROPE_ABI SourcedRows(const SourcedRows&) noexcept = default;
    ROPE_ABI SourcedRows& operator=(const SourcedRows&) noexcept = default;

    /// For a slice that has passed check_slice.
    ROPE_API void describe(const TableSource& s, HeadSlice slice, Index pairs) noexcept;
};

ROPE_SOURCE_END
