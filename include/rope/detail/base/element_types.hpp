// SPDX-License-Identifier: MIT
// The types of elements.
#pragma once

#include "../../types.hpp"

ROPE_BEGIN

template <>
struct ElementTraits<float> {
    using storage = float;
};
template <>
struct ElementTraits<double> {
    using storage = double;
};
template <>
struct ElementTraits<half> {
    using storage = half;
};
template <>
struct ElementTraits<bfloat16> {
    using storage = bfloat16;
};

// _Float16 and __bf16 are std::float16_t and std::bfloat16_t, so these need no line of their own; where a type has only
// the standard's name, that is taken.
#if defined(__FLT16_MANT_DIG__) && (defined(__clang__) || __GNUC__ > 12 || defined(__SSE2__))  // g++ 12: only in C
__extension__ typedef _Float16 CompilerFloat16;  // NOLINT(modernize-use-using): an alias takes no __extension__
template <>
struct ElementTraits<CompilerFloat16> {
    using storage = half;
};
#elif defined(__STDCPP_FLOAT16_T__)
template <>
struct ElementTraits<decltype(0.0f16)> {
    using storage = half;
};
#endif
#if defined(__BFLT16_MANT_DIG__) || \
    (defined(__clang__) && __clang_major__ >= 17 && (defined(__SSE2__) || defined(__aarch64__)))
template <>
struct ElementTraits<__bf16> {
    using storage = bfloat16;
};
#elif defined(__STDCPP_BFLOAT16_T__)
template <>
struct ElementTraits<decltype(0.0bf16)> {
    using storage = bfloat16;
};
#endif

ROPE_END
