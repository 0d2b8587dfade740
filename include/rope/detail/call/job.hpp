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

ROPE_INLINE Index count_items(Index heads, Index heads_in_item) noexcept {
    return heads / heads_in_item + (heads % heads_in_item != 0 ? 1 : 0);
}

/// A task with its kernel and its size.
template <class Task>
struct Job {
    Task task;
    Kernel<Task> kernel;
    Index heads;  // in all
    Index bytes;  // written

    Index per_unit() const noexcept { return 1; }  // heads in the smallest piece
    Index per_item() const noexcept { return heads_per_item(task.order, task.out); }
};

/// Runs a job's share of work items begin .. end - 1. The job's own items are numbered from `first` on. Returns the
/// number behind its last one, where the next job begins.
template <class Job>
ROPE_NOINLINE Index run_range(const Job& job, Index begin, Index end, Index first, Index heads_in_item) {
    const Index last = first + count_items(job.heads, heads_in_item);
    if (begin < first) begin = first;
    if (end > last) end = last;
    if (begin >= end) return last;
    const Index end_head = (end - first) * heads_in_item;
    job.kernel(job.task, (begin - first) * heads_in_item, end_head < job.heads ? end_head : job.heads);
    return last;
}

/// Hands all jobs as one range to the executor, cut into work items or, if it is fine, into the smallest pieces.
template <bool is_fine, class Executor, class... Jobs>
ROPE_NOINLINE void execute_cut(Executor& executor, const Jobs&... jobs) {
    const auto size = [](const auto& job) { return is_fine ? job.per_unit() : job.per_item(); };
    hand_over(executor, (count_items(jobs.heads, size(jobs)) + ...), [&](Index begin, Index end) {
        Index first = 0;
        ((first = run_range(jobs, begin, end, first, size(jobs))), ...);
    });
}

/// As the executor wants it; on the calling thread if there is none, or if the work ends before another thread has begun.
template <class Given, class... Jobs>
ROPE_INLINE void execute(Given& given, const Jobs&... jobs) {
    auto& executor = NoThrowAccess::inner(given);
    constexpr Cutting cutting = cutting_of<std::remove_const_t<InnerOf<Given>>>;
    if constexpr (cutting == Cutting::by_heads || cutting == Cutting::always) {
        execute_cut<cutting == Cutting::by_heads>(executor, jobs...);
    } else {
        if constexpr (cutting == Cutting::if_large)
            if ((jobs.bytes + ...) >= kSplitBytes) return execute_cut<false>(executor, jobs...);
        (jobs.kernel(jobs.task, 0, jobs.heads), ...);
    }
}

ROPE_DETAIL_END
