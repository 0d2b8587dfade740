// SPDX-License-Identifier: MIT
// Why rotate: with RoPE the score of a query and a key depends on the distance between them alone; with
// embeddings added before the projection it depends on where in the text they stand.
#include <rope/rope.hpp>

#include <Eigen/Core>

#include <cmath>

#include "support/catch.hpp"
#include "support/data.hpp"

namespace {

using rope::Index;
using Matrix = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using Vector = Eigen::VectorXd;

constexpr Index kFeatures = 64;  // one head as wide as the model, so that both encodings turn by the same angles
constexpr Index kMaxPositions = 4096;

/// A head with random projections of variance 1 / d, so that scores divided by sqrt(d) are of the order of 1.
struct Head {
    Matrix w_q, w_k;
    Vector x_m, x_n;  // the tokens at positions m and n
};

Head random_head() {
    const auto matrix = [](Index rows, Index cols, unsigned seed) {
        std::vector<double> values = support::normal<double>(rows * cols, seed);
        return Matrix(Eigen::Map<Matrix>(values.data(), rows, cols));
    };
    const double scale = 1.0 / std::sqrt(static_cast<double>(kFeatures));
    return {scale * matrix(kFeatures, kFeatures, 1), scale * matrix(kFeatures, kFeatures, 2), matrix(kFeatures, 1, 3),
            matrix(kFeatures, 1, 4)};
}

double score(const Vector& q, const Vector& k) { return q.dot(k) / std::sqrt(static_cast<double>(kFeatures)); }

double additive_score(const Head& head, const rope::SinusoidalEmbedding<double>& embedding, Index m, Index n) {
    Vector x_m = head.x_m, x_n = head.x_n;
    embedding.add(rope::embedding_view(x_m.data(), 1, 1, kFeatures), rope::start_at(m));
    embedding.add(rope::embedding_view(x_n.data(), 1, 1, kFeatures), rope::start_at(n));
    return score(head.w_q * x_m, head.w_k * x_n);
}

template <rope::Layout layout>
double rotary_score(const Head& head, const rope::CosSinCache<double>& cache, Index m, Index n) {
    Vector q = head.w_q * head.x_m, k = head.w_k * head.x_n;
    rope::apply<layout>(rope::view(q.data(), 1, 1, kFeatures), cache, rope::start_at(m));
    rope::apply<layout>(rope::view(k.data(), 1, 1, kFeatures), cache, rope::start_at(n));
    return score(q, k);
}

/// The largest change of the score of positions (100, 93) when both move by 1 .. 3900.
template <class Score>
double largest_change(Score&& score_at) {
    const double at_home = score_at(100, 93);
    double largest = 0;
    for (const Index shift : {1, 2, 10, 100, 1000, 3900})
        largest = std::fmax(largest, std::fabs(score_at(100 + shift, 93 + shift) - at_home));
    return largest;
}

}  // namespace

TEST_CASE("added embeddings: the score changes when both tokens move together") {
    const Head head = random_head();
    const auto variant = GENERATE(rope::SinusoidalVariant::interleaved, rope::SinusoidalVariant::concatenated);
    const rope::SinusoidalEmbedding<double> embedding(kFeatures, kMaxPositions, variant);
    CHECK(largest_change([&](Index m, Index n) { return additive_score(head, embedding, m, n); }) > 0.1);
}

TEST_CASE("RoPE: the score does not change when both tokens move together") {
    const Head head = random_head();
    rope::Config config;
    config.head_dim = kFeatures;
    const rope::CosSinCache<double> cache(config, kMaxPositions);
    // Sixty-four products of numbers of the order of 1, each wrong by a few 2^-53.
    constexpr double kTolerance = 1e-14;
    const auto interleaved = [&](Index m, Index n) {
        return rotary_score<rope::Layout::interleaved>(head, cache, m, n);
    };
    const auto half_split = [&](Index m, Index n) { return rotary_score<rope::Layout::half_split>(head, cache, m, n); };
    CHECK(largest_change(interleaved) < kTolerance);
    CHECK(largest_change(half_split) < kTolerance);
    // It does depend on the distance, or the test would say nothing.
    CHECK(std::fabs(half_split(100, 93) - half_split(100, 80)) > 0.01);
    CHECK(std::fabs(interleaved(100, 93) - interleaved(100, 80)) > 0.01);
}
