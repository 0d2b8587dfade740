// SPDX-License-Identifier: MIT
// The rotation for every instruction set of this unit, and the one to call.
#pragma once

#include <cstddef>
#include <cstring>
#include <type_traits>

#include "../cos_sin_rows.hpp"
#include "../isa.hpp"
#include "../positions.hpp"
#include "../tensor_view.hpp"
#include "../types.hpp"
#include "arithmetic.hpp"
#include "job.hpp"
#include "kept_bytes.hpp"
#include "walk.hpp"

namespace rope {
inline namespace ROPE_VERSION_NAMESPACE {
namespace detail {

template <class T>
struct ROPE_ABI Pair {
    T a, b;
};

///     | a' |   | c  -s |   | a |
///     | b' | = | s   c | * | b |      c = m cos(t), s = m sin(t)
///
/// Error of a', u = 2^-24 for float and 2^-53 for double:
///     own_term * u * |a*c| + kOtherTerm * u * |b*s| + half an ulp of the result + half the smallest subnormal,
/// and likewise b' with a and b swapped. The table's own error is included, so |c| and |s| count as at least
/// kSmallEntry * m, as in the table's bound.
ROPE_ABI constexpr double own_term(bool has_fma) noexcept { return has_fma ? 1.01 : 2.01; }
constexpr double kOtherTerm = 2.01;
constexpr double kSmallEntry = 0x1p-10;

/// Where the two features of pair i lie, counted in elements from the first feature that turns: at i * step and at
/// i * step + distance.
struct ROPE_ABI PairShape {
    Index step, distance;
};
ROPE_ABI constexpr PairShape operator*(PairShape shape, Index stride) noexcept {
    return {shape.step * stride, shape.distance * stride};
}

/// The shape of a layout where features are neighbours.
template <Layout layout>
ROPE_ABI constexpr PairShape pair_shape(Index pairs) noexcept {
    return layout == Layout::interleaved ? PairShape{2, 1} : PairShape{1, pairs};
}

/// The rotation of one tensor. In and Out are storage types, T is the table's type. References, because copying views
/// costs more than a small rotation.
template <class In, class Out, class T>
struct ROPE_ABI RotateTask {
    const TensorView<const In>& in;
    const TensorView<Out>& out;  // the extents of `in`; the same view, or no element in common
    RowSource<T> rows;           // of `pairs` cosines and `pairs` sines
    Index pairs;
    Index rotary_offset;
    PairShape shape;  // of the layout
    T cos_scale;      // what makes the inverse or the transpose of the table's rotation:
    T sin_scale;      // (1, 1) forward, (1, -1) transpose, (1/m^2, -1/m^2) inverse
    const Positions& positions;
    Order order;
    bool in_place;
};

/// cos and sin of one token, and what they are multiplied by. If `fine` is not null, they are a coarse row, still to be
/// turned by the fine one: `pairs` cosines and as many sines.
template <class T>
struct ROPE_ABI Row {
    const T* cos;
    const T* sin;
    const T* fine;
    Index pairs;
    T cos_scale, sin_scale;
    bool is_scaled;  // false: both are 1
};

/// cos and sin by pair and lane, for tokens or heads that are worked on at once.
inline constexpr Index kTilePairs = 32;  // 4 KiB of float, 8 KiB of double
template <class T>
struct ROPE_ABI Tile {
    T cos[kTilePairs][kLanes];
    T sin[kTilePairs][kLanes];
};

/// Part of a tensor: heads first .. first + heads - 1 of `tokens` tokens, from token s of batch entry b on, along the
/// axis of batch entries or of tokens.
struct ROPE_ABI Part {
    Index b, s, tokens, first, heads;
    bool along_batch;
};

/// What turns a part.
template <class In, class Out, class T>
using TurnPart = void (*)(const RotateTask<In, Out, T>& task, const Part& part, T* room);

/// Heads begin .. end - 1 in the numbering of task.order, by `turn` unless tokens or heads are neighbours. The same for
/// every instruction set.
template <class In, class Out, class T>
ROPE_NOINLINE void walk_heads(const RotateTask<In, Out, T>& task, Index begin, Index end, TurnPart<In, Out, T> turn,
                              TurnPart<In, Out, T> turn_neighbours) noexcept {
    const Axis lanes = task.order.lanes;
    alignas(64) T room[2 * kMostJoinedPairs];  // for one row, if any is joined
    const TensorView<const In>& in = task.in;
    if (begin == 0 && in.batch == 1 && end == in.seq * in.heads && task.order.inner == kHeadAxis && lanes == kNoAxis)
        return turn(task, {0, 0, in.seq, 0, in.heads, false}, room);  // as nearly every call is
    HeadWalk walk(task.order, in, begin);
    while (begin < end) {
        const Index heads = walk.heads_here(end - begin);
        const Index tokens = walk.tokens_here(end - begin, heads);
        const Part part = {walk.batch(), walk.token(), tokens, walk.head(), heads, walk.token_axis() == kBatchAxis};
        if (lanes == kHeadAxis || (lanes == kSeqAxis && tokens > 1)) {
            const Index at_once = lanes == kSeqAxis ? kLanes : 1;
            for (Index t = 0; t < tokens; t += at_once) {
                Part some = part;
                (some.along_batch ? some.b : some.s) += t;
                some.tokens = tokens - t < at_once ? tokens - t : at_once;
                turn_neighbours(task, some, room);
            }
        } else {
            turn(task, part, room);
        }
        walk.advance(tokens, heads);
        begin += tokens * heads;
    }
}

}  // namespace detail
}  // namespace ROPE_VERSION_NAMESPACE
}  // namespace rope

#define ROPE_FOR_EACH_ISA "../rotate_kernels.hpp"
#include "isa_list.hpp"

namespace rope {
inline namespace ROPE_VERSION_NAMESPACE {
namespace detail {

template <Layout layout, class In, class Out, class T>
ROPE_INLINE Kernel<RotateTask<In, Out, T>> rotate_kernel(IsaId isa) noexcept {
#define ROPE_ISA_ENTRY(name) \
    if (isa == isa_id(#name)) return &name::rotate<layout, In, Out, T>;
#include "isa_list.hpp"
    return &portable::rotate<layout, In, Out, T>;
}

}  // namespace detail
}  // namespace ROPE_VERSION_NAMESPACE
}  // namespace rope
