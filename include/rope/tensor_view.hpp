// SPDX-License-Identifier: MIT
// View: where the numbers of a tensor lie.
#pragma once

#include <limits>
#include <type_traits>
#include <utility>

#include "errors.hpp"
#include "types.hpp"

#include "detail/base/containers.hpp"

#include "detail/base/hide_macros.hpp"

namespace rope {
inline namespace ROPE_VERSION_NAMESPACE {

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
        return slice("batch entries", &TensorView::batch, batch_stride, first, count);
    }
    ROPE_ABI TensorView slice_tokens(Index first, Index count) const {
        return slice("tokens", &TensorView::seq, seq_stride, first, count);
    }
    ROPE_ABI TensorView slice_heads(Index first, Index count) const {
        return slice("heads", &TensorView::heads, head_stride, first, count);
    }
    ROPE_ABI TensorView slice_features(Index first, Index count) const {
        return slice("features", &TensorView::head_dim, feature_stride, first, count);
    }

 private:
    ROPE_ABI TensorView slice(const char* what, Index TensorView::*extent, Index stride, Index first,
                              Index count) const {
        const Index size = this->*extent;
        TensorView result = *this;
        result.*extent = 0;
        if (first < 0 || count < 0 || first > size || count > size - first) {
            detail::ok_or_raise(detail::invalid(
                "The slice takes {} {} from {} on; the view has {} of them, and first and count must not be negative.",
                {count, what, first, size}));
            return result;
        }
        if (count > 0 && first > 0) {
            const Index room = detail::kMemoryBytes / static_cast<Index>(sizeof(T)) / first;
            if (stride > room || stride < -room) {
                detail::ok_or_raise(detail::invalid(
                    "The slice begins {} steps of {} elements into the view, beyond what memory can hold.",
                    {first, stride}));
                return result;
            }
            if (result.data != nullptr) result.data += first * stride;
        }
        result.*extent = count;
        return result;
    }
};

namespace detail {

/// a * b, held at the largest Index when it does not fit, so that an absurd shape reaches its check unharmed.
ROPE_ABI constexpr Index clamped_product(Index a, Index b) noexcept {
    if (a <= 0 || b <= 0) return 0;              // an empty or a refused axis: the stride is not used
    if ((a | b) < Index(1) << 31) return a * b;  // without a division
    constexpr Index most = std::numeric_limits<Index>::max();
    return a > most / b ? most : a * b;
}

/// |x|, held at the largest Index for the smallest one, which only a stride that is never taken can be.
ROPE_ABI constexpr Index magnitude(Index x) noexcept {
    constexpr Index most = std::numeric_limits<Index>::max();
    return x >= 0 ? x : x < -most ? most : -x;
}

/// The same for a stride, which may be negative.
ROPE_ABI constexpr Index clamped_step(Index count, Index stride) noexcept {
    const Index step = clamped_product(count, magnitude(stride));
    return stride < 0 ? -step : step;
}

/// Stands in place of a view where the compiler has refused an argument with a sentence: nothing is compiled for it, so
/// there is no second error.
struct Refused : TensorView<float> {};

template <class View>
inline constexpr bool is_refused = std::is_same_v<Plain<View>, Refused>;

/// Whether a container's elements can be the buffer of a view.
template <class C>
inline constexpr bool is_buffer = is_container<C>&& is_list<C> && !HasInnerStride<C>::value;
/// Buffers that live on when the call that makes the view is over, and own their elements; and all others.
template <class C>
using IfOwner = std::enable_if_t<is_buffer<C> && !is_span<std::remove_const_t<C>>, int>;
template <class C>
using IfSpanOrTemporary =
    std::enable_if_t<is_buffer<std::remove_reference_t<C>> && (is_span<Plain<C>> || !std::is_lvalue_reference_v<C>),
                     int>;

template <class C>
using ViewOfBuffer = TensorView<typename ContainerElement<C>::type>;

/// The elements of a container that a view covers as a whole. Throws std::invalid_argument when it has another size.
template <class C>
ROPE_ABI inline auto elements_of(C& container, Index batch, Index seq, Index heads, Index head_dim) {
    const Index wanted = clamped_product(batch, clamped_product(seq, clamped_product(heads, head_dim)));
    const Index size = static_cast<Index>(container.size());
    const bool is_negative = batch < 0 || seq < 0 || heads < 0 || head_dim < 0;
    if (size == wanted && !is_negative) return container.data();
    ok_or_raise(is_negative ? invalid("batch is {}, seq {}, heads {} and head_dim {}; none must be negative.",
                                      {batch, seq, heads, head_dim})
                : size < wanted
                    ? invalid("The container has {} elements; a view of batch {}, seq {}, heads {} and "
                              "head_dim {} has {}.",
                              {size, batch, seq, heads, head_dim, wanted})
                    : invalid("The container has {} elements; a view of batch {}, seq {}, heads {} and "
                              "head_dim {} has {}. (To view a part of it, write its data() in place of it.)",
                              {size, batch, seq, heads, head_dim, wanted}));
    return decltype(container.data())(nullptr);
}
}  // namespace detail

/// A contiguous [batch, seq, heads, head_dim] buffer.
template <class T, std::enable_if_t<!std::is_void_v<T>, int> = 0>
ROPE_ABI constexpr TensorView<T> view(T* ptr, Index batch, Index seq, Index heads, Index head_dim) noexcept {
    const Index token = detail::clamped_product(heads, head_dim);
    return {ptr, batch, seq, heads, head_dim, detail::clamped_product(seq, token), token, head_dim, 1};
}

