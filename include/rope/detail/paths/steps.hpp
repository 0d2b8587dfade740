// SPDX-License-Identifier: MIT
// The steps of a path as data.
#pragma once

#include "../../head_steps.hpp"
#include "../../types.hpp"
#include "places.hpp"

namespace rope {
inline namespace ROPE_VERSION_NAMESPACE {

/// The most steps of a path, and the most features of its heads.
inline constexpr int kMaxSteps = 8;
inline constexpr Index kMaxPathHeadDim = 2048;

enum class NormSpan : unsigned char;

namespace detail {
inline namespace ROPE_DETAIL_NAMESPACE {

enum class StepKind : unsigned char { add, clamp, multiply, norm, rotate, hadamard, round };

/// How numbers of a step are given.
enum class NumbersKind : unsigned char { none, per_feature, list, view };  // list: of head_dim numbers

/// Containers of numbers that a step can read.
template <class C>
using IfNumberContainer =
    std::enable_if_t<is_buffer<C> && !std::is_void_v<typename ElementTraits<ContainerValue<C>>::storage>, int>;

/// Numbers of a step, by axis of the path's heads. A stride of 0 where one number serves all.
struct Numbers {
    const void* data;  // null if there are none
    ElementType type;
    bool is_given, is_list;  // a list has head_dim numbers, and one number does not serve all features
    Index extents[4];
    Index strides[4];

    AnyView view(const char* name) const noexcept {
        return {name,
                const_cast<void*>(data),
                size_of(type),
                nullptr,
                {extents[0], extents[1], extents[2], extents[3]},
                {strides[0], strides[1], strides[2], strides[3]}};
    }
};

struct PathStep {
    StepKind kind;
    // Of a norm:
    NormKind norm;
    NormSpan over;
    NormRounding norm_rounding;
    bool adds_one;
    // Of a rotation:
    RotateRounding rotate_rounding;
    bool is_back, has_other_layout;
    Layout other_layout;

    bool needs_numbers;
    double number;  // eps, limit, factor, block
    Numbers numbers, bias;
};

}  // namespace ROPE_DETAIL_NAMESPACE
}  // namespace detail
}  // namespace ROPE_VERSION_NAMESPACE
}  // namespace rope
