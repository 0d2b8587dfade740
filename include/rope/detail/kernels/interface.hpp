// SPDX-License-Identifier: MIT
// The kernels of an instruction set as pointers, and their arguments: pairs, rows, runs of tokens, tiles.
#pragma once

#include "../../types.hpp"
#include "../views/loop_order.hpp"

ROPE_DETAIL_BEGIN

/// Processes heads begin .. end - 1 of a task, in the numbering of its loop order.
template <class Task>
using Kernel = void (*)(const Task& task, Index begin, Index end);

template <class T>
struct Pair {
    T a, b;
};

///     | a' |   | c  -s |   | a |
///     | b' | = | s   c | * | b |      c = m cos(t), s = m sin(t)
///
/// Error of a', u = 2^-24 for float and 2^-53 for double:
///     own_term * u * |a*c| + kOtherTerm * u * |b*s| + half an ulp of the result + half the smallest subnormal,
/// and likewise b' with a and b swapped. The table's own error is included, so |c| and |s| count as at least
/// kSmallEntry * m, as in the table's bound.
constexpr double own_term(bool has_fma) noexcept { return has_fma ? 1.01 : 2.01; }
constexpr double kOtherTerm = 2.01;
constexpr double kSmallEntry = 0x1p-10;

/// The two features of pair i lie at i * step and at i * step + distance, in elements from the first rotated feature.
struct PairShape {
    Index step, distance;
};
constexpr PairShape operator*(PairShape shape, Index stride) noexcept {
    return {shape.step * stride, shape.distance * stride};
}

/// cos and sin of one token. In a split row (`fine` not null), they are a coarse row, still to be combined with the
/// offset row `fine`: `pairs` cosines and as many sines.
template <class T>
struct Row {
    const T* cos;
    const T* sin;
    const T* fine;
    Index pairs;
};

/// Strides of the heads of a token, and the shapes of their pairs.
struct HeadsShape {
    Index x_head_stride, y_head_stride;  // from head to head
    PairShape x_pair, y_pair;
    Index pairs;  // rotated
};

/// Tokens of one head each at a constant stride, whose rows are at a constant stride, too.
template <class In, class Out, class T>
struct TokenRun {
    const In* x;  // the first rotated feature of the first token
    Out* y;
    Index tokens, x_token_stride, y_token_stride;  // their number, and the strides from one to the next
    HeadsShape shape;
    Row<T> row;        // of the first token
    Index row_stride;  // from row to row; of a split row, from offset row to offset row: all share the coarse one
    Index prefetch_features;  // features of each head to prefetch; 0: none
    Index prefetch_pairs;     // cosines and sines of each row to prefetch
};

/// cos and sin by pair and lane, for tokens or heads that are rotated together.
inline constexpr Index kTilePairs = 8;  // 4 KiB of float, 8 KiB of double
template <class T>
struct Tile {
    T cos[kTilePairs][kLanes];
    T sin[kTilePairs][kLanes];
};

/// The kernels of an instruction set: all code of a call that computes or converts.
template <class In, class Out, class T>
struct RotateKernels {
    /// Rotates heads of one token, the first at x and y, by its cosines and sines.
    void (*rotate)(const In* x, Out* y, const T* cos, const T* sin, const HeadsShape& shape, Index heads) noexcept;
    /// Rotates tokens of one head, whose rows may be split; null if `rotate` serves them.
    void (*rotate_one_head_per_token)(const TokenRun<In, Out, T>& run) noexcept;
    /// Rotates `heads` heads, or groups of heads, of `lanes` contiguous elements: tokens, heads, or both.
    void (*rotate_columns)(const In* x, Out* y, const Tile<T>& tile, const HeadsShape& shape, Index heads,
                           Index lanes) noexcept;
    /// Writes the first `count` pairs of a row, combined if split, times cos_scale and sin_scale.
    void (*write_row)(const Row<T>& row, Index count, T cos_scale, T sin_scale, T* cos, T* sin) noexcept;
    /// Converts `count` features that are not rotated; null for equal types, which copy_bits copies.
    void (*copy)(const In* x, Index x_stride, Out* y, Index y_stride, Index count) noexcept;
};

ROPE_DETAIL_END
