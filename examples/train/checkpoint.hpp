// SPDX-License-Identifier: MIT
// Checkpoint: the state of a run between two steps, as a file for the machine that made it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "curves.hpp"
#include "settings.hpp"
#include "text.hpp"

namespace train {

struct Saved {
    Index step = 0;
    double loss_sum = 0.0;  // since the last point of the curve
    Index loss_count = 0;
    std::vector<CurvePoint> curve;
    Vector<float> numbers[3];  // weights, and the two moments of the optimiser
};

class Checkpoint {
 public:
    Checkpoint(std::string path, const Settings& settings, const Text& text);

    bool exists() const;

    /// Throws std::runtime_error with a sentence for a file that is damaged, or of a run with other settings, another
    /// text or another number of weights, or with a number that no run has. All of the file is checked before any of it
    /// is used.
    Saved read(Index weight_count) const;

    /// The file is written under another name first and then renamed, so that there is a whole one at any time, the old
    /// one or the new one. Throws std::runtime_error when it cannot be written.
    void write(const Saved& saved) const;

 private:
    [[noreturn]] void refuse(const std::string& sentence) const;

    void check_progress(const Saved& saved, std::uint64_t points) const;
    void check_curve(const std::vector<CurvePoint>& curve) const;
    void check_numbers(const Vector<float>& numbers, const char* what, double least) const;

    std::string path_, description_;
    Settings settings_;
};

}  // namespace train
