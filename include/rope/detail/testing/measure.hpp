// SPDX-License-Identifier: MIT
// The measurements of <rope/testing.hpp>: positions, one measurement after the other, the mistake behind them.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <type_traits>
#include <vector>

#include "../../reference.hpp"
#include "../../testing.hpp"
#include "../base/bits.hpp"
#include "../base/eigen_core.hpp"
#include "../base/message.hpp"
#include "calls.hpp"
#include "diagnosis.hpp"
#include "hypotheses.hpp"

ROPE_BEGIN
namespace testing {
namespace detail_testing {

/// The positions of the batch: the given ones, or a few critical ones and then random ones.
ROPE_ABI inline std::vector<Index> choose_positions(const Options& options, std::mt19937_64& engine) {
    if (!options.positions.empty()) return options.positions;
    const Index most = options.max_position;
    const Index telling[] = {3,    most, 0,    1,     2,      17,       100,      most - 1,
                             1000, 4095, 4097, 65536, 131071, most / 2, most / 3, 7};
    std::vector<Index> positions;
    for (const Index p : telling)
        if (p <= most) positions.push_back(p);
    while (positions.size() < size(options.seq))
        positions.push_back(static_cast<Index>(engine() % static_cast<std::uint64_t>(most + 1)));
    positions.resize(size(options.seq));
    return positions;
}

/// Positions near 0 for the scores, and the shifts that stay below max_position.
struct ROPE_ABI Moves {
    std::vector<Index> positions, shifts;
};
ROPE_ABI inline Moves choose_moves(const Options& options, Index seq) {
    Moves moves;
    for (Index t = 0; t < std::min<Index>(seq, 16); ++t) moves.positions.push_back(t % (options.max_position / 2 + 1));
    const Index room = options.max_position - *std::max_element(moves.positions.begin(), moves.positions.end());
    for (const Index shift : options.shifts)
        if (shift < room) moves.shifts.push_back(shift);
    moves.shifts.push_back(room);
    return moves;
}

/// Keeps the worse of two cases.
ROPE_ABI inline void note(Measurement& m, double expected, double got, double value, double bound, double unit,
                          const Place& where) {
    if (!rope::detail::is_finite(got) || !rope::detail::is_finite(value)) value = kNotFinite;
    m.largest = std::max(m.largest, value);
    if (m.measured && value * m.bound <= m.value * bound) return;
    m = {value, bound, m.largest, value / unit, expected, got, where, true};
}

/// Counts a number whose bits changed, and keeps the first of them.
ROPE_ABI inline void count_if_changed(Measurement& m, double before, double after, const Place& where) {
    using rope::detail::bit_cast;
    if (bit_cast<std::uint64_t>(before) == bit_cast<std::uint64_t>(after)) return;
    if (m.value < 0.5) {
        m.expected = before;
        m.got = after;
        m.where = where;
    }
    m.largest = m.value += 1.0;
}

/// The model and values of it that all measurements use.
struct ROPE_ABI Setup {
    const Model& model;
    Layout layout;
    Limits limits;
    Index pairs;

