// SPDX-License-Identifier: MIT
// Definitions of part.hpp, and how its executors cut calls.
#pragma once

#include <type_traits>
#include <utility>

#include "../../errors.hpp"
#include "../../part.hpp"
#include "../../types.hpp"
#include "executor.hpp"

ROPE_DETAIL_BEGIN
template <>
inline constexpr Cutting cutting_of<Part> = Cutting::by_heads;
template <>
inline constexpr bool may_throw<Part> = false;
/// std::ref of one.
template <class Reference>
inline constexpr Cutting cutting_of<
    Reference, std::enable_if_t<std::is_same_v<std::decay_t<decltype(std::declval<const Reference&>().get())>, Part>>> =
    Cutting::by_heads;
template <class Executor>
inline constexpr Cutting cutting_of<AtEverySize<Executor>> = Cutting::always;
ROPE_DETAIL_END

ROPE_BEGIN

ROPE_ABI inline Part part(Index number, Index count) {
    if (count < 1 || count > Index(1) << 20)
        detail::refuse(detail::invalid("count of part is {}; it must be from 1 to 2^20.", {count}));
    if (number < 0 || number >= count)
        detail::refuse(detail::invalid("number of part is {}; of {} {part|parts} it must be from 0 to {}.",
                                       {number, count, count - 1}));
    return {number, count};
}

template <class Executor>
ROPE_ABI inline AtEverySize<Executor> at_every_size(Executor&& executor) {
    detail::expect_executor<Executor>();
    return AtEverySize<Executor>(std::forward<Executor>(executor));
}

ROPE_END
