// SPDX-License-Identifier: MIT
// The loops of a rotation, the same for all instruction sets: a call is cut into slabs, a slab into tokens.
#pragma once

#include <cstddef>

#include "../simd/prefetch.hpp"
#include "../simd/stream_out.hpp"
#include "../views/any_view.hpp"
#include "../views/loop_order.hpp"
#include "columns.hpp"
#include "slab.hpp"

ROPE_DETAIL_BEGIN

/// Copies the features of a token's heads that are not rotated; x and y are its first rotated features.
template <class In, class Out, class T>
ROPE_NOINLINE void copy_unrotated(const Rotation<In, Out, T>& rotation, const HeadsShape& shape, Index heads,
                                  const In* x, Out* y) noexcept {
    const Index x_stride = rotation.x_feature_stride, y_stride = rotation.y_feature_stride;
    const Index before = rotation.before, after = rotation.after, rotated = 2 * shape.pairs;
    for (Index h = 0; h < heads; ++h, x += shape.x_head_stride, y += shape.y_head_stride) {
        if (before > 0)
            copy_features(rotation.kernels, x - before * x_stride, x_stride, y - before * y_stride, y_stride, before);
        if (after > 0)
            copy_features(rotation.kernels, x + rotated * x_stride, x_stride, y + rotated * y_stride, y_stride, after);
    }
}

// ---- Tokens ----

/// The largest head that goes past the caches. This much of the stack is used for it, or for a group of smaller heads.
inline constexpr Index kBypassHeadBytes = 2048;
static_assert(4 * kStreamedGroupBytes <= kBypassHeadBytes, "A group of 16-bit elements may be written as floats.");

/// Rotates whole heads of one token, with their other features, into scratch memory, and writes them from there past the
/// caches: stores into memory that is not in cache read it first.
template <class In, class Out, class T>
ROPE_NOINLINE void rotate_past_caches(const Rotation<In, Out, T>& rotation, const HeadsShape& shape, Index heads,
                                      const In* x, Out* y, const T* cos, const T* sin) noexcept {
    alignas(64) Out scratch[static_cast<std::size_t>(kBypassHeadBytes) / sizeof(Out)];
    const Index before = rotation.before, head_dim = before + 2 * shape.pairs + rotation.after;
    HeadsShape to_scratch = shape;
    to_scratch.y_head_stride = head_dim;
    for (Index h = 0, here; h < heads; h += here) {
        here = rotation.heads_of_group(heads - h);
        const In* const from = x + h * shape.x_head_stride;
        rotation.kernels.rotate(from, scratch + before, cos, sin, to_scratch, here);
        if (rotation.copies) copy_unrotated(rotation, to_scratch, here, from, scratch + before);
        // Prefetch and stores in turn: both wait for the same few buffers of lines under way.
        for (Index k = 0; k < here; ++k) {
            prefetch<4>(from - before + k * shape.x_head_stride, head_dim);
            stream_out(y - before + (h + k) * shape.y_head_stride, scratch + k * head_dim, head_dim);
        }
    }
}

/// Rotates the heads of one token of a call that streams, a few at a time, with software prefetch.
template <bool is_out_of_place, class In, class Out, class T>
ROPE_INLINE void rotate_in_groups(const Rotation<In, Out, T>& rotation, const HeadsShape& shape, Index heads,
                                  const In* x, Out* y, const T* cos, const T* sin) noexcept {
    if constexpr (is_out_of_place && kCanStreamOut)
        if (rotation.bypasses_caches) return rotate_past_caches(rotation, shape, heads, x, y, cos, sin);
    const Index head_dim = rotation.before + 2 * shape.pairs + rotation.after;
    for (Index h = 0, here; h < heads; h += here) {
        here = rotation.heads_of_group(heads - h);
        // By four lines, beside very little work: [8192, 32, 128] takes 1.13 of scale in place of 1.25.
        for (Index k = h; k < h + here; ++k) prefetch<4>(y + k * shape.y_head_stride, head_dim);
        rotation.kernels.rotate(x + h * shape.x_head_stride, y + h * shape.y_head_stride, cos, sin, shape, here);
    }
}

