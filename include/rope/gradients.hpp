// SPDX-License-Identifier: MIT
// Gradients beyond apply_transpose: of frequencies, positions and factors, and of a norm before the rotation.
#pragma once

#include "axis_map.hpp"
#include "axis_positions.hpp"
#include "cos_sin_rows.hpp"
#include "errors.hpp"
#include "frequencies.hpp"
#include "heads.hpp"
#include "positions.hpp"
#include "tensor_view.hpp"
#include "types.hpp"

#include "detail/base/hide_macros.hpp"

#include "detail/base/executor.hpp"

// The gradient with respect to x is apply_transpose. All others come from y, the rotated numbers, and g, the gradient
// of the loss with respect to them, in two stages:
//
//     one pass over y and g      add_angle_gradients: of the angle of every token and pair, summed over heads
//     sums over tokens or pairs  of the parameters that the angles were made from
//
// Between them stands one number per token and pair, 1 / (2 heads) of y. The second stage is so small that it may run
// once for q and k of all layers that share frequencies, and cutting either of them for threads changes no bit.
//
//     std::vector<double> angles(batch * seq * pairs), dw(pairs), dp(batch * seq);          // zeros
//     const auto of_angles = rope::view(angles, batch, seq, 1, pairs);
//     rope::add_angle_gradients<layout>(q, dq, rows, of_angles);                            // q and k share frequencies,
//     rope::add_angle_gradients<layout>(k, dk, rows, of_angles);                            // and their gradients add up
//     rope::add_frequency_gradients(of_angles, positions, rope::view(dw, 1, 1, pairs));
//     rope::add_position_gradients(of_angles, frequencies, rope::view(dp, 1, batch * seq, 1, 1));
//
// Every output of doubles is ADDED to, so that gradients of several tensors, layers or steps add up: set it to zero
// first. Outputs are views of double with any strides; distinct elements have distinct addresses, and share none with
// another argument. {} leaves out an output that has this default.
//
//     parameter                                    gradient
//     w_i, a frequency of all heads                add_frequency_gradients
//     w_i of each head (rope-vit)                  y and g by slice_heads(h, 1) with the rows of the head; or one call
//                                                  with an output of as many heads, then angles.slice_heads(h, 1)
//     w_(axis, i) of mixed axes                    add_frequency_gradients with the map
//     a_i in w_i = w0_i exp(a_i) (LeRoPE)          dL/dw_i * w_i; so also a log-frequency
//     the base of w_i = base^(-2i/d)               sum over i of dL/dw_i * w_i * -2i / (d * base)
//     a position                                   add_position_gradients
//     the attention factor                         attention_factor_gradient
//     cos and sin themselves                       add_angle_gradients of the numbers before the rotation: see there
//     the weight of a norm before the rotation     pass_backward
//
// Executors, memory, threads and errors are as for apply: no allocation, nothing is written before everything is
// checked; an executor is asked for calls that read at least 1 MiB.

ROPE_BEGIN

// ---- Angles ----

/// Adds, for each token and each pair (a, b) with angle t and magnitude m,
///
///     angles      dL/dt    = sum over heads of  y_a g_b - y_b g_a
///     magnitudes  dL/dln m = sum over heads of  y_a g_a + y_b g_b
///
///   y           the rotated numbers, and
///   g           the gradient with respect to them: [batch, seq, heads, head_dim] each, of types of their own, float,
///               half or bfloat16 with rows of float, double with rows of double
///   rows        those of the rotation, for the slice of the head and the layout; no position is read
///   angles      [batch, seq, n, pairs]: n = 1 sums over all heads; n = heads keeps each; any n that divides heads sums
///               over heads / n successive ones (those of a key head)
///   magnitudes  the same, or {}
///
/// With the numbers BEFORE the rotation for y, these are dL/dsin and dL/dcos of the rows' entries: gradients for tables
/// that are no rotation (FoPE mixes cosines and sines by a matrix for each; see guide/training.md).
///
/// Results      The products are summed in double, each of the two over heads in their order, and subtracted or added at
///              the end: within heads * 2^-52 of the sum of their magnitudes. y is taken as it is: rounded to half or
///              bfloat16, it carries that rounding. The bits do not depend on layout, strides, cut or instruction set.
/// Stack        8 KiB.
template <Layout layout, class Y, class G, class T, class Executor = detail::CallingThread>
ROPE_ABI inline detail::ResultOf<Executor> add_angle_gradients(
    Y&& y, G&& g, const CosSinRows<T>& rows, const TensorView<double>& angles,
    const TensorView<double>& magnitudes = {}, Executor&& executor = {}) noexcept(detail::throws_nothing<Executor>);

