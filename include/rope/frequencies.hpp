// SPDX-License-Identifier: MIT
// Frequencies: how fast each pair rotates.
#pragma once

#include "config.hpp"
#include "errors.hpp"
#include "list.hpp"
#include "types.hpp"

#include "detail/base/hide_macros.hpp"

ROPE_BEGIN

/// The angle of pair i at position p is p * (inv_freq[i] + inv_freq_low[i]) radians; its magnitude is
/// attention_factor * exp((p - centre) * (log_growth[i] + log_growth_low[i])). Made by frequencies(config), or filled
/// in by hand: learned frequencies, a table from a model file, 0 for a pair that must not rotate, negative for one that
/// rotates backwards.
///
///     rope::Frequencies f;
///     f.inv_freq.assign(numbers, numbers + 64);                        // const double* numbers, radians per position
///     const rope::CosSinCache<float> cache(f, 8192, {192, 64});        // features 64 .. 191 of heads of 192 rotate
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

/// Whether frequencies can be used. The functions that take frequencies call this first and throw its message.
ROPE_API Status check(const Frequencies& f) noexcept;

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
ROPE_API Frequencies frequencies(const Config& config, Index seq_len = 0);

ROPE_END

#if ROPE_HAS_DEFINITIONS
#    include "detail/angles/frequencies.hpp"
#endif

#include "detail/base/restore_macros.hpp"
