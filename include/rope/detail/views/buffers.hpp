// SPDX-License-Identifier: MIT
// Buffers of views: their shapes, and the containers that they may be.
#pragma once

#include <initializer_list>
#include <type_traits>

#include "../../errors.hpp"
#include "../../fwd.hpp"
#include "../../types.hpp"
#include "../base/containers.hpp"
#include "../base/message.hpp"

ROPE_DETAIL_BEGIN

/// a * b, held at the largest Index when it does not fit, so that an absurd shape reaches its check unharmed.
constexpr Index clamped_product(Index a, Index b) noexcept {
    if (a <= 0 || b <= 0) return 0;              // an empty or a refused axis: the stride is not used
    if ((a | b) < Index(1) << 31) return a * b;  // without a division
    return a > kMaxIndex / b ? kMaxIndex : a * b;
}

/// |x|, held at the largest Index for the smallest one, which only a stride that is never taken can be.
constexpr Index absolute(Index x) noexcept { return x >= 0 ? x : x < -kMaxIndex ? kMaxIndex : -x; }

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

/// A function's own words for the extents of a buffer. (An extent without a name is no argument of it.)
struct BufferNames {
    const char* what;
    const char* extents[4];
};
inline constexpr BufferNames kViewNames = {"view", {"batch", "seq", "heads", "head_dim"}};
inline constexpr BufferNames kViewOfOneNames = {"view", {nullptr, "seq", "heads", "head_dim"}};
inline constexpr BufferNames kHeadsFirstNames = {"view", {"batch", "heads", "seq", "head_dim"}};

/// The sentence for a container of another size.
ROPE_COLD Status wrong_size(const BufferNames& names, Index size, std::initializer_list<Index> extents) noexcept {
    Message list("", {});
    Index wanted = 1;
    for (int axis = 0; axis < 4; ++axis) {
        const Index extent = extents.begin()[axis];
        wanted = clamped_product(wanted, extent);
        if (names.extents[axis] == nullptr) continue;
        if (extent < 0) return invalid("{} is {}; it must not be negative.", {names.extents[axis], extent});
        list.append(list.text()[0] == '\0' ? "" : axis == 3 ? " and " : ", ");
        list.append(Message("{} {}", {names.extents[axis], extent}).text());
    }
    return invalid("The container has {} {element|elements}; a {} of {} has {}.{}",
                   {size, names.what, list.text(), wanted,
                    size > wanted ? " (For a part of it, write its data() in place of it.)" : ""});
}

/// The elements of a container that a view covers as a whole. Throws std::invalid_argument when it has another size.
template <class C>
inline auto elements_of(C& container, const BufferNames& names, Index a, Index b, Index c, Index d) {
    const Index size = static_cast<Index>(container.size());
    const bool is_negative = a < 0 || b < 0 || c < 0 || d < 0;
    if (!is_negative && size == clamped_product(a, clamped_product(b, clamped_product(c, d)))) return container.data();
    refuse(wrong_size(names, size, {a, b, c, d}));
}

/// The same for a span. A container that only a temporary owns is refused by the compiler.
template <class C>
inline auto elements_of_span(C& container, const BufferNames& names, Index a, Index b, Index c, Index d) {
    static_assert(is_span<Plain<C>>,
                  "rope::view does not own data: this container is a temporary and would be gone. Give it a name.");
    return elements_of(container, names, a, b, c, d);
}

/// Entries first .. first + count - 1 along an axis, which `name` calls by its plural.
template <class View>
inline View slice(const View& v, const char* name, Index View::*extent, Index stride, Index first, Index count) {
    const Index size = v.*extent;
    if (first < 0 || count < 0 || first > size || count > size - first)
        refuse(
            invalid("The slice of {} has first {} and count {}; neither must be negative, and they must lie within the "
                    "view, which has {}.",
                    {name, first, count, size}));
    View result = v;
    if (count > 0 && first > 0) {
        const Index room = kMemoryBytes / static_cast<Index>(sizeof(*v.data)) / first;
        if (stride > room || stride < -room)
            refuse(invalid(
                "The slice begins {} {step|steps} of {} {element|elements} into the view, beyond what memory can hold.",
                {first, stride}));
        if (result.data != nullptr) result.data += first * stride;
    }
    result.*extent = count;
    return result;
}

ROPE_DETAIL_END
