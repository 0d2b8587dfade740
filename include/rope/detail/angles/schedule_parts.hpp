// SPDX-License-Identifier: MIT
// Parts of the schedules in schedules.hpp: checks of one parameter each, and powers of the base in double-double.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "../../errors.hpp"
#include "../../list.hpp"
#include "../../schedule.hpp"
#include "../../types.hpp"
#include "../base/bits.hpp"
#include "double_double.hpp"

ROPE_DETAIL_BEGIN

/// Bounds within which all schedules have finite frequencies and magnitudes.
inline constexpr double kMaxFactor = 0x1p32;
inline constexpr Index kMaxLength = Index(1) << 40;

/// Runs the checks of one schedule and keeps the first error.
class FirstError {
 public:
    ROPE_COLD FirstError& factor(const char* name, double value) noexcept {
        return unless(is_finite(value) && value >= 1.0 / kMaxFactor && value <= kMaxFactor,
                      "schedule.{} is {}; it must be from 2^-32 to 2^32.", {name, value});
    }
    ROPE_COLD FirstError& factor(const char* name, const std::optional<double>& value) noexcept {
        return value ? factor(name, *value) : *this;
    }
    ROPE_COLD FirstError& number(const char* name, const std::optional<double>& value) noexcept {
        return unless(!value || is_number(*value), "schedule.{} is {}; it must be from -2^32 to 2^32.",
                      {name, value.value_or(0.0)});
    }
    ROPE_COLD FirstError& length(const char* name, Index value, Index least = 1) noexcept {
        return unless(value >= least && value <= kMaxLength, "schedule.{} is {}; it must be from {} to 2^40.",
                      {name, value, least});
    }
    ROPE_COLD FirstError& divisors(const char* name, const List<double>& values, Index pairs) noexcept {
        unless(values.size() == static_cast<std::size_t>(pairs),
               "schedule.{} has {} {entry|entries}; it must have one per pair ({}).", {name, values.size(), pairs});
        for (std::size_t i = 0; i < values.size(); ++i)
            unless(is_finite(values[i]) && values[i] >= 1.0 / kMaxFactor && values[i] <= 1e300,
                   "schedule.{}[{}] is {}; it must be from 2^-32 to 1e300.", {name, i, values[i]});
        return *this;
    }
    ROPE_COLD FirstError& numbers(const char* name, const List<double>& values) noexcept {
        for (std::size_t i = 0; i < values.size(); ++i)
            unless(is_number(values[i]), "schedule.{}[{}] is {}; it must be from -2^32 to 2^32.", {name, i, values[i]});
        return *this;
    }
    ROPE_COLD FirstError& source(schedule::FactorSource s) noexcept {
        return unless(s == schedule::FactorSource::factor || s == schedule::FactorSource::lengths,
                      "schedule.factor_source is {}; it must be factor (0) or lengths (1).", {static_cast<int>(s)});
    }
    ROPE_COLD FirstError& unless(bool condition, const char* sentence, Pieces pieces = {}) noexcept {
        if (status_.ok() && !condition) status_ = invalid(sentence, pieces);
        return *this;
    }
    ROPE_COLD operator Status() const noexcept { return status_; }  // NOLINT(google-explicit-constructor)

 private:
    static bool is_number(double x) noexcept { return is_finite(x) && x >= -kMaxFactor && x <= kMaxFactor; }

    Status status_;
};

/// Whether a schedule's factor is the ratio of its two lengths.
template <class S>
inline bool uses_lengths(const S& s) noexcept {
    return !s.factor || s.factor_source == schedule::FactorSource::lengths;
}

/// The result of a schedule: frequencies, their common magnitude, and, for xPos, the logarithm of each pair's growth
/// per position.
struct Scheduled {
    std::vector<DoubleDouble> inv_freq;
    DoubleDouble attention_factor = {1.0, 0.0};
    std::vector<DoubleDouble> log_growth = {};
    double centre = 0.0;
};

/// The factor f: given, or the ratio of the lengths.
template <class S>
inline DoubleDouble factor_of(const S& s) noexcept {
    if (!uses_lengths(s)) return exact(*s.factor);
    return exact(s.max_position_embeddings) / exact(s.original_max_position_embeddings);
}

/// The frequencies of the default schedule, w_i = base^(-2i/d), and what other schedules make of them: of all pairs, or
/// of some adjacent ones.
struct Powers {
    Index d;  ///< rotary_dim
    double base;
    Index first = 0, count = d / 2;  ///< the pairs that are asked for

    /// e^(-2i/n * log_base) for these pairs; an i from n/2 on begins again with 0.
    std::vector<DoubleDouble> of(DoubleDouble log_base, Index n) const {
        std::vector<DoubleDouble> w(static_cast<std::size_t>(count));
        for (std::size_t k = 0; k < w.size(); ++k) {
            const Index i = static_cast<Index>(pair(k)) % (n / 2);
            w[k] = exp(exact(-static_cast<double>(i)) / exact(n / 2) * log_base);
        }
        return w;
    }
    std::vector<DoubleDouble> of_base() const { return of(log(exact(base)), d); }
    /// The powers of base * factor^(d / (d - 2)), as NTK scaling has it.
    std::vector<DoubleDouble> with_base_times(DoubleDouble factor) const {
        return of(log(exact(base)) + exact(d) / exact(d - 2) * log(factor), d);
    }
    std::vector<DoubleDouble> divided_by(const List<double>& divisors) const {
        std::vector<DoubleDouble> w = of_base();
        for (std::size_t k = 0; k < w.size(); ++k) w[k] = w[k] / exact(divisors[pair(k)]);
        return w;
    }
    /// The number of the pair at place k of such a list.
    std::size_t pair(std::size_t k) const noexcept { return static_cast<std::size_t>(first) + k; }
};

ROPE_DETAIL_END