/// A contiguous [seq, heads, head_dim] buffer.
template <class T, std::enable_if_t<!std::is_void_v<T>, int> = 0>
ROPE_ABI constexpr TensorView<T> view(T* ptr, Index seq, Index heads, Index head_dim) noexcept {
    return rope::view(ptr, 1, seq, heads, head_dim);
}

/// A contiguous [batch, heads, seq, head_dim] buffer: the order in which many frameworks hold q, k and v after their
/// transpose. The result is a [batch, seq, heads, head_dim] view of it.
template <class T>
ROPE_ABI constexpr TensorView<T> view_heads_first(T* ptr, Index batch, Index heads, Index seq,
                                                  Index head_dim) noexcept {
    const Index head = detail::clamped_product(seq, head_dim);
    return {ptr, batch, seq, heads, head_dim, detail::clamped_product(heads, head), head_dim, head, 1};
}

// ---- The same for a buffer that is a contiguous container (std::vector, std::array, std::span, ...) of the view's
//      size: with another size they throw std::invalid_argument. A const container gives a view of const elements;
//      a temporary one that owns its elements is refused by the compiler. ----

template <class C, detail::IfOwner<C> = 0>
ROPE_ABI inline detail::ViewOfBuffer<C> view(C& container ROPE_LIFETIMEBOUND, Index batch, Index seq, Index heads,
                                             Index head_dim) {
    return rope::view(detail::elements_of(container, batch, seq, heads, head_dim), batch, seq, heads, head_dim);
}
template <class C, detail::IfSpanOrTemporary<C> = 0>
ROPE_ABI inline auto view(C&& container, Index batch, Index seq, Index heads, Index head_dim) {
    static_assert(detail::is_span<detail::Plain<C>>,
                  "rope::view does not own data: this container is a temporary and would be gone. Give it a name.");
    return rope::view(detail::elements_of(container, batch, seq, heads, head_dim), batch, seq, heads, head_dim);
}
template <class C, detail::IfOwner<C> = 0>
ROPE_ABI inline detail::ViewOfBuffer<C> view(C& container ROPE_LIFETIMEBOUND, Index seq, Index heads, Index head_dim) {
    return rope::view(container, 1, seq, heads, head_dim);
}
template <class C, detail::IfSpanOrTemporary<C> = 0>
ROPE_ABI inline auto view(C&& container, Index seq, Index heads, Index head_dim) {
    static_assert(detail::is_span<detail::Plain<C>>,
                  "rope::view does not own data: this container is a temporary and would be gone. Give it a name.");
    return rope::view(detail::elements_of(container, 1, seq, heads, head_dim), 1, seq, heads, head_dim);
}
template <class C, detail::IfOwner<C> = 0>
ROPE_ABI inline detail::ViewOfBuffer<C> view_heads_first(C& container ROPE_LIFETIMEBOUND, Index batch, Index heads,
                                                         Index seq, Index head_dim) {
    return rope::view_heads_first(detail::elements_of(container, batch, seq, heads, head_dim), batch, heads, seq,
                                  head_dim);
}
template <class C, detail::IfSpanOrTemporary<C> = 0>
ROPE_ABI inline auto view_heads_first(C&& container, Index batch, Index heads, Index seq, Index head_dim) {
    static_assert(detail::is_span<detail::Plain<C>>,
                  "rope::view does not own data: this container is a temporary and would be gone. Give it a name.");
    return rope::view_heads_first(detail::elements_of(container, batch, seq, heads, head_dim), batch, heads, seq,
                                  head_dim);
}

/// Everything else.
template <class Other>
ROPE_ABI inline detail::Refused view(const Other&, ...) noexcept {
    static_assert(
        detail::never<Other>,
        "rope::view takes (ptr, seq, heads, head_dim) or (ptr, batch, seq, heads, head_dim), with a pointer to "
        "elements or a contiguous container such as std::vector; or, with <rope/eigen.hpp>, (eigen_matrix, heads).");
    return {};
}

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

namespace detail {

template <class Traits, class = void>
inline constexpr bool has_view_traits = true;
template <class Traits>
inline constexpr bool has_view_traits<Traits, std::enable_if_t<Traits::is_missing>> = false;

template <class T>
inline constexpr bool is_tensor_view = false;
template <class T>
inline constexpr bool is_tensor_view<TensorView<T>> = true;

/// A TensorView by reference, because copying one costs as much as checking it; of other tensors the view that they
/// make, or Refused if they make none.
template <class Tensor>
ROPE_ABI inline decltype(auto) as_view(Tensor& x) {
    using View = std::remove_const_t<Tensor>;
    if constexpr (is_tensor_view<View>) {
        return static_cast<const View&>(x);
    } else if constexpr (has_view_traits<ViewTraits<Tensor>>) {
        return std::decay_t<decltype(ViewTraits<Tensor>::view(x))>(ViewTraits<Tensor>::view(x));
    } else {
        return Refused();
    }
}
template <class Tensor>
using ViewOf = decltype(as_view(std::declval<Tensor&>()));

/// Refused here, and not before.
template <class Tensor>
inline constexpr bool is_no_tensor = is_refused<ViewOf<Tensor>> && !is_refused<Tensor>;

/// The elements of a view, const or not.
template <class View>
using ElementOf = std::remove_reference_t<decltype(*std::declval<View&>().data)>;

}  // namespace detail
}  // namespace ROPE_VERSION_NAMESPACE
}  // namespace rope

#include "detail/base/restore_macros.hpp"
