// SPDX-License-Identifier: MIT
// Settings: one run of training, from its first weights to its last step.
#pragma once

#include <string>

#include "shape.hpp"

namespace train {

struct Settings {
    Shape shape;
    Index batch = 16;  ///< sequences per step
    Index steps = 600;
    double learning_rate = 2e-3;  ///< the largest, after the warm-up
    Index threads = 2;            ///< changes no number

    /// The curve has a point after every so many steps, and after the last one.
    Index steps_per_point() const { return steps < 100 ? 1 : steps / 50; }
};

const char* name_of(Encoding encoding);
const char* name_of(Attention attention);

/// "rotary-softmax-1", "rotary-base50000-softmax-1": the name of a run in files and tables, with or without its seed.
std::string run_name(const Shape& shape, bool with_seed = true);

/// All that the numbers of a run depend on, besides the text.
std::string describe(const Settings& settings);

/// Throws std::runtime_error with a sentence for a combination that makes no sense.
void check(const Settings& settings);

}  // namespace train
