// SPDX-License-Identifier: MIT
// The work of a call, cut into work items for an executor.
#pragma once

#include <type_traits>

#include "../../errors.hpp"
#include "../../types.hpp"
#include "../base/executor.hpp"
#include "../base/raise.hpp"
#include "../kernels/interface.hpp"
#include "../views/any_view.hpp"
#include "../views/loop_order.hpp"

ROPE_DETAIL_BEGIN

/// Heads per work item: whole tokens when there are many, heads when there are few, and never so few that the hand-over
/// costs more than the work.
ROPE_NOINLINE Index heads_per_item(const LoopOrder& order, const AnyView& v) noexcept {
    const Index all = v.extents[kHeadAxis], head_dim = v.extents[kFeatureAxis];
    if (all == 0 || head_dim == 0) return 1;
    const Index heads = kItemBytes / (head_dim * v.element_size) + 1;
    if (order.lanes == kSeqAxis || order.lanes == kBatchAxis) {
        const Index neighbours = piece_of(v.extents[order.lanes], kMinLanes) * all;
        return (heads / neighbours + 1) * neighbours;
    }
    if (order.inner != kHeadAxis) return heads;
    if (heads >= all) return heads / all * all;
    return v.extents[kBatchAxis] * v.extents[kSeqAxis] >= 64 ? all : heads;
}

ROPE_INLINE Index count_items(Index pieces, Index per_item) noexcept {
    return pieces / per_item + (pieces % per_item != 0 ? 1 : 0);
}

/// A task with its kernel, and its work as a range of pieces: heads, tokens, pairs.
template <class Task>
struct Job {
    Task task;
    Kernel<Task> kernel;
    Index pieces;
    Index bytes;     // of all pieces, written or read
    Index per_item;  // pieces of a work item
    Index per_unit;  // pieces that stay together even in the smallest item
};

/// A job whose pieces are all of one size. `per_unit` is all heads of a token, say, if a norm needs them.
template <class Task>
inline Job<Task> even_job(const Task& task, Kernel<Task> kernel, Index pieces, Index bytes,
                          Index per_unit = 1) noexcept {
    const Index of_one = pieces > 0 ? bytes / pieces + 1 : 1;
    return {task, kernel, pieces, bytes, count_items(kItemBytes / of_one + 1, per_unit) * per_unit, per_unit};
}

/// Runs a job's share of work items begin .. end - 1. The job's own items are numbered from `first` on. Returns the
/// number behind its last one, where the next job begins.
template <class Job>
ROPE_NOINLINE Index run_range(const Job& job, Index begin, Index end, Index first, Index per_item) {
    const Index last = first + count_items(job.pieces, per_item);
    if (begin < first) begin = first;
    if (end > last) end = last;
    if (begin >= end) return last;
    const Index end_piece = (end - first) * per_item;
    job.kernel(job.task, (begin - first) * per_item, end_piece < job.pieces ? end_piece : job.pieces);
    return last;
}

/// Whether the executor gets a call.
ROPE_INLINE bool is_cut(Cutting cutting, Index bytes) noexcept {
    return cutting == Cutting::if_large ? bytes >= kSplitBytes : cutting != Cutting::never;
}
template <class Job>
ROPE_INLINE Index pieces_per_item(Cutting cutting, const Job& job) noexcept {
    return cutting == Cutting::by_heads ? job.per_unit : job.per_item;
}

/// Hands all jobs as one range to the executor, cut into work items or into the smallest pieces, as it wants them; on the
/// calling thread if there is no executor, or if the work ends before another thread has begun.
template <class... Jobs>
ROPE_NOINLINE void execute(const AnyExecutor& executor, const Jobs&... jobs) {
    const Cutting cutting = executor.cutting;
    if (!is_cut(cutting, (jobs.bytes + ...))) {
        (jobs.kernel(jobs.task, 0, jobs.pieces), ...);
        return;
    }
    executor((count_items(jobs.pieces, pieces_per_item(cutting, jobs)) + ...), [&](Index begin, Index end) {
        Index first = 0;
        ((first = run_range(jobs, begin, end, first, pieces_per_item(cutting, jobs))), ...);
    });
}

ROPE_DETAIL_END
