// SPDX-License-Identifier: MIT
// Checks of views: extents that memory can hold, elements with distinct addresses, memory that two views share.
#pragma once

#include <cstdint>

#include "../../errors.hpp"
#include "../../types.hpp"
#include "any_view.hpp"

ROPE_DETAIL_BEGIN

/// The bytes that a view spans along the axes whose stride in bytes is below `limit`, as offsets [begin, end) from its
/// data pointer. Valid once check_extents has passed.
struct Span {
    Index begin, end;
};
inline Span span_below(const AnyView& v, Index limit) noexcept {
    Span span = {0, v.element_size};
    for (int axis = 0; axis < 4; ++axis) {
        const Index stride = stride_of(v, axis) * v.element_size;
        if (stride == 0 || absolute(stride) >= limit) continue;
        (stride < 0 ? span.begin : span.end) += stride * (v.extents[axis] - 1);
    }
    return span;
}

inline Extent extent_of(const AnyView& v) noexcept {
    const Span span = span_below(v, kMaxIndex);
    const std::uint64_t data = reinterpret_cast<std::uintptr_t>(v.data);
    return {data + static_cast<std::uint64_t>(span.begin), data + static_cast<std::uint64_t>(span.end)};
}

/// Refuses negative extents, and extents or strides whose product or span exceeds memory.
ROPE_COLD Status check_extents(const AnyView& v, const char* const* axes = kAxisNames) noexcept {
    constexpr Index most = kMemoryBytes;
    for (int axis = 0; axis < 4; ++axis)
        if (v.extents[axis] < 0)
            return invalid("{}.{} is {}; it must not be negative.", {v.name, axes[axis], v.extents[axis]});
    if (is_empty(v)) return Status();
    Index elements = 1;
    Index reach = 0;  // largest offset, in elements
    for (int axis = 0; axis < 4; ++axis) {
        const Index extent = v.extents[axis];
        const Index stride = v.strides[axis];
        const Index room = most / v.element_size - 1 - reach;
        const bool product_fits = extent <= most / v.element_size / elements;
        const bool reach_fits =
            extent == 1 || (stride >= -room && stride <= room && absolute(stride) <= room / (extent - 1));
        if (!product_fits || !reach_fits)
            return invalid(
                "{} has extents [{}, {}, {}, {}] and strides [{}, {}, {}, {}]; together they must not exceed what "
                "memory can hold ({} {byte|bytes}).",
                {v.name, v.extents[0], v.extents[1], v.extents[2], v.extents[3], v.strides[0], v.strides[1],
                 v.strides[2], v.strides[3], most});
        elements *= extent;
        if (extent > 1) reach += absolute(stride) * (extent - 1);
    }
    if (v.data == nullptr)
        return invalid("{}.data is null; a view of {} {element|elements} needs memory to point to.",
                       {v.name, elements});
    return Status();
}

/// Requires distinct addresses for distinct elements: in ascending order of strides, each axis steps over the whole
/// span of the smaller ones. (Other views that do not overlap are refused, too; none were met.)
ROPE_COLD Status check_no_self_overlap(const AnyView& v, const char* const* axes = kAxisNames) noexcept {
    if (is_empty(v)) return Status();
    bool done[4] = {};
    Index reach = 0;
    for (int round = 0; round < 4; ++round) {
        int next = -1;
        for (int axis = 0; axis < 4; ++axis)
            if (!done[axis] && (next < 0 || absolute(stride_of(v, axis)) < absolute(stride_of(v, next)))) next = axis;
        done[next] = true;
        if (v.extents[next] < 2) continue;
        const Index stride = absolute(stride_of(v, next));
        if (stride <= reach)
            return invalid(
                "{} overlaps itself: {} has stride {}; in a view that is written, its absolute value must be at least "
                "{}, which is what the axes inside it span.",
                {v.name, axes[next], v.strides[next], reach + 1});
        reach += stride * (v.extents[next] - 1);
    }
    return Status();
}

inline bool is_same_view(const AnyView& a, const AnyView& b) noexcept {
    if (a.data != b.data || a.type != b.type) return false;
    for (int axis = 0; axis < 4; ++axis)
        if (a.extents[axis] != b.extents[axis] || (a.extents[axis] > 1 && a.strides[axis] != b.strides[axis]))
            return false;
    return true;
}

