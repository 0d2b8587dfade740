// SPDX-License-Identifier: MIT
// The default executor, and the size from which a call goes to the caller's executor.
#pragma once

#include "../../types.hpp"

ROPE_DETAIL_BEGIN

/// Runs all work on the calling thread.
struct CallingThread {
    template <class F>
    void operator()(Index count, F&& f) const {
        f(Index(0), count);
    }
};

/// Smaller calls end before another thread has begun.
inline constexpr Index kSplitBytes = Index(1) << 20;

ROPE_DETAIL_END
