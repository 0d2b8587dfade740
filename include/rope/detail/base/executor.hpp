// SPDX-License-Identifier: MIT
// The default executor, and the size from which a call is handed to another one.
#pragma once

#include "../../types.hpp"

namespace rope {
inline namespace ROPE_VERSION_NAMESPACE {
namespace detail {

/// The default executor.
struct ROPE_ABI CallingThread {
    template <class F>
    ROPE_ABI void operator()(Index count, F&& f) const {
        f(Index(0), count);
    }
};

/// Calls on less than this are over before another thread has begun.
inline constexpr Index kSplitBytes = Index(1) << 20;

}  // namespace detail
}  // namespace ROPE_VERSION_NAMESPACE
}  // namespace rope
