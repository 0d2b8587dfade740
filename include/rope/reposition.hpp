// SPDX-License-Identifier: MIT
// reposition: rotates cached keys from old positions to new ones without computing them again.
#pragma once

#include <type_traits>

#include "config.hpp"
#include "heads.hpp"
#include "moves.hpp"
#include "positions.hpp"
#include "types.hpp"

#include "detail/base/hide_macros.hpp"

#include "detail/base/executor.hpp"

// Layout, tensors, executor, memory, threads and errors are as in apply.hpp. Keys may be any view: a slice of a fused
// cache, heads first, with features that do not rotate on either side. Data in double takes Moves<double>, other data
// Moves<float>.
//
// Error. A moved key is the key rotated at its new position, but for rounding. It has the errors of two rotations: the
// error of the first rotation, which rotates along and is multiplied by m_new / m_old, and the error of the move. In
// norm, a move adds less than e * r to the error of a pair that then has norm r, as long as no number is subnormal: the
// norm of the bounds in apply.hpp for both features, at the angle where it is largest.
//
//     e = 4 * 2^-24 in float, 2^-11 more in half, 2^-8 more in bfloat16; 6 * 2^-53 in double
//
// In a cache of codes, a move adds to each number at most the largest distance between two neighbouring numbers of the
// format, at the scale that its block (of a head, or of 32 numbers) has after the move; 8-bit floats with one scale for the
// tensor do so as long as no number exceeds the largest that they have.
//
// Many moves. Each rounds the keys, and errors add up: after n moves they are below r * ((1 + e)^n - 1). The largest
// differences between 1000 moves of +1 and one move of +1000, in a million pairs of head_dim 128 and base 10000:
//
//     float  4.5e-5 * r     half  0.45 * r     bfloat16  2.4 * r     double  6.1e-14 * r
//
// The same of whole heads, in parts of their norm: the largest among 1024 heads of 128 normally distributed numbers.
//
//     float  2.2e-5     half  0.12     bfloat16  0.84     uint8  2.6     q8_0  2.7     int8  5.4
//     8-bit floats with one scale, or with powers of two  1.7; with a float for each head  1e7
//     uint4, q4_0  keys grow with every move, beyond all bounds
//
// In 16 bits, where every step rounds slow pairs back to their old values, that is useless, and in 8 or 4 bits more so. The
// exact way: leave the keys as they were rotated, keep the position at which each was, and count moves in integers, as
// KeyPositions (<rope/key_positions.hpp>) does. Each key then rotates once, however often it has moved, and has the bits
// of one move:
//
//     moves.build(record.rotated_at(slots), record.now_at(slots), tokens);
//     rope::apply_copy<layout>(k, moved, moves);    // k does not change; or, at last, reposition<layout>(k, moves)
//
// (Where all keys move by the same delta, not even that is needed: a query that is rotated at n - delta sees the keys
// as they are, as one at n would see them moved.)
//
// When tokens are dropped from contiguous memory, first close the gap in keys and values; in pages, only drop their
// slots. Then call this on the keys.
//
// Source       Rotations compose: Su et al., arXiv:2104.09864. Context shift: Xiao et al., arXiv:2309.17453. Divided
//              positions: Jin et al., arXiv:2401.01325.

ROPE_BEGIN

/// Keys on which a Hadamard transform was done between their rotation and their cache, as .rotate().hadamard(block) does.
struct UnderHadamard {
    ROPE_ABI UnderHadamard(const Destination& of, Index of_block) noexcept : keys(of), block(of_block) {}
    ROPE_CROSSES(UnderHadamard)
    Destination keys;
    Index block;
};
/// What reposition takes for such keys, a view or a cache: it takes the transform off, moves, and does it again, in one
/// pass. `block` is that of Path::hadamard; 0: the whole head.
ROPE_ABI inline UnderHadamard under_hadamard(const Destination& keys, Index block = 0) noexcept {
    return {keys, block};
}

