// SPDX-License-Identifier: MIT
// The kernel of an additive encoding, written once for every instruction set. No include guard: see isa_list.hpp.

ROPE_DETAIL_BEGIN
namespace ROPE_ISA {

/// x[i * stride] += row[i], in the table's type. Not inlined, as ROPE_LOOPS_BEGIN must enclose it.
template <class X, class T>
ROPE_NOINLINE void add_one_by_one(X* x, Index stride, const T* row, Index count) noexcept {
    using E = Element<T, X>;
    ROPE_INDEPENDENT_ITERATIONS
    for (Index i = 0; i < count; ++i) E::store(x + i * stride, E::load(x + i * stride) + row[i]);
}

/// The same, by vectors where x is contiguous.
template <class X, class T>
ROPE_INLINE void add_row(X* x, Index stride, const T* row, Index count) noexcept {
    Index i = 0;
    if constexpr (Vector<T>::kWidth > 1) {
        using V = Vector<T>;
        if (stride == 1 && count >= V::kWidth) {
            for (; i + 4 * V::kWidth <= count; i += 4 * V::kWidth) {
                const V a = V::load(x + i) + V::load(row + i);
                const V b = V::load(x + i + V::kWidth) + V::load(row + i + V::kWidth);
                const V c = V::load(x + i + 2 * V::kWidth) + V::load(row + i + 2 * V::kWidth);
                const V d = V::load(x + i + 3 * V::kWidth) + V::load(row + i + 3 * V::kWidth);
                a.store(x + i);
                b.store(x + i + V::kWidth);
                c.store(x + i + 2 * V::kWidth);
                d.store(x + i + 3 * V::kWidth);
            }
            for (; i + V::kWidth <= count; i += V::kWidth) (V::load(x + i) + V::load(row + i)).store(x + i);
            if (i == count) return;
            const Index last = count - V::kWidth;  // masked tail: overlaps the vector before it, stores the rest
            (V::load(x + last) + V::load(row + last)).store_skipping_first(x + last, i - last);
            return;
        }
    }
    add_one_by_one(x, stride, row, count);
}

/// Adds rows to heads begin .. end - 1. Contiguous heads of a token are one long row.
template <class X, class T>
ROPE_KERNEL void add(const AddTask<X, T>& task, Index begin, Index end) noexcept {
    if (begin >= end) return;    // an empty view may have any strides
    const AnyView x = task.out;  // a copy: a compiler must assume that a store changes the original
    const Index head_dim = x.extents[kFeatureAxis], head_step = x.strides[kHeadAxis], step = x.strides[kFeatureAxis];
    const bool heads_meet = head_step == head_dim * step;
    HeadIterator walk(task.order, x, begin);
    while (begin < end) {
        const Index heads = walk.heads_here(end - begin);
        const Index tokens = walk.tokens_here(end - begin, heads);
        const Index pieces = heads_meet ? 1 : heads;
        const Index count = heads_meet ? heads * head_dim : head_dim;
        const bool along_batch = walk.token_axis() == kBatchAxis;
        const Index token_step = tokens == 1 ? 0 : x.strides[along_batch ? kBatchAxis : kSeqAxis];
        const Index b = walk.batch(), s = walk.token(), first = walk.head();
        X* to = x.elements<X>() + b * x.strides[kBatchAxis] + s * x.strides[kSeqAxis] + first * head_step;
        for (Index t = 0; t < tokens; ++t, to += token_step) {
            const Index position =
                task.positions.at(along_batch ? b + t : b, along_batch ? s : s + t, x.extents[kSeqAxis]);
            const T* const row = task.table + (position * x.extents[kHeadAxis] + first) * head_dim;
            for (Index i = 0; i < pieces; ++i) add_row(to + i * head_step, step, row + i * count, count);
        }
        walk.advance(tokens, heads);
        begin += tokens * heads;
    }
}

}  // namespace ROPE_ISA
ROPE_DETAIL_END
