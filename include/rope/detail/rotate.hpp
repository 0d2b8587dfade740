// SPDX-License-Identifier: MIT
// The rotation for every instruction set of this unit, and the one to call.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "../isa.hpp"
#include "arithmetic.hpp"
#include "job.hpp"
#include "kept_bytes.hpp"
#include "rotate_task.hpp"
#include "rotate_walk.hpp"

#define ROPE_FOR_EACH_ISA "../rotate_kernels.hpp"
#include "isa_list.hpp"

namespace rope {
inline namespace ROPE_VERSION_NAMESPACE {
namespace detail {

template <Layout layout, class In, class Out, class T>
ROPE_INLINE Kernel<RotateTask<In, Out, T>> rotate_kernel(IsaId isa) noexcept {
#define ROPE_ISA_ENTRY(name) \
    if (isa == isa_id(#name)) return &name::rotate<layout, In, Out, T>;
#include "isa_list.hpp"
    return &portable::rotate<layout, In, Out, T>;
}

template <Layout layout, class X, class T>
ROPE_INLINE TurnRun<X, X, T> run_kernel(IsaId isa) noexcept {
#define ROPE_ISA_ENTRY(name) \
    if (isa == isa_id(#name)) return &name::rotate_run<layout, X, T>;
#include "isa_list.hpp"
    return &portable::rotate_run<layout, X, T>;
}

}  // namespace detail
}  // namespace ROPE_VERSION_NAMESPACE
}  // namespace rope
