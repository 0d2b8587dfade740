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

/// Rows by their block, in a hash table of fixed size with linear probing: a row lies in one of kProbes slots, and
/// rows in use stay until release().
template <class Work>
class CoarseRows {
 public:
    static constexpr Index kSlots = 256;  // 256 KiB for 64 pairs in float; a power of two
    static constexpr Index kProbes = 8;   // at least the axes of a token, so that its rows always fit

    /// Forgets all rows. False without memory; for as many pairs as the last time that is at hand.
    bool prepare(Index pairs) {
        if (pairs != pairs_) {
            pairs_ = pairs;
            rows_.reset(new (std::nothrow) Work[static_cast<std::size_t>(2 * pairs * kSlots)]);
            slots_.reset(new (std::nothrow) Slot[static_cast<std::size_t>(kSlots)]);
        }
        if (!rows_ || !slots_) return false;
        std::fill_n(slots_.get(), kSlots, Slot());
        return true;
    }

    /// Ensures that the row of a block is present, by make(block, row) if it is not; false if no slot is free.
    template <class Make>
    bool provide(Index block, const Make& make) {
        Index free = -1;
        for (Index probe = 0; probe < kProbes; ++probe) {
            Slot& slot = slot_of(block, probe);
            if (slot.block == block) {
                slot.user = user_;
                return true;
            }
            if (free < 0 && slot.user != user_) free = probe;
        }
        if (free < 0) return false;
        Slot& slot = slot_of(block, free);
        slot = {block, user_};
        make(block, row(slot));
        return true;
    }

    /// The row of a block that was provided since the last release.
    WorkingRow<Work> find(Index block) const noexcept {
        Index probe = 0;
        while (probe < kProbes - 1 && slot_of(block, probe).block != block) ++probe;
        return row(slot_of(block, probe));
    }

    /// Marks all rows as not in use. They stay present until others replace them.
    void release() noexcept { ++user_; }

 private:
    struct Slot {
        Index block = kMaxIndex;  // none
        std::uint64_t user = 0;
    };

    Slot& slot_of(Index block, Index probe) const noexcept {
        return slots_[static_cast<std::size_t>((block + probe) & (kSlots - 1))];
    }
    WorkingRow<Work> row(const Slot& slot) const noexcept {
        Work* const at = &rows_[static_cast<std::size_t>((&slot - slots_.get()) * 2 * pairs_)];
        return {at, at + pairs_};
    }

    Index pairs_ = 0;
    std::unique_ptr<Work[]> rows_;
    std::unique_ptr<Slot[]> slots_;
    std::uint64_t user_ = 1;
};

ROPE_DETAIL_END
