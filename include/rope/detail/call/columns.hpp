// SPDX-License-Identifier: MIT
// Rotates slabs whose tokens or heads are contiguous in the input, the output or both, by vectors along them.
#pragma once

#include <cstring>

#include "../views/any_view.hpp"
#include "../views/loop_order.hpp"
#include "slab.hpp"

ROPE_DETAIL_BEGIN

/// The input or the output of a piece of a slab.
template <class X>
struct Side {
    X* data;                     // the first rotated feature of the first head
    Index token, head, feature;  // strides
    bool is_strided;             // lanes are not contiguous here
};

/// One tile of strided tokens or heads, made contiguous: the first features of its pairs, then the second ones. (Copied
/// as bytes: 16-bit elements may be of the caller's own type.)
template <class X>
struct Transpose {
    static constexpr PairShape kShape = PairShape{1, kTilePairs} * kLanes;
    alignas(64) X at[2 * kTilePairs][kLanes];

    /// Gathers `pairs` pairs of some heads of some tokens, whose first feature is at `first`.
    ROPE_NOINLINE void gather(const X* first, Index head, Index token, PairShape shape, Index heads, Index tokens,
                              Index pairs) noexcept {
        Index lane = 0;
        for (Index h = 0; h < heads; ++h)
            for (Index t = 0; t < tokens; ++t, ++lane) {
                const X* const x = first + h * head + t * token;
                for (Index i = 0; i < pairs; ++i) {
                    std::memcpy(&at[i][lane], x + i * shape.step, sizeof(X));
                    std::memcpy(&at[kTilePairs + i][lane], x + i * shape.step + shape.distance, sizeof(X));
                }
            }
    }
    /// Scatters them back.
    ROPE_NOINLINE void scatter(X* first, Index head, Index token, PairShape shape, Index heads, Index tokens,
                               Index pairs) const noexcept {
        Index lane = 0;
        for (Index h = 0; h < heads; ++h)
            for (Index t = 0; t < tokens; ++t, ++lane) {
                X* const x = first + h * head + t * token;
                for (Index i = 0; i < pairs; ++i) {
                    std::memcpy(x + i * shape.step, &at[i][lane], sizeof(X));
                    std::memcpy(x + i * shape.step + shape.distance, &at[kTilePairs + i][lane], sizeof(X));
                }
            }
    }
};

/// Copies the features that are not rotated.
template <class In, class Out, class T>
ROPE_NOINLINE void copy_columns(const RotateTask<In, Out, T>& task, Index heads, Index tokens, const Side<const In>& in,
                                const Side<Out>& out) noexcept {
    const Index rotated = 2 * task.pairs, count = task.in.extents[kFeatureAxis] - rotated;
    for (Index k = 0; k < count; ++k) {
        const Index i = k < task.rotary_offset ? k - task.rotary_offset : k - task.rotary_offset + rotated;
        const In* const x = in.data + i * in.feature;
        Out* const y = out.data + i * out.feature;
        if (task.order.lanes == kHeadAxis)
            copy_features(task.rotation.kernels, x, in.head, y, out.head, heads);
        else
            for (Index h = 0; h < heads; ++h)
                copy_features(task.rotation.kernels, x + h * in.head, in.token, y + h * out.head, out.token, tokens);
    }
}

