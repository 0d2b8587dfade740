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
#include <cstdio>
#include <cstdlib>
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

    /// What is done, untimed, at the beginning of each repetition.
    Contest& before(std::function<void()> prepare) {
        prepare_ = std::move(prepare);
        return *this;
    }

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

    /// A number that is kept beside the times.
    Contest& note(std::string name, double value) {
        notes_.emplace_back(std::move(name), value);
        return *this;
    }

    /// Makes it known to Google Benchmark, which then runs it as often as its command line says. The time it reports
    /// is that of the first contestant; the counters are the median microseconds of each, and the median ratios to the
    /// first.
    void enroll() {
        benchmark::RegisterBenchmark(name_.c_str(), [this](benchmark::State& state) { repetition(state); })
            ->Iterations(rounds_)
            ->UseManualTime()
            ->Unit(benchmark::kMicrosecond);
    }

    const std::string& name() const { return name_; }
    /// False when a filter on the command line left this contest out.
    bool has_run() const { return !contestants_.empty() && !contestants_.front().seconds.empty(); }
    /// Median seconds of one call, over all rounds of all repetitions.
    double seconds(const std::string& contestant) const { return median(find(contestant).seconds); }
    /// Median over the rounds of the time of a over the time of b.
    double ratio(const std::string& a, const std::string& b) const { return median_ratio(find(a), find(b), 0); }

 private:
    struct Contestant {
        std::string name;
        std::function<void(long)> run;
        long calls;  // per round; 0 before the first
        std::vector<double> seconds;
    };

    const Contestant& find(const std::string& name) const {
        for (const Contestant& c : contestants_)
            if (c.name == name) return c;
        std::fprintf(stderr, "The contest \"%s\" has no contestant \"%s\".\n", name_.c_str(), name.c_str());
        std::abort();
    }

    static double median_ratio(const Contestant& a, const Contestant& b, std::size_t first_round) {
        std::vector<double> ratios;
        for (std::size_t i = first_round; i < a.seconds.size(); ++i) ratios.push_back(a.seconds[i] / b.seconds[i]);
        return median(ratios);
    }

    static double time(const Contestant& c, long calls) {
        const auto begin = std::chrono::steady_clock::now();
        c.run(calls);
        return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    }

    /// As many calls as take a few hundred microseconds, so that reading the clock costs nothing in comparison. The best
    /// of three times, because one that was interrupted would leave a short call alone in every round, where what the
    /// contestant before it did to the caches counts more.
    static void choose_calls(Contestant& c) {
        c.run(1);
        const auto best = [&c] { return std::min({time(c, c.calls), time(c, c.calls), time(c, c.calls)}); };
        for (c.calls = 1; best() < 200e-6; c.calls *= 2) continue;
    }

    void repetition(benchmark::State& state) {
        if (prepare_) prepare_();
        const std::size_t first_round = contestants_.front().seconds.size();
        std::size_t first = 0;
        for ([[maybe_unused]] auto round : state) {
            for (std::size_t i = 0; i < contestants_.size(); ++i) {
                Contestant& c = contestants_[(first + i) % contestants_.size()];
                if (c.calls == 0) choose_calls(c);
                c.run(c.calls / 4 + 1);  // so that it finds the caches as it left them itself
                c.seconds.push_back(time(c, c.calls) / static_cast<double>(c.calls));
            }
            state.SetIterationTime(contestants_.front().seconds.back());
            ++first;
        }
        for (const auto& [name, value] : notes_) state.counters[name] = value;
        for (const Contestant& c : contestants_) {
            const Contestant& one = contestants_.front();
            const auto begin = c.seconds.begin() + static_cast<std::ptrdiff_t>(first_round);
            state.counters[c.name + " [us]"] = 1e6 * median({begin, c.seconds.end()});
            if (&c != &one) state.counters[c.name + " / " + one.name] = median_ratio(c, one, first_round);
        }
    }

    std::string name_;
    int rounds_;
    std::function<void()> prepare_;
    std::vector<std::pair<std::string, double>> notes_;
    std::vector<Contestant> contestants_;
};

}  // namespace bench
