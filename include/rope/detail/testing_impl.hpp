// SPDX-License-Identifier: MIT
// How <rope/testing.hpp> measures. The element type ends at Caller; everything after it is double.
#pragma once

#include <utility>

#include "../testing.hpp"

namespace rope {
inline namespace ROPE_VERSION_NAMESPACE {
namespace testing {
namespace detail_testing {

constexpr double kNotFinite = 1e200;  // an error that stays a number under -ffast-math
constexpr Index kGuard = 64;          // elements watched on either side of a buffer

template <class Storage>
struct Format;
template <>
struct Format<float> {
    static constexpr const char* name = "float";
    static constexpr double u = 0x1p-24, narrow = 0.0, tiny = 0x1p-126, epsilon = 0x1p-23;
};
template <>
struct Format<double> {
    static constexpr const char* name = "double";
    static constexpr double u = 0x1p-53, narrow = 0.0, tiny = 0x1p-1022, epsilon = 0x1p-52;
};
template <>
struct Format<half> {
    static constexpr const char* name = "half";
    static constexpr double u = 0x1p-24, narrow = 0x1p-11, tiny = 0x1p-24, epsilon = 0x1p-10;
};
template <>
struct Format<bfloat16> {
    static constexpr const char* name = "bfloat16";
    static constexpr double u = 0x1p-24, narrow = 0x1p-8, tiny = 0x1p-126, epsilon = 0x1p-7;
};

ROPE_ABI inline std::size_t size(Index n) noexcept { return static_cast<std::size_t>(n); }

/// A matrix as elements of type T, lent to a rotation, and back as a matrix.
template <class T>
struct Caller {
    using Storage = typename ElementTraits<T>::storage;
    using Compute = std::conditional_t<std::is_same_v<Storage, double>, double, float>;
    static_assert(!std::is_void_v<Storage>, "T must be an element type: float, double, rope::half, ...");

    Index heads;
    Index head_dim;

    /// Numbers from -1 to 1 that T can hold; one column per head.
    ROPE_ABI Eigen::MatrixXd random(Index seq, std::mt19937_64& engine) const {
        Eigen::MatrixXd x(head_dim, seq * heads);
        for (Index i = 0; i < x.size(); ++i) {
            const double number = static_cast<double>(engine() >> 11) * 0x1p-52 - 1.0;
            Storage element;
            rope::detail::Element<Compute, Storage>::store(&element, static_cast<Compute>(number));
            x.data()[i] = static_cast<double>(rope::detail::Element<Compute, Storage>::load(&element));
        }
        return x;
    }

    /// What the function makes of x. Counts in `stray`, where given, the bits-changed elements around it.
    template <class F>
    ROPE_ABI Eigen::MatrixXd operator()(F& f, const Eigen::MatrixXd& x, const Index* positions,
                                        Measurement* stray = nullptr) const {
        static_assert(sizeof(T) == sizeof(Storage), "T must have the bits of its storage type");
        std::vector<T> buffer(size(x.size() + 2 * kGuard));
        for (Index i = 0; i < x.size() + 2 * kGuard; ++i) {
            const Index at = i - kGuard;
            const double number = at >= 0 && at < x.size() ? x.data()[at] : 1.0;
            Storage element;
            rope::detail::Element<Compute, Storage>::store(&element, static_cast<Compute>(number));
            std::memcpy(static_cast<void*>(&buffer[size(i)]), &element, sizeof(T));
        }
        const Index seq = x.cols() / heads;
        f(buffer.data() + kGuard, seq, heads, positions);
        const auto read = [&](Index i) {
            Storage element;
            std::memcpy(&element, static_cast<const void*>(&buffer[size(i)]), sizeof(T));
            return static_cast<double>(rope::detail::Element<Compute, Storage>::load(&element));
        };
        Eigen::MatrixXd y(x.rows(), x.cols());
        for (Index i = 0; i < x.size(); ++i) y.data()[i] = read(i + kGuard);
        for (Index i = 0; stray != nullptr && i < 2 * kGuard; ++i) {
            const Index at = i < kGuard ? i : i + x.size();
            if (!same_bits(read(at), 1.0)) count_changed(*stray, 1.0, read(at), {i < kGuard ? -1 : seq});
        }
        return y;
    }

    ROPE_ABI static bool same_bits(double a, double b) noexcept {
        return rope::detail::bit_cast<std::uint64_t>(a) == rope::detail::bit_cast<std::uint64_t>(b);
    }
    ROPE_ABI static void count_changed(Measurement& m, double before, double after, const Place& where) {
        if (m.value < 0.5) {
            m.expected = before;
            m.got = after;
            m.where = where;
        }
        m.largest = m.value += 1.0;
    }
};

/// Keeps the worse of two cases.
ROPE_ABI inline void note(Measurement& m, double expected, double got, double value, double bound, double unit,
                          const Place& where) {
    if (!rope::detail::is_finite(got) || !rope::detail::is_finite(value)) value = kNotFinite;
    m.largest = std::max(m.largest, value);
    if (m.measured && value * m.bound <= m.value * bound) return;
    m = {value, bound, m.largest, value / unit, expected, got, where, true};
}

/// The model with what is used of it everywhere.
struct Setup {
    const Model& model;
    Layout layout;
    Limits limits;
    double u;
    Index pairs;

    ROPE_ABI double m() const { return limits.m; }
    ROPE_ABI Index a(Index i) const { return model.slice.rotary_offset + reference::pair_index(layout, i, pairs).a; }
    ROPE_ABI Index b(Index i) const { return model.slice.rotary_offset + reference::pair_index(layout, i, pairs).b; }
    ROPE_ABI double angle(Index i, Index position) const { return angle_size(model.frequencies, i, position); }
    ROPE_ABI double sum(const Eigen::MatrixXd& x, Index column, Index i) const {
        return std::fabs(x(a(i), column)) + std::fabs(x(b(i), column));
    }
};

/// The positions of the batch: those given, or a few that matter and then any.
ROPE_ABI inline std::vector<Index> choose_positions(const Options& options, std::mt19937_64& engine) {
    if (!options.positions.empty()) return options.positions;
    const Index most = options.max_position;
    const Index telling[] = {3,    most, 0,    1,     2,      17,       100,      most - 1,
                             1000, 4095, 4097, 65536, 131071, most / 2, most / 3, 7};
    std::vector<Index> positions;
    for (Index p : telling)
        if (p >= 0 && p <= most) positions.push_back(p);
    while (positions.size() < size(options.seq))
        positions.push_back(static_cast<Index>(engine() % static_cast<std::uint64_t>(most + 1)));
    positions.resize(size(options.seq));
    return positions;
}

/// rotation_matrix times x, token by token.
ROPE_ABI inline Eigen::MatrixXd rotated_by_matrix(const Setup& s, const Sample& sample) {
    Eigen::MatrixXd y(sample.before.rows(), sample.before.cols());
    for (Index t = 0; t < static_cast<Index>(sample.positions.size()); ++t)
        y.middleCols(t * sample.heads, sample.heads) =
            reference::rotation_matrix(s.layout, s.model.frequencies, sample.positions[size(t)], s.model.slice)
                .lazyProduct(sample.before.middleCols(t * sample.heads, sample.heads));
    return y;
}

/// The bound of every feature: 0 outside the slice.
ROPE_ABI inline Eigen::MatrixXd allowed_errors(const Setup& s, const Sample& sample) {
    Eigen::MatrixXd allowed = Eigen::MatrixXd::Zero(sample.right.rows(), sample.right.cols());
    for (Index column = 0; column < allowed.cols(); ++column)
        for (Index i = 0; i < s.pairs; ++i)
            for (const Index f : {s.a(i), s.b(i)})
                allowed(f, column) = s.limits.feature(sample.right(f, column), s.sum(sample.before, column, i),
                                                      s.angle(i, sample.positions[size(column / sample.heads)]));
    return allowed;
}

/// What to compare an array of rotated features with, and how strictly.
struct Comparison {
    Measurement& measurement;
    const Eigen::MatrixXd& expected;
    const Eigen::MatrixXd& got;
};

/// Rotated features against expected ones. bound(expected, |a| + |b|, angle) is the most a difference may be.
template <class Bound>
ROPE_ABI inline void compare(const Setup& s, const Sample& sample, const Comparison& c, double magnitude,
                             const Bound& bound) {
    for (Index column = 0; column < c.got.cols(); ++column) {
        const Index token = column / sample.heads;
        const Index position = sample.positions[size(token)];
        for (Index i = 0; i < s.pairs; ++i) {
            const double sum = s.sum(sample.before, column, i);
            for (const Index feature : {s.a(i), s.b(i)}) {
                const double expected = c.expected(feature, column);
                const double got = c.got(feature, column);
                note(c.measurement, expected, got, std::fabs(got - expected),
                     bound(expected, sum, s.angle(i, position)), s.limits.epsilon * magnitude * sum + s.limits.tiny,
                     {token, position, column % sample.heads, feature, i});
            }
        }
    }
}

ROPE_ABI inline void measure_norms(const Setup& s, const Sample& sample, Measurement& result) {
    // Squares are summed in long double; their own rounding is allowed for.
    const double summing =
        static_cast<double>(2 * s.pairs) * static_cast<double>(std::numeric_limits<long double>::epsilon());
    const auto norm_of = [&s](const Eigen::MatrixXd& x, Index column) {
        long double squares = 0.0L;
        for (Index i = 0; i < s.pairs; ++i)
            for (const Index f : {s.a(i), s.b(i)})
                squares += static_cast<long double>(x(f, column)) * static_cast<long double>(x(f, column));
        return static_cast<double>(std::sqrt(squares));
    };
    for (Index column = 0; column < sample.after.cols(); ++column) {
        const Index token = column / sample.heads;
        const Index position = sample.positions[size(token)];
        const double norm = s.m() * norm_of(sample.before, column);
        const double got = norm_of(sample.after, column);
        double relative = 0.0;
        for (Index i = 0; i < s.pairs; ++i) relative = std::max(relative, s.limits.relative(s.angle(i, position)));
        const double tiny = s.limits.tiny * std::sqrt(static_cast<double>(2 * s.pairs));
        note(result, norm, got, std::fabs(got - norm) / norm, 2 * relative + summing + tiny / norm, s.limits.epsilon,
             {token, position, column % sample.heads});
    }
}

/// What one shift of all positions makes of q and k, and how it came from them.
struct Scores {
    const Eigen::MatrixXd &q, &k;                // before the rotation
    const Eigen::MatrixXd &q0, &k0, &q_s, &k_s;  // rotated at p, and at p + s
    const std::vector<Index>& positions;
    Index heads, shift;
};

ROPE_ABI inline void measure_scores(const Setup& s, const Scores& x, Measurement& result) {
    const Index first = s.model.slice.rotary_offset;
    const Index features = 2 * s.pairs;
    // The sums are made in long double; their own rounding is allowed for.
    const double summing =
        2.0 * static_cast<double>(features) * static_cast<double>(std::numeric_limits<long double>::epsilon());
    const auto dot = [&](const Eigen::MatrixXd& q, const Eigen::MatrixXd& k, Index i, Index j) {
        long double sum = 0.0L;
        for (Index f = first; f < first + features; ++f)
            sum += static_cast<long double>(q(f, i)) * static_cast<long double>(k(f, j));
        return static_cast<double>(sum);
    };
    const Index last = *std::max_element(x.positions.begin(), x.positions.end()) + x.shift;
    Eigen::VectorXd relative(s.pairs);
    for (Index i = 0; i < s.pairs; ++i) relative[i] = s.limits.relative(s.angle(i, last));
    for (Index i = 0; i < x.q.cols(); ++i)
        for (Index j = i % x.heads; j < x.k.cols(); j += x.heads) {
            double bound = 0.0;
            double size_of_score = 0.0;
            for (Index pair = 0; pair < s.pairs; ++pair) {
                const double both = s.m() * s.m() * s.sum(x.q, i, pair) * s.sum(x.k, j, pair);
                const double underflow = 4 * s.m() * s.limits.tiny * (s.sum(x.q, i, pair) + s.sum(x.k, j, pair));
                bound += both * (4 * std::sqrt(2.0) * relative[pair] + summing) + underflow;
                size_of_score += both;
            }
            const double expected = dot(x.q0, x.k0, i, j);
            const double got = dot(x.q_s, x.k_s, i, j);
            Place where = {i / x.heads, x.positions[size(i / x.heads)], i % x.heads};
            where.key_token = j / x.heads;
            where.shift = x.shift;
            note(result, expected, got, std::fabs(got - expected), bound, s.limits.epsilon * size_of_score, where);
        }
}

/// Positions near 0 for the scores, and the shifts that stay below max_position.
struct Moves {
    std::vector<Index> positions, shifts;
};
ROPE_ABI inline Moves choose_moves(const Options& options, Index seq) {
    Moves moves;
    for (Index t = 0; t < std::min<Index>(seq, 16); ++t) moves.positions.push_back(t % (options.max_position / 2 + 1));
    const Index room = options.max_position - *std::max_element(moves.positions.begin(), moves.positions.end());
    for (Index shift : options.shifts)
        if (shift < room) moves.shifts.push_back(shift);
    moves.shifts.push_back(room);
    return moves;
}

template <class T>
ROPE_ABI inline void append(std::string& text, const T& part) {
    if constexpr (std::is_same_v<T, double>) {
        char digits[40];
        const auto end = std::to_chars(digits, digits + sizeof(digits), part, std::chars_format::general, 6).ptr;
        if (rope::detail::is_finite(part))
            text.append(digits, end);
        else
            text += "not finite";
    } else if constexpr (std::is_integral_v<T>) {
        text += std::to_string(part);
    } else {
        text += part;
    }
}
template <class... Parts>
ROPE_ABI inline std::string text_of(const Parts&... parts) {
    std::string text;
    (append(text, parts), ...);
    return text;
}

ROPE_ABI inline void diagnose(const Setup& s, const Sample& sample, Report& report) {
    if (report.dense.ok() && report.outside.ok()) return;
    const double* const after = sample.after.data();
    if (!std::all_of(after, after + sample.after.size(), rope::detail::is_finite)) {
        report.mistake = "not finite";
        report.diagnosis = "Some results are infinite or NaN.";
        return;
    }
    const Rule right = {s.layout, s.model.frequencies, s.model.slice};
    const Hypothesis* const found =
        find_mistake(right, s.model.has_config ? &s.model.config : nullptr, sample, s.limits);
    report.mistake = found != nullptr ? found->name : "none of the known mistakes";
    report.diagnosis = found != nullptr ? text_of("Every value fits this mistake: ", found->name, ". ", found->meaning)
                                        : text_of("None of the known mistakes gives these values.");
}

struct NoInverse {};

template <class T, class Rotate, class Inverse>
ROPE_ABI inline Report measure_all(Rotate& rotate, Inverse& inverse, Layout layout, const Model& model,
                                   const Options& options) {
    Report report;
    if (!rope::detail::proceed(check(model, options))) return report;
    using Element = Format<typename ElementTraits<T>::storage>;
    const double m = model.frequencies.attention_factor;
    const Setup s = {
        model,
        layout,
        {options.tolerance * Element::u, Element::narrow, Element::tiny, Element::epsilon, options.angle_epsilon, m},
        Element::u,
        static_cast<Index>(model.frequencies.inv_freq.size())};
    const Caller<T> call = {options.heads, model.slice.head_dim};
    std::mt19937_64 engine(options.seed);

    Sample sample;
    sample.positions = choose_positions(options, engine);
    sample.heads = options.heads;
    const Index seq = static_cast<Index>(sample.positions.size());
    sample.before = call.random(seq, engine);
    report.outside.measured = true;
    sample.after = call(rotate, sample.before, sample.positions.data(), &report.outside);
    sample.right = rotated_by_matrix(s, sample);

    sample.allowed = allowed_errors(s, sample);
    compare(s, sample, {report.dense, sample.right, sample.after}, m,
            [&](double expected, double sum, double t) { return s.limits.feature(expected, sum, t); });
    measure_norms(s, sample, report.norms);

    for (Index column = 0; column < sample.after.cols(); ++column)
        for (Index f = 0; f < call.head_dim; ++f) {
            const bool rotated = f >= model.slice.rotary_offset && f < model.slice.rotary_offset + 2 * s.pairs;
            const double before = sample.before(f, column);
            const double after = sample.after(f, column);
            const Index token = column / sample.heads;
            if (!rotated && !call.same_bits(before, after))
                call.count_changed(report.outside, before, after,
                                   {token, sample.positions[size(token)], column % sample.heads, f});
        }

    Eigen::MatrixXd alone(sample.after.rows(), sample.after.cols());
    for (Index t = 0; t < seq; ++t)
        alone.middleCols(t * sample.heads, sample.heads) =
            call(rotate, sample.before.middleCols(t * sample.heads, sample.heads), &sample.positions[size(t)]);
    compare(s, sample, {report.alone, sample.after, alone}, m,
            [&](double, double sum, double t) { return 2 * s.limits.feature(m * sum, sum, t); });

    if constexpr (!std::is_same_v<Inverse, const NoInverse>) {
        const Eigen::MatrixXd back = call(inverse, sample.after, sample.positions.data());
        compare(s, sample, {report.inverse, sample.before, back}, 1.0, [&](double, double sum, double t) {
            return 3 * (s.limits.relative(t) + s.u) * sum + (2 / m + 1) * s.limits.tiny;
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
        text_of(layout == Layout::interleaved ? "interleaved" : "half_split", " rotation of ", Element::name, " [seq ",
                seq, ", heads ", options.heads, ", head_dim ", call.head_dim, "], features ", model.slice.rotary_offset,
                " to ", model.slice.rotary_offset + 2 * s.pairs - 1, ", attention factor ", m, ", positions ",
                *range.first, " to ", *range.second);
    report.complete = true;
    return report;
}

ROPE_ABI inline std::string line_of(const char* name, const Measurement& m) {
    if (!m.measured) return text_of("  ", name, "not measured\n");
    std::string text = text_of("  ", name, m.ok() ? "ok      " : "FAILED  ");
    text += m.value < kNotFinite / 2 ? text_of(m.value) : text_of("not finite");
    text += text_of(" (at most ", m.bound, ")");
    if (m.value <= 0.0) return text + "\n";
    text += " at";
    const bool around = m.where.head < 0;  // only elements outside the buffer belong to no head
    if (around) text += text_of(" ", m.where.token < 0 ? "before" : "after", " the buffer");
    const std::pair<const char*, Index> parts[] = {{" token ", m.where.token},       {" key token ", m.where.key_token},
                                                   {" position ", m.where.position}, {" shift ", m.where.shift},
                                                   {" head ", m.where.head},         {" feature ", m.where.feature},
                                                   {" pair ", m.where.pair}};
    for (const auto& [name_of_part, index] : parts)
        if (!around && index >= 0) text += text_of(name_of_part, index);
    return text + text_of(": expected ", m.expected, ", got ", m.got, "\n");
}

}  // namespace detail_testing

ROPE_ABI inline Status check(const Model& model, const Options& options) noexcept {
    using rope::detail::invalid;
    using rope::detail::is_finite;
    constexpr Index kMost = 4096;
    constexpr Index kMostPosition = 2147483647;
    if (const Status s = rope::check(model.frequencies); !s.ok()) return s;
    const HeadSlice& slice = model.slice;
    const Index rotary_dim = 2 * static_cast<Index>(model.frequencies.inv_freq.size());
    if (const Status s = rope::detail::check_slice(slice.head_dim, rotary_dim, slice.rotary_offset); !s.ok()) return s;
    if (slice.head_dim > kMost)
        return invalid("head_dim is ", slice.head_dim, "; a measured rotation must have at most ", kMost,
                       ", because the dense matrix has head_dim^2 entries.");
    if (options.heads < 1 || options.heads > kMost)
        return invalid("options.heads is ", options.heads, "; it must be from 1 to ", kMost, ".");
    if (options.positions.empty() && (options.seq < 1 || options.seq > kMost))
        return invalid("options.seq is ", options.seq, "; it must be from 1 to ", kMost, ".");
    if (options.positions.size() > static_cast<std::size_t>(kMost))
        return invalid("options.positions has ", options.positions.size(), " entries; it must have at most ", kMost,
                       ".");
    if (options.max_position < 1 || options.max_position > kMostPosition)
        return invalid("options.max_position is ", options.max_position, "; it must be from 1 to ", kMostPosition, ".");
    for (std::size_t i = 0; i < options.positions.size(); ++i)
        if (options.positions[i] < 0 || options.positions[i] > options.max_position)
            return invalid("options.positions[", i, "] is ", options.positions[i],
                           "; it must be from 0 to options.max_position (", options.max_position, ").");
    for (std::size_t i = 0; i < options.shifts.size(); ++i)
        if (options.shifts[i] < 1)
            return invalid("options.shifts[", i, "] is ", options.shifts[i], "; it must be at least 1.");
    if (!rope::detail::is_positive(options.tolerance) || options.tolerance > 0x1p24)
        return invalid("options.tolerance is ", options.tolerance,
                       "; it must be above 0 and at most 2^24 units of rounding.");
    if (!is_finite(options.angle_epsilon) || options.angle_epsilon < 0.0 || options.angle_epsilon > 1.0)
        return invalid("options.angle_epsilon is ", options.angle_epsilon, "; it must be from 0 to 1.");
    return Status();
}

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

ROPE_ABI inline std::string to_string(const Report& report) {
    using detail_testing::line_of;
    using detail_testing::text_of;
    if (!report.complete) return "nothing was measured: the arguments were refused\n";
    std::string text = text_of(report.subject, report.ok() ? ": ok\n" : ": FAILED\n");
    text += line_of("dense matrix  ", report.dense);
    if (report.dense.measured)
        text += text_of("                        ", report.dense.epsilons,
                        " epsilons of m (|a| + |b|); largest difference anywhere ", report.dense.largest, "\n");
    text += line_of("score shift   ", report.scores);
    text += line_of("norm          ", report.norms);
    text += line_of("inverse       ", report.inverse);
    text += line_of("outside       ", report.outside);
    text += line_of("token alone   ", report.alone);
    if (!report.diagnosis.empty()) text += text_of("  ", report.diagnosis, "\n");
    return text;
}

}  // namespace testing
}  // namespace ROPE_VERSION_NAMESPACE
}  // namespace rope
