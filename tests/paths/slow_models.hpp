// SPDX-License-Identifier: MIT
// The operations that models' own code does to heads, as loops over numbers, each with the rounding that it has there.
// Nothing here is the library's, but for whether its machine has fused multiply-add.
#pragma once

#include <rope/core.hpp>

#include <rope/detail/simd/isa_choice.hpp>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <vector>

#include "support/data.hpp"

namespace slow {

using rope::Index;
using rope::Layout;
using support::size;

/// The nearest bfloat16, ties to even, as a float.
inline float bf(float x) {
    std::uint32_t bits;
    std::memcpy(&bits, &x, 4);
    bits = (bits + 0x7fffu + (bits >> 16 & 1u)) & 0xffff0000u;
    std::memcpy(&x, &bits, 4);
    return x;
}
/// In float, where nothing is rounded.
inline float same(float x) { return x; }
using Round = float (*)(float);

/// Numbers of [tokens, heads, dim], all of them bfloat16.
struct Heads {
    Index tokens, heads, dim;
    std::vector<float> x;
    Index first = 20000;  // the position of the first token

    float* head(Index token, Index h) { return x.data() + (token * heads + h) * dim; }
    template <class F>
    void for_each(const F& f) {
        for (Index token = 0; token < tokens; ++token)
            for (Index h = 0; h < heads; ++h) f(head(token, h), first + token, h);
    }
};
inline std::vector<float> drawn(Index n, unsigned seed) {
    std::vector<float> x;
    for (const rope::bfloat16 value : support::normal<rope::bfloat16>(n, seed))
        x.push_back(static_cast<float>(support::to_double(value)));
    return x;
}
inline Heads drawn_heads(Index tokens, Index heads, Index dim, unsigned seed) {
    return {tokens, heads, dim, drawn(tokens * heads * dim, seed)};
}

/// a * b as a float, which no compiler fuses with what follows.
inline float product(float a, float b) {
    const volatile float p = a * b;
    return p;
}
inline float sum(float a, float b) {
    const volatile float s = a + b;
    return s;
}

/// 1 / sqrt(mean((x - shift)^2) + eps) of n numbers.
inline float root(const float* x, Index n, double eps, float shift = 0.0f) {
    long double squares = 0.0L;
    for (Index i = 0; i < n; ++i) {
        const long double d = static_cast<long double>(x[i]) - static_cast<long double>(shift);
        squares += d * d;
    }
    return static_cast<float>(1.0L / std::sqrt(squares / static_cast<long double>(n) + static_cast<long double>(eps)));
}
inline float mean(const float* x, Index n) {
    long double all = 0.0L;
    for (Index i = 0; i < n; ++i) all += static_cast<long double>(x[i]);
    return static_cast<float>(all / static_cast<long double>(n));
}

/// A rotation of the `dim` numbers from x on, as a model's code has it.
struct Rotation {
    Index dim;
    Layout in, out;
    long double theta;
    Round rows, each;            // of cos and sin; of products and sums
    Round result = same;         // of what is rotated
    long double divisor = 1.0L;  // of positions
    long double direction = 1.0L;

    void operator()(float* x, Index position) const {
        const Index pairs = dim / 2;
        const std::vector<float> before(x, x + dim);
        for (Index i = 0; i < pairs; ++i) {
            const long double w = std::pow(theta, -2.0L * static_cast<long double>(i) / static_cast<long double>(dim));
            const long double angle = direction * static_cast<long double>(position) / divisor * w;
            const float c = rows(static_cast<float>(std::cos(angle))), s = rows(static_cast<float>(std::sin(angle)));
            const bool is_interleaved = in == Layout::interleaved;
            const float a = before[size(is_interleaved ? 2 * i : i)];
            const float b = before[size(is_interleaved ? 2 * i + 1 : i + pairs)];
            float first, second;
            if (each != &same) {
                first = each(sum(each(product(a, c)), -each(product(b, s))));
                second = each(sum(each(product(b, c)), each(product(a, s))));
            } else {  // in float, as the machine has it
                const bool is_fused = rope::detail::active_isa_has_fma();
                first = is_fused ? std::fma(a, c, -product(b, s)) : sum(product(a, c), -product(b, s));
                second = is_fused ? std::fma(b, c, product(a, s)) : sum(product(b, c), product(a, s));
            }
            x[out == Layout::interleaved ? 2 * i : i] = result(first);
            x[out == Layout::interleaved ? 2 * i + 1 : i + pairs] = result(second);
        }
    }
};

}  // namespace slow