/// Whether add_angle_gradients would accept these arguments. Never throws; see Status.
template <Layout layout, class Y, class G, class T, class Executor = detail::CallingThread>
ROPE_ABI inline Status check_angle_gradients(Y&& y, G&& g, const CosSinRows<T>& rows, const TensorView<double>& angles,
                                             const TensorView<double>& magnitudes = {}, Executor&& = {}) noexcept;

/// The layout as a first argument, when it is known only at run time. ({} needs it in angle brackets.)
template <class... Args>
ROPE_ABI inline decltype(auto) add_angle_gradients(Layout layout, Args&&... args);
template <class... Args>
ROPE_ABI inline Status check_angle_gradients(Layout layout, Args&&... args) noexcept;

// ---- Parameters, from angles [batch, seq, n, pairs]. Sums are over all n heads: angles.slice_heads(h, 1) has one. They
//      are made in double, in an order that depends on nothing but the shape, every product rounded: the bits are the
//      same everywhere. ----

/// Adds dL/dw_i = sum over tokens of position * dL/dt to `out`, [1, 1, 1, pairs]. Positions are given as for apply, from
/// -2^52 to 2^52; with a map of several axes, whose positions are then [axes, batch * seq], each pair takes those of its
/// axis, and mixed axes have an `out` of axes * pairs, in the order of Frequencies::inv_freq. Frequencies that were
/// changed by a factor (interpolation) are the changed ones here.
template <class Executor = detail::CallingThread>
ROPE_ABI inline detail::ResultOf<Executor> add_frequency_gradients(
    const TensorView<const double>& angles, PositionsArgument&& positions, const TensorView<double>& out,
    Executor&& executor = {}) noexcept(detail::throws_nothing<Executor>);
template <class Executor = detail::CallingThread>
ROPE_ABI inline detail::ResultOf<Executor> add_frequency_gradients(
    const TensorView<const double>& angles, const AxisPositions& positions, const AxisMap& map,
    const TensorView<double>& out, Executor&& executor = {}) noexcept(detail::throws_nothing<Executor>);
/// Whether add_frequency_gradients would accept these arguments. Never throws; see Status.
ROPE_API Status check_frequency_gradients(const TensorView<const double>& angles, PositionsArgument&& positions,
                                          const TensorView<double>& out) noexcept;
ROPE_API Status check_frequency_gradients(const TensorView<const double>& angles, const AxisPositions& positions,
                                          const AxisMap& map, const TensorView<double>& out) noexcept;

/// Adds dL/dposition = sum over the pairs of an axis of w_i * dL/dt to `out`, [axes, batch * seq, 1, 1], the shape of
/// AxisPositions. Without a map there is one axis. Of the frequencies inv_freq counts; they
/// must have no log_growth (xPos), whose part of this gradient is left out.
template <class Executor = detail::CallingThread>
ROPE_ABI inline detail::ResultOf<Executor> add_position_gradients(
    const TensorView<const double>& angles, const Frequencies& frequencies, const AxisMap& map,
    const TensorView<double>& out, Executor&& executor = {}) noexcept(detail::throws_nothing<Executor>);
template <class Executor = detail::CallingThread>
ROPE_ABI inline detail::ResultOf<Executor> add_position_gradients(
    const TensorView<const double>& angles, const Frequencies& frequencies, const TensorView<double>& out,
    Executor&& executor = {}) noexcept(detail::throws_nothing<Executor>);
/// Whether add_position_gradients would accept these arguments. Never throws; see Status.
ROPE_API Status check_position_gradients(const TensorView<const double>& angles, const Frequencies& frequencies,
                                         const AxisMap& map, const TensorView<double>& out) noexcept;

/// dL/dm = sum of dL/dln m / m of the attention factor m, which all magnitudes contain.
ROPE_API double attention_factor_gradient(const TensorView<const double>& magnitudes, double attention_factor);

// ---- A norm and the rotation ----

/// Rows of dw for so many tokens: one for 16 tokens, so that each is made by one thread.
ROPE_API Index weight_gradient_rows(Index batch, Index seq) noexcept;

