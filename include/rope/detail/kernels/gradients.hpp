// SPDX-License-Identifier: MIT
// Kernels of gradients, for every instruction set of this translation unit, and the choice by number.
#pragma once

#include "../../types.hpp"
#include "../base/arithmetic.hpp"
#include "../simd/isa_choice.hpp"

ROPE_DETAIL_BEGIN

/// The kernels of an instruction set for `count` contiguous numbers of type T.
template <class T>
struct GradientKernels {
    /// sums[i] += y[i] * g[i]
    void (*add_products)(const T* y, const T* g, Index count, double* sums) noexcept;
    /// The same with the g of the other feature of each interleaved pair.
    void (*add_crossed_products)(const T* y, const T* g, Index count, double* sums) noexcept;
};

ROPE_DETAIL_END

#define ROPE_FOR_EACH_ISA "../../kernels/gradient_kernels.hpp"
#include "../simd/isa_list.hpp"

ROPE_DETAIL_BEGIN

template <class T>
ROPE_INLINE const GradientKernels<T>& gradient_kernels(IsaId isa) noexcept {
#define ROPE_ISA_CHOICE(set) set::kGradientKernels<T>
#include "../simd/isa_list.hpp"
}

ROPE_DETAIL_END
