// SPDX-License-Identifier: MIT
// SourcedRows: rows that are made from a TableSource, whose definition is in table_source.hpp.
#pragma once

#include "../../config.hpp"
#include "../../cos_sin_rows.hpp"
#include "../../frequencies.hpp"
#include "../../types.hpp"

ROPE_SOURCE_BEGIN

struct TableSource;
inline constexpr Index kNoLongest = kMaxIndex;

/// The arguments that a TableSource is made of, as they were given: they cross, and a TableSource does not.
struct GivenSource {
    ROPE_ABI GivenSource(const Config& c, Index length) noexcept : config(&c), seq_len(length) {}
    ROPE_ABI GivenSource(const Frequencies& f, HeadSlice s, Index h = 0) noexcept
        : frequencies(&f), slice(s), heads(h) {}

    const Config* config = nullptr;
    const Frequencies* frequencies = nullptr;
    Index seq_len = 0;
    HeadSlice slice;
    Index heads = 0;  // with frequencies of their own; 0: all share
};

template <class T>
class SourcedRows : public CosSinRows<T> {
 protected:
    ROPE_ABI SourcedRows() noexcept = default;
    ROPE_ABI SourcedRows(const SourcedRows&) noexcept = default;
    ROPE_ABI SourcedRows& operator=(const SourcedRows&) noexcept = default;

    /// For a slice that has passed check_slice.
    void describe(const TableSource& s, HeadSlice slice, Index pairs) noexcept;
};

ROPE_SOURCE_END
