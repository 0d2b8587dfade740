// SPDX-License-Identifier: MIT
// Definitions of gradients.hpp: calls as plain data, for angles.hpp, parameters.hpp and backward.hpp.
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
#include "../call/arguments.hpp"
#include "../paths/heads_in_memory.hpp"
#include "../views/any_view.hpp"

ROPE_SOURCE_BEGIN

/// The tensors of a call without their types.
struct AngleCall {
    AnyView y, g, angles, magnitudes;
};
struct BackwardCall {
    AnyView g, dx, dw;
};

template <Layout layout, class T>
ROPE_API Status run_angles(const AnyExecutor& executor, const AngleCall& call, const CosSinRows<T>& rows);
template <Layout layout, class T>
ROPE_API Status check_angles(const AngleCall& call, const CosSinRows<T>& rows) noexcept;
template <Layout layout, class T>
ROPE_API Status run_backward(const AnyExecutor& executor, const CosSinRows<T>& rows, const Positions& positions,
                             const Path& path, const BackwardCall& call);
template <Layout layout, class T>
ROPE_API Status check_backward(const CosSinRows<T>& rows, const Positions& positions, const Path& path,
                               const BackwardCall& call) noexcept;
/// Given is Positions or AxisPositions.
template <class Given>
ROPE_API Status run_frequencies(const AnyExecutor& executor, const TensorView<const double>& angles,
                                const Given& positions, const AxisMap& map, const TensorView<double>& out);
ROPE_API Status run_positions(const AnyExecutor& executor, const TensorView<const double>& angles, const Frequencies& f,
                              const AxisMap& map, const TensorView<double>& out);
ROPE_API Status run_row_sums(const AnyExecutor& executor, const TensorView<const double>& rows,
                             const TensorView<double>& out);

ROPE_SOURCE_END

ROPE_DETAIL_BEGIN

/// Gradients or outputs as a view whose strides loops may multiply.
template <class T>
inline AnyView doubles_of(const char* name, const TensorView<T>& v) noexcept {
    return named(in_memory(v), name);
}

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
    return detail::check_angles<layout>(call, rows);
}

ROPE_WITH_RUN_TIME_LAYOUT(add_angle_gradients)
ROPE_CHECK_WITH_RUN_TIME_LAYOUT(check_angle_gradients)

template <class Executor>
ROPE_ABI inline detail::ResultOf<Executor> add_frequency_gradients(
    const TensorView<const double>& angles, PositionsArgument&& positions, const TensorView<double>& out,
    Executor&& executor) noexcept(detail::throws_nothing<Executor>) {
    const Positions& given = positions;
    return detail::return_or_raise<detail::ResultOf<Executor>>(
        detail::run_frequencies(detail::executor_of(executor), angles, given, AxisMap(), out));
}

template <class Executor>
ROPE_ABI inline detail::ResultOf<Executor> add_frequency_gradients(
    const TensorView<const double>& angles, const AxisPositions& positions, const AxisMap& map,
    const TensorView<double>& out, Executor&& executor) noexcept(detail::throws_nothing<Executor>) {
    return detail::return_or_raise<detail::ResultOf<Executor>>(
        detail::run_frequencies(detail::executor_of(executor), angles, positions, map, out));
}

template <class Executor>
ROPE_ABI inline detail::ResultOf<Executor> add_position_gradients(
    const TensorView<const double>& angles, const Frequencies& frequencies, const AxisMap& map,
    const TensorView<double>& out, Executor&& executor) noexcept(detail::throws_nothing<Executor>) {
    return detail::return_or_raise<detail::ResultOf<Executor>>(
        detail::run_positions(detail::executor_of(executor), angles, frequencies, map, out));
}

template <class Executor>
ROPE_ABI inline detail::ResultOf<Executor> add_position_gradients(
    const TensorView<const double>& angles, const Frequencies& frequencies, const TensorView<double>& out,
    Executor&& executor) noexcept(detail::throws_nothing<Executor>) {
    return add_position_gradients(angles, frequencies, AxisMap(), out, executor);
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
        detail::executor_of(executor), rows, positions, path,
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
    return detail::check_backward<layout>(
        rows, positions, path,
        {detail::tensor_of<false, T>(g), detail::tensor_of<true, T>(dx), detail::doubles_of("dw", dw)});
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
    return detail::return_or_raise<detail::ResultOf<Executor>>(
        detail::run_row_sums(detail::executor_of(executor), rows, out));
}

ROPE_END
