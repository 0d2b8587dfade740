// SPDX-License-Identifier: MIT
// The classic mistakes of a rotary embedding, each but one written as a change of the right rule. For <rope/testing.hpp>;
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
#include "../angles/frequencies.hpp"
#include "../base/eigen_core.hpp"
#include "calls.hpp"

ROPE_BEGIN
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
ROPE_ABI inline Index position_of(const Sample& sample, Index token) {
    return sample.positions[static_cast<std::size_t>(token)];
}

/// Error bounds of a right result. See <rope/testing.hpp> for the derivation.
struct ROPE_ABI Limits : Format {
    double rounding;       // Options::tolerance * u
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
    const Config* config;  ///< null when the frequencies were given
    Index seq_len;         ///< of the frequencies
    /// Relative error allowed of an angle. Above zero, the angle is estimated from the result.
    double angle_slack = 0.0;
    /// Whether the frequencies, too, are estimated from the result, and the error of each, in radians per position.
    bool reads_frequencies = false;
    std::vector<double> frequency_slack = {};
    Index (*position)(const Sample&, Index token) = &position_of;
    PairOfDoubles (*rotate)(PairOfDoubles x, double c, double s) = &rotated;
};

struct ROPE_ABI Hypothesis {
    const char* name;
    const char* meaning;  // a whole sentence
    /// Makes the mistake. Where it cannot be made, the rule stays right, and so explains no wrong result.
    void (*make)(Rule& rule);
};

/// Takes the frequencies of a changed Config, if there is one that check(config) accepts.
ROPE_ABI inline void change_config(Rule& rule, void (*change)(Config& config)) {
    if (rule.config == nullptr) return;
    Config other = *rule.config;
    change(other);
    Frequencies f;
    if (!rope::detail::make_frequencies(other, rule.seq_len, f).ok()) return;
    rule.frequencies = f;
    rule.slice.rotary_offset = other.rotary_offset;
}

/// Not in the list below, because it is no change of the rule. It can come together with one of them, which then explains
/// the other heads.
ROPE_ABI inline const Hypothesis& zero_heads_hypothesis() noexcept {
    static constexpr Hypothesis hypothesis = {
        "a part of the heads became zero",
        "Every rotated feature of some heads came back as 0, at every token: "
        "as if results were put into a new array of zeros, and not for all heads.",
        nullptr};
    return hypothesis;
}

