// SPDX-License-Identifier: MIT
// The way of a rotation through its tensor, the same for all instruction sets: a call is cut into parts, and a part
// into runs of tokens whose rows lie at equal steps, or into tiles where tokens or heads are neighbours in memory.
#pragma once

#include "../simd/prefetch.hpp"
#include "../views/any_view.hpp"
#include "../views/loop_order.hpp"
#include "rotate_neighbours.hpp"
#include "rotate_parts.hpp"
#include "rotate_task.hpp"

namespace rope {
inline namespace ROPE_VERSION_NAMESPACE {
namespace detail {

/// The features of a run's tokens that do not turn, out of place.
template <class In, class Out, class T>
ROPE_NOINLINE void copy_rest(const RotateTask<In, Out, T>& task, const Run<In, Out, T>& run) noexcept {
    const Index x_stride = task.in.strides[kFeatureAxis], y_stride = task.out.strides[kFeatureAxis];
    const Index before = task.rotary_offset, turned = 2 * task.pairs;
    const Index after = task.in.extents[kFeatureAxis] - before - turned;
    for (Index t = 0; t < run.tokens; ++t)
        for (Index h = 0; h < run.heads; ++h) {
            const In* const x = run.x + t * run.x_token + h * run.shape.x_head;
            Out* const y = run.y + t * run.y_token + h * run.shape.y_head;
            if (before > 0)
                copy_features(task, x - before * x_stride, x_stride, y - before * y_stride, y_stride, before);
            if (after > 0) copy_features(task, x + turned * x_stride, x_stride, y + turned * y_stride, y_stride, after);
        }
}

// ---- Runs ----

/// Tokens one after the other, and of each all heads or a few at a time.
template <class In, class Out, class T>
ROPE_NOINLINE void turn_run(const RotateKernels<In, Out, T>& kernels, const Run<In, Out, T>& run) noexcept {
    const auto turn_single_heads = kernels.turn_single_heads;
    if (run.heads == 1 && turn_single_heads != nullptr) return turn_single_heads(run);
    const auto turn = run.turn;
    const HeadsShape& shape = run.shape;
    const Index x_token = run.x_token, y_token = run.y_token, to_next = run.to_next;
    const Index heads = run.heads, at_once = run.heads_at_once, ahead = run.ahead;
    const In* x = run.x;
    Out* y = run.y;
    const T* cos = run.row.cos;
    const T* sin = run.row.sin;
    for (Index t = run.tokens;; x += x_token, y += y_token, cos += to_next, sin += to_next) {
        if (at_once == heads && ahead == 0)  // the usual token, without the loop over groups
            turn(x, y, cos, sin, shape, heads);
        else
            for (Index h = 0; h < heads; h += at_once) {
                const Index here = heads - h < at_once ? heads - h : at_once;
                // By four, because it stands beside very little work: [8192, 32, 128] 1.13 of scale in place of 1.25.
                if (ahead > 0)
                    for (Index k = h; k < h + here; ++k) prefetch<4>(y + k * shape.y_head, ahead);
                turn(x + h * shape.x_head, y + h * shape.y_head, cos, sin, shape, here);
            }
        if (--t == 0) return;
    }
}

// ---- Parts ----

/// Pieces of a head begin at multiples of this: blocks of every set fit in.
inline constexpr Index kPiecePairs = 64;

/// The tokens of a run, from token t of its part on, whose rows are written first: for one token, in pieces that there
/// is room for.
template <class In, class Out, class T>
ROPE_NOINLINE void turn_written(Run<In, Out, T> run, const RotateTask<In, Out, T>& task, const Part& part,
                                Index t) noexcept {
    Room<T> room;  // the most that a call has on the stack, so it is here and not in what calls this
    Index& pairs = run.shape.pairs;
    for (Index begin = 0; begin < task.pairs; begin += pairs) {
        const Index left = task.pairs - begin;
        pairs = piece_of(left, kMostJoinedPairs);
        if (pairs < left) pairs = (pairs + kPiecePairs - 1) / kPiecePairs * kPiecePairs;
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

/// A part whose tokens are turned one by one. Not `elsewhere`, output and input are one view.
template <bool elsewhere, class In, class Out, class T>
ROPE_NOINLINE void turn_part(const RotateTask<In, Out, T>& task, const Part& part) noexcept {
    const AnyView& in = task.in;
    const AnyView& out = elsewhere ? task.out : in;
    const Index head_dim = in.extents[kFeatureAxis];
    const Index x_stride = in.strides[kFeatureAxis], y_stride = out.strides[kFeatureAxis];
    const bool single = part.heads == 1 && task.kernels.turn_single_heads != nullptr;
    const bool written = is_scaled(task) || (task.rows.fine != nullptr && !single);
    const bool copied = elsewhere && in.data != out.data && 2 * task.pairs != head_dim;
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
    // What lies ahead is the next head only where whole heads follow one another.
    const bool asks_near =
        task.order.asks_near && task.kernels.turn_asking_near != nullptr && run.shape.x_head == 2 * task.pairs;
    run.turn = asks_near ? task.kernels.turn_asking_near : task.kernels.turn;
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
            turn_written(run, task, part, t);
        }
        if constexpr (elsewhere)
            if (copied) copy_rest(task, run);
        if ((t += run.tokens) == part.tokens) return;
        run.x += run.tokens * run.x_token;
        run.y += run.tokens * run.y_token;
    }
}

/// Heads begin .. end - 1 in the numbering of task.order.
template <bool elsewhere, class In, class Out, class T>
ROPE_ABI void turn_all(const RotateTask<In, Out, T>& task, Index begin, Index end) noexcept {
    if (begin >= end) return;
    const Axis lanes = task.order.lanes;
    const AnyView& in = task.in;
    HeadWalk walk(task.order, in, begin);
    while (begin < end) {
        const Index heads = walk.heads_here(end - begin);
        const Index tokens = walk.tokens_here(end - begin, heads);
        const Part part = {walk.batch(), walk.token(), tokens, walk.head(), heads, walk.token_axis() == kBatchAxis};
        if (lanes == kHeadAxis || (lanes == walk.token_axis() && tokens > 1)) {
            Part some = part;
            for (Index left = tokens; left > 0; left -= some.tokens) {
                some.tokens = lanes == kHeadAxis ? 1 : piece_of(left, kLanes);
                turn_neighbours<elsewhere>(task, some);
                (some.along_batch ? some.b : some.s) += some.tokens;
            }
        } else {
            turn_part<elsewhere>(task, part);
        }
        walk.advance(tokens, heads);
        begin += tokens * heads;
    }
}

}  // namespace detail
}  // namespace ROPE_VERSION_NAMESPACE
}  // namespace rope
