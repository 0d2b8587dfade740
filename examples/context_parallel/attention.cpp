// SPDX-License-Identifier: MIT
#include "attention.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <random>

using rope::Index;

namespace {

constexpr double kScale = 0.125;  // 1 / sqrt(kHeadDim)

/// The columns of what head h reads.
Index first_of_query(Index h) { return h * kHeadDim; }
Index first_of_key(Index h) { return h / (kHeads / kKvHeads) * kHeadDim; }
Index first_of_value(Index h) { return kKvWidth + first_of_key(h); }

}  // namespace

rope::Config config() {
    rope::Config result;
    result.head_dim = kHeadDim;
    return result;
}

Tokens make_tokens(const List& indices) {
    const Index tokens = static_cast<Index>(indices.size());
    Tokens x = {Matrix(tokens, kWidth), Matrix(tokens, 2 * kKvWidth)};
    for (Index t = 0; t < tokens; ++t) {
        std::mt19937 engine(static_cast<unsigned>(indices[static_cast<std::size_t>(t)]));
        std::normal_distribution<float> normal;
        for (Index i = 0; i < x.q.cols(); ++i) x.q(t, i) = normal(engine);
        for (Index i = 0; i < x.kv.cols(); ++i) x.kv(t, i) = normal(engine);
    }
    return x;
}

Gathered::Gathered(Index queries)
    : out_(Matrix::Zero(queries, kWidth)),
      sum_(Matrix::Zero(queries, kHeads)),
      largest_(Matrix::Constant(queries, kHeads, -std::numeric_limits<float>::infinity())) {}

void Gathered::add(Index t, const Matrix& q, const Matrix& kv, Index begin, Index seen) {
    for (Index h = 0; h < kHeads; ++h) {
        const auto query = q.row(t).segment(first_of_query(h), kHeadDim);
        const auto keys = kv.block(begin, first_of_key(h), seen, kHeadDim);
        const auto values = kv.block(begin, first_of_value(h), seen, kHeadDim);
        auto out = out_.row(t).segment(first_of_query(h), kHeadDim);

        Eigen::VectorXf weights = static_cast<float>(kScale) * (keys * query.transpose());
        const float largest = std::max(largest_(t, h), weights.maxCoeff());
        const float shrink = std::exp(largest_(t, h) - largest);  // what was gathered before; 0 the first time
        weights = (weights.array() - largest).exp();
        out = shrink * out + weights.transpose() * values;
        sum_(t, h) = shrink * sum_(t, h) + weights.sum();
        largest_(t, h) = largest;
    }
}

Matrix Gathered::result() const {
    Matrix out = out_;
    for (Index h = 0; h < kHeads; ++h)
        out.middleCols(first_of_query(h), kHeadDim).array().colwise() /= sum_.col(h).array();
    return out;
}

Plain plain_attention(const List& cu_seqlens) {
    const Index tokens = cu_seqlens.back();
    List indices;
    for (Index t = 0; t < tokens; ++t) indices.push_back(t);
    Tokens x = make_tokens(indices);
    Eigen::MatrixXd out(tokens, kWidth);
    const rope::CosSinCache<float> cache(config(), tokens);
    for (std::size_t i = 0; i + 1 < cu_seqlens.size(); ++i) {
        const Index begin = cu_seqlens[i], seq = cu_seqlens[i + 1] - begin;
        rope::apply<kLayout>(rope::view(x.q.middleRows(begin, seq), kHeads),
                             rope::view(x.kv.block(begin, 0, seq, kKvWidth), kKvHeads), cache);
        for (Index h = 0; h < kHeads; ++h) {
            const Eigen::MatrixXd q = x.q.block(begin, first_of_query(h), seq, kHeadDim).cast<double>();
            const Eigen::MatrixXd k = x.kv.block(begin, first_of_key(h), seq, kHeadDim).cast<double>();
            const Eigen::MatrixXd v = x.kv.block(begin, first_of_value(h), seq, kHeadDim).cast<double>();
            const Eigen::MatrixXd scores = kScale * (k * q.transpose());  // [key, query]
            for (Index t = 0; t < seq; ++t) {
                const Eigen::VectorXd weights = scores.col(t).head(t + 1).array().exp();
                out.row(begin + t).segment(first_of_query(h), kHeadDim) =
                    weights.transpose() * v.topRows(t + 1) / weights.sum();
            }
        }
    }
    return {x.q, x.keys(), out};
}
