// SPDX-License-Identifier: MIT
// Definitions of reposition.hpp: moves built for a tensor, and run on it.
#pragma once

#include <type_traits>
#include <utility>

#include "../../apply.hpp"
#include "../../cos_sin_rows.hpp"
#include "../../errors.hpp"
#include "../../moves.hpp"
#include "../../positions.hpp"
#include "../../tensor_view.hpp"
#include "../../types.hpp"
#include "../call/run.hpp"

#include "../base/hide_macros.hpp"

namespace rope {
inline namespace ROPE_VERSION_NAMESPACE {

namespace detail {
inline namespace ROPE_DETAIL_NAMESPACE {

/// The moves of a tensor's type.
template <class K>
using MovesOf = Moves<std::conditional_t<std::is_same_v<StorageOf<ViewOf<K>>, double>, double, float>>;

/// Rows for a number of tokens move that number of tokens.
template <class T>
inline Status check_count(Index seq, Index batch, const Moves<T>& moves) noexcept {
    const Index count = RowsAccess::count(moves);
    if (count == kEveryToken || count == seq || batch == 0) return Status();
    return invalid("k.seq is {}; these moves were built for {} tokens.", {seq, count});
}

template <Layout layout, class K, class T, class Executor>
inline void move_keys(K& k, const Moves<T>& moves, Executor& executor) {
    const auto argument = in_place("k", k, moves);
    if constexpr (!is_refused<decltype(argument)>)
        if (ok_or_raise(check_count(argument.x.seq, argument.x.batch, moves)))
            run<layout>(Direction::forward, Positions(), executor, argument);
}

/// With moves that are built for this call.
template <Layout layout, class K, class T, class Executor>
inline void move_keys_by(K& k, Moves<T>&& moves, Index delta, Executor& executor) {
    if (moves.pairs() > 0 && moves.build(delta)) move_keys<layout>(k, moves, executor);
}
template <Layout layout, class K, class T, class Executor>
inline void move_keys_between(K& k, Moves<T>&& moves, PositionsArgument&& old_positions,
                              PositionsArgument&& new_positions, Executor& executor) {
    const auto v = as_view(k);
    if (moves.pairs() > 0 && moves.build(std::move(old_positions), std::move(new_positions), v.seq, v.batch, executor))
        move_keys<layout>(k, moves, executor);
}

}  // namespace ROPE_DETAIL_NAMESPACE
}  // namespace detail

}  // namespace ROPE_VERSION_NAMESPACE
}  // namespace rope

#include "../base/restore_macros.hpp"
