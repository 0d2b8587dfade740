// SPDX-License-Identifier: MIT
// What the loops of gradients share: tensors without their types, outputs, and the cut into work items.
#pragma once

#include "../../cos_sin_rows.hpp"
#include "../../errors.hpp"
#include "../../tensor_view.hpp"
#include "../../types.hpp"
#include "../call/arguments.hpp"
#include "../call/job.hpp"
#include "../paths/places.hpp"
#include "../views/view_arguments.hpp"
#include "../views/view_checks.hpp"

#include "../base/hide_macros.hpp"

ROPE_DETAIL_BEGIN

/// Whether an output is left out: the view that {} makes.
inline bool is_left_out(const TensorView<double>& v) noexcept {
    return v.data == nullptr && v.batch == 0 && v.seq == 0 && v.heads == 0 && v.head_dim == 0;
}

/// Requires an output of [batch, seq, heads, features] whose elements have distinct addresses.
ROPE_COLD Status check_output(const AnyView& out, Index batch, Index seq, Index heads, Index features) noexcept {
    if (const Status s = check_extents(out); !s.ok()) return s;
    const Index* const e = out.extents;
    if (e[0] != batch || e[1] != seq || e[2] != heads || e[3] != features)
        return invalid("{} is [{}, {}, {}, {}]; it must be [{}, {}, {}, {}].",
                       {out.name, e[0], e[1], e[2], e[3], batch, seq, heads, features});
    return check_no_self_overlap(out);
}

/// Requires heads of an output that are each the sum of as many heads of a tensor.
ROPE_COLD Status check_groups(const AnyView& out, const AnyView& of) noexcept {
    const Index groups = out.extents[kHeadAxis], heads = of.extents[kHeadAxis];
    if (groups >= 1 && heads % groups == 0) return Status();
    return invalid("{}.heads is {}; it must be 1 (the sum over all heads) or divide the heads of {} ({}).",
                   {out.name, groups, of.name, heads});
}

ROPE_COLD Status check_shares_nothing(const AnyView& out, const AnyView& other) noexcept {
    if (is_disjoint(out, other)) return Status();
    return invalid("{} and {} may share elements; they must be shown to share none by their strides.",
                   {out.name, other.name});
}

/// The address of an element of a view of doubles.
ROPE_INLINE const double* element(const AnyView& v, Index b, Index s, Index h) noexcept {
    return static_cast<const double*>(v.data) + b * v.strides[0] + s * v.strides[1] + h * v.strides[2];
}
ROPE_INLINE double* written_element(const AnyView& v, Index b, Index s, Index h) noexcept {
    return static_cast<double*>(v.data) + b * v.strides[0] + s * v.strides[1] + h * v.strides[2];
}

/// to += x, where x was rounded before: no compiler fuses or reorders these sums.
ROPE_INLINE void add_rounded(double& to, double x) noexcept { to += hide_from_optimizer(x); }

/// A task that is cut into pieces of equal work. `heads` is their number, as run_range calls it.
template <class Task>
struct GradientJob {
    Task task;
    Kernel<Task> kernel;
    Index heads;
    Index bytes;  // read
    Index in_item;

    Index per_unit() const noexcept { return 1; }
    Index per_item() const noexcept { return in_item; }
};
/// `count` pieces that read `bytes` bytes together; work items have at least some 16 KiB.
template <class Task>
inline GradientJob<Task> gradient_job(const Task& task, Kernel<Task> kernel, Index count, Index bytes) noexcept {
    const Index of_one = count > 0 ? bytes / count + 1 : 1;
    return {task, kernel, count, bytes, Index(16384) / of_one + 1};
}

ROPE_DETAIL_END

#include "../base/restore_macros.hpp"
