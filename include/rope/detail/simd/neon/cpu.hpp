// SPDX-License-Identifier: MIT
#pragma once

#include "../../../version.hpp"

ROPE_DETAIL_BEGIN
namespace neon {

inline constexpr bool kHasFma = true;

inline bool is_available() noexcept { return true; }

}  // namespace neon
ROPE_DETAIL_END
