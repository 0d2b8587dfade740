// SPDX-License-Identifier: MIT
// Config: the numbers of a model that define which part of a head rotates, and how fast.
#pragma once

#include <optional>

#include "errors.hpp"
#include "list.hpp"
#include "schedule.hpp"
#include "types.hpp"

#include "detail/angles/schedule_checks.hpp"

#include "detail/base/hide_macros.hpp"

namespace rope {
inline namespace ROPE_VERSION_NAMESPACE {

/// One rotary embedding, as a model's configuration describes it. An aggregate: set the fields that differ.
///
///     rope::Config config;
///     config.head_dim = 128;
///     config.base = 500000.0;  // "rope_theta"
///     config.schedule = rope::schedule::Llama3();
///
/// Pair i of position p rotates by  p * w_i / interpolation_factor  radians, where w_i = base^(-2i / rotary_dim) or as
/// the schedule makes it, and is multiplied by attention_factor and by the magnitude of the schedule, if it has one.
/// Source: Su et al., "RoFormer", arXiv:2104.09864; position interpolation: Chen et al., arXiv:2306.15595.
struct Config {
    ROPE_CROSSES_AGGREGATE(Config)
    /// Features of one head; 1 .. 2^20.
    Index head_dim = 0;
    /// Features that rotate: even, 2 .. head_dim; 0 means all of head_dim, which must then be even. The rest of the
    /// head passes through. (Partial rotary: head_dim * "partial_rotary_factor".)
    Index rotary_dim = 0;
    /// First feature of the slice that rotates; 0 .. head_dim - rotary_dim.
    Index rotary_offset = 0;
    /// "rope_theta": finite and above zero. 1 is allowed: every pair then rotates by one radian per position.
    double base = 10000.0;
    /// Divides every angle, after any schedule: position interpolation. Finite and above zero.
    double interpolation_factor = 1.0;
    /// Magnitude m: stands on cos and on sin of q and of k alike, so scores get m^2. From 2^-32 to 2^32, so that m^2
    /// and 1/m^2 are floats.
    double attention_factor = 1.0;
    /// How frequencies are made; see schedule.hpp.
    Schedule schedule = {};
    /// The layout that the model's weights are made for. Unless it is left out, a call with the other one is an error.
    std::optional<Layout> layout = std::nullopt;
    /// Whether every pair rotates by minus the angle (nanochat).
    bool is_reversed = false;
    /// Whether each w_i, after the schedule, is multiplied by e^log_scale[i], which the model learned (LeRoPE:
    /// Mistral-Large-4).
    bool has_log_scale = false;
    /// One number per pair, from -22 to 22, which the model's weights have. If has_log_scale is set and the list is
    /// empty, frequencies(config) leaves the factors out, and making a table is an error.
    List<double> log_scale = {};
};

/// Where the rotated slice lies in a head, for tables made from Frequencies, which know only the slice itself.
struct HeadSlice {
    ROPE_CROSSES_AGGREGATE(HeadSlice)
    /// Features of one head; 0 means the slice is the head.
    Index head_dim = 0;
    /// First feature of the slice.
    Index rotary_offset = 0;
};

namespace detail {

constexpr Index kMaxHeadDim = Index(1) << 20;

ROPE_ABI inline Index rotary_dim(const Config& c) noexcept { return c.rotary_dim != 0 ? c.rotary_dim : c.head_dim; }

/// The slice [rotary_offset, rotary_offset + rotary_dim) must lie in the head and hold whole pairs.
ROPE_ABI inline Status check_slice(Index head_dim, Index rotary_dim, Index rotary_offset) noexcept {
    if (head_dim < 1 || head_dim > kMaxHeadDim)
        return invalid("head_dim is {}; it must be from 1 to {}.", {head_dim, kMaxHeadDim});
    if (rotary_dim < 2 || rotary_dim % 2 != 0 || rotary_dim > head_dim)
        return invalid(
            "rotary_dim is {}; it must be even, at least 2 and at most head_dim ({}); a rotary_dim of 0 in a Config "
            "stands for head_dim.",
            {rotary_dim, head_dim});
    if (rotary_offset < 0 || rotary_offset > head_dim - rotary_dim)
        return invalid(
            "rotary_offset is {}; it must be from 0 to {}, so that {} rotated features fit into head_dim ({}).",
            {rotary_offset, head_dim - rotary_dim, rotary_dim, head_dim});
    return Status();
}

ROPE_COLD Status check_log_scale(const Config& c) noexcept {
    const std::size_t pairs = static_cast<std::size_t>(rotary_dim(c) / 2);
    if (!c.log_scale.empty() && (!c.has_log_scale || c.log_scale.size() != pairs))
        return invalid("log_scale has {} entries; it must have one per pair ({}), and none unless has_log_scale.",
                       {c.log_scale.size(), pairs});
    for (std::size_t i = 0; i < c.log_scale.size(); ++i)
        if (!is_finite(c.log_scale[i]) || c.log_scale[i] < -22.0 || c.log_scale[i] > 22.0)
            return invalid("log_scale[{}] is {}; it must be from -22 to 22.", {i, c.log_scale[i]});
    return Status();
}

ROPE_ABI inline Status check_attention_factor(double m) noexcept {
    if (is_finite(m) && m >= 0x1p-32 && m <= 0x1p32) return Status();
    return invalid("attention_factor is {}; it must be from 2^-32 to 2^32.", {m});
}

/// A layout read from a file may be neither.
ROPE_ABI inline Status check_layout(Layout layout) noexcept {
    if (layout == Layout::interleaved || layout == Layout::half_split) return Status();
    return invalid("layout is {}; it must be Layout::interleaved (0) or Layout::half_split (1).",
                   {static_cast<int>(layout)});
}

}  // namespace detail

/// Whether a Config can be used. The functions that take one call this first and throw its message.
ROPE_ABI inline Status check(const Config& config) noexcept {
    const Status slice = detail::check_slice(config.head_dim, detail::rotary_dim(config), config.rotary_offset);
    if (!slice.ok()) return slice;
    if (!detail::is_positive(config.base))
        return detail::invalid("base is {}; it must be finite and above 0.", {config.base});
    if (!detail::is_positive(config.interpolation_factor))
        return detail::invalid("interpolation_factor is {}; it must be finite and above 0.",
                               {config.interpolation_factor});
    if (const Status s = detail::check_attention_factor(config.attention_factor); !s.ok()) return s;
    if (const Status s = config.layout ? detail::check_layout(*config.layout) : Status(); !s.ok()) return s;
    if (const Status s = detail::check_log_scale(config); !s.ok()) return s;
    return detail::check_schedule(config.schedule, detail::rotary_dim(config), config.base);
}

}  // namespace ROPE_VERSION_NAMESPACE
}  // namespace rope

#include "detail/base/restore_macros.hpp"
