// SPDX-License-Identifier: MIT
// Definitions of position_builders.hpp: checks of grids and packed sequences, and the loops that fill lists.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "../../errors.hpp"
#include "../../list.hpp"
#include "../../position_builders.hpp"
#include "../../positions.hpp"
#include "../../types.hpp"
#include "../base/arithmetic.hpp"
#include "../base/bits.hpp"

ROPE_DETAIL_BEGIN

inline constexpr Index kMaxTokens = kPointersAreShort ? Index(1) << 26 : Index(1) << 40;  // three positions each
inline constexpr const char* kMaxTokensText = kPointersAreShort ? "2^26" : "2^40";

/// Whether positions from `first` to first + last (at most 2^54) are from -2^52 to 2^52, and `first` alone where `last`
/// is below 0. Number is Index or double.
template <class Number>
constexpr bool positions_fit(Number first, Number last) noexcept {
    constexpr Number most = static_cast<Number>(kMaxPosition);
    return first >= -most && first <= most && last <= most - first;
}
inline Status check_first(const char* name, Index first, Index count) noexcept {
    if (positions_fit(first, count - 1)) return Status();
    return out_of_range("{} is {}; the {} {position|positions} from there must lie between -2^52 and 2^52.",
                        {name, first, count});
}

inline Status check_extent(const char* name, Index extent) noexcept {
    if (extent >= 1 && extent <= kMaxTokens) return Status();
    return invalid("{} is {}; it must be from 1 to {}.", {name, extent, kMaxTokensText});
}

inline Status check_grid(Index height, Index width, const GridOrder& order) noexcept {
    if (const Status s = check_extent("height", height); !s.ok()) return s;
    if (const Status s = check_extent("width", width); !s.ok()) return s;
    if (order.block < 1 || height % order.block != 0 || width % order.block != 0)
        return invalid("block is {}; it must be at least 1 and divide height ({}) and width ({}).",
                       {order.block, height, width});
    for (const Index around : {order.before, order.after})
        if (around < 0 || around > kMaxTokens)
            return invalid("{} is {}; it must be from 0 to {}.",
                           {around == order.before ? "before" : "after", around, kMaxTokensText});
    if (height > kMaxTokens / width || order.before + height * width + order.after > kMaxTokens)
        return invalid(
            "The grid has {} * {} patches, {} {token|tokens} before them and {} after; there are at most {} in all.",
            {height, width, order.before, order.after, kMaxTokensText});
    return Status();
}

/// position_of(i, n) is the position of row or column i of n.
template <class Number, class PositionOf>
std::vector<Number> fill_grid(Index height, Index width, const GridOrder& order, const PositionOf& position_of) {
    const Index tokens = order.before + height * width + order.after;
    std::vector<Number> positions(static_cast<std::size_t>(2 * tokens));  // of zeros
    Number* rows = positions.data() + order.before + (order.width_first ? tokens : 0);
    Number* columns = positions.data() + order.before + (order.width_first ? 0 : tokens);
    for (Index top = 0; top < height; top += order.block)
        for (Index left = 0; left < width; left += order.block)
            for (Index y = top; y < top + order.block; ++y)
                for (Index x = left; x < left + order.block; ++x) {
                    *rows++ = position_of(y, height);
                    *columns++ = position_of(x, width);
                }
    return positions;
}

/// Calls put(y, x) for each patch of a frame, row after row.
template <class Put>
void for_each_patch(Index height, Index width, const Put& put) noexcept {
    for (Index y = 0; y < height; ++y)
        for (Index x = 0; x < width; ++x) put(y, x);
}

inline Status check_cu_seqlens(const Positions& cu_seqlens) noexcept {
    const Index entries = cu_seqlens.count();
    if (entries < 1)
        return invalid("cu_seqlens has {} {entry|entries}; it must have one more than there are sequences.", {entries});
    if (cu_seqlens.data() == nullptr)
        return invalid("cu_seqlens is a null pointer; it must point to {} {number|numbers}.", {entries});
    for (Index i = 0, before = 0; i < entries; ++i) {
        const Index entry = cu_seqlens[i];
        if (i == 0 && entry != 0) return invalid("cu_seqlens[0] is {}; it must be 0.", {entry});
        if (entry < before || entry > kMaxTokens)
            return invalid("cu_seqlens[{}] is {}; it must be from cu_seqlens[{}] ({}) to {}.",
                           {i, entry, i - 1, before, kMaxTokensText});
        before = entry;
    }
    return Status();
}

