// SPDX-License-Identifier: MIT
// A call: accepted at once and carried out, or checked in full and handed to the executor.
#pragma once

#include <type_traits>

#include "../../cos_sin_rows.hpp"
#include "../../errors.hpp"
#include "../../positions.hpp"
#include "../../tensor_view.hpp"
#include "../base/executor.hpp"
#include "../kernels/rotate.hpp"
#include "../simd/isa_choice.hpp"
#include "../views/any_view.hpp"
#include "accept.hpp"
#include "arguments.hpp"
#include "explain.hpp"
#include "job.hpp"
#include "loop.hpp"

ROPE_DETAIL_BEGIN

template <Layout layout>
ROPE_INLINE constexpr Capabilities capabilities_of(Direction direction) noexcept {
    const int of_layout = layout == Layout::interleaved ? kInterleaved : kHalfSplit;
    return static_cast<Capabilities>(of_layout | (direction == Direction::inverse ? kInverse : 0));
}

// ---- Accepted calls ----

/// Rotates the tensor of an accepted call. One token is one call of a kernel, without a Rotation: to fill one takes as
/// long as to rotate a head.
template <Layout layout, bool is_out_of_place, class In, class Out, class T>
ROPE_INLINE void rotate_accepted(IsaId isa, Direction direction, const CosSinRows<T>& table,
                                 const Slab<In, Out>& slab) noexcept {
    const RotateKernels<In, Out, T>& kernels = rotate_kernels<layout, In, Out, T>(isa, slab.shape.pairs, true);
    const RowSource<T>& source = RowsAccess::source(table);
    const bool copies = is_out_of_place && 2 * slab.shape.pairs != table.head_dim();
    if (slab.tokens == 1 && direction == Direction::forward && source.fine == nullptr && !copies) {
        const Index row = slab.rows.first * source.stride;  // one token has no list
        return kernels.rotate(slab.x, slab.y, source.cos + row, source.sin + row, slab.shape, slab.heads);
    }
    Rotation<In, Out, T> rotation = rotation_of(table, direction, kernels);
    rotation.copies = copies;
    rotate_slab<is_out_of_place>(rotation, slab);
}

// ---- All other calls ----

/// Whether heads of contiguous features can be written by stream_out.
ROPE_NOINLINE bool can_be_streamed_out(const AnyView& v) noexcept {
    const auto is_whole = [&v](Index elements) { return elements * v.element_size % kStreamedBytes == 0; };
    const Index head_dim = v.extents[kFeatureAxis];
    return kCanStreamOut && reinterpret_cast<std::uintptr_t>(v.data) % std::uintptr_t(kStreamedBytes) == 0 &&
           head_dim * v.element_size <= kBypassHeadBytes && is_whole(head_dim) && is_whole(stride_of(v, kBatchAxis)) &&
           is_whole(stride_of(v, kSeqAxis)) && is_whole(stride_of(v, kHeadAxis));
}

/// The axis along which vectors run: contiguous in both views or, out of place and with at least kMinLanes tokens or
/// batch entries, in one. The feature axis if there is none.
template <bool is_out_of_place>
ROPE_INLINE Axis lanes_of(const AnyView& in, const AnyView& out) noexcept {
    if (in.strides[kFeatureAxis] == 1 && out.strides[kFeatureAxis] == 1) return kFeatureAxis;
    // An axis of one element may have any stride.
    for (const Axis axis : {kSeqAxis, kHeadAxis, kBatchAxis})
        if (in.extents[axis] > 1 && in.strides[axis] == 1 && out.strides[axis] == 1) return axis;
    if constexpr (!is_out_of_place) return kFeatureAxis;
    const bool are_few = in.extents[kSeqAxis] < kMinLanes && in.extents[kBatchAxis] < kMinLanes;
    for (const Axis axis : {kSeqAxis, kBatchAxis})
        if (!are_few && in.extents[axis] > 1 && (in.strides[axis] == 1 || out.strides[axis] == 1)) return axis;
    return kFeatureAxis;
}

template <Layout layout, bool is_out_of_place, class In, class Out, class T>
ROPE_INLINE Job<RotateTask<In, Out, T>> rotate_job(Direction direction, const Positions& positions, IsaId isa,
                                                   const AnyView& in, const AnyView& out,
                                                   const CosSinRows<T>& table) noexcept {
    const Index heads = count_heads(out), pairs = table.pairs(), offset = table.rotary_offset();
    const Index bytes = bytes_of(out);
    const bool exceeds_cache = bytes > kCachedBytes<is_out_of_place>;
    const bool is_contiguous = in.strides[kFeatureAxis] == 1 && out.strides[kFeatureAxis] == 1;
    const bool bypasses_caches =
        is_out_of_place && exceeds_cache && is_contiguous && in.data != out.data && can_be_streamed_out(out);
    // Whole lines may be written in any order, so then the order is that of the source.
    const LoopOrder order = choose_order(bypasses_caches ? in : out, exceeds_cache, lanes_of<is_out_of_place>(in, out));
    Rotation<In, Out, T> rotation =
        rotation_of(table, direction, rotate_kernels<layout, In, Out, T>(isa, pairs, is_contiguous));
    rotation.heads_at_once = order.heads_at_once;
    rotation.x_feature_stride = in.strides[kFeatureAxis];
    rotation.y_feature_stride = out.strides[kFeatureAxis];
    rotation.copies = is_out_of_place && in.data != out.data && 2 * pairs != out.extents[kFeatureAxis];
    rotation.bypasses_caches = bypasses_caches;
    return {{in, out, rotation, pair_shape(layout, pairs), pairs, offset, positions, order},
            &rotate_all<is_out_of_place, In, Out, T>,
            heads,
            bytes,
            heads_per_item(order, out),
            1};
}
template <Layout layout, class A, class Erased>
ROPE_INLINE auto rotate_job(Direction direction, const Positions& positions, IsaId isa, const A& argument,
                            const Erased& views) noexcept {
    return rotate_job<layout, A::kIsOutOfPlace, typename A::In, typename A::Out>(direction, positions, isa, views.in(),
                                                                                 views.out, argument.rows);
}

