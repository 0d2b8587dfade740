// SPDX-License-Identifier: MIT
// The classic mistakes of a rotary embedding, each written as a change of the right rule, and the search for
// the one that explains a wrong result. For <rope/testing.hpp>.
#pragma once

#include <Eigen/Core>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdlib>
#include <limits>
#include <vector>

#include "../config.hpp"
#include "../frequencies.hpp"
#include "../reference.hpp"
#include "../types.hpp"

namespace rope {
inline namespace ROPE_VERSION_NAMESPACE {
namespace testing {
namespace detail_testing {

/// Turned here in plain double, so that nothing of the kernels is used to judge them.
struct PairOfDoubles {
    double a, b;
};
ROPE_ABI inline PairOfDoubles turned(PairOfDoubles x, double c, double s) noexcept {
    return {x.a * c - x.b * s, x.b * c + x.a * s};
}

/// One call: what went in, what came out, what should have, and how far from that it may be. One column per
/// head, the heads of a token side by side.
struct Sample {
    Eigen::MatrixXd before, after, right, allowed;
    std::vector<Index> positions;
    Index heads;
};

/// How far a right result may be from the formula. See <rope/testing.hpp> for the derivation.
struct Limits {
    double rounding;       // Options::tolerance * u, u the unit roundoff of the arithmetic
    double narrow;         // unit roundoff of a 16-bit element type, otherwise 0
    double tiny;           // what the smallest numbers of the element type cannot express
    double epsilon;        // of the element type, the unit in which errors are told
    double angle_epsilon;  // Options::angle_epsilon
    double m;              // attention factor

    /// Error of a rotated feature in units of m (|a| + |b|), apart from `tiny`. t is the size of the angle.
    ROPE_ABI double relative(double t) const noexcept {
        return (rounding + angle_epsilon * t) * (1.0 + narrow) + narrow;
    }
    /// The same for the dense matrix and its product: three roundings to double, and the error of the
    /// reference's angle. That one is far smaller, except where -ffast-math puts the x87 instructions, which
    /// reduce angles by 66 bits of pi, in the place of the C library, or where long double is double.
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

/// |t| of a pair, close enough to say how wrong an angle may be.
ROPE_ABI inline double angle_size(const Frequencies& f, Index pair, Index position) {
    return std::fabs(static_cast<double>(position) * f.inv_freq[static_cast<std::size_t>(pair)]);
}

/// Everything that decides a rotation. The right one, or one that a mistake makes of it.
struct Rule {
    Layout layout;
    Frequencies frequencies;
    HeadSlice slice;
    /// How wrong an angle may be, as a part of itself. Above zero, the angle is read off the result.
    double angle_slack = 0.0;
    /// Whether the frequencies, too, are read off the result, and how wrong each may then be, in radians per position.
    bool reads_frequencies = false;
    std::vector<double> frequency_slack = {};
    /// The sequence length for which the frequencies were made, for those of other Configs.
    Index seq_len = 0;
    Index (*position)(const Sample&, Index token) = nullptr;
    PairOfDoubles (*turn)(PairOfDoubles x, double c, double s) = nullptr;
};

struct Hypothesis {
    const char* name;
    const char* meaning;  // a whole sentence
    /// Makes the mistake. False when it cannot be made here. config is null when the frequencies were given.
    bool (*make)(Rule& rule, const Config* config);
};

/// The frequencies of another Config; false when it has none.
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

/// Frequencies base^(i * exponent) / factor for i = 0 .. pairs - 1; false for a Config with a schedule.
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

/// The mistakes, from the particular to the general: the first that fits is named, so one that explains much
/// stands after those it would hide.
ROPE_ABI inline const auto& hypotheses() noexcept {
    static constexpr Hypothesis table[] = {
        {"no rotation", "Every feature came back as it went in.",
         [](Rule& rule, const Config*) {
             rule.turn = [](PairOfDoubles x, double, double) { return x; };
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
             rule.turn = [](PairOfDoubles x, double c, double s) { return turned(x, c, -s); };
             return true;
         }},
        {"cos and sin swapped", "The sine stood where the cosine belongs, and the reverse.",
         [](Rule& rule, const Config*) {
             rule.turn = [](PairOfDoubles x, double c, double s) { return turned(x, s, c); };
             return true;
         }},
        {"first half overwritten",
         "The second feature of each pair was computed from the first one's new value instead of its old "
         "one.",
         [](Rule& rule, const Config*) {
             rule.turn = [](PairOfDoubles x, double c, double s) {
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
             rule.angle_slack = 0x1p-18;  // their angles may be those of float32
             return true;
         }},
    };
    return table;
}

/// The angle by which a pair of a token has turned more than the angle of the given cos and sin, as its heads show it
/// together; from -pi to pi.
ROPE_ABI inline double angle_beyond(const Rule& rule, const Sample& sample, Index token, Index pair,
                                    PairOfDoubles given) {
    const Index pairs = static_cast<Index>(rule.frequencies.inv_freq.size());
    const reference::PairIndex at = reference::pair_index(rule.layout, pair, pairs);
    double dot = 0.0;
    double cross = 0.0;
    for (Index column = token * sample.heads; column < (token + 1) * sample.heads; ++column) {
        const auto before = sample.before.col(column).segment(rule.slice.rotary_offset, 2 * pairs);
        const auto after = sample.after.col(column).segment(rule.slice.rotary_offset, 2 * pairs);
        const PairOfDoubles by_rule = rule.turn({before[at.a], before[at.b]}, given.a, given.b);
        dot += by_rule.a * after[at.a] + by_rule.b * after[at.b];
        cross += by_rule.a * after[at.b] - by_rule.b * after[at.a];
    }
    return std::atan2(cross, dot);
}

/// By how much an angle of the rule may be off; 0 where the rule leaves no slack.
ROPE_ABI inline double freedom_of(const Rule& rule, Index pair, Index position) {
    const double more = rule.frequency_slack.empty() ? 0.0 : rule.frequency_slack[static_cast<std::size_t>(pair)];
    return rule.angle_slack * angle_size(rule.frequencies, pair, position) +
           more * std::fabs(static_cast<double>(position));
}

/// cos and sin of a pair of a token, times m: those of the rule or, where the rule leaves slack, of the
/// nearest angle that the heads of the result show together.
ROPE_ABI inline PairOfDoubles cos_sin_of(const Rule& rule, const Sample& sample, Index token, Index pair) {
    const Index position = rule.position(sample, token);
    const reference::Turn turn = reference::turn(rule.frequencies, pair, position);
    const PairOfDoubles given = {static_cast<double>(turn.cos), static_cast<double>(turn.sin)};
    if (!(rule.angle_slack > 0.0)) return given;
    const double most = freedom_of(rule, pair, position);
    const double more = std::clamp(angle_beyond(rule, sample, token, pair, given), -most, most);
    return turned(given, std::cos(more), std::sin(more));
}

/// Replaces the frequencies of the rule by those that the result shows. An angle shows itself only but for whole
/// turns. So the smallest distance between two positions (0 is one, where nothing turns) tells a frequency of less than
/// half a turn in that distance; each longer one tells it more exactly, as long as what is known by then leaves the
/// whole turns in no doubt. False when no frequency fits, or when less than two distances tell one: a single distance
/// fits any angle.
ROPE_ABI inline bool read_frequencies(Rule& rule, const Sample& sample, const Limits& limits) {
    constexpr double kPi = 3.14159265358979323846;
    constexpr Index kOrigin = -1;
    const auto position = [&](Index token) { return token == kOrigin ? Index(0) : rule.position(sample, token); };
    std::vector<Index> tokens = {kOrigin};
    for (Index t = 0; t < static_cast<Index>(sample.positions.size()); ++t) tokens.push_back(t);
    std::stable_sort(tokens.begin(), tokens.end(), [&](Index a, Index b) { return position(a) < position(b); });
    tokens.erase(
        std::unique(tokens.begin(), tokens.end(), [&](Index a, Index b) { return position(a) == position(b); }),
        tokens.end());
    if (tokens.size() < 3) return false;
    std::size_t nearest = 0;  // of two neighbours, the first
    for (std::size_t i = 1; i + 1 < tokens.size(); ++i)
        if (position(tokens[i + 1]) - position(tokens[i]) < position(tokens[nearest + 1]) - position(tokens[nearest]))
            nearest = i;
    const Index from = tokens[nearest];
    const auto distance = [&](Index token) { return position(token) - position(from); };
    std::stable_sort(tokens.begin(), tokens.end(),
                     [&](Index a, Index b) { return std::abs(distance(a)) < std::abs(distance(b)); });

    const Index pairs = static_cast<Index>(rule.frequencies.inv_freq.size());
    rule.frequencies.inv_freq_low.clear();
    rule.frequency_slack.resize(static_cast<std::size_t>(pairs));
    for (Index i = 0; i < pairs; ++i) {
        const auto angle = [&](Index token) {
            return token == kOrigin ? 0.0 : angle_beyond(rule, sample, token, i, {1.0, 0.0});
        };
        const double start = angle(from);
        double& w = rule.frequencies.inv_freq[static_cast<std::size_t>(i)];
        double& slack = rule.frequency_slack[static_cast<std::size_t>(i)];
        w = 0.0;
        Index told_by = 0;
        for (std::size_t k = 1; k < tokens.size(); ++k) {
            const double d = static_cast<double>(distance(tokens[k]));
            const double more = std::remainder(angle(tokens[k]) - start - d * w, 2 * kPi);
            // Two angles are wrong by at most twice `relative` each, and as much is left to a mistaken computation.
            const double reading = 8 * limits.relative(std::fabs(d * w));
            const double room = told_by > 0 ? reading + std::fabs(d) * (slack + rule.angle_slack * std::fabs(w)) : kPi;
            if (told_by > 0 && room > 1.0) continue;
            if (std::fabs(more) > room) return false;
            w += more / d;
            slack = reading / std::fabs(d);
            ++told_by;
        }
        if (told_by < 2) return false;
    }
    return true;
}

/// How well a rule explains the features that are wrong.
struct Explanation {
    double squares_right = 0.0;  // of what they differ from the right ones
    double squares_rule = 0.0;   // of what they differ from the rule's
    Index places = 0;            // tokens and features that are wrong and that the rule could have failed to explain

    /// `freedom` is how far the angle of the feature was free to move.
    ROPE_ABI void add(const Sample& sample, const Eigen::MatrixXd& expected, Index feature, Index token,
                      double freedom) {
        bool wrong = false;
        for (Index h = 0; h < sample.heads; ++h) {
            const Index column = token * sample.heads + h;
            const double from_right = sample.after(feature, column) - sample.right(feature, column);
            if (std::fabs(from_right) <= sample.allowed(feature, column)) continue;
            const double from_rule = sample.after(feature, column) - expected(feature, h);
            squares_right += from_right * from_right;
            squares_rule += from_rule * from_rule;
            wrong = true;
        }
        places += wrong && freedom < 1.0 ? 1 : 0;
    }
};

/// Whether every feature of the sample is what the rule gives, and the wrong ones are closer to that
/// than to what is right. Twice the bound is allowed, and, unless angles are what is in question, angles in
/// plain double: a mistaken computation has its own roundings.
ROPE_ABI inline bool fits(const Rule& rule, const Sample& sample, const Limits& limits) {
    const Index pairs = static_cast<Index>(rule.frequencies.inv_freq.size());
    const double m = rule.frequencies.attention_factor;
    const Index heads = sample.heads;
    Explanation explanation;
    Eigen::MatrixXd expected, room;
    Eigen::VectorXd freedom;
    for (Index token = 0; token < static_cast<Index>(sample.positions.size()); ++token) {
        expected = sample.before.middleCols(token * heads, heads);
        room = Eigen::MatrixXd::Zero(expected.rows(), heads);
        freedom = Eigen::VectorXd::Zero(expected.rows());
        const Index position = rule.position(sample, token);
        for (Index i = 0; i < pairs; ++i) {
            const reference::PairIndex at = reference::pair_index(rule.layout, i, pairs);
            const Index a = rule.slice.rotary_offset + at.a;
            const Index b = rule.slice.rotary_offset + at.b;
            const PairOfDoubles turn = cos_sin_of(rule, sample, token, i);
            freedom[a] = freedom[b] = freedom_of(rule, i, position);
            const double t = angle_size(rule.frequencies, i, position);
            const double angle_error = rule.angle_slack > 0.0 ? 0.0 : 0x1p-48 * t;
            const double relative = 2 * limits.relative(t) + limits.of_reference(t) + angle_error;
            for (Index h = 0; h < heads; ++h) {
                const PairOfDoubles x = {expected(a, h), expected(b, h)};
                const PairOfDoubles y = rule.turn(x, turn.a, turn.b);
                expected(a, h) = y.a;
                expected(b, h) = y.b;
                room(a, h) = room(b, h) =
                    relative * std::max(m, 1.0) * (std::fabs(x.a) + std::fabs(x.b)) + 2 * limits.tiny;
            }
        }
        const auto after = sample.after.middleCols(token * heads, heads);
        if (((after - expected).cwiseAbs().array() > room.array()).any()) return false;
        for (Index f = 0; f < expected.rows(); ++f) explanation.add(sample, expected, f, token, freedom[f]);
    }
    // An angle that is read off the result explains any one pair, so it must explain several.
    const Index places_needed = rule.angle_slack > 0.0 ? 3 : 1;
    return explanation.places >= places_needed && explanation.squares_rule <= 0.5 * explanation.squares_right;
}

/// The mistake that fits a wrong sample, or null. The sample's numbers are finite.
ROPE_ABI inline const Hypothesis* find_mistake(Rule right, const Config* config, const Sample& sample,
                                               const Limits& limits) {
    right.position = [](const Sample& s, Index token) { return s.positions[static_cast<std::size_t>(token)]; };
    right.turn = [](PairOfDoubles x, double c, double s) { return turned(x, c, s); };
    for (const Hypothesis& hypothesis : hypotheses()) {
        Rule rule = right;
        if (!hypothesis.make(rule, config)) continue;
        if (rule.reads_frequencies && !read_frequencies(rule, sample, limits)) continue;
        if (fits(rule, sample, limits)) return &hypothesis;
    }
    return nullptr;
}

}  // namespace detail_testing
}  // namespace testing
}  // namespace ROPE_VERSION_NAMESPACE
}  // namespace rope
