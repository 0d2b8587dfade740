// SPDX-License-Identifier: MIT
// The search for the mistake that explains a wrong result. For <rope/testing.hpp>.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdlib>
#include <utility>
#include <vector>

#include "../../config.hpp"
#include "../../reference.hpp"
#include "../../types.hpp"
#include "../base/eigen_core.hpp"
#include "hypotheses.hpp"

ROPE_BEGIN
namespace testing {
namespace detail_testing {

/// The angle by which a pair of a token was rotated beyond the given cos and sin, estimated from all heads together;
/// from -pi to pi.
ROPE_ABI inline double angle_beyond(const Rule& rule, const Sample& sample, Index token, Index pair,
                                    PairOfDoubles given) {
    const Index pairs = static_cast<Index>(rule.frequencies.inv_freq.size());
    const reference::PairIndex at = reference::pair_index(rule.layout, pair, pairs);
    double dot = 0.0;
    double cross = 0.0;
    const Eigen::Index a = eigen_index(rule.slice.rotary_offset + at.a);
    const Eigen::Index b = eigen_index(rule.slice.rotary_offset + at.b);
    for (Index h = 0; h < sample.heads; ++h) {
        const Eigen::Index column = eigen_index(token * sample.heads + h);
        const auto before = sample.before.col(column);
        const auto after = sample.after.col(column);
        const PairOfDoubles by_rule = rule.rotate({before[a], before[b]}, given.a, given.b);
        dot += by_rule.a * after[a] + by_rule.b * after[b];
        cross += by_rule.a * after[b] - by_rule.b * after[a];
    }
    return std::atan2(cross, dot);
}

/// The largest error that the rule allows of an angle; 0 where the rule leaves no slack.
ROPE_ABI inline double freedom_of(const Rule& rule, Index pair, Index position) {
    const double more = rule.frequency_slack.empty() ? 0.0 : rule.frequency_slack[static_cast<std::size_t>(pair)];
    return rule.angle_slack * angle_size(rule.frequencies, pair, position) +
           more * std::fabs(static_cast<double>(position));
}

/// cos and sin of a pair of a token, times m: by the rule or, where the rule leaves slack, of the nearest angle
/// estimated from all heads of the result.
ROPE_ABI inline PairOfDoubles cos_sin_of(const Rule& rule, const Sample& sample, Index token, Index pair) {
    const Index position = rule.position(sample, token);
    const reference::CosSin cos_sin = reference::cos_sin(rule.frequencies, pair, position);
    const PairOfDoubles given = {static_cast<double>(cos_sin.cos), static_cast<double>(cos_sin.sin)};
    if (!(rule.angle_slack > 0.0)) return given;
    const double most = freedom_of(rule, pair, position);
    const double more = std::clamp(angle_beyond(rule, sample, token, pair, given), -most, most);
    return rotated(given, std::cos(more), std::sin(more));
}

/// Replaces the frequencies of the rule by estimates from the result (phase unwrapping). An angle is known only modulo
/// a revolution. So the smallest distance between two positions (0 is one, where nothing is rotated) tells a frequency
/// of less than half a revolution in that distance; each longer one tells it more exactly, as long as the estimate so
/// far leaves the number of revolutions in no doubt. False if no frequency fits, or if fewer than two distances tell
/// one: a single distance fits any angle.
ROPE_ABI inline bool read_frequencies(Rule& rule, const Sample& sample, const Limits& limits) {
    constexpr double kPi = 3.14159265358979323846;
    constexpr Index kOrigin = -1;
    const auto position = [&](Index token) { return token == kOrigin ? Index(0) : rule.position(sample, token); };
    std::vector<Index> tokens = {kOrigin};
    for (Index t = 0; t < static_cast<Index>(sample.positions.size()); ++t) tokens.push_back(t);
    // Not stable_sort, for which clang 19 warns of a deprecated use inside the standard library.
    const auto place = [&](Index token) { return std::pair(position(token), token); };
    std::sort(tokens.begin(), tokens.end(), [&](Index a, Index b) { return place(a) < place(b); });
    tokens.erase(
        std::unique(tokens.begin(), tokens.end(), [&](Index a, Index b) { return position(a) == position(b); }),
        tokens.end());
    if (tokens.size() < 3) return false;
    std::size_t nearest = 0;  // index of the first of the two nearest positions
    for (std::size_t i = 1; i + 1 < tokens.size(); ++i)
        if (position(tokens[i + 1]) - position(tokens[i]) < position(tokens[nearest + 1]) - position(tokens[nearest]))
            nearest = i;
    const Index from = tokens[nearest];
    const auto distance = [&](Index token) { return position(token) - position(from); };
    const auto away = [&](Index token) { return std::pair(std::abs(distance(token)), position(token)); };
    std::sort(tokens.begin(), tokens.end(), [&](Index a, Index b) { return away(a) < away(b); });

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
struct ROPE_ABI Explanation {
    double squares_right = 0.0;  // of differences from the right ones
    double squares_rule = 0.0;   // of differences from the rule's
    Index places = 0;            // tokens and features that are wrong and that the rule could have failed to explain

    /// `freedom` is the slack of the angle of the feature.
    ROPE_ABI void add(const Sample& sample, const Eigen::MatrixXd& expected, Eigen::Index feature, Index token,
                      double freedom) {
        bool wrong = false;
        for (Eigen::Index h = 0; h < expected.cols(); ++h) {
            const Eigen::Index column = eigen_index(token * sample.heads) + h;
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

/// Whether every feature of the sample agrees with the rule, and the wrong ones are closer to the rule than to the
/// right result. Twice the bound is allowed and, unless the rule leaves slack for angles, angles in plain double: a
/// mistaken computation has its own roundings.
ROPE_ABI inline bool fits(const Rule& rule, const Sample& sample, const Limits& limits) {
    const Index pairs = static_cast<Index>(rule.frequencies.inv_freq.size());
    const double m = rule.frequencies.attention_factor;
    const Eigen::Index heads = eigen_index(sample.heads);
    Explanation explanation;
    Eigen::MatrixXd expected, room;
    Eigen::VectorXd freedom;
    for (Index token = 0; token < static_cast<Index>(sample.positions.size()); ++token) {
        const Eigen::Index first = eigen_index(token * sample.heads);
        expected = sample.before.middleCols(first, heads);
        room = Eigen::MatrixXd::Zero(expected.rows(), heads);
        freedom = Eigen::VectorXd::Zero(expected.rows());
        const Index position = rule.position(sample, token);
        for (Index i = 0; i < pairs; ++i) {
            const reference::PairIndex at = reference::pair_index(rule.layout, i, pairs);
            const Eigen::Index a = eigen_index(rule.slice.rotary_offset + at.a);
            const Eigen::Index b = eigen_index(rule.slice.rotary_offset + at.b);
            const PairOfDoubles cos_sin = cos_sin_of(rule, sample, token, i);
            freedom[a] = freedom[b] = freedom_of(rule, i, position);
            const double t = angle_size(rule.frequencies, i, position);
            const double angle_error = rule.angle_slack > 0.0 ? 0.0 : 0x1p-48 * t;
            const double relative = 2 * limits.relative(t) + limits.of_reference(t) + angle_error;
            for (Eigen::Index h = 0; h < heads; ++h) {
                const PairOfDoubles x = {expected(a, h), expected(b, h)};
                const PairOfDoubles y = rule.rotate(x, cos_sin.a, cos_sin.b);
                expected(a, h) = y.a;
                expected(b, h) = y.b;
                room(a, h) = room(b, h) =
                    relative * std::max(m, 1.0) * (std::fabs(x.a) + std::fabs(x.b)) + 2 * limits.tiny;
            }
        }
        const auto after = sample.after.middleCols(first, heads);
        if (((after - expected).cwiseAbs().array() > room.array()).any()) return false;
        for (Eigen::Index f = 0; f < expected.rows(); ++f) explanation.add(sample, expected, f, token, freedom[f]);
    }
    // An angle estimated from the result explains any one pair, so it must explain several.
    const Index places_needed = rule.angle_slack > 0.0 ? 3 : 1;
    return explanation.places >= places_needed && explanation.squares_rule <= 0.5 * explanation.squares_right;
}

/// Heads whose rotated features are 0 at every token, where the right result is not. The features outside the slice are 0
/// or unchanged, because programs that rotate a slice often append the others unchanged.
ROPE_ABI inline std::vector<Index> zero_heads(const Rule& rule, const Sample& sample) {
    const Eigen::Index first = eigen_index(rule.slice.rotary_offset);
    const Eigen::Index count = 2 * static_cast<Eigen::Index>(rule.frequencies.inv_freq.size());
    const Eigen::Index behind = sample.after.rows() - first - count;
    const auto is_zero_at = [&](Eigen::Index column) {
        const auto after = sample.after.col(column);
        const auto wrong = (after - sample.right.col(column)).cwiseAbs().array() > sample.allowed.col(column).array();
        const bool beside_is_zero = after.head(first).isZero(0.0) && after.tail(behind).isZero(0.0);
        const bool beside_is_right = !wrong.head(first).any() && !wrong.tail(behind).any();
        return after.segment(first, count).isZero(0.0) && wrong.segment(first, count).any() &&
               (beside_is_zero || beside_is_right);
    };
    std::vector<Index> zero;
    for (Index h = 0; h < sample.heads; ++h) {
        bool is_zero = true;
        for (Index column = h; is_zero && column < sample.after.cols(); column += sample.heads)
            is_zero = is_zero_at(eigen_index(column));
        if (is_zero) zero.push_back(h);
    }
    return zero;
}

/// The sample without these heads.
ROPE_ABI inline Sample without(const Sample& sample, const std::vector<Index>& heads) {
    std::vector<Eigen::Index> kept;
    for (Index column = 0; column < sample.after.cols(); ++column)
        if (!std::binary_search(heads.begin(), heads.end(), column % sample.heads)) kept.push_back(eigen_index(column));
    const auto columns = [&](const Eigen::MatrixXd& all) {
        Eigen::MatrixXd some(all.rows(), static_cast<Eigen::Index>(kept.size()));
        for (Eigen::Index i = 0; i < some.cols(); ++i) some.col(i) = all.col(kept[static_cast<std::size_t>(i)]);
        return some;
    };
    return {columns(sample.before),  columns(sample.after), columns(sample.right),
            columns(sample.allowed), sample.positions,      sample.heads - static_cast<Index>(heads.size())};
}

/// Whether every feature is within its bound.
ROPE_ABI inline bool is_right(const Sample& sample) {
    return ((sample.after - sample.right).cwiseAbs().array() <= sample.allowed.array()).all();
}

/// The mistake of the list that fits a wrong sample, or null. The sample's numbers are finite.
ROPE_ABI inline const Hypothesis* find_listed_mistake(const Rule& right, const Sample& sample, const Limits& limits) {
    for (const Hypothesis& hypothesis : hypotheses()) {
        Rule rule = right;
        hypothesis.make(rule);
        if (rule.reads_frequencies && !read_frequencies(rule, sample, limits)) continue;
        if (fits(rule, sample, limits)) return &hypothesis;
    }
    return nullptr;
}

/// The mistakes that together explain a wrong sample: one of the list, or heads that are 0, or these and one of the list
/// for the other heads. Empty if a part stays unexplained.
ROPE_ABI inline std::vector<const Hypothesis*> find_mistakes(const Rule& right, const Sample& sample,
                                                             const Limits& limits) {
    std::vector<const Hypothesis*> found;
    const std::vector<Index> zero = zero_heads(right, sample);
    const bool is_a_part = !zero.empty() && static_cast<Index>(zero.size()) < sample.heads;
    if (is_a_part) found.push_back(&zero_heads_hypothesis());
    const Sample others = is_a_part ? without(sample, zero) : sample;
    if (is_right(others)) return found;
    const Hypothesis* const listed = find_listed_mistake(right, others, limits);
    if (listed == nullptr) return {};
    found.push_back(listed);
    return found;
}

}  // namespace detail_testing
}  // namespace testing
ROPE_END
