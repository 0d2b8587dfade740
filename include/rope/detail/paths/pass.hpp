// SPDX-License-Identifier: MIT
// Definitions of heads.hpp: the beginning of a path, and the arguments of pass.
#pragma once

#include <type_traits>
#include <utility>

#include "../../cos_sin_rows.hpp"
#include "../../errors.hpp"
#include "../../heads.hpp"
#include "../../positions.hpp"
#include "../base/executor.hpp"
#include "../base/other_calls.hpp"
#include "../call/arguments.hpp"
#include "../views/view_arguments.hpp"
#include "steps.hpp"

ROPE_DETAIL_BEGIN

template <bool never>
inline void refuse_pass() noexcept {
    static_assert(
        never,
        "No function of this name takes these arguments. In this order it takes an executor, or none; rows; positions, "
        "or none for 0, 1, 2, ...; and one or more paths, rope::heads(x) with steps and to(...). Where nothing "
        "rotates, rows may be left out with the layout: rope::pass(rope::heads(x)...). " ROPE_SAYS_ROWS);
}

template <class... Paths>
inline constexpr bool are_paths = sizeof...(Paths) > 0 && (std::is_same_v<Paths, Path> && ...);

ROPE_DETAIL_END

ROPE_SOURCE_BEGIN

/// Checks all paths of a call, and runs them.
template <Layout layout, class T>
ROPE_API Status run_paths(const AnyExecutor& executor, const CosSinRows<T>& rows, const Positions& positions,
                          const Path* const* paths, Index count);
template <Layout layout, class T>
ROPE_API Status check_paths(const CosSinRows<T>& rows, const Positions& positions, const Path* const* paths,
                            Index count) noexcept;

ROPE_API Status run_paths_without_rows(const AnyExecutor& executor, const Path* const* paths, Index count);
ROPE_API Status check_paths_without_rows(const Path* const* paths, Index count) noexcept;
/// The path of dequantise.
ROPE_API Status run_reading(const AnyExecutor& executor, const Path& path);

ROPE_API Status run_sums(const AnyExecutor& executor, const Path& path, const TensorView<double>& sums);

ROPE_SOURCE_END

ROPE_DETAIL_BEGIN

template <Layout layout, class T, class... Paths>
inline Status check_pass_of(const CosSinRows<T>& rows, const Positions& positions, const Paths&... paths) noexcept {
    static_assert(are_paths<Paths...>,
                  "rope::check_pass takes what rope::pass takes: rows, positions or none, and one or more paths; an "
                  "executor stands before the rows.");
    if constexpr (are_paths<Paths...>) {
        const Path* const all[] = {&paths...};
        return check_paths<layout>(rows, positions, all, sizeof...(paths));
    } else {
        return Status();
    }
}

template <class... Paths>
inline Status check_pass_without_rows(const Paths&... paths) noexcept {
    static_assert(are_paths<Paths...>, "Without rows, rope::check_pass takes paths alone, behind an executor or none.");
    if constexpr (are_paths<Paths...>) {
        const Path* const all[] = {&paths...};
        return check_paths_without_rows(all, sizeof...(paths));
    } else {
        return Status();
    }
}
template <class Executor, class... Paths>
inline ResultOf<Executor> run_pass_without_rows(Executor& executor, const Paths&... paths) {
    expect_executor<Executor>();
    static_assert(are_paths<Paths...>, "Without rows, rope::pass takes paths alone, behind an executor or none.");
    if constexpr (are_paths<Paths...>) {
        const Path* const all[] = {&paths...};
        return return_or_raise<ResultOf<Executor>>(
            run_paths_without_rows(executor_of(executor), all, sizeof...(paths)));
    } else {
        return ResultOf<Executor>();
    }
}

template <Layout layout, class Executor, class T, class... Paths>
inline ResultOf<Executor> run_pass(Executor& executor, const CosSinRows<T>& rows, const Positions& positions,
                                   const Paths&... paths) {
    expect_executor<Executor>();
    static_assert(are_paths<Paths...>,
                  "rope::pass takes rows, positions or none, and one or more paths, rope::heads(x) with steps and "
                  "to(...); an executor stands before the rows.");
    if constexpr (are_paths<Paths...>) {
        const Path* const all[] = {&paths...};
        return return_or_raise<ResultOf<Executor>>(
            run_paths<layout>(executor_of(executor), rows, positions, all, sizeof...(paths)));
    } else {
        return ResultOf<Executor>();
    }
}

ROPE_DETAIL_END

ROPE_BEGIN

template <class T>
ROPE_ABI Path& Path::rotate(const CosSinRows<T>& rows, const Positions& positions, RotateRounding rounding) noexcept {
    use_rows(rows, positions);
    return rotate(rounding);
}
template <class T>
ROPE_ABI Path& Path::rotate_back(const CosSinRows<T>& rows, const Positions& positions,
                                 RotateRounding rounding) noexcept {
    use_rows(rows, positions);
    return rotate_back(rounding);
}

