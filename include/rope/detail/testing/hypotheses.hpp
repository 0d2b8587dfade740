// SPDX-License-Identifier: MIT
// The classic mistakes of a rotary embedding, each written as a change of the right rule. For <rope/testing.hpp>;
// diagnosis.hpp searches for the one that explains a wrong result.
#pragma once

#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

#include "../../config.hpp"
#include "../../frequencies.hpp"
#include "../../reference.hpp"
#include "../../types.hpp"
#include "../base/eigen_core.hpp"

namespace rope {
inline namespace ROPE_VERSION_NAMESPACE {
namespace testing {
namespace detail_testing {

using reference::detail_reference::eigen_index;

/// Rotated here in plain double, so that no part of the kernels is used to judge them.
struct ROPE_ABI PairOfDoubles {
    double a, b;
};
ROPE_ABI inline PairOfDoubles rotated(PairOfDoubles x, double c, double s) noexcept {
    return {x.a * c - x.b * s, x.b * c + x.a * s};
}

/// One call: its input, its output, the right output, and the error allowed of each feature. One column per head, the
/// heads of a token side by side.
struct ROPE_ABI Sample {
    Eigen::MatrixXd before, after, right, allowed;
    std::vector<Index> positions;
    Index heads;
};

/// Error bounds of a right result. See <rope/testing.hpp> for the derivation.
struct ROPE_ABI Limits {
    double rounding;       // Options::tolerance * u, u half an ulp of 1 of the arithmetic
    double narrow;         // half an ulp of 1 of a 16-bit element type, otherwise 0
    double tiny;           // absolute error near the smallest numbers of the element type
    double epsilon;        // of the element type; errors are told in multiples of it
    double angle_epsilon;  // Options::angle_epsilon
    double m;              // attention factor

    /// Error of a rotated feature as a multiple of m (|a| + |b|), apart from `tiny`. t is the size of the angle.
    ROPE_ABI double relative(double t) const noexcept {
        return (rounding + angle_epsilon * t) * (1.0 + narrow) + narrow;
    }
    /// The same for the dense matrix and its product: three roundings to double, and the error of the reference's
    /// angle. The latter is far smaller, except where -ffast-math replaces the C library by x87 instructions, which
    /// reduce angles by 66 bits of pi, or where long double is double.
    ROPE_ABI static double of_reference(double t) noexcept {
        constexpr bool wide = std::numeric_limits<long double>::digits >= 64;
        return 3 * 0x1p-53 + (wide ? 0x1p-66 : 0x1p-52) * t;
    }
    /// Largest difference between a rotated feature and the dense matrix's answer, where sum = |a| + |b|.
    ROPE_ABI double feature(double expected, double sum, double t) const noexcept {
        const double computed = m * sum * (rounding + angle_epsilon * t + of_reference(t));
        return computed + narrow * (std::fabs(expected) + computed) + tiny;
    }
};

/// |t| of a pair, close enough for error bounds of an angle.
ROPE_ABI inline double angle_size(const Frequencies& f, Index pair, Index position) {
    return std::fabs(static_cast<double>(position) * f.inv_freq[static_cast<std::size_t>(pair)]);
}

/// All that decides a rotation: the right rule, or the rule after a mistake.
struct ROPE_ABI Rule {
    Layout layout;
    Frequencies frequencies;
    HeadSlice slice;
    /// Relative error allowed of an angle. Above zero, the angle is estimated from the result.
    double angle_slack = 0.0;
    /// Whether the frequencies, too, are estimated from the result, and the error of each, in radians per position.
    bool reads_frequencies = false;
    std::vector<double> frequency_slack = {};
    /// The sequence length of the frequencies; frequencies of other Configs are made for it, too.
    Index seq_len = 0;
    Index (*position)(const Sample&, Index token) = nullptr;
    PairOfDoubles (*rotate)(PairOfDoubles x, double c, double s) = nullptr;
};

struct ROPE_ABI Hypothesis {
    const char* name;
    const char* meaning;  // a whole sentence
    /// Makes the mistake. False when it cannot be made here. config is null when the frequencies were given.
    bool (*make)(Rule& rule, const Config* config);
};

/// Takes the frequencies of another Config; false when it has none.
ROPE_ABI inline bool set_frequencies(Rule& rule, const Config& other) {
    Frequencies f;
    if (!rope::detail::make_frequencies(other, rule.seq_len, f).ok()) return false;
    rule.frequencies.inv_freq = f.inv_freq;
    rule.frequencies.inv_freq_low = f.inv_freq_low;
    return true;
}

ROPE_ABI inline bool has_schedule(const Config& config) noexcept {
    return !std::holds_alternative<schedule::Default>(config.schedule);
}

/// Sets frequencies base^(i * exponent) / factor for i = 0 .. pairs - 1; false for a Config with a schedule.
ROPE_ABI inline bool set_powers(Rule& rule, const Config& config, Index pairs, double exponent) {
    if (has_schedule(config)) return false;
    Frequencies& f = rule.frequencies;
    f.inv_freq_low.clear();
    f.inv_freq.clear();
    for (Index i = 0; i < pairs; ++i)
        f.inv_freq.push_back(std::pow(config.base, static_cast<double>(i) * exponent) / config.interpolation_factor);
    return true;
}

ROPE_ABI inline double extent(Index n) noexcept { return static_cast<double>(n); }

/// The mistakes, from the particular to the general: the first that fits is named, so one that explains much stands
/// after the ones it would hide.
ROPE_ABI inline const auto& hypotheses() noexcept {
    static constexpr Hypothesis table[] = {
        {"no rotation", "Every feature came back as it went in.",
         [](Rule& rule, const Config*) {
             rule.rotate = [](PairOfDoubles x, double, double) { return x; };
             return true;
         }},
        {"other layout",
         "Interleaved pairs (x[2i], x[2i+1]) were turned where half-split pairs (x[i], x[i + rotary_dim/2]) "
         "were meant, or the reverse.",
         [](Rule& rule, const Config*) {
             rule.layout = rule.layout == Layout::interleaved ? Layout::half_split : Layout::interleaved;
             return true;
         }},
        {"sign of sin", "Every pair was turned backwards: a cos + b sin, b cos - a sin, which is the inverse rotation.",
         [](Rule& rule, const Config*) {
             rule.rotate = [](PairOfDoubles x, double c, double s) { return rotated(x, c, -s); };
             return true;
         }},
        {"cos and sin swapped", "The sine stood where the cosine belongs, and the reverse.",
         [](Rule& rule, const Config*) {
             rule.rotate = [](PairOfDoubles x, double c, double s) { return rotated(x, s, c); };
             return true;
         }},
        {"first half overwritten",
         "The second feature of each pair was computed from the first one's new value instead of its old "
         "one.",
         [](Rule& rule, const Config*) {
             rule.rotate = [](PairOfDoubles x, double c, double s) {
                 const double a = x.a * c - x.b * s;
                 return PairOfDoubles{a, a * s + x.b * c};
             };
             return true;
         }},
        {"magnitude of the schedule ignored", "Frequencies are right, but results lack the magnitude of the schedule.",
         [](Rule& rule, const Config* config) {
             if (config == nullptr || !has_schedule(*config)) return false;
             rule.frequencies.attention_factor = config->attention_factor;
             return true;
         }},
        {"attention factor missing", "Results were not multiplied by the attention factor m.",
         [](Rule& rule, const Config*) {
             rule.frequencies.attention_factor = 1.0;
             return true;
         }},
        {"attention factor twice", "Results were multiplied by m^2 instead of m.",
         [](Rule& rule, const Config*) {
             rule.frequencies.attention_factor *= rule.frequencies.attention_factor;
             return true;
         }},
        {"interpolation factor ignored", "Angles were not divided by interpolation_factor.",
         [](Rule& rule, const Config* config) {
             if (config == nullptr) return false;
             Config plain = *config;
             plain.interpolation_factor = 1.0;
             return set_frequencies(rule, plain);
         }},
        {"schedule ignored", "Frequencies are those of the default schedule, and there is no magnitude from another.",
         [](Rule& rule, const Config* config) {
             if (config == nullptr || !has_schedule(*config)) return false;
             Config plain = *config;
             plain.schedule = schedule::Default();
             rule.frequencies.attention_factor = plain.attention_factor;
             return set_frequencies(rule, plain);
         }},
        {"exponent 2i instead of i",
         "Pair i turned by base^(-4i/rotary_dim) instead of base^(-2i/rotary_dim) radians per position: the "
         "index of the feature stood where the index of the pair belongs.",
         [](Rule& rule, const Config* config) {
             if (config == nullptr) return false;
             return set_powers(rule, *config, rope::detail::rotary_dim(*config) / 2,
                               -4.0 / extent(rope::detail::rotary_dim(*config)));
         }},
        {"head_dim in the exponent",
         "Pair i turned by base^(-2i/head_dim) instead of base^(-2i/rotary_dim) radians per position.",
         [](Rule& rule, const Config* config) {
             if (config == nullptr) return false;
             return set_powers(rule, *config, rope::detail::rotary_dim(*config) / 2, -2.0 / extent(config->head_dim));
         }},
        {"base 10000", "Frequencies belong to a base of 10000, which is not the base that was configured.",
         [](Rule& rule, const Config* config) {
             if (config == nullptr) return false;
             Config usual = *config;
             usual.base = 10000.0;
             return set_frequencies(rule, usual);
         }},
        {"slice ignored", "The whole head was rotated, not just rotary_dim features of it.",
         [](Rule& rule, const Config* config) {
             if (config == nullptr || config->head_dim % 2 != 0) return false;
             rule.slice.rotary_offset = 0;
             return set_powers(rule, *config, config->head_dim / 2, -2.0 / extent(config->head_dim));
         }},
        {"offset ignored", "The first features of the head were rotated, not those from rotary_offset on.",
         [](Rule& rule, const Config*) {
             rule.slice.rotary_offset = 0;
             return true;
         }},
        {"position one too large", "Tokens were rotated as if they stood at position + 1.",
         [](Rule& rule, const Config*) {
             rule.position = [](const Sample& s, Index token) {
                 return s.positions[static_cast<std::size_t>(token)] + 1;
             };
             return true;
         }},
        {"position one too small", "Tokens were rotated as if they stood at position - 1.",
         [](Rule& rule, const Config*) {
             rule.position = [](const Sample& s, Index token) {
                 return s.positions[static_cast<std::size_t>(token)] - 1;
             };
             return true;
         }},
        {"first token's position for all", "Every token was rotated at the position of the first one.",
         [](Rule& rule, const Config*) {
             rule.position = [](const Sample& s, Index) { return s.positions.front(); };
             return true;
         }},
        {"token index as position", "Tokens were rotated at 0, 1, 2, ... and the given positions were not read.",
         [](Rule& rule, const Config*) {
             rule.position = [](const Sample&, Index token) { return token; };
             return true;
         }},
        {"angle in double",
         "Angles are right to double precision only, which double elements show at large positions; "
         "Options::angle_epsilon = 0x1p-51 allows it.",
         [](Rule& rule, const Config*) {
             rule.angle_slack = 0x1p-47;  // a frequency made by repeated products loses some bits more
             return true;
         }},
        {"angle in float32",
         "Angles are right to float32 precision only: wrong by hundredths of a radian at position 10^6. "
         "Compute position * frequency in double. Where a model was trained so, Options::angle_epsilon = "
         "0x1p-20 allows it.",
         [](Rule& rule, const Config*) {
             rule.angle_slack = 0x1p-18;
             return true;
         }},
        {"angle in 16 bits",
         "Angles are right to two or three digits only, as if positions or frequencies were kept in bfloat16 "
         "or half.",
         [](Rule& rule, const Config*) {
             rule.angle_slack = 0x1p-6;
             return true;
         }},
        {"other frequencies",
         "Pairs and magnitude are right, and one frequency per pair explains all tokens, but these are not the "
         "frequencies of the model: another base, another schedule, or a scaling that was lost.",
         [](Rule& rule, const Config*) {
             rule.reads_frequencies = true;
             rule.angle_slack = 0x1p-18;  // their angles may be computed in float32
             return true;
         }},
    };
    return table;
}

}  // namespace detail_testing
}  // namespace testing
}  // namespace ROPE_VERSION_NAMESPACE
}  // namespace rope
