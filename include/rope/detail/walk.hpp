// SPDX-License-Identifier: MIT
// The order in which the heads of a tensor are visited.
#pragma once

#include <cstdint>
#include <limits>

#include "../tensor_view.hpp"
#include "../types.hpp"

namespace rope {
inline namespace ROPE_VERSION_NAMESPACE {
namespace detail {

enum Axis : unsigned char { kBatchAxis, kSeqAxis, kHeadAxis, kNoAxis };

inline constexpr Index kAllHeads = std::numeric_limits<Index>::max();

/// The axes from the outermost to the innermost.
struct ROPE_ABI Order {
    Axis outer = kBatchAxis, middle = kSeqAxis, inner = kHeadAxis;
    /// How many heads of a token one row of cos and sin goes over while it is held in registers: all of them, or a few
    /// that are finished before the next are begun.
    Index heads_at_once = kAllHeads;
    /// The axis along which neighbours in memory are worked on at once, for tensors whose features are no neighbours.
    Axis lanes = kNoAxis;
    /// Whether tokens of one head are asked for ahead, and the rows of a table of one row per position, unless they are
    /// scaled first. Tokens of more heads are if heads_at_once is not all.
    bool single_heads_stream = false;
};

/// Larger calls than this stream from memory, so many heads at a time: with one, half-precision [2048, 32, 128] takes
/// 1.1 (half-split) and 1.5 times (interleaved) as long as with four; with eight, float 1.1 times.
inline constexpr Index kCachedBytes = Index(4) << 20;
inline constexpr Index kStreamedHeads = 4;

/// With one head for each row of cos and sin, half or more of what is read is table, and larger calls than this gain by
/// prefetch. Time with it over that without, [seq, 1, 128], float, half-split, a table of all rows, on the Xeon below,
/// taken once: 1.0 and 1.1 for 512 and 1024 tokens, 0.8 to 0.95 for 2048 to 8192; with a compact table 0.9 to 1.2.
inline constexpr Index kSingleHeadsCachedBytes = Index(512) << 10;

/// By the steps from batch entry to batch entry, from token to token and from head to head: entries before tokens or
/// tokens before entries; when they stream, all in the order of memory.
ROPE_NOINLINE Order sorted(Order order, Index batch, Index seq, Index heads, bool streams) noexcept {
    const Index steps[3] = {batch, seq, heads};
    const auto sort = [&steps](Axis& a, Axis& b) {
        if (steps[a] >= steps[b]) return;
        const Axis c = a;
        a = b;
        b = c;
    };
    sort(order.outer, order.middle);
    if (!streams) return order;
    order.heads_at_once = kStreamedHeads;
    sort(order.middle, order.inner);
    sort(order.outer, order.middle);
    return order;
}

/// Token by token while the tensor can be in the caches; in the order of memory, a few heads at a time and with
/// prefetch, when it cannot; tokens of one head have prefetch sooner. `lanes` is the axis whose elements are neighbours
/// in memory, if it is not the features.
///
/// Time over that of multiplying the same floats by a constant, [seq, 32, 128], AVX2 on one core of a Xeon with 2 MiB
/// of L2, registers shared by all heads against the order of memory, one head at a time:
///
///     seq              16             128             512            2048
///     half-split      1.02  1.04     1.03  1.06     1.01  1.01     1.14  0.99
///     interleaved     1.01  1.58     1.04  1.33     1.01  1.01     1.14  0.99
///
/// On a Zen 3 with 32 MiB of L3 it was 1.8 against 1.1 at 2048.
template <class T>
ROPE_INLINE Order choose_order(const TensorView<T>& v, Index bytes, Axis lanes) noexcept {
    Order order;
    order.lanes = lanes;
    order.single_heads_stream = bytes > kSingleHeadsCachedBytes;
    if (lanes == kSeqAxis || (v.batch == 1 && bytes <= kCachedBytes)) return order;
    // Of batch entries or tokens, if there is one, it is outermost: then the others follow one another.
    constexpr Index farthest = std::numeric_limits<Index>::max();
    return sorted(order, v.batch > 1 ? magnitude(v.batch_stride) : farthest,
                  v.seq > 1 ? magnitude(v.seq_stride) : farthest, v.heads > 1 ? magnitude(v.head_stride) : 0,
                  bytes > kCachedBytes && v.feature_stride == 1);
}

/// How far ahead of the work memory is asked for, in bytes.
inline constexpr std::uintptr_t kPrefetchDistance = 4096;

/// How many tokens or heads that are neighbours in memory are worked on at once: a cache line of floats.
inline constexpr Index kLanes = 16;

/// A place in the numbering of heads that an Order makes.
class ROPE_ABI HeadWalk {
 public:
    template <class T>
    ROPE_ABI HeadWalk(const Order& order, const TensorView<T>& v, Index begin) noexcept
        : extents_{v.batch, v.seq, v.heads}, at_{}, order_(order) {
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
    Order order_;
};

}  // namespace detail
}  // namespace ROPE_VERSION_NAMESPACE
}  // namespace rope
