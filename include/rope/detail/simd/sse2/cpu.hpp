// SPDX-License-Identifier: MIT
#pragma once

#include "../../../version.hpp"

namespace rope {
inline namespace ROPE_VERSION_NAMESPACE {
namespace detail {
namespace sse2 {

inline constexpr bool kHasFma = false;

ROPE_ABI inline bool is_available() noexcept { return true; }

}  // namespace sse2
}  // namespace detail
}  // namespace ROPE_VERSION_NAMESPACE
}  // namespace rope
