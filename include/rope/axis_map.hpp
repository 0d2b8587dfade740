// SPDX-License-Identifier: MIT
// AxisMap: the axis that each pair follows, where a token stands on several (time, height, width).
#pragma once

#include "config.hpp"
#include "errors.hpp"
#include "frequencies.hpp"
#include "list.hpp"
#include "types.hpp"

#include "detail/base/hide_macros.hpp"

ROPE_BEGIN

/// The axis that each pair follows, from 0 to axes - 1. By default all pairs follow the only axis. Made by the
/// functions below, or by hand.
///
///     Qwen2-VL, HunYuan            mrope_sections({16, 24, 24}); a section per axis, as many as there are
///     Qwen3-VL, Qwen3.5            mrope_interleaved({24, 20, 20}); ggml's: LeftOver::fourth_axis
///     Ernie 4.5 VL, Ming           mrope_alternating({22, 22, 20}), mrope_alternating({12, 12, 8})
///     openPangu VL                 mrope_apportioned({24, 20, 20})
///     Qwen's and Llama 4's ViT     mrope_sections({d/4, d/4}) with schedule::Axial{2}
///     Pixtral                      mrope_sections({d/4, d/4}) with dealt_out(frequencies(config), 2)
///     DINOv3                       mrope_sections({d/4, d/4}) with schedule::Axial{2}, base 100, interpolation_factor
///                                  1 / (2 pi), and positions from -1 to 1
///     axial with numbers           mrope_sections({n0, n1, ...}) with Frequencies{numbers of axis 0, of axis 1, ...}:
///                                  lucidrains' axial, video as in Wan
///     rope-vit mixed               mixed_axes(2) with Frequencies{numbers for x, then for y}; heads with numbers of
///                                  their own: Rows(frequencies, map, slice, heads). Before training:
///                                  mixed_frequencies
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

// The functions below throw std::invalid_argument for arguments outside the stated ranges.

/// Axis 0 for the first sections[0] pairs, axis 1 for the next sections[1], and so on. From 1 to 8 sections, not
/// negative, of 1 to 2^19 pairs together. Source: Qwen2-VL, arXiv:2409.12191.
ROPE_API AxisMap mrope_sections(const List<Index>& sections);

/// The axis of the last pairs, which would follow an axis whose section is used up.
enum class LeftOver : unsigned char {
    first_axis,   ///< they follow t: Hugging Face, vLLM, SGLang
    fourth_axis,  ///< they follow a fourth axis: ggml
};

/// t, h, w, t, h, w, ...: pair i follows h if i % 3 is 1 and i < 3 * sections[1], w if i % 3 is 2 and i < 3 *
/// sections[2], else t (LeftOver: or a fourth axis). Sections have the order t, h, w. Source: Qwen3-VL's published
/// code.
ROPE_API AxisMap mrope_interleaved(const List<Index>& sections, LeftOver left_over = LeftOver::first_axis);

/// h, w, h, w, ... for the first 2 * sections[0] pairs, then t for sections[2]. Sections have the order h, w (which
/// must be equal), t; positions have the order t, h, w. Source: Ernie 4.5 VL's published code.
ROPE_API AxisMap mrope_alternating(const List<Index>& sections);

/// Pairs apportioned to t, h and w as seats are to parties: the last pair follows t, and each other one follows the axis
/// with the smallest share of its section placed so far, the first one of equals, and never twice the same axis in turn
/// while another has pairs left. Sections have the order t, h, w, and that of t is at least 1. Source: openPangu VL's
/// published code.
ROPE_API AxisMap mrope_apportioned(const List<Index>& sections);

/// Every pair follows every axis, with a frequency for each. From 1 to 8 axes. Source: rope-vit, arXiv:2403.13298.
ROPE_API AxisMap mixed_axes(Index axes);

/// The frequencies for two mixed axes before training, of `pairs` pairs, which must be even: with b_j = base^(-2j /
/// pairs), j < pairs / 2, pair j rotates by b_j per step in the direction (cos a, sin a), and pair pairs / 2 + j by b_j
/// at right angles to it. The model draws a direction a, in radians, for each head. Throws std::invalid_argument for
/// pairs that are odd or outside 2 .. 2^19, a base that is not finite and above 0, and an angle that is not from -2^32 to
/// 2^32. Source: rope-vit, arXiv:2403.13298, whose base is 10.
ROPE_API Frequencies mixed_frequencies(Index pairs, double base, double angle);

/// Whether a map can be used with so many frequencies.
ROPE_API Status check(const AxisMap& map, Index frequencies) noexcept;

/// Frequencies dealt out like cards: axis a gets entries a, a + axes, a + 2 * axes, ..., and all of axis 0 come first.
/// For mrope_sections. Throws std::invalid_argument when check(frequencies) is not ok and for axes outside 1 .. 8.
/// Source: Pixtral, arXiv:2410.07073.
ROPE_API Frequencies dealt_out(const Frequencies& frequencies, Index axes);

ROPE_END

#if ROPE_HAS_DEFINITIONS
#    include "detail/positions/axis_map.hpp"
#endif

#include "detail/base/restore_macros.hpp"
