// SPDX-License-Identifier: MIT
// The arguments of a call, and what the compiler requires of them.
#pragma once

#include <type_traits>

#include "../../cos_sin_rows.hpp"
#include "../../tensor_view.hpp"
#include "../../types.hpp"
#include "../views/any_view.hpp"

ROPE_DETAIL_BEGIN

template <class View>
using StorageOf = typename ElementTraits<std::remove_const_t<ElementOf<View>>>::storage;

/// One tensor of a call with its table. A View is a TensorView, or a reference to the caller's own.
template <class View, class T>
struct InPlace {
    View x;
    const char* name;
    const CosSinRows<T>& rows;

    using In = StorageOf<View>;
    using Out = In;
    static constexpr bool kIsOutOfPlace = false;
};
template <class InView, class OutView, class T>
struct OutOfPlace {
    InView in;
    OutView out;
    const CosSinRows<T>& rows;

    using In = StorageOf<InView>;
    using Out = StorageOf<OutView>;
    static constexpr bool kIsOutOfPlace = true;
};

/// Their views without element types. In place there is one.
struct ErasedInPlace {
    AnyView out;
    ROPE_INLINE const AnyView& in() const noexcept { return out; }
};
struct ErasedOutOfPlace {
    AnyView source, out;
    ROPE_INLINE const AnyView& in() const noexcept { return source; }
};
template <class View, class T>
ROPE_INLINE ErasedInPlace erased(const InPlace<View, T>& a) noexcept {
    return {erased(a.name, a.x)};
}
template <class In, class Out, class T>
ROPE_INLINE ErasedOutOfPlace erased(const OutOfPlace<In, Out, T>& a) noexcept {
    return {erased("in", a.in), erased("out", a.out)};
}

// Conditions that the compiler checks, each with a sentence of its own. They are asserted in the functions that apply
// and the others call directly, which then return Refused: so a mistake is a dozen lines of compiler output, and the
// first of them names the remedy. The sentences are macros, because a function around the assertions adds four lines.

/// Whether the elements of a view have a known type. (True of a refused view, here and below.)
template <class View>
inline constexpr bool has_elements = is_refused<View> || !std::is_void_v<StorageOf<View>>;

template <class View>
inline constexpr bool is_writable = is_refused<View> || !std::is_const_v<ElementOf<View>>;

/// Whether elements and table are both double, or neither.
template <class View, class T>
inline constexpr bool goes_with = std::is_void_v<T> || is_refused<View> || !has_elements<View> ||
                                  std::is_same_v<StorageOf<View>, double> == std::is_same_v<T, double>;

/// Whether a user's own ElementTraits are valid.
template <class View, bool = is_refused<View> || !has_elements<View>>
inline constexpr bool has_right_traits = true;
template <class View>
inline constexpr bool has_right_traits<View, false> =
    sizeof(StorageOf<View>) == sizeof(ElementOf<View>) && std::is_trivially_copyable_v<ElementOf<View>> &&
    (sizeof(StorageOf<View>) == 2 || std::is_same_v<StorageOf<View>, std::remove_const_t<ElementOf<View>>>);

template <class View, bool is_written, class T>
inline constexpr bool is_accepted = !is_refused<View> && has_elements<View> && has_right_traits<View> &&
                                    goes_with<View, T> && (!is_written || is_writable<View>);

#define ROPE_SAYS_NO_TENSOR                                                                    \
    "This argument is no tensor that rope knows: pass rope::view(ptr, seq, heads, head_dim), " \
    "rope::view(eigen_matrix, heads), an Eigen Tensor or TensorMap of rank 3 or 4 (with "      \
    "<rope/eigen.hpp> included), or specialise rope::ViewTraits for its type."
#define ROPE_SAYS_ELEMENTS                                                               \
    "Elements must be float, double, rope::half or rope::bfloat16, or a type for which " \
    "rope::ElementTraits names one of these (for 16-bit integers that hold such bits: "  \
    "rope::as_half(ptr), rope::as_bfloat16(ptr))."
#define ROPE_SAYS_TRAITS                                                                               \
    "Types of your own may stand for rope::half and rope::bfloat16, which are read as bytes, if they " \
    "have their size and are trivially copyable; float and double are read as themselves."
#define ROPE_SAYS_CONST "This tensor is written, so its elements must not be const."
#define ROPE_SAYS_DOUBLE                                                                                    \
    "double data needs a table of double (CosSinCache<double>) or an embedding of double; float, half and " \
    "bfloat16 data one of float."

template <class X, class T>
ROPE_INLINE auto in_place(const char* name, X& x, const CosSinRows<T>& rows) noexcept {
    using View = ViewOf<X>;
    static_assert(!is_no_tensor<X>, ROPE_SAYS_NO_TENSOR);
    static_assert(has_elements<View>, ROPE_SAYS_ELEMENTS);
    static_assert(has_right_traits<View>, ROPE_SAYS_TRAITS);
    static_assert(is_writable<View>, ROPE_SAYS_CONST);
    static_assert(goes_with<View, T>, ROPE_SAYS_DOUBLE);
    if constexpr (is_accepted<View, true, T>)
        return InPlace<View, T>{as_view(x), name, rows};
    else
        return Refused();
}
template <class X, class Y, class T>
ROPE_INLINE auto out_of_place(X& in, Y& out, const CosSinRows<T>& rows) noexcept {
    using In = ViewOf<X>;
    using Out = ViewOf<Y>;
    static_assert(!is_no_tensor<X> && !is_no_tensor<Y>, ROPE_SAYS_NO_TENSOR);
    static_assert(has_elements<In> && has_elements<Out>, ROPE_SAYS_ELEMENTS);
    static_assert(has_right_traits<In> && has_right_traits<Out>, ROPE_SAYS_TRAITS);
    static_assert(is_writable<Out>, ROPE_SAYS_CONST);
    static_assert(goes_with<In, T> && goes_with<Out, T>, ROPE_SAYS_DOUBLE);
    if constexpr (is_accepted<In, false, T> && is_accepted<Out, true, T>)
        return OutOfPlace<In, Out, T>{as_view(in), as_view(out), rows};
    else
        return Refused();
}

ROPE_DETAIL_END