template <class X, detail::IfNotStored<X>>
ROPE_ABI inline Path heads(X&& x) noexcept {
    return detail::PathAccess::make<Path>(detail::tensor_of<false, void>(x));
}

template <Layout layout, class T, class... Paths>
ROPE_ABI inline void pass(const CosSinRows<T>& rows, PositionsArgument&& positions, const Paths&... paths) {
    detail::CallingThread here;
    detail::run_pass<layout>(here, rows, positions, paths...);
}
template <Layout layout, class T, class... Paths>
ROPE_ABI inline void pass(const CosSinRows<T>& rows, const Path& first, const Paths&... others) {
    detail::CallingThread here;
    detail::run_pass<layout>(here, rows, Positions(), first, others...);
}
template <Layout layout, class Executor, class T, class... Paths>
ROPE_ABI inline detail::ResultOf<Executor> pass(Executor&& executor, const CosSinRows<T>& rows,
                                                PositionsArgument&& positions,
                                                const Paths&... paths) noexcept(detail::throws_nothing<Executor>) {
    return detail::run_pass<layout>(executor, rows, positions, paths...);
}
template <Layout layout, class Executor, class T, class... Paths>
ROPE_ABI inline detail::ResultOf<Executor> pass(Executor&& executor, const CosSinRows<T>& rows, const Path& first,
                                                const Paths&... others) noexcept(detail::throws_nothing<Executor>) {
    return detail::run_pass<layout>(executor, rows, Positions(), first, others...);
}
template <Layout layout, class T, class... Paths>
ROPE_ABI inline Status check_pass(const CosSinRows<T>& rows, PositionsArgument&& positions,
                                  const Paths&... paths) noexcept {
    return detail::check_pass_of<layout>(rows, positions, paths...);
}
template <Layout layout, class T, class... Paths>
ROPE_ABI inline Status check_pass(const CosSinRows<T>& rows, const Path& first, const Paths&... others) noexcept {
    return detail::check_pass_of<layout>(rows, Positions(), first, others...);
}

template <Layout layout, class Executor, class T, class... Paths>
ROPE_ABI inline Status check_pass(Executor&&, const CosSinRows<T>& rows, PositionsArgument&& positions,
                                  const Paths&... paths) noexcept {
    return detail::check_pass_of<layout>(rows, positions, paths...);
}
template <Layout layout, class Executor, class T, class... Paths>
ROPE_ABI inline Status check_pass(Executor&&, const CosSinRows<T>& rows, const Path& first,
                                  const Paths&... others) noexcept {
    return detail::check_pass_of<layout>(rows, Positions(), first, others...);
}

template <class... Paths>
ROPE_ABI inline void pass(const Path& first, const Paths&... others) {
    detail::CallingThread here;
    detail::run_pass_without_rows(here, first, others...);
}
template <class Executor, class... Paths, detail::IfNoPath<Executor>>
ROPE_ABI inline detail::ResultOf<Executor> pass(Executor&& executor, const Path& first,
                                                const Paths&... others) noexcept(detail::throws_nothing<Executor>) {
    return detail::run_pass_without_rows(executor, first, others...);
}
template <class... Paths>
ROPE_ABI inline Status check_pass(const Path& first, const Paths&... others) noexcept {
    return detail::check_pass_without_rows(first, others...);
}
template <class Executor, class... Paths, detail::IfNoPath<Executor>>
ROPE_ABI inline Status check_pass(Executor&&, const Path& first, const Paths&... others) noexcept {
    detail::expect_executor<std::remove_reference_t<Executor>>();
    return detail::check_pass_without_rows(first, others...);
}

template <class Executor>
ROPE_ABI inline detail::ResultOf<Executor> sum_squares(const Path& path, const TensorView<double>& sums,
                                                       Executor&& executor) noexcept(detail::throws_nothing<Executor>) {
    return detail::return_or_raise<detail::ResultOf<Executor>>(
        detail::run_sums(detail::executor_of(executor), path, sums));
}

template <class T, class Executor>
ROPE_ABI inline detail::ResultOf<Executor> dequantise(const Destination& from, const TensorView<T>& to,
                                                      Executor&& executor) noexcept(detail::throws_nothing<Executor>) {
    static_assert(!std::is_const_v<T>, ROPE_SAYS_CONST);
    return detail::return_or_raise<detail::ResultOf<Executor>>(
        detail::run_reading(detail::executor_of(executor), heads(from).to(to)));
}

ROPE_REFUSE_OTHER_CALLS_WITH_LAYOUT(void, pass, refuse_pass)
ROPE_REFUSE_OTHER_CALLS_WITH_LAYOUT(Status, check_pass, refuse_pass)
ROPE_WITH_RUN_TIME_LAYOUT(pass)
ROPE_CHECK_WITH_RUN_TIME_LAYOUT(check_pass)

ROPE_END
