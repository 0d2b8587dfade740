// SPDX-License-Identifier: MIT
// Definitions of rotary_embedding.hpp: the calls that take a program's own types.
#pragma once

#include <cstddef>
#include <type_traits>
#include <utility>

#include "../../apply.hpp"
#include "../../config.hpp"
#include "../../errors.hpp"
#include "../../moves.hpp"
#include "../../positions.hpp"
#include "../../reposition.hpp"
#include "../../rotary_embedding.hpp"
#include "../../rows.hpp"
#include "../../tensor_view.hpp"
#include "../../types.hpp"

ROPE_BEGIN

template <class T>
template <class Q, class K, class Executor>
ROPE_ABI detail::ResultOf<Executor> RotaryEmbedding<T>::apply(Index layer, Q&& q, K&& k, PositionsArgument&& positions,
                                                              Executor&& executor) const
    noexcept(detail::throws_nothing<Executor>) {
    using Result = detail::ResultOf<Executor>;
    Index i = -1;
    if (const Status s = find(layer, i); !s.ok()) return detail::return_or_raise<Result>(s);
    if (i < 0) return Result();
    const auto now = tables_now();
    const Table& t = (*now)[static_cast<std::size_t>(i)];
    return rope::apply(t.layout(), std::forward<Q>(q), std::forward<K>(k), t.q, t.k, std::move(positions),
                       std::forward<Executor>(executor));
}

template <class T>
template <class K, class... Args>
ROPE_ABI void RotaryEmbedding<T>::reposition(Index layer, K&& k, Args&&... args) const {
    const Config* const config = model().layer(layer);
    if (config == nullptr) return;
    Moves<T> moves = moves_of(*config);
    const detail::KeyTokens of = detail::tokens_of_keys(k);
    if constexpr (sizeof...(Args) == 1 && (std::is_convertible_v<Args, Index> && ...))
        moves.build(std::forward<Args>(args)...);
    else
        moves.build(std::forward<Args>(args)..., of.seq, of.batch);
    rope::reposition(*config->layout, std::forward<K>(k), moves);
}

template <class T>
template <class Positions, class Executor>
ROPE_ABI void RotaryStep<T>::build(Positions&& positions, Index seq, Index batch, Executor&& executor) {
    for (Table& t : tables_) {
        t.q_rows->build(std::forward<Positions>(positions), seq, batch, executor);
        if (t.k_rows) t.k_rows->build(std::forward<Positions>(positions), seq, batch, executor);
    }
}

template <class T>
template <class Q, class K, class Executor>
ROPE_ABI detail::ResultOf<Executor> RotaryStep<T>::apply(Index layer, Q&& q, K&& k, Executor&& executor) const
    noexcept(detail::throws_nothing<Executor>) {
    using Result = detail::ResultOf<Executor>;
    Index i = -1;
    if (const Status s = whole_.find(layer, i); !s.ok()) return detail::return_or_raise<Result>(s);
    if (i < 0) return Result();
    const LayerRows here = *rows(layer);
    return rope::apply(here.layout(), std::forward<Q>(q), std::forward<K>(k), here.q, here.k, Positions(),
                       std::forward<Executor>(executor));
}

template <class T>
template <class... Args>
ROPE_ABI void RotaryStep<T>::build_moves(Args&&... args) {
    for (Table& t : tables_) {
        if (!t.moves) t.moves.reset(new Moves<T>(whole_.moves_of(*t.config)));
        t.moves->build(std::forward<Args>(args)...);
    }
}

template <class T>
template <class K, class Executor>
ROPE_ABI detail::ResultOf<Executor> RotaryStep<T>::reposition(Index layer, K&& k, Executor&& executor) const
    noexcept(detail::throws_nothing<Executor>) {
    using Result = detail::ResultOf<Executor>;
    Index i = -1;
    if (const Status s = whole_.find(layer, i); !s.ok()) return detail::return_or_raise<Result>(s);
    if (i < 0) return Result();
    const Table& t = tables_[static_cast<std::size_t>(i)];
    if (t.moves)
        return rope::reposition(*t.config->layout, std::forward<K>(k), *t.moves, std::forward<Executor>(executor));
    return detail::return_or_raise<Result>(
        detail::invalid("moves are missing; build_moves must come before reposition."));
}

ROPE_END
