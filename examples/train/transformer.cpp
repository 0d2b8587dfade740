// SPDX-License-Identifier: MIT
#include "transformer.hpp"

namespace train {

template <class T>
Transformer<T>::Transformer(const Shape& shape, const Positions<T>& positions)
    : shape_(shape), positions_(positions), features_(shape), layers_(static_cast<std::size_t>(shape.layers)) {}

template <class T>
std::vector<double> Transformer<T>::forward(const Weights<T>& weights, const unsigned char* inputs,
                                            const unsigned char* targets, Index batch, Index seq) {
    const WeightList& list = *weights.list;
    batch_ = batch;
    inputs_.assign(inputs, inputs + batch * seq);
    x_.resize(batch * seq, shape_.dim);
    for (Index t = 0; t < batch * seq; ++t)
        x_.row(t) = positions_.embedding_scale() * weights[list.embedding].row(inputs[t]);
    positions_.add(x_, batch, weights);
    bias_ = positions_.score_bias(seq, weights);

    for (std::size_t i = 0; i < layers_.size(); ++i) {
        Layer& layer = layers_[i];
        const WeightList::Layer& w = list.layers[i];
        layer.in = x_;
        rms_norm(layer.in, weights[w.norm_attention], layer.normed, layer.r);
        attention(layer, w, weights);
        x_.noalias() += layer.mixed * weights[w.wo].transpose();

        layer.middle = x_;
        rms_norm(layer.middle, weights[w.norm_mlp], layer.normed_middle, layer.r_middle);
        layer.up.noalias() = layer.normed_middle * weights[w.up].transpose();
        gelu(layer.up, layer.active);
        x_.noalias() += layer.active * weights[w.down].transpose();
    }
    rms_norm(x_, weights[list.norm_final], normed_, r_);
    scores_.noalias() = normed_ * weights[list.embedding].transpose();
    return cross_entropy(scores_, targets, T(1));
}

/// Fills layer.mixed: each token's weighted mean of values.
template <class T>
void Transformer<T>::attention(Layer& layer, const WeightList::Layer& w, const Weights<T>& weights) {
    layer.q.noalias() = layer.normed * weights[w.wq].transpose();
    layer.k.noalias() = layer.normed * weights[w.wk].transpose();
    layer.v.noalias() = layer.normed * weights[w.wv].transpose();
    if (!rotates_features()) positions_.rotate(layer.q, layer.k, batch_);
    if (!shape_.is_linear()) {
        SoftmaxAttention<T>{batch_, shape_.heads, shape_.window}.forward(layer.q, layer.k, layer.v, bias_,
                                                                         layer.products, layer.mixed);
        return;
    }
    features_.forward(layer.q, layer.phi_q, true);
    features_.forward(layer.k, layer.phi_k, false);
    layer.rotated_q = layer.phi_q;
    layer.rotated_k = layer.phi_k;
    if (rotates_features()) positions_.rotate(layer.rotated_q, layer.rotated_k, batch_);
    LinearAttention<T>{batch_, shape_.heads}.forward(layer.phi_q, layer.phi_k, layer.rotated_q, layer.rotated_k,
                                                     layer.v, layer.products, layer.denominators, layer.mixed);
}

template <class T>
void Transformer<T>::backward(const Weights<T>& weights, Weights<T>& gradients, T scale) {
    const WeightList& list = *weights.list;
    scores_ *= scale;  // the gradient of the scores, which the forward pass left here
    gradients[list.embedding].noalias() += scores_.transpose() * normed_;
    dnormed_.noalias() = scores_ * weights[list.embedding];
    dx_.setZero(x_.rows(), x_.cols());
    rms_norm_backward(x_, weights[list.norm_final], r_, dnormed_, dx_, gradients[list.norm_final]);
    dbias_.setZero(bias_.rows(), bias_.cols());

    for (std::size_t i = layers_.size(); i-- > 0;) {
        const Layer& layer = layers_[i];
        const WeightList::Layer& w = list.layers[i];
        gradients[w.down].noalias() += dx_.transpose() * layer.active;
        dhidden_.noalias() = dx_ * weights[w.down];
        gelu_backward(layer.up, dhidden_);
        gradients[w.up].noalias() += dhidden_.transpose() * layer.normed_middle;
        dnormed_.noalias() = dhidden_ * weights[w.up];
        rms_norm_backward(layer.middle, weights[w.norm_mlp], layer.r_middle, dnormed_, dx_, gradients[w.norm_mlp]);

        gradients[w.wo].noalias() += dx_.transpose() * layer.mixed;
        dmixed_.noalias() = dx_ * weights[w.wo];
        attention_backward(layer, w, weights, gradients);
        rms_norm_backward(layer.in, weights[w.norm_attention], layer.r, dnormed_, dx_, gradients[w.norm_attention]);
    }
    positions_.score_bias_backward(dbias_, gradients);
    positions_.add_backward(dx_, batch_, gradients);
    for (Index t = 0; t < dx_.rows(); ++t)
        gradients[list.embedding].row(inputs_[static_cast<std::size_t>(t)]) +=
            positions_.embedding_scale() * dx_.row(t);
}

/// From dmixed_ to dnormed_.
template <class T>
void Transformer<T>::attention_backward(const Layer& layer, const WeightList::Layer& w, const Weights<T>& weights,
                                        Weights<T>& gradients) {
    if (!shape_.is_linear()) {
        SoftmaxAttention<T>{batch_, shape_.heads, shape_.window}.backward(layer.q, layer.k, layer.v, layer.products,
                                                                          layer.mixed, dmixed_, dq_, dk_, dv_, dbias_);
    } else {
        LinearAttention<T>{batch_, shape_.heads}.backward(layer.phi_q, layer.phi_k, layer.rotated_q, layer.rotated_k,
                                                          layer.v, layer.products, layer.denominators, layer.mixed,
                                                          dmixed_, dphi_q_, dphi_k_, drotated_q_, drotated_k_, dv_);
        if (rotates_features())
            positions_.rotate_backward(layer.rotated_q, layer.rotated_k, drotated_q_, drotated_k_, batch_, gradients);
        dphi_q_ += drotated_q_;
        dphi_k_ += drotated_k_;
        features_.backward(layer.q, layer.phi_q, dphi_q_, dq_, true);
        features_.backward(layer.k, layer.phi_k, dphi_k_, dk_, false);
    }
    if (!rotates_features()) positions_.rotate_backward(layer.q, layer.k, dq_, dk_, batch_, gradients);
    gradients[w.wq].noalias() += dq_.transpose() * layer.normed;
    gradients[w.wk].noalias() += dk_.transpose() * layer.normed;
    gradients[w.wv].noalias() += dv_.transpose() * layer.normed;
    dnormed_.noalias() = dq_ * weights[w.wq];
    dnormed_.noalias() += dk_ * weights[w.wk];
    dnormed_.noalias() += dv_ * weights[w.wv];
}

template class Transformer<float>;
template class Transformer<double>;

}  // namespace train
