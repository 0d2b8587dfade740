// SPDX-License-Identifier: MIT
// A rotation as data: the work of a call on one tensor, and slabs, tokens at a constant stride.
#pragma once

#include <cstddef>
#include <cstring>
#include <type_traits>

#include "../../cos_sin_rows.hpp"
#include "../../positions.hpp"
#include "../../types.hpp"
#include "../base/arithmetic.hpp"
#include "../kernels/interface.hpp"
#include "../views/any_view.hpp"
#include "../views/loop_order.hpp"
#include "rotate_call.hpp"

ROPE_DETAIL_BEGIN

/// The row of the table for each token of a slab.
struct RowNumbers {
    Index first, step;            // the row of token 0 and the step from token to token
    const Positions* list;        // if not null, the entry of each token is added
    Index list_begin, list_step;  // the entry of token 0 and the step from token to token; unset without a list

    ROPE_INLINE Index operator[](Index token) const noexcept {
        const Index row = first + token * step;
        return list == nullptr ? row : row + (*list)[list_begin + token * list_step];
    }
};

/// Tokens at a constant stride.
template <class In, class Out>
struct Slab {
    const In* x;  // the first rotated feature of the first head of the first token
    Out* y;
    HeadsShape shape;  // of each token
    Index heads, tokens;
    Index x_token_stride, y_token_stride;
    RowNumbers rows;
};

/// The work of a call on one tensor that is the same for all its slabs. In and Out are storage types, T is the table's
/// type.
template <class In, class Out, class T>
struct Rotation {
    const RotateKernels<In, Out, T>& kernels;
    RowSource<T> source;  // of the rows
    T cos_scale;          // factors of the table's entries:
    T sin_scale;          // (1, 1) forward, (1, -1) transpose, (1/m^2, -1/m^2) inverse
    Index heads_at_once;  // see LoopOrder
    Index x_feature_stride, y_feature_stride;
    Index before, after;   // features of a head that are not rotated
    bool copies;           // whether these are copied
    bool bypasses_caches;  // whether heads are written by stream_out

    ROPE_INLINE bool streams() const noexcept { return heads_at_once != kAllHeads; }
    ROPE_INLINE Index heads_of_group(Index left) const noexcept { return left < heads_at_once ? left : heads_at_once; }
    ROPE_INLINE bool is_scaled() const noexcept { return sin_scale != T(1); }
    /// Whether a row must be written before it is used: scaled, or combined from two.
    ROPE_INLINE bool writes_rows() const noexcept { return is_scaled() || source.fine != nullptr; }
};

/// A rotation in place, of a call that does not stream.
template <class In, class Out, class T>
ROPE_INLINE Rotation<In, Out, T> rotation_of(const CosSinRows<T>& table, Direction direction,
                                             const RotateKernels<In, Out, T>& kernels) noexcept {
    T cos_scale = 1, sin_scale = 1;
    switch (direction) {
        case Direction::forward: break;
        case Direction::transpose: sin_scale = -1; break;
        case Direction::inverse:
            const double m = table.attention_factor();
            cos_scale = static_cast<T>(quotient(1.0, m * m));
            sin_scale = -cos_scale;
    }
    const Index before = table.rotary_offset(), after = table.head_dim() - before - table.rotary_dim();
    return {kernels, RowsAccess::source(table), cos_scale, sin_scale, kAllHeads, 1, 1, before, after, false, false};
}

/// A rotation of a whole tensor. References, because copying views costs more than a small rotation.
template <class In, class Out, class T>
struct RotateTask {
    const AnyView& in;
    const AnyView& out;  // same extents as `in`; the same view, or no element in common
    Rotation<In, Out, T> rotation;
    PairShape pair;  // in features
    Index pairs, rotary_offset;
    const Positions& positions;
    LoopOrder order;
};

/// The rows of tokens from token s of batch entry b on, along the batch axis or the sequence axis.
template <class T>
ROPE_INLINE RowNumbers rows_of(const Positions& p, const RowSource<T>& source, Index seq, Index b, Index s,
                               bool along_batch) noexcept {
    const Index base = b * source.entry - source.first;
    const Index step = along_batch ? source.entry : 0;
    if (p.kind() == Positions::Kind::ids) {
        const bool is_shared = p.count() == seq;
        return {base, step, &p, is_shared ? s : b * seq + s, !along_batch ? 1 : is_shared ? 0 : seq};
    }
    if (p.kind() == Positions::Kind::start_per_entry && along_batch) return {base + s, step, &p, b, 1};
    return {base + p.at(b, s, seq), along_batch ? step : 1, nullptr, 0, 0};
}

