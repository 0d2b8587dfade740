// SPDX-License-Identifier: MIT
#pragma once

#include "../../base/arithmetic.hpp"

namespace rope {
inline namespace ROPE_VERSION_NAMESPACE {
namespace detail {
namespace portable {

inline constexpr bool kHasFma = ROPE_HAS_FMA != 0;

ROPE_ABI inline bool is_available() noexcept { return true; }

}  // namespace portable
}  // namespace detail
}  // namespace ROPE_VERSION_NAMESPACE
}  // namespace rope
