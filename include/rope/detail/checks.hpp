// SPDX-License-Identifier: MIT
// Everything that is checked before a byte is written. Views come here with their types erased, so this is compiled
// once per program, not once per element type; and only calls that quick_checks.hpp is not sure of come here.
#pragma once

#include <cstdint>
#include <limits>

#include "../cos_sin_rows.hpp"
#include "../errors.hpp"
#include "../isa.hpp"
#include "../positions.hpp"
#include "../tensor_view.hpp"
#include "../types.hpp"
#include "any_view.hpp"

#include "hide_macros.hpp"

namespace rope {
inline namespace ROPE_VERSION_NAMESPACE {
namespace detail {

/// What a call may do with a table, as bits.
using Uses = unsigned char;
inline constexpr Uses kInterleaved = 1, kHalfSplit = 2, kInverse = 4;

/// What a call needs to know of a table.
struct ROPE_ABI TableShape {
    Index head_dim, first_position, max_positions;
    const char* name = "cache";  // as messages call it
    Uses refused = 0;            // what it is not made for
    Index batch = 0;             // entries that a call must have; 0: any
};

template <class T>
ROPE_INLINE TableShape shape_of(const CosSinRows<T>& r) noexcept {
    const int other_layout = !r.layout() ? 0 : *r.layout() == Layout::interleaved ? kHalfSplit : kInterleaved;
    return {r.head_dim(),
            RowsAccess::source(r).first,
            RowsAccess::count(r),
            RowsAccess::name(r),
            static_cast<Uses>(other_layout | (r.magnitude_grows() ? kInverse : 0)),
            RowsAccess::batch(r)};
}

/// Tests that show of two views that they share no element.
struct ROPE_ABI DisjointTests {
    bool (*plainly)(const AnyView&, const AnyView&) noexcept;  // quick
    bool (*at_all)(const AnyView&, const AnyView&) noexcept;   // whatever can be shown
};

/// One tensor of a call: where it is read, where it is written, and its table.
struct ROPE_ABI CheckedTensor {
    const AnyView& in;
    const AnyView& out;
    TableShape table;
    const DisjointTests* disjoint;  // of in and out; null in place, where a unit need not compile them

    ROPE_INLINE bool in_place() const noexcept { return disjoint == nullptr; }
};

/// The bytes that a view touches, as offsets [begin, end) from its data pointer, over the axes whose stride in bytes
/// is below `limit`. Valid once check_extents has passed.
struct ROPE_ABI Span {
    Index begin, end;
};
ROPE_ABI inline Span span_below(const AnyView& v, Index limit) noexcept {
    Span span = {0, v.element_size};
    for (int axis = 0; axis < 4; ++axis) {
        const Index stride = stride_of(v, axis) * v.element_size;
        if (stride == 0 || magnitude(stride) >= limit) continue;
        (stride < 0 ? span.begin : span.end) += stride * (v.extents[axis] - 1);
    }
    return span;
}

/// Extents are not negative, and neither their product nor the bytes spanned overflow.
ROPE_COLD Status check_extents(const AnyView& v) noexcept {
    constexpr Index most = kMemoryBytes;
    for (int axis = 0; axis < 4; ++axis)
        if (v.extents[axis] < 0)
            return invalid("{}.{} is {}; it must not be negative.", {v.name, kAxisNames[axis], v.extents[axis]});
    if (is_empty(v)) return Status();
    Index elements = 1;
    Index reach = 0;  // largest offset, in elements
    for (int axis = 0; axis < 4; ++axis) {
        const Index extent = v.extents[axis];
        const Index stride = v.strides[axis];
        const Index room = most / v.element_size - 1 - reach;
        const bool product_fits = extent <= most / v.element_size / elements;
        const bool reach_fits =
            extent == 1 || (stride >= -room && stride <= room && magnitude(stride) <= room / (extent - 1));
        if (!product_fits || !reach_fits)
            return invalid(
                "{} has extents [{}, {}, {}, {}] and strides [{}, {}, {}, {}]; together they must not exceed what "
                "memory can hold ({} bytes).",
                {v.name, v.extents[0], v.extents[1], v.extents[2], v.extents[3], v.strides[0], v.strides[1],
                 v.strides[2], v.strides[3], most});
        elements *= extent;
        if (extent > 1) reach += magnitude(stride) * (extent - 1);
    }
    if (v.data == nullptr)
        return invalid("{}.data is null; a view of {} elements needs memory to point to.", {v.name, elements});
    return Status();
}

/// Distinct elements have distinct addresses: taken by ascending stride, each axis steps over all that the smaller
/// ones reach. (Interleavings that are injective without being nested so do not occur and are refused.)
ROPE_COLD Status check_no_self_overlap(const AnyView& v) noexcept {
    if (is_empty(v)) return Status();
    bool done[4] = {};
    Index reach = 0;
    for (int round = 0; round < 4; ++round) {
        int next = -1;
        for (int axis = 0; axis < 4; ++axis)
            if (!done[axis] && (next < 0 || magnitude(stride_of(v, axis)) < magnitude(stride_of(v, next)))) next = axis;
        done[next] = true;
        if (v.extents[next] < 2) continue;
        const Index stride = magnitude(stride_of(v, next));
        if (stride <= reach)
            return invalid(
                "{} overlaps itself: {} has stride {}; in a view that is written, its magnitude must be at least {}, "
                "which is what the axes inside it span.",
                {v.name, kAxisNames[next], v.strides[next], reach + 1});
        reach += stride * (v.extents[next] - 1);
    }
    return Status();
}

ROPE_ABI inline bool is_same_view(const AnyView& a, const AnyView& b) noexcept {
    if (a.data != b.data || a.type != b.type || a.element_size != b.element_size) return false;
    for (int axis = 0; axis < 4; ++axis)
        if (a.extents[axis] != b.extents[axis] || (a.extents[axis] > 1 && a.strides[axis] != b.strides[axis]))
            return false;
    return true;
}

/// Whether two views can be shown to share no byte: either their spans do not meet, or both repeat with a common
/// stride (the row of a fused QKV buffer, the head that two feature slices share) and lie apart within it.
ROPE_COLD bool is_disjoint(const AnyView& a, const AnyView& b) noexcept {
    if (is_empty(a) || is_empty(b)) return true;
    constexpr Index everything = std::numeric_limits<Index>::max();
    // Unsigned, where a negative distance is a large one and nothing overflows, whatever the pointers; and with the bits
    // of an Index, so that the distance is negative as an Index, too.
    const std::uint64_t at_a = reinterpret_cast<std::uintptr_t>(a.data);
    const std::uint64_t at_b = reinterpret_cast<std::uintptr_t>(b.data);
    const Index distance = static_cast<Index>(at_b - at_a);
    const Span whole_a = span_below(a, everything);
    const Span whole_b = span_below(b, everything);
    const std::uint64_t from_a = at_b - at_a + static_cast<std::uint64_t>(whole_b.begin - whole_a.begin);
    if (from_a >= static_cast<std::uint64_t>(whole_a.end - whole_a.begin) &&
        0 - from_a >= static_cast<std::uint64_t>(whole_b.end - whole_b.begin))
        return true;

    const AnyView* const views[2] = {&a, &b};
    for (const AnyView* candidate : views) {
        for (int axis = 0; axis < 4; ++axis) {
            const Index period = magnitude(stride_of(*candidate, axis) * candidate->element_size);
            if (period == 0) continue;
            bool common = true;
            for (const AnyView* v : views)
                for (int other = 0; other < 4; ++other) {
                    const Index stride = magnitude(stride_of(*v, other) * v->element_size);
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
        }
    }
    return false;
}

/// Unsigned positions beyond the largest Index come as the largest Index.
ROPE_ABI inline const char* or_more(Index position) noexcept {
    return position == std::numeric_limits<Index>::max() ? " or more" : "";
}

/// The number of positions fits the call, and each of them is in the table.
ROPE_COLD Status check_positions(const Positions& p, Index batch, Index seq, const TableShape& table) noexcept {
    const Index low = table.first_position;
    const Index high = low + table.max_positions - 1;
    const Index tokens = clamped_product(batch, seq);
    if (table.max_positions == 0 && tokens > 0)
        return out_of_range("positions are those of {} tokens; this {} holds none (yet).", {seq, table.name});
    if (p.kind() == Positions::Kind::start) {
        if (tokens == 0) return Status();
        if (p.start() < low || p.start() > high || seq - 1 > high - p.start())
            return out_of_range("positions start at {}{} and seq is {}; this {} holds positions {} to {}.",
                                {p.start(), or_more(p.start()), seq, table.name, low, high});
        return Status();
    }
    const bool starts = p.kind() == Positions::Kind::start_per_entry;
    if (starts && p.count() != batch)
        return invalid("positions has {} starts; there must be one per batch entry ({}).", {p.count(), batch});
    if (!starts && p.count() != seq && p.count() != tokens)
        return invalid("positions has {} ids; there must be seq ({}) or batch * seq ({}) of them.",
                       {p.count(), seq, tokens});
    if (p.count() == 0 || seq == 0) return Status();
    if (p.data() == nullptr) return invalid("positions is a null pointer; it must point to {} integers.", {p.count()});
    // The last start that leaves room for seq tokens; below `low` when none does.
    const Index last = !starts ? high : seq > table.max_positions ? low - 1 : high - (seq - 1);
    const Index outside = p.find_outside(low, last);
    if (outside == p.count()) return Status();
    const Index position = p[outside];
    const char* const more = or_more(position);
    if (starts)
        return out_of_range("positions[{}] is {}{}, the start of {} tokens; this {} holds positions {} to {}.",
                            {outside, position, more, seq, table.name, low, high});
    return out_of_range("positions[{}] is {}{}; this {} holds positions {} to {}.",
                        {outside, position, more, table.name, low, high});
}

/// The table is made for what the call does.
ROPE_COLD Status check_uses(const AnyView& v, const TableShape& table, Uses uses) noexcept {
    const int refused = table.refused & uses;
    if ((refused & (kInterleaved | kHalfSplit)) != 0)
        return invalid("layout is {}; the {} of {} was made from a Config whose layout is {}.",
                       {(refused & kInterleaved) != 0 ? "interleaved" : "half_split", table.name, v.name,
                        (refused & kInterleaved) != 0 ? "half_split" : "interleaved"});
    if (refused != 0)
        return invalid(
            "the {} of {} has a magnitude that grows with the position (xPos); its inverse is apply_transpose with the "
            "table of the other side, queries or keys.",
            {table.name, v.name});
    return Status();
}

/// The first axes of two views are equally long.
ROPE_COLD Status check_equal_extents(const AnyView& v, const AnyView& other, int axes) noexcept {
    for (int axis = 0; axis < axes; ++axis)
        if (v.extents[axis] != other.extents[axis])
            return invalid("{}.{} is {}; it must be that of {} ({}).",
                           {v.name, kAxisNames[axis], v.extents[axis], other.name, other.extents[axis]});
    return Status();
}

/// All checks of one tensor of a call, whose first tensor is read at `first`.
ROPE_COLD Status check_tensor(const CheckedTensor& t, const AnyView& first, Uses uses) noexcept {
    if (const Status s = check_uses(t.out, t.table, uses); !s.ok()) return s;
    if (const Status s = check_extents(t.in); !s.ok()) return s;
    if (const Status s = t.in_place() ? Status() : check_extents(t.out); !s.ok()) return s;
    if (t.in.extents[3] != t.table.head_dim)
        return invalid("{}.head_dim is {}; its {} was made for a head_dim of {}.",
                       {t.in.name, t.in.extents[3], t.table.name, t.table.head_dim});
    if (t.table.batch != 0 && t.table.batch != t.in.extents[0])
        return invalid("{}.batch is {}; its {} was made for the tokens of {} batch entries.",
                       {t.in.name, t.in.extents[0], t.table.name, t.table.batch});
    if (const Status s = check_equal_extents(t.out, t.in, 4); !s.ok()) return s;
    if (const Status s = check_equal_extents(t.in, first, 2); !s.ok()) return s;
    if (const Status s = check_no_self_overlap(t.out); !s.ok()) return s;
    if (!t.in_place() && !is_same_view(t.in, t.out) && !t.disjoint->at_all(t.in, t.out))
        return invalid(
            "{} and {} are different views that may share elements; they must be the same view (pointer, type, extents "
            "and strides) or be shown to share none by their strides.",
            {t.in.name, t.out.name});
    return Status();
}

/// All checks of a call on one tensor or two, in the order in which a reader would want to hear of them.
ROPE_COLD Status check_call(const Positions& positions, Uses uses, const CheckedTensor& x) noexcept {
    if (const Status s = check_tensor(x, x.in, uses); !s.ok()) return s;
    const Status s = check_positions(positions, x.in.extents[0], x.in.extents[1], x.table);
    return !s.ok() || isa_is_chosen() ? s : choose_isa();
}
ROPE_COLD Status check_call(const Positions& positions, Uses uses, const CheckedTensor& q,
                            const CheckedTensor& k) noexcept {
    if (const Status s = check_tensor(q, q.in, uses); !s.ok()) return s;
    if (const Status s = check_tensor(k, q.in, uses); !s.ok()) return s;
    if (!is_disjoint(q.out, k.out))
        return invalid(
            "{} and {} may share elements, which would turn twice; two views that are written must be shown to share "
            "none by their strides.",
            {q.out.name, k.out.name});
    if (const Status s = check_positions(positions, q.in.extents[0], q.in.extents[1], q.table); !s.ok()) return s;
    const Status s = check_positions(positions, q.in.extents[0], q.in.extents[1], k.table);
    return !s.ok() || isa_is_chosen() ? s : choose_isa();
}

}  // namespace detail
}  // namespace ROPE_VERSION_NAMESPACE
}  // namespace rope

#include "restore_macros.hpp"
