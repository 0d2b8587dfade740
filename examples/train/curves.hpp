// SPDX-License-Identifier: MIT
// Curves: the loss over the steps, and learned frequencies, as numbers (CSV) and as pictures (SVG).
#pragma once

#include <string>
#include <vector>

namespace train {

/// Losses are in nats per byte.
struct CurvePoint {
    double step = 0.0;
    double training = 0.0;    ///< mean since the last point
    double validation = 0.0;  ///< of a few windows
};

struct Curve {
    std::string label;
    std::vector<CurvePoint> points;
    bool is_validation;  ///< which of the two losses is drawn
};

/// The mean, point by point, of curves that have the same steps.
std::vector<CurvePoint> mean_curve(const std::vector<std::vector<CurvePoint>>& curves);

/// The first step at which the validation loss is at most `loss`, interpolated linearly between points; 0 if there is none.
double step_with(const std::vector<CurvePoint>& curve, double loss);

/// All throw std::runtime_error when the file cannot be written.
void write_csv(const std::string& path, const std::vector<CurvePoint>& points);
void write_svg(const std::string& path, const std::vector<Curve>& curves);

/// Learned frequencies, pair by pair, as logarithms of w / w0: to `path`.csv and `path`.svg.
void write_frequencies(const std::string& path, const std::vector<float>& log_factors);

}  // namespace train
