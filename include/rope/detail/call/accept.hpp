// SPDX-License-Identifier: MIT
// Usual calls, recognised at once. A call on one token takes about as long as its recognition, so this tests only as much
// as it needs. It accepts nothing that explain.hpp refuses, and leaves unusual calls to it.
#pragma once

#include <cstdint>
#include <type_traits>

#include "../../cos_sin_rows.hpp"
#include "../../positions.hpp"
#include "../../tensor_view.hpp"
#include "../../types.hpp"
#include "../base/arithmetic.hpp"
#include "arguments.hpp"
#include "slab.hpp"

ROPE_DETAIL_BEGIN

/// An accepted call on one tensor: its tokens are one slab.
template <class In, class Out>
struct Accepted {
    Slab<In, Out> slab;
    Index bytes;    // written
    Extent memory;  // that the output spans
};

ROPE_INLINE std::uint64_t bits_of(Index x) noexcept { return static_cast<std::uint64_t>(x); }
/// Whether both are from 1 to 2^18.
ROPE_INLINE bool are_counts(Index a, Index b) noexcept { return ((bits_of(a) - 1) | (bits_of(b) - 1)) >> 18 == 0; }

/// The numbers of a view [tokens, heads, head_dim], whose features are contiguous.
struct TokensView {
    Index tokens, heads, head_dim;
    Index token, head;  // strides
    bool is_batch;      // whether tokens are batch entries of one token each

    /// The elements that the view spans; 0 if it is unusual: empty, with large or negative strides, or so that tokens or
    /// heads overlap or interleave. head_dim must be from 1 to 2^20, so that no product or sum overflows.
    ROPE_INLINE Index span() const noexcept {
        if (!are_counts(tokens, heads) || (bits_of(token) | bits_of(head)) >> 34 != 0) return 0;
        const Index of_heads = (heads - 1) * head + head_dim, of_tokens = (tokens - 1) * token;
        const bool is_seq_first = (heads == 1 || head >= head_dim) && (tokens == 1 || token >= of_heads);
        if (!is_seq_first && (token < head_dim || head < of_tokens + head_dim)) return 0;
        return of_tokens + of_heads;
    }
};

/// A view whose tokens lie along one axis: the sequence, or the batch of a decoding step.
template <class Element>
ROPE_INLINE TokensView tokens_of(const TensorView<Element>& v) noexcept {
    const bool is_batch = v.batch != 1;
    return {hide_from_optimizer(is_batch ? v.batch : v.seq),
            hide_from_optimizer(v.heads),
            hide_from_optimizer(v.head_dim),
            hide_from_optimizer(is_batch ? v.batch_stride : v.seq_stride),
            hide_from_optimizer(v.head_stride),
            is_batch};
}

/// The rows of a call's tokens, if every position is in the table. One token has one position, however it is given.
template <class T>
ROPE_INLINE bool accept_positions(const Positions& p, const TokensView& v, const CosSinRows<T>& table,
                                  RowNumbers& rows) noexcept {
    const RowSource<T>& source = RowsAccess::source(table);
    const bool is_batch = v.is_batch;
    const Index tokens = v.tokens;
    Index start = p.start(), last = source.first + RowsAccess::count(table) - (is_batch ? 1 : tokens);
    rows.list = nullptr;
    rows.step = is_batch ? 0 : 1;
    if (p.kind() != Positions::Kind::start) {
        if (p.data() == nullptr) return false;
        if (p.count() == 1) {
            // One id is for one token or for all of a batch, one start for one batch entry.
            if (p.kind() == Positions::Kind::ids ? !is_batch && tokens != 1 : is_batch) return false;
            start = p[0];
        } else {
            if (p.count() != tokens || (p.kind() == Positions::Kind::start_per_entry && !is_batch)) return false;
            last = source.first + RowsAccess::count(table) - 1;
            rows = {-source.first, 0, &p, 0, 1};
            return p.find_outside(source.first, last) == p.count();
        }
    }
    if (start < source.first || start > last) return false;
    rows.first = start - source.first;
    return true;
}