inline Index start_of(const Positions& starts, Index sequence) noexcept {
    return starts.kind() == Positions::Kind::start ? starts.start() : starts[sequence];
}

inline Status check_packed(const Positions& cu_seqlens, const Positions& starts) noexcept {
    if (const Status s = check_cu_seqlens(cu_seqlens); !s.ok()) return s;
    const Index sequences = cu_seqlens.count() - 1;
    if (starts.kind() != Positions::Kind::start) {
        if (starts.count() != sequences)
            return invalid("starts has {} {entry|entries}; there must be one per sequence ({}).",
                           {starts.count(), sequences});
        if (starts.data() == nullptr && sequences > 0)
            return invalid("starts is a null pointer; it must point to {} {number|numbers}.", {sequences});
    }
    for (Index i = 0; i < sequences; ++i) {
        const Index start = start_of(starts, i), length = cu_seqlens[i + 1] - cu_seqlens[i];
        if (!positions_fit(start, length - 1))
            return out_of_range(
                "Sequence {} starts at position {}; its {} {position|positions} must lie between -2^52 and 2^52.",
                {i, start, length});
    }
    return Status();
}

inline Status check_ranks(Index ranks, const Positions& cu_seqlens) noexcept {
    if (ranks < 1 || ranks > Index(1) << 30) return invalid("ranks is {}; it must be from 1 to 2^30.", {ranks});
    if (const Status s = check_cu_seqlens(cu_seqlens); !s.ok()) return s;
    for (Index i = 0; i + 1 < cu_seqlens.count(); ++i)
        if (const Index length = cu_seqlens[i + 1] - cu_seqlens[i]; length % (2 * ranks) != 0)
            return invalid("Sequence {} has {} {token|tokens}; {} {rank needs|ranks need} a multiple of {}.",
                           {i, length, ranks, 2 * ranks});
    return Status();
}

inline Status check_shard(Index rank, Index ranks, const Positions& cu_seqlens, const Positions& starts) noexcept {
    if (const Status s = check_ranks(ranks, cu_seqlens); !s.ok()) return s;
    if (rank < 0 || rank >= ranks) return invalid("rank is {}; it must be from 0 to {}.", {rank, ranks - 1});
    return check_packed(cu_seqlens, starts);
}

/// For lists that were checked.
inline Index tokens_of(const Positions& cu_seqlens, Index ranks) noexcept {
    return cu_seqlens[cu_seqlens.count() - 1] / ranks;
}

inline Status check_memory(const Index* to, Index tokens, Index wanted) noexcept {
    if (tokens != wanted) return invalid("tokens is {}; cu_seqlens makes it {}.", {tokens, wanted});
    if (to == nullptr && wanted > 0)
        return invalid("to is a null pointer; it must point to {} {number|numbers}.", {wanted});
    return Status();
}

inline void write_packed(const Positions& cu_seqlens, const Positions& starts, Index* to) noexcept {
    for (Index i = 0; i + 1 < cu_seqlens.count(); ++i) {
        const Index start = start_of(starts, i), length = cu_seqlens[i + 1] - cu_seqlens[i];
        for (Index s = 0; s < length; ++s) *to++ = start + s;
    }
}

inline void write_shard(Index rank, Index ranks, const Positions& cu_seqlens, const Positions& starts,
                        Index* to) noexcept {
    for (Index i = 0; i + 1 < cu_seqlens.count(); ++i) {
        const Index start = start_of(starts, i), part = (cu_seqlens[i + 1] - cu_seqlens[i]) / (2 * ranks);
        for (const Index which : {rank, 2 * ranks - 1 - rank})
            for (Index s = 0; s < part; ++s) *to++ = start + which * part + s;
    }
}

ROPE_DETAIL_END

