// SPDX-License-Identifier: MIT
// How long calls take, side by side.
#pragma once

#include <algorithm>
#include <chrono>
#include <functional>
#include <vector>

namespace timing {

inline double nanoseconds(const std::function<void()>& call, int times = 1) {
    const auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < times; ++i) call();
    return std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - start).count() / times;
}

/// Nanoseconds of each call, the median of 15 rounds of half a millisecond. The calls take turns, so that what else the
/// machine does hits all alike.
inline std::vector<double> compare(const std::vector<std::function<void()>>& calls) {
    std::vector<double> medians;
    std::vector<int> times;
    for (const auto& call : calls) {
        call();  // touches the memory
        times.push_back(1 + static_cast<int>(5e5 / std::max(1.0, nanoseconds(call))));
    }
    std::vector<std::vector<double>> measured(calls.size());
    for (int round = 0; round < 15; ++round)
        for (std::size_t i = 0; i < calls.size(); ++i) measured[i].push_back(nanoseconds(calls[i], times[i]));
    for (std::vector<double>& m : measured) {
        std::sort(m.begin(), m.end());
        medians.push_back(m[m.size() / 2]);
    }
    return medians;
}

}  // namespace timing
