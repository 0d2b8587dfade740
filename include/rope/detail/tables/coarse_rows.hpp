// SPDX-License-Identifier: MIT
// Caches the coarse rows of a step for the next steps.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>

#include "../../types.hpp"
#include "angle_addition.hpp"

ROPE_DETAIL_BEGIN

/// Rows by their block, in a hash table of fixed size with linear probing: a row lies in one of kProbes places, and
/// rows in use stay until release().
template <class Work>
class CoarseRows {
 public:
    static constexpr Index kPlaces = 256;  // 256 KiB for 64 pairs in float; a power of two
    static constexpr Index kProbes = 8;    // at least the axes of a token, so that its rows always fit

    /// Forgets all rows. False without memory; for as many pairs as the last time that is at hand.
    bool prepare(Index pairs) {
        if (pairs != pairs_) {
            pairs_ = pairs;
            rows_.reset(new (std::nothrow) Work[static_cast<std::size_t>(2 * pairs * kPlaces)]);
            places_.reset(new (std::nothrow) Place[static_cast<std::size_t>(kPlaces)]);
        }
        if (!rows_ || !places_) return false;
        std::fill_n(places_.get(), kPlaces, Place());
        return true;
    }

    /// Ensures that the row of a block is present, by make(block, row) if it is not; false if no place is free.
    template <class Make>
    bool provide(Index block, const Make& make) {
        Index free = -1;
        for (Index probe = 0; probe < kProbes; ++probe) {
            Place& place = place_of(block, probe);
            if (place.block == block) {
                place.user = user_;
                return true;
            }
            if (free < 0 && place.user != user_) free = probe;
        }
        if (free < 0) return false;
        Place& place = place_of(block, free);
        place = {block, user_};
        make(block, row(place));
        return true;
    }

    /// The row of a block that was provided since the last release.
    WorkingRow<Work> find(Index block) const noexcept {
        Index probe = 0;
        while (probe < kProbes - 1 && place_of(block, probe).block != block) ++probe;
        return row(place_of(block, probe));
    }

    /// Marks all rows as not in use. They stay present until others replace them.
    void release() noexcept { ++user_; }

 private:
    struct Place {
        Index block = kMaxIndex;  // none
        std::uint64_t user = 0;
    };

    Place& place_of(Index block, Index probe) const noexcept {
        return places_[static_cast<std::size_t>((block + probe) & (kPlaces - 1))];
    }
    WorkingRow<Work> row(const Place& place) const noexcept {
        Work* const at = &rows_[static_cast<std::size_t>((&place - places_.get()) * 2 * pairs_)];
        return {at, at + pairs_};
    }

    Index pairs_ = 0;
    std::unique_ptr<Work[]> rows_;
    std::unique_ptr<Place[]> places_;
    std::uint64_t user_ = 1;
};

ROPE_DETAIL_END
