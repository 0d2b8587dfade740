// SPDX-License-Identifier: MIT
// Timing several pieces of code against each other on a machine whose speed drifts.
//
// A contest is one benchmark of Google Benchmark, and one iteration of it is a round: every contestant runs once, one
// right after the other, starting with another one each time. A ratio is the median over the rounds of the ratio
// within a round. Whatever slows the machine for longer than a round then slows both sides of a ratio, and whatever is
// shorter falls on one round of many.
#pragma once

#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace bench {

/// The median of a list that is not empty.
inline double median(std::vector<double> values) {
    const std::size_t middle = values.size() / 2;
    const auto at = [&](std::size_t i) {
        std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(i), values.end());
        return values[i];
    };
    return values.size() % 2 == 1 ? at(middle) : (at(middle - 1) + at(middle)) / 2;
}

class Contest {
 public:
    /// rounds is the number of rounds of one repetition.
    Contest(std::string name, int rounds) : name_(std::move(name)), rounds_(rounds) {}

    /// Adds a contestant: call() is timed, many times per round when it is short.
    template <class Call>
    Contest& add(std::string name, Call call) {
        contestants_.push_back({std::move(name),
                                [call](long calls) mutable {
                                    for (long i = 0; i < calls; ++i) {
                                        call();
                                        benchmark::ClobberMemory();
                                    }
                                },
                                0,
                                {}});
        return *this;
    }

    /// Makes it known to Google Benchmark, which then runs it as often as its command line says. The time it reports
    /// is that of the first contestant; the counters are the median microseconds of each.
    void enroll() {
        benchmark::RegisterBenchmark(name_.c_str(), [this](benchmark::State& state) { repetition(state); })
            ->Iterations(rounds_)
            ->UseManualTime()
            ->Unit(benchmark::kMicrosecond);
    }

    const std::string& name() const { return name_; }
    std::size_t size() const { return contestants_.size(); }
    const std::string& name(std::size_t contestant) const { return contestants_[contestant].name; }
    /// False when a filter on the command line left this contest out.
    bool has_run() const { return !contestants_.empty() && !contestants_.front().seconds.empty(); }
    /// Median seconds of one call, over all rounds of all repetitions.
    double seconds(std::size_t contestant) const { return median(contestants_[contestant].seconds); }
    /// Median over the rounds of the time of a over the time of b.
    double ratio(std::size_t a, std::size_t b) const {
        std::vector<double> ratios = contestants_[a].seconds;
        for (std::size_t round = 0; round < ratios.size(); ++round) ratios[round] /= contestants_[b].seconds[round];
        return median(ratios);
    }

 private:
    struct Contestant {
        std::string name;
        std::function<void(long)> run;
        long calls;  // per round; 0 before the first
        std::vector<double> seconds;
    };

    static double time(const Contestant& c, long calls) {
        const auto begin = std::chrono::steady_clock::now();
        c.run(calls);
        return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    }

    /// As many calls as take a few hundred microseconds, so that reading the clock costs nothing in comparison.
    static void choose_calls(Contestant& c) {
        c.run(1);
        for (c.calls = 1; time(c, c.calls) < 200e-6; c.calls *= 2) continue;
    }

    void repetition(benchmark::State& state) {
        std::size_t first = 0;
        for ([[maybe_unused]] auto round : state) {
            for (std::size_t i = 0; i < contestants_.size(); ++i) {
                Contestant& c = contestants_[(first + i) % contestants_.size()];
                if (c.calls == 0) choose_calls(c);
                // What is short works in the caches, and finds them as it left them itself; what is long finds in
                // memory what does not fit there anyway.
                if (c.calls > 1) c.run(c.calls / 4 + 1);
                c.seconds.push_back(time(c, c.calls) / static_cast<double>(c.calls));
            }
            state.SetIterationTime(contestants_.front().seconds.back());
            ++first;
        }
        for (const Contestant& c : contestants_) {
            const std::vector<double> mine(c.seconds.end() - rounds_, c.seconds.end());
            state.counters[c.name + " [us]"] = 1e6 * median(mine);
        }
    }

    std::string name_;
    int rounds_;
    std::vector<Contestant> contestants_;
};

}  // namespace bench
