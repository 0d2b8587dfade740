// SPDX-License-Identifier: MIT
// The order in which the heads of a tensor are visited.
#pragma once

#include <limits>

#include "../tensor_view.hpp"
#include "../types.hpp"
#include "any_view.hpp"

#include "hide_macros.hpp"

namespace rope {
inline namespace ROPE_VERSION_NAMESPACE {
namespace detail {

inline constexpr Index kAllHeads = std::numeric_limits<Index>::max();

/// The axes from the outermost to the innermost.
struct ROPE_ABI Order {
    Axis outer = kBatchAxis, middle = kSeqAxis, inner = kHeadAxis;
    /// How many heads of a token one row of cos and sin goes over while it is held in registers: all of them, or a few
    /// that are finished before the next are begun.
    Index heads_at_once = kAllHeads;
    /// Whether kernels ask for memory near ahead: see kLeastAskedNear.
    bool asks_near = false;
    /// The axis along which neighbours in memory are worked on at once; that of the features, too, if there are none.
    Axis lanes = kFeatureAxis;
};

/// Larger calls than this stream from memory: they ask for it ahead. Time over that of `scale` on a Zen 5 with 32 MiB
/// of L3, [seq, 32, 128], as a stream and not, half-split and interleaved:
///
///                      8 MiB                  16 MiB                 24 MiB                 32 MiB
///  float, AVX-512  1.45 1.68  1.07 1.06   1.46 1.58  1.10 1.03   1.07 0.99  1.15 1.10   1.02 0.89  1.11 1.13
///  float, AVX2     2.25 2.69  1.31 1.50   2.08 2.45  1.34 1.60   1.36 1.58  1.68 1.66   1.05 1.19  1.78 1.88
///  double, AVX2                           1.84 2.28  1.45 1.51   1.19 1.41  2.14 2.23   1.03 1.14  2.31 2.41
///  half, AVX2                             1.40 1.83  1.16 1.46   1.17 1.50  1.21 1.33   0.97 1.22  1.16 1.21
///
/// (On a Xeon with 2 MiB of L2, 8 MiB of float took 0.67 and 0.69 as a stream; not, 1.01.)
///
/// One head for each row of cos and sin is no other case, though half of what is read is table then: asking ahead from
/// 512 KiB on made [2048, 1, 128] take 1.2 times as long on a Zen 3, medians of eight processes, and 0.9 on the Xeon.
inline constexpr Index kCachedBytes = Index(16) << 20;

/// Calls on more memory than kLeastAskedNear, up to kMostAskedNear, find it in L3. Kernels that do little but wait for
/// it ask for it themselves, near ahead, where one head follows the other. Time over that of `scale` on the Zen 5,
/// AVX-512, with nothing asked for and asked for:
///
///                                 1 MiB        2 MiB        4 MiB        8 MiB        12 MiB       16 MiB
///  float, half-split            1.08 1.14    1.07 1.00    1.04 0.91    1.04 1.07    1.08 1.15    1.08 1.21
///  float, interleaved           1.09 1.14    1.06 0.99    1.05 0.89    1.03 1.04    1.05 1.12    1.05 1.17
///  double, half-split           1.10 1.09    1.05 0.97    1.00 0.92    1.06 1.02    1.12 1.17    1.17 1.28
///
/// What a core's own prefetch does for 4 MiB and more changes from second to second: `scale` takes 70 us or 84 for
/// 8 MiB, and so does a rotation that asks for nothing. One that asks takes 72 to 80 in either state (the figures are
/// of the fast one; in the slow one 8 MiB are 1.04 and 0.91), and two threads 39 to 44 us in place of 41 to 46. Where
/// the head ahead is that of a later token (heads before tokens), or has much that does not turn, asking took 1.04 to
/// 1.5 times as long.
inline constexpr Index kLeastAskedNear = Index(1) << 20, kMostAskedNear = Index(8) << 20;

/// A stream turns as many heads at a time as fit into this, or twice as much of 16-bit elements, and at least one. Time
/// over that of `scale` on the Zen 5, AVX-512 and AVX2, half-split and interleaved:
///
///  heads at a time               1                      2                      4                      8
///  half, [8192, 32, 128]    0.91 0.89  1.21 1.63   0.85 0.86  0.92 1.24   0.97 1.01  0.93 1.15   0.97 0.99  0.98 1.12
///  float, [4096, 32, 128]   0.95 0.85  0.85 0.93   0.97 1.01  0.94 1.00   1.13 1.13  1.21 1.25   1.23 1.22  1.36 2.07
///  double, [2048, 32, 128]  1.02 0.92  0.98 0.99   1.26 1.14  1.56 1.72   1.53 1.27  1.73 2.31   1.62 1.43  1.92 2.33
///
/// On a Zen 3, too, four of half were best, and one of float and double. On the Xeon, half with one took 1.1 and 1.5
/// times as long as with four, and float with eight 1.1 times.
inline constexpr Index kStreamedBytes = 512;

/// By the steps from batch entry to batch entry, from token to token and from head to head: entries before tokens or
/// tokens before entries; when they stream, all in the order of memory.
ROPE_NOINLINE void sort(Order& order, const AnyView& v, bool streams) noexcept {
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
    if (!streams) return;
    const Index bytes = v.extents[kFeatureAxis] * v.element_size;
    const Index most = v.element_size == 2 ? 2 * kStreamedBytes : kStreamedBytes;
    order.heads_at_once = bytes < most ? most / bytes : 1;
    put_larger_first(order.middle, order.inner);
    put_larger_first(order.outer, order.middle);
}

/// Token by token while the tensor can be in the caches; in the order of memory, a head or a few at a time and with
/// prefetch, when it cannot. `lanes` is the axis whose elements are neighbours in memory, or that of the features;
/// `elsewhere` says that as much is read in another place.
///
/// Time over that of multiplying the same floats by a constant, [seq, 32, 128], AVX2 on one core of a Xeon with 2 MiB
/// of L2, registers shared by all heads against the order of memory, one head at a time:
///
///     seq              16             128             512            2048
///     half-split      1.02  1.04     1.03  1.06     1.01  1.01     1.14  0.99
///     interleaved     1.01  1.58     1.04  1.33     1.01  1.01     1.14  0.99
///
/// On a Zen 3 with 32 MiB of L3 it was 1.8 against 1.1 at 2048.
ROPE_INLINE Order choose_order(const AnyView& v, Index bytes, Axis lanes, bool elsewhere) noexcept {
    Order order;
    order.lanes = lanes;
    const bool streams = bytes > kCachedBytes;
    const Index places = elsewhere ? 2 : 1;
    order.asks_near = bytes > kLeastAskedNear / places && bytes <= kMostAskedNear / places;
    if (lanes == kBatchAxis) {
        order.outer = kSeqAxis;
        order.middle = kBatchAxis;
    } else if (lanes != kSeqAxis && (streams || v.extents[kBatchAxis] != 1)) {
        sort(order, v, streams && v.strides[kFeatureAxis] == 1);
    }
    return order;
}

/// How many tokens that are neighbours in memory are worked on at once, and how many at least, if there are as many:
/// fewer are joined with those of the next head.
inline constexpr Index kLanes = 64, kFewLanes = 16;

/// The next of the pieces, of `most` at most, that `left` is cut into: half of what is left, rather than a last piece
/// that no vector fits.
ROPE_INLINE Index piece_of(Index left, Index most) noexcept {
    return left <= most ? left : left < 2 * most ? (left + 1) / 2 : most;
}

/// A place in the numbering of heads that an Order makes.
class ROPE_ABI HeadWalk {
 public:
    ROPE_ABI HeadWalk(const Order& order, const AnyView& v, Index begin) noexcept
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
    Order order_;
};

}  // namespace detail
}  // namespace ROPE_VERSION_NAMESPACE
}  // namespace rope

#include "restore_macros.hpp"
