// SPDX-License-Identifier: MIT
// TokenRows, the base of Rows and Moves: one row per token of a step.
#pragma once

#include <memory>
#include <type_traits>

#include "../../axis_map.hpp"
#include "../../axis_positions.hpp"
#include "../../frequencies.hpp"
#include "../../positions.hpp"
#include "../../types.hpp"
#include "../base/executor.hpp"
#include "sourced_rows.hpp"

ROPE_SOURCE_BEGIN

template <class T>
class RowBuilder;

/// A row of cosines and sines per token. The builder has the functions and memory that only <rope/src.hpp> compiles.
template <class T>
class TokenRows : public SourcedRows<T> {
    static_assert(std::is_same_v<T, float> || std::is_same_v<T, double>,
                  "Rows and moves are float (they serve float, half and bfloat16 data) or double.");

 public:
    TokenRows(const TokenRows&) = delete;
    TokenRows& operator=(const TokenRows&) = delete;

    // ../../rows.hpp describes these.
    ROPE_API void use_memory(T* memory, Index rows) noexcept;
    ROPE_ABI Index rows() const noexcept { return rows_; }
    ROPE_ABI const T* cos_row(Index row) const ROPE_LIFETIMEBOUND { return find(row, 0); }
    ROPE_ABI const T* sin_row(Index row) const ROPE_LIFETIMEBOUND {
        return find(row, this->heads_ > 0 ? this->heads_ * this->pairs_ : this->pairs_);
    }
    ROPE_API const AxisMap& map() const noexcept ROPE_LIFETIMEBOUND;

 protected:
    /// Rows of one schedule.
    ROPE_API TokenRows(const GivenSource& given, AxisMap&& map);
    /// Rows that the builder is to be made ready for.
    ROPE_API TokenRows(const char* name, bool has_two);
    ROPE_API ~TokenRows();

    ROPE_API void replace_frequencies(const Frequencies& f);
    ROPE_API void build_at(const Positions& positions, Index seq, Index batch, const AnyExecutor& executor);
    ROPE_API void build_at(const AxisPositions& positions, Index seq, Index batch, const AnyExecutor& executor);

    std::unique_ptr<RowBuilder<T>> builder_;

 private:
    friend class RowBuilder<T>;

    /// Entry i of a row.
    ROPE_API const T* find(Index row, Index i) const;

    Index rows_ = 0;
};

ROPE_SOURCE_END