/// Whether the table serves the view, the layout and the direction, and the view's tokens lie along one axis.
template <class Element, class T>
ROPE_INLINE bool fits_table(const TensorView<Element>& v, Layout layout, Direction direction,
                            const CosSinRows<T>& table) noexcept {
    return v.data != nullptr && v.feature_stride == 1 && (v.batch == 1 || v.seq == 1) &&
           v.head_dim == table.head_dim() && (RowsAccess::batch(table) | RowsAccess::heads(table)) == 0 &&
           (direction != Direction::inverse || !table.magnitude_grows()) &&
           (!table.layout() || *table.layout() == layout);
}

/// Fills `call` with the memory that is written; false for more than `most` bytes.
template <class Element, class In, class Out>
ROPE_INLINE bool accept_memory(const TensorView<Element>& v, const TokensView& view, Index most,
                               Accepted<In, Out>& call) noexcept {
    const Index span = view.span();
    if (span == 0) return false;
    call.bytes = view.tokens * view.heads * view.head_dim * static_cast<Index>(sizeof(Out));
    if (call.bytes > most) return false;
    if (kPointersAreShort && span > kMemoryBytes / static_cast<Index>(sizeof(Out))) return false;
    call.memory.begin = reinterpret_cast<std::uintptr_t>(v.data);
    call.memory.end = call.memory.begin + bits_of(span) * sizeof(Out);
    return call.memory.begin < call.memory.end;
}

/// Whether a list of positions, which is read while the call writes, lies apart from the call's output.
template <class In, class Out>
ROPE_INLINE bool is_apart(const Accepted<In, Out>& call) noexcept {
    const Positions* const list = call.slab.rows.list;
    if (list == nullptr) return true;
    if (list->stride() < 1) return false;
    const std::uint64_t begin = reinterpret_cast<std::uintptr_t>(list->data());
    return are_apart({begin, begin + bits_of(((list->count() - 1) * list->stride() + 1) * list->element_size())},
                     call.memory);
}

/// The shape of a layout whose features are contiguous.
constexpr PairShape pair_shape(Layout layout, Index pairs) noexcept {
    return layout == Layout::interleaved ? PairShape{2, 1} : PairShape{1, pairs};
}

ROPE_INLINE Index head_stride_of(const TokensView& v) noexcept { return v.heads == 1 ? 0 : v.head; }

/// Fills `call` if a call is usual: contiguous features, the tokens of a sequence or of a batch of single tokens, each
/// position in the table, and at most `most` bytes. False for all other calls, and for all that explain refuses.
template <class Element, class Storage, class T>
ROPE_NOINLINE bool accept(const TensorView<Element>& v, const CosSinRows<T>& table, Layout layout, Direction direction,
                          const Positions& positions, Index most, Accepted<Storage, Storage>& call) noexcept {
    const TokensView view = tokens_of(v);
    if (!fits_table(v, layout, direction, table) || !accept_memory(v, view, most, call) ||
        !accept_positions(positions, view, table, call.slab.rows) || !is_apart(call))
        return false;
    Storage* const x = reinterpret_cast<Storage*>(v.data) + table.rotary_offset();
    const PairShape pair = pair_shape(layout, table.pairs());
    const Index head = head_stride_of(view);
    call.slab.x = call.slab.y = x;
    call.slab.shape = {head, head, pair, pair, table.pairs()};
    call.slab.heads = view.heads;
    call.slab.tokens = view.tokens;
    call.slab.x_token_stride = call.slab.y_token_stride = view.token;
    return true;
}
template <class View, class T, class Call>
ROPE_INLINE bool accept(const InPlace<View, T>& a, Layout layout, Direction direction, const Positions& positions,
                        Index most, Call& call) noexcept {
    return accept(a.x, a.rows, layout, direction, positions, most, call);
}

