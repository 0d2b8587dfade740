// SPDX-License-Identifier: MIT
// The formulas of the schedules, in double-double. schedule.hpp explains them.
#pragma once

#include <cmath>
#include <cstddef>
#include <vector>

#include "../../list.hpp"
#include "../../schedule.hpp"
#include "../../types.hpp"
#include "double_double.hpp"
#include "schedule_checks.hpp"

ROPE_DETAIL_BEGIN

/// The result of a schedule: frequencies, their common magnitude, and, for xPos, the logarithm of each pair's growth
/// per position.
struct Scheduled {
    std::vector<DoubleDouble> inv_freq;
    DoubleDouble attention_factor = {1.0, 0.0};
    std::vector<DoubleDouble> log_growth = {};
    double centre = 0.0;
};

inline DoubleDouble exact(double x) noexcept { return {x, 0.0}; }
inline DoubleDouble exact(Index x) noexcept {  // beyond 2^53, the nearest double
    return {static_cast<double>(x), 0.0};
}

/// The factor f: given, or the ratio of the lengths.
template <class S>
inline DoubleDouble factor_of(const S& s) noexcept {
    if (!uses_lengths(s)) return exact(*s.factor);
    return exact(s.max_position_embeddings) / exact(s.original_max_position_embeddings);
}

/// One overload per schedule, which must have passed its check. `d` is rotary_dim.
struct MakeSchedule {
    Index d;
    double base;
    Index seq_len;

    /// e^(-2i/n * log_base) for i = 0 .. n/2 - 1
    static std::vector<DoubleDouble> powers(DoubleDouble log_base, Index n) {
        std::vector<DoubleDouble> w(static_cast<std::size_t>(n / 2));
        for (std::size_t i = 0; i < w.size(); ++i) w[i] = exp(exact(-static_cast<double>(i)) / exact(n / 2) * log_base);
        return w;
    }
    std::vector<DoubleDouble> powers() const { return powers(log(exact(base)), d); }
    /// The powers of base * factor^(d / (d - 2)), as NTK scaling has it.
    std::vector<DoubleDouble> powers_with_base_times(DoubleDouble factor) const {
        return powers(log(exact(base)) + exact(d) / exact(d - 2) * log(factor), d);
    }
    std::vector<DoubleDouble> powers_divided_by(const List<double>& divisors) const {
        std::vector<DoubleDouble> w = powers();
        for (std::size_t i = 0; i < w.size(); ++i) w[i] = w[i] / exact(divisors[i]);
        return w;
    }

    Scheduled operator()(const schedule::Default&) const { return {powers()}; }
    Scheduled operator()(const schedule::Ntk& s) const { return {powers_with_base_times(exact(s.factor))}; }
    Scheduled operator()(const schedule::DynamicNtk& s) const {
        // factor * L / max - (factor - 1), and exactly 1 for L = max
        const Index beyond = longest_sequence(s, seq_len) - s.max_position_embeddings;
        const DoubleDouble growth = exact(s.factor) * (exact(beyond) / exact(s.max_position_embeddings));
        return {powers_with_base_times(exact(1.0) + growth)};
    }
    Scheduled operator()(const schedule::Llama3& s) const {
        Scheduled result = {powers()};
        const DoubleDouble original = exact(s.original_max_position_embeddings);
        const DoubleDouble low = exact(s.low_freq_factor), high = exact(s.high_freq_factor);
        for (DoubleDouble& w : result.inv_freq) {
            const DoubleDouble revolutions = original * w / kTwoPi;  // revolutions within the original context
            const double above_low = (revolutions - low).hi, above_high = (revolutions - high).hi;
            if (above_high > 0.0) continue;
            const DoubleDouble slow = w / exact(s.factor);
            if (above_low < 0.0) {
                w = slow;
            } else if (s.high_freq_factor > s.low_freq_factor) {
                const DoubleDouble smooth = (revolutions - low) / (high - low);
                w = (exact(1.0) - smooth) * slow + smooth * w;
            }
        }
        return result;
    }
    Scheduled operator()(const schedule::LongRope& s) const {
        const bool is_long = seq_len > s.original_max_position_embeddings;
        const std::optional<double>& own = is_long ? s.long_mscale : s.short_mscale;
        Scheduled result = {powers_divided_by(is_long ? s.long_factor : s.short_factor)};
        if (s.attention_factor || own) {
            result.attention_factor = exact(s.attention_factor ? *s.attention_factor : *own);
        } else if (const DoubleDouble f = factor_of(s); f.hi > 1.0) {
            const DoubleDouble square = exact(1.0) + log(f) / log(exact(s.original_max_position_embeddings));
            result.attention_factor = exp(exact(0.5) * log(square));
        }
        return result;
    }
    Scheduled operator()(const schedule::Proportional& s) const {
        Scheduled result = {powers()};
        const double rotated = std::floor(s.partial_rotary_factor * static_cast<double>(d) / 2.0);
        for (std::size_t i = 0; i < result.inv_freq.size(); ++i)
            result.inv_freq[i] =
                static_cast<double>(i) < rotated ? result.inv_freq[i] / exact(s.factor) : DoubleDouble();
        return result;
    }
    Scheduled operator()(const schedule::Axial& s) const {
        const std::vector<DoubleDouble> axis = powers(log(exact(base)), d / s.axes);
        Scheduled result;
        for (Index i = 0; i < s.axes; ++i)
            for (const DoubleDouble& w : axis) result.inv_freq.push_back(w);
        return result;
    }
    Scheduled operator()(const schedule::Xpos& s) const {
        Scheduled result = {powers()};
        result.centre = s.centre;
        const double side = s.side == schedule::Xpos::Side::query ? 1.0 : -1.0;
        for (Index i = 0; i < d / 2; ++i) {
            // (2i + 0.4 d) / (1.4 d), without the rounding of 0.4 and 1.4
            const DoubleDouble zeta = exact(10 * i + 2 * d) / exact(7 * d);
            result.log_growth.push_back(log(zeta) / exact(side * s.scale_base));
        }
        return result;
    }
    Scheduled operator()(const schedule::FreqFactors& s) const { return {powers_divided_by(s.freq_factors)}; }
    Scheduled operator()(const schedule::Custom& s) const {
        Scheduled result;
        for (std::size_t i = 0; i < s.inv_freq.size(); ++i)
            result.inv_freq.push_back(two_sum(s.inv_freq[i], s.inv_freq_low.empty() ? 0.0 : s.inv_freq_low[i]));
        return result;
    }
    Scheduled operator()(const schedule::Yarn& s) const;

