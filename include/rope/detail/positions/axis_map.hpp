// SPDX-License-Identifier: MIT
// Definitions of axis_map.hpp, and the order of pairs by their axes.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

#include "../../axis_map.hpp"
#include "../../errors.hpp"
#include "../../frequencies.hpp"
#include "../../list.hpp"
#include "../../types.hpp"
#include "../angles/frequencies.hpp"

ROPE_DETAIL_BEGIN

inline constexpr Index kMaxAxes = 8;
inline constexpr Index kMaxPairs = kMaxHeadDim / 2;

inline Status check_axis_count(Index axes) noexcept {
    if (axes >= 1 && axes <= kMaxAxes) return Status();
    return invalid("axes is {}; it must be from 1 to {}.", {axes, kMaxAxes});
}

inline Status check_sections(const List<Index>& sections, std::size_t least, std::size_t most) noexcept {
    if (least == most && sections.size() != most)
        return invalid("sections has {} {entry|entries}; it must have {}: pairs that follow time, height and width.",
                       {sections.size(), most});
    if (sections.size() < least || sections.size() > most)
        return invalid(
            "sections has {} {entry|entries}; it must have from {} to {}, which are numbers of pairs, one per axis.",
            {sections.size(), least, most});
    Index sum = 0;
    for (std::size_t i = 0; i < sections.size(); ++i) {
        if (sections[i] < 0 || sections[i] > kMaxPairs - sum)
            return invalid(
                "sections[{}] is {}; sections must not be negative, and there are at most {} {pair|pairs} in all.",
                {i, sections[i], kMaxPairs});
        sum += sections[i];
    }
    return sum > 0 ? Status() : invalid("sections are all 0; there must be at least one pair.");
}

/// Pairs in the order of their axes, so that the pairs of one axis are contiguous for vectors.
struct AxisOrder {
    /// Places begin .. end - 1 follow the same axis.
    struct Run {
        Index axis, begin, end;
    };
    std::vector<Run> runs;
    /// The pair at each place; empty when pair i is at place i.
    List<Index> pair_at;

    Index pair(Index place) const noexcept {
        return pair_at.empty() ? place : pair_at[static_cast<std::size_t>(place)];
    }
};

/// Copies frequencies to `to` in the given order. The lists of `to` keep their memory.
inline void put_in_order(const Frequencies& from, const AxisOrder& order, Frequencies& to) {
    const auto put = [&order](const List<double>& list, List<double>& in) {
        in.resize(list.size());
        for (std::size_t i = 0; i < list.size(); ++i)
            in[i] = list[static_cast<std::size_t>(order.pair(static_cast<Index>(i)))];
    };
    put(from.inv_freq, to.inv_freq);
    put(from.inv_freq_low, to.inv_freq_low);
    put(from.log_growth, to.log_growth);
    put(from.log_growth_low, to.log_growth_low);
    to.attention_factor = from.attention_factor;
    to.centre = from.centre;
}

/// For a map that is checked and not mixed.
inline AxisOrder axis_order(const AxisMap& map, Index pairs) {
    if (map.axis_of.empty()) return {{{0, 0, pairs}}, {}};
    AxisOrder order;
    for (Index axis = 0; axis < map.axes; ++axis) {
        const Index begin = static_cast<Index>(order.pair_at.size());
        for (Index i = 0; i < pairs; ++i)
            if (map.axis_of[static_cast<std::size_t>(i)] == axis) order.pair_at.push_back(i);
        const Index end = static_cast<Index>(order.pair_at.size());
        if (end > begin) order.runs.push_back({axis, begin, end});
    }
    if (std::is_sorted(order.pair_at.begin(), order.pair_at.end())) order.pair_at.clear();
    return order;
}

ROPE_DETAIL_END

#if ROPE_HAS_DEFINITIONS
ROPE_BEGIN

ROPE_API AxisMap mrope_sections(const List<Index>& sections) {
    detail::ok_or_raise(detail::check_sections(sections, 1, static_cast<std::size_t>(detail::kMaxAxes)));
    AxisMap map = {static_cast<Index>(sections.size())};
    for (std::size_t axis = 0; axis < sections.size(); ++axis)
        map.axis_of.insert(map.axis_of.end(), static_cast<std::size_t>(sections[axis]),
                           static_cast<unsigned char>(axis));
    return map;
}

ROPE_API AxisMap mrope_interleaved(const List<Index>& sections, LeftOver left_over) {
    Status s = detail::check_sections(sections, 3, 3);
    if (left_over > LeftOver::fourth_axis)
        s = detail::invalid("left_over is {}; it must be LeftOver::first_axis (0) or LeftOver::fourth_axis (1).",
                            {static_cast<int>(left_over)});
    detail::ok_or_raise(s);
    const Index other = left_over == LeftOver::fourth_axis ? 3 : 0;
    AxisMap map = {other == 3 ? 4 : 3};
    const Index pairs = sections[0] + sections[1] + sections[2];
    for (Index i = 0; i < pairs; ++i) {
        const Index due = i % 3;
        const bool has_more = i < 3 * sections[static_cast<std::size_t>(due)];
        map.axis_of.push_back(static_cast<unsigned char>(has_more ? due : other));
    }
    return map;
}

