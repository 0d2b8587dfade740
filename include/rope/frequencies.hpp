// SPDX-License-Identifier: MIT
// Frequencies: how fast each pair rotates.
#pragma once

#include <cmath>
#include <cstddef>

#include "config.hpp"
#include "errors.hpp"
#include "list.hpp"
#include "types.hpp"

#include "detail/angles/double_double.hpp"
#include "detail/angles/schedule_formulas.hpp"

#include "detail/base/hide_macros.hpp"

namespace rope {
inline namespace ROPE_VERSION_NAMESPACE {

/// The angle of pair i at position p is p * (inv_freq[i] + inv_freq_low[i]) radians; its magnitude is
/// attention_factor * exp((p - centre) * (log_growth[i] + log_growth_low[i])). Made by frequencies(config), or filled
/// in by hand: learned frequencies, a table from a model file, 0 for a pair that must not rotate, negative for one that
/// rotates backwards.
struct Frequencies {
    ROPE_CROSSES_AGGREGATE(Frequencies)
    /// Radians per position, one per pair. Finite, magnitude at most 2^32.
    List<double> inv_freq;
    /// The rounding error of inv_freq as a double, added to it. Empty means zeros, else the size of inv_freq. At
    /// position 2^31 - 1 this part makes half of the error of 1.6e-7 that angles in plain double have.
    List<double> inv_freq_low;
    /// Multiplies cos and sin. From 2^-32 to 2^32.
    double attention_factor = 1.0;
    /// How the magnitude grows per position (xPos), as a natural logarithm. Empty means zeros, else the size of
    /// inv_freq; from -1 to 1.
    List<double> log_growth = {};
    /// The rounding error of log_growth as a double, added to it. Empty means zeros, else the size of log_growth.
    List<double> log_growth_low = {};
    /// The position whose magnitude is attention_factor. From -2^32 to 2^32.
    double centre = 0.0;
    /// Whether factors that the model learned are still missing (Config::log_scale): no table is made of these.
    bool lacks_log_scale = false;
};

namespace detail {

constexpr double kMaxInvFreq = 4294967296.0;  // 2^32 radians: hundreds of millions of revolutions per position

ROPE_ABI inline Status check_inv_freq(const char* name, const double* values, std::size_t count) noexcept {
    for (std::size_t i = 0; i < count; ++i)
        if (!is_finite(values[i]) || std::fabs(values[i]) > kMaxInvFreq)
            return invalid(
                "{}[{}] is {}; a frequency must be finite and of magnitude at most 2^32 radians per position.",
                {name, i, values[i]});
    return Status();
}
ROPE_ABI inline Status check_growth(const char* name, const List<double>& values) noexcept {
    for (std::size_t i = 0; i < values.size(); ++i)
        if (!is_finite(values[i]) || std::fabs(values[i]) > 1.0)
            return invalid("{}[{}] is {}; it must be from -1 to 1.", {name, i, values[i]});
    return Status();
}

}  // namespace detail

/// Whether frequencies can be used. The functions that take frequencies call this first and throw its message.
ROPE_ABI inline Status check(const Frequencies& f) noexcept {
    const std::size_t pairs = f.inv_freq.size();
    if (pairs < 1 || pairs > static_cast<std::size_t>(detail::kMaxHeadDim / 2))
        return detail::invalid("inv_freq has {} entries; it must have one per pair, from 1 to {}.",
                               {pairs, detail::kMaxHeadDim / 2});
    if (!f.inv_freq_low.empty() && f.inv_freq_low.size() != pairs)
        return detail::invalid("inv_freq_low has {} entries; it must be empty or have as many as inv_freq ({}).",
                               {f.inv_freq_low.size(), pairs});
    if (const Status s = detail::check_attention_factor(f.attention_factor); !s.ok()) return s;
    if (const Status s = detail::check_inv_freq("inv_freq", f.inv_freq.data(), pairs); !s.ok()) return s;
    if (const Status s = detail::check_inv_freq("inv_freq_low", f.inv_freq_low.data(), f.inv_freq_low.size()); !s.ok())
        return s;
    if (!f.log_growth.empty() && f.log_growth.size() != pairs)
        return detail::invalid("log_growth has {} entries; it must be empty or have as many as inv_freq ({}).",
                               {f.log_growth.size(), pairs});
    if (!f.log_growth_low.empty() && f.log_growth_low.size() != f.log_growth.size())
        return detail::invalid("log_growth_low has {} entries; it must be empty or have as many as log_growth ({}).",
                               {f.log_growth_low.size(), f.log_growth.size()});
    if (const Status s = detail::check_growth("log_growth", f.log_growth); !s.ok()) return s;
    if (const Status s = detail::check_growth("log_growth_low", f.log_growth_low); !s.ok()) return s;
    if (!detail::is_finite(f.centre) || std::fabs(f.centre) > detail::kMaxFactor)
        return detail::invalid("centre is {}; it must be from -2^32 to 2^32.", {f.centre});
    if (f.lacks_log_scale)
        return detail::invalid(
            "log_scale is empty; this model learned a factor for each of its {} frequencies, which its weights hold.",
            {pairs});
    return Status();
}

namespace detail {

ROPE_ABI inline Status check_seq_len(Index seq_len) noexcept {
    if (seq_len >= 0 && seq_len <= kMaxLength) return Status();
    return invalid("seq_len is {}; it must be from 0 to 2^40.", {seq_len});
}

/// The longest sequence that frequencies(config, seq_len) are for.
ROPE_ABI inline Index longest_sequence(const Config& config, Index seq_len) noexcept {
    return longest_sequence(config.schedule, seq_len);
}

/// Makes the frequencies of a Config, or says why there are none, or that no table can be made of them.
ROPE_ABI inline Status make_frequencies(const Config& config, Index seq_len, Frequencies& result) {
    if (const Status s = check(config); !s.ok()) return s;
    if (const Status s = check_seq_len(seq_len); !s.ok()) return s;
    const Scheduled made = detail::visit(MakeSchedule{rotary_dim(config), config.base, seq_len}, config.schedule);
    // Divided by the factor's mantissa, then scaled: a quotient of extreme numbers would overflow on the way.
    int factor_exponent = 0;
    const DoubleDouble factor = {std::frexp(config.interpolation_factor, &factor_exponent), 0.0};
    result = Frequencies();
    for (std::size_t i = 0; i < made.inv_freq.size(); ++i) {
        DoubleDouble w = made.inv_freq[i] / factor;
        if (!config.log_scale.empty()) w = w * exp(exact(config.log_scale[i]));
        if (config.is_reversed) w = -w;
        result.inv_freq.push_back(std::ldexp(w.hi, -factor_exponent));
        result.inv_freq_low.push_back(std::ldexp(w.lo, -factor_exponent));
    }
    result.attention_factor = (exact(config.attention_factor) * made.attention_factor).hi;
    for (const DoubleDouble& growth : made.log_growth) {
        result.log_growth.push_back(growth.hi);
        result.log_growth_low.push_back(growth.lo);
    }
    result.centre = made.centre;
    if (const Status s = check(result); !s.ok()) return s;
    result.lacks_log_scale = config.has_log_scale && config.log_scale.empty();
    return check(result);
}

}  // namespace detail

/// The frequencies of a Config: w_i of its schedule, / interpolation_factor, * e^log_scale, negative if is_reversed.
///
/// seq_len is the length of the sequence, or the longest that there will be: largest position + 1. Only dynamic NTK and
/// LongRoPE use it. Engines take different lengths (of the sequence, the batch, the whole context), so the caller
/// decides. 0 stands for sequences within the original context.
///
/// inv_freq + inv_freq_low agrees with the real formula to 2^-90, relative (and 2^-1074), and to 2^-95 for the default
/// schedule; inv_freq alone is the nearest double to that sum, and attention_factor is within an ulp. Where a ramp
/// (YaRN, Llama 3) adds two terms, that holds for factors from 2^-10 to 2^10 and an extrapolation_factor from 0 to 1;
/// beyond, an error is relative to the larger term.
/// Throws std::invalid_argument when check(config) is not ok, when seq_len is negative or above 2^40, or when a
/// frequency exceeds 2^32 radians per position (a base near zero) or a magnitude leaves 2^-32 .. 2^32.
ROPE_ABI inline Frequencies frequencies(const Config& config, Index seq_len = 0) {
    Frequencies result;
    const Status s = detail::make_frequencies(config, seq_len, result);
    return result.lacks_log_scale || detail::ok_or_raise(s) ? result : Frequencies();
}

}  // namespace ROPE_VERSION_NAMESPACE
}  // namespace rope

#include "detail/base/restore_macros.hpp"
