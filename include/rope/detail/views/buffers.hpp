// SPDX-License-Identifier: MIT
// Buffers of views: their shapes, and the containers that they may be.
#pragma once

#include <type_traits>

#include "../../errors.hpp"
#include "../../fwd.hpp"
#include "../../types.hpp"
#include "../base/containers.hpp"

ROPE_DETAIL_BEGIN

/// a * b, held at the largest Index when it does not fit, so that an absurd shape reaches its check unharmed.
constexpr Index clamped_product(Index a, Index b) noexcept {
    if (a <= 0 || b <= 0) return 0;              // an empty or a refused axis: the stride is not used
    if ((a | b) < Index(1) << 31) return a * b;  // without a division
    return a > kMaxIndex / b ? kMaxIndex : a * b;
}

/// |x|, held at the largest Index for the smallest one, which only a stride that is never taken can be.
constexpr Index magnitude(Index x) noexcept { return x >= 0 ? x : x < -kMaxIndex ? kMaxIndex : -x; }

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
inline auto elements_of(C& container, Index batch, Index seq, Index heads, Index head_dim) {
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

/// The same for a span. A container that only a temporary owns is refused by the compiler.
template <class C>
inline auto elements_of_span(C& container, Index batch, Index seq, Index heads, Index head_dim) {
    static_assert(is_span<Plain<C>>,
                  "rope::view does not own data: this container is a temporary and would be gone. Give it a name.");
    return elements_of(container, batch, seq, heads, head_dim);
}

/// Entries first .. first + count - 1 along an axis, which `name` calls by its plural.
template <class View>
inline View slice(const View& v, const char* name, Index View::*extent, Index stride, Index first, Index count) {
    const Index size = v.*extent;
    View result = v;
    result.*extent = 0;
    if (first < 0 || count < 0 || first > size || count > size - first) {
        ok_or_raise(invalid(
            "The slice takes {} {} from {} on; the view has {} of them, and first and count must not be negative.",
            {count, name, first, size}));
        return result;
    }
    if (count > 0 && first > 0) {
        const Index room = kMemoryBytes / static_cast<Index>(sizeof(*v.data)) / first;
        if (stride > room || stride < -room) {
            ok_or_raise(invalid("The slice begins {} steps of {} elements into the view, beyond what memory can hold.",
                                {first, stride}));
            return result;
        }
        if (result.data != nullptr) result.data += first * stride;
    }
    result.*extent = count;
    return result;
}

ROPE_DETAIL_END
