// SPDX-License-Identifier: MIT
// The work of a call, cut into work items for an executor.
#pragma once

#include <type_traits>

#include "../../types.hpp"
#include "../base/executor.hpp"
#include "../kernels/interface.hpp"
#include "../views/any_view.hpp"
#include "../views/loop_order.hpp"

namespace rope {
inline namespace ROPE_VERSION_NAMESPACE {
namespace detail {

/// Heads per work item: whole tokens when there are many, heads when there are few, and never so few that the hand-over
/// costs more than the work.
ROPE_NOINLINE Index heads_per_unit(const LoopOrder& order, const AnyView& v) noexcept {
    const Index all = v.extents[kHeadAxis], head_dim = v.extents[kFeatureAxis];
    if (all == 0 || head_dim == 0) return 1;
    constexpr Index unit_bytes = 16384;
    const Index heads = unit_bytes / (head_dim * v.element_size) + 1;
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
struct ROPE_ABI Job {
    Task task;
    Kernel<Task> kernel;
    Index heads;  // in all
    Index bytes;  // written

    ROPE_ABI Index units() const noexcept { return units(heads_per_unit(task.order, task.out)); }
    /// Runs this job's part of work items begin .. end - 1; its own items begin at number `first`.
    ROPE_ABI void run_units(Index begin, Index end, Index first) const {
        const Index heads_in_unit = heads_per_unit(task.order, task.out);
        const Index last = first + units(heads_in_unit);
        if (begin < first) begin = first;
        if (end > last) end = last;
        if (begin >= end) return;
        const Index end_head = (end - first) * heads_in_unit;
        kernel(task, (begin - first) * heads_in_unit, end_head < heads ? end_head : heads);
    }

 private:
    ROPE_ABI Index units(Index heads_in_unit) const noexcept {
        return heads / heads_in_unit + (heads % heads_in_unit != 0 ? 1 : 0);
    }
};

/// Hands the work items of all jobs as one range to the executor.
template <class Executor, class... Jobs>
ROPE_NOINLINE void execute_in_units(Executor& executor, const Jobs&... jobs) {
    executor((jobs.units() + ...), [&](Index begin, Index end) {
        Index first = 0;
        ((jobs.run_units(begin, end, first), first += jobs.units()), ...);
    });
}

/// The same, but on the calling thread if there is no executor, or if the work ends before another thread has begun.
template <class Executor, class... Jobs>
ROPE_INLINE void execute(Executor& executor, const Jobs&... jobs) {
    if constexpr (!std::is_same_v<Executor, CallingThread>)
        if ((jobs.bytes + ...) >= kSplitBytes) return execute_in_units(executor, jobs...);
    (jobs.kernel(jobs.task, 0, jobs.heads), ...);
}

}  // namespace detail
}  // namespace ROPE_VERSION_NAMESPACE
}  // namespace rope
