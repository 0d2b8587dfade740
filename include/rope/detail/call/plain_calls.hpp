// SPDX-License-Identifier: MIT
// Calls of the most usual kind, recognised at once. A call on one token takes about as long as it takes to see what it
// is, so this asks for no more than that, in place of all that apply_impl.hpp does for others.
#pragma once

#include <cstdint>

#include "../../cos_sin_rows.hpp"
#include "../../positions.hpp"
#include "../../tensor_view.hpp"
#include "../../types.hpp"
#include "../base/arithmetic.hpp"
#include "job.hpp"
#include "rotate_task.hpp"
#include "rotate_walk.hpp"

namespace rope {
inline namespace ROPE_VERSION_NAMESPACE {
namespace detail {

/// A call in place, forward, of tokens at equal steps whose rows lie at equal steps, too.
template <class X, class T>
struct ROPE_ABI PlainCall {
    X* x;  // the first feature that turns, of the first head of the first token
    const T* cos;
    const T* sin;
    HeadsShape shape;
    Index heads, tokens, token, row_stride;  // how many, and the steps from token to token and from row to row
    Index bytes;                             // written
    std::uintptr_t begin, end;               // of the memory from its first to behind its last feature
};

ROPE_INLINE std::uint64_t bits_of(Index x) noexcept { return static_cast<std::uint64_t>(x); }
/// Whether both are from 1 to 2^18.
ROPE_INLINE bool are_counts(Index a, Index b) noexcept { return ((bits_of(a) - 1) | (bits_of(b) - 1)) >> 18 == 0; }

/// Fills `call` if a call is a plain one: one batch entry, its axes in the order [seq, heads, head_dim] of memory,
/// features neighbours, consecutive positions (from a start on, or one id for one token), a row for each in the table,
/// and less than an executor is asked for.
/// False of everything else, and of whatever the checks refuse. X is the storage type of the elements.
template <class X, class Element, class T>
ROPE_NOINLINE bool is_plain_call(const TensorView<Element>& v, Layout layout, const CosSinRows<T>& table,
                                 const Positions& positions, PlainCall<X, T>& call) noexcept {
    const RowSource<T>& rows = RowsAccess::source(table);
    const Index seq = hide_from_optimizer(v.seq), heads = hide_from_optimizer(v.heads),
                head_dim = hide_from_optimizer(v.head_dim);
    const Index token = hide_from_optimizer(v.seq_stride), head = hide_from_optimizer(v.head_stride),
                pairs = table.pairs();
    // With a table's head_dim, at most 2^20, no product or sum below overflows.
    if (head_dim != table.head_dim() || !are_counts(seq, heads) || (bits_of(token) | bits_of(head)) >> 34 != 0)
        return false;
    const Index head_end = (heads - 1) * head + head_dim, token_end = (seq - 1) * token + head_end;
    const Index bytes = seq * heads * head_dim * static_cast<Index>(sizeof(X));
    const Positions::Kind kind = positions.kind();
    const bool is_listed = kind != Positions::Kind::start;
    if (is_listed &&
        (positions.count() != 1 || positions.data() == nullptr || (kind == Positions::Kind::ids && seq != 1)))
        return false;
    const Index start = is_listed ? positions.at(0, 0, 1) : positions.start();
    const Index last = rows.first + RowsAccess::count(table) - seq;
    if (v.data == nullptr || v.batch != 1 || v.feature_stride != 1 || (heads > 1 && head < head_dim) ||
        (seq > 1 && token < head_end) || bytes >= kSplitBytes || start < rows.first || start > last ||
        rows.fine != nullptr || RowsAccess::batch(table) != 0 || (table.layout() && *table.layout() != layout))
        return false;

    const Index row = (start - rows.first) * rows.stride;
    const PairShape pair = pair_shape(layout, pairs);
    const Index step = heads == 1 ? 0 : head;  // that of one head may be anything
    call.x = reinterpret_cast<X*>(v.data) + table.rotary_offset();
    call.cos = rows.cos + row;
    call.sin = rows.sin + row;
    call.shape = {step, step, pair, pair, pairs};
    call.heads = heads;
    call.tokens = seq;
    call.token = token;
    call.row_stride = rows.stride;
    call.bytes = bytes;
    if (kPointersAreShort && token_end > kMemoryBytes / static_cast<Index>(sizeof(X))) return false;
    call.begin = reinterpret_cast<std::uintptr_t>(v.data);
    call.end = call.begin + static_cast<std::uintptr_t>(token_end) * sizeof(X);
    return call.begin < call.end;
}

/// The heads of q and k as those of one view, where k's follow q's at the same steps, as in a buffer that one projection
/// has filled: one call of a kernel in place of two. False if they do not. If a call on `both` is a plain one, the call
/// on q and k is right, and does the same.
template <class Element>
ROPE_INLINE bool are_one_view(const TensorView<Element>& q, const TensorView<Element>& k,
                              TensorView<Element>& both) noexcept {
    const Index batch = hide_from_optimizer(q.batch), seq = hide_from_optimizer(q.seq),
                heads = hide_from_optimizer(q.heads), head_dim = hide_from_optimizer(q.head_dim);
    const Index token = hide_from_optimizer(q.seq_stride), head = hide_from_optimizer(q.head_stride),
                feature = hide_from_optimizer(q.feature_stride);
    const Index more = hide_from_optimizer(k.heads);
    const std::uint64_t distance = reinterpret_cast<std::uintptr_t>(k.data) - reinterpret_cast<std::uintptr_t>(q.data);
    if (distance != bits_of(heads) * bits_of(head) * sizeof(Element) || !are_counts(heads, more) ||
        head != k.head_stride || seq != k.seq || (seq != 1 && token != k.seq_stride) || head_dim != k.head_dim ||
        feature != k.feature_stride || batch != k.batch)
        return false;
    both = {q.data, batch, seq, heads + more, head_dim, 0, token, head, feature};  // a plain one has one batch entry
    return true;
}
template <class Q, class K>
ROPE_INLINE bool are_one_view(const TensorView<Q>&, const TensorView<K>&, TensorView<Q>&) noexcept {
    return false;
}

/// Whether two of them are a plain call together: as many tokens, no memory in common, and no executor is asked for.
template <class X, class Y, class T>
ROPE_INLINE bool are_plain_together(const PlainCall<X, T>& q, const PlainCall<Y, T>& k) noexcept {
    return q.tokens == k.tokens && (q.end <= k.begin || k.end <= q.begin) && q.bytes + k.bytes < kSplitBytes;
}

/// Does a call on any number of tokens.
template <class X, class T>
ROPE_NOINLINE void rotate_tokens(const RotateKernels<X, X, T>& kernels, const PlainCall<X, T>& call) noexcept {
    TokenRun<X, X, T> run;
    run.x = run.y = call.x;
    run.tokens = call.tokens;
    run.x_token_stride = run.y_token_stride = call.token;
    run.heads = run.heads_at_once = call.heads;
    run.shape = call.shape;
    run.rotate = kernels.rotate;
    run.row = {call.cos, call.sin, nullptr, call.shape.pairs};
    run.row_stride = call.row_stride;
    run.prefetch_features = run.prefetch_pairs = 0;
    rotate_run(kernels, run);
}

/// Does a call. One token is one call of a kernel, without a Run: to fill one in takes as long as to turn a head.
template <class X, class T>
ROPE_INLINE void rotate(const RotateKernels<X, X, T>& kernels, const PlainCall<X, T>& call) noexcept {
    if (call.tokens == 1)
        kernels.rotate(call.x, call.x, call.cos, call.sin, call.shape, call.heads);
    else
        rotate_tokens(kernels, call);
}

}  // namespace detail
}  // namespace ROPE_VERSION_NAMESPACE
}  // namespace rope
