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
enum class NormRounding : unsigned char;
enum class RotateRounding : unsigned char;

namespace detail {
inline namespace ROPE_DETAIL_NAMESPACE {

enum class StepKind : unsigned char { add, clamp, multiply, norm, rotate, hadamard, round };

/// Numbers of a step, by axis of the path's heads; null data: none. A stride of 0 where one number serves all.
struct Numbers {
    const void* data;
    ElementType type;
    Index extents[4];  // head_dim is -1 where a pointer was given
    Index strides[4];
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

    double number;  // eps, limit, factor, block
    Numbers numbers, bias;
};

}  // namespace ROPE_DETAIL_NAMESPACE
}  // namespace detail
}  // namespace ROPE_VERSION_NAMESPACE
}  // namespace rope
