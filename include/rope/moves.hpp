// SPDX-License-Identifier: MIT
// Moves: how cached keys rotate when they go from old positions to new ones.
#pragma once

#include <type_traits>
#include <utility>

#include "axis_map.hpp"
#include "axis_positions.hpp"
#include "config.hpp"
#include "frequencies.hpp"
#include "fwd.hpp"
#include "positions.hpp"
#include "types.hpp"

#include "detail/base/hide_macros.hpp"

#include "detail/base/executor.hpp"
#include "detail/base/other_calls.hpp"
#include "detail/tables/move_rows.hpp"

ROPE_BEGIN

/// How far every pair of every token rotates when a key that was rotated at position p goes to position q:
///
///     angle  q * w_new - p * w_old     magnitude  m_new(q) / m_old(p)
///
/// The magnitude (attention_factor and the schedule's) is in the key already and is not applied again: within one
/// schedule a move has magnitude 1 or, for xPos, the pair's growth from p to q.
///
///     rope::Moves<float> moves(config);                         // once
///     moves.build(-1024);                                       // context shift: all keys stand 1024 nearer to 0
///     for (auto& k : layers) rope::reposition<layout>(k, moves);
///
///     moves.build(deltas, tokens);                              // each key by a number of its own
///     moves.build(old_ids, new_ids, tokens);                    // closes gaps, divides positions (Self-Extend), ...
///
///     rope::Moves<float> longer(config, 4096, config, 8192);    // dynamic NTK or LongRoPE: the sequence has grown
///     longer.build(ids, ids, tokens);                           // the same positions, by the new frequencies
///
/// To apply and the other operations these are rows: a row's position is its number, apply_copy writes a moved key and
/// leaves the old one, apply_inverse moves back (not for xPos). T is float, for data in float, half and bfloat16, or
/// double, for data in double.
///
/// Accuracy. An entry is within CosSinCache::kMaxUlpError ulp of the real formula, as there: float below 2^31, double
/// below 2^22. Within one schedule an entry depends on the distance q - p, and at whole distances it has the bits of a
/// CosSinCache without magnitude at position q - p. ulp is the ulp of max(|entry|, m * 2^-10), where m is the pair's
/// magnitude in the move, for which m_new / m_old is rounded to double.
///
/// Cost. Making one takes a millisecond, or two for two schedules, and keeps as much memory as Rows, or twice as much.
/// Building for the positions of tokens takes as long as for Rows, with distances for positions; between two schedules
/// three times as long, in double four. build(delta) makes a single row. The memory of rows is reused: building
/// allocates only when there are more tokens than ever before.
///
/// Not copied or moved. Any number of threads may read moves while nobody builds.
template <class T>
class Moves : public detail::MoveRows<T> {
    using Base = detail::MoveRows<T>;

 public:
    ROPE_ABI ~Moves() = default;

    /// Within one schedule, frequencies(config, seq_len); each pair follows its axis of the map. Throws
    /// std::invalid_argument when check of either is not ok, and for mixed axes, whose frequencies no Config has;
    /// std::bad_alloc when there is no memory.
    ROPE_ABI explicit Moves(const Config& config, AxisMap map = {}, Index seq_len = 0)
        : Base({config, seq_len}, std::move(map)) {}

    /// From one schedule to another, each with the sequence length that its numbers are for: 0 where that is the
    /// original context or the schedule does not ask. Throws as above, and std::invalid_argument when the two do not
    /// rotate the same features, name different layouts, or m_new / m_old is not from 2^-32 to 2^32.
    ROPE_ABI Moves(const Config& old_config, Index old_seq_len, const Config& new_config, Index new_seq_len,
                   AxisMap map = {})
        : Base({old_config, old_seq_len}, {new_config, new_seq_len}, std::move(map)) {}

