// SPDX-License-Identifier: MIT
// The prologue of an attention as others write it, and the least that it can cost. Each is compiled in a unit of its own,
// with the flags that suit it best (see CMakeLists.txt); this header has no function bodies.
#pragma once

#include <cstddef>
#include <cstdint>

namespace bench {

enum class CacheOf { bfloat16, int8, q8_0 };

/// Contiguous [tokens, heads, 128] floats and where they go: q to float, v to bfloat16, k to a cache of one of the formats.
/// Rows of cos and sin as in CosSinCache.
struct StepData {
    std::ptrdiff_t tokens, q_heads, k_heads;
    const float *q, *k, *v, *q_weight, *k_weight, *rows;
    float eps, factor;
    float* q_out;
    std::uint16_t* v_out;
    CacheOf format;
    std::uint16_t* k_out;   // of bfloat16
    signed char* codes;     // of int8, with a scale for each head
    float* scales;          // of int8
    unsigned char* blocks;  // of q8_0: 34 bytes for 32 numbers
};

/// Norm over heads, half-split rotation, factor, conversion, head by head, as plain loops that the compiler vectorises: with
/// vectors of 256 bits, and of 512 where the machine has them.
void step_as_loop_256(const StepData& step);
void step_as_loop_512(const StepData& step);

/// The same by intrinsics of AVX2, with sums of floats and no check of anything; and the limit: q times the factor, k and v
/// converted, without norm and rotation. Null on other machines.
using Step = void(const StepData& step);
extern Step* const step_by_hand;
extern Step* const convert_only;

}  // namespace bench
