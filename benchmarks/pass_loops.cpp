// SPDX-License-Identifier: MIT
// Compiled twice, with vectors of 256 and of 512 bits: ROPE_BENCH_STEP is the name of the function.
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

/// The bits of a half; rounded to nearest, for normal numbers.
std::uint16_t to_half(float x) {
    std::uint32_t bits;
    std::memcpy(&bits, &x, 4);
    return static_cast<std::uint16_t>((bits - (112u << 23) + 0xfffu + (bits >> 13 & 1u)) >> 13);
}

/// Codes of `count` numbers, and what one code stands for.
float to_codes(const float* x, std::ptrdiff_t count, signed char* codes) {
    float most = 0.0f;
#pragma omp simd reduction(max : most)
    for (std::ptrdiff_t i = 0; i < count; ++i) most = std::fabs(x[i]) > most ? std::fabs(x[i]) : most;
    const float scale = most / 127.0f, inverse = most > 0.0f ? 1.0f / scale : 0.0f;
    for (std::ptrdiff_t i = 0; i < count; ++i) {
        const float product = x[i] * inverse;
        codes[i] = static_cast<signed char>(static_cast<int>(product + std::copysign(0.5f, product)));
    }
    return scale;
}

/// y = rotated norm of one head, times a factor.
inline void norm_and_rotate(const float* __restrict x, const float* __restrict weight, const float* __restrict row,
                            float eps, float factor, float* __restrict y) {
    float sum = 0.0f;
#pragma omp simd reduction(+ : sum)
    for (std::ptrdiff_t i = 0; i < kHeadDim; ++i) sum += x[i] * x[i];
    const float r = 1.0f / std::sqrt(sum / kHeadDim + eps);
    for (std::ptrdiff_t i = 0; i < kPairs; ++i) {
        const float a = x[i] * r * weight[i], b = x[i + kPairs] * r * weight[i + kPairs];
        y[i] = (a * row[i] - b * row[kPairs + i]) * factor;
        y[i + kPairs] = (b * row[i] + a * row[kPairs + i]) * factor;
    }
}

void store_key(const StepData& s, const float* key, std::ptrdiff_t head) {
    switch (s.format) {
        case CacheOf::bfloat16: to_bfloat16(key, kHeadDim, s.k_out + head * kHeadDim); break;
        case CacheOf::int8: s.scales[head] = to_codes(key, kHeadDim, s.codes + head * kHeadDim); break;
        case CacheOf::q8_0:
            for (std::ptrdiff_t i = 0; i < kHeadDim; i += 32) {
                unsigned char* const block = s.blocks + (head * kHeadDim + i) / 32 * 34;
                const std::uint16_t scale = to_half(to_codes(key + i, 32, reinterpret_cast<signed char*>(block) + 2));
                std::memcpy(block, &scale, 2);
            }
    }
}

}  // namespace

void ROPE_BENCH_STEP(const StepData& s) {
    for (std::ptrdiff_t t = 0; t < s.tokens; ++t) {
        const float* const row = s.rows + t * kHeadDim;
        for (std::ptrdiff_t h = 0; h < s.q_heads; ++h) {
            const std::ptrdiff_t at = (t * s.q_heads + h) * kHeadDim;
            norm_and_rotate(s.q + at, s.q_weight, row, s.eps, s.factor, s.q_out + at);
        }
        for (std::ptrdiff_t h = t * s.k_heads; h < (t + 1) * s.k_heads; ++h) {
            float key[kHeadDim];
            norm_and_rotate(s.k + h * kHeadDim, s.k_weight, row, s.eps, 1.0f, key);
            store_key(s, key, h);
        }
        const std::ptrdiff_t at = t * s.k_heads * kHeadDim;
        to_bfloat16(s.v + at, s.k_heads * kHeadDim, s.v_out + at);
    }
}

}  // namespace bench
