// SPDX-License-Identifier: MIT
// Every kernel, with the walk that calls it and what fills tables, is compiled once, in kernels.cpp, and not again in each
// test program: that would be most of the time the tests take to build. Read through the precompiled headers; a test
// compiled without them compiles its own.
#pragma once

#include <rope/core.hpp>

#include <rope/additive.hpp>

#ifndef ROPE_TEST_TEMPLATE
#    define ROPE_TEST_TEMPLATE extern template
#    define ROPE_TEST_BODY(layout, In, Out, T) ;
#endif

namespace rope {
inline namespace ROPE_VERSION_NAMESPACE {
namespace detail {

// The choice of kernels by the number of a set, as specialisations: the compiler instantiates the functions of a set
// wherever they are called, because they are constexpr, and with them every kernel.
#define ROPE_TEST_KERNELS(layout, In, Out, T)                                    \
    template <>                                                                  \
    const RotateKernels<In, Out, T>& rotate_kernels<Layout::layout, In, Out, T>( \
        IsaId isa, Index pairs, bool is_contiguous) noexcept ROPE_TEST_BODY(layout, In, Out, T)
#define ROPE_TEST_ROTATE(In, Out, T)           \
    ROPE_TEST_KERNELS(interleaved, In, Out, T) \
    ROPE_TEST_KERNELS(half_split, In, Out, T)
#define ROPE_TEST_ROTATE_FROM(In)      \
    ROPE_TEST_ROTATE(In, float, float) \
    ROPE_TEST_ROTATE(In, half, float)  \
    ROPE_TEST_ROTATE(In, bfloat16, float)
ROPE_TEST_ROTATE_FROM(float)
ROPE_TEST_ROTATE_FROM(half)
ROPE_TEST_ROTATE_FROM(bfloat16)
ROPE_TEST_ROTATE(double, double, double)

#define ROPE_TEST_ADD(isa, X, T) ROPE_TEST_TEMPLATE void isa::add<X, T>(const AddTask<X, T>&, Index, Index) noexcept;
#define ROPE_ISA_ENTRY(isa)             \
    ROPE_TEST_ADD(isa, float, float)    \
    ROPE_TEST_ADD(isa, half, float)     \
    ROPE_TEST_ADD(isa, bfloat16, float) \
    ROPE_TEST_ADD(isa, double, double)
#include <rope/detail/simd/isa_list.hpp>

#define ROPE_TEST_WALK(elsewhere, In, Out, T) \
    ROPE_TEST_TEMPLATE void rotate_all<elsewhere, In, Out, T>(const RotateTask<In, Out, T>&, Index, Index) noexcept;
#define ROPE_TEST_WALK_FROM(In, T)     \
    ROPE_TEST_WALK(false, In, In, T)   \
    ROPE_TEST_WALK(true, In, float, T) \
    ROPE_TEST_WALK(true, In, half, T)  \
    ROPE_TEST_WALK(true, In, bfloat16, T)
ROPE_TEST_WALK_FROM(float, float)
ROPE_TEST_WALK_FROM(half, float)
ROPE_TEST_WALK_FROM(bfloat16, float)
ROPE_TEST_WALK(false, double, double, double)
ROPE_TEST_WALK(true, double, double, double)

ROPE_TEST_TEMPLATE bool fill_cos_sin_table<float>(const Frequencies&, Index, Index, float*);
ROPE_TEST_TEMPLATE bool fill_cos_sin_table<double>(const Frequencies&, Index, Index, double*);

#undef ROPE_TEST_WALK_FROM
#undef ROPE_TEST_WALK
#undef ROPE_TEST_ADD
#undef ROPE_TEST_ROTATE_FROM
#undef ROPE_TEST_ROTATE
#undef ROPE_TEST_KERNELS

}  // namespace detail
}  // namespace ROPE_VERSION_NAMESPACE
}  // namespace rope
