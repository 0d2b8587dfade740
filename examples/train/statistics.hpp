// SPDX-License-Identifier: MIT
// Statistics of losses, one number for each window of text.
#pragma once

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

namespace train {

inline double mean(const std::vector<double>& x) {
    return std::accumulate(x.begin(), x.end(), 0.0) / static_cast<double>(x.size());
}

/// The standard error of the mean of independent numbers, of which there are at least two.
inline double standard_error(const std::vector<double>& x) {
    const double m = mean(x), n = static_cast<double>(x.size());
    double squares = 0.0;
    for (const double value : x) squares += (value - m) * (value - m);
    return std::sqrt(squares / (n * (n - 1.0)));
}

/// Losses of two encodings on the same windows, by seed and window: the first minus the second.
struct PairedDifference {
    std::vector<double> by_seed;    ///< mean over windows
    std::vector<double> by_window;  ///< mean over seeds
};
inline PairedDifference paired_difference(const std::vector<std::vector<double>>& losses,
                                          const std::vector<std::vector<double>>& others) {
    PairedDifference result;
    result.by_window.resize(losses.front().size());
    for (std::size_t seed = 0; seed < losses.size(); ++seed) {
        std::vector<double> difference(losses[seed].size());
        for (std::size_t w = 0; w < difference.size(); ++w) {
            difference[w] = losses[seed][w] - others[seed][w];
            result.by_window[w] += difference[w] / static_cast<double>(losses.size());
        }
        result.by_seed.push_back(mean(difference));
    }
    return result;
}

}  // namespace train
