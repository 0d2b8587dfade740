// SPDX-License-Identifier: MIT
// The parts of the network that know nothing of positions, each with its gradient: norm, GELU, cross entropy.
#pragma once

#include <cmath>
#include <cstddef>
#include <vector>

#include "shape.hpp"

namespace train {

/// out = x * r * weight by rows, where r = 1 / sqrt(mean square of the row + 1e-5), which is kept for the gradient.
template <class T, class Row>
void rms_norm(const Matrix<T>& x, const Row& weight, Matrix<T>& out, Vector<T>& r) {
    r = (x.rowwise().squaredNorm().array() / static_cast<T>(x.cols()) + T(1e-5)).rsqrt();
    out = (x.array().colwise() * r.array()).rowwise() * weight.array().row(0);
}

/// Adds the gradients of x and of the weight to dx and dweight, given the gradient of the output.
template <class T, class Row, class DRow>
void rms_norm_backward(const Matrix<T>& x, const Row& weight, const Vector<T>& r, const Matrix<T>& dout, Matrix<T>& dx,
                       DRow&& dweight) {
    for (Index t = 0; t < x.rows(); ++t) {
        dweight.row(0) += r[t] * dout.row(t).cwiseProduct(x.row(t));
        const T mean = (dout.row(t).cwiseProduct(weight.row(0))).dot(x.row(t)) / static_cast<T>(x.cols());
        dx.row(t) += r[t] * (dout.row(t).cwiseProduct(weight.row(0)) - (r[t] * r[t] * mean) * x.row(t));
    }
}

/// GELU by tanh, 0.5 x (1 + tanh(c (x + 0.044715 x^3))), arXiv:1606.08415.
template <class T>
void gelu(const Matrix<T>& x, Matrix<T>& out) {
    const auto a = x.array();
    out = T(0.5) * a * (T(1) + (T(0.7978845608028654) * a * (T(1) + T(0.044715) * a.square())).tanh());
}

/// Turns the gradient of the output into the gradient of x, in place.
template <class T>
void gelu_backward(const Matrix<T>& x, Matrix<T>& d) {
    constexpr T c = T(0.7978845608028654), b = T(0.044715);
    for (Index t = 0; t < x.rows(); ++t) {
        const auto a = x.row(t).array();
        const Eigen::Array<T, 1, Eigen::Dynamic> h = (c * a * (T(1) + b * a.square())).tanh();
        d.row(t).array() *= T(0.5) * (T(1) + h) + T(0.5) * a * (T(1) - h.square()) * c * (T(1) + T(3) * b * a.square());
    }
}

/// Turns scores of the next byte into their gradient, times `scale`, in place, and returns the nats of each target.
template <class T>
std::vector<double> cross_entropy(Matrix<T>& scores, const unsigned char* targets, T scale) {
    std::vector<double> nats(static_cast<std::size_t>(scores.rows()));
    for (Index t = 0; t < scores.rows(); ++t) {
        auto row = scores.row(t);
        const T largest = row.maxCoeff(), target = row[targets[t]];
        row.array() = (row.array() - largest).exp();
        const T sum = row.sum();
        nats[static_cast<std::size_t>(t)] = static_cast<double>(std::log(sum) + largest - target);
        row *= scale / sum;
        row[targets[t]] -= scale;
    }
    return nats;
}

}  // namespace train
