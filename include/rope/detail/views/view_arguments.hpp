// SPDX-License-Identifier: MIT
// Arguments of calls as views: a TensorView as it is, another tensor by its ViewTraits, anything else refused.
#pragma once

#include <type_traits>
#include <utility>

#include "../../tensor_view.hpp"
#include "../base/containers.hpp"

ROPE_DETAIL_BEGIN

/// Stands in place of a view where the compiler has refused an argument with a sentence: nothing is compiled for it, so
/// there is no second error.
struct Refused : TensorView<float> {};

template <class View>
inline constexpr bool is_refused = std::is_same_v<Plain<View>, Refused>;

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
inline decltype(auto) as_view(Tensor& x) {
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

ROPE_DETAIL_END

ROPE_BEGIN

/// Refuses all arguments that the other functions of this name do not take.
template <class Other>
ROPE_ABI inline detail::Refused view(const Other&, ...) noexcept {
    static_assert(
        detail::never<Other>,
        "rope::view takes (ptr, seq, heads, head_dim) or (ptr, batch, seq, heads, head_dim), with a pointer to "
        "elements or a contiguous container such as std::vector; or, with <rope/eigen.hpp>, (eigen_matrix, heads).");
    return {};
}

ROPE_END