namespace detail {
inline namespace ROPE_DETAIL_NAMESPACE {
/// Keys in a view: no cache, and nothing to take off.
template <class K>
using IfKeyView = std::enable_if_t<!is_stored<std::decay_t<K>> && !std::is_same_v<std::decay_t<K>, UnderHadamard>, int>;
struct KeyTokens {
    Index seq, batch;
};
template <class K, IfKeyView<K> = 0>
inline KeyTokens tokens_of_keys(const K& k) noexcept;
inline KeyTokens tokens_of_keys(const Destination& keys) noexcept;
inline KeyTokens tokens_of_keys(const UnderHadamard& keys) noexcept;
}  // namespace ROPE_DETAIL_NAMESPACE
}  // namespace detail

/// Moves k, in place: token s by row s, or all by one delta, as `moves` was built. Throws std::invalid_argument, too,
/// when rows were built for another number of tokens. (For part of them: apply with start_at or ids of rows.)
template <Layout layout, class K, class T, class Executor = detail::CallingThread, detail::IfKeyView<K> = 0>
ROPE_ABI inline detail::ResultOf<Executor> reposition(K&& k, const Moves<T>& moves, Executor&& executor = {}) noexcept(
    detail::throws_nothing<Executor>);
/// Moves keys in a cache, of any format: they are read, rotated and written back, as pass(moves, heads(keys).rotate()) does
/// it. In pages, token s lies in the slot that entry s of the list names. A page that several sequences share moves for
/// all of them.
template <Layout layout, class T, class Executor = detail::CallingThread>
ROPE_ABI inline detail::ResultOf<Executor> reposition(
    const Destination& keys, const Moves<T>& moves,
    Executor&& executor = {}) noexcept(detail::throws_nothing<Executor>);
template <Layout layout, class X, class T, class Executor = detail::CallingThread>
ROPE_ABI inline detail::ResultOf<Executor> reposition(
    const Paged<X>& keys, const Moves<T>& moves, Executor&& executor = {}) noexcept(detail::throws_nothing<Executor>);

/// Moves keys under a Hadamard transform.
template <Layout layout, class T, class Executor = detail::CallingThread>
ROPE_ABI inline detail::ResultOf<Executor> reposition(
    const UnderHadamard& keys, const Moves<T>& moves,
    Executor&& executor = {}) noexcept(detail::throws_nothing<Executor>);

// ---- In one line, for one tensor: makes and builds the moves, which takes a millisecond or two and memory each time.
//      For many layers, several axes, and schedules that ask for a sequence length, keep a Moves. ----

/// By delta positions.
template <Layout layout, class K, class Executor = detail::CallingThread>
ROPE_ABI inline void reposition(K&& k, const Config& config, Index delta, Executor&& executor = {});

template <Layout layout, class K, class Number, std::enable_if_t<detail::is_no_delta<Number>, int> = 0>
ROPE_ABI inline void reposition(K&&, const Config&, Number);

/// From old positions to new ones, given as for apply.
template <Layout layout, class K, class Executor = detail::CallingThread>
ROPE_ABI inline void reposition(K&& k, const Config& config, PositionsArgument&& old_positions,
                                PositionsArgument&& new_positions, Executor&& executor = {});

/// From one schedule to another as well, neither of which depends on the length of the sequence.
template <Layout layout, class K, class Executor = detail::CallingThread>
ROPE_ABI inline void reposition(K&& k, const Config& old_config, PositionsArgument&& old_positions,
                                const Config& new_config, PositionsArgument&& new_positions, Executor&& executor = {});

/// The layout as a first argument, when it is known only at run time.
template <class... Args>
ROPE_ABI inline decltype(auto) reposition(Layout layout, Args&&... args);

ROPE_END

#include "detail/rotary/reposition.hpp"

#include "detail/paths/move_caches.hpp"

#include "detail/base/restore_macros.hpp"