/// The same out of place, where no memory is common.
template <class A, class B, class In, class Out, class T>
ROPE_NOINLINE bool accept(const TensorView<A>& in, const TensorView<B>& out, const CosSinRows<T>& table, Layout layout,
                          Direction direction, const Positions& positions, Index most,
                          Accepted<In, Out>& call) noexcept {
    const TokensView from = tokens_of(in), to = tokens_of(out);
    if (!fits_table(in, layout, direction, table) || !fits_table(out, layout, direction, table) ||
        in.batch != out.batch || in.seq != out.seq || in.heads != out.heads)
        return false;
    Accepted<In, In> read;
    if (!accept_memory(in, from, kMemoryBytes, read) || !accept_memory(out, to, most, call) ||
        !are_apart(read.memory, call.memory) || !accept_positions(positions, to, table, call.slab.rows) ||
        !is_apart(call))
        return false;
    const PairShape pair = pair_shape(layout, table.pairs());
    call.slab.x = reinterpret_cast<const In*>(in.data) + table.rotary_offset();
    call.slab.y = reinterpret_cast<Out*>(out.data) + table.rotary_offset();
    call.slab.shape = {head_stride_of(from), head_stride_of(to), pair, pair, table.pairs()};
    call.slab.heads = to.heads;
    call.slab.tokens = to.tokens;
    call.slab.x_token_stride = from.token;
    call.slab.y_token_stride = to.token;
    return true;
}
template <class In, class Out, class T, class Call>
ROPE_INLINE bool accept(const OutOfPlace<In, Out, T>& a, Layout layout, Direction direction, const Positions& positions,
                        Index most, Call& call) noexcept {
    return accept(a.in, a.out, a.rows, layout, direction, positions, most, call);
}

/// Joins q and k into one view where the heads of k follow the heads of q at the same stride, as in a buffer that one
/// projection has filled: one call of a kernel in place of two. False if they do not. If a call on `both` is accepted,
/// the call on q and k is valid and does the same.
template <class Element>
ROPE_INLINE bool are_one_view(const TensorView<Element>& q, const TensorView<Element>& k,
                              TensorView<Element>& both) noexcept {
    const Index heads = hide_from_optimizer(q.heads), head = hide_from_optimizer(q.head_stride);
    const std::uint64_t distance = reinterpret_cast<std::uintptr_t>(k.data) - reinterpret_cast<std::uintptr_t>(q.data);
    if (distance != bits_of(heads) * bits_of(head) * sizeof(Element)) return false;
    const Index batch = hide_from_optimizer(q.batch), seq = hide_from_optimizer(q.seq),
                head_dim = hide_from_optimizer(q.head_dim), token = hide_from_optimizer(q.seq_stride),
                feature = hide_from_optimizer(q.feature_stride), more = hide_from_optimizer(k.heads);
    if (!are_counts(heads, more) || head != k.head_stride || seq != k.seq || (seq != 1 && token != k.seq_stride) ||
        head_dim != k.head_dim || feature != k.feature_stride || batch != k.batch ||
        (batch != 1 && q.batch_stride != k.batch_stride))
        return false;
    both = {q.data, batch, seq, heads + more, head_dim, q.batch_stride, token, head, feature};
    return true;
}
template <class Q, class K>
ROPE_INLINE bool are_one_view(const TensorView<Q>&, const TensorView<K>&, TensorView<Q>&) noexcept {
    return false;
}

/// Fills `call` with both tensors of a call whose tables are the same, if they are one view that is accepted.
template <class Q, class K, class T, class Call>
ROPE_INLINE bool accept_as_one(const InPlace<Q, T>& q, const InPlace<K, T>& k, Layout layout, Direction direction,
                               const Positions& positions, Index most, Call& call) noexcept {
    std::remove_const_t<std::remove_reference_t<Q>> both;
    return are_one_view(q.x, k.x, both) && accept(both, q.rows, layout, direction, positions, most, call);
}

/// Whether two accepted calls are accepted together: as many tokens along the same axis (which the caller compares), no
/// common memory, and together at most `most` bytes.
template <class X, class Y>
ROPE_INLINE bool are_accepted_together(const Accepted<X, X>& q, const Accepted<Y, Y>& k, Index most) noexcept {
    return q.slab.tokens == k.slab.tokens && are_apart(q.memory, k.memory) && q.bytes + k.bytes <= most;
}

ROPE_DETAIL_END
