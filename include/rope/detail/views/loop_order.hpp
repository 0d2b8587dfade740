// SPDX-License-Identifier: MIT
// The order in which the heads of a tensor are visited.
#pragma once

#include "../../types.hpp"
#include "any_view.hpp"

ROPE_DETAIL_BEGIN

inline constexpr Index kAllHeads = kMaxIndex;

/// The axes from the outermost to the innermost.
struct LoopOrder {
    Axis outer = kBatchAxis, middle = kSeqAxis, inner = kHeadAxis;
    /// The heads rotated together while a row of cos and sin is in registers: all heads of a token, or a group that is
    /// finished before the next one begins.
    Index heads_at_once = kAllHeads;
    /// The axis of vector lanes: a contiguous axis, or the features if no axis is contiguous.
    Axis lanes = kFeatureAxis;
};

/// Calls that write more stream: they go in the order of memory and use software prefetch. Out of place as much is read
/// from elsewhere. One head per row of cos and sin has no other limit, though half of the bytes read are the table's
/// then. See benchmarks/tuning.md.
template <bool is_out_of_place>
inline constexpr Index kCachedBytes = Index(is_out_of_place ? 6 : 16) << 20;

/// A streaming call rotates groups of as many heads as fit into so many bytes (twice as many for 16-bit elements), at
/// least one. See benchmarks/tuning.md.
inline constexpr Index kStreamedGroupBytes = 512;

/// Sorts axes by descending stride: batch entries and tokens always, heads, too, if the call streams.
ROPE_NOINLINE void sort(LoopOrder& order, const AnyView& v, bool exceeds_cache) noexcept {
    // A batch or seq axis of extent 1 goes outermost, so that the other axes follow one another.
    Index steps[3] = {kMaxIndex, kMaxIndex, 0};
    for (int axis = 0; axis < 3; ++axis)
        if (v.extents[axis] > 1) steps[axis] = absolute(v.strides[axis]);
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

/// Chooses token by token while the tensor fits into the caches, else the order of memory, one head or a few at a time,
/// with software prefetch. `lanes` is the contiguous axis, or the features if none is. See benchmarks/tuning.md.
ROPE_INLINE LoopOrder choose_order(const AnyView& v, bool exceeds_cache, Axis lanes) noexcept {
    LoopOrder order;
    order.lanes = lanes;
    if (lanes == kBatchAxis) {
        order.outer = kSeqAxis;
        order.middle = kBatchAxis;
    } else if (lanes != kSeqAxis && (exceeds_cache || v.extents[kBatchAxis] != 1)) {
        sort(order, v, exceeds_cache && v.strides[kFeatureAxis] == 1);
    }
    return order;
}

/// Rotates up to kLanes adjacent tokens at once, one per lane. Fewer than kMinLanes are joined with the tokens of the
/// next heads.
inline constexpr Index kLanes = 64, kMinLanes = 16;

/// The size of the next piece when `left` is cut into pieces of at most `most`. The last two are halves, so that no
/// tail is shorter than a vector.
ROPE_INLINE Index piece_of(Index left, Index most) noexcept {
    return left <= most ? left : left < 2 * most ? (left + 1) / 2 : most;
}

/// Iterates over heads in a LoopOrder.
class HeadIterator {
 public:
    HeadIterator(const LoopOrder& order, const AnyView& v, Index begin) noexcept
        : extents_{v.extents[kBatchAxis], v.extents[kSeqAxis], v.extents[kHeadAxis]}, at_{}, order_(order) {
        if (begin == 0) return;
        at_[order.inner] = begin % extents_[order.inner];
        begin /= extents_[order.inner];
        at_[order.middle] = begin % extents_[order.middle];
        at_[order.outer] = begin / extents_[order.middle];
    }

    Index batch() const noexcept { return at_[kBatchAxis]; }
    Index token() const noexcept { return at_[kSeqAxis]; }
    Index head() const noexcept { return at_[kHeadAxis]; }

    /// How many of the next `left` heads belong to the current token.
    Index heads_here(Index left) const noexcept {
        if (order_.inner != kHeadAxis) return 1;
        const Index heads = extents_[kHeadAxis] - at_[kHeadAxis];
        return heads < left ? heads : left;
    }

    /// How many tokens follow one another along token_axis() within the next `left` heads, each with `heads` heads
    /// (from heads_here); at least 1.
    Index tokens_here(Index left, Index heads) const noexcept {
        if (order_.inner == kHeadAxis && heads != extents_[kHeadAxis]) return 1;
        const Index tokens = extents_[token_axis()] - at_[token_axis()];
        return left >= tokens * heads ? tokens : left < 2 * heads ? 1 : left / heads;
    }

    /// The inner one of the two axes that number tokens.
    Axis token_axis() const noexcept { return order_.inner == kHeadAxis ? order_.middle : order_.inner; }

    /// Advances by `tokens` tokens (from tokens_here) of `heads` heads each (from heads_here).
    void advance(Index tokens, Index heads) noexcept {
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

ROPE_DETAIL_END
