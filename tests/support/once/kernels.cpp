// SPDX-License-Identifier: MIT
#include <rope/core.hpp>

#define ROPE_TEST_TEMPLATE template
#define ROPE_TEST_BODY(layout, In, Out, T) \
    { return kernels_of<Layout::layout, In, Out, T>(isa, pairs, is_contiguous); }

namespace rope {
inline namespace ROPE_VERSION_NAMESPACE {
namespace detail {
template <Layout layout, class In, class Out, class T>
static const RotateKernels<In, Out, T>& kernels_of(IsaId isa, Index pairs, bool is_contiguous) noexcept {
#define ROPE_ISA_ENTRY(name) \
    if (isa == isa_id(#name)) return name::rotate_kernels<layout, In, Out, T>(pairs, is_contiguous);
#include <rope/detail/simd/isa_list.hpp>
    return portable::rotate_kernels<layout, In, Out, T>(pairs, is_contiguous);
}
}  // namespace detail
}  // namespace ROPE_VERSION_NAMESPACE
}  // namespace rope

#include "kernels.hpp"
