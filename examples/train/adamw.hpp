// SPDX-License-Identifier: MIT
// AdamW (arXiv:1711.05101) with clipped gradients, warm-up and cosine decay.
#pragma once

#include <algorithm>
#include <cmath>

#include "settings.hpp"
#include "weights.hpp"

namespace train {

struct AdamW {
    explicit AdamW(const WeightList& list) : mean(list), square(list) {}

    /// Linear over the first tenth of the steps, at most 100, then half a cosine down to a tenth.
    static double rate(const Settings& s, Index step) {
        const Index warm_up = std::min<Index>(100, s.steps / 10);
        if (step < warm_up) return s.learning_rate * static_cast<double>(step + 1) / static_cast<double>(warm_up);
        const double part =
            static_cast<double>(step - warm_up) / static_cast<double>(std::max<Index>(1, s.steps - warm_up));
        return s.learning_rate * (0.1 + 0.45 * (1.0 + std::cos(3.141592653589793 * part)));
    }

    /// Step `step`, counted from 0. The gradients are scaled to a length of at most 1.
    void update(Weights<float>& weights, Weights<float>& gradients, const Settings& settings, Index step) {
        const float length = gradients.numbers.norm();
        if (length > 1.0f) gradients.numbers /= length;
        mean.numbers = kMean * mean.numbers + (1.0f - kMean) * gradients.numbers;
        square.numbers = kSquare * square.numbers + (1.0f - kSquare) * gradients.numbers.cwiseAbs2();
        const double n = static_cast<double>(step + 1), learning_rate = rate(settings, step);
        const float mean_scale = static_cast<float>(learning_rate / (1.0 - std::pow(double(kMean), n)));
        const float square_scale = static_cast<float>(1.0 / (1.0 - std::pow(double(kSquare), n)));
        const float kept = 1.0f - static_cast<float>(learning_rate) * kDecay;
        for (const Place& p : weights.list->places)
            if (p.decays) weights.numbers.segment(p.offset, p.rows * p.cols) *= kept;
        weights.numbers.array() -=
            mean_scale * mean.numbers.array() / ((square_scale * square.numbers.array()).sqrt() + 1e-8f);
    }

    Weights<float> mean, square;  ///< moving averages of the gradients and of their squares

 private:
    static constexpr float kMean = 0.9f, kSquare = 0.95f, kDecay = 0.1f;
};

}  // namespace train