/// A view without its repetitions at `period` bytes or more.
inline AnyView part_below(const AnyView& v, Index period) noexcept {
    AnyView part = v;
    for (int axis = 0; axis < 4; ++axis)
        if (absolute(stride_of(v, axis) * v.element_size) >= period) part.extents[axis] = 1;
    return part;
}

/// is_disjoint, with the data of b `distance` bytes behind that of a.
ROPE_COLD bool is_disjoint_at(const AnyView& a, const AnyView& b, Index distance) noexcept {
    const Span whole_a = span_below(a, kMaxIndex);
    const Span whole_b = span_below(b, kMaxIndex);
    // Unsigned arithmetic wraps, so that a negative distance becomes a large one.
    const std::uint64_t from_a =
        static_cast<std::uint64_t>(distance) + static_cast<std::uint64_t>(whole_b.begin - whole_a.begin);
    if (from_a >= static_cast<std::uint64_t>(whole_a.end - whole_a.begin) &&
        0 - from_a >= static_cast<std::uint64_t>(whole_b.end - whole_b.begin))
        return true;

    const AnyView* const views[2] = {&a, &b};
    for (const AnyView* candidate : views) {
        for (int axis = 0; axis < 4; ++axis) {
            const Index period = absolute(stride_of(*candidate, axis) * candidate->element_size);
            if (period == 0) continue;
            bool common = true;
            for (const AnyView* v : views)
                for (int other = 0; other < 4; ++other) {
                    const Index stride = absolute(stride_of(*v, other) * v->element_size);
                    if (stride >= period && stride % period != 0) common = false;
                }
            if (!common) continue;
            const Span in_a = span_below(a, period);
            const Span in_b = span_below(b, period);
            const Index size_a = in_a.end - in_a.begin;
            const Index size_b = in_b.end - in_b.begin;
            Index start = (distance % period + (in_b.begin - in_a.begin) % period) % period;
            if (start < 0) start += period;
            if (start >= size_a && start + size_b <= period) return true;
            // Where each repetition of one can meet only one of the other, these two are compared by smaller strides.
            const Index before = start - period;  // b begins there after a, or at `start`
            const bool is_after = start < size_a && (size_a > start + size_b ? size_a : start + size_b) <= period;
            const bool is_before =
                before + size_b > 0 && (size_a > before + size_b ? size_a : before + size_b) - before <= period;
            if (is_after == is_before) continue;
            const Index apart = (is_after ? start : before) + in_a.begin - in_b.begin;
            if (is_disjoint_at(part_below(a, period), part_below(b, period), apart)) return true;
        }
    }
    return false;
}

/// Whether two views can be shown to share no byte: their spans are disjoint, or both repeat with a common stride (the
/// row of a fused QKV buffer, the head that two feature slices share) and are disjoint within it, as spans or by a
/// smaller stride (rows within pages).
ROPE_COLD bool is_disjoint(const AnyView& a, const AnyView& b) noexcept {
    // Of 64 bits each, so that their difference as an Index is negative if b comes first.
    const std::uint64_t at_a = reinterpret_cast<std::uintptr_t>(a.data);
    const std::uint64_t at_b = reinterpret_cast<std::uintptr_t>(b.data);
    return is_empty(a) || is_empty(b) || is_disjoint_at(a, b, static_cast<Index>(at_b - at_a));
}

/// Requires an output that shares no element with another view.
ROPE_COLD Status check_shares_nothing(const AnyView& out, const AnyView& other) noexcept {
    if (is_disjoint(out, other)) return Status();
    return invalid("{} and {} may share elements; they must be shown to share none by their strides.",
                   {out.name, other.name});
}

/// Requires two views that are one, or share no element.
ROPE_COLD Status check_is_same_or_disjoint(const AnyView& a, const AnyView& b) noexcept {
    if (is_same_view(a, b) || is_disjoint(a, b)) return Status();
    return invalid(
        "{} and {} are different views that may share elements; they must be the same view (pointer, type, extents and "
        "strides) or be shown to share none by their strides.",
        {a.name, b.name});
}

/// Requires equal extents along the first `axes` axes.
ROPE_COLD Status check_equal_extents(const AnyView& v, const AnyView& other, int axes) noexcept {
    for (int axis = 0; axis < axes; ++axis)
        if (v.extents[axis] != other.extents[axis])
            return invalid("{}.{} is {}; it must be that of {} ({}).",
                           {v.name, kAxisNames[axis], v.extents[axis], other.name, other.extents[axis]});
    return Status();
}

ROPE_DETAIL_END
