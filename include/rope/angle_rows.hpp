// SPDX-License-Identifier: MIT
// AngleRows: rows of angles that are data, and of their running sums.
#pragma once

#include <cstdint>
#include <type_traits>

#include "config.hpp"
#include "fwd.hpp"
#include "tensor_view.hpp"
#include "types.hpp"

#include "detail/base/hide_macros.hpp"

#include "detail/base/executor.hpp"
#include "detail/rotary/data_rows.hpp"

ROPE_BEGIN

/// cos and sin of angles that a model computes for each token, as rows of a step. Where each token adds to the angle of the
/// one before (Mamba-3, and other rotations by data), the rows are of running sums:
///
///     rope::AngleRows<float> rows(32, 8);                         // 32 pairs for each of 8 heads
///     rows.build_sums(rope::view(steps, batch, tokens, 8, 32));   // one row for each token; the next chunk goes on
///     rope::apply<rope::Layout::half_split>(q, k, rows);
///     rows.restart();                                             // a new sequence: sums begin at 0
///
/// Angles are in radians, of any element type, finite and below 2^96.
///
/// For apply, the position of a row is its number, as for Rows. Rows that were built for several batch entries are for calls
/// with as many. T is float, for data in float, half and bfloat16, or double, for data in double.
///
/// Accuracy. Each angle is rounded to 2^-128 of a revolution, and sums of these are exact: chunks of any size have the
/// bits of one. The largest error of an entry is 0.501 ulp, plus 2^-124 for each token of a sum. One ulp is the ulp of
/// max(|entry|, 2^-64).
///
/// Gradients. add_angle_gradients adds the gradient of the angle of each head of the call. If several heads share rows, add their
/// gradients. The gradient of a step is the sum of the angle's gradients from its token to the last token.
///
/// Cost. In float some 80 ns for each pair, in double 600. Building allocates only for more tokens, or sums of more
/// batch entries, than ever before. Not copied or moved. Any number of threads may read rows while nobody builds.
template <class T>
class AngleRows : public detail::DataRows<T> {
    using Base = detail::DataRows<T>;

 public:
    ROPE_ABI ~AngleRows() = default;

    /// For `pairs` pairs, and for heads with angles of their own (a call has a multiple of them, see Rows), or 0, where all
    /// heads share them. The slice says where in the head the rotated features lie; by default they are the head. Throws
    /// std::invalid_argument for pairs or heads that are negative or together more than 2^19, no pairs, and a slice
    /// that does not hold them.
    ROPE_ABI explicit AngleRows(Index pairs, Index heads = 0, HeadSlice slice = {}) : Base(pairs, heads, slice) {}

    // The functions below check everything before they write anything: after a refusal the old rows and sums are there.

    /// Rows of these angles, [batch, tokens, heads or 1, pairs]. Throws std::invalid_argument for another shape and an angle
    /// that is not finite or not below 2^96; std::bad_alloc when there is no memory.
    template <class X, class Executor = detail::CallingThread>
    ROPE_ABI void build(const TensorView<X>& angles, Executor&& executor = {}) {
        this->build_of(angles, false, executor);
    }
    /// Rows of running sums: of the angle before, and of this token's step, [batch, tokens, heads or 1, pairs]. They go on
    /// from the last build_sums. Throws as above, and std::invalid_argument when the sums are of another number of batch
    /// entries.
    template <class X, class Executor = detail::CallingThread>
    ROPE_ABI void build_sums(const TensorView<X>& steps, Executor&& executor = {}) {
        this->build_of(steps, true, executor);
    }
    /// restart(): the sums of the next build_sums begin at 0; with use_sums it zeroes the sums that the last build_sums
    /// used, and before any build_sums it does nothing.
    using Base::restart;
    /// use_sums(AngleSum* sums): keeps the sums in the caller's memory from now on, [batch, heads or 1, pairs], and
    /// takes them as it finds them, so zero them first (AngleSum{}); an engine keeps one array for each sequence; null
    /// returns to memory of its own, which begins at 0.
    using Base::use_sums;

    /// The number of rows that are built.
    using Base::rows;
    /// cos_row(Index row) and sin_row(Index row), as Rows has them.
    using Base::cos_row;
    using Base::sin_row;
};

ROPE_END

#if ROPE_HAS_DEFINITIONS
#    include "detail/rotary/build_data_rows.hpp"
#endif

#include "detail/base/restore_macros.hpp"
