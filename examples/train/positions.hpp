// SPDX-License-Identifier: MIT
// Positions: all that differs between the encodings, in three places of the network: at the embeddings, at queries and
// keys (or their features), and at the scores.
#pragma once

#include <rope/additive.hpp>
#include <rope/core.hpp>

#include <algorithm>
#include <cmath>
#include <optional>
#include <stdexcept>

#include "shape.hpp"
#include "weights.hpp"

namespace train {

template <class T>
class Positions {
 public:
    /// For sequences of up to `max_positions` tokens. Of `rotation`, which rotary encodings take, the head's dimensions
    /// are set here.
    Positions(const Shape& shape, Index max_positions, rope::Config rotation = {}) : shape_(shape) {
        if (shape.encoding == Encoding::sinusoidal) sinusoidal_.emplace(shape.dim, max_positions);
        if (shape.encoding == Encoding::learned && max_positions > shape.context)
            throw std::invalid_argument("A network with learned positions has no more of them than it was trained on.");
        if (!rotates(shape.encoding)) return;
        rotation.head_dim = rotated_dim();
        rotation.rotary_dim = shape.rotary_dim;
        cos_sin_.emplace(rotation, max_positions);
    }

    /// Adds to embeddings, [batch * seq, dim].
    void add(Matrix<T>& x, Index batch, const Weights<T>& weights) const {
        const Index seq = x.rows() / batch;
        if (sinusoidal_) sinusoidal_->add(rope::embedding_view(x.data(), batch, seq, shape_.dim));
        if (shape_.encoding == Encoding::learned)
            for (Index b = 0; b < batch; ++b)
                x.middleRows(b * seq, seq) += embedding_scale() * weights[weights.list->position].topRows(seq);
    }
    void add_backward(const Matrix<T>& dx, Index batch, Weights<T>& gradients) const {
        const Index seq = dx.rows() / batch;
        if (shape_.encoding == Encoding::learned)
            for (Index b = 0; b < batch; ++b)
                gradients[gradients.list->position].topRows(seq) += embedding_scale() * dx.middleRows(b * seq, seq);
    }
    /// Embeddings are drawn for their other use, as output weights, and multiplied by this where they enter. Then they
    /// are of the size of sines and cosines, as in Vaswani et al.
    T embedding_scale() const { return std::sqrt(static_cast<T>(shape_.dim)); }

    /// Rotates queries and keys, or their features: [batch * seq, heads * head_dim].
    void rotate(Matrix<T>& q, Matrix<T>& k, Index batch) const {
        if (cos_sin_) rope::apply(layout(), heads_of(q, batch), heads_of(k, batch), *cos_sin_);
    }
    /// Turns the gradients of rotated queries and keys into the gradients of queries and keys. This is the place for
    /// learned frequencies: their gradient follows from the rotated q and k and from dq and dk before this call.
    void rotate_backward(Matrix<T>& dq, Matrix<T>& dk, Index batch) const {
        if (cos_sin_) rope::apply_transpose(layout(), heads_of(dq, batch), heads_of(dk, batch), *cos_sin_);
    }

    /// The addends of scores, by head and distance: column seq - 1 - distance, so that the scores of query i with the
    /// keys 0 .. i take the last i + 1 columns. Without columns where the encoding adds nothing.
    Matrix<T> score_bias(Index seq, const Weights<T>& weights) const {
        Matrix<T> bias(shape_.heads, has_score_bias(shape_.encoding) ? seq : 0);
        for (Index h = 0; h < bias.rows(); ++h)
            for (Index distance = 0; distance < bias.cols(); ++distance)
                bias(h, seq - 1 - distance) = shape_.encoding == Encoding::alibi
                                                  ? -slope(h) * static_cast<T>(distance)
                                                  : bias_scale() * weights[weights.list->bias](h, bucket(distance));
        return bias;
    }
    void score_bias_backward(const Matrix<T>& dbias, Weights<T>& gradients) const {
        if (shape_.encoding != Encoding::t5) return;
        for (Index h = 0; h < dbias.rows(); ++h)
            for (Index distance = 0; distance < dbias.cols(); ++distance)
                gradients[gradients.list->bias](h, bucket(distance)) +=
                    bias_scale() * dbias(h, dbias.cols() - 1 - distance);
    }

    /// T5's bucket of a distance, of 32: one each for 0 .. 15, then by the logarithm up to 128, and one for all beyond.
    static Index bucket(Index distance) {
        constexpr Index half = WeightList::kBuckets / 2;
        if (distance < half) return distance;
        const double part = std::log(static_cast<double>(distance) / half) / std::log(128.0 / half);
        return std::min(half + static_cast<Index>(part * half), WeightList::kBuckets - 1);
    }

 private:
    Index rotated_dim() const {
        return shape_.is_linear() && shape_.rotate_at == RotateAt::after ? shape_.feature_dim() : shape_.head_dim();
    }
    rope::TensorView<T> heads_of(Matrix<T>& x, Index batch) const {
        return rope::view(x.data(), batch, x.rows() / batch, shape_.heads, rotated_dim());
    }
    rope::Layout layout() const {
        return shape_.encoding == Encoding::rotary_interleaved ? rope::Layout::interleaved : rope::Layout::half_split;
    }
    T slope(Index head) const {
        return static_cast<T>(std::exp2(-8.0 * static_cast<double>(head + 1) / static_cast<double>(shape_.heads)));
    }
    /// As GPT-NeoX multiplies T5's bias. Scores here are divided by this root, which T5's are not; without the factor
    /// Adam, whose steps do not grow with the gradient, could hardly move the bias in a short run.
    T bias_scale() const { return std::sqrt(static_cast<T>(shape_.head_dim())); }

    Shape shape_;
    std::optional<rope::SinusoidalEmbedding<T>> sinusoidal_;
    std::optional<rope::CosSinCache<T>> cos_sin_;
};

}  // namespace train
