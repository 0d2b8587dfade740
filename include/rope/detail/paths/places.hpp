// SPDX-License-Identifier: MIT
// Where the heads of a path lie, as data: four axes in memory, or pages that slots choose; what a destination is.
#pragma once

#include <cstddef>
#include <type_traits>

#include "../../errors.hpp"
#include "../../tensor_view.hpp"
#include "../../types.hpp"
#include "../call/arguments.hpp"
#include "../kernels/formats.hpp"
#include "../kernels/steps.hpp"
#include "../positions/position_numbers.hpp"
#include "../views/any_view.hpp"

ROPE_BEGIN
enum class ScaleUse : unsigned char;  // <rope/destinations.hpp>
ROPE_END

ROPE_DETAIL_BEGIN

/// Codes of a cache format lie in bytes.
template <class T>
inline constexpr bool is_code = std::is_same_v<T, signed char> || std::is_same_v<T, unsigned char>;
constexpr ElementType type_of(const double*) noexcept { return ElementType::f64; }
constexpr ElementType type_of(const float*) noexcept { return ElementType::f32; }
constexpr ElementType type_of(const half*) noexcept { return ElementType::f16; }
constexpr ElementType type_of(const bfloat16*) noexcept { return ElementType::bf16; }
constexpr ElementType type_of(const signed char*) noexcept { return ElementType::i8; }
constexpr ElementType type_of(const unsigned char*) noexcept { return ElementType::u8; }
template <class T>
constexpr ElementType element_type() noexcept {
    using Code = std::conditional_t<is_code<T>, T, typename ElementTraits<T>::storage>;
    return type_of(static_cast<const Code*>(nullptr));
}
constexpr Index size_of(ElementType type) noexcept {
    switch (type) {
        case ElementType::f64: return 8;
        case ElementType::f32: return 4;
        case ElementType::f16:
        case ElementType::bf16: return 2;
        case ElementType::i8:
        case ElementType::u8: break;
    }
    return 1;
}
inline constexpr char kElementTags[6] = {};

/// Numbers as [batch, seq, heads, head_dim]. Nothing is set by default: a path has sixteen of these, most of them unused.
struct NumbersInMemory {
    void* data;  // never written if the elements are const
    ElementType type;
    Index extents[4];
    Index strides[4];

    AnyView view(const char* name) const noexcept {
        return {name,
                data,
                size_of(type),
                kElementTags + static_cast<int>(type),
                {extents[0], extents[1], extents[2], extents[3]},
                {strides[0], strides[1], strides[2], strides[3]}};
    }
    Index offset_of(Index b, Index s, Index h) const noexcept {
        return b * strides[0] + s * strides[1] + h * strides[2];
    }
    void* at(Index offset) const noexcept { return static_cast<char*>(data) + offset * size_of(type); }
};

/// Heads, or, where slots choose a page and a place in it for each token, [pages, page_size, heads, head_dim].
struct HeadsInMemory : NumbersInMemory {
    bool is_const = false, is_paged = false;
    NumberList slot_list = {};
    Index slot_count = 0;

    AnyView view_of_slots() const noexcept {
        return {"slots",
                const_cast<void*>(slot_list.data()),
                slot_list.element_size(),
                nullptr,
                {1, 1, 1, slot_count},
                {0, 0, 0, slot_list.stride()}};
    }
};

/// The stride of an axis: 0 if it has one element, where a view may have any stride, which loops must not multiply.
constexpr Index effective_stride(Index extent, Index stride) noexcept { return extent < 2 ? 0 : stride; }

template <class T>
inline HeadsInMemory in_memory(const TensorView<T>& v) noexcept {
    using Element = std::remove_const_t<T>;
    return {{const_cast<Element*>(v.data),
             element_type<Element>(),
             {v.batch, v.seq, v.heads, v.head_dim},
             {effective_stride(v.batch, v.batch_stride), effective_stride(v.seq, v.seq_stride),
              effective_stride(v.heads, v.head_stride), effective_stride(v.head_dim, v.feature_stride)}},
            std::is_const_v<T>};
}

/// A tensor as heads. (A refused one is empty heads, so that the compiler says nothing else.) T is the table's type, or
/// void for any.
template <bool is_written, class T, class X>
inline HeadsInMemory tensor_of(X& x) noexcept {
    using View = ViewOf<X>;
    static_assert(!is_no_tensor<X>, ROPE_SAYS_NO_TENSOR);
    static_assert(has_elements<View>, ROPE_SAYS_ELEMENTS);
    static_assert(has_right_traits<View>, ROPE_SAYS_TRAITS);
    static_assert(!is_written || is_writable<View>, ROPE_SAYS_CONST);
    static_assert(goes_with<View, T>, ROPE_SAYS_DOUBLE);
    if constexpr (is_accepted<View, is_written, T>)
        return in_memory(as_view(x));
    else
        return {};
}

/// A destination as data.
struct DestinationData {
    HeadsInMemory codes = {}, scales = {}, zeros = {};
    CacheFormat format = CacheFormat::elements;
    float factor = 1.0f;
    ScaleUse use = {};
    bool has_two_formats = false;  // which a check refuses
};

/// For the functions that read a path, a destination or numbers of a step, whose only member is `data_`.
struct PathAccess {
    template <class X>
    static auto& data(X& x) noexcept {
        return x.data_;
    }
    template <class X, class Data>
    static X make(const Data& data) noexcept {
        return X(data);
    }
};

/// The slots of pages that have none yet.
struct NoSlots {
    static constexpr const Index* data() noexcept { return nullptr; }
    static constexpr std::size_t size() noexcept { return 0; }
};

template <class Slots>
inline NumberList slots_of(const Slots& slot_list) noexcept {
    static_assert(is_integer_container<Slots>,
                  "Slots are a contiguous container of integers of up to 64 bits (not bool or characters).");
    return NumberList(slot_list.data(), inner_stride(slot_list));
}

ROPE_DETAIL_END
