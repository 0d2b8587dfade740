// SPDX-License-Identifier: MIT
// The prologue of an attention as one writes it by hand for a machine with AVX2, one format and heads of 128.
#include "pass_loops.hpp"

#if defined(__AVX2__) && defined(__FMA__) && defined(__F16C__)
#    include <immintrin.h>

#    include <cmath>
#    include <cstring>

namespace bench {
namespace {

constexpr int kHeadDim = 128, kVectors = kHeadDim / 8, kHalf = kVectors / 2;

inline __m256i rounded(__m256 x) {
    const __m256i bits = _mm256_castps_si256(x);
    const __m256i last = _mm256_and_si256(_mm256_srli_epi32(bits, 16), _mm256_set1_epi32(1));
    return _mm256_srli_epi32(_mm256_add_epi32(_mm256_add_epi32(bits, _mm256_set1_epi32(0x7fff)), last), 16);
}
inline void store_bfloat16(std::uint16_t* y, __m256 a, __m256 b) {
    const __m256i both = _mm256_packus_epi32(rounded(a), rounded(b));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(y), _mm256_permute4x64_epi64(both, _MM_SHUFFLE(3, 1, 2, 0)));
}
void to_bfloat16(const float* x, std::ptrdiff_t count, std::uint16_t* y) {
    for (std::ptrdiff_t i = 0; i < count; i += 16)
        store_bfloat16(y + i, _mm256_loadu_ps(x + i), _mm256_loadu_ps(x + i + 8));
}

inline float sum_of(__m256 x) {
    const __m128 four = _mm_add_ps(_mm256_castps256_ps128(x), _mm256_extractf128_ps(x, 1));
    const __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));
    return _mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two)));
}
inline float largest_of(__m256 x) {
    const __m128 four = _mm_max_ps(_mm256_castps256_ps128(x), _mm256_extractf128_ps(x, 1));
    const __m128 two = _mm_max_ps(four, _mm_movehl_ps(four, four));
    return _mm_cvtss_f32(_mm_max_ss(two, _mm_movehdup_ps(two)));
}
inline __m256 absolute(__m256 x) { return _mm256_andnot_ps(_mm256_set1_ps(-0.0f), x); }

/// 32 codes of 4 vectors.
inline void store_codes(void* codes, const __m256* x, __m256 inverse) {
    __m256i n[4];
    for (int i = 0; i < 4; ++i) n[i] = _mm256_cvtps_epi32(_mm256_mul_ps(x[i], inverse));
    const __m256i bytes = _mm256_packs_epi16(_mm256_packs_epi32(n[0], n[1]), _mm256_packs_epi32(n[2], n[3]));
    const __m256i order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
    _mm256_storeu_si256(static_cast<__m256i*>(codes), _mm256_permutevar8x32_epi32(bytes, order));
}
/// Codes of groups of 4 vectors that have a scale together.
inline float largest_of_groups(const __m256* x, int vectors) {
    __m256 most = absolute(x[0]);
    for (int i = 1; i < vectors; ++i) most = _mm256_max_ps(most, absolute(x[i]));
    return largest_of(most);
}
inline void store_int8(const __m256* x, signed char* codes, float& scale) {
    const float most = largest_of_groups(x, kVectors);
    scale = most / 127.0f;
    const __m256 inverse = _mm256_set1_ps(most > 0.0f ? 127.0f / most : 0.0f);
    for (int i = 0; i < kVectors; i += 4) store_codes(codes + 8 * i, x + i, inverse);
}
inline void store_q8_0(const __m256* x, unsigned char* block) {
    for (int i = 0; i < kVectors; i += 4, block += 34) {
        const float most = largest_of_groups(x + i, 4);
        const __m128i as_half = _mm_cvtps_ph(_mm_set_ss(most / 127.0f), _MM_FROUND_TO_NEAREST_INT);
        const auto scale = static_cast<std::uint16_t>(_mm_extract_epi16(as_half, 0));
        std::memcpy(block, &scale, 2);
        store_codes(block + 2, x + i, _mm256_set1_ps(most > 0.0f ? 127.0f / most : 0.0f));
    }
}

