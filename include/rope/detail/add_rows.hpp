// SPDX-License-Identifier: MIT
// The walk of an additive encoding over a tensor, and the loop that adds a row of its table.
#pragma once

#include <type_traits>

#include "../positions.hpp"
#include "../tensor_view.hpp"
#include "../types.hpp"
#include "arithmetic.hpp"
#include "checks.hpp"

namespace rope {
inline namespace ROPE_VERSION_NAMESPACE {
namespace detail {

/// Tensors whose ViewTraits say that they have three axes are read as [batch, seq, d_model] here, where apply
/// reads them as [seq, heads, head_dim].
template <class Traits, class = void>
inline constexpr bool has_three_axes = false;
template <class Traits>
inline constexpr bool has_three_axes<Traits, std::enable_if_t<Traits::tensor_rank == 3>> = true;

template <class Tensor>
ROPE_ABI inline auto as_embedding(Tensor& x) {
    auto v = as_view(x);
    if constexpr (has_three_axes<ViewTraits<Tensor>>) {
        v.batch = v.seq;
        v.batch_stride = v.seq_stride;
        v.seq = v.heads;
        v.seq_stride = v.head_stride;
        v.heads = 1;
    }
    return v;
}

/// x[i] += row[i], in the table's type.
template <class Storage, class T>
ROPE_ABI inline void add_row(Storage* x, Index stride, const T* row, Index count) noexcept {
    using E = Element<T, Storage>;
    Index i = 0;
    if (stride == 1) {
#if !defined(__clang__)
        // g++ vectorises loops of a fixed length only at -O2, and unrolls no others at -O3.
        constexpr Index kBlock = 32;
        for (; i <= count - kBlock; i += kBlock) {
            ROPE_INDEPENDENT_ITERATIONS
            for (Index k = i; k < i + kBlock; ++k) E::store(x + k, E::load(x + k) + row[k]);
        }
#endif
        ROPE_INDEPENDENT_ITERATIONS
        for (Index k = i; k < count; ++k) E::store(x + k, E::load(x + k) + row[k]);
    } else {
        for (; i < count; ++i) E::store(x + i * stride, E::load(x + i * stride) + row[i]);
    }
}

/// Adds rows to heads begin .. end - 1. Heads are numbered token by token in the order of memory, so that a
/// [seq, batch, ...] buffer streams as well as a [batch, seq, ...] one. Heads that lie one after the other
/// are added to as one long row.
template <class Storage, class T>
ROPE_ABI inline void add_rows(const TensorView<Storage>& x, const T* table, const Positions& positions, Index begin,
                              Index end) noexcept {
    const bool batch_outside = magnitude(x.batch_stride) >= magnitude(x.seq_stride);
    const Index inner_count = batch_outside ? x.seq : x.batch;
    const bool heads_meet = x.head_stride == x.head_dim * x.feature_stride;
    Index outer = begin / x.heads / inner_count;
    Index inner = begin / x.heads % inner_count;
    Index head = begin % x.heads;
    while (begin < end) {
        const Index b = batch_outside ? outer : inner;
        const Index s = batch_outside ? inner : outer;
        const Index heads = end - begin < x.heads - head ? end - begin : x.heads - head;
        const T* const row = table + (positions.at(b, s, x.seq) * x.heads + head) * x.head_dim;
        Storage* const to = x.data + b * x.batch_stride + s * x.seq_stride + head * x.head_stride;
        const Index pieces = heads_meet ? 1 : heads;
        const Index count = heads_meet ? heads * x.head_dim : x.head_dim;
        for (Index i = 0; i < pieces; ++i) add_row(to + i * x.head_stride, x.feature_stride, row + i * count, count);
        begin += heads;
        head = 0;
        if (++inner == inner_count) {
            inner = 0;
            ++outer;
        }
    }
}

}  // namespace detail
}  // namespace ROPE_VERSION_NAMESPACE
}  // namespace rope
