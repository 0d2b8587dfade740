// SPDX-License-Identifier: MIT
// View: where the numbers of a tensor lie.
#pragma once

#include <type_traits>

#include "errors.hpp"
#include "types.hpp"

#include "detail/base/hide_macros.hpp"

#include "detail/base/containers.hpp"
#include "detail/views/buffers.hpp"

ROPE_BEGIN

/// A non-owning view of numbers as [batch, seq, heads, head_dim], with any strides, counted in elements: element (b,
/// s, h, i) is data[b*batch_stride + s*seq_stride + h*head_stride + i*feature_stride].
///
/// Strides may be negative. An axis of extent 1 may have any stride; in a view that is written, distinct elements must
/// have distinct addresses. Fast where features are contiguous (feature_stride 1), vectorised where tokens or heads
/// are, correct with any strides. T is const for read-only data.
///
/// Plain data: fill the fields by hand, or use view(...), view_heads_first(...) and the slices below.
template <class T>
struct TensorView {
    T* data = nullptr;
    Index batch = 0, seq = 0, heads = 0, head_dim = 0;
    Index batch_stride = 0, seq_stride = 0, head_stride = 0, feature_stride = 1;

    /// Element i of head h of token s of batch entry b. Not checked.
    ROPE_ABI T& operator()(Index b, Index s, Index h, Index i) const noexcept {
        return data[b * batch_stride + s * seq_stride + h * head_stride + i * feature_stride];
    }

    /// Reading through a view of mutable data.
    ROPE_ABI operator TensorView<const T>() const noexcept {  // NOLINT(google-explicit-constructor)
        return {data, batch, seq, heads, head_dim, batch_stride, seq_stride, head_stride, feature_stride};
    }

    /// Batch entries, tokens, heads or features first .. first + count - 1. Throws std::invalid_argument when they do
    /// not all exist.
    ROPE_ABI TensorView slice_batch(Index first, Index count) const {
        return detail::slice(*this, "batch entries", &TensorView::batch, batch_stride, first, count);
    }
    /// The same for tokens of every batch entry.
    ROPE_ABI TensorView slice_tokens(Index first, Index count) const {
        return detail::slice(*this, "tokens", &TensorView::seq, seq_stride, first, count);
    }
    /// The same for heads of every token: key heads within fused rows of q, k and v, for example.
    ROPE_ABI TensorView slice_heads(Index first, Index count) const {
        return detail::slice(*this, "heads", &TensorView::heads, head_stride, first, count);
    }
    /// The same for features of every head.
    ROPE_ABI TensorView slice_features(Index first, Index count) const {
        return detail::slice(*this, "features", &TensorView::head_dim, feature_stride, first, count);
    }
};

/// A contiguous [batch, seq, heads, head_dim] buffer.
template <class T, std::enable_if_t<!std::is_void_v<T>, int> = 0>
ROPE_ABI constexpr TensorView<T> view(T* ptr, Index batch, Index seq, Index heads, Index head_dim) noexcept;

/// A contiguous [seq, heads, head_dim] buffer.
template <class T, std::enable_if_t<!std::is_void_v<T>, int> = 0>
ROPE_ABI constexpr TensorView<T> view(T* ptr, Index seq, Index heads, Index head_dim) noexcept;

/// A contiguous [batch, heads, seq, head_dim] buffer: the order in which many frameworks hold q, k and v after their
/// transpose. The result is a [batch, seq, heads, head_dim] view of it.
template <class T>
ROPE_ABI constexpr TensorView<T> view_heads_first(T* ptr, Index batch, Index heads, Index seq, Index head_dim) noexcept;

// ---- The same for a buffer that is a contiguous container (std::vector, std::array, std::span, ...) of the view's
//      size: with another size they throw std::invalid_argument. A const container gives a view of const elements;
//      a temporary one that owns its elements is refused by the compiler. ----

template <class C, detail::IfOwner<C> = 0>
ROPE_ABI inline detail::ViewOfBuffer<C> view(C& container ROPE_LIFETIMEBOUND, Index batch, Index seq, Index heads,
                                             Index head_dim);
template <class C, detail::IfSpanOrTemporary<C> = 0>
ROPE_ABI inline auto view(C&& container, Index batch, Index seq, Index heads, Index head_dim);
template <class C, detail::IfOwner<C> = 0>
ROPE_ABI inline detail::ViewOfBuffer<C> view(C& container ROPE_LIFETIMEBOUND, Index seq, Index heads, Index head_dim);
template <class C, detail::IfSpanOrTemporary<C> = 0>
ROPE_ABI inline auto view(C&& container, Index seq, Index heads, Index head_dim);
template <class C, detail::IfOwner<C> = 0>
ROPE_ABI inline detail::ViewOfBuffer<C> view_heads_first(C& container ROPE_LIFETIMEBOUND, Index batch, Index heads,
                                                         Index seq, Index head_dim);
template <class C, detail::IfSpanOrTemporary<C> = 0>
ROPE_ABI inline auto view_heads_first(C&& container, Index batch, Index heads, Index seq, Index head_dim);

/// How a tensor of another library is seen as a TensorView. Specialise it to make your own tensor type acceptable to
/// every operation:
///
///     template <> struct rope::ViewTraits<my::Tensor> {
///         static rope::TensorView<float> view(my::Tensor& t) { return rope::view(t.ptr(), ...); }
///     };
///
/// A const tensor is looked up as `const my::Tensor` and must give a TensorView<const T>. <rope/eigen.hpp> does so
/// for Eigen's Tensor and TensorMap of rank 3 and 4.
template <class Tensor>
struct ViewTraits {
    static constexpr bool is_missing = true;
};

ROPE_END

#include "detail/views/tensor_view.hpp"
#include "detail/views/view_arguments.hpp"

#include "detail/base/restore_macros.hpp"
