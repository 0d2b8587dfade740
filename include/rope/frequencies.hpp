// SPDX-License-Identifier: MIT
// Frequencies: how fast each pair turns.
#pragma once

#include <cmath>
#include <cstddef>
#include <vector>

#include "config.hpp"
#include "errors.hpp"
#include "types.hpp"

#include "detail/double_double.hpp"

namespace rope {
inline namespace ROPE_VERSION_NAMESPACE {

/// The angle of pair i at position p is p * (inv_freq[i] + inv_freq_low[i]) radians; its magnitude is
/// attention_factor. Made by frequencies(config), or filled in by hand: learned frequencies, a table from a model
/// file, 0 for a pair that must not turn, negative for one that turns backwards.
struct Frequencies {
    /// Radians per position, one per pair. Finite, magnitude at most 2^32.
    std::vector<double> inv_freq;
    /// What rounding inv_freq to double cut off; added to it. Empty means zeros, else the size of inv_freq. At
    /// position 2^31 - 1 the cut-off part is worth half of the 1.6e-7 that angles in plain double are wrong.
    std::vector<double> inv_freq_low;
    /// Multiplies cos and sin. From 2^-32 to 2^32.
    double attention_factor = 1.0;
};

namespace detail {

constexpr double kMaxInvFreq = 4294967296.0;  // 2^32 radians: hundreds of millions of turns per position

ROPE_ABI inline Status check_inv_freq(const char* name, const double* values, std::size_t count) noexcept {
    for (std::size_t i = 0; i < count; ++i)
        if (!is_finite(values[i]) || std::fabs(values[i]) > kMaxInvFreq)
            return invalid(name, "[", i, "] is ", values[i],
                           "; a frequency must be finite and of magnitude at most 2^32 radians per position.");
    return Status();
}

}  // namespace detail

/// Whether frequencies can be used. The functions that take some call this first and throw its message.
ROPE_ABI inline Status check(const Frequencies& f) noexcept {
    const std::size_t pairs = f.inv_freq.size();
    if (pairs < 1 || pairs > static_cast<std::size_t>(detail::kMaxHeadDim / 2))
        return detail::invalid("inv_freq has ", pairs, " entries; it must have one per pair, from 1 to ",
                               detail::kMaxHeadDim / 2, ".");
    if (!f.inv_freq_low.empty() && f.inv_freq_low.size() != pairs)
        return detail::invalid("inv_freq_low has ", f.inv_freq_low.size(),
                               " entries; it must be empty or have as many as inv_freq (", pairs, ").");
    if (const Status s = detail::check_attention_factor(f.attention_factor); !s.ok()) return s;
    if (const Status s = detail::check_inv_freq("inv_freq", f.inv_freq.data(), pairs); !s.ok()) return s;
    return detail::check_inv_freq("inv_freq_low", f.inv_freq_low.data(), f.inv_freq_low.size());
}

/// The frequencies of a Config: base^(-2i / rotary_dim) / interpolation_factor for pair i.
///
/// inv_freq + inv_freq_low agrees with the real formula to 2^-95, relative (and 2^-1074); inv_freq alone is the nearest
/// double to that sum.
/// Throws std::invalid_argument when check(config) is not ok, or when a base near zero makes a frequency exceed 2^32
/// radians per position.
ROPE_ABI inline Frequencies frequencies(const Config& config) {
    Frequencies result;
    if (!detail::proceed(check(config))) return result;

    const Index pairs = detail::rotary_dim(config) / 2;
    result.attention_factor = config.attention_factor;
    result.inv_freq.resize(static_cast<std::size_t>(pairs));
    result.inv_freq_low.resize(static_cast<std::size_t>(pairs));
    const detail::DoubleDouble log_base = detail::log({config.base, 0.0});
    // Divided by the factor's mantissa, then scaled: a quotient of extreme numbers would overflow on the way.
    int factor_exponent = 0;
    const detail::DoubleDouble factor = {std::frexp(config.interpolation_factor, &factor_exponent), 0.0};
    for (Index i = 0; i < pairs; ++i) {
        const detail::DoubleDouble exponent =
            detail::DoubleDouble{-static_cast<double>(i), 0.0} / detail::DoubleDouble{static_cast<double>(pairs), 0.0};
        const detail::DoubleDouble w = detail::exp(exponent * log_base) / factor;
        result.inv_freq[static_cast<std::size_t>(i)] = std::ldexp(w.hi, -factor_exponent);
        result.inv_freq_low[static_cast<std::size_t>(i)] = std::ldexp(w.lo, -factor_exponent);
    }
    if (!detail::proceed(check(result))) return Frequencies();
    return result;
}

}  // namespace ROPE_VERSION_NAMESPACE
}  // namespace rope
