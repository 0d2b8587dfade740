// SPDX-License-Identifier: MIT
// A quick test that accepts nearly every call that is not plain (plain_calls.hpp); checks.hpp decides about the others.
#pragma once

#include <cstdint>

#include "../../positions.hpp"
#include "../../types.hpp"
#include "checks.hpp"

namespace rope {
inline namespace ROPE_VERSION_NAMESPACE {
namespace detail {

// The test accepts nothing that the checks refuse, and leaves unusual calls to them: negative strides, nothing to do,
// numbers so large that sums would need care. It builds no Status, divides only for slices of one buffer and loops only
// over lists of positions.

/// The distance from the first element to the last along an axis, in elements.
ROPE_INLINE Index reach_of(const AnyView& v, int axis) noexcept { return v.strides[axis] * (v.extents[axis] - 1); }

/// Whether the span of a view of moderate extents and strides fits into memory; always, where pointers have 64 bits.
ROPE_INLINE bool is_in_memory(const AnyView& v) noexcept {
    if constexpr (kPointersAreShort)
        return (1 + reach_of(v, 0) + reach_of(v, 1) + reach_of(v, 2) + reach_of(v, 3)) * v.element_size <= kMemoryBytes;
    return true;
}

/// Extents from 1 to 2^22, strides from 0 to 2^34: no sum of the bytes spanned comes near the limit of an Index.
ROPE_INLINE bool is_moderate(const AnyView& v) noexcept {
    const auto n = [&v](int axis) { return static_cast<std::uint64_t>(hide_from_optimizer(v.extents[axis])) - 1; };
    const auto step = [&v](int axis) { return static_cast<std::uint64_t>(hide_from_optimizer(v.strides[axis])); };
    return v.data != nullptr && (n(0) | n(1) | n(2) | n(3)) >> 22 == 0 &&
           (step(0) | step(1) | step(2) | step(3)) >> 34 == 0 && is_in_memory(v);
}

/// The usual orders of memory: the axes from the innermost to the outermost.
inline constexpr unsigned char kUsualOrders[][4] = {
    {3, 2, 1, 0},  // [batch, seq, heads, head_dim]
    {3, 1, 2, 0},  // [batch, heads, seq, head_dim]
    {3, 2, 0, 1},  // [seq, batch, heads, head_dim]
    {1, 3, 2, 0},  // an Eigen matrix, features in columns
    {0, 1, 2, 3},  // an Eigen tensor, the first index the fastest
};

/// Whether the view has one of these orders: each stride exceeds the reach of all inner axes.
ROPE_NOINLINE bool is_in_usual_order(const AnyView& v) noexcept {
    for (const unsigned char(&order)[4] : kUsualOrders) {
        Index reach = 0;
        bool is_nested = true;
        for (const unsigned char axis : order) {
            is_nested = is_nested && (v.extents[axis] == 1 || v.strides[axis] > reach);
            reach += reach_of(v, axis);
        }
        if (is_nested) return true;
    }
    return false;
}

/// Whether a view may be written.
ROPE_INLINE bool is_plain(const AnyView& v) noexcept { return is_moderate(v) && is_in_usual_order(v); }

ROPE_INLINE bool are_equal(const Index (&a)[4], const Index (&b)[4]) noexcept {
    return a[0] == b[0] && a[1] == b[1] && a[2] == b[2] && a[3] == b[3];
}

/// Whether spans do not meet, or tokens are disjoint within a common stride. Sizes and addresses are unsigned: a
/// negative distance is a large one.
ROPE_NOINLINE bool is_plainly_disjoint(const AnyView& a, const AnyView& b) noexcept {
    const auto bytes = [](const AnyView& v, Index elements) {
        return static_cast<std::uintptr_t>(elements * v.element_size);
    };
    const Index token_a = 1 + reach_of(a, 3) + reach_of(a, 2);
    const Index token_b = 1 + reach_of(b, 3) + reach_of(b, 2);
    const std::uintptr_t distance = reinterpret_cast<std::uintptr_t>(b.data) - reinterpret_cast<std::uintptr_t>(a.data);
    if (distance >= bytes(a, token_a + reach_of(a, 1) + reach_of(a, 0)) &&
        0 - distance >= bytes(b, token_b + reach_of(b, 1) + reach_of(b, 0)))
        return true;

    const auto lie_apart_within = [&](int axis, int other) {
        const std::uintptr_t period = bytes(a, stride_of(a, axis));
        const std::uintptr_t start = distance < period ? distance : distance + period;
        return period == bytes(b, stride_of(b, axis)) && start < period && start >= bytes(a, token_a) &&
               period - start >= bytes(b, token_b) && bytes(a, stride_of(a, other)) % period == 0 &&
               bytes(b, stride_of(b, other)) % period == 0;
    };
    return lie_apart_within(1, 0) || lie_apart_within(0, 1);
}

ROPE_INLINE bool is_plain(const CheckedTensor& t) noexcept {
    if (t.out.extents[3] != t.table.head_dim || !is_plain(t.out)) return false;
    if (t.table.batch != 0 && t.table.batch != t.out.extents[0]) return false;
    if (t.in_place()) return true;
    if (!is_moderate(t.in) || !are_equal(t.in.extents, t.out.extents)) return false;
    return t.disjoint->plainly(t.in, t.out) ||
           (t.in.data == t.out.data && t.in.type == t.out.type && are_equal(t.in.strides, t.out.strides));
}

/// The first and the last position of a table.
struct ROPE_ABI Window {
    Index first, last;
};
ROPE_INLINE Window window_of(const TableShape& t) noexcept {
    return {t.first_position, t.first_position + t.max_positions - 1};
}

/// Whether all positions are in the table. Extents must pass is_moderate.
ROPE_INLINE bool is_plainly_held(const Positions& p, Index batch, Index seq, Window w) noexcept {
    const Index last_start = w.last - (seq - 1);
    if (p.kind() == Positions::Kind::start) return p.start() >= w.first && p.start() <= last_start;
    const bool starts = p.kind() == Positions::Kind::start_per_entry;
    const bool counted = starts ? p.count() == batch : p.count() == seq || p.count() == batch * seq;
    return counted && p.data() != nullptr && p.find_outside(w.first, starts ? last_start : w.last) == p.count();
}

ROPE_NOINLINE bool is_plainly_fine(const Positions& p, Capabilities uses, const CheckedTensor& x) noexcept {
    return (x.table.unsupported & uses) == 0 && is_plain(x) &&
           is_plainly_held(p, x.out.extents[0], x.out.extents[1], window_of(x.table));
}

ROPE_NOINLINE bool is_plainly_fine(const Positions& p, Capabilities uses, const CheckedTensor& q,
                                   const CheckedTensor& k) noexcept {
    const Window w = window_of(q.table), v = window_of(k.table);
    return ((q.table.unsupported | k.table.unsupported) & uses) == 0 && is_plain(q) && is_plain(k) &&
           q.out.extents[0] == k.out.extents[0] && q.out.extents[1] == k.out.extents[1] &&
           is_plainly_disjoint(q.out, k.out) &&
           is_plainly_held(p, q.out.extents[0], q.out.extents[1],
                           {w.first > v.first ? w.first : v.first, w.last < v.last ? w.last : v.last});
}

inline constexpr DisjointTests kDisjointTests = {&is_plainly_disjoint, &is_disjoint};

}  // namespace detail
}  // namespace ROPE_VERSION_NAMESPACE
}  // namespace rope
