// SPDX-License-Identifier: MIT
// The work of a call, cut into work items for an executor.
#pragma once

#include <type_traits>

#include "../../types.hpp"
#include "../base/executor.hpp"
#include "../kernels/interface.hpp"
#include "../views/any_view.hpp"
#include "../views/loop_order.hpp"

ROPE_DETAIL_BEGIN

/// Heads per work item: whole tokens when there are many, heads when there are few, and never so few that the hand-over
/// costs more than the work.
ROPE_NOINLINE Index heads_per_item(const LoopOrder& order, const AnyView& v) noexcept {
    const Index all = v.extents[kHeadAxis], head_dim = v.extents[kFeatureAxis];
    if (all == 0 || head_dim == 0) return 1;
    constexpr Index item_bytes = 16384;
    const Index heads = item_bytes / (head_dim * v.element_size) + 1;
    if (order.lanes == kSeqAxis || order.lanes == kBatchAxis) {
        const Index neighbours = piece_of(v.extents[order.lanes], kMinLanes) * all;
        return (heads / neighbours + 1) * neighbours;
    }
    if (order.inner != kHeadAxis) return heads;
    if (heads >= all) return heads / all * all;
    return v.extents[kBatchAxis] * v.extents[kSeqAxis] >= 64 ? all : heads;
}

/// A task with its kernel and its size.
template <class Task>
struct Job {
    Task task;
    Kernel<Task> kernel;
    Index heads;  // in all
    Index bytes;  // written

    Index items() const noexcept { return items(heads_per_item(task.order, task.out)); }
    /// Runs this job's part of work items begin .. end - 1; its own items begin at number `first`.
    void run_items(Index begin, Index end, Index first) const {
        const Index heads_in_item = heads_per_item(task.order, task.out);
        const Index last = first + items(heads_in_item);
        if (begin < first) begin = first;
        if (end > last) end = last;
        if (begin >= end) return;
        const Index end_head = (end - first) * heads_in_item;
        kernel(task, (begin - first) * heads_in_item, end_head < heads ? end_head : heads);
    }

 private:
    Index items(Index heads_in_item) const noexcept {
        return heads / heads_in_item + (heads % heads_in_item != 0 ? 1 : 0);
    }
};

/// Hands the work items of all jobs as one range to the executor.
template <class Executor, class... Jobs>
ROPE_NOINLINE void execute_in_items(Executor& executor, const Jobs&... jobs) {
    executor((jobs.items() + ...), [&](Index begin, Index end) {
        Index first = 0;
        ((jobs.run_items(begin, end, first), first += jobs.items()), ...);
    });
}

/// The same, but on the calling thread if there is no executor, or if the work ends before another thread has begun.
template <class Executor, class... Jobs>
ROPE_INLINE void execute(Executor& executor, const Jobs&... jobs) {
    if constexpr (!std::is_same_v<Executor, CallingThread>)
        if ((jobs.bytes + ...) >= kSplitBytes) return execute_in_items(executor, jobs...);
    (jobs.kernel(jobs.task, 0, jobs.heads), ...);
}

ROPE_DETAIL_END
