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
inline KeyTokens tokens_of_keys(const UnderHadamard& keys) noexcept { return tokens_of_keys(keys.keys); }

template <Layout layout, class T, class Executor>
inline ResultOf<Executor> move_by_path(const Path& path, KeyTokens tokens, const Moves<T>& moves, Executor& executor) {
    if (const Status s = check_count(tokens, moves); !s.ok()) return return_or_raise<ResultOf<Executor>>(s);
    return pass<layout>(executor, moves, path);
}

ROPE_DETAIL_END

ROPE_BEGIN

template <Layout layout, class T, class Executor>
ROPE_ABI inline detail::ResultOf<Executor> reposition(const Destination& keys, const Moves<T>& moves,
                                                      Executor&& executor) noexcept(detail::throws_nothing<Executor>) {
    return detail::move_by_path<layout>(heads(keys).rotate(), detail::tokens_of_keys(keys), moves, executor);
}
template <Layout layout, class T, class Executor>
ROPE_ABI inline detail::ResultOf<Executor> reposition(const UnderHadamard& keys, const Moves<T>& moves,
                                                      Executor&& executor) noexcept(detail::throws_nothing<Executor>) {
    return detail::move_by_path<layout>(heads(keys.keys).hadamard(keys.block).rotate().hadamard(keys.block),
                                        detail::tokens_of_keys(keys), moves, executor);
}
template <Layout layout, class X, class T, class Executor>
ROPE_ABI inline detail::ResultOf<Executor> reposition(const Paged<X>& keys, const Moves<T>& moves,
                                                      Executor&& executor) noexcept(detail::throws_nothing<Executor>) {
    return rope::reposition<layout>(Destination(keys), moves, executor);
}

ROPE_END