    ROPE_ABI Eigen::Index a(Index i) const {
        return eigen_index(model.slice.rotary_offset + reference::pair_index(layout, i, pairs).a);
    }
    ROPE_ABI Eigen::Index b(Index i) const {
        return eigen_index(model.slice.rotary_offset + reference::pair_index(layout, i, pairs).b);
    }
    ROPE_ABI double angle(Index i, Index position) const { return angle_size(model.frequencies, i, position); }
    ROPE_ABI double sum(const Eigen::MatrixXd& x, Eigen::Index column, Index i) const {
        return std::fabs(x(a(i), column)) + std::fabs(x(b(i), column));
    }
};

/// Token, position and head of a column of the sample.
ROPE_ABI inline Place place_of(const Sample& sample, Index column) {
    const Index token = column / sample.heads;
    return {token, sample.positions[size(token)], column % sample.heads};
}

/// rotation_matrix times x, token by token.
ROPE_ABI inline Eigen::MatrixXd rotated_by_matrix(const Setup& s, const Sample& sample) {
    Eigen::MatrixXd y(sample.before.rows(), sample.before.cols());
    const Eigen::Index heads = eigen_index(sample.heads);
    Eigen::Index column = 0;
    for (const Index position : sample.positions) {
        y.middleCols(column, heads) = reference::rotation_matrix(s.layout, s.model.frequencies, position, s.model.slice)
                                          .lazyProduct(sample.before.middleCols(column, heads));
        column += heads;
    }
    return y;
}

/// The bound of every feature: 0 outside the slice.
ROPE_ABI inline Eigen::MatrixXd allowed_errors(const Setup& s, const Sample& sample) {
    Eigen::MatrixXd allowed = Eigen::MatrixXd::Zero(sample.right.rows(), sample.right.cols());
    for (Eigen::Index column = 0; column < allowed.cols(); ++column)
        for (Index i = 0; i < s.pairs; ++i)
            for (const Eigen::Index f : {s.a(i), s.b(i)})
                allowed(f, column) = s.limits.feature(sample.right(f, column), s.sum(sample.before, column, i),
                                                      s.angle(i, place_of(sample, column).position));
    return allowed;
}

/// Rotated features, the expected ones, and the measurement of their difference.
struct ROPE_ABI Comparison {
    Measurement& measurement;
    const Eigen::MatrixXd& expected;
    const Eigen::MatrixXd& got;
};

/// Compares rotated features with expected ones. bound(expected, |a| + |b|, angle) is the largest difference allowed.
template <class Bound>
ROPE_ABI inline void compare(const Setup& s, const Sample& sample, const Comparison& c, double magnitude,
                             const Bound& bound) {
    for (Eigen::Index column = 0; column < c.got.cols(); ++column) {
        Place where = place_of(sample, column);
        for (where.pair = 0; where.pair < s.pairs; ++where.pair) {
            const double sum = s.sum(sample.before, column, where.pair);
            const double unit = s.limits.epsilon * magnitude * sum + s.limits.tiny;
            const double t = s.angle(where.pair, where.position);
            for (const Eigen::Index feature : {s.a(where.pair), s.b(where.pair)}) {
                where.feature = feature;
                const double expected = c.expected(feature, column);
                const double got = c.got(feature, column);
                note(c.measurement, expected, got, std::fabs(got - expected), bound(expected, sum, t), unit, where);
            }
        }
    }
}

ROPE_ABI inline void measure_norms(const Setup& s, const Sample& sample, Measurement& result) {
    // Squares are summed in long double; their own rounding is allowed for.
    const double summing =
        static_cast<double>(2 * s.pairs) * static_cast<double>(std::numeric_limits<long double>::epsilon());
    const auto norm_of = [&s](const Eigen::MatrixXd& x, Eigen::Index column) {
        long double squares = 0.0L;
        for (Index i = 0; i < s.pairs; ++i)
            for (const Eigen::Index f : {s.a(i), s.b(i)})
                squares += static_cast<long double>(x(f, column)) * static_cast<long double>(x(f, column));
        return static_cast<double>(std::sqrt(squares));
    };
    for (Eigen::Index column = 0; column < sample.after.cols(); ++column) {
        const Place where = place_of(sample, column);
        const double norm = s.limits.m * norm_of(sample.before, column);
        const double got = norm_of(sample.after, column);
        double relative = 0.0;
        for (Index i = 0; i < s.pairs; ++i)
            relative = std::max(relative, s.limits.relative(s.angle(i, where.position)));
        const double tiny = s.limits.tiny * std::sqrt(static_cast<double>(2 * s.pairs));
        note(result, norm, got, std::fabs(got - norm) / norm, 2 * relative + summing + tiny / norm, s.limits.epsilon,
             where);
    }
}

/// Counts changed numbers around the buffer, where there were ones, and outside the slice.
ROPE_ABI inline void measure_outside(const Setup& s, const Sample& sample, const std::vector<double>& around,
                                     Measurement& result) {
    result.measured = true;
    for (Index i = 0; i < 2 * kGuard; ++i)
        count_if_changed(result, 1.0, around[size(i)], {i < kGuard ? -1 : static_cast<Index>(sample.positions.size())});
    const Index first = s.model.slice.rotary_offset;
    for (Eigen::Index column = 0; column < sample.after.cols(); ++column)
        for (Eigen::Index f = 0; f < sample.after.rows(); ++f) {
            if (f >= first && f < first + 2 * s.pairs) continue;
            Place where = place_of(sample, column);
            where.feature = f;
            count_if_changed(result, sample.before(f, column), sample.after(f, column), where);
        }
}

/// q and k before the rotation, after it, and after it with all positions shifted.
struct ROPE_ABI Scores {
    const Eigen::MatrixXd &q, &k;                // before the rotation
    const Eigen::MatrixXd &q0, &k0, &q_s, &k_s;  // rotated at p, and at p + s
    const std::vector<Index>& positions;
    Index heads, shift;
};

ROPE_ABI inline void measure_scores(const Setup& s, const Scores& x, Measurement& result) {
    const Eigen::Index first = eigen_index(s.model.slice.rotary_offset), features = eigen_index(2 * s.pairs);
    const Eigen::Index heads = eigen_index(x.heads);
    // The sums are made in long double; their own rounding is allowed for.
    const double summing =
        2.0 * static_cast<double>(features) * static_cast<double>(std::numeric_limits<long double>::epsilon());
    const auto dot = [&](const Eigen::MatrixXd& q, const Eigen::MatrixXd& k, Eigen::Index i, Eigen::Index j) {
        long double sum = 0.0L;
        for (Eigen::Index f = first; f < first + features; ++f)
            sum += static_cast<long double>(q(f, i)) * static_cast<long double>(k(f, j));
        return static_cast<double>(sum);
    };
    const Index last = *std::max_element(x.positions.begin(), x.positions.end()) + x.shift;
    std::vector<double> relative(size(s.pairs));
    for (Index i = 0; i < s.pairs; ++i) relative[size(i)] = s.limits.relative(s.angle(i, last));
    for (Eigen::Index i = 0; i < x.q.cols(); ++i)
        for (Eigen::Index j = i % heads; j < x.k.cols(); j += heads) {
            double bound = 0.0;
            double size_of_score = 0.0;
            for (Index pair = 0; pair < s.pairs; ++pair) {
                const double both = s.limits.m * s.limits.m * s.sum(x.q, i, pair) * s.sum(x.k, j, pair);
                const double underflow = 4 * s.limits.m * s.limits.tiny * (s.sum(x.q, i, pair) + s.sum(x.k, j, pair));
                bound += both * (4 * std::sqrt(2.0) * relative[size(pair)] + summing) + underflow;
                size_of_score += both;
            }
            const double expected = dot(x.q0, x.k0, i, j);
            const double got = dot(x.q_s, x.k_s, i, j);
            Place where = {i / heads, x.positions[size(i / heads)], i % heads};
            where.key_token = j / heads;
            where.shift = x.shift;
            note(result, expected, got, std::fabs(got - expected), bound, s.limits.epsilon * size_of_score, where);
        }
}

ROPE_ABI inline void diagnose(const Setup& s, const Sample& sample, Report& report) {
    if (report.dense.ok() && report.outside.ok()) return;
    const double* const after = sample.after.data();
    if (!std::all_of(after, after + sample.after.size(), rope::detail::is_finite)) {
        report.mistake = "not finite";
        report.diagnosis = "Some results are infinite or NaN.";
        return;
    }
    const Config* const config = s.model.has_config ? &s.model.config : nullptr;
    const Rule right = {s.layout, s.model.frequencies, s.model.slice, config, s.model.seq_len};
    const std::vector<const Hypothesis*> found = find_mistakes(right, sample, s.limits);
    if (found.empty()) {
        report.mistake = "none of the known mistakes";
        report.diagnosis = "None of the known mistakes gives these values.";
        return;
    }
    std::string meanings;
    for (const Hypothesis* mistake : found) {
        report.mistake += (report.mistake.empty() ? "" : "; ") + std::string(mistake->name);
        meanings += std::string(" ") + mistake->meaning;
    }
    report.diagnosis =
        (found.size() == 1 ? "Every value fits this mistake: " : "Every value fits these mistakes together: ") +
        report.mistake + "." + meanings;
}

struct ROPE_ABI NoInverse {};

template <class T, class Rotate, class Inverse>
ROPE_ABI inline Report measure_all(Rotate& rotate, Inverse& inverse, Layout layout, const Model& model,
                                   const Options& options) {
    Report report;
    rope::detail::ok_or_raise(check(model, options));
    const Format& type = kFormat<typename ElementTraits<T>::storage>;
    const double m = model.frequencies.attention_factor;
    const Limits limits = {type, options.tolerance * type.u, options.angle_epsilon, m};
    const Setup s = {model, layout, limits, static_cast<Index>(model.frequencies.inv_freq.size())};
    const Caller<T> call = {options.heads, model.slice.head_dim};
    std::mt19937_64 engine(options.seed);

    Sample sample;
    sample.positions = choose_positions(options, engine);
    sample.heads = options.heads;
    const Index seq = static_cast<Index>(sample.positions.size());
    sample.before = call.random(seq, engine);
    std::vector<double> around;
    sample.after = call(rotate, sample.before, sample.positions.data(), &around);
    sample.right = rotated_by_matrix(s, sample);

    sample.allowed = allowed_errors(s, sample);
    compare(s, sample, {report.dense, sample.right, sample.after}, m,
            [&](double expected, double sum, double t) { return s.limits.feature(expected, sum, t); });
    measure_norms(s, sample, report.norms);
    measure_outside(s, sample, around, report.outside);

    Eigen::MatrixXd alone(sample.after.rows(), sample.after.cols());
    const Eigen::Index heads = eigen_index(sample.heads);
    Eigen::Index column = 0;
    for (const Index& position : sample.positions) {
        alone.middleCols(column, heads) = call(rotate, sample.before.middleCols(column, heads), &position);
        column += heads;
    }
    compare(s, sample, {report.alone, sample.after, alone}, m,
            [&](double, double sum, double t) { return 2 * s.limits.feature(m * sum, sum, t); });

    if constexpr (!std::is_same_v<Inverse, const NoInverse>) {
        const Eigen::MatrixXd back = call(inverse, sample.after, sample.positions.data());
        compare(s, sample, {report.inverse, sample.before, back}, 1.0, [&](double, double sum, double t) {
            return 3 * (s.limits.relative(t) + s.limits.u) * sum + (2 / m + 1) * s.limits.tiny;
        });
    }

    const Moves moves = choose_moves(options, seq);
    const Eigen::MatrixXd q = call.random(static_cast<Index>(moves.positions.size()), engine);
    const Eigen::MatrixXd k = call.random(static_cast<Index>(moves.positions.size()), engine);
    const Eigen::MatrixXd q0 = call(rotate, q, moves.positions.data());
    const Eigen::MatrixXd k0 = call(rotate, k, moves.positions.data());
    for (const Index shift : moves.shifts) {
        std::vector<Index> moved = moves.positions;
        for (Index& p : moved) p += shift;
        const Eigen::MatrixXd q_s = call(rotate, q, moved.data());
        const Eigen::MatrixXd k_s = call(rotate, k, moved.data());
        measure_scores(s, {q, k, q0, k0, q_s, k_s, moves.positions, options.heads, shift}, report.scores);
    }

    diagnose(s, sample, report);
    const auto range = std::minmax_element(sample.positions.begin(), sample.positions.end());
    report.subject =
        rope::detail::Message(
            "{} rotation of {} [seq {}, heads {}, head_dim {}], features {} to {}, attention factor {}, positions {} "
            "to {}",
            {layout == Layout::interleaved ? "interleaved" : "half_split", type.name, seq, options.heads, call.head_dim,
             model.slice.rotary_offset, model.slice.rotary_offset + 2 * s.pairs - 1, m, *range.first, *range.second})
            .text();
    report.complete = true;
    return report;
}

}  // namespace detail_testing

template <class T, class Rotate>
ROPE_ABI inline Report measure(Rotate&& rotate, Layout layout, const Model& model, const Options& options) {
    const detail_testing::NoInverse none;
    return detail_testing::measure_all<T>(rotate, none, layout, model, options);
}

template <class T, class Rotate, class Inverse>
ROPE_ABI inline Report measure(Rotate&& rotate, Inverse&& inverse, Layout layout, const Model& model,
                               const Options& options) {
    return detail_testing::measure_all<T>(rotate, inverse, layout, model, options);
}

}  // namespace testing
ROPE_END
