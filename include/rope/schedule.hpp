// SPDX-License-Identifier: MIT
// Schedules: the ways in which models make frequencies, most of them for contexts longer than their training contexts.
#pragma once

#include <optional>
#include <variant>

#include "list.hpp"
#include "types.hpp"
#include "version.hpp"

#include "detail/base/hide_macros.hpp"

ROPE_BEGIN

// Below, d is rotary_dim, i = 0 .. d/2 - 1 a pair, base the base of the Config, and w_i = base^(-2i/d) radians per
// position the frequency of the default schedule. Members have the names of the keys in models' configuration files. An
// optional member that is left out has the default in its comment. Every schedule is checked by check(config).
//
//     rope::schedule::Yarn yarn;
//     yarn.factor = 40.0;
//     yarn.original_max_position_embeddings = 4096;
//     config.schedule = yarn;
//
// The "rope_type" (or "type") of a config.json, and the schedule that its reader makes of it:
//
//     default, mrope                       Default; with axes of several positions video_rope, bailing_mrope, openpangu
//     linear                               Default; the file's "factor" is Config::interpolation_factor
//     ntk, xdrope, dynamic with "alpha"    Ntk
//     dynamic                              DynamicNtk
//     yarn, deepseek_yarn, telechat3-yarn  Yarn, with the YarnMagnitude of the model's code
//     llama3                               Llama3
//     longrope, su                         LongRope
//     proportional                         Proportional
//     axial                                Axial
//
// Where nothing else is said, lengths of sequences (..._position_embeddings) are from 1 to 2^40 tokens, and factors,
// betas and magnitudes from 2^-32 to 2^32.
namespace schedule {

/// w_i.
struct ROPE_ABI Default {};

/// NTK-aware scaling: the base becomes base * factor^(d / (d - 2)), so that the fastest pair does not change and the
/// slowest rotates `factor` times slower. HunYuan's "alpha" is this factor. rotary_dim is at least 4. Source: bloc97
/// (2023).
///
/// With mixed_b, the formula of GTE's models, which slows the fastest pair, too: w_i / factor^(((i + 1) /
/// (d / 2))^mixed_b). With mixed_b 1 that is (base * factor)^(-2i/d) / factor^(2/d), what their files mean without
/// the key. A factor of at most 1 then changes nothing, and rotary_dim may be 2. Source: Su, "Transformer upgrade
/// road, 11" (2023), and GTE's published code.
struct Ntk {
    ROPE_CROSSES_AGGREGATE(Ntk)
    double factor = 1.0;
    std::optional<double> mixed_b = {};  ///< 2^-32 .. 2^32; not given: the base is multiplied
};

/// NTK-aware scaling that grows with the sequence: for L = max(seq_len, max_position_embeddings), the base becomes base
/// * (factor * L / max_position_embeddings - (factor - 1))^(d / (d - 2)). Keys rotated at one length do not fit queries
/// rotated at another. rotary_dim is at least 4. A table is for sequences of at most L. Source: emozilla (2023).
struct DynamicNtk {
    ROPE_CROSSES_AGGREGATE(DynamicNtk)
    double factor = 1.0;  ///< 1 .. 2^32
    Index max_position_embeddings = 0;
};

/// Where a schedule with two lengths takes its factor from. Models' own code differs.
enum class FactorSource : unsigned char {
    factor,  ///< `factor` if it is given, else the ratio of the lengths
    lengths  ///< max_position_embeddings / original_max_position_embeddings, even beside a given factor
};

/// How YaRN's magnitude follows from the factor f, where attention_factor is not given. With
/// g(k) = 1 + 0.1 k ln f for f > 1, else 1:
enum class YarnMagnitude : unsigned char {
    standard,  ///< g(mscale) / g(mscale_all_dim) if both are given and not 0, else g(1)
    deepseek,  ///< g(mscale) / g(mscale_all_dim), where mscale is 1 and mscale_all_dim 0 unless given
    none       ///< 1: "apply_yarn_scaling": false
};

/// YaRN: pairs with more than beta_fast revolutions within the original context do not change, pairs with fewer than
/// beta_slow are interpolated, and a ramp blends between the two.
///
///     corr(r) = d ln(original_max_position_embeddings / (2 pi r)) / (2 ln base)
///     low = max(corr(beta_fast), 0), high = min(corr(beta_slow), d - 1), floor and ceil of them if `truncate`
///     keep_i = extrapolation_factor * (1 - clamp((i - low) / (high - low), 0, 1))      high + 0.001 if low = high
///     result = w_i / f * (1 - keep_i) + w_i * keep_i
///
/// The base is above 1, beta_fast at least beta_slow, and mscale, mscale_all_dim and log_coefficient are from -2^32 to
/// 2^32. Source: Peng et al., "YaRN", arXiv:2309.00071.
struct Yarn {
    ROPE_CROSSES_AGGREGATE(Yarn)
    std::optional<double> factor = {};  ///< f; default: the ratio of the lengths
    Index original_max_position_embeddings = 0;
    Index max_position_embeddings = 0;  ///< needed only where f is the ratio of the lengths
    FactorSource factor_source = FactorSource::factor;
    double beta_fast = 32.0;
    double beta_slow = 1.0;
    bool truncate = true;
    double extrapolation_factor = 1.0;            ///< 0 .. 1
    std::optional<double> attention_factor = {};  ///< the magnitude; default: see YarnMagnitude
    std::optional<double> mscale = {}, mscale_all_dim = {};
    double attn_factor = 1.0;  ///< multiplies the magnitude, given or not
    YarnMagnitude magnitude = YarnMagnitude::standard;
    double log_coefficient = 0.1;  ///< the 0.1 in g; TeleChat3 has 0.07
};

/// Llama 3: pairs whose wavelength 2 pi / w_i is below original_max_position_embeddings / high_freq_factor do not
/// change, pairs beyond original_max_position_embeddings / low_freq_factor rotate `factor` times slower, and between
/// the two the frequency is blended linearly in the number of revolutions. high_freq_factor is at least
/// low_freq_factor. Source: Llama 3.1's published code.
///
/// The defaults are those of Llama 3.1.
struct Llama3 {
    ROPE_CROSSES_AGGREGATE(Llama3)
    double factor = 8.0;
    double low_freq_factor = 1.0;
    double high_freq_factor = 4.0;
    Index original_max_position_embeddings = 8192;
};

/// LongRoPE ("su"): w_i / long_factor[i] for sequences longer than the original context, w_i / short_factor[i] for
/// others, each from 2^-32 to 1e300. A table made for a seq_len within the original context is refused for longer
/// sequences. Magnitude:
/// attention_factor if given; else sqrt(1 + ln f / ln original_max_position_embeddings) for f > 1, else 1; or
/// long_mscale and short_mscale where they are given. Source: Ding et al., "LongRoPE", arXiv:2402.13753.
struct LongRope {
    ROPE_CROSSES_AGGREGATE(LongRope)
    List<double> short_factor = {}, long_factor = {};  ///< one number per pair
    Index original_max_position_embeddings = 0;
    Index max_position_embeddings = 0;  ///< needed only where f is the ratio of the lengths
    std::optional<double> factor = {};  ///< f; default: the ratio of the lengths
    FactorSource factor_source = FactorSource::factor;
    std::optional<double> attention_factor = {};
    std::optional<double> short_mscale = {}, long_mscale = {};
};

/// p-RoPE (Gemma): the first floor(partial_rotary_factor * d / 2) pairs rotate, by w_i / factor each, the others do
/// not. Unlike a smaller rotary_dim, this keeps d in the exponent, and pairs span all of d. At least one pair rotates.
struct Proportional {
    ROPE_CROSSES_AGGREGATE(Proportional)
    double partial_rotary_factor = 1.0;  ///< above 0, at most 1
    double factor = 1.0;
};

/// Two or more axes side by side: pairs are divided among the axes, and pair j of each rotates by
/// base^(-2j / (d / axes)). The number of axes, at least 1, divides the number of pairs. Which pair follows which axis
/// of positions is said by an AxisMap.
struct Axial {
    ROPE_CROSSES_AGGREGATE(Axial)
    Index axes = 2;
};

/// xPos: queries grow and keys shrink with their position, so that scores fall with the distance. The magnitude of pair
/// i at position p is zeta_i^e for queries and zeta_i^-e for keys, with zeta_i = (2i + 0.4 d) / (1.4 d) and
/// e = (p - centre) / scale_base. Queries and keys so have tables of their own, with the same centre. Source: Sun et
/// al., "A Length-Extrapolatable Transformer", arXiv:2212.10554.
struct Xpos {
    ROPE_CROSSES_AGGREGATE(Xpos)
    /// Whether the table is for queries, whose magnitude grows, or for keys.
    enum class Side : unsigned char { query, key };
    Side side = Side::query;
    double scale_base = 512.0;  ///< 2 .. 2^32
    double centre = 0.0;        ///< -2^32 .. 2^32
};

/// w_i / freq_factors[i], each from 2^-32 to 1e300: GGUF's tensor rope_freqs.weight.
struct FreqFactors {
    ROPE_CROSSES_AGGREGATE(FreqFactors)
    List<double> freq_factors = {};  ///< one number per pair
};

/// Numbers: one per pair, radians per position, from -2^32 to 2^32; a pair of 0 does not rotate. Config::base is not
/// used (but must be one that is allowed). MLX's `freqs` are reciprocals of these.
struct Custom {
    ROPE_CROSSES_AGGREGATE(Custom)
    List<double> inv_freq = {};
    List<double> inv_freq_low = {};  ///< added to it; may be empty
};

}  // namespace schedule

/// A variant of the schedules above: std::get_if, std::holds_alternative and std::visit take it, and index() is in this
/// order. (std::variant_size takes Schedule::variant.) Default carries the machine's tag, ROPE_ABI, which version.hpp
/// explains; by it the functions that the standard library makes for this variant differ by machine, too.
class Schedule : public std::variant<schedule::Default, schedule::Ntk, schedule::DynamicNtk, schedule::Yarn,
                                     schedule::Llama3, schedule::LongRope, schedule::Proportional, schedule::Axial,
                                     schedule::Xpos, schedule::FreqFactors, schedule::Custom> {
 public:
    using variant::variant;
    ROPE_ABI Schedule() = default;
    ROPE_CROSSES(Schedule)
};

/// A short name for people: "default", "yarn", ...; the name of rope_type where it has one.
ROPE_API const char* schedule_name(const Schedule& s) noexcept;

ROPE_END

#if ROPE_HAS_DEFINITIONS
#    include "detail/angles/schedules.hpp"
#endif

#include "detail/base/restore_macros.hpp"
