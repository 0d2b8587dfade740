// SPDX-License-Identifier: MIT
// Checks of the positions that rows are built for.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "../../axis_map.hpp"
#include "../../axis_positions.hpp"
#include "../../errors.hpp"
#include "../../frequencies.hpp"
#include "../../list.hpp"
#include "../../positions.hpp"
#include "../../types.hpp"
#include "../base/message.hpp"
#include "axis_map.hpp"
#include "positions_in_table.hpp"

ROPE_DETAIL_BEGIN

/// Requires at most 2^40 tokens.
inline Status check_tokens(Index seq, Index batch) noexcept {
    constexpr Index most = Index(1) << 40;
    if (seq < 0 || seq > most) return invalid("seq is {}; it must be from 0 to 2^40.", {seq});
    if (batch < 0 || batch > most / std::max<Index>(seq, 1))
        return invalid("batch is {}; it must not be negative, and batch * seq at most 2^40.", {batch});
    return Status();
}

/// The advice in an error for positions beyond the last valid one of a schedule.
inline const char* advice(Index last) noexcept {
    return last < kMaxPosition ? " (Name the longest sequence as seq_len.)" : "";
}

/// Checks positions as apply takes them, up to `last`, for which the frequencies are valid; `prefix` begins a message.
inline Status check_positions(const char* prefix, const Positions& p, Index axes, Index seq, Index batch,
                              Index last) noexcept {
    const TableShape shape = {0, -kMaxPosition, last + kMaxPosition + 1, "schedule"};
    const Status s = check_positions(p, batch, seq, shape);
    if (s.ok()) return s;
    if (axes > 1 && p.kind() == Positions::Kind::ids && p.count() == axes * batch * seq)
        return invalid("{}{} (Positions on {} {axis|axes} are AxisPositions.)", {prefix, s.message(), axes});
    return Status(s.code(),
                  Message("{}{}{}", {prefix, s.message(), s.code() == StatusCode::out_of_range ? advice(last) : ""}));
}

/// Requires positions up to `last` on as many axes as the map has.
inline Status check_positions(const char* prefix, const AxisPositions& p, Index axes, Index seq, Index batch,
                              Index last) noexcept {
    const Index tokens = batch * seq;
    if (p.axes() != axes) return invalid("{}positions has {} {axis|axes}; the map has {}.", {prefix, p.axes(), axes});
    if (p.tokens() != tokens)
        return invalid("{}positions has {} {token|tokens}; there must be batch * seq ({}) of them.",
                       {prefix, p.tokens(), tokens});
    if (p.data() == nullptr && tokens > 0)
        return invalid("{}positions is a null pointer; it must point to {} * {} numbers.", {prefix, axes, tokens});
    for (Index axis = 0; axis < axes; ++axis)
        for (Index token = 0; token < tokens; ++token)
            if (!p.is_in_range(axis, token) || p.as_double(axis, token) > static_cast<double>(last))
                return out_of_range("{}positions[{}][{}] is {}; it must be from -2^52 to {}.{}",
                                    {prefix, axis, token, p.as_double(axis, token),
                                     last == kMaxPosition ? "2^52" : Message("{}", {last}).text(), advice(last)});
    return Status();
}

/// Requires a distance that a move of all tokens can have.
inline Status check_delta(Index delta, bool has_two_schedules) noexcept {
    if (has_two_schedules)
        return invalid("delta is {}; between two schedules a move depends on the position: give old and new positions.",
                       {delta});
    if (delta >= -2 * kMaxPosition && delta <= 2 * kMaxPosition) return Status();
    return out_of_range("delta is {}; it must be from -2^53 to 2^53.", {delta});
}

/// The same for a list of distances, one for each token.
inline Status check_deltas(const Positions& deltas, Index seq, Index batch, bool has_two_schedules) noexcept {
    if (has_two_schedules)
        return invalid(
            "deltas are given; between two schedules a move depends on the position: give old and new positions.");
    if (deltas.kind() != Positions::Kind::ids)
        return invalid("deltas are given by start_at; they must be a list with a number for each token.");
    if (batch == 1 && deltas.count() != seq)
        return invalid("deltas has {} {entry|entries}; there must be one for each token, seq ({}) of them.",
                       {deltas.count(), seq});
    if (deltas.count() != seq && deltas.count() != batch * seq)
        return invalid("deltas has {} {entry|entries}; there must be seq ({}) or batch * seq ({}) of them.",
                       {deltas.count(), seq, batch * seq});
    if (deltas.count() == 0) return Status();
    if (deltas.data() == nullptr)
        return invalid("deltas is a null pointer; it must point to {} {integer|integers}.", {deltas.count()});
    const Index outside = deltas.find_outside(-2 * kMaxPosition, 2 * kMaxPosition);
    if (outside == deltas.count()) return Status();
    return out_of_range("deltas[{}] is {}{}; it must be from -2^53 to 2^53.",
                        {outside, deltas[outside], or_more(deltas[outside])});
}

/// A growing magnitude (xPos) changes by at most e to this power.
inline constexpr double kMaxGrowth = 64.0;

/// Requires growing magnitudes to stay within kMaxGrowth over the two distances in positions.
inline Status check_growth_between(const List<double>& of_new, double new_farthest, const List<double>& of_old,
                                   double old_farthest, const AxisOrder& order) noexcept {
    for (std::size_t i = 0; i < std::max(of_new.size(), of_old.size()); ++i) {
        const double change = (of_new.empty() ? 0.0 : std::fabs(of_new[i]) * new_farthest) +
                              (of_old.empty() ? 0.0 : std::fabs(of_old[i]) * old_farthest);
        if (change > kMaxGrowth)
            return out_of_range(
                "the magnitude of pair {} would change by up to e^{} (xPos); it must stay within e^-64 .. e^64.",
                {order.pair(static_cast<Index>(i)), change});
    }
    return Status();
}

ROPE_DETAIL_END
