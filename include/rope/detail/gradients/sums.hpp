// SPDX-License-Identifier: MIT
// What the loops of gradients share: tensors without their types, outputs, and the cut into work items.
#pragma once

#include <type_traits>

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

/// A tensor of a call, after the conditions that the compiler checks. (After a failed one, some tensor, so that no other
/// sentence follows.)
template <bool is_written, class T, class X>
inline HeadsInMemory tensor_of(X& x) noexcept {
    using View = ViewOf<X>;
    static_assert(!is_no_tensor<X>,
                  "This argument is no tensor that rope knows: pass rope::view(ptr, seq, heads, head_dim), "
                  "rope::view(eigen_matrix, heads), an Eigen Tensor or TensorMap of rank 3 or 4 (with "
                  "<rope/eigen.hpp> included), or specialise rope::ViewTraits for its type.");
    static_assert(has_elements<View>,
                  "Elements must be float, double, rope::half or rope::bfloat16, or a type for which "
                  "rope::ElementTraits names one of these.");
    static_assert(
        has_right_traits<View>,
        "Types of your own may stand for rope::half and rope::bfloat16, which are read as bytes, if they have "
        "their size and are trivially copyable; float and double are read as themselves.");
    static_assert(!is_written || is_writable<View>, "This tensor is written, so its elements must not be const.");
    static_assert(goes_with<View, T>,
                  "double data needs a table of double (CosSinCache<double>); float, half and bfloat16 data one of "
                  "float.");
    if constexpr (is_accepted<View, is_written, T>)
        return in_memory(as_view(x));
    else
        return {};
}

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

    Index units() const noexcept { return heads; }
    void run_units(Index begin, Index end, Index first) const { run_range(*this, begin, end, first, 1); }
    Index items() const noexcept { return count_items(heads, in_item); }
    void run_items(Index begin, Index end, Index first) const { run_range(*this, begin, end, first, in_item); }
};
/// `count` pieces that read `bytes` bytes together; work items have at least some 16 KiB.
template <class Task>
inline GradientJob<Task> gradient_job(const Task& task, Kernel<Task> kernel, Index count, Index bytes) noexcept {
    const Index of_one = count > 0 ? bytes / count + 1 : 1;
    return {task, kernel, count, bytes, Index(16384) / of_one + 1};
}

ROPE_DETAIL_END

#include "../base/restore_macros.hpp"
