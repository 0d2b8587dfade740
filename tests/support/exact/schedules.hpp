// SPDX-License-Identifier: MIT
// Every schedule in 256-bit arithmetic, written from the papers and from models' own code. Of the library only the
// aggregates with the parameters are used, and none of its arithmetic.
#pragma once

#include <rope/core.hpp>

#include <cstddef>
#include <optional>
#include <variant>
#include <vector>

#include "../data.hpp"
#include "mpfr.hpp"

namespace support {

/// What frequencies(config, seq_len) must be. The magnitude of pair i at position p is
/// magnitude * exp((p - centre) * log_growth[i]), where log_growth is empty but for xPos.
struct RealFrequencies {
    std::vector<Real> inv_freq;
    Real magnitude = 1.0;
    std::vector<Real> log_growth;
    double centre = 0.0;
};

inline Real ceil(const Real& x) { return Real(0.0) - floor(Real(0.0) - x); }
inline const Real& min(const Real& a, const Real& b) { return b < a ? b : a; }

/// 1 + coefficient * k * ln f above f = 1, and 1 below.
inline Real yarn_g(const Real& f, double k, double coefficient = 0.1) {
    return f <= Real(1.0) ? Real(1.0) : Real(coefficient) * Real(k) * log(f) + Real(1.0);
}

/// One call per schedule, for d rotated features.
struct RealSchedule {
    Index d;
    Real base;
    Index seq_len;

    Real integer(Index n) const { return Real::integer(n); }
    /// from^(-2i/n) for i < n/2.
    std::vector<Real> powers(const Real& from, Index n) const {
        std::vector<Real> w;
        for (Index i = 0; i < n / 2; ++i) w.push_back(pow(from, integer(-2 * i) / integer(n)));
        return w;
    }
    std::vector<Real> usual() const { return powers(base, d); }
    Real ntk_base(const Real& factor) const { return base * pow(factor, integer(d) / integer(d - 2)); }
    template <class S>
    Real factor_of(const S& s) const {
        if (s.factor && s.factor_source == rope::schedule::FactorSource::factor) return Real(*s.factor);
        return integer(s.max_position_embeddings) / integer(s.original_max_position_embeddings);
    }

