// SPDX-License-Identifier: MIT
// kernels.cpp compiles every kernel, the loops that call it and the functions that fill tables, once for all test programs:
// they would be most of the time that tests take to build. Precompiled headers include this file; a test without them
// compiles its own kernels.
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

// Specialisations, because `extern template` does not keep the compiler from instantiating a constexpr function, such as
// rotate_kernels of an instruction set, and every kernel with it.
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
#define ROPE_ISA_ENTRY(isa, ...)        \
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
