// SPDX-License-Identifier: MIT
// Where rows of cos and sin lie, for the functions that rotate with them.
#pragma once

#include "../../types.hpp"

ROPE_DETAIL_BEGIN

/// Where the row of a position lies. A row is one cosine and one sine per pair, each multiplied by the magnitude.
template <class T>
struct RowSource {
    const T* cos;     // of row 0
    const T* sin;     // of row 0
    Index stride;     // numbers from a row to the next; 0 when all positions have the same
    Index first;      // the position of row 0
    Index entry;      // rows from a batch entry to the next; 0 when they share
    const T* fine;    // not null: row k is row k >> fine_bits above, rotated by this row k % 2^fine_bits
    int fine_bits;    // 0 if fine is null
    Index heads = 0;  // heads with rows of their own, or 0: all heads share rows. Head h of a call reads the rows of
                      // head h % heads, which begin (h % heads) * `head` numbers behind those of head 0
    Index head = 0;

    ROPE_INLINE bool has_heads() const noexcept { return heads != 0; }
    /// The rows of one head, which are then as any.
    RowSource of_head(Index h) const noexcept {
        RowSource rows = *this;
        rows.cos += h % heads * head;
        rows.sin += h % heads * head;
        rows.heads = 0;
        return rows;
    }
};

/// The most features of a head.
inline constexpr Index kMaxHeadDim = Index(1) << 20;
/// The most pairs of a table whose rows are combined from two, and of a table whose rows are written before they are
/// used.
inline constexpr Index kMaxCombinedPairs = 1024;
struct RowsAccess;

ROPE_DETAIL_END
