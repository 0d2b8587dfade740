// SPDX-License-Identifier: MIT
// From the gradients of angles to those of frequencies, positions and factors: sums over tokens and over pairs.
#pragma once

#include <cstddef>

#include "../../axis_map.hpp"
#include "../../axis_positions.hpp"
#include "../../errors.hpp"
#include "../../frequencies.hpp"
#include "../../positions.hpp"
#include "../../tensor_view.hpp"
#include "../../types.hpp"
#include "../positions/axis_map.hpp"
#include "../positions/position_checks.hpp"
#include "gradients.hpp"
#include "sums.hpp"

ROPE_DETAIL_BEGIN

/// The axis that an entry of the frequencies follows, and its pair.
struct EntryPlace {
    Index axis, pair;
};
inline EntryPlace place_of_entry(const AxisMap& map, Index entry, Index pairs) noexcept {
    if (map.is_mixed) return {entry / pairs, entry % pairs};
    return {map.axis_of.empty() ? 0 : map.axis_of[static_cast<std::size_t>(entry)], entry};
}

/// The position of a token on an axis, as a double; 1 for a plain sum.
struct NoPositions {};
inline double position_of(const NoPositions&, Index, Index, Index, Index) noexcept { return 1.0; }
inline double position_of(const Positions& p, Index, Index b, Index s, Index seq) noexcept {
    return static_cast<double>(p.at(b, s, seq));
}
inline double position_of(const AxisPositions& p, Index axis, Index b, Index s, Index seq) noexcept {
    const AxisPosition at = p.at(axis, b * seq + s);
    return static_cast<double>(at.whole) + at.part;
}

/// out[group][e] += sum over tokens and the heads of a group of position * rows[token][head][pair of e].
template <class Given>
struct TokenSumTask {
    const AnyView &rows, &out;
    const Given& positions;
    const AxisMap& map;
};

/// Tokens whose sum is complete before it is added to the sum of all: the error grows with the number of blocks.
inline constexpr Index kTokensOfSum = 64;
inline constexpr Index kEntriesAtOnce = 64;

/// Entries first .. first + count - 1 of a group. Every entry has its own sum, in the order of tokens, so the bits do
/// not depend on the cut.
template <class Given>
ROPE_NOINLINE void sum_over_tokens(const TokenSumTask<Given>& task, Index group, Index first, Index count) noexcept {
    const AnyView &rows = task.rows, &out = task.out;
    const Index seq = rows.extents[1], tokens = rows.extents[0] * seq, heads = rows.extents[2] / out.extents[2];
    double all[kEntriesAtOnce] = {};
    EntryPlace at[kEntriesAtOnce];
    for (Index i = 0; i < count; ++i) at[i] = place_of_entry(task.map, first + i, rows.extents[3]);
    for (Index begin = 0; begin < tokens; begin += kTokensOfSum) {
        double block[kEntriesAtOnce] = {};
        for (Index t = begin; t < tokens && t < begin + kTokensOfSum; ++t) {
            const Index b = t / seq, s = t % seq;
            double positions[kMaxAxes];
            for (Index axis = 0; axis < task.map.axes; ++axis)
                positions[axis] = position_of(task.positions, axis, b, s, seq);
            for (Index h = group * heads; h < (group + 1) * heads; ++h) {
                const double* const row = element(rows, b, s, h);
                for (Index i = 0; i < count; ++i)
                    add_rounded(block[i], positions[at[i].axis] * row[at[i].pair * rows.strides[3]]);
            }
        }
        for (Index i = 0; i < count; ++i) add_rounded(all[i], block[i]);
    }
    double* const to = element(out, 0, 0, group);
    for (Index i = 0; i < count; ++i) add_rounded(to[(first + i) * out.strides[3]], all[i]);
}
template <class Given>
void add_token_sums(const TokenSumTask<Given>& task, Index begin, Index end) noexcept {
    const Index entries = task.out.extents[3];
    while (begin < end) {
        const Index first = begin % entries, left = entries - first < end - begin ? entries - first : end - begin;
        const Index count = left < kEntriesAtOnce ? left : kEntriesAtOnce;
        sum_over_tokens(task, begin / entries, first, count);
        begin += count;
    }
}

