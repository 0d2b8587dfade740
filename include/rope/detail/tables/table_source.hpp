// SPDX-License-Identifier: MIT
// TableSource: the numbers that rows of cos and sin are made from, whoever gave them; checks that they fit.
#pragma once

#include <algorithm>
#include <cstddef>
#include <limits>
#include <optional>

#include "../../axis_map.hpp"
#include "../../config.hpp"
#include "../../cos_sin_rows.hpp"
#include "../../errors.hpp"
#include "../../frequencies.hpp"
#include "../../types.hpp"
#include "../positions/position_checks.hpp"

#include "../base/hide_macros.hpp"

namespace rope {
inline namespace ROPE_VERSION_NAMESPACE {
namespace detail {

inline constexpr Index kNoLongest = std::numeric_limits<Index>::max();

struct ROPE_ABI TableSource {
    Status status = {};  // why there are no frequencies; who makes a table raises it
    Frequencies f = {};
    HeadSlice slice = {};
    std::optional<Layout> layout = {};
    Index longest = kNoLongest;      // sequence that the frequencies are for
    const char* schedule = nullptr;  // name in the Config; null for given frequencies
    Index seq_len = 0;               // given with the Config
};

ROPE_ABI inline TableSource table_source(const Config& config, Index seq_len) {
    TableSource s;
    s.status = make_frequencies(config, seq_len, s.f);
    s.slice = {config.head_dim, config.rotary_offset};
    s.layout = config.layout;
    s.longest = longest_sequence(config, seq_len);
    s.schedule = schedule_name(config.schedule);
    s.seq_len = seq_len;
    return s;
}
ROPE_ABI inline TableSource table_source(const Frequencies& frequencies, HeadSlice slice) {
    return {check(frequencies), frequencies, slice};
}

/// Tables hold positions from -2^62 to 2^62.
inline constexpr Index kLastPosition = std::numeric_limits<Index>::max() / 2 + 1;

ROPE_ABI inline Status check_max_positions(Index max_positions) noexcept {
    if (max_positions >= 1) return Status();
    return invalid("max_positions is {}; it must be at least 1.", {max_positions});
}
/// For at least one position.
ROPE_ABI inline Status check_first_position(Index max_positions, Index first_position) noexcept {
    if (first_position >= -kLastPosition && first_position <= kLastPosition - max_positions) return Status();
    return invalid("first_position is {}; the {} positions from there must lie between -2^62 and 2^62.",
                   {first_position, max_positions});
}
/// Requires frequencies that are for the last position of a table.
ROPE_ABI inline Status check_last_position(const TableSource& s, Index max_positions, Index first_position) noexcept {
    if (max_positions < 1 || first_position > kLastPosition - max_positions) return Status();  // refused later
    if (first_position + max_positions <= s.longest) return Status();
    return invalid(
        "seq_len is {}; with this schedule ({}) its frequencies are for sequences of at most {} tokens, and the table "
        "is to hold positions up to {}: name the longest sequence as seq_len.",
        {s.seq_len, s.schedule, s.longest, first_position + max_positions - 1});
}

ROPE_ABI inline Status check_is_not_mixed(const TableSource& s, const AxisMap& map) noexcept {
    if (!map.is_mixed || s.schedule == nullptr) return Status();
    return invalid("map is mixed; frequencies of mixed axes are numbers: give Frequencies.");
}

/// Requires a map that fits the frequencies, and no growth (xPos) with mixed axes.
ROPE_ABI inline Status check_map(const TableSource& s, const AxisMap& map, std::size_t growing) noexcept {
    if (const Status mixed = check_is_not_mixed(s, map); !mixed.ok()) return mixed;
    const Status fits = check(map, static_cast<Index>(s.f.inv_freq.size()));
    if (!fits.ok() || !map.is_mixed || growing == 0) return fits;
    return invalid("log_growth has {} entries; with mixed axes it must be empty.", {growing});
}

/// Requires both Configs to rotate the same features.
ROPE_ABI inline Status check_features(const TableSource& of_old, const TableSource& of_new) noexcept {
    const auto differ = [](const char* name, auto a, auto b) {
        return invalid(
            "{} is {} in the old Config and {} in the new one; a move cannot change which features turn together.",
            {name, a, b});
    };
    const std::size_t a = 2 * of_old.f.inv_freq.size(), b = 2 * of_new.f.inv_freq.size();
    if (of_old.slice.head_dim != of_new.slice.head_dim)
        return differ("head_dim", of_old.slice.head_dim, of_new.slice.head_dim);
    if (a != b) return differ("rotary_dim", a, b);
    if (of_old.slice.rotary_offset != of_new.slice.rotary_offset)
        return differ("rotary_offset", of_old.slice.rotary_offset, of_new.slice.rotary_offset);
    const auto name = [](Layout layout) { return layout == Layout::interleaved ? "interleaved" : "half_split"; };
    if (of_old.layout && of_new.layout && *of_old.layout != *of_new.layout)
        return differ("layout", name(*of_old.layout), name(*of_new.layout));
    return Status();
}

/// Requires two sources, each valid by itself, that fit one another and the map.
ROPE_ABI inline Status check_moves(const TableSource& of_old, const TableSource& of_new, const AxisMap& map) noexcept {
    if (of_new.schedule != nullptr) {
        if (const Status s = check_features(of_old, of_new); !s.ok()) return s;
        if (const Status s = check_is_not_mixed(of_new, map); !s.ok()) return s;
    }
    if (of_old.f.inv_freq.size() != of_new.f.inv_freq.size())
        return invalid(
            "inv_freq has {} entries in the old frequencies and {} in the new ones; a move cannot change which "
            "features turn together.",
            {of_old.f.inv_freq.size(), of_new.f.inv_freq.size()});
    const double a = of_old.f.attention_factor, b = of_new.f.attention_factor;
    if (b < 0x1p-32 * a || b > 0x1p32 * a)
        return invalid(
            "attention_factor is {} in the old frequencies and {} in the new ones; that must be 2^-32 to 2^32 "
            "times as much.",
            {a, b});
    return check_map(of_new, map, std::max(of_old.f.log_growth.size(), of_new.f.log_growth.size()));
}

/// The last position that rows of a source can be for.
ROPE_ABI inline Index last_position(const TableSource& s) noexcept { return std::min(kMaxPosition, s.longest - 1); }

/// Rows that are made from a TableSource.
template <class T>
class ROPE_ABI SourcedRows : public CosSinRows<T> {
 protected:
    /// For a slice that has passed check_slice.
    ROPE_ABI void describe(const TableSource& s, HeadSlice slice, Index pairs) noexcept {
        this->pairs_ = pairs;
        this->head_dim_ = slice.head_dim;
        this->rotary_offset_ = slice.rotary_offset;
        this->attention_factor_ = s.f.attention_factor;
        this->grows_ = !s.f.log_growth.empty();
        this->layout_ = s.layout;
    }
};

}  // namespace detail
}  // namespace ROPE_VERSION_NAMESPACE
}  // namespace rope

#include "../base/restore_macros.hpp"
