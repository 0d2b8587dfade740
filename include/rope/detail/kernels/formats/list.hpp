// SPDX-License-Identifier: MIT
// The list of cache formats: an #include and an entry for each. No include guard: see
// ../../simd/isa_list.hpp.
//
// A product is kept in a register before it is rounded to a code, or a compiler could fuse the two. Comparisons for which
// a NaN or the sign of a zero matters are made on bits, or -ffast-math could change their result.

#include "parts.hpp"

#include "fp8.hpp"
#include "int8.hpp"
#include "q4_0.hpp"
#include "q8_0.hpp"
#include "range.hpp"

ROPE_DETAIL_BEGIN
namespace ROPE_ISA {

using Formats =
    TypeList<int, Elements, Int8, Uint8, Uint4, Fp8<E4m3>, Fp8<E5m2>, Fp8E4m3ByHead, Fp8E4m3ByPower, Q8_0, Q4_0>;

}  // namespace ROPE_ISA
ROPE_DETAIL_END
