// SPDX-License-Identifier: MIT
#pragma once

#include "../../../version.hpp"

ROPE_DETAIL_BEGIN
namespace sse2 {

inline constexpr bool kHasFma = false;

inline bool is_available() noexcept { return true; }

}  // namespace sse2
ROPE_DETAIL_END
