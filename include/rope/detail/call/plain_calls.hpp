// SPDX-License-Identifier: MIT
// Calls of the most usual kind, recognised at once. A call on one token takes about as long as its recognition, so this
// tests only as much as it needs, and skips the work of apply_impl.hpp for other calls.
#pragma once

#include <cstdint>

#include "../../cos_sin_rows.hpp"
#include "../../positions.hpp"
#include "../../tensor_view.hpp"
#include "../../types.hpp"
#include "../base/arithmetic.hpp"
#include "job.hpp"
#include "loop.hpp"
#include "rotate_task.hpp"

namespace rope {
inline namespace ROPE_VERSION_NAMESPACE {
namespace detail {

/// A forward call in place on tokens at a constant stride, whose rows are at a constant stride, too.
template <class X, class T>
struct ROPE_ABI PlainCall {
    X* x;  // the first rotated feature of the first head of the first token
    const T* cos;
    const T* sin;
    HeadsShape shape;
    Index heads, tokens, token, row_stride;  // counts, and the strides from token to token and from row to row
    Index bytes;                             // written
    std::uintptr_t begin, end;               // of the memory, from the first feature to behind the last
};

ROPE_INLINE std::uint64_t bits_of(Index x) noexcept { return static_cast<std::uint64_t>(x); }
/// Whether both are from 1 to 2^18.
ROPE_INLINE bool are_counts(Index a, Index b) noexcept { return ((bits_of(a) - 1) | (bits_of(b) - 1)) >> 18 == 0; }

/// Fills `call` if a call is plain: one batch entry, memory in the order [seq, heads, head_dim], contiguous features,
/// consecutive positions (from a start on, or one id for one token), a row of the table for each, and too few bytes for
/// an executor. False for all other calls, and for all that the checks refuse. X is the storage type of the elements.
template <class X, class Element, class T>
ROPE_NOINLINE bool is_plain_call(const TensorView<Element>& v, Layout layout, const CosSinRows<T>& table,
                                 const Positions& positions, PlainCall<X, T>& call) noexcept {
    const RowSource<T>& rows = RowsAccess::source(table);
    const Index seq = hide_from_optimizer(v.seq), heads = hide_from_optimizer(v.heads),
                head_dim = hide_from_optimizer(v.head_dim);
    const Index token = hide_from_optimizer(v.seq_stride), head = hide_from_optimizer(v.head_stride),
                pairs = table.pairs();
    // A table's head_dim is at most 2^20, so no product or sum below overflows.
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
    const Index step = heads == 1 ? 0 : head;  // a single head may have any stride
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

/// Joins q and k into one view where the heads of k follow the heads of q at the same stride, as in a buffer that one
/// projection has filled: one call of a kernel in place of two. False if they do not. If a call on `both` is plain, the
/// call on q and k is valid and does the same.
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
    both = {q.data, batch, seq, heads + more, head_dim, 0, token, head, feature};  // a plain call has one batch entry
    return true;
}
template <class Q, class K>
ROPE_INLINE bool are_one_view(const TensorView<Q>&, const TensorView<K>&, TensorView<Q>&) noexcept {
    return false;
}

/// Whether two plain calls are plain together: as many tokens, no common memory, and too few bytes for an executor.
template <class X, class Y, class T>
ROPE_INLINE bool are_plain_together(const PlainCall<X, T>& q, const PlainCall<Y, T>& k) noexcept {
    return q.tokens == k.tokens && (q.end <= k.begin || k.end <= q.begin) && q.bytes + k.bytes < kSplitBytes;
}

/// Rotates any number of tokens.
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

/// Carries out a plain call. One token is one call of a kernel, without a TokenRun: to fill one takes as long as to
/// rotate a head.
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
