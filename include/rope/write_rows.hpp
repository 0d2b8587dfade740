// SPDX-License-Identifier: MIT
// write_rows: the rows of a step's tokens, written by any number of threads from a table that stays as it is.
#pragma once

#include "axis_map.hpp"
#include "axis_positions.hpp"
#include "cos_sin_rows.hpp"
#include "positions.hpp"
#include "types.hpp"
#include "wrapped_rows.hpp"

#include "detail/base/hide_macros.hpp"

#include "detail/base/executor.hpp"

ROPE_BEGIN

/// Writes the rows of batch * seq tokens, entry after entry, to the caller's memory: of each the cosines, then the sines,
/// rotary_dim numbers. For operators that have no state of their own, where Rows, which one caller at a time builds, have
/// no place:
///
///     static const rope::CompactCosSinCache<float> table(config, 1 << 20);   // once per process
///     rope::WrappedRows<float> rows(rope::write_rows(table, rope::ids(p, tokens), tokens, 1, memory));
///     rope::apply<rope::Layout::half_split>(q, k, rows);
///
/// The table is any: CosSinCache, CompactCosSinCache (a few megabytes for millions of positions), WrappedRows, Rows. It is
/// only read, so any number of threads may write rows from it at once: each for itself, or, with rope::part as the
/// executor, each its part of the same memory. Allocates nothing.
///
/// Returns the view of what is written, for WrappedRows. Their apply has the bits of apply with the table.
///
///   positions   as for apply; or AxisPositions and a map: whole numbers, on as many axes as the map has. A map of
///               mixed axes (mixed_axes) is refused
///   to          room for batch * seq * rotary_dim numbers, none of them of the table
///   executor    see apply.hpp
///
/// Cost: 0.5 to 1 ns per pair and token; with several axes as often as there are axes.
///
/// Throws, before anything is written, std::invalid_argument for a wrong number of positions, for counts outside 0 ..
/// 2^40, for a map or AxisPositions that do not fit, for fractions, and for a null pointer; std::out_of_range for a
/// position that is not in the table.
template <class T, class Executor = detail::CallingThread>
ROPE_ABI inline CosSinView<T> write_rows(const CosSinRows<T>& table, PositionsArgument&& positions, Index seq,
                                         Index batch, T* to, Executor&& executor = {});
template <class T, class Executor = detail::CallingThread>
ROPE_ABI inline CosSinView<T> write_rows(const CosSinRows<T>& table, const AxisPositions& positions, const AxisMap& map,
                                         Index seq, Index batch, T* to, Executor&& executor = {});

ROPE_END

#include "detail/rotary/write_rows.hpp"
#if ROPE_HAS_DEFINITIONS
#    include "detail/rotary/write_tokens.hpp"
#endif

#include "detail/base/restore_macros.hpp"
