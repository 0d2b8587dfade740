// SPDX-License-Identifier: MIT
// Definitions of write_rows.hpp: its calls of the one function that writes.
#pragma once

#include "../../axis_map.hpp"
#include "../../axis_positions.hpp"
#include "../../cos_sin_rows.hpp"
#include "../../positions.hpp"
#include "../../types.hpp"
#include "../../wrapped_rows.hpp"
#include "../../write_rows.hpp"
#include "../base/executor.hpp"
#include "../base/other_calls.hpp"

ROPE_SOURCE_BEGIN

/// Positions are given in one of two ways: if of_axes is null, `positions`; else these, with a map.
template <class T>
ROPE_API CosSinView<T> write_rows_of(const CosSinRows<T>& table, const Positions& positions,
                                     const AxisPositions* of_axes, const AxisMap* map, Index seq, Index batch, T* to,
                                     const AnyExecutor& executor);

ROPE_SOURCE_END

ROPE_DETAIL_BEGIN

template <bool never>
inline void refuse_write_rows() noexcept {
    static_assert(
        never,
        "No function of this name takes these arguments. In this order it takes rows; positions, or AxisPositions "
        "and their AxisMap; seq and batch; a pointer to numbers of the rows' type; and an executor, or "
        "none. " ROPE_SAYS_ROWS);
}

ROPE_DETAIL_END

ROPE_BEGIN

template <class T, class Executor>
ROPE_ABI inline CosSinView<T> write_rows(const CosSinRows<T>& table, PositionsArgument&& positions, Index seq,
                                         Index batch, T* to, Executor&& executor) {
    return detail::write_rows_of(table, positions, nullptr, nullptr, seq, batch, to,
                                 detail::any_executor(detail::only_throwing(executor)));
}
template <class T, class Executor>
ROPE_ABI inline CosSinView<T> write_rows(const CosSinRows<T>& table, const AxisPositions& positions, const AxisMap& map,
                                         Index seq, Index batch, T* to, Executor&& executor) {
    return detail::write_rows_of(table, Positions(), &positions, &map, seq, batch, to,
                                 detail::any_executor(detail::only_throwing(executor)));
}

ROPE_REFUSE_OTHER_CALLS(CosSinView<float>, write_rows, refuse_write_rows)

ROPE_END
