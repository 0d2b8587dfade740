// SPDX-License-Identifier: MIT
// Transformer: the network, forward and backward, over a batch of sequences of bytes.
#pragma once

#include <vector>

#include "layers.hpp"
#include "linear_attention.hpp"
#include "positions.hpp"
#include "shape.hpp"
#include "weights.hpp"

namespace train {

/// A decoder with norms before its blocks (RMS), attention, an MLP with GELU, and the embeddings as output weights.
/// Compiled for float, to train, and for double, to test the gradient. One object serves one thread: it keeps
/// the activations that the gradient needs.
template <class T>
class Transformer {
 public:
    /// The positions, which threads share, must live as long.
    Transformer(const Shape& shape, const Positions<T>& positions);

    /// The nats of every target: targets[t] is the byte that follows inputs[t]. Both are [batch, seq].
    std::vector<double> forward(const Weights<T>& weights, const unsigned char* inputs, const unsigned char* targets,
                                Index batch, Index seq);

    /// Adds the gradients of `scale` times the sum of all nats of the last forward pass; once after each.
    void backward(const Weights<T>& weights, Weights<T>& gradients, T scale);

 private:
    /// The activations of a layer that the gradient needs. Queries and keys are rotated.
    struct Layer {
        Matrix<T> in, normed, q, k, v, products, mixed;              // attention
        Matrix<T> phi_q, phi_k, rotated_q, rotated_k, denominators;  // of linear attention alone
        Matrix<T> middle, normed_middle, up, active;                 // the MLP
        Vector<T> r, r_middle;                                       // of the norms
    };

    void attention(Layer& layer, const WeightList::Layer& w, const Weights<T>& weights);
    void attention_backward(const Layer& layer, const WeightList::Layer& w, const Weights<T>& weights,
                            Weights<T>& gradients);
    bool rotates_features() const { return shape_.is_linear() && shape_.rotate_at == RotateAt::after; }

    Shape shape_;
    const Positions<T>& positions_;
    FeatureMap<T> features_;
    Index batch_ = 0;
    std::vector<unsigned char> inputs_;
    std::vector<Layer> layers_;
    Matrix<T> x_, normed_, scores_, bias_;
    Vector<T> r_;
    // Gradients on their way back: of the state, of the output of a norm, and of all between.
    Matrix<T> dx_, dnormed_, dhidden_, dmixed_, dq_, dk_, dv_, dphi_q_, dphi_k_, drotated_q_, drotated_k_, dbias_;
};

extern template class Transformer<float>;
extern template class Transformer<double>;

}  // namespace train
