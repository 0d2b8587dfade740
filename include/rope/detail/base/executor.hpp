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
inline constexpr Index kItemBytes = 16384;  // in each work item of larger calls, at least

/// Which calls go to an executor.
enum class Cutting : unsigned char {
    never,     // none: the calling thread does all
    if_large,  // those that write at least kSplitBytes, in items that are worth the hand-over
    always,    // all, in such items
    by_heads   // all, head by head
};
template <class Executor, class = void>
inline constexpr Cutting cutting_of = Cutting::if_large;
template <>
inline constexpr Cutting cutting_of<CallingThread> = Cutting::never;

ROPE_DETAIL_END