/// The mistakes, from the particular to the general: the first that fits is named, so one that explains much stands
/// after the ones it would hide.
ROPE_ABI inline const auto& hypotheses() noexcept {
    static constexpr Hypothesis table[] = {
        {"no rotation", "Every feature came back as it went in.",
         [](Rule& rule) { rule.rotate = [](PairOfDoubles x, double, double) { return x; }; }},
        {"other layout",
         "Interleaved pairs (x[2i], x[2i+1]) were rotated where half-split pairs (x[i], x[i + rotary_dim/2]) "
         "were meant, or the reverse.",
         [](Rule& rule) {
             rule.layout = rule.layout == Layout::interleaved ? Layout::half_split : Layout::interleaved;
         }},
        {"sign of sin",
         "Every pair was rotated backwards: a cos + b sin, b cos - a sin, which is the inverse rotation.",
         [](Rule& rule) { rule.rotate = [](PairOfDoubles x, double c, double s) { return rotated(x, c, -s); }; }},
        {"cos and sin swapped", "The sine stood where the cosine belongs, and the reverse.",
         [](Rule& rule) { rule.rotate = [](PairOfDoubles x, double c, double s) { return rotated(x, s, c); }; }},
        {"first half overwritten",
         "The second feature of each pair was computed from the first one's new value instead of its old "
         "one.",
         [](Rule& rule) {
             rule.rotate = [](PairOfDoubles x, double c, double s) {
                 const double a = x.a * c - x.b * s;
                 return PairOfDoubles{a, a * s + x.b * c};
             };
         }},
        {"magnitude of the schedule ignored", "Frequencies are right, but results lack the magnitude of the schedule.",
         [](Rule& rule) {
             if (rule.config != nullptr) rule.frequencies.attention_factor = rule.config->attention_factor;
         }},
        {"attention factor missing", "Results were not multiplied by the attention factor m.",
         [](Rule& rule) { rule.frequencies.attention_factor = 1.0; }},
        {"attention factor twice", "Results were multiplied by m^2 instead of m.",
         [](Rule& rule) { rule.frequencies.attention_factor *= rule.frequencies.attention_factor; }},
        {"interpolation factor ignored", "Angles were not divided by interpolation_factor.",
         [](Rule& rule) { change_config(rule, [](Config& c) { c.interpolation_factor = 1.0; }); }},
        {"schedule ignored", "Frequencies are those of the default schedule, and there is no magnitude from another.",
         [](Rule& rule) { change_config(rule, [](Config& c) { c.schedule = schedule::Default(); }); }},
        {"exponent 2i instead of i",
         "Pair i rotated by base^(-4i/rotary_dim) instead of base^(-2i/rotary_dim) radians per position: the "
         "index of the feature stood where the index of the pair belongs.",
         [](Rule& rule) { change_config(rule, [](Config& c) { c.base *= c.base; }); }},
        {"head_dim in the exponent",
         "Pair i rotated by base^(-2i/head_dim) instead of base^(-2i/rotary_dim) radians per position.",
         [](Rule& rule) {
             change_config(rule, [](Config& c) {
                 const double d = static_cast<double>(rope::detail::rotary_dim(c));
                 c.base = std::pow(c.base, d / static_cast<double>(c.head_dim));
             });
         }},
        {"base 10000", "Frequencies belong to a base of 10000, which is not the base that was configured.",
         [](Rule& rule) { change_config(rule, [](Config& c) { c.base = 10000.0; }); }},
        {"slice ignored", "The whole head was rotated, not just rotary_dim features of it.",
         [](Rule& rule) { change_config(rule, [](Config& c) { c.rotary_dim = c.rotary_offset = 0; }); }},
        {"offset ignored", "The first features of the head were rotated, not those from rotary_offset on.",
         [](Rule& rule) { rule.slice.rotary_offset = 0; }},
        {"position one too large", "Tokens were rotated as if they stood at position + 1.",
         [](Rule& rule) { rule.position = [](const Sample& s, Index token) { return position_of(s, token) + 1; }; }},
        {"position one too small", "Tokens were rotated as if they stood at position - 1.",
         [](Rule& rule) { rule.position = [](const Sample& s, Index token) { return position_of(s, token) - 1; }; }},
        {"first token's position for all", "Every token was rotated at the position of the first one.",
         [](Rule& rule) { rule.position = [](const Sample& s, Index) { return s.positions.front(); }; }},
        {"token index as position", "Tokens were rotated at 0, 1, 2, ... and the given positions were not read.",
         [](Rule& rule) { rule.position = [](const Sample&, Index token) { return token; }; }},
        {"angle in double",
         "Angles are right to double precision only, which double elements show at large positions; "
         "Options::angle_epsilon = 0x1p-51 allows it.",
         [](Rule& rule) { rule.angle_slack = 0x1p-47; }},  // a frequency made by repeated products loses some bits more
        {"angle in float32",
         "Angles are right to float32 precision only: wrong by hundredths of a radian at position 10^6. "
         "Compute position * frequency in double. Where a model was trained so, Options::angle_epsilon = "
         "0x1p-20 allows it.",
         [](Rule& rule) { rule.angle_slack = 0x1p-18; }},
        {"angle in 16 bits",
         "Angles are right to two or three digits only, as if positions or frequencies were kept in bfloat16 "
         "or half.",
         [](Rule& rule) { rule.angle_slack = 0x1p-6; }},
        {"other frequencies",
         "Pairs and magnitude are right, and one frequency per pair explains all tokens, but these are not the "
         "frequencies of the model: another base, another schedule, or a scaling that was lost.",
         [](Rule& rule) {
             rule.reads_frequencies = true;
             rule.angle_slack = 0x1p-18;  // their angles may be computed in float32
         }},
    };
    return table;
}

}  // namespace detail_testing
}  // namespace testing
ROPE_END
