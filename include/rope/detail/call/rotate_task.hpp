// SPDX-License-Identifier: MIT
// A rotation as data: its task, and the slabs of its tensor.
#pragma once

#include "../../cos_sin_rows.hpp"
#include "../../positions.hpp"
#include "../../types.hpp"
#include "../kernels/interface.hpp"
#include "../views/any_view.hpp"
#include "../views/loop_order.hpp"

namespace rope {
inline namespace ROPE_VERSION_NAMESPACE {
namespace detail {

/// A part of a tensor: heads first .. first + heads - 1 of `tokens` tokens, from token s of batch entry b on, along the
/// batch axis or the sequence axis.
struct ROPE_ABI Slab {
    Index b, s, tokens, first, heads;
    bool along_batch;
};

/// Scratch memory for the pairs of rows that are written first.
template <class T>
struct ROPE_ABI RowScratch {
    alignas(64) T cos[kMaxCombinedPairs];
    alignas(64) T sin[kMaxCombinedPairs];
};

/// The rotation of one tensor. In and Out are storage types, T is the table's type. References, because copying views
/// costs more than a small rotation.
template <class In, class Out, class T>
struct ROPE_ABI RotateTask {
    const AnyView& in;
    const AnyView& out;  // same extents as `in`; the same view, or no element in common
    RowSource<T> rows;   // of `pairs` cosines and `pairs` sines
    Index pairs;
    Index rotary_offset;
    const Positions& positions;
    T cos_scale;  // factors of the table's entries:
    T sin_scale;  // (1, 1) forward, (1, -1) transpose, (1/m^2, -1/m^2) inverse
    Layout layout;
    LoopOrder order;
    const RotateKernels<In, Out, T>& kernels;
};

}  // namespace detail
}  // namespace ROPE_VERSION_NAMESPACE
}  // namespace rope
