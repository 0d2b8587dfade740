// SPDX-License-Identifier: MIT
// shared_table: one table per process and description, for operators without state.
#pragma once

#include "config.hpp"
#include "cos_sin_cache.hpp"
#include "frequencies.hpp"
#include "types.hpp"

#include "detail/base/hide_macros.hpp"

#include "detail/base/other_calls.hpp"

ROPE_BEGIN

/// The table of given frequencies with at least max_positions rows, from position 0 on: the one that an earlier call for
/// the same description has made, in whatever thread, or a new one. The arguments are those of CosSinCache, and so are
/// the bits of its rows.
///
///     const auto table = rope::shared_table(frequencies, last + 1, {head_dim, 0});  // in every call of the operator
///     rope::apply<layout>(q, k, table, positions);
///
/// Descriptions are the same if all their numbers have the same bits and the slices are the same. (frequencies(config)
/// takes some 0.1 ms, where a call for a table that is there takes some 0.1 us: keep the frequencies, or make them as
/// cheaply as the operator's own code does.)
///
/// Growth       A call for more rows than there are makes a longer table, of at least twice as many rows as before where
///              that is allowed; present rows are copied. Tables that were handed out stay as they are.
/// Lifetime     The process keeps what it has made: at most 64 tables and 1 GiB for each T, from which the table goes
///              first whose last call lies farthest back. A table in use lives as long as a copy of it. One table of
///              more than 1 GiB is handed out and not kept. drop_shared_tables() keeps none any more.
/// Threads      Any number may call. One makes a table at a time; calls for tables that are there do not wait for it.
///              (Shared libraries that hide their symbols have tables of their own.)
/// Errors       As the constructor of CosSinCache throws; std::bad_alloc when there is no memory. Other tables, and a
///              shorter one for the description, then stay.
template <class T = float>
ROPE_API CosSinCache<T> shared_table(const Frequencies& frequencies, Index max_positions, HeadSlice slice = {});

/// Refuses every other call when it is compiled: a Config in place of Frequencies, for one.
template <class T = float, bool never = false>
ROPE_ABI inline CosSinCache<T> shared_table(ROPE_ANY_ARGUMENTS) {
    return detail::refuse_shared_table<never>(), CosSinCache<T>(Config{2}, 1);
}

/// Frees the tables that shared_table keeps, when their last copies are gone.
ROPE_API void drop_shared_tables();

ROPE_END

#if ROPE_HAS_DEFINITIONS
#    include "detail/rotary/shared_table.hpp"
#endif

#include "detail/base/restore_macros.hpp"
