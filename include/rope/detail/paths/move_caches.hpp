// SPDX-License-Identifier: MIT
// Definitions of reposition.hpp: keys in a cache, moved by a path.
#pragma once

#include "../../destinations.hpp"
#include "../../errors.hpp"
#include "../../heads.hpp"
#include "../../moves.hpp"
#include "../../reposition.hpp"
#include "../../types.hpp"

ROPE_DETAIL_BEGIN

inline KeyTokens tokens_of_keys(const Destination& keys) noexcept {
    const Path path = heads(keys);
    const Index* const extents = PathAccess::data(path).source.extents;
    return {extents[1], extents[0]};
}

ROPE_DETAIL_END

ROPE_BEGIN

template <Layout layout, class T, class Executor>
ROPE_ABI inline detail::ResultOf<Executor> reposition(const Destination& keys, const Moves<T>& moves,
                                                      Executor&& executor) noexcept(detail::throws_nothing<Executor>) {
    const Path path = heads(keys).rotate();
    if (const Status s = detail::check_count(detail::tokens_of_keys(keys), moves); !s.ok())
        return detail::return_or_raise<detail::ResultOf<Executor>>(s);
    return pass<layout>(executor, moves, path);
}
template <Layout layout, class X, class T, class Executor>
ROPE_ABI inline detail::ResultOf<Executor> reposition(const Paged<X>& keys, const Moves<T>& moves,
                                                      Executor&& executor) noexcept(detail::throws_nothing<Executor>) {
    return rope::reposition<layout>(Destination(keys), moves, executor);
}

ROPE_END