ROPE_API AxisMap mrope_alternating(const List<Index>& sections) {
    detail::ok_or_raise(detail::check_sections(sections, 3, 3));
    if (sections[0] != sections[1])
        detail::refuse(detail::invalid("sections[1] is {}; h and w alternate, so it must be sections[0] ({}).",
                                       {sections[1], sections[0]}));
    AxisMap map = {3};
    for (Index i = 0; i < 2 * sections[0]; ++i) map.axis_of.push_back(static_cast<unsigned char>(i % 2 == 0 ? 1 : 2));
    map.axis_of.insert(map.axis_of.end(), static_cast<std::size_t>(sections[2]), 0);
    return map;
}

ROPE_API AxisMap mrope_apportioned(const List<Index>& sections) {
    detail::ok_or_raise(detail::check_sections(sections, 3, 3));
    if (sections[0] < 1)
        detail::refuse(
            detail::invalid("sections[0] is {}; the last pair follows time, so it must be at least 1.", {sections[0]}));
    const Index due[3] = {sections[0] - 1, sections[1], sections[2]};
    Index placed[3] = {};
    AxisMap map = {3};
    for (int last = -1; placed[0] + placed[1] + placed[2] < due[0] + due[1] + due[2];) {
        int next = -1;
        for (int axis = 0; axis < 3; ++axis)  // placed / due is the smallest
            if (placed[axis] < due[axis] && axis != last &&
                (next < 0 || placed[axis] * due[next] < placed[next] * due[axis]))
                next = axis;
        if (next < 0) next = last;
        map.axis_of.push_back(static_cast<unsigned char>(next));
        ++placed[next];
        last = next;
    }
    map.axis_of.push_back(0);
    return map;
}

ROPE_API AxisMap mixed_axes(Index axes) {
    detail::ok_or_raise(detail::check_axis_count(axes));
    return {axes, {}, true};
}

ROPE_API Frequencies mixed_frequencies(Index pairs, double base, double angle) {
    Status s;
    if (pairs < 2 || pairs % 2 != 0 || pairs > detail::kMaxPairs)
        s = detail::invalid("pairs is {}; it must be even and from 2 to {}.", {pairs, detail::kMaxPairs});
    else if (!detail::is_positive(base))
        s = detail::invalid("base is {}; it must be finite and above 0.", {base});
    else if (!detail::is_finite(angle) || std::fabs(angle) > detail::kMaxFactor)
        s = detail::invalid("angle is {}; it must be from -2^32 to 2^32.", {angle});
    detail::ok_or_raise(s);
    Frequencies f;
    const double of_x[2] = {std::cos(angle), -std::sin(angle)}, of_y[2] = {std::sin(angle), std::cos(angle)};
    for (const double* const direction : {of_x, of_y})
        for (Index i = 0; i < pairs; ++i) {
            const double j = static_cast<double>(i % (pairs / 2)), count = static_cast<double>(pairs);
            f.inv_freq.push_back(std::pow(base, -2.0 * j / count) * direction[i / (pairs / 2)]);
        }
    detail::ok_or_raise(check(f));
    return f;
}

ROPE_API Status check(const AxisMap& map, Index frequencies) noexcept {
    if (const Status s = detail::check_axis_count(map.axes); !s.ok()) return s;
    const Index count = static_cast<Index>(map.axis_of.size());
    if (map.is_mixed && count != 0)
        return detail::invalid("axis_of has {} {entry|entries}; with mixed axes it must be empty.", {count});
    if (map.is_mixed && frequencies % map.axes != 0)
        return detail::invalid(
            "inv_freq has {} {entry|entries}; with mixed axes it must have as many for each of the {} {axis|axes}.",
            {frequencies, map.axes});
    if (count != 0 && count != frequencies)
        return detail::invalid(
            "The sections of the map (or its axis_of) have {} {pair|pairs}; they must add up to {}, one pair for two "
            "features that rotate.",
            {count, frequencies});
    for (Index i = 0; i < count; ++i) {
        const Index axis = map.axis_of[static_cast<std::size_t>(i)];
        if (axis >= map.axes)
            return detail::invalid("axis_of[{}] is {}; it must be below axes ({}).", {i, axis, map.axes});
    }
    return Status();
}

ROPE_API Frequencies dealt_out(const Frequencies& frequencies, Index axes) {
    detail::ok_or_raise(check(frequencies));
    detail::ok_or_raise(detail::check_axis_count(axes));
    detail::AxisOrder order;
    for (Index axis = 0; axis < axes; ++axis)
        for (Index i = axis; i < static_cast<Index>(frequencies.inv_freq.size()); i += axes) order.pair_at.push_back(i);
    Frequencies dealt;
    detail::put_in_order(frequencies, order, dealt);
    return dealt;
}

ROPE_END
#endif
