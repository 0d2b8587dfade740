// SPDX-License-Identifier: MIT
// Definitions of weights.hpp: checks of the rows, and the permutation cycle by cycle.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

#include "../../config.hpp"
#include "../../errors.hpp"
#include "../../types.hpp"
#include "../../weights.hpp"
#include "../base/bits.hpp"
#if ROPE_HAS_DEFINITIONS
#    include "../angles/config_checks.hpp"
#endif

ROPE_DETAIL_BEGIN

inline constexpr Index kMaxBytes = kPointersAreShort ? kMemoryBytes : Index(1) << 48;
inline constexpr const char* kMaxBytesText = kPointersAreShort ? "2^31 - 1" : "2^48";

ROPE_DETAIL_END

ROPE_BEGIN

template <class T>
ROPE_ABI inline HeadRows head_rows(const Config& config, Index heads, Index columns) noexcept {
    constexpr Index size = static_cast<Index>(sizeof(T)), most = detail::kMaxBytes / size;
    const Index row_bytes = columns < 0 ? -size : columns > most ? detail::kMaxBytes + size : columns * size;
    return {heads, config.head_dim, config.rotary_dim, config.rotary_offset, row_bytes, 0};
}

ROPE_END

#if ROPE_HAS_DEFINITIONS
ROPE_DETAIL_BEGIN

inline Index stride_of(const HeadRows& r) noexcept { return r.stride_bytes != 0 ? r.stride_bytes : r.row_bytes; }
inline Index rotary_dim(const HeadRows& r) noexcept { return r.rotary_dim != 0 ? r.rotary_dim : r.head_dim; }

/// Where row j of a rotated slice lay in the layout `from`: rows [2, pairs] of half_split are [pairs, 2] of the other.
inline Index row_before(Index j, Index pairs, Layout from) noexcept {
    if (from == Layout::half_split) return j % 2 * pairs + j / 2;
    return j < pairs ? 2 * j : 2 * (j - pairs) + 1;
}

/// Exchanges the bytes behind two pointers, which must not overlap.
inline void swap_bytes(unsigned char* a, unsigned char* b, Index count) noexcept {
    unsigned char saved[1024];
    constexpr Index most = static_cast<Index>(sizeof(saved));
    for (Index begin = 0; begin < count; begin += most) {
        const std::size_t part = static_cast<std::size_t>(count - begin < most ? count - begin : most);
        std::memcpy(saved, a + begin, part);
        std::memcpy(a + begin, b + begin, part);
        std::memcpy(b + begin, saved, part);
    }
}

ROPE_DETAIL_END

ROPE_BEGIN

ROPE_API Status check_rows(const void* in, const void* out, const HeadRows& rows, Layout from, Layout to) noexcept {
    using detail::invalid, detail::kMaxBytes;
    if (!detail::check_layout(from).ok() || !detail::check_layout(to).ok()) {
        const bool is_from = !detail::check_layout(from).ok();
        return invalid("{} is {}; it must be Layout::interleaved (0) or Layout::half_split (1).",
                       {is_from ? "from" : "to", static_cast<int>(is_from ? from : to)});
    }
    if (rows.heads < 0) return invalid("heads is {}; it must not be negative.", {rows.heads});
    if (const Status s = detail::check_slice(rows.head_dim, rows.rotary_dim, rows.rotary_offset); !s.ok()) return s;
    if (rows.row_bytes < 1 || rows.row_bytes > kMaxBytes)
        return invalid("row_bytes is {}; it must be from 1 to {}.", {rows.row_bytes, detail::kMaxBytesText});
    const Index stride = detail::stride_of(rows);
    if (stride < rows.row_bytes || stride > kMaxBytes)
        return invalid("stride_bytes is {}; it must be at least row_bytes ({}) and at most {}.",
                       {stride, rows.row_bytes, detail::kMaxBytesText});
    if (rows.heads == 0) return Status();
    if (rows.heads > kMaxBytes / stride / rows.head_dim)
        return invalid("heads is {}; its {} {row|rows} of {} {byte|bytes} each must not exceed {} {byte|bytes}.",
                       {rows.heads, rows.head_dim, stride, detail::kMaxBytesText});
    if (in == nullptr || out == nullptr)
        return invalid("{} is null; it must point to {} {row|rows}.", {in == out       ? "data"
                                                                       : in == nullptr ? "in"
                                                                                       : "out",
                                                                       rows.heads * rows.head_dim});
    const std::uintptr_t bytes =
        static_cast<std::uintptr_t>((rows.heads * rows.head_dim - 1) * stride + rows.row_bytes);
    const std::uintptr_t distance = reinterpret_cast<std::uintptr_t>(out) - reinterpret_cast<std::uintptr_t>(in);
    if (distance != 0 && (distance < bytes || 0 - distance < bytes))
        return invalid("in and out may overlap; they must be the same pointer, or lie {} {byte|bytes} or more apart.",
                       {bytes});
    return Status();
}

ROPE_API void permute_rows(void* data, const HeadRows& rows, Layout from, Layout to) {
    detail::ok_or_raise(check_rows(data, data, rows, from, to));
    if (from == to) return;
    const Index d = detail::rotary_dim(rows), stride = detail::stride_of(rows);
    std::vector<std::pair<Index, Index>> swaps;  // in this order, they walk every cycle of the permutation
    std::vector<bool> done(static_cast<std::size_t>(d), false);
    for (Index first = 0; first < d; ++first)
        for (Index j = first; !done[static_cast<std::size_t>(j)];) {
            done[static_cast<std::size_t>(j)] = true;
            const Index next = detail::row_before(j, d / 2, from);
            if (next != first) swaps.emplace_back(j, next);
            j = next;
        }
    for (Index h = 0; h < rows.heads; ++h) {
        unsigned char* const slice =
            static_cast<unsigned char*>(data) + (h * rows.head_dim + rows.rotary_offset) * stride;
        for (const auto& [a, b] : swaps) detail::swap_bytes(slice + a * stride, slice + b * stride, rows.row_bytes);
    }
}

ROPE_API void permute_rows_copy(const void* in, void* out, const HeadRows& rows, Layout from, Layout to) {
    if (in == out) return permute_rows(out, rows, from, to);
    detail::ok_or_raise(check_rows(in, out, rows, from, to));
    const Index d = detail::rotary_dim(rows), stride = detail::stride_of(rows);
    for (Index h = 0; h < rows.heads; ++h)
        for (Index f = 0; f < rows.head_dim; ++f) {
            const Index j = f - rows.rotary_offset;
            const bool moves = from != to && j >= 0 && j < d;
            const Index source = moves ? rows.rotary_offset + detail::row_before(j, d / 2, from) : f;
            std::memcpy(static_cast<unsigned char*>(out) + (h * rows.head_dim + f) * stride,
                        static_cast<const unsigned char*>(in) + (h * rows.head_dim + source) * stride,
                        static_cast<std::size_t>(rows.row_bytes));
        }
}

ROPE_END
#endif
