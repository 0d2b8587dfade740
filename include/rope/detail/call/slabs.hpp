// SPDX-License-Identifier: MIT
// The slabs of a rotation, and the rows of the table that belong to their tokens.
#pragma once

#include <cstddef>
#include <cstring>
#include <type_traits>

#include "../../positions.hpp"
#include "../../types.hpp"
#include "../views/any_view.hpp"
#include "rotate_task.hpp"

namespace rope {
inline namespace ROPE_VERSION_NAMESPACE {
namespace detail {

/// `most`, limited to the number of items of size `of_one` that fit into `room`, but at least one.
ROPE_INLINE Index limited(Index most, Index room, Index of_one) noexcept {
    const Index fit = of_one < room ? room / of_one : 1;
    return fit < most ? fit : most;
}

/// The first element of a slab; T is the storage type of the tensor.
template <class T>
ROPE_INLINE T* start_of(const AnyView& v, const Slab& slab) noexcept {
    return v.elements<T>() + slab.b * v.strides[kBatchAxis] + slab.s * v.strides[kSeqAxis] +
           slab.first * v.strides[kHeadAxis];
}

/// Strides from token to token and from head to head; zero where there is only one, which may have any stride.
ROPE_INLINE Index token_step(const AnyView& v, const Slab& slab) noexcept {
    return slab.tokens == 1 ? 0 : v.strides[slab.along_batch ? kBatchAxis : kSeqAxis];
}
ROPE_INLINE Index head_step(const AnyView& v, Index heads) noexcept { return heads == 1 ? 0 : v.strides[kHeadAxis]; }

// ---- Rows ----

/// The row of the table for token t.
template <class In, class Out, class T>
ROPE_NOINLINE Index row_number(const RotateTask<In, Out, T>& task, const Slab& slab, Index t) noexcept {
    const Index b = slab.along_batch ? slab.b + t : slab.b;
    const Index s = slab.along_batch ? slab.s : slab.s + t;
    return task.positions.at(b, s, task.in.extents[kSeqAxis]) - task.rows.first + b * task.rows.entry;
}

/// Rows first, first + step, ...
struct ROPE_ABI RowNumbers {
    Index first, step, count;
};

/// Rows of token t and later ones, at most `most`, at a constant stride; in a table of split rows, within one coarse
/// row.
template <class In, class Out, class T>
ROPE_INLINE RowNumbers row_numbers(const RotateTask<In, Out, T>& task, const Slab& slab, Index t, Index most) noexcept {
    RowNumbers rows = {row_number(task, slab, t), 0, 1};
    if (most == 1) return rows;
    rows.step = row_number(task, slab, t + 1) - rows.first;
    if (task.rows.fine != nullptr && rows.step != 0) {
        const Index of_block = Index(1) << task.rows.fine_bits, below = rows.first & (of_block - 1);
        const Index here = (rows.step > 0 ? (of_block - 1 - below) / rows.step : below / -rows.step) + 1;
        if (here < most) most = here;
    }
    const Positions::Kind kind = task.positions.kind();
    if (kind == Positions::Kind::ids || (kind == Positions::Kind::start_per_entry && slab.along_batch)) {
        while (rows.count < most && row_number(task, slab, t + rows.count) == rows.first + rows.count * rows.step)
            ++rows.count;
    } else {
        rows.count = most;
    }
    return rows;
}

/// Row k as the table has it, perhaps split.
template <class In, class Out, class T>
ROPE_INLINE Row<T> row_at(const RotateTask<In, Out, T>& task, Index k) noexcept {
    const RowSource<T>& rows = task.rows;
    const Index coarse = k >> rows.fine_bits;
    const T* fine = rows.fine;
    if (fine != nullptr) fine += (k - (coarse << rows.fine_bits)) * rows.stride;
    const T* const cos = rows.cos + coarse * rows.stride;
    const T* const sin = rows.sin + coarse * rows.stride;
    return {cos, sin, fine, task.pairs};
}

template <class In, class Out, class T>
ROPE_INLINE bool is_scaled(const RotateTask<In, Out, T>& task) noexcept {
    return task.sin_scale != T(1);
}

/// Pairs begin .. begin + count - 1 of row k, ready to multiply: combined or scaled entries are written to `cos` and
/// `sin`.
template <class In, class Out, class T>
ROPE_NOINLINE Row<T> pairs_of(const RotateTask<In, Out, T>& task, Index k, Index begin, Index count, T* cos,
                              T* sin) noexcept {
    Row<T> row = row_at(task, k);
    row.cos += begin;
    row.sin += begin;
    if (row.fine == nullptr && !is_scaled(task)) return row;
    if (row.fine != nullptr) row.fine += begin;
    task.kernels.write_row(row, count, task.cos_scale, task.sin_scale, cos, sin);
    return {cos, sin, nullptr, count};
}

// ---- Features that are not rotated, out of place ----

template <class X>
ROPE_ABI void copy_bits(const X* x, Index x_stride, X* y, Index y_stride, Index count) noexcept {
    if (x_stride == 1 && y_stride == 1) {
        std::memcpy(y, x, static_cast<std::size_t>(count) * sizeof(X));
        return;
    }
    for (Index i = 0; i < count; ++i) std::memcpy(y + i * y_stride, x + i * x_stride, sizeof(X));
}

template <class In, class Out, class T>
ROPE_INLINE void copy_features(const RotateTask<In, Out, T>& task, const In* x, Index x_stride, Out* y, Index y_stride,
                               Index count) noexcept {
    if constexpr (std::is_same_v<In, Out>)
        copy_bits(x, x_stride, y, y_stride, count);
    else
        task.kernels.copy(x, x_stride, y, y_stride, count);
}

}  // namespace detail
}  // namespace ROPE_VERSION_NAMESPACE
}  // namespace rope
