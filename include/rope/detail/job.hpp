// SPDX-License-Identifier: MIT
// How the work of a call is cut and handed to an executor.
#pragma once

#include "../tensor_view.hpp"
#include "../types.hpp"
#include "walk.hpp"

namespace rope {
inline namespace ROPE_VERSION_NAMESPACE {
namespace detail {

/// The default executor.
struct ROPE_ABI CallingThread {
    template <class F>
    ROPE_ABI void operator()(Index count, F&& f) const {
        f(Index(0), count);
    }
};

/// Calls on less than this are over before another thread has begun.
inline constexpr Index kSplitBytes = Index(1) << 20;

/// How many heads one unit of an executor's count stands for: whole tokens when there are many, heads when there are
/// few, and never so little that handing it over costs more than the work.
template <class T>
ROPE_ABI inline Index heads_per_unit(const Order& order, const TensorView<T>& v) noexcept {
    if (v.heads == 0 || v.head_dim == 0) return 1;
    constexpr Index unit_bytes = 16384;
    if (order.lanes == kSeqAxis) return kLanes * v.heads;
    const Index heads = unit_bytes / (v.head_dim * static_cast<Index>(sizeof(T))) + 1;
    if (order.inner != kHeadAxis) return heads;
    if (heads >= v.heads) return heads / v.heads * v.heads;
    return v.batch * v.seq >= 64 ? v.heads : heads;
}

/// Does heads begin .. end - 1 of a task, in the numbering of its order.
template <class Task>
using Kernel = void (*)(const Task& task, Index begin, Index end);

/// A task with its kernel and its size.
template <class Task>
struct ROPE_ABI Job {
    Task task;
    Kernel<Task> kernel;
    Index heads;  // in all
    Index bytes;  // written

    ROPE_ABI Index units() const noexcept { return units(heads_per_unit(task.order, task.out)); }
    /// Those of the units from `begin` to `end` that belong to this job when its own begin at number `first`.
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

/// An extent beside a zero may be anything.
template <class T>
ROPE_INLINE Index count_heads(const TensorView<T>& v) noexcept {
    return v.batch == 0 || v.seq == 0 || v.heads == 0 || v.head_dim == 0 ? 0 : v.batch * v.seq * v.heads;
}
template <class T>
ROPE_INLINE Index bytes_of(const TensorView<T>& v, Index heads) noexcept {
    return heads == 0 ? 0 : heads * v.head_dim * static_cast<Index>(sizeof(T));
}

/// Hands the units of all jobs as one range to the executor.
template <class Executor, class... Jobs>
ROPE_NOINLINE void execute_in_units(Executor& executor, const Jobs&... jobs) {
    executor((jobs.units() + ...), [&](Index begin, Index end) {
        Index first = 0;
        ((jobs.run_units(begin, end, first), first += jobs.units()), ...);
    });
}

/// The same, unless all is done on the calling thread before another one has begun.
template <class Executor, class... Jobs>
ROPE_INLINE void execute(Executor& executor, const Jobs&... jobs) {
    if ((jobs.bytes + ...) < kSplitBytes) {
        (jobs.kernel(jobs.task, 0, jobs.heads), ...);
        return;
    }
    execute_in_units(executor, jobs...);
}

}  // namespace detail
}  // namespace ROPE_VERSION_NAMESPACE
}  // namespace rope
