// SPDX-License-Identifier: MIT
// The mask with which the last vector of a row is stored over a place whose beginning is done already.
#pragma once

#include "../../types.hpp"

namespace rope {
inline namespace ROPE_VERSION_NAMESPACE {
namespace detail {

inline constexpr Index kLongestVector = 64;  // bytes
struct ROPE_ABI KeptBytes {
    unsigned char mask[2 * kLongestVector];
};
ROPE_ABI constexpr KeptBytes make_kept_bytes() noexcept {
    KeptBytes bytes = {};
    for (Index i = 0; i < kLongestVector; ++i) bytes.mask[i] = 0xff;
    return bytes;
}
inline constexpr KeptBytes kTailMaskBytes = make_kept_bytes();

/// `kept` bytes of ones, then zeros: as many of both together as the longest vector has.
ROPE_INLINE const unsigned char* tail_mask(Index kept) noexcept { return kTailMaskBytes.mask + kLongestVector - kept; }

}  // namespace detail
}  // namespace ROPE_VERSION_NAMESPACE
}  // namespace rope
