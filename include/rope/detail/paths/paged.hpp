// SPDX-License-Identifier: MIT
// Definitions of destinations.hpp: pages as a destination.
#pragma once

#include <type_traits>

#include "../../destinations.hpp"
#include "../../types.hpp"
#include "heads_in_memory.hpp"

ROPE_DETAIL_BEGIN

inline constexpr BufferNames kPagesNames = {"cache", {"pages", "page_size", "heads", "head_dim"}};
inline constexpr BufferNames kPagesHeadsFirstNames = {"cache", {"pages", "heads", "page_size", "head_dim"}};

ROPE_DETAIL_END

ROPE_BEGIN

template <class T>
template <class Slot>
ROPE_ABI Paged<T> Paged<T>::with_slots(const Slot* first, Index count, Index stride) const noexcept {
    static_assert(detail::is_position_number<Slot> && std::is_integral_v<Slot>,
                  "Slots are integers of up to 64 bits (not bool or characters).");
    Paged p = *this;
    p.slot_list = detail::NumberList(first, stride);
    p.slot_count = count;
    return p;
}

template <class T, class Slots>
ROPE_ABI inline Paged<T> paged(T* data, Index pages, Index page_size, Index heads, Index head_dim,
                               const Slots& slot_list ROPE_LIFETIMEBOUND) noexcept {
    const Index place = detail::clamped_product(heads, head_dim);
    return {data,
            pages,
            page_size,
            heads,
            head_dim,
            detail::clamped_product(page_size, place),
            place,
            head_dim,
            1,
            detail::slots_of(slot_list),
            static_cast<Index>(slot_list.size())};
}

template <class T, class Slots>
ROPE_ABI inline Paged<T> paged_heads_first(T* data, Index pages, Index heads, Index page_size, Index head_dim,
                                           const Slots& slot_list ROPE_LIFETIMEBOUND) noexcept {
    Paged<T> result = rope::paged(data, pages, page_size, heads, head_dim, slot_list);
    result.place_stride = head_dim;
    result.head_stride = detail::clamped_product(page_size, head_dim);
    return result;
}

template <class C, class Slots, detail::IfOwner<C>>
ROPE_ABI inline auto paged(C& container ROPE_LIFETIMEBOUND, Index pages, Index page_size, Index heads, Index head_dim,
                           const Slots& slot_list ROPE_LIFETIMEBOUND) {
    return rope::paged(detail::elements_of(container, detail::kPagesNames, pages, page_size, heads, head_dim), pages,
                       page_size, heads, head_dim, slot_list);
}

template <class C, class Slots, detail::IfOwner<C>>
ROPE_ABI inline auto paged_heads_first(C& container ROPE_LIFETIMEBOUND, Index pages, Index heads, Index page_size,
                                       Index head_dim, const Slots& slot_list ROPE_LIFETIMEBOUND) {
    return rope::paged_heads_first(
        detail::elements_of(container, detail::kPagesHeadsFirstNames, pages, heads, page_size, head_dim), pages, heads,
        page_size, head_dim, slot_list);
}

template <class T>
ROPE_ABI Destination::Destination(const Paged<T>& p) noexcept
    : Destination(TensorView<T>{p.data, p.pages, p.page_size, p.heads, p.head_dim, p.page_stride, p.place_stride,
                                p.head_stride, p.feature_stride}) {
    data_.codes.is_paged = true;
    data_.codes.slot_list = p.slot_list;
    data_.codes.slot_count = p.slot_count;
}

template <class T>
void Destination::check_elements() noexcept {
    using Element = std::remove_const_t<T>;
    static_assert(!std::is_void_v<typename ElementTraits<Element>::storage> || detail::is_code<Element>,
                  "Elements of a destination are float, double, rope::half or rope::bfloat16, or, for the codes of "
                  "a format such as rope::int8, signed char or unsigned char.");
}

ROPE_END
