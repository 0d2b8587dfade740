// SPDX-License-Identifier: MIT
// Sampler: chooses the next token.
#pragma once

#include <Eigen/Core>
#include <cstdint>
#include <random>
#include <vector>

namespace llama {

/// The same seed and the same scores give the same tokens, with every standard library.
class Sampler {
 public:
    /// Temperature 0 always takes the most likely token. Above 0, scores are divided by it and a token is
    /// drawn from the smallest set of most likely tokens whose probabilities reach top_p together.
    Sampler(float temperature, float top_p, std::uint64_t seed);

    /// Throws std::runtime_error when the scores are not finite, as those of a damaged model may be.
    int choose(const Eigen::VectorXf& logits);

 private:
    struct Candidate {
        float probability;
        int token;
    };

    float temperature_, top_p_;
    std::mt19937_64 random_;
    std::vector<Candidate> candidates_;
};

}  // namespace llama