/// Rotates `tokens` tokens of a slab from token `begin` on, at most kLanes, or one if heads are contiguous. Lane
/// h * tokens + t is head h of token t: one head, or several where all these lanes are contiguous. In place, lanes are
/// contiguous on both sides; out of place on one at least (see lanes_of), so that one Transpose is on the stack.
template <bool is_out_of_place, class In, class Out, class T>
ROPE_NOINLINE void rotate_column_tile(const RotateTask<In, Out, T>& task, const Slab<In, Out>& slab, Index begin,
                                      Index tokens) noexcept {
    const Axis axis = task.order.lanes;
    const Side<const In> in = {slab.x + begin * slab.x_token_stride, slab.x_token_stride, slab.shape.x_head_stride,
                               task.in.strides[kFeatureAxis], task.in.strides[axis] != 1};
    const Side<Out> out = {slab.y + begin * slab.y_token_stride, slab.y_token_stride, slab.shape.y_head_stride,
                           task.out.strides[kFeatureAxis], task.out.strides[axis] != 1};
    const Index count = slab.heads;
    const bool is_joined = (in.is_strided || in.head == tokens) && (out.is_strided || out.head == tokens);
    const Index heads_at_once = is_joined ? limited(count, kMinLanes, tokens) : 1;
    const PairShape shape = task.pair;
    const PairShape in_shape = shape * in.feature, out_shape = shape * out.feature;

    Tile<T> tile;
    T cos[kTilePairs], sin[kTilePairs];  // for a row that is written first
    for (Index i = 0; i < task.pairs; i += kTilePairs) {
        const Index pairs = task.pairs - i < kTilePairs ? task.pairs - i : kTilePairs;
        for (Index t = 0; t < tokens; ++t) {
            const Row<T> row =
                pairs_of(task.rotation, task.rotation.source, slab.rows[begin + t], task.pairs, i, pairs, cos, sin);
            for (Index k = 0; k < pairs; ++k) {
                const T c = row.cos[k], s = row.sin[k];
                if (tokens == 1) {  // a constant count, for the compiler to vectorise
                    for (Index lane = 0; lane < kMinLanes; ++lane) tile.cos[k][lane] = c;
                    for (Index lane = 0; lane < kMinLanes; ++lane) tile.sin[k][lane] = s;
                } else {
                    for (Index lane = t; lane < tokens * heads_at_once; lane += tokens) {
                        tile.cos[k][lane] = c;
                        tile.sin[k][lane] = s;
                    }
                }
            }
        }
        HeadsShape here = {heads_at_once * in.head, heads_at_once * out.head, in_shape, out_shape, pairs};
        Index heads = heads_at_once;  // in a group
        for (Index h = 0, groups; h < count; h += groups * heads) {
            if (count - h < heads) heads = count - h;
            groups = (count - h) / heads;
            const In* const x = in.data + h * in.head + i * in_shape.step;
            Out* const y = out.data + h * out.head + i * out_shape.step;
            if constexpr (is_out_of_place) {
                if (in.is_strided) {
                    Transpose<In> stage;
                    groups = 1;
                    here.x_pair = Transpose<In>::kShape;
                    stage.gather(x, in.head, in.token, in_shape, heads, tokens, pairs);
                    task.rotation.kernels.rotate_columns(&stage.at[0][0], y, tile, here, 1, tokens * heads);
                    continue;
                }
                if (out.is_strided) {
                    Transpose<Out> stage;
                    groups = 1;
                    here.y_pair = Transpose<Out>::kShape;
                    task.rotation.kernels.rotate_columns(x, &stage.at[0][0], tile, here, 1, tokens * heads);
                    stage.scatter(y, out.head, out.token, out_shape, heads, tokens, pairs);
                    continue;
                }
            }
            task.rotation.kernels.rotate_columns(x, y, tile, here, groups, tokens * heads);
        }
    }
    if constexpr (is_out_of_place)
        if (task.in.data != task.out.data) copy_columns(task, count, tokens, in, out);
}

/// Rotates a slab by vectors along its tokens or its heads.
template <bool is_out_of_place, class In, class Out, class T>
ROPE_INLINE void rotate_columns(const RotateTask<In, Out, T>& task, const Slab<In, Out>& slab) noexcept {
    for (Index t = 0, tokens; t < slab.tokens; t += tokens) {
        tokens = task.order.lanes == kHeadAxis ? 1 : piece_of(slab.tokens - t, kLanes);
        rotate_column_tile<is_out_of_place>(task, slab, t, tokens);
    }
}

ROPE_DETAIL_END
