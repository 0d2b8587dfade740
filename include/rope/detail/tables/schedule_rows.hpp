// SPDX-License-Identifier: MIT
// A schedule with its coarse and fine rows for angle addition; the move of a token from one position to another.
#pragma once

#include <algorithm>
#include <cstddef>

#include "../../axis_map.hpp"
#include "../../axis_positions.hpp"
#include "../../errors.hpp"
#include "../../frequencies.hpp"
#include "../../types.hpp"
#include "../angles/phase.hpp"
#include "../positions/axis_map.hpp"
#include "angle_addition.hpp"
#include "coarse_rows.hpp"
#include "table_source.hpp"

ROPE_DETAIL_BEGIN

/// The move of a token on one axis.
struct Move {
    AxisPosition from, to;
};
inline bool operator==(const Move& a, const Move& b) noexcept {
    return a.from.whole == b.from.whole && a.from.part == b.from.part && a.to.whole == b.to.whole &&
           a.to.part == b.to.part;
}

inline Status check_is_not_mixed(const TableSource& s, const AxisMap& map) noexcept {
    if (!map.is_mixed || s.schedule == nullptr) return Status();
    return invalid("map is mixed; frequencies of mixed axes are numbers: give Frequencies.");
}

/// Requires a map that fits the frequencies, and no growth (xPos) with mixed axes.
inline Status check_map(const TableSource& s, const AxisMap& map, std::size_t growing) noexcept {
    if (const Status mixed = check_is_not_mixed(s, map); !mixed.ok()) return mixed;
    const Status fits = check(map, static_cast<Index>(s.f.inv_freq.size()));
    if (!fits.ok() || !map.is_mixed || growing == 0) return fits;
    return invalid("log_growth has {} {entry|entries}; with mixed axes it must be empty.", {growing});
}

/// The last position that rows of a source can be for.
inline Index last_position(const TableSource& s) noexcept { return std::min(kMaxPosition, s.longest - 1); }

template <class T>
struct ScheduleRows {
    using Angles = AngleTables<T>;
    using Work = typename Angles::Work;
    using Row = WorkingRow<Work>;

    Frequencies f;
    Index last = kMaxPosition;  // position for which the frequencies are valid
    Angles angles;
    CoarseRows<Work> coarse;

    /// Orders the frequencies, which are valid up to a position, and makes the fine rows; for mixed axes, only the phases.
    /// False without memory; for as many pairs as the last time that is at hand.
    bool prepare(const Frequencies& by, Index last_valid, const AxisOrder& order, bool is_mixed) {
        put_in_order(by, order, f);
        last = last_valid;
        if (is_mixed) return angles.prepare(f, 1, 1);
        return angles.prepare(f, Angles::kFineRows, Angles::kAnchorBlocks) &&
               coarse.prepare(static_cast<Index>(f.inv_freq.size()));
    }
    /// Ensures that the coarse row of a position is present; false if no place is free.
    bool provide(Index position) {
        return coarse.provide(block_of(position), [this](Index block, Row row) { angles.make_coarse(f, block, row); });
    }
    /// The coarse and the fine row of a position, from pair i on: their angles add up to the position's angles.
    Row coarse_row(Index position, Index i) const noexcept { return from(coarse.find(block_of(position)), i); }
    Row fine_row(Index position, Index i) const noexcept {
        return from(angles.fine(position - block_of(position) * Angles::kFineRows), i);
    }

    /// The angle of pair i at a place.
    Phase phase(Index i, AxisPosition p) const noexcept {
        const Phase at_whole = angles.per_position(i) * p.whole;
        return p.part == 0.0 ? at_whole : at_whole + phase_from_radians(Angles::frequency(f, i) * exact(p.part));
    }
    /// cos and sin of an angle, times the magnitude of pair i at a place.
    CosSin<DoubleDouble> grown(Index i, Phase angle, AxisPosition p) const noexcept {
        const DoubleDouble growing = exact(p.whole) + exact(p.part) - exact(f.centre);
        const DoubleDouble m = Angles::magnitude(f, i, f.attention_factor, growing);
        const CosSin<DoubleDouble> unit = cos_sin(angle);
        return {unit.cos * m, unit.sin * m};
    }

 private:
    static Index block_of(Index position) noexcept { return floor_divide(position, Angles::kFineRows); }
    static Row from(Row row, Index i) noexcept { return {row.cos + i, row.sin + i}; }
};

ROPE_DETAIL_END