/// `tokens` tokens of `heads` heads each, from the place of an iterator on.
template <class In, class Out, class T>
ROPE_INLINE Slab<In, Out> slab_of(const RotateTask<In, Out, T>& task, const HeadIterator& at, Index tokens,
                                  Index heads) noexcept {
    const AnyView &in = task.in, &out = task.out;
    const Axis axis = at.token_axis();
    const auto offset_in = [&](const AnyView& v) {
        return at.batch() * v.strides[kBatchAxis] + at.token() * v.strides[kSeqAxis] +
               at.head() * v.strides[kHeadAxis] + task.rotary_offset * v.strides[kFeatureAxis];
    };
    // Zero where there is only one, which may have any stride.
    const auto token_stride = [&](const AnyView& v) { return tokens == 1 ? 0 : v.strides[axis]; };
    const auto head_stride = [&](const AnyView& v) { return heads == 1 ? 0 : v.strides[kHeadAxis]; };
    return {in.elements<const In>() + offset_in(in),
            out.elements<Out>() + offset_in(out),
            {head_stride(in), head_stride(out), task.pair * in.strides[kFeatureAxis],
             task.pair * out.strides[kFeatureAxis], task.pairs},
            heads,
            tokens,
            token_stride(in),
            token_stride(out),
            rows_of(task.positions, task.rotation.source, in.extents[kSeqAxis], at.batch(), at.token(),
                    axis == kBatchAxis)};
}

// ---- Rows ----

/// Row k as the table has it, perhaps split.
template <class T>
ROPE_INLINE Row<T> row_at(const RowSource<T>& rows, Index k, Index pairs) noexcept {
    const Index coarse = k >> rows.fine_bits;
    const T* fine = rows.fine;
    if (fine != nullptr) fine += (k - (coarse << rows.fine_bits)) * rows.stride;
    return {rows.cos + coarse * rows.stride, rows.sin + coarse * rows.stride, fine, pairs};
}

/// Scratch memory for the pairs of a row that is written first.
template <class T>
struct RowScratch {
    alignas(64) T cos[kMaxCombinedPairs];
    alignas(64) T sin[kMaxCombinedPairs];
};

/// Pairs begin .. begin + count - 1 of row k of `source`, whose rows have `pairs`, ready to multiply: combined or scaled
/// entries are written to `cos` and `sin`.
template <class In, class Out, class T>
ROPE_INLINE Row<T> pairs_of(const Rotation<In, Out, T>& rotation, const RowSource<T>& source, Index k, Index pairs,
                            Index begin, Index count, T* cos, T* sin) noexcept {
    Row<T> row = row_at(source, k, pairs);
    row.cos += begin;
    row.sin += begin;
    if (!rotation.writes_rows()) return row;
    if (row.fine != nullptr) row.fine += begin;
    rotation.kernels.write_row(row, count, rotation.cos_scale, rotation.sin_scale, cos, sin);
    return {cos, sin, nullptr, count};
}

// ---- Features that are not rotated, out of place ----

/// `most`, limited to the number of items of size `of_one` that fit into `room`, but at least one.
ROPE_INLINE Index limited(Index most, Index room, Index of_one) noexcept {
    const Index fit = of_one < room ? room / of_one : 1;
    return fit < most ? fit : most;
}

template <class X>
void copy_bits(const X* x, Index x_stride, X* y, Index y_stride, Index count) noexcept {
    if (x_stride == 1 && y_stride == 1) {
        std::memcpy(y, x, static_cast<std::size_t>(count) * sizeof(X));
        return;
    }
    for (Index i = 0; i < count; ++i) std::memcpy(y + i * y_stride, x + i * x_stride, sizeof(X));
}

template <class In, class Out, class T>
ROPE_INLINE void copy_features(const RotateKernels<In, Out, T>& kernels, const In* x, Index x_stride, Out* y,
                               Index y_stride, Index count) noexcept {
    if constexpr (std::is_same_v<In, Out>)
        copy_bits(x, x_stride, y, y_stride, count);
    else
        kernels.copy(x, x_stride, y, y_stride, count);
}

ROPE_DETAIL_END
