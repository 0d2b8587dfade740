// SPDX-License-Identifier: MIT
// Definitions of gradients.hpp: the stages of angles.hpp, parameters.hpp and backward.hpp for tensors of any type.
#pragma once

#include <utility>

#include "../../axis_map.hpp"
#include "../../axis_positions.hpp"
#include "../../cos_sin_rows.hpp"
#include "../../errors.hpp"
#include "../../frequencies.hpp"
#include "../../gradients.hpp"
#include "../../heads.hpp"
#include "../../positions.hpp"
#include "../../tensor_view.hpp"
#include "../../types.hpp"
#include "../base/executor.hpp"
#include "../base/other_calls.hpp"
#include "angles.hpp"
#include "backward.hpp"
#include "parameters.hpp"

ROPE_DETAIL_BEGIN

template <bool never>
inline void refuse_angle_gradients() noexcept {
    static_assert(
        never,
        "No function of this name takes these arguments. In this order it takes y and g, [batch, seq, heads, "
        "head_dim]; their rows; angles and magnitudes, views of double, the latter or none; and an executor, or "
        "none. " ROPE_SAYS_ROWS);
}
template <bool never>
inline void refuse_pass_backward() noexcept {
    static_assert(
        never,
        "No function of this name takes these arguments. In this order it takes an executor, or none; rows; "
        "positions, or none for 0, 1, 2, ...; a path, rope::heads(x) with steps; g and dx, as its heads; and dw, "
        "a view of double, or none. " ROPE_SAYS_ROWS);
}

ROPE_DETAIL_END

ROPE_BEGIN

template <Layout layout, class Y, class G, class T, class Executor>
ROPE_ABI inline detail::ResultOf<Executor> add_angle_gradients(
    Y&& y, G&& g, const CosSinRows<T>& rows, const TensorView<double>& angles, const TensorView<double>& magnitudes,
    Executor&& executor) noexcept(detail::throws_nothing<Executor>) {
    const detail::AngleCall call = {detail::tensor_of<false, T>(y), detail::tensor_of<false, T>(g),
                                    detail::doubles_of("angles", angles), detail::doubles_of("magnitudes", magnitudes)};
    return detail::return_or_raise<detail::ResultOf<Executor>>(
        detail::run_angles<layout>(detail::executor_of(executor), call, rows));
}

ROPE_REFUSE_OTHER_CALLS_WITH_LAYOUT(void, add_angle_gradients, refuse_angle_gradients)
ROPE_REFUSE_OTHER_CALLS_WITH_LAYOUT(Status, check_angle_gradients, refuse_angle_gradients)

template <Layout layout, class Y, class G, class T, class Executor>
ROPE_ABI inline Status check_angle_gradients(Y&& y, G&& g, const CosSinRows<T>& rows, const TensorView<double>& angles,
                                             const TensorView<double>& magnitudes, Executor&&) noexcept {
    const detail::AngleCall call = {detail::tensor_of<false, T>(y), detail::tensor_of<false, T>(g),
                                    detail::doubles_of("angles", angles), detail::doubles_of("magnitudes", magnitudes)};
    return detail::check_angle_call<layout>(call, rows);
}

ROPE_WITH_RUN_TIME_LAYOUT(add_angle_gradients)
ROPE_CHECK_WITH_RUN_TIME_LAYOUT(check_angle_gradients)

template <class Executor>
ROPE_ABI inline detail::ResultOf<Executor> add_frequency_gradients(
    const TensorView<const double>& angles, PositionsArgument&& positions, const TensorView<double>& out,
    Executor&& executor) noexcept(detail::throws_nothing<Executor>) {
    const Positions& given = positions;
    const detail::AnyView rows = detail::doubles_of("angles", angles), to = detail::doubles_of("out", out);
    const Status s = detail::check_frequency_call(rows, given, AxisMap(), to);
    if (s.ok()) detail::run_token_sums(detail::executor_of(executor), rows, given, AxisMap(), to);
    return detail::return_or_raise<detail::ResultOf<Executor>>(s);
}

template <class Executor>
ROPE_ABI inline detail::ResultOf<Executor> add_frequency_gradients(
    const TensorView<const double>& angles, const AxisPositions& positions, const AxisMap& map,
    const TensorView<double>& out, Executor&& executor) noexcept(detail::throws_nothing<Executor>) {
    const detail::AnyView rows = detail::doubles_of("angles", angles), to = detail::doubles_of("out", out);
    const Status s = detail::check_frequency_call(rows, positions, map, to);
    if (s.ok()) detail::run_token_sums(detail::executor_of(executor), rows, positions, map, to);
    return detail::return_or_raise<detail::ResultOf<Executor>>(s);
}

ROPE_ABI inline Status check_frequency_gradients(const TensorView<const double>& angles, PositionsArgument&& positions,
                                                 const TensorView<double>& out) noexcept {
    const Positions& given = positions;
    return detail::check_frequency_call(detail::doubles_of("angles", angles), given, AxisMap(),
                                        detail::doubles_of("out", out));
}

ROPE_ABI inline Status check_frequency_gradients(const TensorView<const double>& angles, const AxisPositions& positions,
                                                 const AxisMap& map, const TensorView<double>& out) noexcept {
    return detail::check_frequency_call(detail::doubles_of("angles", angles), positions, map,
                                        detail::doubles_of("out", out));
}

