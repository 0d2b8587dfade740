// SPDX-License-Identifier: MIT
// Definitions of reposition.hpp: keys in a cache, moved by a path, or, in pages of numbers, by apply.
#pragma once

#include "../../apply.hpp"
#include "../../destinations.hpp"
#include "../../errors.hpp"
#include "../../heads.hpp"
#include "../../moves.hpp"
#include "../../positions.hpp"
#include "../../reposition.hpp"
#include "../../tensor_view.hpp"
#include "../../types.hpp"
#include "../call/arguments.hpp"
#include "../call/job.hpp"

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

// Pages of numbers need no path, which would convert them to float and back: apply takes each run of adjacent places as a
// tensor.

template <class X, class T>
struct PagesTask {
    const Paged<X>& keys;
    const Moves<T>& moves;
};
template <class X>
ROPE_INLINE X* place_of(const Paged<X>& k, Index slot) noexcept {
    return k.data + slot / k.page_size * k.page_stride + slot % k.page_size * k.place_stride;
}
/// Tokens begin .. end - 1, by rows of the same numbers.
template <Layout layout, class X, class T>
void move_pages(const PagesTask<X, T>& task, Index begin, Index end) noexcept {
    const Paged<X>& k = task.keys;
    for (Index t = begin, count; t < end; t += count) {
        const Index slot = k.slot_list[t];
        count = 1;
        if (slot < 0) continue;
        while (t + count < end && slot % k.page_size + count < k.page_size && k.slot_list[t + count] == slot + count)
            ++count;
        const TensorView<X> run = {place_of(k, slot), 1, count, k.heads, k.head_dim, 0, k.place_stride, k.head_stride,
                                   k.feature_stride};
        rope::apply<layout>(run, task.moves, start_at(t));
    }
}
template <Layout layout, class X, class T>
inline Status move_pages(const AnyExecutor& executor, const Paged<X>& keys, const Moves<T>& moves) {
    const Path path = heads(Destination(keys)).rotate();
    Status s = check_count(tokens_of_keys(keys), moves);
    if (s.ok()) s = check_pass<layout>(moves, path);
    if (!s.ok() || keys.slot_count == 0 || keys.heads == 0 || keys.head_dim == 0) return s;
    const Index bytes = clamped_product(keys.heads, keys.head_dim) * static_cast<Index>(sizeof(X)) * keys.slot_count;
    const PagesTask<X, T> task = {keys, moves};
    execute(executor, even_job(task, &move_pages<layout, X, T>, keys.slot_count, bytes));
    return s;
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
    if constexpr (detail::is_accepted<TensorView<X>, true, T>)
        return detail::return_or_raise<detail::ResultOf<Executor>>(
            detail::move_pages<layout>(detail::executor_of(executor), keys, moves));
    else
        return rope::reposition<layout>(Destination(keys), moves, executor);
}

ROPE_END