/// Normed, rotated and multiplied; store(i, vector i).
template <class Store>
inline void rotate(const float* x, const float* weight, const float* row, float eps, float factor, const Store& store) {
    __m256 sums[4] = {_mm256_setzero_ps(), _mm256_setzero_ps(), _mm256_setzero_ps(), _mm256_setzero_ps()};
    for (int i = 0; i < kVectors; ++i) {
        const __m256 v = _mm256_loadu_ps(x + 8 * i);
        sums[i % 4] = _mm256_fmadd_ps(v, v, sums[i % 4]);
    }
    const float sum = sum_of(_mm256_add_ps(_mm256_add_ps(sums[0], sums[1]), _mm256_add_ps(sums[2], sums[3])));
    const __m256 root = _mm256_set1_ps(factor / std::sqrt(sum / kHeadDim + eps));
    for (int i = 0; i < kHalf; ++i) {
        const auto load = [&](int k) {
            return _mm256_mul_ps(_mm256_mul_ps(_mm256_loadu_ps(x + 8 * k), root), _mm256_loadu_ps(weight + 8 * k));
        };
        const __m256 a = load(i), b = load(i + kHalf);
        const __m256 cos = _mm256_loadu_ps(row + 8 * i), sin = _mm256_loadu_ps(row + kHeadDim / 2 + 8 * i);
        store(i, _mm256_fmsub_ps(a, cos, _mm256_mul_ps(b, sin)));
        store(i + kHalf, _mm256_fmadd_ps(b, cos, _mm256_mul_ps(a, sin)));
    }
}

inline void store_key(const StepData& s, const __m256* key, std::ptrdiff_t head) {
    if (s.format == CacheOf::bfloat16)
        for (int i = 0; i < kVectors; i += 2) store_bfloat16(s.k_out + head * kHeadDim + 8 * i, key[i], key[i + 1]);
    else if (s.format == CacheOf::int8)
        store_int8(key, s.codes + head * kHeadDim, s.scales[head]);
    else
        store_q8_0(key, s.blocks + head * (kHeadDim / 32 * 34));
}

void step(const StepData& s) {
    __m256 head[kVectors];
    for (std::ptrdiff_t t = 0; t < s.tokens; ++t) {
        const float* const row = s.rows + t * kHeadDim;
        for (std::ptrdiff_t h = t * s.q_heads; h < (t + 1) * s.q_heads; ++h) {
            float* const y = s.q_out + h * kHeadDim;
            rotate(s.q + h * kHeadDim, s.q_weight, row, s.eps, s.factor,
                   [y](int i, __m256 v) { _mm256_storeu_ps(y + 8 * i, v); });
        }
        for (std::ptrdiff_t h = t * s.k_heads; h < (t + 1) * s.k_heads; ++h) {
            rotate(s.k + h * kHeadDim, s.k_weight, row, s.eps, 1.0f, [&head](int i, __m256 v) { head[i] = v; });
            store_key(s, head, h);
        }
        const std::ptrdiff_t at = t * s.k_heads * kHeadDim;
        to_bfloat16(s.v + at, s.k_heads * kHeadDim, s.v_out + at);
    }
}

void convert(const StepData& s) {
    __m256 head[kVectors];
    const __m256 factor = _mm256_set1_ps(s.factor);
    for (std::ptrdiff_t i = 0; i < s.tokens * s.q_heads * kHeadDim; i += 8)
        _mm256_storeu_ps(s.q_out + i, _mm256_mul_ps(_mm256_loadu_ps(s.q + i), factor));
    if (s.format == CacheOf::bfloat16) to_bfloat16(s.k, s.tokens * s.k_heads * kHeadDim, s.k_out);
    for (std::ptrdiff_t h = 0; h < s.tokens * s.k_heads && s.format != CacheOf::bfloat16; ++h) {
        for (int i = 0; i < kVectors; ++i) head[i] = _mm256_loadu_ps(s.k + h * kHeadDim + 8 * i);
        store_key(s, head, h);
    }
    to_bfloat16(s.v, s.tokens * s.k_heads * kHeadDim, s.v_out);
}

}  // namespace

Step* const step_by_hand = &step;
Step* const convert_only = &convert;

}  // namespace bench

#else
bench::Step* const bench::step_by_hand = nullptr;
bench::Step* const bench::convert_only = nullptr;
#endif
