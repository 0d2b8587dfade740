// SPDX-License-Identifier: MIT
// The kernels of an instruction set as pointers, and what they are called with: pairs, rows, runs of tokens, tiles.
#pragma once

#include "../../types.hpp"
#include "../views/loop_order.hpp"

namespace rope {
inline namespace ROPE_VERSION_NAMESPACE {
namespace detail {

/// Does heads begin .. end - 1 of a task, in the numbering of its order.
template <class Task>
using Kernel = void (*)(const Task& task, Index begin, Index end);

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
ROPE_ABI constexpr PairShape pair_shape(Layout layout, Index pairs) noexcept {
    return layout == Layout::interleaved ? PairShape{2, 1} : PairShape{1, pairs};
}

/// cos and sin of one token. If `fine` is not null, they are a coarse row, still to be turned by the fine one: `pairs`
/// cosines and as many sines.
template <class T>
struct ROPE_ABI Row {
    const T* cos;
    const T* sin;
    const T* fine;
    Index pairs;
};

/// How the heads of a token lie.
struct ROPE_ABI HeadsShape {
    Index x_head_stride, y_head_stride;  // the steps from one to the next
    PairShape x_pair, y_pair;
    Index pairs;  // that turn
};

template <class In, class Out, class T>
using RotateHeads = void(const In* x, Out* y, const T* cos, const T* sin, const HeadsShape& shape,
                         Index heads) noexcept;

/// Tokens at equal steps whose rows lie at equal steps, too.
template <class In, class Out, class T>
struct ROPE_ABI TokenRun {
    const In* x;  // the first feature that turns, of the first head of the first token
    Out* y;
    Index tokens, x_token_stride, y_token_stride;  // how many, and the steps from one to the next
    Index heads;                                   // of each token
    HeadsShape shape;
    RotateHeads<In, Out, T>* rotate;  // what turns the heads of a token
    Row<T> row;                       // of the first token; one of two only where there is one head
    Index row_stride;  // the step from row to row: of the fine rows if there are any, and cos and sin are those of all
    Index heads_at_once;
    Index prefetch_features;  // how many features of each head are asked for ahead; 0: none
    Index prefetch_pairs;     // how many cosines and sines of each row are, where there is one head
};

/// cos and sin by pair and lane, for tokens or heads that are worked on at once.
inline constexpr Index kTilePairs = 8;  // 4 KiB of float, 8 KiB of double
template <class T>
struct ROPE_ABI Tile {
    T cos[kTilePairs][kLanes];
    T sin[kTilePairs][kLanes];
};

template <class In, class Out, class T>
using RotateOneHeadPerToken = void(const TokenRun<In, Out, T>& run) noexcept;
template <class In, class Out>
using CopyFeatures = void(const In* x, Index x_stride, Out* y, Index y_stride, Index count) noexcept;

/// What an instruction set has for a call: everything that computes or converts.
template <class In, class Out, class T>
struct ROPE_ABI RotateKernels {
    /// Heads of one token, the first at x and y, by its cosines and sines.
    RotateHeads<In, Out, T>* rotate;
    /// The same, asking for memory near ahead; null if `turn` is as fast without.
    RotateHeads<In, Out, T>* rotate_prefetching_near;
    /// Tokens of one head, whose rows may be one of two; null if `turn` does them.
    RotateOneHeadPerToken<In, Out, T>* rotate_one_head_per_token;
    /// `heads` heads, or groups of heads, of `lanes` neighbours in memory: tokens, or heads, or both.
    void (*rotate_columns)(const In* x, Out* y, const Tile<T>& tile, const HeadsShape& shape, Index heads,
                           Index lanes) noexcept;
    /// The first `count` pairs of a row, of two as one, times cos_scale and sin_scale.
    void (*write_row)(const Row<T>& row, Index count, T cos_scale, T sin_scale, T* cos, T* sin) noexcept;
    /// `count` features that do not turn; null for those of one type, which copy_bits copies.
    CopyFeatures<In, Out>* copy;
};

}  // namespace detail
}  // namespace ROPE_VERSION_NAMESPACE
}  // namespace rope
