// SPDX-License-Identifier: MIT
// The work of a call whose pieces are all of one size.
#pragma once

#include "job.hpp"

ROPE_DETAIL_BEGIN

/// A task of `heads` such pieces, with its kernel; heads of a tensor or, say, tokens.
template <class Task>
struct EvenJob {
    Task task;
    Kernel<Task> kernel;
    Index heads;
    Index bytes;     // of all pieces, written or read
    Index unit = 1;  // a cut lies between so many pieces

    Index per_unit() const noexcept { return unit; }
    Index per_item() const noexcept {  // some 16 KiB or more
        const Index of_one = heads > 0 ? bytes / heads + 1 : 1;
        return count_items(Index(16384) / of_one + 1, unit) * unit;
    }
};

ROPE_DETAIL_END
