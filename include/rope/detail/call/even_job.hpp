// SPDX-License-Identifier: MIT
// The work of a call whose pieces are all of one size.
#pragma once

#include "../../types.hpp"
#include "../kernels/interface.hpp"
#include "job.hpp"

ROPE_DETAIL_BEGIN

/// A task of equal pieces, with its kernel. `heads` is their number, as run_range calls it; they may be tokens, say.
template <class Task>
struct EvenJob {
    Task task;
    Kernel<Task> kernel;
    Index heads;
    Index bytes;     // of all pieces, written or read
    Index unit = 1;  // so many pieces stay together: all heads of a token, if a norm needs them

    Index per_unit() const noexcept { return unit; }
    Index per_item() const noexcept {
        const Index of_one = heads > 0 ? bytes / heads + 1 : 1;
        return count_items(kItemBytes / of_one + 1, unit) * unit;
    }
};

ROPE_DETAIL_END
