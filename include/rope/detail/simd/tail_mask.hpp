// SPDX-License-Identifier: MIT
// Masked tail: the last vector of a row overlaps the one before it, and its store skips the elements already written.
#pragma once

#include "../../types.hpp"

ROPE_DETAIL_BEGIN

inline constexpr Index kLongestVector = 64;  // bytes
struct TailMask {
    unsigned char mask[2 * kLongestVector];
};
constexpr TailMask make_tail_mask() noexcept {
    TailMask bytes = {};
    for (Index i = 0; i < kLongestVector; ++i) bytes.mask[i] = 0xff;
    return bytes;
}
inline constexpr TailMask kTailMaskBytes = make_tail_mask();

/// A mask of kLongestVector bytes: `kept` bytes of ones, then zeros.
ROPE_INLINE const unsigned char* tail_mask(Index kept) noexcept { return kTailMaskBytes.mask + kLongestVector - kept; }

ROPE_DETAIL_END
