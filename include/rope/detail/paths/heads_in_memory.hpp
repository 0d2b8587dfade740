// SPDX-License-Identifier: MIT
// Where the heads of a path lie, as data: four axes in memory, or pages that slots choose; what a destination is.
#pragma once

#include <cstddef>
#include <type_traits>

#include "../../errors.hpp"
#include "../../tensor_view.hpp"
#include "../../types.hpp"
#include "../call/arguments.hpp"
#include "../positions/position_numbers.hpp"
#include "../views/any_view.hpp"
#include "../views/buffers.hpp"

ROPE_BEGIN
enum class ScaleUse : unsigned char;  // <rope/destinations.hpp>
ROPE_END

ROPE_DETAIL_BEGIN

/// Heads, or, where slots choose a page and a place in it for each token, [pages, page_size, heads, head_dim].
struct HeadsInMemory : AnyView {
    bool is_const = false, is_paged = false;
    NumberList slot_list = {};
    Index slot_count = 0;

    AnyView view_of_slots() const noexcept {
        return view_of_list("slots", slot_list.data(), slot_list.element_size(), slot_count, slot_list.stride());
    }
};

/// The stride of an axis of one element, which may be anything, becomes 0: loops of paths multiply it.
template <class T>
inline HeadsInMemory in_memory(const TensorView<T>& v) noexcept {
    HeadsInMemory m = {erased("", v), std::is_const_v<T>};
    set_effective_strides(m);
    return m;
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

/// Containers of numbers that may stand beside codes: floats of up to 32 bits, and codes.
template <class C>
using IfParameterList =
    std::enable_if_t<is_buffer<C> && (!std::is_void_v<typename ElementTraits<ContainerValue<C>>::storage> ||
                                      is_code<ContainerValue<C>>),
                     int>;

struct CacheFormat;

/// The meaning of the zeros of a format.
enum class ZeroUse : unsigned char {
    minimum,    ///< the number of the least code
    code,       ///< the code of the number 0, in float
    whole_code  ///< the same as an integer
};

/// Scales or zeros as a user gave them: a number, or numbers in memory.
struct ParameterData {
    HeadsInMemory numbers;  // of kNoElements: none
    bool is_given = false;  // read alone; an extent of 1 serves all tokens or heads
    bool is_number = false;
    bool is_list = false;     // a container, of one number for each feature
    bool has_format = false;  // which a check refuses
    ZeroUse use = ZeroUse::minimum;
    float number = 0.0f;
};
inline bool is_somewhere(const ParameterData& p) noexcept { return p.numbers.type != kNoElements; }
inline bool is_written(const ParameterData& p) noexcept { return is_somewhere(p) && !p.is_given; }

/// A Destination as data: what a path writes, or what it reads.
struct StoredHeads {
    HeadsInMemory codes;
    ParameterData scales, zeros;          // set where there is a format
    const CacheFormat* format = nullptr;  // null: plain elements
    float factor = 1.0f;
    ScaleUse use = {};
    bool has_two_formats = false;  // which a check refuses
};
inline bool is_somewhere(const StoredHeads& h) noexcept { return h.codes.type != kNoElements; }

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
    if constexpr (std::is_same_v<Slots, NoSlots>)
        return {};
    else
        return NumberList(slot_list.data(), inner_stride(slot_list));
}

ROPE_DETAIL_END
