// SPDX-License-Identifier: MIT
// KeyPositions: where the keys of a cache were rotated, and where they stand now.
#pragma once

#include "list.hpp"
#include "types.hpp"

#include "detail/base/hide_macros.hpp"

#include "detail/positions/key_places.hpp"

ROPE_BEGIN

/// For each place of a cache (a slot), the position that its key was rotated at, and the position where it stands now. Keys
/// that move are counted here and stay as they were written, so a thousand moves cost what one costs, and round nothing:
/// in 8 or 4 bits a thousand moves of 1, each written back, would leave little of a key.
///
///     rope::KeyPositions record(pages * page_size);                          // once for all layers
///     record.write(slots, positions);                                        // after a pass wrote keys at these positions
///     record.shift(slots_behind_the_gap, -100);                              // keys move: integers alone
///
///     moves.build(record.rotated_at(slots), record.now_at(slots), tokens);   // once per step for all layers
///     rope::pass<layout>(moves, rope::start_at(0),                           // what attention reads: exact
///                        rope::heads(rope::q8_0(pages.with_slots(slots))).rotate().to(to_read));
///
///     rope::reposition<layout>(rope::q8_0(pages.with_slots(slots)), moves);  // at last, to have it done: rounds once
///     record.settle(slots);
///
/// Slots are a contiguous container of integers, -1 for an entry that is left out; positions one of axes() lists with an
/// integer for each slot, from -2^52 to 2^52. Each function checks everything before it writes, and throws
/// std::out_of_range for a slot or a position outside its range, std::invalid_argument for counts that do not fit.
///
/// Memory   16 bytes for each place and axis. Any number of threads may read while nobody writes.
class KeyPositions {
 public:
    /// Places from 0 to 2^32 (2^24 where pointers have 32 bits), all at position 0. Axes: 1, or as many as the AxisMap has,
    /// from 1 to 8. Throws std::bad_alloc when there is no memory.
    ROPE_ABI explicit KeyPositions(Index places, Index axes = 1) : all_(places, axes) {}

    /// The number of places, and of axes.
    ROPE_ABI Index places() const noexcept { return all_.places(); }
    ROPE_ABI Index axes() const noexcept { return all_.axes(); }

    /// Keys were written there, rotated at these positions.
    template <class Slots, class Positions>
    ROPE_ABI void write(const Slots& keys, const Positions& positions) {
        all_.put(detail::counted(keys), detail::counted(positions), true);
    }
    /// Keys move to these positions.
    template <class Slots, class Positions>
    ROPE_ABI void move(const Slots& keys, const Positions& positions) {
        all_.put(detail::counted(keys), detail::counted(positions), false);
    }
    /// Keys move by as many positions, on every axis.
    template <class Slots>
    ROPE_ABI void shift(const Slots& keys, Index delta) {
        all_.shift(detail::counted(keys), delta);
    }
    /// The keys of some slots were copied to others, one after the other.
    template <class From, class To>
    ROPE_ABI void copy(const From& from, const To& to) {
        all_.copy(detail::counted(from), detail::counted(to));
    }
    /// Keys were rotated on to where they stand.
    template <class Slots>
    ROPE_ABI void settle(const Slots& keys) {
        all_.settle(detail::counted(keys));
    }

    /// For Moves::build: the positions at which the keys of these slots were rotated, [axes, slots]; 0 where a slot is -1.
    template <class Slots>
    ROPE_ABI List<Index> rotated_at(const Slots& keys) const {
        return all_.gathered(detail::counted(keys), true);
    }
    /// And those where they stand now.
    template <class Slots>
    ROPE_ABI List<Index> now_at(const Slots& keys) const {
        return all_.gathered(detail::counted(keys), false);
    }

 private:
    detail::KeyPlaces all_;
};

ROPE_END

#include "detail/base/restore_macros.hpp"
