// SPDX-License-Identifier: MIT
#pragma once

#include "../../../version.hpp"

ROPE_DETAIL_BEGIN
namespace emulated {

inline constexpr bool kHasFma = true;

inline bool is_available() noexcept { return avx2::is_available(); }

}  // namespace emulated
ROPE_DETAIL_END