 private:
    /// The fractional index of the pair that makes r revolutions within the original context.
    DoubleDouble corr(const schedule::Yarn& s, double r) const noexcept {
        const DoubleDouble revolutions = exact(s.original_max_position_embeddings) / (kTwoPi * exact(r));
        return exact(d) * log(revolutions) / (exact(2.0) * log(exact(base)));
    }
};

/// The largest whole number that is not above x.
inline DoubleDouble floor(DoubleDouble x) noexcept {
    const double hi = std::floor(x.hi);
    return hi == x.hi ? quick_two_sum(hi, std::floor(x.lo)) : exact(hi);
}

/// g(k) = log_coefficient * k * ln f + 1 for f > 1, else 1.
inline DoubleDouble yarn_magnitude(const schedule::Yarn& s, DoubleDouble f, double k) noexcept {
    if (f.hi <= 1.0) return exact(1.0);
    return exact(s.log_coefficient) * exact(k) * log(f) + exact(1.0);
}

/// DeepSeek's factor of the softmax scale, outside the rotation: g(mscale_all_dim)^2.
inline double yarn_softmax_factor(const schedule::Yarn& s) noexcept {
    const DoubleDouble g = yarn_magnitude(s, factor_of(s), s.mscale_all_dim.value_or(0.0));
    return (g * g).hi;
}

/// See schedule::YarnMagnitude.
inline DoubleDouble yarn_attention_factor(const schedule::Yarn& s, DoubleDouble f) noexcept {
    DoubleDouble m = exact(1.0);
    if (s.attention_factor) {
        m = exact(*s.attention_factor);
    } else if (s.magnitude == schedule::YarnMagnitude::deepseek) {
        m = yarn_magnitude(s, f, s.mscale.value_or(1.0)) / yarn_magnitude(s, f, s.mscale_all_dim.value_or(0.0));
    } else if (s.magnitude == schedule::YarnMagnitude::standard) {
        const double mscale = s.mscale.value_or(0.0), all_dim = s.mscale_all_dim.value_or(0.0);
        m = mscale != 0.0 && all_dim != 0.0 ? yarn_magnitude(s, f, mscale) / yarn_magnitude(s, f, all_dim)
                                            : yarn_magnitude(s, f, 1.0);
    }
    return m * exact(s.attn_factor);
}

inline Scheduled MakeSchedule::operator()(const schedule::Yarn& s) const {
    Scheduled result = {powers()};
    const DoubleDouble f = factor_of(s);
    DoubleDouble low = corr(s, s.beta_fast), high = corr(s, s.beta_slow);
    if (s.truncate) {
        low = floor(low);
        high = -floor(-high);
    }
    if (low.hi < 0.0) low = exact(0.0);
    if ((exact(d - 1) - high).hi < 0.0) high = exact(d - 1);
    if ((high - low).hi == 0.0) high = high + exact(1.0) / exact(1000.0);  // as published: no division by zero
    for (std::size_t i = 0; i < result.inv_freq.size(); ++i) {
        DoubleDouble& w = result.inv_freq[i];
        DoubleDouble ramp = (exact(static_cast<double>(i)) - low) / (high - low);
        if (ramp.hi < 0.0) ramp = exact(0.0);
        if (ramp.hi > 1.0) ramp = exact(1.0);
        const DoubleDouble keep = exact(s.extrapolation_factor) * (exact(1.0) - ramp);
        w = w / f * (exact(1.0) - keep) + w * keep;
    }
    result.attention_factor = yarn_attention_factor(s, f);
    return result;
}

ROPE_DETAIL_END
