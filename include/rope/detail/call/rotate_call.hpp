// SPDX-License-Identifier: MIT
// A call as plain data: what crosses into <rope/src.hpp> where translation units are compiled separately.
#pragma once

#include <initializer_list>

#include "../../cos_sin_rows.hpp"
#include "../../errors.hpp"
#include "../../positions.hpp"
#include "../../types.hpp"
#include "../base/executor.hpp"
#include "../views/any_view.hpp"
#include "arguments.hpp"

ROPE_SOURCE_BEGIN

/// Which way a call rotates.
enum class Direction : unsigned char { forward, inverse, transpose };

/// One tensor of a call, and its rows, of float or of double. In place, `in` is `out`.
struct RotatedTensor {
    AnyView in, out;
    bool is_out_of_place;
    const CosSinRows<float>* rows;
    const CosSinRows<double>* double_rows;
};
using RotatedTensors = std::initializer_list<RotatedTensor>;

/// Rotates one tensor or two, or says why not.
ROPE_API Status rotate_tensors(Direction direction, Layout layout, const Positions& positions,
                               const AnyExecutor& executor, RotatedTensors tensors);
/// Whether a call in a direction with a layout, or with any (null), would be accepted.
ROPE_API Status check_rotation(Direction direction, const Layout* layout, const Positions& positions,
                               RotatedTensors tensors) noexcept;

ROPE_SOURCE_END

#if !ROPE_HAS_DEFINITIONS
ROPE_DETAIL_BEGIN

inline const CosSinRows<float>* rows_of(const CosSinRows<float>& rows) noexcept { return &rows; }
inline const CosSinRows<float>* rows_of(const CosSinRows<double>&) noexcept { return nullptr; }
inline const CosSinRows<double>* double_rows_of(const CosSinRows<double>& rows) noexcept { return &rows; }
inline const CosSinRows<double>* double_rows_of(const CosSinRows<float>&) noexcept { return nullptr; }

template <class A>
RotatedTensor rotated_tensor(const A& argument) noexcept {
    const auto views = erased(argument);
    return {views.in(), views.out, A::kIsOutOfPlace, rows_of(argument.rows), double_rows_of(argument.rows)};
}

template <Layout layout, class Executor, class... A>
ResultOf<Executor> run(Direction direction, const Positions& positions, Executor& given, const A&... a) {
    expect_executor<Executor>();
    const AnyExecutor executor = executor_of(given);
    if constexpr ((!is_refused<A> && ...))
        return return_or_raise<ResultOf<Executor>>(
            rotate_tensors(direction, layout, positions, executor, {rotated_tensor(a)...}));
    else
        return ResultOf<Executor>();
}

template <Layout... layout, class... A>
Status check_tensors(const Positions& positions, const A&... a) noexcept {
    constexpr Layout layouts[] = {layout..., Layout::half_split};
    if constexpr ((!is_refused<A> && ...))
        return check_rotation(Direction::forward, sizeof...(layout) > 0 ? layouts : nullptr, positions,
                              {rotated_tensor(a)...});
    else
        return Status();
}

ROPE_DETAIL_END
#endif
