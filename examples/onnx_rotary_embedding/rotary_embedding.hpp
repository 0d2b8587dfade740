// SPDX-License-Identifier: MIT
// The ONNX operator RotaryEmbedding (opset 23) as a few lines over the library: its shapes are checked, its tensors
// viewed, its caches wrapped.
#pragma once

#include <rope/core.hpp>
#include <rope/wrapped_rows.hpp>

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

namespace onnx_example {

using rope::Index;
using Shape = std::vector<Index>;

/// A dense tensor, its last axis the fastest.
template <class T>
struct Tensor {
    T* data = nullptr;
    Shape shape;
};

/// Of a node, as its model names them.
struct Attributes {
    std::int64_t interleaved = 0;  ///< 1: features 2i and 2i + 1 form a pair; 0: i and i + half of those that turn
    std::int64_t num_heads = 0;    ///< of a 3-D X; a 4-D X says it by its shape
    std::int64_t rotary_embedding_dim = 0;  ///< how many features of a head turn, the first ones; 0: all
};

inline std::string text_of(const Shape& shape) {
    std::string text;
    for (const Index extent : shape) text += (text.empty() ? "" : ", ") + std::to_string(extent);
    return "[" + text + "]";
}

inline void require(bool ok, const char* name, const Shape& shape, const std::string& allowed) {
    if (!ok) throw std::invalid_argument(std::string(name) + " has shape " + text_of(shape) + "; " + allowed);
}

/// The axes of X, whichever way they were given.
struct Axes {
    Index batch, seq, heads, head_size;
};

inline Axes axes_of(const Shape& x, const Attributes& a) {
    require(x.size() == 3 || x.size() == 4, "X", x, "it must have three axes or four.");
    if (x.size() == 4) return {x[0], x[2], x[1], x[3]};
    const Index heads = static_cast<Index>(a.num_heads);
    require(heads > 0 && x[2] % heads == 0, "X", x,
            "with three axes it needs num_heads, a divisor of the last one, not " + std::to_string(heads) + ".");
    return {x[0], x[1], heads, x[2] / heads};
}

/// A [batch, seq, heads, head_size] view, whichever way X lies.
template <class T>
rope::TensorView<T> view_of(const Tensor<T>& x, const Axes& a) {
    return x.shape.size() == 4 ? rope::view_heads_first(x.data, a.batch, a.heads, a.seq, a.head_size)
                               : rope::view(x.data, a.batch, a.seq, a.heads, a.head_size);
}

/// The executor of a call on the calling thread.
struct OneThread {
    template <class F>
    void operator()(Index pieces, const F& f) const {
        f(0, pieces);
    }
};

/// Caches that are floats are read where they are, others copied.
inline rope::CosSinView<float> as_floats(const rope::CosSinView<float>& caches, std::vector<float>&) { return caches; }
template <class Cache>
rope::CosSinView<float> as_floats(const rope::CosSinView<Cache>& caches, std::vector<float>& memory) {
    if (const rope::Status s = rope::check(caches); !s.ok()) throw std::invalid_argument(s.message());
    memory.resize(static_cast<std::size_t>(caches.batch * caches.rows * 2 * caches.pairs));
    return rope::copy_cos_sin(caches, memory.data());
}

/// Y = RotaryEmbedding(X, cos_cache, sin_cache, position_ids), computed in float and rounded once.
///
/// X             [batch, seq, num_heads * head_size] or [batch, heads, seq, head_size], of float, rope::half or
///               rope::bfloat16
/// caches        with position_ids [positions, P], without [batch, seq, P], where P is half of the rotated features of a
///               head; of X's type or of float. 16-bit ones are widened in every call: an engine whose caches are constants
///               does that once, with rope::copy_cos_sin, and passes floats
/// position_ids  [batch, seq] rows of the caches, or null
/// Y             of X's type and shape, in the same memory or apart from it
/// executor      runs f(begin, end) over pieces of 0 .. count, on threads of the engine; it is asked for calls that
///               write at least 1 MiB
///
/// Throws std::invalid_argument for shapes that do not fit one another, and std::out_of_range for a position that the
/// caches do not have. Nothing is written then.
template <class T, class Cache, class Executor = OneThread>
void rotary_embedding(const Tensor<const T>& x, const Tensor<const Cache>& cos_cache,
                      const Tensor<const Cache>& sin_cache, const Tensor<const std::int64_t>* position_ids,
                      const Tensor<T>& y, const Attributes& attributes, const Executor& executor = {}) {
    const Axes a = axes_of(x.shape, attributes);
    const Index given_dim = static_cast<Index>(attributes.rotary_embedding_dim);
    const Index dim = given_dim != 0 ? given_dim : a.head_size, pairs = dim / 2;
    require(dim > 0 && dim <= a.head_size && dim % 2 == 0, "X", x.shape,
            "of the " + std::to_string(a.head_size) + " features of its heads an even number must rotate, not " +
                std::to_string(dim) + ".");
    const bool has_ids = position_ids != nullptr;
    const Shape tokens = {a.batch, a.seq}, rows = {a.batch, a.seq, pairs};
    if (has_ids) {
        require(position_ids->shape == tokens, "position_ids", position_ids->shape,
                "it must be [batch, seq], " + text_of(tokens) + ".");
        require(cos_cache.shape.size() == 2 && cos_cache.shape[1] == pairs, "cos_cache", cos_cache.shape,
                "with position_ids it must be [positions, " + std::to_string(pairs) + "].");
    } else {
        require(cos_cache.shape == rows, "cos_cache", cos_cache.shape,
                "without position_ids it must be " + text_of(rows) + ".");
    }
    require(sin_cache.shape == cos_cache.shape, "sin_cache", sin_cache.shape,
            "it must be that of cos_cache, " + text_of(cos_cache.shape) + ".");
    require(y.shape == x.shape, "Y", y.shape, "it must be that of X, " + text_of(x.shape) + ".");
    if (a.batch == 0 || a.seq == 0) return;

    rope::CosSinView<Cache> caches = {cos_cache.data, sin_cache.data, has_ids ? cos_cache.shape[0] : a.seq, pairs};
    if (!has_ids) caches.batch = a.batch;
    std::vector<float> memory;
    const rope::WrappedRows<float> wrapped(as_floats(caches, memory), {a.head_size, 0});
    const rope::Positions positions = has_ids ? rope::ids(position_ids->data, a.batch * a.seq) : rope::Positions();
    const rope::Layout layout = attributes.interleaved != 0 ? rope::Layout::interleaved : rope::Layout::half_split;
    rope::apply_copy(layout, view_of(x, a), view_of(y, a), wrapped, positions, executor);
}

}  // namespace onnx_example