/// Pieces of a head begin at multiples of this, a multiple of the blocks of every instruction set.
inline constexpr Index kPiecePairs = 64;

/// Rotates the heads of one token by row k, which is written first, in pieces that fit into the scratch memory.
template <bool is_out_of_place, class In, class Out, class T>
ROPE_NOINLINE void rotate_by_written_row(const Rotation<In, Out, T>& rotation, const Slab<In, Out>& slab, const In* x,
                                         Out* y, Index k) noexcept {
    RowScratch<T> scratch;  // the largest memory that a call has on the stack, so it is here and not in the caller
    HeadsShape shape = slab.shape;
    Index& pairs = shape.pairs;
    const Index all = pairs;
    for (Index begin = 0; begin < all; begin += pairs) {
        const Index left = all - begin;
        pairs = piece_of(left, kMaxCombinedPairs);
        if (pairs < left) pairs = (pairs + kPiecePairs - 1) / kPiecePairs * kPiecePairs;
        const Row<T> row = pairs_of(rotation, rotation.source, k, all, begin, pairs, scratch.cos, scratch.sin);
        if (rotation.streams())
            rotate_in_groups<is_out_of_place>(rotation, shape, slab.heads, x, y, row.cos, row.sin);
        else
            rotation.kernels.rotate(x, y, row.cos, row.sin, shape, slab.heads);
        x += pairs * shape.x_pair.step;
        y += pairs * shape.y_pair.step;
    }
}

/// The tokens from t on, at most `most`, whose rows are at the constant stride `step`; in a table of split rows, within
/// one coarse row.
template <class T>
ROPE_INLINE Index tokens_of_run(const RowSource<T>& source, const RowNumbers& rows, Index t, Index most,
                                Index& step) noexcept {
    const Index first = rows[t];
    step = most == 1 ? 0 : rows[t + 1] - first;
    if (source.fine != nullptr && step != 0) {
        const Index of_block = Index(1) << source.fine_bits, below = first & (of_block - 1);
        const Index here = (step > 0 ? (of_block - 1 - below) / step : below / -step) + 1;
        if (here < most) most = here;
    }
    if (rows.list == nullptr) return most;
    Index count = 1;
    while (count < most && rows[t + count] == first + count * step) ++count;
    return count;
}

/// Out of place, features that are not rotated are copied after at most so many bytes of rotated tokens, while these
/// are in cache.
inline constexpr Index kCopiedBytes = Index(16) << 10;

/// Rotates tokens of one head each, in runs whose rows are at a constant stride.
template <bool is_out_of_place, class In, class Out, class T>
ROPE_NOINLINE void rotate_single_heads(const Rotation<In, Out, T>& rotation, const Slab<In, Out>& slab) noexcept {
    const Index head_dim = rotation.before + 2 * slab.shape.pairs + rotation.after;
    Index most = slab.tokens;
    if (rotation.copies) most = limited(most, kCopiedBytes, head_dim * static_cast<Index>(sizeof(Out)));
    TokenRun<In, Out, T> run;
    run.x = slab.x;
    run.y = slab.y;
    run.x_token_stride = slab.x_token_stride;
    run.y_token_stride = slab.y_token_stride;
    run.shape = slab.shape;
    run.prefetch_features = rotation.streams() ? head_dim : 0;
    run.prefetch_pairs = rotation.streams() && rotation.source.fine == nullptr ? slab.shape.pairs : 0;
    for (Index t = 0; t < slab.tokens; t += run.tokens) {
        Index step;
        const Index left = slab.tokens - t;
        run.tokens = tokens_of_run(rotation.source, slab.rows, t, left < most ? left : most, step);
        run.row = row_at(rotation.source, slab.rows[t], slab.shape.pairs);
        run.row_stride = step * rotation.source.stride;
        rotation.kernels.rotate_one_head_per_token(run);
        if constexpr (is_out_of_place)
            for (Index i = 0; rotation.copies && i < run.tokens; ++i)
                copy_unrotated(rotation, slab.shape, 1, run.x + i * run.x_token_stride, run.y + i * run.y_token_stride);
        run.x += run.tokens * run.x_token_stride;
        run.y += run.tokens * run.y_token_stride;
    }
}