template <class Given>
inline void run_token_sums(const AnyExecutor& executor, const AnyView& rows, const Given& positions, const AxisMap& map,
                           const AnyView& out) {
    if (is_empty(rows) || is_empty(out)) return;
    const TokenSumTask<Given> task = {rows, out, positions, map};
    execute(executor, even_job(task, &add_token_sums<Given>, out.extents[2] * out.extents[3], bytes_of(rows)));
}

/// Requires rows, and one row of outputs that shares nothing with them.
ROPE_COLD Status check_sums(const AnyView& rows, const AnyView& out, Index groups, Index entries) noexcept {
    if (const Status s = check_extents(rows); !s.ok()) return s;
    if (const Status s = check_output(out, 1, 1, groups, entries); !s.ok()) return s;
    return check_shares_nothing(out, rows);
}
ROPE_COLD Status check_row_call(const AnyView& rows, const AnyView& out) noexcept {
    if (const Status s = check_groups(out, rows); !s.ok()) return s;
    return check_sums(rows, out, out.extents[2], rows.extents[3]);
}
inline Index entries_of(const AxisMap& map, const AnyView& angles) noexcept {
    return map.is_mixed ? map.axes * angles.extents[3] : angles.extents[3];
}
/// The checks that do not depend on how positions are given.
ROPE_COLD Status check_frequency_sums(const AnyView& angles, const AxisMap& map, const AnyView& out) noexcept {
    if (const Status s = check_axis_count(map.axes); !s.ok()) return s;
    if (const Status s = check_sums(angles, out, 1, entries_of(map, angles)); !s.ok()) return s;
    return angles.extents[3] > 0 ? check(map, entries_of(map, angles)) : Status();
}
template <class Given>
inline Status check_frequency_call(const AnyView& angles, const Given& positions, const AxisMap& map,
                                   const AnyView& out) noexcept {
    if (const Status s = check_frequency_sums(angles, map, out); !s.ok()) return s;
    const Index axes = std::is_same_v<Given, Positions> ? 1 : map.axes;
    return check_positions("", positions, axes, angles.extents[1], angles.extents[0], kMaxPosition);
}

// ---- Positions ----

struct PositionTask {
    const AnyView &angles, &out;
    const double* inv_freq;
    const AxisMap& map;
};

/// out[axis][token] += sum over heads and the pairs of an axis of frequency * angles[token][head][pair], for tokens
/// begin .. end - 1.
inline void add_positions(const PositionTask& task, Index begin, Index end) noexcept {
    const AnyView& angles = task.angles;
    const Index seq = angles.extents[1], pairs = angles.extents[3], entries = entries_of(task.map, angles);
    for (Index t = begin; t < end; ++t) {
        double sums[kMaxAxes] = {};
        for (Index h = 0; h < angles.extents[2]; ++h) {
            const double* const row = element(angles, t / seq, t % seq, h);
            for (Index first = 0; first < entries; first += pairs) {
                const Index axis = place_of_entry(task.map, first, pairs).axis;
                for (Index i = 0; i < pairs; ++i)
                    add_rounded(sums[task.map.is_mixed ? axis : place_of_entry(task.map, i, pairs).axis],
                                task.inv_freq[first + i] * row[i * angles.strides[3]]);
            }
        }
        for (Index axis = 0; axis < task.map.axes; ++axis) add_rounded(*element(task.out, axis, t, 0), sums[axis]);
    }
}

ROPE_COLD Status check_position_call(const AnyView& angles, const Frequencies& f, const AxisMap& map,
                                     const AnyView& out) noexcept {
    if (const Status s = check(f); !s.ok()) return s;
    if (const Status s = check(map, static_cast<Index>(f.inv_freq.size())); !s.ok()) return s;
    for (std::size_t i = 0; i < f.log_growth.size(); ++i)
        if (f.log_growth[i] != 0.0)
            return invalid(
                "log_growth[{}] is {}; gradients of positions are those of angles alone, so it must be 0: no magnitude "
                "may grow with the position (xPos).",
                {i, f.log_growth[i]});
    if (const Status s = check_extents(angles); !s.ok()) return s;
    const Index entries = static_cast<Index>(f.inv_freq.size());
    const Index pairs = map.is_mixed ? entries / map.axes : entries;
    if (angles.extents[3] != pairs)
        return invalid("angles.head_dim is {}; it must be the number of pairs of the frequencies ({}).",
                       {angles.extents[3], pairs});
    const Index tokens = clamped_product(angles.extents[0], angles.extents[1]);
    if (const Status s = check_output(out, map.axes, tokens, 1, 1); !s.ok()) return s;
    return check_shares_nothing(out, angles);
}

