// SPDX-License-Identifier: MIT
// Moves: how cached keys rotate when they go from old positions to new ones.
#pragma once

#include <type_traits>
#include <utility>

#include "axis_map.hpp"
#include "axis_positions.hpp"
#include "config.hpp"
#include "errors.hpp"
#include "frequencies.hpp"
#include "fwd.hpp"
#include "positions.hpp"
#include "types.hpp"

#include "detail/base/executor.hpp"
#include "detail/positions/move_checks.hpp"
#include "detail/positions/position_checks.hpp"
#include "detail/tables/token_rows.hpp"

#include "detail/base/hide_macros.hpp"

namespace rope {
inline namespace ROPE_VERSION_NAMESPACE {

namespace detail {

/// As the number of rows: one row serves every token.
inline constexpr Index kEveryToken = Index(1) << 62;

/// Types that cannot be a number of positions to move by, or not a negative one: numbers that are no integers of up to
/// 64 bits, and short unsigned integers.
template <class Number>
inline constexpr bool is_no_delta =
    std::is_convertible_v<Number, Index> && !std::is_class_v<Number> && !std::is_enum_v<Number> &&
    (!is_position_integer<Number> || (std::is_unsigned_v<Number> && sizeof(Number) < sizeof(Index)));

}  // namespace detail

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
class Moves : public detail::TokenRows<T> {
 public:
    ROPE_ABI ~Moves() = default;

    /// Within one schedule, frequencies(config, seq_len); each pair follows its axis of the map. Throws
    /// std::invalid_argument when check of either is not ok, and for mixed axes, whose frequencies no Config has;
    /// std::bad_alloc when there is no memory.
    ROPE_ABI explicit Moves(const Config& config, AxisMap map = {}, Index seq_len = 0) : Moves(false) {
        if (!detail::ok_or_raise(detail::make_frequencies(config, seq_len, this->new_.f)) ||
            !detail::ok_or_raise(detail::check_map_of_config(map)))
            return;
        this->old_.last = this->new_.last = detail::last_position(config, seq_len);
        this->layout_ = config.layout;
        prepare(std::move(map), {config.head_dim, config.rotary_offset});
    }

    /// From one schedule to another, each with the sequence length that its numbers are for: 0 where that is the
    /// original context or the schedule does not ask. Throws as above, and std::invalid_argument when the two do not
    /// rotate the same features, name different layouts, or m_new / m_old is not from 2^-32 to 2^32.
    ROPE_ABI Moves(const Config& old_config, Index old_seq_len, const Config& new_config, Index new_seq_len,
                   AxisMap map = {})
        : Moves(true) {
        if (!detail::ok_or_raise(detail::make_frequencies(old_config, old_seq_len, this->old_.f)) ||
            !detail::ok_or_raise(detail::make_frequencies(new_config, new_seq_len, this->new_.f)) ||
            !detail::ok_or_raise(detail::check_features(old_config, new_config)) ||
            !detail::ok_or_raise(detail::check_map_of_config(map)))
            return;
        this->old_.last = detail::last_position(old_config, old_seq_len);
        this->new_.last = detail::last_position(new_config, new_seq_len);
        this->layout_ = new_config.layout ? new_config.layout : old_config.layout;
        prepare(std::move(map), {new_config.head_dim, new_config.rotary_offset});
    }

    /// For given frequencies, one set or two, which are not divided by anything. The slice says where in the head the
    /// rotated features lie; by default they are the head. Throws as above; mixed axes are allowed, but not with
    /// log_growth (xPos).
    ROPE_ABI explicit Moves(const Frequencies& frequencies, AxisMap map = {}, HeadSlice slice = {}) : Moves(false) {
        this->new_.f = frequencies;
        if (detail::ok_or_raise(check(this->new_.f))) prepare(std::move(map), slice);
    }
    ROPE_ABI Moves(const Frequencies& old_frequencies, const Frequencies& new_frequencies, AxisMap map = {},
                   HeadSlice slice = {})
        : Moves(true) {
        this->old_.f = old_frequencies;
        this->new_.f = new_frequencies;
        if (detail::ok_or_raise(check(this->old_.f)) && detail::ok_or_raise(check(this->new_.f)))
            prepare(std::move(map), slice);
    }

    // The functions below check everything before they write anything, and return whether they have built. With
    // exceptions that is always true; without, a refused call returns false when its handler returns, and the old rows
    // stay.

    /// One move for all tokens of all calls: by delta positions, on every axis. Throws std::out_of_range for a delta
    /// outside -2^53 .. 2^53 and when the magnitude of xPos would change by more than e^64, and std::invalid_argument
    /// with two schedules, between which a move depends on where a token stands.
    ROPE_ABI bool build(Index delta) {
        if (!detail::ok_or_raise(detail::check_tokens(this->pairs_, 1, 1)) ||
            !detail::ok_or_raise(detail::check_delta(delta, this->has_two_)))
            return false;
        detail::CallingThread here;
        if (!this->build_rows(1, 1, false, here, [delta](Index, Index) {
                return detail::Move{{0, 0.0}, {delta, 0.0}};
            }))
            return false;
        this->source_.stride = 0;
        this->count_ = detail::kEveryToken;
        return true;
    }
    template <class Number, std::enable_if_t<detail::is_no_delta<Number>, int> = 0>
    ROPE_ABI bool build(Number) {
        static_assert(
            detail::never<Number>,
            "delta must be a signed integer of up to 64 bits (32 unsigned bits with a minus sign would be some "
            "4 billion positions): write rope::Index(delta).");
        return false;
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
    ROPE_ABI bool build(PositionsArgument&& old_given, PositionsArgument&& new_given, Index seq, Index batch = 1,
                        Executor&& executor = {}) {
        const Positions& old_positions = old_given;
        const Positions& new_positions = new_given;
        if (!detail::ok_or_raise(detail::check_tokens(this->pairs_, seq, batch)) ||
            !detail::ok_or_raise(
                detail::check_positions("old_", old_positions, this->map_.axes, seq, batch, this->old_.last)) ||
            !detail::ok_or_raise(
                detail::check_positions("new_", new_positions, this->map_.axes, seq, batch, this->new_.last)))
            return false;
        return this->build_rows(seq, batch, this->map_.is_mixed, executor, [&](Index, Index token) {
            const Index b = token / seq, s = token % seq;
            return detail::Move{{old_positions.at(b, s, seq), 0.0}, {new_positions.at(b, s, seq), 0.0}};
        });
    }

    /// The same with positions of shape [axes, batch * seq], whole numbers or fractions.
    template <class Executor = detail::CallingThread>
    ROPE_ABI bool build(const AxisPositions& old_positions, const AxisPositions& new_positions, Index seq,
                        Index batch = 1, Executor&& executor = {}) {
        if (!detail::ok_or_raise(detail::check_tokens(this->pairs_, seq, batch)) ||
            !detail::ok_or_raise(
                detail::check_axes("old_positions", old_positions, this->map_.axes, batch * seq, this->old_.last)) ||
            !detail::ok_or_raise(
                detail::check_axes("new_positions", new_positions, this->map_.axes, batch * seq, this->new_.last)))
            return false;
        const bool is_slow = this->map_.is_mixed || old_positions.is_fractional() || new_positions.is_fractional();
        return this->build_rows(seq, batch, is_slow, executor, [&](Index axis, Index token) {
            return detail::Move{old_positions.at(axis, token), new_positions.at(axis, token)};
        });
    }

 private:
    ROPE_ABI explicit Moves(bool has_two) noexcept : detail::TokenRows<T>("table of moves", has_two) {}

    ROPE_ABI void prepare(AxisMap map, HeadSlice slice) {
        Frequencies& f = this->new_.f;
        Frequencies& from = this->old_.f;
        if (!detail::ok_or_raise(detail::check_moves(f, this->has_two_ ? &from : nullptr, map))) return;
        // Within one schedule a move is the row of position q - p, whose magnitude begins at 1. Between two it is the
        // product of the new row of position q and the old one of -p, whose magnitude is the reciprocal of the
        // magnitude at p.
        const double old_m = this->has_two_ ? from.attention_factor : f.attention_factor;
        f.attention_factor = (detail::exact(f.attention_factor) / detail::exact(old_m)).hi;
        from.attention_factor = 1.0;
        from.centre = -from.centre;
        if (!this->has_two_) f.centre = 0.0;
        this->make(std::move(map), slice);
    }
};

}  // namespace ROPE_VERSION_NAMESPACE
}  // namespace rope

#include "detail/base/restore_macros.hpp"
