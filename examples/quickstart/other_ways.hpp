// SPDX-License-Identifier: MIT
// The same rotation as it is written elsewhere, of q [seq, heads, head_dim] in half-split layout, for comparison.
#pragma once

#include <cmath>
#include <cstddef>
#include <vector>

namespace other_ways {

/// One head, by the cosines and sines of its token.
inline void turn_head(float* x, const float* cos, const float* sin, std::ptrdiff_t pairs) {
    for (std::ptrdiff_t i = 0; i < pairs; ++i) {
        const float a = x[i], b = x[pairs + i];
        x[i] = a * cos[i] - b * sin[i];
        x[pairs + i] = a * sin[i] + b * cos[i];
    }
}

/// The loop that one writes first: the rows of a table, which begin with that of the first token, and no vectors but
/// what the compiler makes. Rows are `pairs` cosines and then as many sines.
inline void plain_loop(float* x, std::ptrdiff_t seq, std::ptrdiff_t heads, std::ptrdiff_t pairs, const float* rows) {
    for (std::ptrdiff_t t = 0; t < seq; ++t)
        for (std::ptrdiff_t h = 0; h < heads; ++h)
            turn_head(x + (t * heads + h) * 2 * pairs, rows + t * 2 * pairs, rows + t * 2 * pairs + pairs, pairs);
}

/// As ggml does: no table; for every token of every call the angle of a pair is that of the one before it times a
/// factor, in float, and its cosine and sine are computed anew.
inline void ggmls_way(float* x, std::ptrdiff_t seq, std::ptrdiff_t heads, std::ptrdiff_t pairs, float base,
                      std::ptrdiff_t first_position) {
    std::vector<float> row(static_cast<std::size_t>(2 * pairs));
    float* const cos = row.data();
    float* const sin = cos + pairs;
    const float factor = std::pow(base, -1.0f / static_cast<float>(pairs));
    for (std::ptrdiff_t t = 0; t < seq; ++t) {
        float angle = static_cast<float>(first_position + t);
        for (std::ptrdiff_t i = 0; i < pairs; ++i, angle *= factor) {
            cos[i] = std::cos(angle);
            sin[i] = std::sin(angle);
        }
        for (std::ptrdiff_t h = 0; h < heads; ++h) turn_head(x + (t * heads + h) * 2 * pairs, cos, sin, pairs);
    }
}

}  // namespace other_ways