    /// For given frequencies, one set or two, which are not divided by anything. The slice says where in the head the
    /// rotated features lie; by default they are the head. Throws as above; mixed axes are allowed, but not with
    /// log_growth (xPos).
    ROPE_ABI explicit Moves(const Frequencies& frequencies, AxisMap map = {}, HeadSlice slice = {})
        : Base({frequencies, slice}, std::move(map)) {}
    ROPE_ABI Moves(const Frequencies& old_frequencies, const Frequencies& new_frequencies, AxisMap map = {},
                   HeadSlice slice = {})
        : Base({old_frequencies, slice}, {new_frequencies, slice}, std::move(map)) {}

    // The functions below check everything before they write anything: after a refusal the old rows are there.

    /// One move for all tokens of all calls: by delta positions, on every axis. Throws std::out_of_range for a delta
    /// outside -2^53 .. 2^53 and when the magnitude of xPos would change by more than e^64, and std::invalid_argument
    /// with two schedules, between which a move depends on where a token stands.
    ROPE_ABI void build(Index delta) { this->build_by(delta); }
    template <class Number, std::enable_if_t<detail::is_no_delta<Number>, int> = 0>
    ROPE_ABI void build(Number) {
        detail::refuse_delta<Number>();
    }

    /// A move of its own for each token: deltas[k] positions, on every axis, for token k of batch * seq, or of seq if all
    /// batch entries move alike. Any container of integers, or ids(ptr, n), of signed types: a negative number in an
    /// unsigned one is a large positive number. Throws std::invalid_argument for a wrong number of deltas, for counts
    /// outside 0 .. 2^40 and with two schedules; std::out_of_range as above; std::bad_alloc when there is no memory.
    template <class Count, std::enable_if_t<std::is_integral_v<Count>, int> = 0, class Executor = detail::CallingThread>
    ROPE_ABI void build(PositionsArgument&& deltas, Count seq, Index batch = 1, Executor&& executor = {}) {
        this->build_by(deltas, static_cast<Index>(seq), batch, detail::any_executor(detail::only_throwing(executor)));
    }

    /// Rows for batch * seq tokens, entry after entry; positions are given as for apply, in any order, repeats allowed.
    /// With several axes a token moves alike on all. Rows that were built for several batch entries are for calls with
    /// as many; rows that were built for one are for calls with any number. Throws std::invalid_argument for a wrong
    /// number of positions and for counts outside 0 .. 2^40; std::out_of_range for a position outside -2^52 .. 2^52 or
    /// beyond the sequence that its schedule's numbers are meant for, and for xPos as above; std::bad_alloc when there
    /// is no memory.
    ///
    /// For the executor see apply.hpp and Rows.
    template <class Executor = detail::CallingThread>
    ROPE_ABI void build(PositionsArgument&& old_given, PositionsArgument&& new_given, Index seq, Index batch = 1,
                        Executor&& executor = {}) {
        this->build_between(old_given, new_given, seq, batch, detail::any_executor(detail::only_throwing(executor)));
    }

    /// The same with positions of shape [axes, batch * seq], whole numbers or fractions.
    template <class Executor = detail::CallingThread>
    ROPE_ABI void build(const AxisPositions& old_positions, const AxisPositions& new_positions, Index seq,
                        Index batch = 1, Executor&& executor = {}) {
        this->build_between(old_positions, new_positions, seq, batch,
                            detail::any_executor(detail::only_throwing(executor)));
    }

    /// Refuses every other call when it is compiled: a list without the number of tokens, for one.
    template <bool never = false>
    ROPE_ABI void build(ROPE_ANY_ARGUMENTS) {
        detail::refuse_build<never>();
    }

    /// The rows that are built, as Rows has them; build(delta) makes one.
    using Base::cos_row;
    using Base::rows;
    using Base::sin_row;
    /// Memory of the caller's for the rows, as Rows::use_memory has it.
    using Base::use_memory;
    // map() is the AxisMap that was given.
};

ROPE_END

#if ROPE_HAS_DEFINITIONS
#    include "detail/tables/build_move_rows.hpp"
#endif

#include "detail/base/restore_macros.hpp"
