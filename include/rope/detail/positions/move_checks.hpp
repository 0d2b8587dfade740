// SPDX-License-Identifier: MIT
// Checks before keys move from one schedule or position to another.
#pragma once

#include <algorithm>
#include <cstddef>

#include "../../axis_map.hpp"
#include "../../config.hpp"
#include "../../errors.hpp"
#include "../../frequencies.hpp"
#include "../../types.hpp"
#include "position_checks.hpp"

#include "../base/hide_macros.hpp"

namespace rope {
inline namespace ROPE_VERSION_NAMESPACE {
namespace detail {

/// Requires both Configs to rotate the same features.
ROPE_ABI inline Status check_features(const Config& of_old, const Config& of_new) noexcept {
    const auto differ = [](const char* name, auto a, auto b) {
        return invalid(
            "{} is {} in the old Config and {} in the new one; a move cannot change which features turn together.",
            {name, a, b});
    };
    if (of_old.head_dim != of_new.head_dim) return differ("head_dim", of_old.head_dim, of_new.head_dim);
    if (rotary_dim(of_old) != rotary_dim(of_new)) return differ("rotary_dim", rotary_dim(of_old), rotary_dim(of_new));
    if (of_old.rotary_offset != of_new.rotary_offset)
        return differ("rotary_offset", of_old.rotary_offset, of_new.rotary_offset);
    const auto name = [](Layout layout) { return layout == Layout::interleaved ? "interleaved" : "half_split"; };
    if (of_old.layout && of_new.layout && *of_old.layout != *of_new.layout)
        return differ("layout", name(*of_old.layout), name(*of_new.layout));
    return Status();
}

/// Requires frequencies, each valid by itself, that fit one another and the map. `of_old` is null within one schedule.
ROPE_ABI inline Status check_moves(const Frequencies& of_new, const Frequencies* of_old, const AxisMap& map) noexcept {
    const std::size_t entries = of_new.inv_freq.size();
    std::size_t growing = of_new.log_growth.size();
    if (of_old != nullptr) {
        if (of_old->inv_freq.size() != entries)
            return invalid(
                "inv_freq has {} entries in the old frequencies and {} in the new ones; a move cannot change which "
                "features turn together.",
                {of_old->inv_freq.size(), entries});
        const double a = of_old->attention_factor, b = of_new.attention_factor;
        if (b < 0x1p-32 * a || b > 0x1p32 * a)
            return invalid(
                "attention_factor is {} in the old frequencies and {} in the new ones; that must be 2^-32 to 2^32 "
                "times as much.",
                {a, b});
        growing = std::max(growing, of_old->log_growth.size());
    }
    return check_map(map, entries, growing);
}

ROPE_ABI inline Status check_delta(Index delta, bool has_two_schedules) noexcept {
    if (has_two_schedules)
        return invalid("delta is {}; between two schedules a move depends on the position: give old and new positions.",
                       {delta});
    if (delta >= -2 * kMaxPosition && delta <= 2 * kMaxPosition) return Status();
    return out_of_range("delta is {}; it must be from -2^53 to 2^53.", {delta});
}

}  // namespace detail
}  // namespace ROPE_VERSION_NAMESPACE
}  // namespace rope

#include "../base/restore_macros.hpp"
