// SPDX-License-Identifier: MIT
// A view without its element type: the data that checks and loops need.
#pragma once

#include <type_traits>

#include "../../tensor_view.hpp"
#include "../../types.hpp"
#include "../base/arithmetic.hpp"

ROPE_DETAIL_BEGIN

enum Axis : unsigned char { kBatchAxis, kSeqAxis, kHeadAxis, kFeatureAxis };

inline constexpr const char* kAxisNames[4] = {"batch", "seq", "heads", "head_dim"};

/// A type-erased view. One is made per view of a call; checks and tasks refer to it.
struct AnyView {
    const char* name;  // as the caller knows it: "x", "q", "k", "in", "out"
    void* data;        // never written if the view is of const data
    Index element_size;
    const void* type;  // identifies the storage type
    Index extents[4];  // by Axis
    Index strides[4];

    template <class Storage>
    ROPE_INLINE Storage* elements() const noexcept {
        return static_cast<Storage*>(data);
    }
};

template <class Storage>
inline constexpr char kTypeTag = 0;

template <class T>
ROPE_INLINE AnyView erased(const char* name, const TensorView<T>& v) noexcept {
    using Storage = typename ElementTraits<std::remove_const_t<T>>::storage;
    return {name,
            const_cast<std::remove_const_t<T>*>(v.data),
            static_cast<Index>(sizeof(T)),
            &kTypeTag<Storage>,
            {hide_from_optimizer(v.batch), hide_from_optimizer(v.seq), hide_from_optimizer(v.heads),
             hide_from_optimizer(v.head_dim)},
            {hide_from_optimizer(v.batch_stride), hide_from_optimizer(v.seq_stride), hide_from_optimizer(v.head_stride),
             hide_from_optimizer(v.feature_stride)}};
}

/// The effective stride: 0 along an axis of one element, whose own stride may be anything.
ROPE_INLINE Index stride_of(const AnyView& v, int axis) noexcept { return v.extents[axis] < 2 ? 0 : v.strides[axis]; }

ROPE_INLINE bool is_empty(const AnyView& v) noexcept {
    return v.extents[0] == 0 || v.extents[1] == 0 || v.extents[2] == 0 || v.extents[3] == 0;
}

/// The heads of all tokens. Beside an extent of 0 the others may be anything, so they are not multiplied.
ROPE_INLINE Index count_heads(const AnyView& v) noexcept {
    return is_empty(v) ? 0 : v.extents[kBatchAxis] * v.extents[kSeqAxis] * v.extents[kHeadAxis];
}
ROPE_INLINE Index bytes_of(const AnyView& v, Index heads) noexcept {
    return heads == 0 ? 0 : heads * v.extents[kFeatureAxis] * v.element_size;
}

ROPE_DETAIL_END
