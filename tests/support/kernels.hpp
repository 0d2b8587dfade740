// SPDX-License-Identifier: MIT
// Every kernel is compiled once, in kernels.cpp, and not again in each test program: that would be most of the time the
// tests take to build. Read through the precompiled headers; a test compiled without them compiles its own.
#pragma once

#include <rope/core.hpp>

#include <rope/additive.hpp>

#ifndef ROPE_TEST_TEMPLATE
#    define ROPE_TEST_TEMPLATE extern template
#endif

namespace rope {
inline namespace ROPE_VERSION_NAMESPACE {
namespace detail {

#define ROPE_TEST_ROTATE(isa, layout, In, Out, T)                                                        \
    ROPE_TEST_TEMPLATE const RotateKernels<In, Out, T>& isa::rotate_kernels<Layout::layout, In, Out, T>( \
        Index, bool) noexcept;
#define ROPE_TEST_ROTATE_FROM(isa, layout, In)      \
    ROPE_TEST_ROTATE(isa, layout, In, float, float) \
    ROPE_TEST_ROTATE(isa, layout, In, half, float)  \
    ROPE_TEST_ROTATE(isa, layout, In, bfloat16, float)
#define ROPE_TEST_ROTATE_ALL(isa, layout)        \
    ROPE_TEST_ROTATE_FROM(isa, layout, float)    \
    ROPE_TEST_ROTATE_FROM(isa, layout, half)     \
    ROPE_TEST_ROTATE_FROM(isa, layout, bfloat16) \
    ROPE_TEST_ROTATE(isa, layout, double, double, double)
#define ROPE_TEST_ADD(isa, X, T) ROPE_TEST_TEMPLATE void isa::add<X, T>(const AddTask<X, T>&, Index, Index) noexcept;

#define ROPE_ISA_ENTRY(isa)                \
    ROPE_TEST_ROTATE_ALL(isa, interleaved) \
    ROPE_TEST_ROTATE_ALL(isa, half_split)  \
    ROPE_TEST_ADD(isa, float, float)       \
    ROPE_TEST_ADD(isa, half, float)        \
    ROPE_TEST_ADD(isa, bfloat16, float)    \
    ROPE_TEST_ADD(isa, double, double)
#include <rope/detail/isa_list.hpp>

#undef ROPE_TEST_ADD
#undef ROPE_TEST_ROTATE_ALL
#undef ROPE_TEST_ROTATE_FROM
#undef ROPE_TEST_ROTATE

}  // namespace detail
}  // namespace ROPE_VERSION_NAMESPACE
}  // namespace rope
