// SPDX-License-Identifier: MIT
#pragma once

#include "../../base/arithmetic.hpp"

ROPE_DETAIL_BEGIN
namespace portable {

inline constexpr bool kHasFma = ROPE_HAS_FMA != 0;

inline bool is_available() noexcept { return true; }

}  // namespace portable
ROPE_DETAIL_END
