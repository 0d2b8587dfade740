// SPDX-License-Identifier: MIT
// The step of a layer as a plain loop, and the least that it can cost: the same numbers read, converted and written. They are
// compiled in a unit of their own, with the flags that suit them best (see CMakeLists.txt); this header has no function
// bodies.
#pragma once

#include <cstddef>
#include <cstdint>

namespace bench {

/// Contiguous [tokens, heads, 128] floats and where they go: q to float, k and v to bfloat16 or, with `codes`, k to codes
/// of 8 bits. Rows of cos and sin as in CosSinCache.
struct StepData {
    std::ptrdiff_t tokens, q_heads, k_heads;
    const float *q, *k, *v, *q_weight, *k_weight, *rows;
    float eps, factor, code_scale;
    float* q_out;
    std::uint16_t *k_out, *v_out;
    signed char* codes;
};
/// Multiplies q by the factor, converts k and v; codes of k are k times code_scale.
void convert_only(const StepData& step);
/// Norm over heads, half-split rotation, factor, conversion, head by head.
void step_as_loop(const StepData& step);

}  // namespace bench
