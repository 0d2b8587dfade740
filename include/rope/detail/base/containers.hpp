// SPDX-License-Identifier: MIT
// Contiguous containers: the allocator of Lists, elements, who owns them, and lifetimebound for results that refer to
// them.
#pragma once

#include <memory>
#include <type_traits>
#include <utility>

#include "../../types.hpp"
#include "../../version.hpp"

// Marks an argument (behind a member function: the object) to which the result refers; clang warns where the result
// outlives it.
#define ROPE_LIFETIMEBOUND
#if defined(__has_cpp_attribute)
#    if __has_cpp_attribute(clang::lifetimebound)
#        undef ROPE_LIFETIMEBOUND
#        define ROPE_LIFETIMEBOUND [[clang::lifetimebound]]
#    endif
#endif

ROPE_DETAIL_BEGIN

/// T without reference and const (std::remove_cvref_t of C++20).
template <class T>
using Plain = std::remove_cv_t<std::remove_reference_t<T>>;

/// False for every type: the static_assert of an overload that exists only to say why an argument is refused.
template <class>
inline constexpr bool never = false;

/// std::allocator under a name with the machine in it, which is then in the names of a vector's functions, too.
template <class T>
struct Allocator : std::allocator<T> {
    template <class U>
    struct rebind {  // std's would lead back to std::allocator
        using other = Allocator<U>;
    };
    Allocator() = default;
    template <class U>
    Allocator(const Allocator<U>&) noexcept {}
};

/// The element type of a contiguous container, const where a C gives no write access; void for other types. Contiguous
/// containers have data() and size(); Eigen's vectors also have innerStride().
template <class C, class = void>
struct ContainerElement {
    using type = void;
};
template <class C>
struct ContainerElement<C, std::void_t<decltype(*std::declval<C&>().data()), decltype(std::declval<C&>().size())>> {
    using type = std::remove_reference_t<decltype(*std::declval<C&>().data())>;
};
template <class C>
using ContainerValue = std::remove_cv_t<typename ContainerElement<const C>::type>;

template <class C>
inline constexpr bool is_container = !std::is_void_v<ContainerValue<C>>;

/// Eigen's matrices and tensors have data() and size() too, but only their vectors are lists.
template <class C, class = void>
inline constexpr bool is_list = true;
template <class C>
inline constexpr bool is_list<C, std::enable_if_t<(C::NumDimensions > 1)>> = false;

template <class C, class = void>
struct HasInnerStride : std::false_type {};
template <class C>
struct HasInnerStride<C, std::void_t<decltype(std::declval<const C&>().innerStride())>> : std::true_type {};

template <class C>
constexpr Index inner_stride(const C& c) noexcept {
    if constexpr (HasInnerStride<C>::value) return static_cast<Index>(c.innerStride());
    return 1;
}

/// Whether a container only refers to its elements, so that they outlive it: std::span and the spans of other libraries
/// all name an element_type and are trivially copyable.
template <class C, class = void>
inline constexpr bool is_span = false;
template <class C>
inline constexpr bool is_span<C, std::void_t<typename C::element_type>> = std::is_trivially_copyable_v<C>;

ROPE_DETAIL_END