template <class Executor>
ROPE_ABI inline detail::ResultOf<Executor> add_position_gradients(
    const TensorView<const double>& angles, const Frequencies& frequencies, const AxisMap& map,
    const TensorView<double>& out, Executor&& executor) noexcept(detail::throws_nothing<Executor>) {
    const detail::AnyView rows = detail::doubles_of("angles", angles), to = detail::doubles_of("out", out);
    const Status s = detail::check_position_call(rows, frequencies, map, to);
    if (s.ok()) detail::run_positions(detail::executor_of(executor), rows, frequencies, map, to);
    return detail::return_or_raise<detail::ResultOf<Executor>>(s);
}

template <class Executor>
ROPE_ABI inline detail::ResultOf<Executor> add_position_gradients(
    const TensorView<const double>& angles, const Frequencies& frequencies, const TensorView<double>& out,
    Executor&& executor) noexcept(detail::throws_nothing<Executor>) {
    return add_position_gradients(angles, frequencies, AxisMap(), out, executor);
}

ROPE_ABI inline Status check_position_gradients(const TensorView<const double>& angles, const Frequencies& frequencies,
                                                const AxisMap& map, const TensorView<double>& out) noexcept {
    return detail::check_position_call(detail::doubles_of("angles", angles), frequencies, map,
                                       detail::doubles_of("out", out));
}

ROPE_ABI inline double attention_factor_gradient(const TensorView<const double>& magnitudes, double attention_factor) {
    const detail::AnyView all = detail::doubles_of("magnitudes", magnitudes);
    detail::ok_or_raise(detail::check_factor_call(all, attention_factor));
    return detail::sum_of_all(all) / attention_factor;
}

ROPE_ABI inline Index weight_gradient_rows(Index batch, Index seq) noexcept {
    return (detail::clamped_product(batch, seq) + detail::kTokensOfRow - 1) / detail::kTokensOfRow;
}

template <Layout layout, class T, class G, class Dx>
ROPE_ABI inline void pass_backward(const CosSinRows<T>& rows, PositionsArgument&& positions, const Path& path, G&& g,
                                   Dx&& dx, const TensorView<double>& dw) {
    rope::pass_backward<layout>(detail::CallingThread(), rows, std::move(positions), path, g, dx, dw);
}
template <Layout layout, class T, class G, class Dx>
ROPE_ABI inline void pass_backward(const CosSinRows<T>& rows, const Path& path, G&& g, Dx&& dx,
                                   const TensorView<double>& dw) {
    rope::pass_backward<layout>(rows, Positions(), path, g, dx, dw);
}

template <Layout layout, class Executor, class T, class G, class Dx>
ROPE_ABI inline detail::ResultOf<Executor> pass_backward(
    Executor&& executor, const CosSinRows<T>& rows, PositionsArgument&& positions, const Path& path, G&& g, Dx&& dx,
    const TensorView<double>& dw) noexcept(detail::throws_nothing<Executor>) {
    return detail::return_or_raise<detail::ResultOf<Executor>>(detail::run_backward<layout>(
        detail::executor_of(executor), rows, positions, detail::PathAccess::data(path),
        {detail::tensor_of<false, T>(g), detail::tensor_of<true, T>(dx), detail::doubles_of("dw", dw)}));
}
template <Layout layout, class Executor, class T, class G, class Dx>
ROPE_ABI inline detail::ResultOf<Executor> pass_backward(
    Executor&& executor, const CosSinRows<T>& rows, const Path& path, G&& g, Dx&& dx,
    const TensorView<double>& dw) noexcept(detail::throws_nothing<Executor>) {
    return rope::pass_backward<layout>(executor, rows, Positions(), path, g, dx, dw);
}

template <Layout layout, class T, class G, class Dx>
ROPE_ABI inline Status check_pass_backward(const CosSinRows<T>& rows, PositionsArgument&& positions, const Path& path,
                                           G&& g, Dx&& dx, const TensorView<double>& dw) noexcept {
    return detail::check_backward(
        detail::PathAccess::data(path), positions,
        {detail::tensor_of<false, T>(g), detail::tensor_of<true, T>(dx), detail::doubles_of("dw", dw)},
        detail::call_of<layout>(rows));
}
template <Layout layout, class T, class G, class Dx>
ROPE_ABI inline Status check_pass_backward(const CosSinRows<T>& rows, const Path& path, G&& g, Dx&& dx,
                                           const TensorView<double>& dw) noexcept {
    return rope::check_pass_backward<layout>(rows, Positions(), path, g, dx, dw);
}

ROPE_REFUSE_OTHER_CALLS_WITH_LAYOUT(void, pass_backward, refuse_pass_backward)
ROPE_REFUSE_OTHER_CALLS_WITH_LAYOUT(Status, check_pass_backward, refuse_pass_backward)

ROPE_WITH_RUN_TIME_LAYOUT(pass_backward)
ROPE_CHECK_WITH_RUN_TIME_LAYOUT(check_pass_backward)

template <class Executor>
ROPE_ABI inline detail::ResultOf<Executor> add_row_sums(
    const TensorView<const double>& rows, const TensorView<double>& out,
    Executor&& executor) noexcept(detail::throws_nothing<Executor>) {
    const detail::AnyView from = detail::doubles_of("rows", rows), to = detail::doubles_of("out", out);
    const Status s = detail::check_row_sums(from, to);
    if (s.ok()) detail::run_token_sums(detail::executor_of(executor), from, detail::NoPositions(), AxisMap(), to);
    return detail::return_or_raise<detail::ResultOf<Executor>>(s);
}

ROPE_ABI inline Status check_row_sums(const TensorView<const double>& rows, const TensorView<double>& out) noexcept {
    return detail::check_row_sums(detail::doubles_of("rows", rows), detail::doubles_of("out", out));
}

ROPE_END
