// SPDX-License-Identifier: MIT
// The way of a rotation through its tensor, the same for all instruction sets: a call is cut into parts, and a part
// into runs of tokens whose rows lie at equal steps, or into tiles where tokens or heads are neighbours in memory.
#pragma once

#include "any_view.hpp"
#include "prefetch.hpp"
#include "rotate_task.hpp"

namespace rope {
inline namespace ROPE_VERSION_NAMESPACE {
namespace detail {

/// Part of a tensor: heads first .. first + heads - 1 of `tokens` tokens, from token s of batch entry b on, along the
/// axis of batch entries or of tokens.
struct ROPE_ABI Part {
    Index b, s, tokens, first, heads;
    bool along_batch;
};

/// Where it begins; T is the tensor's storage type.
template <class T>
ROPE_INLINE T* start_of(const AnyView& v, const Part& part) noexcept {
    return v.elements<T>() + part.b * v.strides[kBatchAxis] + part.s * v.strides[kSeqAxis] +
           part.first * v.strides[kHeadAxis];
}

/// Steps from token to token and from head to head; zero where there is but one, whose stride may be anything.
ROPE_INLINE Index token_step(const AnyView& v, const Part& part) noexcept {
    return part.tokens == 1 ? 0 : v.strides[part.along_batch ? kBatchAxis : kSeqAxis];
}
ROPE_INLINE Index head_step(const AnyView& v, Index heads) noexcept { return heads == 1 ? 0 : v.strides[kHeadAxis]; }

// ---- Rows ----

/// Which row of the table is that of token t.
template <class In, class Out, class T>
ROPE_INLINE Index row_number(const RotateTask<In, Out, T>& task, const Part& part, Index t) noexcept {
    const Index b = part.along_batch ? part.b + t : part.b;
    const Index s = part.along_batch ? part.s : part.s + t;
    return task.positions.at(b, s, task.in.extents[kSeqAxis]) - task.rows.first + b * task.rows.entry;
}

/// Rows first, first + step, ...
struct ROPE_ABI RowNumbers {
    Index first, step, count;
};

/// Those of token t and of those after it, at most `most`, that lie at equal steps; in a table of rows of two, within
/// one coarse row.
template <class In, class Out, class T>
ROPE_INLINE RowNumbers row_numbers(const RotateTask<In, Out, T>& task, const Part& part, Index t, Index most) noexcept {
    RowNumbers rows = {row_number(task, part, t), 0, 1};
    if (most == 1) return rows;
    rows.step = row_number(task, part, t + 1) - rows.first;
    if (task.rows.fine != nullptr && rows.step != 0) {
        const Index of_block = Index(1) << task.rows.fine_bits, below = rows.first & (of_block - 1);
        const Index here = (rows.step > 0 ? (of_block - 1 - below) / rows.step : below / -rows.step) + 1;
        if (here < most) most = here;
    }
    const Positions::Kind kind = task.positions.kind();
    if (kind == Positions::Kind::ids || (kind == Positions::Kind::start_per_entry && part.along_batch)) {
        while (rows.count < most && row_number(task, part, t + rows.count) == rows.first + rows.count * rows.step)
            ++rows.count;
    } else {
        rows.count = most;
    }
    return rows;
}

/// Row k as the table has it.
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

/// Room for pairs of one row.
template <class T>
struct ROPE_ABI Room {
    alignas(64) T cos[kMostJoinedPairs];
    alignas(64) T sin[kMostJoinedPairs];
};

/// Pairs begin .. begin + count - 1 of row k as they multiply: `cos` and `sin` take those of a row of two and what is
/// scaled.
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

// ---- Features that do not turn, out of place ----

/// Those of the tokens of a run.
template <class In, class Out, class T>
ROPE_NOINLINE void copy_rest(const RotateTask<In, Out, T>& task, const Run<In, Out, T>& run) noexcept {
    const Index x_stride = task.in.strides[kFeatureAxis], y_stride = task.out.strides[kFeatureAxis];
    const Index before = task.rotary_offset, turned = 2 * task.pairs;
    const Index after = task.in.extents[kFeatureAxis] - before - turned;
    for (Index t = 0; t < run.tokens; ++t)
        for (Index h = 0; h < run.heads; ++h) {
            const In* const x = run.x + t * run.x_token + h * run.shape.x_head;
            Out* const y = run.y + t * run.y_token + h * run.shape.y_head;
            if (before > 0) task.kernels.copy(x - before * x_stride, x_stride, y - before * y_stride, y_stride, before);
            if (after > 0) task.kernels.copy(x + turned * x_stride, x_stride, y + turned * y_stride, y_stride, after);
        }
}

// ---- Runs ----

/// Tokens one after the other, and of each all heads or a few at a time.
template <class In, class Out, class T>
ROPE_NOINLINE void turn_run(const RotateKernels<In, Out, T>& kernels, const Run<In, Out, T>& run) noexcept {
    const auto turn_single_heads = kernels.turn_single_heads;
    if (run.heads == 1 && turn_single_heads != nullptr) return turn_single_heads(run);
    const HeadsShape& shape = run.shape;
    const Index x_token = run.x_token, y_token = run.y_token, to_next = run.to_next;
    const Index heads = run.heads, at_once = run.heads_at_once, ahead = run.ahead;
    const In* x = run.x;
    Out* y = run.y;
    const T* cos = run.row.cos;
    const T* sin = run.row.sin;
    for (Index t = run.tokens;; x += x_token, y += y_token, cos += to_next, sin += to_next) {
        if (at_once == heads && ahead == 0)  // the usual token, without the loop over groups
            kernels.turn(x, y, cos, sin, shape, heads);
        else
            for (Index h = 0; h < heads; h += at_once) {
                const Index here = heads - h < at_once ? heads - h : at_once;
                if (ahead > 0)
                    for (Index k = h; k < h + here; ++k) prefetch(y + k * shape.y_head, ahead);
                kernels.turn(x + h * shape.x_head, y + h * shape.y_head, cos, sin, shape, here);
            }
        if (--t == 0) return;
    }
}

// ---- Parts ----

/// The tokens of a run, from token t of its part on, whose rows are written first: for one token, in pieces that there
/// is room for. Half of what is left, rather than a last piece that no vector fits.
template <class In, class Out, class T>
ROPE_NOINLINE void turn_written(Run<In, Out, T> run, const RotateTask<In, Out, T>& task, const Part& part, Index t,
                                Room<T>& room) noexcept {
    Index& pairs = run.shape.pairs;
    for (Index begin = 0; begin < task.pairs; begin += pairs) {
        const Index left = task.pairs - begin;
        pairs = left <= kMostJoinedPairs ? left : left < 2 * kMostJoinedPairs ? left / 2 : kMostJoinedPairs;
        for (Index i = 0; i < run.tokens; ++i)
            pairs_of(task, row_number(task, part, t + i), begin, pairs, room.cos + i * pairs, room.sin + i * pairs);
        run.row = {room.cos, room.sin, nullptr, pairs};
        run.to_next = pairs;
        turn_run(task.kernels, run);
        run.x += pairs * run.shape.x_pair.step;
        run.y += pairs * run.shape.y_pair.step;
    }
}

/// Out of place, features that do not turn are copied after no more than this has been turned, while it is at hand.
inline constexpr Index kCopiedBytes = Index(16) << 10;

/// `most`, but at most as many as fit, and at least one.
ROPE_INLINE Index limited(Index most, Index room, Index of_one) noexcept {
    const Index fit = of_one < room ? room / of_one : 1;
    return fit < most ? fit : most;
}

/// A part whose tokens are turned one by one.
template <class In, class Out, class T>
ROPE_NOINLINE void turn_part(const RotateTask<In, Out, T>& task, const Part& part, Room<T>& room) noexcept {
    const AnyView& in = task.in;
    const AnyView& out = task.out;
    const Index head_dim = in.extents[kFeatureAxis];
    const Index x_stride = in.strides[kFeatureAxis], y_stride = out.strides[kFeatureAxis];
    const bool single = part.heads == 1 && task.kernels.turn_single_heads != nullptr;
    const bool written = is_scaled(task) || (task.rows.fine != nullptr && !single);
    const bool copied = !task.in_place && 2 * task.pairs != head_dim;
    const bool streams = task.order.heads_at_once != kAllHeads;
    Index most = part.tokens;  // of a run
    if (written) most = limited(most, kMostJoinedPairs, task.pairs);
    if (copied) most = limited(most, kCopiedBytes, bytes_of(out, part.heads));
    Run<In, Out, T> run;
    run.x = start_of<const In>(in, part) + task.rotary_offset * x_stride;
    run.y = start_of<Out>(out, part) + task.rotary_offset * y_stride;
    run.x_token = token_step(in, part);
    run.y_token = token_step(out, part);
    run.heads = part.heads;
    const PairShape pair = pair_shape(task.layout, task.pairs);
    run.shape = {head_step(in, part.heads), head_step(out, part.heads), pair * x_stride, pair * y_stride, task.pairs};
    run.heads_at_once = task.order.heads_at_once < part.heads ? task.order.heads_at_once : part.heads;
    run.ahead = streams ? head_dim : 0;
    run.rows_ahead = streams && !written && task.rows.fine == nullptr ? task.pairs : 0;
    for (Index t = 0;;) {
        const Index left = part.tokens - t < most ? part.tokens - t : most;
        if (!written) {
            const RowNumbers rows = row_numbers(task, part, t, left);
            run.tokens = rows.count;
            run.row = row_at(task, rows.first);
            run.to_next = rows.step * task.rows.stride;
            turn_run(task.kernels, run);
        } else {
            run.tokens = left;
            run.row = {};  // copied before it is set
            run.to_next = 0;
            turn_written(run, task, part, t, room);
        }
        if (copied) copy_rest(task, run);
        if ((t += run.tokens) == part.tokens) return;
        run.x += run.tokens * run.x_token;
        run.y += run.tokens * run.y_token;
    }
}

/// A part in which tokens or heads are neighbours: at most kLanes tokens, and one if it is the heads.
template <class In, class Out, class T>
ROPE_NOINLINE void turn_neighbours(const RotateTask<In, Out, T>& task, const Part& part, Room<T>& room) noexcept {
    const AnyView& in = task.in;
    const AnyView& out = task.out;
    const In* const x = start_of<const In>(in, part);
    Out* const y = start_of<Out>(out, part);
    const Index x_stride = in.strides[kFeatureAxis], y_stride = out.strides[kFeatureAxis];
    const Index x_head = in.strides[kHeadAxis], y_head = out.strides[kHeadAxis];
    const Index count = part.heads;
    const bool along_heads = task.order.lanes == kHeadAxis;
    const Index lanes = along_heads ? (count < kLanes ? count : kLanes) : part.tokens;  // of the tile
    const Index heads_at_once = along_heads ? lanes : 1;
    const PairShape shape = pair_shape(task.layout, task.pairs), x_shape = shape * x_stride, y_shape = shape * y_stride;

    Tile<T> tile;
    for (Index i = 0; i < task.pairs; i += kTilePairs) {
        const Index pairs = task.pairs - i < kTilePairs ? task.pairs - i : kTilePairs;
        Row<T> row = {};
        for (Index lane = 0; lane < lanes; ++lane) {
            if (lane == 0 || !along_heads)
                row = pairs_of(task, row_number(task, part, lane), i, pairs, room.cos, room.sin);
            for (Index k = 0; k < pairs; ++k) {
                tile.cos[k][lane] = row.cos[k];
                tile.sin[k][lane] = row.sin[k];
            }
        }
        const Index feature = task.rotary_offset + i * shape.step;
        for (Index h = 0; h < count; h += heads_at_once) {
            const Index here = along_heads && count - h < lanes ? count - h : lanes;
            task.kernels.turn_lanes(x + h * x_head + feature * x_stride, x_shape, y + h * y_head + feature * y_stride,
                                    y_shape, tile, here, pairs);
        }
    }
    if (task.in_place) return;
    for (Index i = 0; i < in.extents[kFeatureAxis]; ++i) {
        if (i == task.rotary_offset) i += 2 * task.pairs;
        if (i == in.extents[kFeatureAxis]) break;
        for (Index h = 0; h < count; h += heads_at_once) {
            const Index here = along_heads && count - h < lanes ? count - h : lanes;
            task.kernels.copy(x + h * x_head + i * x_stride, 1, y + h * y_head + i * y_stride, 1, here);
        }
    }
}

/// Heads begin .. end - 1 in the numbering of task.order.
template <class In, class Out, class T>
ROPE_ABI void turn_all(const RotateTask<In, Out, T>& task, Index begin, Index end) noexcept {
    if (begin >= end) return;
    const Axis lanes = task.order.lanes;
    const AnyView& in = task.in;
    Room<T> room;
    HeadWalk walk(task.order, in, begin);
    while (begin < end) {
        const Index heads = walk.heads_here(end - begin);
        const Index tokens = walk.tokens_here(end - begin, heads);
        const Part part = {walk.batch(), walk.token(), tokens, walk.head(), heads, walk.token_axis() == kBatchAxis};
        if (lanes == kHeadAxis || (lanes == kSeqAxis && tokens > 1)) {
            const Index at_once = lanes == kSeqAxis ? kLanes : 1;
            for (Index t = 0; t < tokens; t += at_once) {
                Part some = part;
                (some.along_batch ? some.b : some.s) += t;
                some.tokens = tokens - t < at_once ? tokens - t : at_once;
                turn_neighbours(task, some, room);
            }
        } else {
            turn_part(task, part, room);
        }
        walk.advance(tokens, heads);
        begin += tokens * heads;
    }
}

}  // namespace detail
}  // namespace ROPE_VERSION_NAMESPACE
}  // namespace rope
