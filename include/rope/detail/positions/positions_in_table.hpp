// SPDX-License-Identifier: MIT
// Checks that a call has as many positions as tokens, each of them in the table.
#pragma once

#include "../../errors.hpp"
#include "../../positions.hpp"
#include "../../tensor_view.hpp"
#include "../../types.hpp"

ROPE_DETAIL_BEGIN

/// The operations that a table supports, as bits.
using Capabilities = unsigned char;
inline constexpr Capabilities kInterleaved = 1, kHalfSplit = 2, kInverse = 4;

/// The properties of a table that the checks of a call need.
struct TableShape {
    Index head_dim, first_position, max_positions;
    const char* name = "cache";    // in messages
    Capabilities unsupported = 0;  // operations that the table is not made for
    Index batch = 0;               // entries that a call must have; 0: any
    bool is_by_position = false;   // on one axis
    Index heads = 0;               // with rows of their own, of which a call has a multiple; 0: any
};

/// Marks a clamped position in a message: unsigned positions beyond the largest Index become the largest Index.
inline const char* or_more(Index position) noexcept { return position == kMaxIndex ? " or more" : ""; }

/// Requires a number of positions that fits the call, and each of them in the table.
ROPE_COLD Status check_positions(const Positions& p, Index batch, Index seq, const TableShape& table) noexcept {
    const Index low = table.first_position;
    const Index high = low + table.max_positions - 1;
    const Index tokens = clamped_product(batch, seq);
    if (table.max_positions == 0 && tokens > 0)
        return out_of_range("positions are those of {} {token|tokens}; this {} holds none (yet).", {seq, table.name});
    if (p.kind() == Positions::Kind::start) {
        if (tokens == 0) return Status();
        if (p.start() < low || p.start() > high || seq - 1 > high - p.start())
            return out_of_range("positions start at {}{} and seq is {}; this {} holds positions {} to {}.",
                                {p.start(), or_more(p.start()), seq, table.name, low, high});
        return Status();
    }
    const bool starts = p.kind() == Positions::Kind::start_per_entry;
    if (starts && p.count() != batch)
        return invalid("positions has {} {start|starts}; there must be one per batch entry ({}).", {p.count(), batch});
    if (!starts && batch == 1 && p.count() != seq)
        return invalid("positions has {} {id|ids}; there must be one for each token, seq ({}) of them.",
                       {p.count(), seq});
    if (!starts && p.count() != seq && p.count() != tokens)
        return invalid("positions has {} {id|ids}; there must be seq ({}) or batch * seq ({}) of them.",
                       {p.count(), seq, tokens});
    if (p.count() == 0 || seq == 0) return Status();
    if (p.data() == nullptr)
        return invalid("positions is a null pointer; it must point to {} {integer|integers}.", {p.count()});
    // The last position allowed: of starts the one that leaves room for seq tokens, below `low` if none does.
    const Index last = !starts ? high : seq > table.max_positions ? low - 1 : high - (seq - 1);
    const Index outside = p.find_outside(low, last);
    if (outside == p.count()) return Status();
    const Index position = p[outside];
    const char* const more = or_more(position);
    if (starts)
        return out_of_range("positions[{}] is {}{}, the start of {} {token|tokens}; this {} holds positions {} to {}.",
                            {outside, position, more, seq, table.name, low, high});
    return out_of_range("positions[{}] is {}{}; this {} holds positions {} to {}.",
                        {outside, position, more, table.name, low, high});
}

ROPE_DETAIL_END
