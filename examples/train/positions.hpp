// SPDX-License-Identifier: MIT
// Positions: all that differs between the encodings, in three places of the network: at the embeddings, at queries and
// keys (or their features), and at the scores.
#pragma once

#include <rope/additive.hpp>
#include <rope/core.hpp>
#include <rope/gradients.hpp>
#include <rope/rows.hpp>

#include <algorithm>
#include <cmath>
#include <optional>
#include <stdexcept>
#include <vector>

#include "../stopwatch.hpp"
#include "shape.hpp"
#include "weights.hpp"

namespace train {

/// The time that rotations have taken in this thread.
inline thread_local timing::Stopwatch rotation_time;

template <class T>
class Positions {
 public:
    /// For sequences of up to `max_positions` tokens. Of `rotation`, which rotary encodings take, the head's dimensions
    /// and the base are set here.
    Positions(const Shape& shape, Index max_positions, rope::Config rotation = {}) : shape_(shape) {
        if (shape.encoding == Encoding::sinusoidal) sinusoidal_.emplace(shape.dim, max_positions);
        if (shape.encoding == Encoding::learned && max_positions > shape.context)
            throw std::invalid_argument("A network with learned positions has no more of them than it was trained on.");
        if (!rotates(shape.encoding)) return;
        rotation.head_dim = shape.rotated_dim();
        rotation.rotary_dim = shape.rotary_dim;
        rotation.base = shape.base;
        if (shape.encoding != Encoding::rotary_learned) {
            cos_sin_.emplace(rotation, max_positions);
            return;
        }
        first_ = frequencies_ = rope::frequencies(rotation);
        frequencies_.inv_freq_low.clear();
        max_positions_ = max_positions;
        rows_.emplace(rotation);
    }

    /// To be called when weights have changed, while no thread uses positions: cosines and sines of learned frequencies.
    void update(const Weights<T>& weights) {
        if (!rows_) return;
        const auto log_factors = weights[weights.list->frequency];
        for (std::size_t i = 0; i < first_.inv_freq.size(); ++i)
            frequencies_.inv_freq[i] =
                first_.inv_freq[i] * std::exp(static_cast<double>(log_factors(0, static_cast<Index>(i))));
        rows_->use_frequencies(frequencies_);
        rows_->build(rope::start_at(0), max_positions_);
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
        if (rows() == nullptr) return;
        rotation_time.time([&] { rope::apply(layout(), heads_of(q, batch), heads_of(k, batch), *rows()); });
    }
    /// Turns the gradients of rotated queries and keys into the gradients of queries and keys. The gradient of learned
    /// frequencies follows from the rotated q and k.
    void rotate_backward(const Matrix<T>& q, const Matrix<T>& k, Matrix<T>& dq, Matrix<T>& dk, Index batch,
                         Weights<T>& gradients) const {
        if (rows() == nullptr) return;
        rotation_time.time([&] {
            if (rows_) add_frequency_gradients(q, k, dq, dk, batch, gradients);
            rope::apply_transpose(layout(), heads_of(dq, batch), heads_of(dk, batch), *rows());
        });
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
    /// Adds the gradient of learned frequencies, given the rotated q and k and the gradients with respect to them.
    void add_frequency_gradients(const Matrix<T>& q, const Matrix<T>& k, const Matrix<T>& dq, const Matrix<T>& dk,
                                 Index batch, Weights<T>& gradients) const {
        const Index seq = dq.rows() / batch, pairs = rows_->pairs();
        std::vector<double> angles(static_cast<std::size_t>(batch * seq * pairs));
        std::vector<double> df(static_cast<std::size_t>(pairs));
        const rope::TensorView<double> of_angles = rope::view(angles.data(), batch, seq, 1, pairs);
        rope::add_angle_gradients(layout(), heads_of(q, batch), heads_of(dq, batch), *rows_, of_angles);
        rope::add_angle_gradients(layout(), heads_of(k, batch), heads_of(dk, batch), *rows_, of_angles);
        rope::add_frequency_gradients(of_angles, rope::start_at(0), rope::view(df.data(), 1, 1, pairs));
        auto of_log_factors = gradients[gradients.list->frequency];
        for (Index i = 0; i < pairs; ++i) {
            const auto at = static_cast<std::size_t>(i);
            of_log_factors(0, i) += static_cast<T>(df[at] * frequencies_.inv_freq[at]);  // w = w0 exp(a)
        }
    }

    template <class M>
    auto heads_of(M& x, Index batch) const {
        return rope::view(x.data(), batch, x.rows() / batch, shape_.heads, shape_.rotated_dim());
    }
    const rope::CosSinRows<T>* rows() const {
        if (rows_) return &*rows_;
        return cos_sin_ ? &*cos_sin_ : nullptr;
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
    // The learned frequencies at the first step and now, and the cosines and sines of now.
    rope::Frequencies first_, frequencies_;
    Index max_positions_ = 0;
    std::optional<rope::Rows<T>> rows_;
};

}  // namespace train
