// SPDX-License-Identifier: MIT
#include "sampler.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <stdexcept>

namespace llama {

Sampler::Sampler(float temperature, float top_p, std::uint64_t seed)
    : temperature_(temperature), top_p_(top_p), random_(seed) {}

int Sampler::choose(const Eigen::VectorXf& logits) {
    if (!logits.allFinite())
        throw std::runtime_error("The model gave a score that is not a finite number; its file may be damaged.");
    Eigen::Index most_likely = 0;
    const float highest = logits.maxCoeff(&most_likely);
    if (temperature_ == 0.0f) return static_cast<int>(most_likely);

    Eigen::ArrayXf probabilities = ((logits.array() - highest) / temperature_).exp();
    probabilities /= probabilities.sum();

    // However many tokens lie below the cutoff, they sum to less than 1 - top_p. The others reach top_p
    // without them, so only the others, which are few, need sorting.
    const float cutoff = (1.0f - top_p_) / static_cast<float>(probabilities.size());
    candidates_.clear();
    for (Eigen::Index token = 0; token < probabilities.size(); ++token)
        if (probabilities[token] >= cutoff) candidates_.push_back({probabilities[token], static_cast<int>(token)});
    std::sort(candidates_.begin(), candidates_.end(), [](const Candidate& a, const Candidate& b) {
        return a.probability > b.probability || (a.probability == b.probability && a.token < b.token);
    });
    double kept = 0.0;
    std::size_t count = 0;
    while (count < candidates_.size() && kept < static_cast<double>(top_p_))
        kept += static_cast<double>(candidates_[count++].probability);

    // 53 random bits as a number from 0 up to 1; what std::uniform_real_distribution draws is not specified.
    double target = std::ldexp(static_cast<double>(random_() >> 11), -53) * kept;
    std::size_t chosen = 0;
    while (chosen + 1 < count && target >= static_cast<double>(candidates_[chosen].probability))
        target -= static_cast<double>(candidates_[chosen++].probability);
    return candidates_[chosen].token;
}

}  // namespace llama
