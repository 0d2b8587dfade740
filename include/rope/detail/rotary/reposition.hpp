// SPDX-License-Identifier: MIT
// Definitions of reposition.hpp: moves built for a tensor, and run on it.
#pragma once

#include <type_traits>
#include <utility>

#include "../../apply.hpp"
#include "../../config.hpp"
#include "../../cos_sin_rows.hpp"
#include "../../errors.hpp"
#include "../../moves.hpp"
#include "../../positions.hpp"
#include "../../reposition.hpp"
#include "../../tensor_view.hpp"
#include "../../types.hpp"
#include "../base/other_calls.hpp"

ROPE_DETAIL_BEGIN

template <bool never>
inline void refuse_reposition() noexcept {
    static_assert(
        never,
        "No function of this name takes these arguments. It takes k; then Moves, which are built before, or a "
        "Config (no table, and no Frequencies) with a delta, with old and new positions, or with old positions, "
        "a new Config and new positions; and an executor, or none. A RotaryEmbedding has a reposition(layer, "
        "k, ...).");
}

/// The moves of a tensor's type.
template <class K>
using MovesOf = Moves<std::conditional_t<std::is_same_v<StorageOf<ViewOf<K>>, double>, double, float>>;

template <class K, IfKeyView<K>>
inline KeyTokens tokens_of_keys(const K& k) noexcept {
    const auto v = as_view(k);
    return {v.seq, v.batch};
}

/// Rows for a number of tokens move that number of tokens.
template <class T>
inline Status check_count(KeyTokens of, const Moves<T>& moves) noexcept {
    const Index count = RowsAccess::count(moves);
    if (count == kEveryToken || count == of.seq || of.batch == 0) return Status();
    return invalid("k.seq is {}; these moves were built for {} {token|tokens}.", {of.seq, count});
}

/// With moves that are built for this call.
template <Layout layout, class K, class T, class Executor>
inline void move_keys_between(K& k, Moves<T>&& moves, PositionsArgument&& old_positions,
                              PositionsArgument&& new_positions, Executor& executor) {
    auto& with = only_throwing(executor);
    const auto v = as_view(k);
    moves.build(std::move(old_positions), std::move(new_positions), v.seq, v.batch, with);
    rope::reposition<layout>(k, moves, with);
}

ROPE_DETAIL_END

ROPE_BEGIN

template <Layout layout, class K, class T, class Executor, detail::IfKeyView<K>>
ROPE_ABI inline detail::ResultOf<Executor> reposition(K&& k, const Moves<T>& moves,
                                                      Executor&& executor) noexcept(detail::throws_nothing<Executor>) {
    const auto argument = detail::in_place("k", k, moves);
    if constexpr (!detail::is_refused<decltype(argument)>)
        if (const Status s = detail::check_count({argument.x.seq, argument.x.batch}, moves); !s.ok())
            return detail::return_or_raise<detail::ResultOf<Executor>>(s);
    return detail::run<layout>(detail::Direction::forward, Positions(), executor, argument);
}

template <Layout layout, class K, class Executor>
ROPE_ABI inline void reposition(K&& k, const Config& config, Index delta, Executor&& executor) {
    auto& with = detail::only_throwing(executor);
    detail::MovesOf<K> moves(config);
    moves.build(delta);
    rope::reposition<layout>(k, moves, with);
}

template <Layout layout, class K, class Number, std::enable_if_t<detail::is_no_delta<Number>, int>>
ROPE_ABI inline void reposition(K&&, const Config&, Number) {
    detail::refuse_delta<Number>();
}

template <Layout layout, class K, class Executor>
ROPE_ABI inline void reposition(K&& k, const Config& config, PositionsArgument&& old_positions,
                                PositionsArgument&& new_positions, Executor&& executor) {
    detail::move_keys_between<layout>(k, detail::MovesOf<K>(config), std::move(old_positions), std::move(new_positions),
                                      executor);
}

template <Layout layout, class K, class Executor>
ROPE_ABI inline void reposition(K&& k, const Config& old_config, PositionsArgument&& old_positions,
                                const Config& new_config, PositionsArgument&& new_positions, Executor&& executor) {
    detail::move_keys_between<layout>(k, detail::MovesOf<K>(old_config, 0, new_config, 0), std::move(old_positions),
                                      std::move(new_positions), executor);
}

ROPE_REFUSE_OTHER_CALLS_WITH_LAYOUT(void, reposition, refuse_reposition)
ROPE_WITH_RUN_TIME_LAYOUT(reposition)

ROPE_END