// ---- The attention factor ----

ROPE_COLD Status check_factor_call(const AnyView& magnitudes, double attention_factor) noexcept {
    if (const Status s = check_extents(magnitudes); !s.ok()) return s;
    return check_attention_factor(attention_factor);
}
inline double sum_of_all(const AnyView& v) noexcept {
    double all = 0.0;
    for (Index b = 0; b < v.extents[0] && !is_empty(v); ++b)
        for (Index s = 0; s < v.extents[1]; ++s) {
            double of_token = 0.0;
            for (Index h = 0; h < v.extents[2]; ++h)
                for (Index i = 0; i < v.extents[3]; ++i) add_rounded(of_token, element(v, b, s, h)[i * v.strides[3]]);
            add_rounded(all, of_token);
        }
    return all;
}

ROPE_DETAIL_END

ROPE_SOURCE_BEGIN

template <class Given>
ROPE_API Status run_frequencies(const AnyExecutor& executor, const TensorView<const double>& angles,
                                const Given& positions, const AxisMap& map, const TensorView<double>& out) {
    const AnyView rows = doubles_of("angles", angles), to = doubles_of("out", out);
    const Status s = check_frequency_call(rows, positions, map, to);
    if (s.ok()) run_token_sums(executor, rows, positions, map, to);
    return s;
}

ROPE_API Status run_positions(const AnyExecutor& executor, const TensorView<const double>& angles, const Frequencies& f,
                              const AxisMap& map, const TensorView<double>& out) {
    const AnyView rows = doubles_of("angles", angles), to = doubles_of("out", out);
    if (const Status s = check_position_call(rows, f, map, to); !s.ok() || is_empty(rows)) return s;
    const PositionTask task = {rows, to, f.inv_freq.data(), map};
    execute(executor, even_job(task, &add_positions, rows.extents[0] * rows.extents[1], bytes_of(rows)));
    return Status();
}

ROPE_API Status run_row_sums(const AnyExecutor& executor, const TensorView<const double>& rows,
                             const TensorView<double>& out) {
    const AnyView from = doubles_of("rows", rows), to = doubles_of("out", out);
    const Status s = check_row_call(from, to);
    if (s.ok()) run_token_sums(executor, from, NoPositions(), AxisMap(), to);
    return s;
}

ROPE_SOURCE_END

ROPE_BEGIN

ROPE_API Status check_frequency_gradients(const TensorView<const double>& angles, PositionsArgument&& positions,
                                          const TensorView<double>& out) noexcept {
    const Positions& given = positions;
    return detail::check_frequency_call(detail::doubles_of("angles", angles), given, AxisMap(),
                                        detail::doubles_of("out", out));
}

ROPE_API Status check_frequency_gradients(const TensorView<const double>& angles, const AxisPositions& positions,
                                          const AxisMap& map, const TensorView<double>& out) noexcept {
    return detail::check_frequency_call(detail::doubles_of("angles", angles), positions, map,
                                        detail::doubles_of("out", out));
}

ROPE_API Status check_position_gradients(const TensorView<const double>& angles, const Frequencies& frequencies,
                                         const AxisMap& map, const TensorView<double>& out) noexcept {
    return detail::check_position_call(detail::doubles_of("angles", angles), frequencies, map,
                                       detail::doubles_of("out", out));
}

ROPE_API double attention_factor_gradient(const TensorView<const double>& magnitudes, double attention_factor) {
    const detail::AnyView all = detail::doubles_of("magnitudes", magnitudes);
    detail::ok_or_raise(detail::check_factor_call(all, attention_factor));
    return detail::sum_of_all(all) / attention_factor;
}

ROPE_API Status check_row_sums(const TensorView<const double>& rows, const TensorView<double>& out) noexcept {
    return detail::check_row_call(detail::doubles_of("rows", rows), detail::doubles_of("out", out));
}

ROPE_END
