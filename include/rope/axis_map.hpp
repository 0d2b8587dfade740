// SPDX-License-Identifier: MIT
// AxisMap: the axis that each pair follows, where a token stands on several (time, height, width).
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "config.hpp"
#include "errors.hpp"
#include "frequencies.hpp"
#include "list.hpp"
#include "types.hpp"

#include "detail/base/hide_macros.hpp"

namespace rope {
inline namespace ROPE_VERSION_NAMESPACE {

/// The axis that each pair follows, from 0 to axes - 1. By default all pairs follow the only axis. Made by the
/// functions below, or by hand.
///
///     Qwen2-VL, HunYuan            mrope_sections({16, 24, 24}); a section per axis, as many as there are
///     Qwen3-VL, Qwen3.5            mrope_interleaved({24, 20, 20}); ggml's: LeftOver::fourth_axis
///     Ernie 4.5 VL                 mrope_alternating({22, 22, 20})
///     Qwen's and Llama 4's ViT     mrope_sections({d/4, d/4}) with schedule::Axial{2}
///     Pixtral                      mrope_sections({d/4, d/4}) with dealt_out(frequencies(config), 2)
///     DINOv3                       mrope_sections({d/4, d/4}) with schedule::Axial{2}, base 100, interpolation_factor
///                                  1 / (2 pi), and positions from -1 to 1
///     axial with numbers           mrope_sections({n0, n1, ...}) with Frequencies{numbers of axis 0, of axis 1, ...}:
///                                  lucidrains' axial, video as in Wan
///     rope-vit mixed               mixed_axes(2) with Frequencies{numbers for x, then for y}; heads with numbers of
///                                  their own: Rows for each, and apply on slice_heads
///
/// Here d is rotary_dim. Axes have the order of the positions: t, h, w; for Llama 4 x, y. Positions of images, videos
/// and prompts are made by position_builders.hpp.
struct AxisMap {
    ROPE_CROSSES_AGGREGATE(AxisMap)
    /// 1 .. 8.
    Index axes = 1;
    /// Empty (all follow axis 0), or one entry per entry of Frequencies::inv_freq.
    List<unsigned char> axis_of = {};
    /// A pair rotates by the sum over all axes: inv_freq then has `axes` numbers per pair, first one number of each
    /// pair for the first axis, then one of each for the next axis, and axis_of is empty.
    bool is_mixed = false;
};

// The functions below throw std::invalid_argument for arguments outside the stated ranges. (Without exceptions they
// return a map of 0 axes, which nothing accepts.)

/// Axis 0 for the first sections[0] pairs, axis 1 for the next sections[1], and so on. From 1 to 8 sections, not
/// negative, of 1 to 2^19 pairs together. Source: Qwen2-VL, arXiv:2409.12191.
ROPE_ABI inline AxisMap mrope_sections(const List<Index>& sections);

/// The axis of the last pairs, which would follow an axis whose section is used up.
enum class LeftOver : unsigned char {
    first_axis,   ///< they follow t: Hugging Face, vLLM, SGLang
    fourth_axis,  ///< they follow a fourth axis: ggml
};

/// t, h, w, t, h, w, ...: pair i follows h if i % 3 is 1 and i < 3 * sections[1], w if i % 3 is 2 and i < 3 *
/// sections[2], else t (LeftOver: or a fourth axis). Sections have the order t, h, w. Source: Qwen3-VL's published
/// code.
ROPE_ABI inline AxisMap mrope_interleaved(const List<Index>& sections, LeftOver left_over = LeftOver::first_axis);

/// h, w, h, w, ... for the first 2 * sections[0] pairs, then t for sections[2]. Sections have the order h, w (which
/// must be equal), t; positions have the order t, h, w. Source: Ernie 4.5 VL's published code.
ROPE_ABI inline AxisMap mrope_alternating(const List<Index>& sections);

/// Every pair follows every axis, with a frequency for each. From 1 to 8 axes. Source: rope-vit, arXiv:2403.13298.
ROPE_ABI inline AxisMap mixed_axes(Index axes);

/// Whether a map can be used with so many frequencies.
ROPE_ABI inline Status check(const AxisMap& map, Index frequencies) noexcept;

/// Frequencies dealt out like cards: axis a gets entries a, a + axes, a + 2 * axes, ..., and all of axis 0 come first.
/// For mrope_sections. Throws std::invalid_argument when check(frequencies) is not ok and for axes outside 1 .. 8.
/// Source: Pixtral, arXiv:2410.07073.
ROPE_ABI inline Frequencies dealt_out(const Frequencies& frequencies, Index axes);

// ---- Definitions ----

namespace detail {

inline constexpr Index kMaxAxes = 8;
inline constexpr Index kMaxPairs = kMaxHeadDim / 2;

ROPE_ABI inline Status check_axis_count(Index axes) noexcept {
    if (axes >= 1 && axes <= kMaxAxes) return Status();
    return invalid("axes is {}; it must be from 1 to {}.", {axes, kMaxAxes});
}

ROPE_ABI inline Status check_sections(const List<Index>& sections, std::size_t least, std::size_t most) noexcept {
    if (least == most && sections.size() != most)
        return invalid("sections has {} entries; it must have {}: pairs that follow time, height and width.",
                       {sections.size(), most});
    if (sections.size() < least || sections.size() > most)
        return invalid("sections has {} entries; it must have from {} to {}, which are numbers of pairs, one per axis.",
                       {sections.size(), least, most});
    Index sum = 0;
    for (std::size_t i = 0; i < sections.size(); ++i) {
        if (sections[i] < 0 || sections[i] > kMaxPairs - sum)
            return invalid("sections[{}] is {}; sections must not be negative, and there are at most {} pairs in all.",
                           {i, sections[i], kMaxPairs});
        sum += sections[i];
    }
    return sum > 0 ? Status() : invalid("sections are all 0; there must be at least one pair.");
}

/// Entry order[0], order[1], ... of frequencies that are checked.
ROPE_ABI inline Frequencies in_order(const Frequencies& f, const List<Index>& order) {
    const auto picked = [&order](const List<double>& from) {
        List<double> to;
        if (!from.empty())
            for (const Index i : order) to.push_back(from[static_cast<std::size_t>(i)]);
        return to;
    };
    return {picked(f.inv_freq),   picked(f.inv_freq_low),   f.attention_factor,
            picked(f.log_growth), picked(f.log_growth_low), f.centre};
}

/// Pairs in the order of their axes, so that the pairs of one axis are contiguous for vectors.
struct ROPE_ABI AxisOrder {
    /// Places begin .. end - 1 follow the same axis.
    struct Run {
        Index axis, begin, end;
    };
    std::vector<Run> runs;
    /// The pair at each place; empty when pair i is at place i.
    List<Index> pair_at;

    ROPE_ABI Index pair(Index place) const noexcept {
        return pair_at.empty() ? place : pair_at[static_cast<std::size_t>(place)];
    }
};

/// For a map that is checked and not mixed.
ROPE_ABI inline AxisOrder axis_order(const AxisMap& map, Index pairs) {
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

}  // namespace detail

ROPE_ABI inline AxisMap mrope_sections(const List<Index>& sections) {
    if (!detail::ok_or_raise(detail::check_sections(sections, 1, static_cast<std::size_t>(detail::kMaxAxes))))
        return {0};
    AxisMap map = {static_cast<Index>(sections.size())};
    for (std::size_t axis = 0; axis < sections.size(); ++axis)
        map.axis_of.insert(map.axis_of.end(), static_cast<std::size_t>(sections[axis]),
                           static_cast<unsigned char>(axis));
    return map;
}

ROPE_ABI inline AxisMap mrope_interleaved(const List<Index>& sections, LeftOver left_over) {
    if (!detail::ok_or_raise(detail::check_sections(sections, 3, 3))) return {0};
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

ROPE_ABI inline AxisMap mrope_alternating(const List<Index>& sections) {
    if (!detail::ok_or_raise(detail::check_sections(sections, 3, 3))) return {0};
    if (sections[0] != sections[1]) {
        detail::ok_or_raise(detail::invalid("sections[1] is {}; h and w alternate, so it must be sections[0] ({}).",
                                            {sections[1], sections[0]}));
        return {0};
    }
    AxisMap map = {3};
    for (Index i = 0; i < 2 * sections[0]; ++i) map.axis_of.push_back(static_cast<unsigned char>(i % 2 == 0 ? 1 : 2));
    map.axis_of.insert(map.axis_of.end(), static_cast<std::size_t>(sections[2]), 0);
    return map;
}

ROPE_ABI inline AxisMap mixed_axes(Index axes) {
    if (!detail::ok_or_raise(detail::check_axis_count(axes))) return {0};
    return {axes, {}, true};
}

ROPE_ABI inline Status check(const AxisMap& map, Index frequencies) noexcept {
    if (const Status s = detail::check_axis_count(map.axes); !s.ok()) return s;
    const Index count = static_cast<Index>(map.axis_of.size());
    if (map.is_mixed && count != 0)
        return detail::invalid("axis_of has {} entries; with mixed axes it must be empty.", {count});
    if (map.is_mixed && frequencies % map.axes != 0)
        return detail::invalid("inv_freq has {} entries; with mixed axes it must have as many for each of the {} axes.",
                               {frequencies, map.axes});
    if (count != 0 && count != frequencies)
        return detail::invalid(
            "axis_of has {} entries; it must have one per entry of inv_freq ({}): write sections that "
            "add up to {}, which is rotary_dim / 2.",
            {count, frequencies, frequencies});
    for (Index i = 0; i < count; ++i) {
        const Index axis = map.axis_of[static_cast<std::size_t>(i)];
        if (axis >= map.axes)
            return detail::invalid("axis_of[{}] is {}; it must be below axes ({}).", {i, axis, map.axes});
    }
    return Status();
}

ROPE_ABI inline Frequencies dealt_out(const Frequencies& frequencies, Index axes) {
    if (!detail::ok_or_raise(check(frequencies)) || !detail::ok_or_raise(detail::check_axis_count(axes)))
        return Frequencies();
    List<Index> order;
    for (Index axis = 0; axis < axes; ++axis)
        for (Index i = axis; i < static_cast<Index>(frequencies.inv_freq.size()); i += axes) order.push_back(i);
    return detail::in_order(frequencies, order);
}

}  // namespace ROPE_VERSION_NAMESPACE
}  // namespace rope

#include "detail/base/restore_macros.hpp"
