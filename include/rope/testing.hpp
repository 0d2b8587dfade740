// SPDX-License-Identifier: MIT
// Checks of any function that rotates, for an engine's own unit tests: each measurement with its bound and its worst
// case, and the classic mistake that explains a failure. No test framework; needs Eigen.
//
//     auto rotate = [&](float* x, rope::Index seq, rope::Index heads, const rope::Index* positions) {
//         my_engine_rope(x, seq, heads, positions);  // in place, [seq, heads, head_dim], contiguous
//     };
//     const rope::testing::Report report =
//         rope::testing::measure(rotate, rope::Layout::half_split, config);
//     if (!report.ok()) std::puts(rope::testing::to_string(report).c_str());
//
// Slow and obvious: a call takes milliseconds. It allocates. Nothing is shared between calls, so any number
// of threads may measure at once. The same Options give the same data with every compiler and standard
// library.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "config.hpp"
#include "errors.hpp"
#include "frequencies.hpp"
#include "types.hpp"

#include "detail/base/hide_macros.hpp"

ROPE_BEGIN
namespace testing {

/// The intended rotation: a Config, or frequencies and the slice of the head that they rotate (by default the head).
/// Some mistakes can only be named when the Config is known. The constructors refuse nothing: check(model, options)
/// below does.
struct Model {
    ROPE_CROSSES(Model)
    /// With frequencies(c, length).
    ROPE_ABI Model(const Config& c, Index length = 0);  // NOLINT(google-explicit-constructor): a Config is a model
    /// The slice says where in the head the 2 * inv_freq.size() rotated features lie.
    ROPE_ABI Model(Frequencies f, HeadSlice s = {});  // NOLINT(google-explicit-constructor)

    Frequencies frequencies;
    HeadSlice slice;
    Config config;
    Index seq_len = 0;  ///< for which the frequencies of the Config were made
    bool has_config = false;
    Status unusable = Status();  ///< why the Config is refused
};

/// The parameters of a measurement. The defaults suit an engine whose table reaches past position 10^6.
struct Options {
    ROPE_CROSSES_AGGREGATE(Options)
    /// Tokens and heads of the measured buffer; 1 .. 4096 each. A diagnosis that concerns angles gains from more heads:
    /// with one, a wrong angle is hard to tell from a wrong element, and bfloat16 shows float32 angles only just.
    Index seq = 16;
    Index heads = 3;
    std::uint64_t seed = 1;
    /// Largest position that the rotation is called with; 1 .. 2^31 - 1.
    Index max_position = 1000000;
    /// One position per token, 0 .. max_position; then `seq` is not read. Empty: 3, max_position, 0, 1, 2 and
    /// others small and large.
    std::vector<Index> positions;
    /// By how much the positions of q and k move together, each at least 1; shifts that would pass max_position are
    /// left out, and the largest that does not is added.
    std::vector<Index> shifts = {1, 64, 1000, 4096, 131071};
    /// The rounding that each result may have, in units of u m (|a| + |b|): u is 2^-24 for float, half and
    /// bfloat16, 2^-53 for double. cos, sin and product rounded once each and the sum once make at most 3. An
    /// engine that computes in bfloat16 itself needs 4 * 2^16. Above 0, at most 2^24.
    double tolerance = 4.0;
    /// How wrong an angle may be, as a part of itself; 0 .. 1. The default asks for angles that belong to the real
    /// formula. 0x1p-51 suits angles in double (double elements show the difference), 0x1p-20 angles in float32, for
    /// engines that follow a model trained with them.
    double angle_epsilon = 0.0;
};

/// Where a worst case lies. -1 where something does not apply.
struct Place {
    ROPE_CROSSES_AGGREGATE(Place)
    Index token = -1, position = -1, head = -1;
    Index feature = -1;    ///< of the head, 0 .. head_dim - 1
    Index pair = -1;       ///< that the feature belongs to; -1 outside the rotated slice
    Index key_token = -1;  ///< scores: the key's token, where `token` is the query's
    Index shift = -1;      ///< scores: by how much the positions moved
};

/// One thing measured. value, bound, expected, got and where belong to the worst case: the one where
/// value / bound is largest.
struct Measurement {
    ROPE_CROSSES_AGGREGATE(Measurement)
    double value = 0.0;    ///< 1e200 stands for a result that is not finite
    double bound = 0.0;    ///< the largest value allowed
    double largest = 0.0;  ///< the largest value anywhere, bounds not considered
    /// value in epsilons (2^-23, 2^-52, 2^-10, 2^-7 for float, double, half, bfloat16) of its scale: m (|a| + |b|) for
    /// features, m^2 (|q_a| + |q_b|) (|k_a| + |k_b|) summed over pairs for scores.
    double epsilons = 0.0;
    double expected = 0.0, got = 0.0;
    Place where;
    bool measured = false;

