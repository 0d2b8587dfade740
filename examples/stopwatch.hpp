// SPDX-License-Identifier: MIT
// Stopwatch: the time that repeated calls took together. For examples that print it.
#pragma once

#include <chrono>

namespace timing {

class Stopwatch {
 public:
    /// Calls f and adds the time it took.
    template <class F>
    void time(F&& f) {
        const Clock::time_point start = Clock::now();
        f();
        total_ += Clock::now() - start;
    }

    double seconds() const { return std::chrono::duration<double>(total_).count(); }

 private:
    using Clock = std::chrono::steady_clock;
    Clock::duration total_{};
};

}  // namespace timing