    RealFrequencies operator()(const rope::schedule::Default&) const { return {usual(), 1.0, {}, 0.0}; }
    RealFrequencies operator()(const rope::schedule::Ntk& s) const {
        if (!s.mixed_b) return {powers(ntk_base(s.factor), d), 1.0, {}, 0.0};
        RealFrequencies result = {usual(), 1.0, {}, 0.0};
        const Real log_factor = log(max(Real(s.factor), Real(1.0)));
        for (Index i = 0; i < d / 2; ++i)
            result.inv_freq[size(i)] =
                result.inv_freq[size(i)] / exp(log_factor * pow(integer(i + 1) / integer(d / 2), *s.mixed_b));
        return result;
    }
    RealFrequencies operator()(const rope::schedule::DynamicNtk& s) const {
        const Real trained = integer(s.max_position_embeddings);
        const Real length = max(integer(seq_len), trained);
        const Real factor = Real(s.factor) * length / trained - (Real(s.factor) - Real(1.0));
        return {powers(ntk_base(factor), d), 1.0, {}, 0.0};
    }
    RealFrequencies operator()(const rope::schedule::Yarn& s) const {
        const Real f = factor_of(s);
        const auto corr = [&](double turns) {
            const Real length = integer(s.original_max_position_embeddings);
            return integer(d) * log(length / (Real::two_pi() * Real(turns))) / (Real(2.0) * log(base));
        };
        Real low = corr(s.beta_fast), high = corr(s.beta_slow);
        if (s.truncate) {
            low = floor(low);
            high = ceil(high);
        }
        low = max(low, Real(0.0));
        high = min(high, integer(d - 1));
        if (low == high) high = high + Real(1.0) / Real(1000.0);
        RealFrequencies result;
        for (Index i = 0; i < d / 2; ++i) {
            const Real w = pow(base, integer(-2 * i) / integer(d));
            const Real ramp = min(max((integer(i) - low) / (high - low), Real(0.0)), Real(1.0));
            const Real kept = Real(s.extrapolation_factor) * (Real(1.0) - ramp);
            result.inv_freq.push_back(w / f * (Real(1.0) - kept) + w * kept);
        }
        result.magnitude = yarn_magnitude(s, f);
        return result;
    }
    RealFrequencies operator()(const rope::schedule::Llama3& s) const {
        RealFrequencies result = {usual(), 1.0, {}, 0.0};
        const Real length = integer(s.original_max_position_embeddings);
        for (Real& w : result.inv_freq) {
            const Real wavelength = Real::two_pi() / w;
            const Real low = s.low_freq_factor, high = s.high_freq_factor;
            if (wavelength < length / high) continue;
            if (length / low < wavelength) {
                w = w / Real(s.factor);
                continue;
            }
            const Real smooth = (length / wavelength - low) / (high - low);
            w = (Real(1.0) - smooth) * w / Real(s.factor) + smooth * w;
        }
        return result;
    }
    RealFrequencies operator()(const rope::schedule::LongRope& s) const {
        const Real original = integer(s.original_max_position_embeddings);
        const bool is_long = original < integer(seq_len);
        RealFrequencies result;
        for (Index i = 0; i < d / 2; ++i) {
            const Real divisor = (is_long ? s.long_factor : s.short_factor)[size(i)];
            result.inv_freq.push_back(Real(1.0) / (divisor * pow(base, integer(2 * i) / integer(d))));
        }
        const std::optional<double> of_length = is_long ? s.long_mscale : s.short_mscale;
        if (s.attention_factor) {
            result.magnitude = *s.attention_factor;
        } else if (of_length) {
            result.magnitude = *of_length;
        } else if (const Real f = factor_of(s); Real(1.0) < f) {
            result.magnitude = pow(Real(1.0) + log(f) / log(original), 0.5);
        }
        return result;
    }
    RealFrequencies operator()(const rope::schedule::Proportional& s) const {
        RealFrequencies result = {usual(), 1.0, {}, 0.0};
        // The product is one of doubles, as in the models' code: 0.7 * 20 is 14 there, and a little less in truth.
        const double turning = s.partial_rotary_factor * static_cast<double>(d);
        for (Index i = 0; i < d / 2; ++i) {
            Real& w = result.inv_freq[size(i)];
            w = integer(i) < floor(Real(turning) / Real(2.0)) ? w / Real(s.factor) : Real(0.0);
        }
        return result;
    }
    RealFrequencies operator()(const rope::schedule::Axial& s) const {
        RealFrequencies result;
        for (Index axis = 0; axis < s.axes; ++axis)
            for (const Real& w : powers(base, d / s.axes)) result.inv_freq.push_back(w);
        return result;
    }
    RealFrequencies operator()(const rope::schedule::Xpos& s) const {
        RealFrequencies result = {usual(), 1.0, {}, s.centre};
        for (Index i = 0; i < d / 2; ++i) {
            const Real zeta = (integer(20 * i) + integer(4 * d)) / integer(14 * d);
            const Real growth = log(zeta) / Real(s.scale_base);
            const bool is_query = s.side == rope::schedule::Xpos::Side::query;
            result.log_growth.push_back(is_query ? growth : Real(0.0) - growth);
        }
        return result;
    }
    RealFrequencies operator()(const rope::schedule::FreqFactors& s) const {
        RealFrequencies result = {usual(), 1.0, {}, 0.0};
        for (std::size_t i = 0; i < s.freq_factors.size(); ++i)
            result.inv_freq[i] = result.inv_freq[i] / Real(s.freq_factors[i]);
        return result;
    }
    RealFrequencies operator()(const rope::schedule::Custom& s) const {
        RealFrequencies result;
        for (std::size_t i = 0; i < s.inv_freq.size(); ++i)
            result.inv_freq.push_back(Real(s.inv_freq[i]) + Real(s.inv_freq_low.empty() ? 0.0 : s.inv_freq_low[i]));
        return result;
    }

 private:
    static Real yarn_magnitude(const rope::schedule::Yarn& s, const Real& f) {
        const auto g = [&](double k) { return yarn_g(f, k, s.log_coefficient); };
        const Real more = s.attn_factor;
        if (s.attention_factor) return Real(*s.attention_factor) * more;
        switch (s.magnitude) {
            case rope::schedule::YarnMagnitude::none: return more;
            case rope::schedule::YarnMagnitude::deepseek:
                return g(s.mscale.value_or(1.0)) / g(s.mscale_all_dim.value_or(0.0)) * more;
            default: break;
        }
        const bool both = s.mscale.value_or(0.0) != 0.0 && s.mscale_all_dim.value_or(0.0) != 0.0;
        return (both ? g(*s.mscale) / g(*s.mscale_all_dim) : g(1.0)) * more;
    }
};

/// The frequencies and magnitudes of a Config, from the formula.
inline RealFrequencies real_frequencies(const rope::Config& config, Index seq_len = 0) {
    const Index d = config.rotary_dim != 0 ? config.rotary_dim : config.head_dim;
    RealFrequencies result = std::visit(RealSchedule{d, config.base, seq_len}, config.schedule);
    for (Real& w : result.inv_freq) w = w / Real(config.interpolation_factor);
    result.magnitude = result.magnitude * Real(config.attention_factor);
    return result;
}

}  // namespace support
