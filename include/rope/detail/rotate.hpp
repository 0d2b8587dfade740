// SPDX-License-Identifier: MIT
// The walk over a tensor: which row of cos and sin each head gets, and the loop that turns it.
#pragma once

#include <cstring>
#include <type_traits>

#include "../positions.hpp"
#include "../tensor_view.hpp"
#include "../types.hpp"
#include "arithmetic.hpp"

namespace rope {
inline namespace ROPE_VERSION_NAMESPACE {
namespace detail {

/// The rotation of one tensor, as plain data. In and Out are storage types, Compute is the table's type.
template <class In, class Out, class Compute>
struct Task {
    TensorView<const In> in;
    TensorView<Out> out;   // the extents of `in`; the same view, or no element in common
    const Compute* table;  // rows of `pairs` cosines and `pairs` sines
    Index first_position;  // of the table's first row
    Index pairs;
    Index rotary_offset;
    Compute cos_scale;  // what makes the inverse or the transpose of the table's rotation:
    Compute sin_scale;  // (1, 1) forward, (1, -1) transpose, (1/m^2, -1/m^2) inverse
    Positions positions;
};

/// Rows of cos and sin for one token.
template <class Compute>
struct Row {
    const Compute* cos;
    const Compute* sin;
};

/// Where the two features of pair i lie, counted in elements from the first feature of a run of pairs: at i * step
/// and at i * step + distance.
struct PairShape {
    Index step, distance;
};

/// The shape of a layout where features are `stride` apart.
template <Layout layout>
ROPE_ABI constexpr PairShape pair_shape(Index pairs, Index stride = 1) noexcept {
    return layout == Layout::interleaved ? PairShape{2 * stride, stride} : PairShape{stride, pairs * stride};
}

/// Turns `count` pairs of one head: load, rotate, store. x and y are equal or do not meet.
template <class In, class Out, class Compute>
ROPE_ABI inline void rotate_pairs(const In* x, PairShape x_shape, Out* y, PairShape y_shape, Row<Compute> row,
                                  Index count) noexcept {
    ROPE_INDEPENDENT_ITERATIONS
    for (Index i = 0; i < count; ++i) {
        const Pair<Compute> pair = {Element<Compute, In>::load(x + i * x_shape.step),
                                    Element<Compute, In>::load(x + i * x_shape.step + x_shape.distance)};
        const Pair<Compute> turned = rotate(pair, row.cos[i], row.sin[i]);
        Element<Compute, Out>::store(y + i * y_shape.step, turned.a);
        Element<Compute, Out>::store(y + i * y_shape.step + y_shape.distance, turned.b);
    }
}

/// Copies features that do not turn. The same type is copied as bits.
template <class Compute, class In, class Out>
ROPE_ABI inline void copy_features(const In* x, Index x_stride, Out* y, Index y_stride, Index count) noexcept {
    if constexpr (std::is_same_v<In, Out>) {
        if (x_stride == 1 && y_stride == 1) {
            if (count > 0) std::memcpy(y, x, static_cast<std::size_t>(count) * sizeof(In));
        } else {
            for (Index i = 0; i < count; ++i) std::memcpy(y + i * y_stride, x + i * x_stride, sizeof(In));
        }
    } else {
        for (Index i = 0; i < count; ++i)
            Element<Compute, Out>::store(y + i * y_stride, Element<Compute, In>::load(x + i * x_stride));
    }
}

/// Heads first_head .. last_head - 1 of one token.
template <Layout layout, class In, class Out, class Compute>
ROPE_ABI inline void rotate_token(const Task<In, Out, Compute>& task, Index b, Index s, Index first_head,
                                  Index last_head) noexcept {
    const TensorView<const In>& in = task.in;
    const TensorView<Out>& out = task.out;
    const In* const x0 = in.data + b * in.batch_stride + s * in.seq_stride;
    Out* const y0 = out.data + b * out.batch_stride + s * out.seq_stride;
    const Index pairs = task.pairs;
    const Index position = task.positions.at(b, s, in.seq);
    const Compute* const table_row = task.table + (position - task.first_position) * 2 * pairs;

    // A row is used as it stands in the table, or scaled piece by piece into a buffer small enough for the stack.
    constexpr Index kScaledPairs = 128;
    Compute scaled[2 * kScaledPairs];
    const bool scale = task.cos_scale != Compute(1) || task.sin_scale != Compute(1);
    const Index piece = scale ? kScaledPairs : pairs;
    for (Index i = 0; i < pairs; i += piece) {
        const Index count = pairs - i < piece ? pairs - i : piece;
        Row<Compute> row = {table_row + i, table_row + pairs + i};
        if (scale) {
            for (Index k = 0; k < count; ++k) {
                scaled[k] = row.cos[k] * task.cos_scale;
                scaled[kScaledPairs + k] = row.sin[k] * task.sin_scale;
            }
            row = {scaled, scaled + kScaledPairs};
        }
        const PairShape unit = pair_shape<layout>(pairs);
        const Index start = task.rotary_offset + i * unit.step;
        for (Index h = first_head; h < last_head; ++h) {
            const In* const x = x0 + h * in.head_stride + start * in.feature_stride;
            Out* const y = y0 + h * out.head_stride + start * out.feature_stride;
            if (in.feature_stride == 1 && out.feature_stride == 1) {  // constant steps, for the compiler to vectorise
                rotate_pairs(x, unit, y, unit, row, count);
            } else {
                rotate_pairs(x, pair_shape<layout>(pairs, in.feature_stride), y,
                             pair_shape<layout>(pairs, out.feature_stride), row, count);
            }
        }
    }
    const bool in_place = static_cast<const void*>(in.data) == static_cast<const void*>(out.data);
    if (in_place) return;
    for (Index h = first_head; h < last_head; ++h) {
        const In* const x = x0 + h * in.head_stride;
        Out* const y = y0 + h * out.head_stride;
        const Index end = task.rotary_offset + 2 * pairs;
        copy_features<Compute>(x, in.feature_stride, y, out.feature_stride, task.rotary_offset);
        copy_features<Compute>(x + end * in.feature_stride, in.feature_stride, y + end * out.feature_stride,
                               out.feature_stride, in.head_dim - end);
    }
}

/// The heads of a tensor, numbered token by token so that a call can be cut anywhere.
template <class In, class Out, class Compute>
ROPE_ABI inline Index count_heads(const Task<In, Out, Compute>& task) noexcept {
    if (task.in.batch == 0 || task.in.seq == 0) return 0;  // then the others may be anything
    return task.in.heads == 0 ? 0 : task.in.batch * task.in.seq * task.in.heads;
}

/// Turns heads begin .. end - 1 of that numbering. Tokens are walked in the order of the output's memory, so a [seq,
/// batch, ...] buffer streams as well as a [batch, seq, ...] one.
template <Layout layout, class In, class Out, class Compute>
ROPE_ABI inline void rotate_heads(const Task<In, Out, Compute>& task, Index begin, Index end) noexcept {
    const Index heads = task.in.heads;
    const bool batch_outside = magnitude(task.out.batch_stride) >= magnitude(task.out.seq_stride);
    const Index inner = batch_outside ? task.in.seq : task.in.batch;
    while (begin < end) {
        const Index token = begin / heads;
        const Index first_head = begin % heads;
        const Index last_head = end - begin < heads - first_head ? first_head + (end - begin) : heads;
        const Index outer_index = token / inner;
        const Index inner_index = token % inner;
        rotate_token<layout>(task, batch_outside ? outer_index : inner_index, batch_outside ? inner_index : outer_index,
                             first_head, last_head);
        begin += last_head - first_head;
    }
}

}  // namespace detail
}  // namespace ROPE_VERSION_NAMESPACE
}  // namespace rope
