// SPDX-License-Identifier: MIT
#include "pass_loops.hpp"

#include <cmath>
#include <cstring>

namespace bench {
namespace {

constexpr std::ptrdiff_t kHeadDim = 128, kPairs = kHeadDim / 2;

inline std::uint16_t to_bfloat16(float x) {
    std::uint32_t bits;
    std::memcpy(&bits, &x, 4);
    return static_cast<std::uint16_t>((bits + 0x7fffu + (bits >> 16 & 1u)) >> 16);
}

void to_bfloat16(const float* x, std::ptrdiff_t count, std::uint16_t* y) {
    for (std::ptrdiff_t i = 0; i < count; ++i) y[i] = to_bfloat16(x[i]);
}

/// y = rotated norm of one head.
void norm_and_rotate(const float* x, const float* weight, const float* row, float eps, float* y) {
    float sum = 0.0f;
    for (std::ptrdiff_t i = 0; i < kHeadDim; ++i) sum += x[i] * x[i];
    const float r = 1.0f / std::sqrt(sum / kHeadDim + eps);
    for (std::ptrdiff_t i = 0; i < kPairs; ++i) {
        const float a = x[i] * r * weight[i], b = x[i + kPairs] * r * weight[i + kPairs];
        y[i] = a * row[i] - b * row[kPairs + i];
        y[i + kPairs] = b * row[i] + a * row[kPairs + i];
    }
}

}  // namespace

void convert_only(const StepData& s) {
    const std::ptrdiff_t keys = s.tokens * s.k_heads * kHeadDim;
    for (std::ptrdiff_t i = 0; i < s.tokens * s.q_heads * kHeadDim; ++i) s.q_out[i] = s.q[i] * s.factor;
    if (s.codes == nullptr)
        to_bfloat16(s.k, keys, s.k_out);
    else
        for (std::ptrdiff_t i = 0; i < keys; ++i) s.codes[i] = static_cast<signed char>(s.k[i] * s.code_scale);
    to_bfloat16(s.v, keys, s.v_out);
}

void step_as_loop(const StepData& s) {
    for (std::ptrdiff_t t = 0; t < s.tokens; ++t) {
        const float* const row = s.rows + t * kHeadDim;
        for (std::ptrdiff_t h = 0; h < s.q_heads; ++h) {
            const std::ptrdiff_t at = (t * s.q_heads + h) * kHeadDim;
            norm_and_rotate(s.q + at, s.q_weight, row, s.eps, s.q_out + at);
            for (std::ptrdiff_t i = 0; i < kHeadDim; ++i) s.q_out[at + i] *= s.factor;
        }
        for (std::ptrdiff_t h = 0; h < s.k_heads; ++h) {
            const std::ptrdiff_t at = (t * s.k_heads + h) * kHeadDim;
            float key[kHeadDim];
            norm_and_rotate(s.k + at, s.k_weight, row, s.eps, key);
            to_bfloat16(key, kHeadDim, s.k_out + at);
        }
        const std::ptrdiff_t at = t * s.k_heads * kHeadDim;
        to_bfloat16(s.v + at, s.k_heads * kHeadDim, s.v_out + at);
    }
}

}  // namespace bench
