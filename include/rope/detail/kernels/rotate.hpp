// SPDX-License-Identifier: MIT
// The rotation for every instruction set of this unit, and the one to call.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "../../isa.hpp"
#include "../base/arithmetic.hpp"
#include "../simd/prefetch.hpp"
#include "../simd/tail_mask.hpp"
#include "interface.hpp"

ROPE_LOOPS_BEGIN

namespace rope {
inline namespace ROPE_VERSION_NAMESPACE {
namespace detail {

// What an instruction set has for heads of so many pairs. Declared first, because a set may have it of another.
#define ROPE_ISA_ENTRY(name)                                                                                      \
    namespace name {                                                                                              \
    template <Layout layout, class In, class Out, class T>                                                        \
    ROPE_ABI constexpr const RotateKernels<In, Out, T>& rotate_kernels(Index pairs, bool is_contiguous) noexcept; \
    }
#include "../simd/isa_list.hpp"

// The same of single pairs, which sets without fma have of the plain loops.
namespace portable {
template <class In, class Out, class T>
ROPE_ABI void rotate_by_pairs(const In* x, Out* y, const T* cos, const T* sin, const HeadsShape& shape,
                              Index heads) noexcept;
}

}  // namespace detail
}  // namespace ROPE_VERSION_NAMESPACE
}  // namespace rope

#define ROPE_FOR_EACH_ISA "../../kernels/rotate_kernels.hpp"
#include "../simd/isa_list.hpp"

ROPE_LOOPS_END

namespace rope {
inline namespace ROPE_VERSION_NAMESPACE {
namespace detail {

/// The same of a set that is named by a number.
template <Layout layout, class In, class Out, class T>
ROPE_INLINE const RotateKernels<In, Out, T>& rotate_kernels(IsaId isa, Index pairs, bool is_contiguous) noexcept {
#define ROPE_ISA_ENTRY(name) \
    if (isa == isa_id(#name)) return name::rotate_kernels<layout, In, Out, T>(pairs, is_contiguous);
#include "../simd/isa_list.hpp"
    return portable::rotate_kernels<layout, In, Out, T>(pairs, is_contiguous);
}

}  // namespace detail
}  // namespace ROPE_VERSION_NAMESPACE
}  // namespace rope
