// SPDX-License-Identifier: MIT
// Run: a network in training, which can be put aside in a checkpoint and taken up again.
#pragma once

#include <string>
#include <vector>

#include "adamw.hpp"
#include "curves.hpp"
#include "settings.hpp"
#include "text.hpp"
#include "transformer.hpp"
#include "weights.hpp"

namespace train {

constexpr Index kCurveWindows = 16;  ///< of validation, for the points of the curve

class Run {
 public:
    /// The text must live as long. With a folder, a run whose checkpoint is there goes on from it; "" is none. Throws
    /// std::runtime_error for a checkpoint that is damaged or of another run.
    Run(const Settings& settings, const Text& text, const std::string& folder);
    Run(const Run&) = delete;  // its parts point to each other
    Run& operator=(const Run&) = delete;

    /// Trains until `stop_at` steps are done, or all. With a folder, writes checkpoint and curve on the way and at the
    /// end. `label` begins the line of progress on standard error.
    void train(Index stop_at, const std::string& label);

    /// Nats per byte of each of `count` validation windows of `length` bytes, read as sequences of `seq` bytes, which
    /// divides length. Rotary encodings take `rotation`, see Positions.
    std::vector<double> validate(Index count, Index length, Index seq, const rope::Config& rotation = {}) const;

    const Settings& settings() const { return settings_; }
    Index step() const { return step_; }
    Index weight_count() const;
    const std::vector<CurvePoint>& curve() const { return curve_; }

 private:
    double train_step();
    void save() const;

    Settings settings_;
    const Text& text_;
    std::string path_;  // of checkpoint and curve, without their endings; empty without a folder
    WeightList list_;
    Weights<float> weights_;
    AdamW optimiser_;
    Index step_ = 0;
    std::vector<CurvePoint> curve_;
    double loss_sum_ = 0.0;  // since the last point of the curve
    Index loss_count_ = 0;

    Positions<float> positions_;
    std::vector<Transformer<float>> halves_;  // each reads half of a batch
    std::vector<Weights<float>> gradients_;
};

}  // namespace train