#if ROPE_HAS_DEFINITIONS
ROPE_BEGIN

ROPE_API std::vector<Index> image_grid(Index height, Index width, const GridOrder& order, Index first) {
    detail::ok_or_raise(detail::check_grid(height, width, order));
    detail::ok_or_raise(detail::check_first("first", first, std::max(height, width)));
    return detail::fill_grid<Index>(height, width, order, [first](Index i, Index) { return first + i; });
}

ROPE_API std::vector<double> image_grid_centred(Index height, Index width, const GridOrder& order) {
    detail::ok_or_raise(detail::check_grid(height, width, order));
    // 2(i + 0.5)/n - 1 is one quotient, rounded once; hidden from -ffast-math, which would take a reciprocal.
    return detail::fill_grid<double>(height, width, order, [](Index i, Index n) {
        return static_cast<double>(2 * i + 1 - n) / detail::hide_from_optimizer(static_cast<double>(n));
    });
}

ROPE_API std::vector<Index> video_grid(Index frames, Index height, Index width, Index first_frame, Index first_row,
                                       Index first_column) {
    const Index first[3] = {first_frame, first_row, first_column}, extents[3] = {frames, height, width};
    constexpr const char* extent_names[3] = {"frames", "height", "width"};
    constexpr const char* first_names[3] = {"first_frame", "first_row", "first_column"};
    for (int axis = 0; axis < 3; ++axis) {
        detail::ok_or_raise(detail::check_extent(extent_names[axis], extents[axis]));
        detail::ok_or_raise(detail::check_first(first_names[axis], first[axis], extents[axis]));
    }
    if (height > detail::kMaxTokens / frames || width > detail::kMaxTokens / frames / height)
        detail::refuse(detail::invalid("The grid has {} * {} * {} patches; there are at most {} in all.",
                                       {frames, height, width, detail::kMaxTokensText}));
    const Index tokens = frames * height * width;
    std::vector<Index> positions(static_cast<std::size_t>(3 * tokens));
    Index* to = positions.data();
    for (Index t = 0; t < frames; ++t)
        detail::for_each_patch(height, width, [&to, t, tokens, &first](Index y, Index x) {
            to[0] = first[0] + t;
            to[tokens] = first[1] + y;
            to[2 * tokens] = first[2] + x;
            ++to;
        });
    return positions;
}

ROPE_API std::vector<Index> packed_positions(PositionsArgument&& cu_seqlens, PositionsArgument&& starts) {
    detail::ok_or_raise(detail::check_packed(cu_seqlens, starts));
    std::vector<Index> result(static_cast<std::size_t>(detail::tokens_of(cu_seqlens, 1)));
    detail::write_packed(cu_seqlens, starts, result.data());
    return result;
}
ROPE_API void packed_positions(PositionsArgument&& cu_seqlens, PositionsArgument&& starts, Index* to, Index tokens) {
    detail::ok_or_raise(detail::check_packed(cu_seqlens, starts));
    detail::ok_or_raise(detail::check_memory(to, tokens, detail::tokens_of(cu_seqlens, 1)));
    detail::write_packed(cu_seqlens, starts, to);
}

ROPE_API std::vector<Index> context_parallel_positions(Index rank, Index ranks, PositionsArgument&& cu_seqlens,
                                                       PositionsArgument&& starts) {
    detail::ok_or_raise(detail::check_shard(rank, ranks, cu_seqlens, starts));
    std::vector<Index> result(static_cast<std::size_t>(detail::tokens_of(cu_seqlens, ranks)));
    detail::write_shard(rank, ranks, cu_seqlens, starts, result.data());
    return result;
}
ROPE_API std::vector<Index> context_parallel_cu_seqlens(Index ranks, PositionsArgument&& cu_seqlens) {
    const Positions& all = cu_seqlens;
    detail::ok_or_raise(detail::check_ranks(ranks, all));
    std::vector<Index> result(static_cast<std::size_t>(all.count()));
    for (std::size_t i = 0; i < result.size(); ++i) result[i] = all[static_cast<Index>(i)] / ranks;
    return result;
}

ROPE_END
#endif