template <class A, class Erased>
ROPE_INLINE CheckedTensor checked(const A& argument, const Erased& views) noexcept {
    return {views.in(), views.out, shape_of(argument.rows)};
}

/// Checks everything, then hands the tensors, one or two, to the executor.
template <Layout layout, class... A>
ROPE_NOINLINE Status check_and_rotate(Direction direction, const Positions& positions, const AnyExecutor& executor,
                                      const A&... arguments) {
    const auto rotate = [&](const auto&... views) {
        const Status s = explain(positions, capabilities_of<layout>(direction), {checked(arguments, views)...});
        const IsaId isa = chosen_isa.load(std::memory_order_relaxed);
        if (s.ok()) execute(executor, rotate_job<layout>(direction, positions, isa, arguments, views)...);
        return s;
    };
    return rotate(erased(arguments)...);
}

/// The most bytes of a tensor in an accepted call: more go to the executor, or are rotated in the order of memory.
template <bool is_out_of_place>
ROPE_INLINE Index max_accepted_bytes(const AnyExecutor& executor) noexcept {
    return executor.cutting == Cutting::never ? kCachedBytes<is_out_of_place> : kSplitBytes - 1;
}

/// A call on one tensor, and a call on two.
template <Layout layout, class A>
ROPE_INLINE Status rotate(Direction direction, const Positions& positions, const AnyExecutor& executor, const A& x) {
    const IsaId isa = chosen_isa.load(std::memory_order_relaxed);
    const Index most = max_accepted_bytes<A::kIsOutOfPlace>(executor);
    Accepted<typename A::In, typename A::Out> call;
    if (isa == 0 || executor.cutting > Cutting::if_large || !accept(x, layout, direction, positions, most, call))
        return check_and_rotate<layout>(direction, positions, executor, x);
    rotate_accepted<layout, A::kIsOutOfPlace>(isa, direction, x.rows, call.slab);
    return Status();
}
template <Layout layout, class Q, class K>
ROPE_INLINE Status rotate(Direction direction, const Positions& positions, const AnyExecutor& executor, const Q& q,
                          const K& k) {
    const IsaId isa = chosen_isa.load(std::memory_order_relaxed);
    const Index most = max_accepted_bytes<false>(executor);
    Accepted<typename Q::In, typename Q::Out> of_q;
    Accepted<typename K::In, typename K::Out> of_k;
    const bool may_accept = isa != 0 && executor.cutting <= Cutting::if_large;
    if (may_accept && &q.rows == &k.rows && accept_as_one(q, k, layout, direction, positions, most, of_q)) {
        rotate_accepted<layout, false>(isa, direction, q.rows, of_q.slab);
        return Status();
    }
    if (!may_accept || !accept(q, layout, direction, positions, most, of_q) ||
        !accept(k, layout, direction, positions, most, of_k) || !are_accepted_together(of_q, of_k, most) ||
        q.x.seq != k.x.seq)
        return check_and_rotate<layout>(direction, positions, executor, q, k);
    rotate_accepted<layout, false>(isa, direction, q.rows, of_q.slab);
    rotate_accepted<layout, false>(isa, direction, k.rows, of_k.slab);
    return Status();
}

#if ROPE_HAS_DEFINITIONS  // else in rotate_call.hpp
template <Layout layout, class Executor, class... A>
ROPE_INLINE ResultOf<Executor> run(Direction direction, const Positions& positions, Executor& given, const A&... a) {
    expect_executor<Executor>();
    const AnyExecutor executor = executor_of(given);
    if constexpr ((!is_refused<A> && ...))
        return return_or_raise<ResultOf<Executor>>(rotate<layout>(direction, positions, executor, a...));
    else
        return ResultOf<Executor>();
}

/// Whether a call with these arguments would be accepted; with any layout if none is named.
template <Layout... layout, class... A>
ROPE_INLINE Status check_tensors(const Positions& positions, const A&... arguments) noexcept {
    if constexpr ((is_refused<A> || ...)) {
        return Status();
    } else {
        constexpr int uses = (0 | ... | capabilities_of<layout>(Direction::forward));
        return [&](const auto&... views) {
            return explain(positions, static_cast<Capabilities>(uses), {checked(arguments, views)...});
        }(erased(arguments)...);
    }
}
#endif

ROPE_DETAIL_END
