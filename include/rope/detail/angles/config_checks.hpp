// SPDX-License-Identifier: MIT
// Definitions of config.hpp: checks of a Config.
#pragma once

#include <cstddef>

#include "../../config.hpp"
#include "../../errors.hpp"
#include "../../types.hpp"
#include "../base/bits.hpp"
#include "../base/row_source.hpp"
#include "schedules.hpp"

ROPE_DETAIL_BEGIN

inline Index rotary_dim(const Config& c) noexcept { return c.rotary_dim != 0 ? c.rotary_dim : c.head_dim; }

/// The slice [rotary_offset, rotary_offset + rotary_dim) must lie in the head and hold whole pairs. A rotary_dim of 0
/// stands for head_dim.
inline Status check_slice(Index head_dim, Index rotary_dim, Index rotary_offset) noexcept {
    if (head_dim < 1 || head_dim > kMaxHeadDim)
        return invalid("head_dim is {}; it must be from 1 to {}.", {head_dim, kMaxHeadDim});
    if (rotary_dim == 0 && head_dim % 2 != 0)
        return invalid(
            "head_dim is {}; it must be even, because all of it rotates where rotary_dim is 0. For a part of it, set "
            "rotary_dim.",
            {head_dim});
    if (rotary_dim == 0) rotary_dim = head_dim;
    if (rotary_dim < 2 || rotary_dim % 2 != 0 || rotary_dim > head_dim)
        return invalid("rotary_dim is {}; it must be even, at least 2 and at most head_dim ({}).",
                       {rotary_dim, head_dim});
    if (rotary_offset < 0 || rotary_offset > head_dim - rotary_dim)
        return invalid(
            "rotary_offset is {}; it must be from 0 to {}, so that {} rotated features fit into head_dim ({}).",
            {rotary_offset, head_dim - rotary_dim, rotary_dim, head_dim});
    return Status();
}

/// The same for `pairs` pairs, and sets the default of a slice: the head.
inline Status check_slice(HeadSlice& slice, Index pairs) noexcept {
    if (slice.head_dim == 0) slice.head_dim = 2 * pairs;
    if (slice.head_dim > 0 && slice.head_dim < 2 * pairs)
        return invalid(
            "head_dim is {}; it must be at least {}, the features that {} {pair|pairs} of frequencies rotate.",
            {slice.head_dim, 2 * pairs, pairs});
    return check_slice(slice.head_dim, 2 * pairs, slice.rotary_offset);
}

ROPE_COLD Status check_log_scale(const Config& c) noexcept {
    const std::size_t pairs = static_cast<std::size_t>(rotary_dim(c) / 2);
    if (!c.log_scale.empty() && (!c.has_log_scale || c.log_scale.size() != pairs))
        return invalid(
            "log_scale has {} {entry|entries}; it must have one per pair ({}), and none unless has_log_scale.",
            {c.log_scale.size(), pairs});
    for (std::size_t i = 0; i < c.log_scale.size(); ++i)
        if (!is_finite(c.log_scale[i]) || c.log_scale[i] < -22.0 || c.log_scale[i] > 22.0)
            return invalid("log_scale[{}] is {}; it must be from -22 to 22.", {i, c.log_scale[i]});
    return Status();
}

inline Status check_attention_factor(double m) noexcept {
    if (is_finite(m) && m >= 0x1p-32 && m <= 0x1p32) return Status();
    return invalid("attention_factor is {}; it must be from 2^-32 to 2^32.", {m});
}

ROPE_DETAIL_END

#if ROPE_HAS_DEFINITIONS
ROPE_BEGIN

ROPE_API Status check(const Config& config) noexcept {
    const Status slice = detail::check_slice(config.head_dim, config.rotary_dim, config.rotary_offset);
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

ROPE_END
#endif
