// SPDX-License-Identifier: MIT
// The default executor, and the size from which a call goes to the caller's executor.
#pragma once

#include "../../types.hpp"

namespace rope {
inline namespace ROPE_VERSION_NAMESPACE {
namespace detail {

/// Runs all work on the calling thread.
struct ROPE_ABI CallingThread {
    template <class F>
    ROPE_ABI void operator()(Index count, F&& f) const {
        f(Index(0), count);
    }
};

/// Smaller calls end before another thread has begun.
inline constexpr Index kSplitBytes = Index(1) << 20;

}  // namespace detail
}  // namespace ROPE_VERSION_NAMESPACE
}  // namespace rope