    /// Whether the worst case is within its bound, or nothing was measured.
    ROPE_ABI bool ok() const noexcept { return !measured || value <= bound; }
};

/// Everything measured. In the bounds, r = (tolerance u + angle_epsilon |t|)(1 + n) + n: t is the angle, n
/// the unit roundoff of a 16-bit element (2^-11 for half, 2^-8 for bfloat16), which rounds each result once
/// more, and otherwise 0.
struct Report {
    ROPE_CROSSES_AGGREGATE(Report)
    /// Rotated features against reference::rotation_matrix. Bound: m (|a| + |b|) (tolerance u + angle_epsilon
    /// |t|), and half an ulp of the result for half and bfloat16 (at most n of it), and the smallest number
    /// of the type. The reference's own error, 3 * 2^-53 + 2^-66 |t| of m (|a| + |b|)
    /// where long double has 64 bits, is added; only double elements see it.
    Measurement dense;
    /// <R(p + s) q, R(p' + s) k> minus the same with s = 0, over pairs of tokens near position 0 (at most 16)
    /// and all shifts s. Bound: 4 sqrt(2) r m^2 (|q_a| + |q_b|) (|k_a| + |k_b|), summed over pairs: two
    /// scores, each with an error in q and in k. Features outside the slice cancel and are left out.
    Measurement scores;
    /// |R x| / (m |x|) minus 1 of each head's rotated slice. Bound: 2 r, since |a| + |b| is at most sqrt(2)
    /// times the norm of the pair.
    Measurement norms;
    /// x, rotated and rotated back, against x; only when the inverse was given. Bound: 3 (r + u) (|a| + |b|):
    /// 2 sqrt(2) r for the two rotations, and the rounding of 1/m. With m so far from 1 that a 16-bit type
    /// overflows or underflows, expect a failure.
    Measurement inverse;
    /// Features outside the slice, and 64 elements before (token -1) and after (token seq) the buffer, whose
    /// bits changed: their number. Bound: 0.
    Measurement outside;
    /// Each token rotated in a call of its own against the same token in the batch. Bound: twice the bound of `dense`,
    /// the largest difference of two right answers. 0 means the same bits.
    Measurement alone;

    /// Name of the classic mistake that explains every wrong value of `dense` or `outside`, from the list in
    /// <rope/detail/testing/hypotheses.hpp>, or "none of the known mistakes", or "not finite". Two names, with "; "
    /// between them, where a part of the heads became zero and the others have a mistake. Empty when both are right.
    std::string mistake;
    /// The same as a sentence.
    std::string diagnosis;
    /// The rotated data: layout, element type, shape, slice, m, positions.
    std::string subject;
    /// False in a Report that no measurement has returned.
    bool complete = false;

    /// Whether the Report is complete, and everything that was measured is within its bound.
    ROPE_ABI bool ok() const noexcept;
};

/// Whether measure(...) can be called with these: a Config or Frequencies that the library's check(...) accepts, and
/// Options as described there. head_dim is at most 4096 here, as the dense matrix has its square.
ROPE_ABI inline Status check(const Model& model, const Options& options) noexcept;

/// Measures a rotation. `rotate(x, seq, heads, positions)` rotates the contiguous [seq, heads, head_dim] buffer at x in
/// place; token i stands at positions[i], from 0 to options.max_position. It is called with the whole batch, with one
/// token at a time and with min(seq, 16) tokens, always with options.heads heads. T is the element type: float, double,
/// half, bfloat16, or one with ElementTraits. x has the alignment that operator new gives.
///
/// Throws std::invalid_argument when check(model, options) is not ok; exceptions of the rotation pass through.
template <class T = float, class Rotate>
ROPE_ABI inline Report measure(Rotate&& rotate, Layout layout, const Model& model, const Options& options = {});

/// The same, and the rotation's own inverse, which is called in the same way.
template <class T = float, class Rotate, class Inverse>
ROPE_ABI inline Report measure(Rotate&& rotate, Inverse&& inverse, Layout layout, const Model& model,
                               const Options& options = {});

/// The report as text of several lines, each with a line break at its end.
ROPE_ABI inline std::string to_string(const Report& report);

}  // namespace testing
ROPE_END

#include "detail/testing/measure.hpp"
#include "detail/testing/report.hpp"

#include "detail/base/restore_macros.hpp"
