// SPDX-License-Identifier: MIT
// Definitions of frequencies.hpp: checks, and the frequencies of a Config.
#pragma once

#include <cmath>
#include <cstddef>

#include "../../config.hpp"
#include "../../errors.hpp"
#include "../../frequencies.hpp"
#include "../../list.hpp"
#include "../../types.hpp"
#include "../base/bits.hpp"
#include "config_checks.hpp"
#include "double_double.hpp"
#include "schedules.hpp"

ROPE_DETAIL_BEGIN

constexpr double kMaxInvFreq = 4294967296.0;  // 2^32 radians: hundreds of millions of revolutions per position

/// `first` is the number of the pair that values[0] is for.
inline Status check_inv_freq(const char* name, const double* values, std::size_t count,
                             std::size_t first = 0) noexcept {
    for (std::size_t i = 0; i < count; ++i)
        if (!is_finite(values[i]) || std::fabs(values[i]) > kMaxInvFreq)
            return invalid(
                "{}[{}] is {}; a frequency must be finite and of magnitude at most 2^32 radians per position.",
                {name, first + i, values[i]});
    return Status();
}
inline Status check_log_growth(const char* name, const List<double>& values) noexcept {
    for (std::size_t i = 0; i < values.size(); ++i)
        if (!is_finite(values[i]) || std::fabs(values[i]) > 1.0)
            return invalid("{}[{}] is {}; it must be from -1 to 1.", {name, i, values[i]});
    return Status();
}

inline Status check_seq_len(Index seq_len) noexcept {
    if (seq_len >= 0 && seq_len <= kMaxLength) return Status();
    return invalid("seq_len is {}; it must be from 0 to 2^40.", {seq_len});
}

/// check(f), for the frequencies of pairs from `first` on.
inline Status check_from(const Frequencies& f, std::size_t first) noexcept {
    const std::size_t pairs = f.inv_freq.size();
    if (pairs < 1 || pairs > static_cast<std::size_t>(kMaxHeadDim / 2))
        return invalid("inv_freq has {} {entry|entries}; it must have one per pair, from 1 to {}.",
                       {pairs, kMaxHeadDim / 2});
    if (!f.inv_freq_low.empty() && f.inv_freq_low.size() != pairs)
        return invalid("inv_freq_low has {} {entry|entries}; it must be empty or have as many as inv_freq ({}).",
                       {f.inv_freq_low.size(), pairs});
    if (const Status s = check_attention_factor(f.attention_factor); !s.ok()) return s;
    if (const Status s = check_inv_freq("inv_freq", f.inv_freq.data(), pairs, first); !s.ok()) return s;
    if (const Status s = check_inv_freq("inv_freq_low", f.inv_freq_low.data(), f.inv_freq_low.size(), first); !s.ok())
        return s;
    if (!f.log_growth.empty() && f.log_growth.size() != pairs)
        return invalid("log_growth has {} {entry|entries}; it must be empty or have as many as inv_freq ({}).",
                       {f.log_growth.size(), pairs});
    if (!f.log_growth_low.empty() && f.log_growth_low.size() != f.log_growth.size())
        return invalid("log_growth_low has {} {entry|entries}; it must be empty or have as many as log_growth ({}).",
                       {f.log_growth_low.size(), f.log_growth.size()});
    if (const Status s = check_log_growth("log_growth", f.log_growth); !s.ok()) return s;
    if (const Status s = check_log_growth("log_growth_low", f.log_growth_low); !s.ok()) return s;
    if (!is_finite(f.centre) || std::fabs(f.centre) > kMaxFactor)
        return invalid("centre is {}; it must be from -2^32 to 2^32.", {f.centre});
    if (f.lacks_log_scale)
        return invalid(
            "log_scale is empty; this model learned a factor for each of its {} frequencies, which its weights hold.",
            {pairs});
    return Status();
}

/// Makes the frequencies of some adjacent pairs of a Config that has passed its check, or says why no table can be made
/// of them.
inline Status make_frequencies(const Config& config, Index seq_len, const Powers& powers, Frequencies& result) {
    const Scheduled made = make_schedule(config.schedule, powers, seq_len);
    // Divided by the factor's mantissa, then scaled: a quotient of extreme numbers would overflow on the way.
    int factor_exponent = 0;
    const DoubleDouble factor = {std::frexp(config.interpolation_factor, &factor_exponent), 0.0};
    result = Frequencies();
    for (std::size_t i = 0; i < made.inv_freq.size(); ++i) {
        DoubleDouble w = made.inv_freq[i] / factor;
        if (!config.log_scale.empty()) w = w * exp(exact(config.log_scale[powers.pair(i)]));
        if (config.is_reversed) w = -w;
        result.inv_freq.push_back(std::ldexp(w.hi, -factor_exponent));
        result.inv_freq_low.push_back(std::ldexp(w.lo, -factor_exponent));
    }
    result.attention_factor = (exact(config.attention_factor) * made.attention_factor).hi;
    if (const Status s = check_attention_factor(result.attention_factor); !s.ok()) return s;
    for (const DoubleDouble& growth : made.log_growth) {
        result.log_growth.push_back(growth.hi);
        result.log_growth_low.push_back(growth.lo);
    }
    result.centre = made.centre;
    for (std::size_t i = 0; i < result.inv_freq.size(); ++i)
        if (!check_inv_freq("", &result.inv_freq[i], 1).ok())
            return invalid(
                "The frequency of pair {} is {}, with base {} and interpolation_factor {}; it must be finite and of "
                "magnitude at most 2^32 radians per position.",
                {powers.pair(i), result.inv_freq[i], config.base, config.interpolation_factor});
    return check_from(result, powers.pair(0));
}

/// Makes the frequencies of a Config, or says why there are none, or that no table can be made of them.
inline Status make_frequencies(const Config& config, Index seq_len, Frequencies& result) {
    if (const Status s = check(config); !s.ok()) return s;
    if (const Status s = check_seq_len(seq_len); !s.ok()) return s;
    if (const Status s = make_frequencies(config, seq_len, {rotary_dim(config), config.base}, result); !s.ok())
        return s;
    result.lacks_log_scale = config.has_log_scale && config.log_scale.empty();
    return check(result);
}

ROPE_DETAIL_END

#if ROPE_HAS_DEFINITIONS
ROPE_BEGIN

ROPE_API Status check(const Frequencies& f) noexcept { return detail::check_from(f, 0); }

ROPE_API Frequencies frequencies(const Config& config, Index seq_len) {
    Frequencies result;
    const Status s = detail::make_frequencies(config, seq_len, result);
    if (!result.lacks_log_scale) detail::ok_or_raise(s);
    return result;
}

ROPE_END
#endif
