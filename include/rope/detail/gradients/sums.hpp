// SPDX-License-Identifier: MIT
// Helpers of the loops of gradients: checks of outputs, addresses of elements, sums that no compiler reorders.
#pragma once

#include "../../cos_sin_rows.hpp"
#include "../../errors.hpp"
#include "../../tensor_view.hpp"
#include "../../types.hpp"
#include "../call/arguments.hpp"
#include "../call/job.hpp"
#include "../paths/heads_in_memory.hpp"
#include "../views/view_arguments.hpp"
#include "../views/view_checks.hpp"

ROPE_DETAIL_BEGIN

/// Whether an output is left out: the view that {} makes.
inline bool is_left_out(const AnyView& v) noexcept {
    const Index* const e = v.extents;
    return v.data == nullptr && e[0] == 0 && e[1] == 0 && e[2] == 0 && e[3] == 0;
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

/// The address of an element of a view of doubles; not to be written where the view is read.
ROPE_INLINE double* element(const AnyView& v, Index b, Index s, Index h) noexcept {
    return static_cast<double*>(v.data) + b * v.strides[0] + s * v.strides[1] + h * v.strides[2];
}

/// to += x, where x was rounded before: no compiler fuses or reorders these sums.
ROPE_INLINE void add_rounded(double& to, double x) noexcept { to = hide_from_optimizer(to + hide_from_optimizer(x)); }

ROPE_DETAIL_END
