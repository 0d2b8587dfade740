// SPDX-License-Identifier: MIT
#include "transformer.hpp"

#include <cmath>
#include <cstddef>
#include <stdexcept>
#include <string>

namespace llama {
namespace {

/// Scales every row of x to a mean square of 1 and every column by its weight.
template <class Row>
void rms_norm(const Matrix& x, const Row& weight, Matrix& out) {
    constexpr float epsilon = 1e-5f;
    for (Index t = 0; t < x.rows(); ++t) {
        const float mean_square = x.row(t).squaredNorm() / static_cast<float>(x.cols());
        out.row(t) = x.row(t).cwiseProduct(weight) / std::sqrt(mean_square + epsilon);
    }
}

/// Turns scores into weights that sum to 1. The largest is subtracted first, so that exp cannot overflow.
template <class Row>
void softmax(Row&& scores) {
    scores.array() = (scores.array() - scores.maxCoeff()).exp();
    scores /= scores.sum();
}

}  // namespace

Transformer::Transformer(const Model& model, Index max_positions)
    : model_(model), cos_sin_(model.rotation, max_positions) {}

const Eigen::VectorXf& Transformer::forward(const std::vector<int>& tokens) {
    const Index seq = static_cast<Index>(tokens.size());
    if (seq < 1 || seq > cos_sin_.max_positions() - position_)
        throw std::out_of_range("The transformer got " + std::to_string(seq) + " tokens at position " +
                                std::to_string(position_) + "; it needs at least 1 and holds " +
                                std::to_string(cos_sin_.max_positions()) + " positions.");
    x_.resize(seq, model_.shape.dim);
    normed_.resize(seq, model_.shape.dim);
    for (Index t = 0; t < seq; ++t) x_.row(t) = model_.token_embedding.row(tokens[static_cast<std::size_t>(t)]);

    for (Index layer = 0; layer < model_.shape.n_layers; ++layer) {
        rms_norm(x_, model_.rms_att.row(layer), normed_);
        attention(layer);
        rms_norm(x_, model_.rms_ffn.row(layer), normed_);
        feed_forward(layer);
    }

    rms_norm(x_, model_.rms_final.row(0), normed_);
    logits_.noalias() = model_.output * normed_.row(seq - 1).transpose();
    position_ += seq;
    return logits_;
}

/// x += attention(normed): every token gathers values from itself and from the tokens before it.
void Transformer::attention(Index layer) {
    const Shape& shape = model_.shape;
    const Index seq = x_.rows(), head_dim = shape.head_dim();
    const Index seen = position_ + seq;

    query_.noalias() = normed_ * layer_of(model_.wq, layer, shape.dim).transpose();
    const Remembered all = remember(layer, normed_, query_);

    mixed_.resize(seq, shape.dim);
    const Index queries_per_key = shape.n_heads / shape.n_kv_heads;
    for (Index head = 0; head < shape.n_heads; ++head) {
        const Index kv_head = head / queries_per_key;
        const auto head_query = query_.middleCols(head * head_dim, head_dim);
        const auto head_keys = all.keys.block(0, kv_head * head_dim, seen, head_dim);
        const auto head_values = all.values.block(0, kv_head * head_dim, seen, head_dim);

        scores_.noalias() = head_query * head_keys.transpose();
        for (Index t = 0; t < seq; ++t) {
            const Index visible = position_ + t + 1;
            softmax(scores_.row(t).head(visible));
            scores_.row(t).tail(seen - visible).setZero();  // tokens that come later
        }
        mixed_.middleCols(head * head_dim, head_dim).noalias() = scores_ * head_values;
    }
    x_.noalias() += mixed_ * layer_of(model_.wo, layer, shape.dim).transpose();
}

/// x += w2 * (silu(w1 * normed) * (w3 * normed)), the SwiGLU block.
void Transformer::feed_forward(Index layer) {
    const Shape& shape = model_.shape;
    gate_.noalias() = normed_ * layer_of(model_.w1, layer, shape.hidden_dim).transpose();
    up_.noalias() = normed_ * layer_of(model_.w3, layer, shape.hidden_dim).transpose();
    gate_.array() *= gate_.array().logistic() * up_.array();
    x_.noalias() += gate_ * layer_of(model_.w2, layer, shape.dim).transpose();
}

}  // namespace llama
