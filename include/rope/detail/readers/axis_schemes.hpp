// SPDX-License-Identifier: MIT
// Schemes by which several axes share the pairs: all that readers know of each, in one list.
#pragma once

#include <cstddef>
#include <numeric>
#include <vector>

#include "../../axis_map.hpp"
#include "../../types.hpp"
#include "../../version.hpp"

ROPE_DETAIL_BEGIN

struct AxisScheme {
    const char* count;        ///< how many sections there are, for sentences
    std::size_t least, most;  ///< the same, as numbers
    std::size_t equal[2];     ///< two sections that are equal; one twice: none need be
    Index least_first;        ///< pairs of the first section, at least
    bool is_interleaved;      ///< a config.json has "mrope_interleaved": true
    /// A reference, so that a line of the list that lacks any of these does not compile.
    AxisMap (&map)(const List<Index>& sections);
};

ROPE_COLD AxisMap interleaved_axes(const List<Index>& sections) { return mrope_interleaved(sections); }
ROPE_COLD AxisMap with_fourth_axis(const List<Index>& sections) {
    return mrope_interleaved(sections, LeftOver::fourth_axis);
}
ROPE_COLD AxisMap time_last_axes(const List<Index>& sections) {
    return mrope_alternating({sections[1], sections[2], sections[0]});
}

// The list. Sections are in the order time, height, width; for alternating axes in the order height, width, time.
inline constexpr AxisScheme kChunkedAxes = {"2 to 4", 2, 4, {0, 0}, 0, false, mrope_sections};
inline constexpr AxisScheme kInterleavedAxes = {"3", 3, 3, {0, 0}, 0, true, interleaved_axes};
inline constexpr AxisScheme kFourthAxis = {"3", 3, 3, {0, 0}, 0, false, with_fourth_axis};  // ggml's
inline constexpr AxisScheme kAlternatingAxes = {
    "3, the first two of which are equal,", 3, 3, {0, 1}, 0, false, mrope_alternating};
inline constexpr AxisScheme kTimeLastAxes = {
    "3, the last two of which are equal,", 3, 3, {1, 2}, 0, false, time_last_axes};
inline constexpr AxisScheme kApportionedAxes = {"3", 3, 3, {0, 0}, 1, true, mrope_apportioned};

/// Whether sections are right for a scheme and `pairs` pairs.
ROPE_COLD bool fits(const AxisScheme& scheme, const std::vector<Index>& sections, Index pairs) {
    const Index sum = std::accumulate(sections.begin(), sections.end(), Index(0));
    if (sum != pairs || sections.size() < scheme.least || sections.size() > scheme.most) return false;
    return sections[0] >= scheme.least_first && sections[scheme.equal[0]] == sections[scheme.equal[1]];
}

ROPE_DETAIL_END
