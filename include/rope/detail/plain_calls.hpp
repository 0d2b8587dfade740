// SPDX-License-Identifier: MIT
// Calls of the most usual kind, recognised at once. A call on one token takes about as long as it takes to see what it
// is, so this asks for no more than that, in place of all that apply_impl.hpp does for others.
#pragma once

#include <cstdint>

#include "../cos_sin_rows.hpp"
#include "../positions.hpp"
#include "../tensor_view.hpp"
#include "../types.hpp"
#include "arithmetic.hpp"
#include "job.hpp"
#include "rotate_task.hpp"

namespace rope {
inline namespace ROPE_VERSION_NAMESPACE {
namespace detail {

/// A call in place, forward, as the one run that it is.
template <class X, class T>
struct ROPE_ABI PlainCall {
    Run<X, X, T> run;
    Index bytes;                // written
    std::uintptr_t begin, end;  // of the memory from its first to behind its last feature
};

/// Fills `call` if a call is a plain one: one batch entry, its axes in the order [seq, heads, head_dim] of memory,
/// features neighbours, positions from a start on, a row for each in the table, and less than an executor is asked for.
/// False of everything else, and of whatever the checks refuse. X is the storage type of the elements.
template <class X, class Element, class T>
ROPE_NOINLINE bool is_plain_call(const TensorView<Element>& v, Layout layout, const CosSinRows<T>& table,
                                 const Positions& positions, PlainCall<X, T>& call) noexcept {
    const RowSource<T>& rows = RowsAccess::source(table);
    const Index seq = alone(v.seq), heads = alone(v.heads), head_dim = alone(v.head_dim);
    const Index token = alone(v.seq_stride), head = alone(v.head_stride), pairs = table.pairs();
    // With a table's head_dim, at most 2^20, no product or sum below overflows.
    const auto bits = [](Index x) { return static_cast<std::uint64_t>(x); };
    if (head_dim != table.head_dim() || ((bits(seq) - 1) | (bits(heads) - 1)) >> 18 != 0 ||
        (bits(token) | bits(head)) >> 34 != 0)
        return false;
    const Index head_end = (heads - 1) * head + head_dim, token_end = (seq - 1) * token + head_end;
    const Index bytes = seq * heads * head_dim * static_cast<Index>(sizeof(X));
    const Index start = positions.start(), last = rows.first + RowsAccess::count(table) - seq;
    if (v.data == nullptr || v.batch != 1 || v.feature_stride != 1 || (heads > 1 && head < head_dim) ||
        (seq > 1 && token < head_end) || bytes >= kSplitBytes || positions.kind() != Positions::Kind::start ||
        start < rows.first || start > last || rows.fine != nullptr || RowsAccess::batch(table) != 0 ||
        (table.layout() && *table.layout() != layout))
        return false;

    X* const x = reinterpret_cast<X*>(v.data) + table.rotary_offset();
    const Index row = (start - rows.first) * rows.stride;
    Run<X, X, T>& run = call.run;
    run.x = run.y = x;
    run.tokens = seq;
    run.x_token = run.y_token = seq == 1 ? 0 : token;
    run.heads = run.heads_at_once = heads;
    run.x_head = run.y_head = heads == 1 ? 0 : head;
    run.x_shape = run.y_shape = pair_shape(layout, pairs);
    run.pairs = pairs;
    run.row = {rows.cos + row, rows.sin + row, nullptr, pairs};
    run.to_next = rows.stride;
    run.ahead = run.rows_ahead = 0;
    call.bytes = bytes;
    call.begin = reinterpret_cast<std::uintptr_t>(v.data);
    call.end = call.begin + static_cast<std::uintptr_t>(token_end) * sizeof(X);
    return call.begin < call.end;
}

/// Whether two of them are a plain call together: as many tokens, no memory in common, and no executor is asked for.
template <class X, class Y, class T>
ROPE_INLINE bool are_plain_together(const PlainCall<X, T>& q, const PlainCall<Y, T>& k) noexcept {
    return q.run.tokens == k.run.tokens && (q.end <= k.begin || k.end <= q.begin) && q.bytes + k.bytes < kSplitBytes;
}

}  // namespace detail
}  // namespace ROPE_VERSION_NAMESPACE
}  // namespace rope
