// SPDX-License-Identifier: MIT
// The list of cache formats: an #include and an entry for each. No include guard: see
// ../../simd/isa_list.hpp.
//
// A product is kept in a register before it is rounded to a code, or a compiler could fuse the two. Comparisons for which
// a NaN or the sign of a zero matters are made on bits, or -ffast-math could change their result.

// Each file needs some of those before it.
// clang-format off
#include "parts.hpp"
#include "numbers_beside.hpp"
#include "symmetric.hpp"
#include "nearest.hpp"
#include "range.hpp"
#include "write_nearest.hpp"
#include "whole_numbers.hpp"
#include "fp8.hpp"
#include "fp4.hpp"
#include "ggml.hpp"
#include "q8_0.hpp"
#include "q4_0.hpp"
#include "q4_1.hpp"
#include "codebooks.hpp"
// clang-format on

ROPE_DETAIL_BEGIN
namespace ROPE_ISA {

using Formats = TypeList<int, Elements, Int8, Uint8, Int4, Uint4, Fp8<E4m3>, Fp8<E5m2>, Fp8E4m3ByHead, Fp8E4m3ByPower,
                         Mxfp4, Nvfp4, Q8_0, Q4_0, Q4_1, Q5_0, Q5_1, Iq4_nl, GgmlMxfp4>;

}  // namespace ROPE_ISA
ROPE_DETAIL_END
