// SPDX-License-Identifier: MIT
// The order in which the heads of a tensor are visited.
#pragma once

#include <limits>

#include "../../tensor_view.hpp"
#include "../../types.hpp"
#include "any_view.hpp"

#include "../base/hide_macros.hpp"

namespace rope {
inline namespace ROPE_VERSION_NAMESPACE {
namespace detail {

inline constexpr Index kAllHeads = std::numeric_limits<Index>::max();

/// The axes from the outermost to the innermost.
struct ROPE_ABI LoopOrder {
    Axis outer = kBatchAxis, middle = kSeqAxis, inner = kHeadAxis;
    /// How many heads of a token one row of cos and sin goes over while it is held in registers: all of them, or a few
    /// that are finished before the next are begun.
    Index heads_at_once = kAllHeads;
    /// Whether kernels ask for memory near ahead: see kMinPrefetchNearBytes.
    bool prefetches_near = false;
    /// The axis along which neighbours in memory are worked on at once; that of the features, too, if there are none.
    Axis lanes = kFeatureAxis;
};

/// Larger calls than this stream from memory, in the order of memory, and ask for it ahead. One head for each row of cos
/// and sin is no other case, though half of what is read is the table then. benchmarks/tuning.md has what was measured.
inline constexpr Index kStreamingBytes = Index(16) << 20;

/// Calls on more memory than kMinPrefetchNearBytes, up to kMaxPrefetchNearBytes, find it in L3. Kernels that do little but wait for
/// it ask for it themselves, near ahead, where one head follows the other: the core's own prefetch of such data changes
/// from second to second. Where the head ahead is that of a later token (heads before tokens), or has much that is not
/// rotated, asking would take longer. benchmarks/tuning.md has what was measured.
inline constexpr Index kMinPrefetchNearBytes = Index(1) << 20, kMaxPrefetchNearBytes = Index(8) << 20;

/// A stream rotates as many heads at a time as fit into so many bytes, or into twice as many of 16-bit elements, and at
/// least one. benchmarks/tuning.md has what was measured.
inline constexpr Index kStreamedGroupBytes = 512;

/// By the steps from batch entry to batch entry, from token to token and from head to head: entries before tokens or
/// tokens before entries; when they stream, all in the order of memory.
ROPE_NOINLINE void sort(LoopOrder& order, const AnyView& v, bool exceeds_cache) noexcept {
    // Of batch entries or tokens, if there is one, it is outermost: then the others follow one another.
    constexpr Index farthest = std::numeric_limits<Index>::max();
    Index steps[3] = {farthest, farthest, 0};
    for (int axis = 0; axis < 3; ++axis)
        if (v.extents[axis] > 1) steps[axis] = magnitude(v.strides[axis]);
    const auto put_larger_first = [&steps](Axis& a, Axis& b) {
        if (steps[a] >= steps[b]) return;
        const Axis c = a;
        a = b;
        b = c;
    };
    put_larger_first(order.outer, order.middle);
    if (!exceeds_cache) return;
    const Index bytes = v.extents[kFeatureAxis] * v.element_size;
    const Index most = v.element_size == 2 ? 2 * kStreamedGroupBytes : kStreamedGroupBytes;
    order.heads_at_once = bytes < most ? most / bytes : 1;
    put_larger_first(order.middle, order.inner);
    put_larger_first(order.outer, order.middle);
}

/// Token by token while the tensor can be in the caches; in the order of memory, a head or a few at a time and with
/// prefetch, when it cannot. `lanes` is the axis whose elements are neighbours in memory, or that of the features;
/// `elsewhere` says that as much is read in another place.
/// benchmarks/tuning.md has what was measured.
ROPE_INLINE LoopOrder choose_order(const AnyView& v, Index bytes, Axis lanes, bool is_out_of_place) noexcept {
    LoopOrder order;
    order.lanes = lanes;
    const bool exceeds_cache = bytes > kStreamingBytes;
    const Index places = is_out_of_place ? 2 : 1;
    order.prefetches_near = bytes > kMinPrefetchNearBytes / places && bytes <= kMaxPrefetchNearBytes / places;
    if (lanes == kBatchAxis) {
        order.outer = kSeqAxis;
        order.middle = kBatchAxis;
    } else if (lanes != kSeqAxis && (exceeds_cache || v.extents[kBatchAxis] != 1)) {
        sort(order, v, exceeds_cache && v.strides[kFeatureAxis] == 1);
    }
    return order;
}

/// How many tokens that are neighbours in memory are worked on at once, and how many at least, if there are as many:
/// fewer are joined with those of the next head.
inline constexpr Index kLanes = 64, kMinLanes = 16;

/// The next of the pieces, of `most` at most, that `left` is cut into: half of what is left, rather than a last piece
/// that no vector fits.
ROPE_INLINE Index piece_of(Index left, Index most) noexcept {
    return left <= most ? left : left < 2 * most ? (left + 1) / 2 : most;
}

/// A place in the numbering of heads that an Order makes.
class ROPE_ABI HeadIterator {
 public:
    ROPE_ABI HeadIterator(const LoopOrder& order, const AnyView& v, Index begin) noexcept
        : extents_{v.extents[kBatchAxis], v.extents[kSeqAxis], v.extents[kHeadAxis]}, at_{}, order_(order) {
        if (begin == 0) return;
        at_[order.inner] = begin % extents_[order.inner];
        begin /= extents_[order.inner];
        at_[order.middle] = begin % extents_[order.middle];
        at_[order.outer] = begin / extents_[order.middle];
    }

    ROPE_ABI Index batch() const noexcept { return at_[kBatchAxis]; }
    ROPE_ABI Index token() const noexcept { return at_[kSeqAxis]; }
    ROPE_ABI Index head() const noexcept { return at_[kHeadAxis]; }

    /// How many of the next `left` heads belong to the token that the walk stands at.
    ROPE_ABI Index heads_here(Index left) const noexcept {
        if (order_.inner != kHeadAxis) return 1;
        const Index heads = extents_[kHeadAxis] - at_[kHeadAxis];
        return heads < left ? heads : left;
    }

    /// How many tokens of the next `left` heads, each with the `heads` that heads_here gave, follow one another along
    /// token_axis(); at least 1.
    ROPE_ABI Index tokens_here(Index left, Index heads) const noexcept {
        if (order_.inner == kHeadAxis && heads != extents_[kHeadAxis]) return 1;
        const Index tokens = extents_[token_axis()] - at_[token_axis()];
        return left >= tokens * heads ? tokens : left < 2 * heads ? 1 : left / heads;
    }

    /// The inner one of the two axes that number tokens, if it is not the outermost of all.
    ROPE_ABI Axis token_axis() const noexcept { return order_.inner == kHeadAxis ? order_.middle : order_.inner; }

    /// Goes on by the `heads` that heads_here gave, of as many tokens as tokens_here gave.
    ROPE_ABI void advance(Index tokens, Index heads) noexcept {
        at_[token_axis()] += tokens - 1;
        if ((at_[order_.inner] += heads) < extents_[order_.inner]) return;
        at_[order_.inner] = 0;
        if (++at_[order_.middle] < extents_[order_.middle]) return;
        at_[order_.middle] = 0;
        ++at_[order_.outer];
    }

 private:
    Index extents_[3];
    Index at_[3];
    LoopOrder order_;
};

}  // namespace detail
}  // namespace ROPE_VERSION_NAMESPACE
}  // namespace rope

#include "../base/restore_macros.hpp"
