// SPDX-License-Identifier: MIT
// Kernels that add rows, for every instruction set of this translation unit, and the choice by number.
#pragma once

#include "../../positions.hpp"
#include "../../types.hpp"
#include "../base/arithmetic.hpp"
#include "../simd/isa_choice.hpp"
#include "../views/any_view.hpp"
#include "../views/loop_order.hpp"
#include "interface.hpp"

ROPE_DETAIL_BEGIN

/// Adds the rows of a table [positions, heads * head_dim] to one tensor.
template <class X, class T>
struct AddTask {
    const AnyView& out;
    const T* table;
    const Positions& positions;
    LoopOrder order;
};

ROPE_DETAIL_END

ROPE_LOOPS_BEGIN

#define ROPE_FOR_EACH_ISA "../../kernels/add_kernels.hpp"
#include "../simd/isa_list.hpp"

ROPE_LOOPS_END

ROPE_DETAIL_BEGIN

template <class X, class T>
ROPE_INLINE Kernel<AddTask<X, T>> add_kernel(IsaId isa) noexcept {
#define ROPE_ISA_CHOICE(set) &set::add<X, T>
#include "../simd/isa_list.hpp"
}

ROPE_DETAIL_END
