// SPDX-License-Identifier: MIT
// A view without its element type: the data that checks and loops need.
#pragma once

#include <cstdint>
#include <type_traits>

#include "../../tensor_view.hpp"
#include "../../types.hpp"
#include "../base/arithmetic.hpp"

ROPE_SOURCE_BEGIN

enum Axis : unsigned char { kBatchAxis, kSeqAxis, kHeadAxis, kFeatureAxis };

/// The type of elements as data. An `integer` is of any width: a number of a list of positions or slots.
enum class ElementType : unsigned char { f32, f64, f16, bf16, i8, u8, integer };
inline constexpr ElementType kNoElements = static_cast<ElementType>(255);

/// A type-erased view, which checks and tasks refer to. It has no default values: a path has sixteen, most of them unused.
struct AnyView {
    const char* name;  // as the caller knows it: "x", "q", "k", "in", "out"
    void* data;        // never written if the view is of const data
    ElementType type;
    unsigned char element_size;
    Index extents[4];  // by Axis
    Index strides[4];

    template <class Storage>
    ROPE_INLINE Storage* elements() const noexcept {
        return static_cast<Storage*>(data);
    }
    ROPE_INLINE Index offset_of(Index b, Index s, Index h) const noexcept {
        return b * strides[kBatchAxis] + s * strides[kSeqAxis] + h * strides[kHeadAxis];
    }
    ROPE_INLINE void* at(Index offset) const noexcept { return static_cast<char*>(data) + offset * element_size; }
};

ROPE_SOURCE_END

ROPE_DETAIL_BEGIN

constexpr bool is_byte(ElementType type) noexcept { return type == ElementType::i8 || type == ElementType::u8; }

inline constexpr const char* kAxisNames[4] = {"batch", "seq", "heads", "head_dim"};

constexpr ElementType type_of(const double*) noexcept { return ElementType::f64; }
constexpr ElementType type_of(const float*) noexcept { return ElementType::f32; }
constexpr ElementType type_of(const half*) noexcept { return ElementType::f16; }
constexpr ElementType type_of(const bfloat16*) noexcept { return ElementType::bf16; }
constexpr ElementType type_of(const signed char*) noexcept { return ElementType::i8; }
constexpr ElementType type_of(const unsigned char*) noexcept { return ElementType::u8; }
/// Codes of a cache format lie in bytes.
template <class T>
inline constexpr bool is_code = std::is_same_v<T, signed char> || std::is_same_v<T, unsigned char>;
template <class T>
constexpr ElementType element_type() noexcept {
    using Code = std::conditional_t<is_code<T>, T, typename ElementTraits<T>::storage>;
    return type_of(static_cast<const Code*>(nullptr));
}

template <class T>
ROPE_INLINE AnyView erased(const char* name, const TensorView<T>& v) noexcept {
    using Element = std::remove_const_t<T>;
    return {name,
            const_cast<Element*>(v.data),
            element_type<Element>(),
            static_cast<unsigned char>(sizeof(T)),
            {hide_from_optimizer(v.batch), hide_from_optimizer(v.seq), hide_from_optimizer(v.heads),
             hide_from_optimizer(v.head_dim)},
            {hide_from_optimizer(v.batch_stride), hide_from_optimizer(v.seq_stride), hide_from_optimizer(v.head_stride),
             hide_from_optimizer(v.feature_stride)}};
}

/// A view with the type that it had.
template <class X>
TensorView<X> typed(const AnyView& v) noexcept {
    return {static_cast<X*>(v.data),
            v.extents[0],
            v.extents[1],
            v.extents[2],
            v.extents[3],
            v.strides[0],
            v.strides[1],
            v.strides[2],
            v.strides[3]};
}

/// The effective stride: 0 along an axis of one element, whose own stride may be anything.
ROPE_INLINE Index stride_of(const AnyView& v, int axis) noexcept { return v.extents[axis] < 2 ? 0 : v.strides[axis]; }
/// Replaces every stride by the effective one, which loops may multiply.
ROPE_INLINE void set_effective_strides(AnyView& v) noexcept {
    for (int axis = 0; axis < 4; ++axis) v.strides[axis] = stride_of(v, axis);
}

ROPE_INLINE bool is_empty(const AnyView& v) noexcept {
    return v.extents[0] == 0 || v.extents[1] == 0 || v.extents[2] == 0 || v.extents[3] == 0;
}

/// The heads of all tokens. Beside an extent of 0 the others may be anything, so they are not multiplied.
ROPE_INLINE Index count_heads(const AnyView& v) noexcept {
    return is_empty(v) ? 0 : v.extents[kBatchAxis] * v.extents[kSeqAxis] * v.extents[kHeadAxis];
}
ROPE_INLINE Index bytes_of(const AnyView& v) noexcept {
    return count_heads(v) * v.extents[kFeatureAxis] * v.element_size;
}

/// Addresses of memory from the first byte to behind the last.
struct Extent {
    std::uint64_t begin, end;
};
ROPE_INLINE bool are_apart(const Extent& a, const Extent& b) noexcept { return a.end <= b.begin || b.end <= a.begin; }

ROPE_INLINE AnyView named(const AnyView& v, const char* name) noexcept {
    AnyView result = v;
    result.name = name;
    return result;
}

/// A list of integers, which are read one by one, as a view.
inline AnyView view_of_list(const char* name, const void* data, Index element_size, Index count,
                            Index stride) noexcept {
    return {name,
            const_cast<void*>(data),
            ElementType::integer,
            static_cast<unsigned char>(element_size),
            {1, 1, 1, count},
            {0, 0, 0, stride}};
}

ROPE_DETAIL_END