/// The way back through  heads(x).rms_norm(w, eps).rotate(): from g, the gradient with respect to the result, those with
/// respect to x and w, in one pass. With n = x r, r = 1 / sqrt(mean(x^2) + eps), and g' the gradient rotated back:
///
///     dw += sum of g' n        dx = r (w g' - n mean(w g' n))        w + 1 for w where the path says adds_one
///
///     const rope::Path path = rope::heads(x).rms_norm(w, 1e-6).rotate();           // to(q), for pass
///     const rope::Index rows = rope::weight_gradient_rows(batch, seq);
///     std::vector<double> by_rows(rows * head_dim), dw(head_dim);                  // zeros
///     rope::pass_backward<layout>(cache, positions, path, dq, dx, rope::view(by_rows, rows, 1, head_dim));
///     rope::add_row_sums(rope::view(by_rows, rows, 1, head_dim), rope::view(dw, 1, 1, head_dim));
///
///   rows, positions  as for pass; without positions these are 0, 1, 2, ...
///   path      rms_norm or l2_norm (whose mean is a sum) over a head, then rotate() or nothing. Its source is x as it
///             was before the pass; its destination is not used. Roundings count as the identity: n is not rounded.
///   g         as the heads of the path, of a type of its own; double with rows of double, and only then
///   dx        written; as g, or g itself, or x itself (the same view), or no element in common with either
///   dw        [1, weight_gradient_rows(batch, seq), heads of w, head_dim], added to, with contiguous features: row r has
///             the sum over tokens 16 r .. 16 r + 15. {} where it is not wanted, or the norm has no weight.
///   executor  may stand before the rows; it gets tokens 16 at a time
///
/// Results      n and g' have the bits of pass and apply_transpose in the table's type. The products and sums that
///              follow are rounded to that type one by one, but the mean is summed in double: dx is within
///              8 u r (|w| R + |n| (mean |w g' n| + R mean |w n|)), u = 2^-24, or 2^-53 in double, where R is the
///              largest m (|g_a| + |g_b|) of a pair, and rounded once more to a narrower type; dw is within
///              8 u R sum |n|. The bits do not depend on strides or cut, and on the instruction set only by the
///              rotation.
/// Stack        40 KiB, 72 KiB in double.
template <Layout layout, class T, class G, class Dx>
ROPE_ABI inline void pass_backward(const CosSinRows<T>& rows, PositionsArgument&& positions, const Path& path, G&& g,
                                   Dx&& dx, const TensorView<double>& dw = {});
template <Layout layout, class T, class G, class Dx>
ROPE_ABI inline void pass_backward(const CosSinRows<T>& rows, const Path& path, G&& g, Dx&& dx,
                                   const TensorView<double>& dw = {});
/// The same with an executor, which cuts the call for threads; <rope/part.hpp> has one for a part of the call.
template <Layout layout, class Executor, class T, class G, class Dx>
ROPE_ABI inline detail::ResultOf<Executor> pass_backward(
    Executor&& executor, const CosSinRows<T>& rows, PositionsArgument&& positions, const Path& path, G&& g, Dx&& dx,
    const TensorView<double>& dw = {}) noexcept(detail::throws_nothing<Executor>);
template <Layout layout, class Executor, class T, class G, class Dx>
ROPE_ABI inline detail::ResultOf<Executor> pass_backward(
    Executor&& executor, const CosSinRows<T>& rows, const Path& path, G&& g, Dx&& dx,
    const TensorView<double>& dw = {}) noexcept(detail::throws_nothing<Executor>);
/// Whether pass_backward would accept these arguments. Never throws; see Status.
template <Layout layout, class T, class G, class Dx>
ROPE_ABI inline Status check_pass_backward(const CosSinRows<T>& rows, PositionsArgument&& positions, const Path& path,
                                           G&& g, Dx&& dx, const TensorView<double>& dw = {}) noexcept;
template <Layout layout, class T, class G, class Dx>
ROPE_ABI inline Status check_pass_backward(const CosSinRows<T>& rows, const Path& path, G&& g, Dx&& dx,
                                           const TensorView<double>& dw = {}) noexcept;

/// With the layout as a first argument, when it is known only at run time; what follows is the same.
template <class... Args>
ROPE_ABI inline decltype(auto) pass_backward(Layout layout, Args&&... args);
template <class... Args>
ROPE_ABI inline Status check_pass_backward(Layout layout, Args&&... args) noexcept;

/// Adds the sum over batch, seq and groups of heads of `rows`, [batch, seq, heads, n], to `out`, [1, 1, groups, n]; the
/// groups divide the heads. For the rows of pass_backward, and for anything else that is summed over tokens.
template <class Executor = detail::CallingThread>
ROPE_ABI inline detail::ResultOf<Executor> add_row_sums(
    const TensorView<const double>& rows, const TensorView<double>& out,
    Executor&& executor = {}) noexcept(detail::throws_nothing<Executor>);
/// Whether add_row_sums would accept these arguments. Never throws; see Status.
ROPE_API Status check_row_sums(const TensorView<const double>& rows, const TensorView<double>& out) noexcept;

ROPE_END

#include "detail/gradients/gradients.hpp"
#if ROPE_HAS_DEFINITIONS
#    include "detail/gradients/angles.hpp"
#    include "detail/gradients/backward.hpp"
#    include "detail/gradients/parameters.hpp"
#endif

#include "detail/base/restore_macros.hpp"
