// SPDX-License-Identifier: MIT
// Definitions of write_rows.hpp: rows of tokens, copied or combined from a table.
#pragma once

#include <algorithm>

#include "../../axis_map.hpp"
#include "../../axis_positions.hpp"
#include "../../cos_sin_rows.hpp"
#include "../../errors.hpp"
#include "../../positions.hpp"
#include "../../types.hpp"
#include "../../wrapped_rows.hpp"
#include "../base/executor.hpp"
#include "../call/explain.hpp"
#include "../call/job.hpp"
#include "../call/loop.hpp"
#include "../call/slab.hpp"
#include "../kernels/rotate.hpp"
#include "../positions/axis_map.hpp"
#include "../positions/position_checks.hpp"
#include "../simd/isa_choice.hpp"
#include "write_rows.hpp"

ROPE_DETAIL_BEGIN

/// Rows to be written; positions are given in one of two ways.
template <class T>
struct RowsTask {
    const RotateKernels<T, T, T>& kernels;  // of which one writes rows
    const RowSource<T>& source;
    const Positions& positions;
    const AxisPositions* of_axes;  // null: `positions`
    const AxisMap* map;            // if of_axes is not null
    Index pairs, seq;
    T* to;

    /// The row of the table for a token, on an axis.
    Index row(Index token, Index axis) const noexcept {
        const Index b = token / seq, s = token % seq;
        if (of_axes != nullptr) return b * source.entry + of_axes->at(axis, token).whole - source.first;
        return rows_of(positions, source, seq, b, s, false)[0];
    }
};

/// Writes pairs begin .. begin + count - 1 of row k of the table.
template <class T>
inline void write_pairs(const RowsTask<T>& task, Index k, Index begin, Index count, T* cos, T* sin) noexcept {
    Row<T> row = row_at(task.source, k, task.pairs);
    row.cos += begin;
    row.sin += begin;
    if (row.fine != nullptr) row.fine += begin;
    task.kernels.write_row(row, count, T(1), T(1), cos, sin);
}

/// Writes pairs begin .. begin + count - 1 of a token from the rows of all its axes.
template <class T>
inline void choose_pairs(const RowsTask<T>& task, Index token, Index begin, Index count, T* cos, T* sin) noexcept {
    T of_axis_cos[kPiecePairs], of_axis_sin[kPiecePairs];
    const unsigned char* const axis_of = task.map->axis_of.data() + begin;
    for (Index axis = 0; axis < task.map->axes; ++axis) {
        if (std::find(axis_of, axis_of + count, axis) == axis_of + count) continue;
        write_pairs(task, task.row(token, axis), begin, count, of_axis_cos, of_axis_sin);
        for (Index i = 0; i < count; ++i)
            if (axis_of[i] == axis) {
                cos[i] = of_axis_cos[i];
                sin[i] = of_axis_sin[i];
            }
    }
}

template <class T>
void write_tokens(const RowsTask<T>& task, Index begin, Index end) noexcept {
    const bool has_axes = task.map != nullptr && !task.map->axis_of.empty();
    for (Index t = begin; t < end; ++t) {
        T* const cos = task.to + t * 2 * task.pairs;
        T* const sin = cos + task.pairs;
        if (!has_axes) {
            write_pairs(task, task.row(t, 0), 0, task.pairs, cos, sin);
            continue;
        }
        for (Index i = 0; i < task.pairs; i += kPiecePairs)
            choose_pairs(task, t, i, std::min(kPiecePairs, task.pairs - i), cos + i, sin + i);
    }
}

/// Checks positions on axes, which must be whole and in the table.
inline Status check_rows_of_axes(const AxisPositions& p, const AxisMap& map, Index pairs, const TableShape& table,
                                 Index seq, Index batch) noexcept {
    if (const Status s = check(map, pairs); !s.ok()) return s;
    if (map.is_mixed)
        return invalid("map is mixed; rows of a table are for pairs that follow one axis each (Rows take mixed axes).");
    if (p.is_fractional())
        return invalid(
            "positions are of a type with fractions; a table has rows of whole positions (Rows take fractions).");
    if (const Status s = check_positions("", p, map.axes, seq, batch, kMaxPosition); !s.ok()) return s;
    const Index low = table.first_position, high = low + table.max_positions - 1;
    for (Index axis = 0; axis < map.axes; ++axis)
        for (Index token = 0; token < p.tokens(); ++token)
            if (const Index at = p.at(axis, token).whole; at < low || at > high)
                return out_of_range("positions[{}][{}] is {}; this {} holds positions {} to {}.",
                                    {axis, token, at, table.name, low, high});
    return Status();
}

template <class T>
inline Status check_write_rows(const CosSinRows<T>& table, const Positions& positions, const AxisPositions* of_axes,
                               const AxisMap* map, Index seq, Index batch, const T* to) noexcept {
    if (const Status s = check_tokens(seq, batch); !s.ok()) return s;
    const TableShape shape = shape_of(table);
    if (shape.heads != 0)
        return invalid("the {} has rows for each of {} {head|heads}; rows are written of tables that all heads share.",
                       {shape.name, shape.heads});
    const AnyView written = {"to", nullptr, kNoElements, sizeof(T), {batch, seq, 1, shape.head_dim}, {}};
    if (const Status s = check_table_fits(written, shape, 0); !s.ok()) return s;
    const Status s = of_axes != nullptr ? check_rows_of_axes(*of_axes, *map, table.pairs(), shape, seq, batch)
                                        : check_positions(positions, batch, seq, shape);
    if (!s.ok()) return s;
    const Index most = kMemoryBytes / static_cast<Index>(sizeof(T)) / table.rotary_dim();
    if (clamped_product(seq, batch) > most)
        return invalid("batch * seq is {}; memory holds at most {} {row|rows} of {} {number|numbers}.",
                       {clamped_product(seq, batch), most, table.rotary_dim()});
    if (to == nullptr && seq > 0 && batch > 0)
        return invalid("to is a null pointer; it must have room for {} {number|numbers}.",
                       {seq * batch * table.rotary_dim()});
    return isa_is_chosen() ? Status() : choose_isa();
}

ROPE_DETAIL_END

ROPE_SOURCE_BEGIN

template <class T>
ROPE_API CosSinView<T> write_rows_of(const CosSinRows<T>& table, const Positions& positions,
                                     const AxisPositions* of_axes, const AxisMap* map, Index seq, Index batch, T* to,
                                     const AnyExecutor& executor) {
    ok_or_raise(check_write_rows(table, positions, of_axes, map, seq, batch, to));
    const Index pairs = table.pairs(), tokens = batch * seq;
    const IsaId isa = chosen_isa.load(std::memory_order_relaxed);
    // Both layouts have the same kernel for rows.
    const RotateKernels<T, T, T>& kernels = rotate_kernels<Layout::half_split, T, T, T>(isa, pairs, true);
    const RowsTask<T> task = {kernels, RowsAccess::source(table), positions, of_axes, map, pairs, seq, to};
    execute(executor, even_job(task, &write_tokens<T>, tokens, tokens * 2 * pairs * static_cast<Index>(sizeof(T))));
    return {to, tokens > 0 ? to + pairs : to, seq, pairs, batch, 2 * pairs};
}

ROPE_SOURCE_END
