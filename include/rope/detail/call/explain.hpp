// SPDX-License-Identifier: MIT
// All checks before the first write, and the sentence where one fails. Views come here with their types erased, so that a
// translation unit compiles this once, not once per element type. Only calls that accept.hpp does not accept come here.
#pragma once

#include <initializer_list>

#include "../../cos_sin_rows.hpp"
#include "../../errors.hpp"
#include "../../positions.hpp"
#include "../../tensor_view.hpp"
#include "../../types.hpp"
#include "../positions/positions_in_table.hpp"
#include "../simd/isa_choice.hpp"
#include "../views/any_view.hpp"
#include "../views/view_checks.hpp"

ROPE_DETAIL_BEGIN

template <class T>
ROPE_INLINE TableShape shape_of(const CosSinRows<T>& r) noexcept {
    const int other_layout = !r.layout() ? 0 : *r.layout() == Layout::interleaved ? kHalfSplit : kInterleaved;
    return {r.head_dim(),
            RowsAccess::source(r).first,
            RowsAccess::count(r),
            RowsAccess::name(r),
            static_cast<Capabilities>(other_layout | (r.magnitude_grows() ? kInverse : 0)),
            RowsAccess::batch(r),
            RowsAccess::is_by_position(r),
            RowsAccess::heads(r)};
}

/// One tensor of a call: its input, its output (the same object in place) and its table.
struct CheckedTensor {
    const AnyView& in;
    const AnyView& out;
    TableShape table;
};

/// Requires a table that is made for the heads and batch entries of a view, and for the layout and direction of its use.
ROPE_COLD Status check_table_fits(const AnyView& v, const TableShape& table, Capabilities uses) noexcept {
    const int unsupported = table.unsupported & uses;
    if ((unsupported & (kInterleaved | kHalfSplit)) != 0)
        return invalid("layout is {}; the {} of {} was made from a Config whose layout is {}.",
                       {(unsupported & kInterleaved) != 0 ? "interleaved" : "half_split", table.name, v.name,
                        (unsupported & kInterleaved) != 0 ? "half_split" : "interleaved"});
    if (unsupported != 0)
        return invalid(
            "the {} of {} has a magnitude that grows with the position (xPos); its inverse is apply_transpose with the "
            "table of the other side, queries or keys.",
            {table.name, v.name});
    if (v.extents[3] != table.head_dim)
        return invalid("{}.head_dim is {}; its {} was made for a head_dim of {}.",
                       {v.name, v.extents[3], table.name, table.head_dim});
    if (table.batch != 0 && table.batch != v.extents[0])
        return invalid("{}.batch is {}; its {} was made for the tokens of {} {batch entry|batch entries}.",
                       {v.name, v.extents[0], table.name, table.batch});
    if (table.heads != 0 && v.extents[2] % table.heads != 0)
        return invalid(
            "{}.heads is {}; its {} has rows for each of {} {head|heads}, and heads must be a multiple of them.",
            {v.name, v.extents[2], table.name, table.heads});
    return Status();
}

/// All checks of one tensor of a call; `first` is the input of the first tensor.
ROPE_COLD Status check_tensor(const CheckedTensor& t, const AnyView& first, Capabilities uses) noexcept {
    if (const Status s = check_extents(t.in); !s.ok()) return s;
    if (const Status s = &t.in != &t.out ? check_extents(t.out) : Status(); !s.ok()) return s;
    if (const Status s = check_table_fits(t.in, t.table, uses); !s.ok()) return s;
    if (const Status s = check_equal_extents(t.out, t.in, 4); !s.ok()) return s;
    if (const Status s = check_equal_extents(t.in, first, 2); !s.ok()) return s;
    if (const Status s = check_no_self_overlap(t.out); !s.ok()) return s;
    return check_is_same_or_disjoint(t.in, t.out);
}

/// A list of positions as a view.
inline AnyView view_of(const Positions& p) noexcept {
    const Index count = p.kind() == Positions::Kind::start ? 0 : p.count();
    return view_of_list("positions", p.data(), p.element_size(), count, p.stride());
}
/// Requires that a list of positions, which is read while `out` is written, lies apart from it.
ROPE_COLD Status check_list_apart(const Positions& p, const AnyView& out) noexcept {
    if (is_disjoint(view_of(p), out)) return Status();
    return invalid("positions and {} may share elements; a list of positions must lie outside what is written.",
                   {out.name});
}

/// All checks of a call on one tensor or two, in the order in which a reader wants to hear of them.
ROPE_COLD Status explain(const Positions& positions, Capabilities uses,
                         std::initializer_list<CheckedTensor> tensors) noexcept {
    const AnyView &first = tensors.begin()->in, &last = (tensors.end() - 1)->out;
    for (const CheckedTensor& t : tensors)
        if (const Status s = check_tensor(t, first, uses); !s.ok()) return s;
    if (tensors.size() > 1 && !is_disjoint(tensors.begin()->out, last))
        return invalid(
            "{} and {} may share elements, which would be rotated twice; two views that are written must be shown to "
            "share none by their strides.",
            {tensors.begin()->out.name, last.name});
    for (const CheckedTensor& t : tensors)
        if (const Status s = check_positions(positions, first.extents[0], first.extents[1], t.table); !s.ok()) return s;
    for (const CheckedTensor& t : tensors)
        if (const Status s = check_list_apart(positions, t.out); !s.ok()) return s;
    return isa_is_chosen() ? Status() : choose_isa();
}

ROPE_DETAIL_END
