// SPDX-License-Identifier: MIT
// Definitions of tensor_view.hpp: strides of contiguous buffers.
#pragma once

#include "../../tensor_view.hpp"
#include "../../types.hpp"
#include "buffers.hpp"

ROPE_BEGIN

template <class T, std::enable_if_t<!std::is_void_v<T>, int>>
ROPE_ABI constexpr TensorView<T> view(T* ptr, Index batch, Index seq, Index heads, Index head_dim) noexcept {
    const Index token = detail::clamped_product(heads, head_dim);
    return {ptr, batch, seq, heads, head_dim, detail::clamped_product(seq, token), token, head_dim, 1};
}

template <class T, std::enable_if_t<!std::is_void_v<T>, int>>
ROPE_ABI constexpr TensorView<T> view(T* ptr, Index seq, Index heads, Index head_dim) noexcept {
    return rope::view(ptr, 1, seq, heads, head_dim);
}

template <class T>
ROPE_ABI constexpr TensorView<T> view_heads_first(T* ptr, Index batch, Index heads, Index seq,
                                                  Index head_dim) noexcept {
    const Index head = detail::clamped_product(seq, head_dim);
    return {ptr, batch, seq, heads, head_dim, detail::clamped_product(heads, head), head_dim, head, 1};
}

template <class C, detail::IfOwner<C>>
ROPE_ABI inline detail::ViewOfBuffer<C> view(C& container ROPE_LIFETIMEBOUND, Index batch, Index seq, Index heads,
                                             Index head_dim) {
    return rope::view(detail::elements_of(container, detail::kViewNames, batch, seq, heads, head_dim), batch, seq,
                      heads, head_dim);
}

template <class C, detail::IfSpanOrTemporary<C>>
ROPE_ABI inline auto view(C&& container, Index batch, Index seq, Index heads, Index head_dim) {
    return rope::view(detail::elements_of_span(container, detail::kViewNames, batch, seq, heads, head_dim), batch, seq,
                      heads, head_dim);
}

template <class C, detail::IfOwner<C>>
ROPE_ABI inline detail::ViewOfBuffer<C> view(C& container ROPE_LIFETIMEBOUND, Index seq, Index heads, Index head_dim) {
    return rope::view(detail::elements_of(container, detail::kViewOfOneNames, 1, seq, heads, head_dim), 1, seq, heads,
                      head_dim);
}

template <class C, detail::IfSpanOrTemporary<C>>
ROPE_ABI inline auto view(C&& container, Index seq, Index heads, Index head_dim) {
    return rope::view(detail::elements_of_span(container, detail::kViewOfOneNames, 1, seq, heads, head_dim), 1, seq,
                      heads, head_dim);
}

template <class C, detail::IfOwner<C>>
ROPE_ABI inline detail::ViewOfBuffer<C> view_heads_first(C& container ROPE_LIFETIMEBOUND, Index batch, Index heads,
                                                         Index seq, Index head_dim) {
    return rope::view_heads_first(detail::elements_of(container, detail::kHeadsFirstNames, batch, heads, seq, head_dim),
                                  batch, heads, seq, head_dim);
}

template <class C, detail::IfSpanOrTemporary<C>>
ROPE_ABI inline auto view_heads_first(C&& container, Index batch, Index heads, Index seq, Index head_dim) {
    return rope::view_heads_first(
        detail::elements_of_span(container, detail::kHeadsFirstNames, batch, heads, seq, head_dim), batch, heads, seq,
        head_dim);
}

ROPE_END
