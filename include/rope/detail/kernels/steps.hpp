// SPDX-License-Identifier: MIT
// Kernels of the steps of a path beside the rotation, for every instruction set of this translation unit, and the choice
// by number.
#pragma once

#include "../../types.hpp"
#include "../base/arithmetic.hpp"
#include "../simd/isa_choice.hpp"
#include "../views/any_view.hpp"
#include "rotate.hpp"

ROPE_LOOPS_BEGIN

ROPE_DETAIL_BEGIN

/// The sums of a norm are made of so many partial sums, whatever the width of vectors.
inline constexpr Index kSums = 16;

/// The kernels of an instruction set for `count` contiguous numbers of type T: of a head, or of `heads` heads at a stride.
/// x may be y.
template <class T>
struct StepKernels {
    void (*load)(const void* x, ElementType type, Index stride, T* y, Index count) noexcept;
    void (*store)(const T* x, void* y, ElementType type, Index stride, Index count) noexcept;
    /// Of each head; of squares of x less the shift of the head, or of x if shifts is null.
    void (*sums)(const T* x, Index stride, Index heads, Index count, double* sums_of_heads) noexcept;
    void (*sums_of_squares)(const T* x, Index stride, Index heads, Index count, const double* shifts,
                            double* sums_of_heads) noexcept;
    /// 1 / sqrt(squares / divisor + eps) of each head, in double, rounded to T.
    void (*reciprocal_roots)(const double* squares, Index heads, double divisor, double eps, T* roots) noexcept;
    /// Whether heads with so many pairs can be given to rotate_normed. False where the set has no vectors.
    bool (*can_rotate_normed)(Layout layout, Index pairs) noexcept;
    /// multiply_twice by `roots` and w, the rotation of contiguous pairs and, unless it is null, *factor. `roots` has one
    /// more, which is read.
    void (*rotate_normed)(Layout layout, const T* x, const T* w, const T* roots, T* y, const T* factor,
                          const Row<T>& row, const HeadsShape& shape, Index heads) noexcept;
    /// By w, or by `factor`.
    void (*multiply)(const T* x, T* y, T factor, const T* w, Index count) noexcept;
    /// By the factor of the head, then by w.
    void (*multiply_twice)(const T* x, Index x_stride, T* y, Index y_stride, Index heads, Index count, const T* factors,
                           const T* w) noexcept;
    /// b, or `summand`.
    void (*add)(const T* x, T* y, T summand, const T* b, Index count) noexcept;
    void (*clamp)(const T* x, T* y, T limit, Index count) noexcept;
    /// To a narrower type, and back.
    void (*round)(T* x, ElementType type, Index count) noexcept;
    /// The Walsh-Hadamard transform of each `block` numbers, a power of two, without a factor.
    void (*hadamard)(T* x, Index block, Index count) noexcept;
};

ROPE_DETAIL_END

#define ROPE_FOR_EACH_ISA "../../kernels/step_kernels.hpp"
#include "../simd/isa_list.hpp"

ROPE_LOOPS_END

ROPE_DETAIL_BEGIN

template <class T>
ROPE_INLINE const StepKernels<T>& step_kernels(IsaId isa) noexcept {
#define ROPE_ISA_CHOICE(set) set::kStepKernels<T>
#include "../simd/isa_list.hpp"
}

ROPE_DETAIL_END
