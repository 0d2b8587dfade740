// SPDX-License-Identifier: MIT
#pragma once

#include "../../../version.hpp"

namespace rope {
inline namespace ROPE_VERSION_NAMESPACE {
namespace detail {
namespace neon {

inline constexpr bool kHasFma = true;

ROPE_ABI inline bool is_available() noexcept { return true; }

}  // namespace neon
}  // namespace detail
}  // namespace ROPE_VERSION_NAMESPACE
}  // namespace rope
