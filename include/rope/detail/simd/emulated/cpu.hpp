// SPDX-License-Identifier: MIT
#pragma once

#include "../../../version.hpp"

namespace rope {
inline namespace ROPE_VERSION_NAMESPACE {
namespace detail {
namespace emulated {

inline constexpr bool kHasFma = true;

ROPE_ABI inline bool is_available() noexcept { return avx2::is_available(); }

}  // namespace emulated
}  // namespace detail
}  // namespace ROPE_VERSION_NAMESPACE
}  // namespace rope
