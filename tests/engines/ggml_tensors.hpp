// SPDX-License-Identifier: MIT
// ggml's tensors and operators, for the tests of <rope/ggml.hpp>: shapes and parameters of every kind, tensors in larger buffers.
#pragma once

#include <rope/ggml.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

#include "support/data.hpp"

namespace engines {

using rope::Index;
using support::size;
namespace ggml = rope::ggml;

enum Mode : std::int32_t { normal = 0, neox = 2, mrope = 8, vision = 24, imrope = 40 };
enum class Type { f32 = 0, f16 = 1, q4_0 = 2, q8_0 = 8, i32 = 26, i64 = 27, bf16 = 30 };

/// A struct with ggml_tensor's members.
struct Made {
    Type type;
    std::int64_t ne[4];
    std::size_t nb[4];
    char more[64];
    void* data;
};
inline Made contiguous(Type type, const std::array<std::int64_t, 4>& ne, std::size_t element, void* data) {
    Made t = {type, {}, {}, {}, data};
    std::size_t step = element;
    for (std::size_t axis = 0; axis < 4; ++axis) {
        t.ne[axis] = ne[axis];
        t.nb[axis] = step;
        step *= static_cast<std::size_t>(ne[axis]);
    }
    return t;
}
template <class Number>
ggml::Tensor list_of(Type type, std::vector<Number>& numbers) {
    const Made t =
        contiguous(type, {static_cast<std::int64_t>(numbers.size()), 1, 1, 1}, sizeof(Number), numbers.data());
    return ggml::tensor(&t);
}

struct Shape {
    std::array<std::int64_t, 4> ne;  // head_dim, heads, tokens, batch
    ggml::RopeParams params;
};
inline ggml::RopeParams params(std::int32_t n_dims, Mode mode, std::array<std::int32_t, 4> sections = {},
                               std::int32_t n_offs = 0, std::int32_t n_ctx_orig = 0, float beta_fast = 1.0f,
                               float beta_slow = 1.0f) {
    ggml::RopeParams p;
    p.n_dims = n_dims;
    p.mode = mode;
    p.n_ctx_orig = n_ctx_orig;
    p.beta_fast = beta_fast;
    p.beta_slow = beta_slow;
    std::copy(sections.begin(), sections.end(), p.sections);
    p.n_offs = n_offs;
    return p;
}
/// The shapes of ggml's own tests, with fewer heads, and sections of every kind.
inline std::vector<Shape> shapes() {
    return {{{128, 4, 2, 1}, params(128, normal)},
            {{80, 3, 4, 1}, params(20, normal)},
            {{128, 4, 2, 2}, params(32, normal, {}, 32)},
            {{64, 1, 2, 1}, params(64, neox)},
            {{80, 3, 4, 1}, params(32, neox, {}, 0, 4096, 32.0f, 1.0f)},
            {{128, 5, 2, 3}, params(128, neox, {}, 0, 100, 0.0f, 0.0f)},
            {{128, 3, 2, 1}, params(24, neox, {}, 100, 512, 1.0f, 32.0f)},
            {{128, 3, 2, 1}, params(128, mrope, {42, 42, 42, 0})},
            {{128, 3, 2, 1}, params(20, mrope, {6, 6, 6, 0})},
            {{80, 2, 3, 2}, params(80, mrope, {3, 2, 1, 4}, 0, 4096, 32.0f, 1.0f)},
            {{128, 3, 2, 1}, params(128, imrope, {24, 20, 20, 0})},
            {{128, 3, 2, 1}, params(24, imrope, {8, 8, 8, 0}, 32)},
            {{16, 4, 40, 1}, params(16, imrope, {5, 1, 2, 3})},
            {{80, 4, 2, 1}, params(40, vision, {20, 20, 0, 0})},
            {{36, 4, 9, 1}, params(18, vision, {9, 9, 0, 0}, 0, 64, 8.0f, 1.0f)},
            {{64, 2, 3, 1}, params(32, vision, {5, 0, 4, 3})},
            {{64, 2, 3, 1}, params(32, vision, {0, 7, 9, 0})}};
}

inline bool has_axes(const ggml::RopeParams& p) { return p.mode == mrope || p.mode == vision || p.mode == imrope; }
inline int pairs_of(const ggml::RopeParams& p) { return p.mode == vision ? p.n_dims : p.n_dims / 2; }

/// A tensor in a buffer: contiguous (0), the corner of a larger one (1), the second halves of longer heads (2).
template <class X>
struct Buffer {
    std::vector<X> numbers;
    ggml::Tensor t;

    Buffer(const std::array<std::int64_t, 4>& ne, int view, unsigned seed) {
        std::array<std::int64_t, 4> all = ne;
        if (view == 1) all = {ne[0] * 2, ne[1] * 4, ne[2] * 3, ne[3]};
        if (view == 2) all[0] *= 2;
        numbers = support::normal<X>(all[0] * all[1] * all[2] * all[3], seed);
        const Made whole = contiguous(sizeof(X) == 4 ? Type::f32 : Type::f16, all, sizeof(X), numbers.data());
        t = ggml::tensor(&whole);
        std::copy(ne.begin(), ne.end(), t.ne);
        if (view == 2) t.data = numbers.data() + ne[0];
    }
    Buffer(const Buffer&) = delete;
    Buffer& operator=(const Buffer&) = delete;
    /// Whether only elements of the tensor differ from `before`.
    bool is_touched_inside(const std::vector<X>& before) const {
        std::vector<X> outside = numbers;
        const X* const first = static_cast<const X*>(t.data);
        for (Index b = 0; b < t.ne[3]; ++b)
            for (Index s = 0; s < t.ne[2]; ++s)
                for (Index h = 0; h < t.ne[1]; ++h) {
                    const std::size_t bytes = size(b) * t.nb[3] + size(s) * t.nb[2] + size(h) * t.nb[1];
                    const Index at = first - numbers.data() + static_cast<Index>(bytes / sizeof(X));
                    std::copy_n(before.begin() + at, t.ne[0], outside.begin() + at);
                }
        return support::same_bits(outside, before);
    }
};

inline std::vector<std::int32_t> positions_for(const Shape& shape, std::int32_t below, bool have_signs, unsigned seed) {
    std::mt19937 engine(seed);
    std::vector<std::int32_t> positions(size(shape.ne[2] * (has_axes(shape.params) ? 4 : 1)));
    for (std::int32_t& p : positions) {
        p = static_cast<std::int32_t>(engine() % static_cast<unsigned>(below));
        if (have_signs && engine() % 2 == 0) p = -p;
    }
    return positions;
}

}  // namespace engines