// ---- Slabs ----

/// Rotates a slab token by token.
template <bool is_out_of_place, class In, class Out, class T>
ROPE_NOINLINE void rotate_slab(const Rotation<In, Out, T>& rotation, const Slab<In, Out>& slab) noexcept {
    if (slab.heads == 1 && rotation.kernels.rotate_one_head_per_token != nullptr && !rotation.is_scaled())
        return rotate_single_heads<is_out_of_place>(rotation, slab);
    const bool is_written = rotation.writes_rows();
    const In* x = slab.x;
    Out* y = slab.y;
    for (Index t = 0; t < slab.tokens; ++t, x += slab.x_token_stride, y += slab.y_token_stride) {
        const Index k = slab.rows[t];
        if (is_written) {
            rotate_by_written_row<is_out_of_place>(rotation, slab, x, y, k);
        } else {
            const Index row = k * rotation.source.stride;  // of a compact table, this product could overflow
            const T* const cos = rotation.source.cos + row;
            const T* const sin = rotation.source.sin + row;
            if (rotation.streams())
                rotate_in_groups<is_out_of_place>(rotation, slab.shape, slab.heads, x, y, cos, sin);
            else
                rotation.kernels.rotate(x, y, cos, sin, slab.shape, slab.heads);
        }
        if constexpr (is_out_of_place)
            if (rotation.copies && !rotation.bypasses_caches) copy_unrotated(rotation, slab.shape, slab.heads, x, y);
    }
}

/// Rotates one slab, by vectors along its features, tokens or heads.
template <bool is_out_of_place, class In, class Out, class T>
ROPE_INLINE void rotate_any(const RotateTask<In, Out, T>& task, Axis token_axis, const Slab<In, Out>& slab) noexcept {
    const Axis lanes = task.order.lanes;
    if (lanes == kHeadAxis || (lanes == token_axis && slab.tokens > 1))
        rotate_columns<is_out_of_place>(task, slab);
    else
        rotate_slab<is_out_of_place>(task.rotation, slab);
}
/// Rotates a slab from head `first` on whose heads have rows of their own.
template <bool is_out_of_place, class In, class Out, class T>
ROPE_NOINLINE void rotate_by_heads(const RotateTask<In, Out, T>& task, Axis token_axis, Index first,
                                   Slab<In, Out> slab) noexcept {
    RotateTask<In, Out, T> of_head = task;
    const Index heads = slab.heads;
    slab.heads = 1;
    for (Index h = 0; h < heads; ++h) {
        of_head.rotation.source = task.rotation.source.of_head(first + h);
        rotate_any<is_out_of_place>(of_head, token_axis, slab);
        slab.x += slab.shape.x_head_stride;
        slab.y += slab.shape.y_head_stride;
    }
}

/// Rotates heads begin .. end - 1 in the numbering of task.order.
template <bool is_out_of_place, class In, class Out, class T>
void rotate_all(const RotateTask<In, Out, T>& task, Index begin, Index end) noexcept {
    if (begin >= end) return;
    HeadIterator walk(task.order, task.in, begin);
    while (begin < end) {
        const Index heads = walk.heads_here(end - begin);
        const Index tokens = walk.tokens_here(end - begin, heads);
        const Slab<In, Out> slab = slab_of(task, walk, tokens, heads);
        if (task.rotation.source.has_heads())
            rotate_by_heads<is_out_of_place>(task, walk.token_axis(), walk.head(), slab);
        else
            rotate_any<is_out_of_place>(task, walk.token_axis(), slab);
        walk.advance(tokens, heads);
        begin += tokens * heads;
    }
    if constexpr (is_out_of_place)
        if (task.rotation.bypasses_caches) finish_streaming_out();
}

ROPE_DETAIL_END
