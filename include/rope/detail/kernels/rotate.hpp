// SPDX-License-Identifier: MIT
// Kernels of the rotation, for every instruction set of this translation unit, and the choice by number.
#pragma once

#include <type_traits>

#include "../base/arithmetic.hpp"
#include "../simd/isa_choice.hpp"
#include "../simd/prefetch.hpp"
#include "interface.hpp"

ROPE_LOOPS_BEGIN

ROPE_DETAIL_BEGIN

// Kernels for heads of `pairs` pairs. Declared first, because one instruction set may use kernels of another.
#define ROPE_ISA_ENTRY(name, ...)                                                                        \
    namespace name {                                                                                     \
    template <Layout layout, class In, class Out, class T>                                               \
    constexpr const RotateKernels<In, Out, T>& rotate_kernels(Index pairs, bool is_contiguous) noexcept; \
    }
#include "../simd/isa_list.hpp"

// The loop over single pairs, which instruction sets without fma use, too.
namespace portable {
template <class In, class Out, class T>
void rotate_by_pairs(const In* x, Out* y, const T* cos, const T* sin, const HeadsShape& shape, Index heads) noexcept;
}

ROPE_DETAIL_END

#define ROPE_FOR_EACH_ISA "../../kernels/rotate_kernels.hpp"
#include "../simd/isa_list.hpp"

ROPE_LOOPS_END

ROPE_DETAIL_BEGIN

/// Kernels of the instruction set with this number.
template <Layout layout, class In, class Out, class T>
ROPE_INLINE const RotateKernels<In, Out, T>& rotate_kernels(IsaId isa, Index pairs, bool is_contiguous) noexcept {
#define ROPE_ISA_CHOICE(set) set::rotate_kernels<layout, In, Out, T>(pairs, is_contiguous)
#include "../simd/isa_list.hpp"
}

ROPE_DETAIL_END
