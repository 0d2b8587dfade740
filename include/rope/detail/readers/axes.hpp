// SPDX-License-Identifier: MIT
// The axes of a model's positions, as its file says them.
#pragma once

#include <string>
#include <vector>

#include "../../model_config.hpp"
#include "diagnostics.hpp"

namespace rope {
inline namespace ROPE_VERSION_NAMESPACE {
namespace detail {

/// How several axes share the pairs; see axis_map.hpp.
enum class Mrope : unsigned char {
    none,         ///< positions have one axis
    chunked,      ///< mrope_sections
    interleaved,  ///< mrope_interleaved
    fourth_axis,  ///< the same, with ggml's fourth axis
    alternating   ///< mrope_alternating; sections are those of height, width and time
};

/// Whether so many pairs can be shared like that.
ROPE_COLD bool fits(Mrope kind, const std::vector<Index>& sections, Index pairs) {
    Index sum = 0;
    for (const Index section : sections) sum += section;
    if (sum != pairs || sections.size() < 2 || sections.size() > 4) return false;
    if (kind == Mrope::chunked) return true;
    return sections.size() == 3 && (kind != Mrope::alternating || sections[0] == sections[1]);
}

/// For sections that fit.
ROPE_COLD void set_axes(ModelConfig& model, Mrope kind, const std::vector<Index>& sections) {
    model.mrope_section = sections;
    model.mrope_interleaved = kind == Mrope::interleaved || kind == Mrope::fourth_axis;
    model.axis_map = kind == Mrope::chunked       ? mrope_sections(sections)
                     : kind == Mrope::interleaved ? mrope_interleaved(sections)
                     : kind == Mrope::fourth_axis ? mrope_interleaved(sections, LeftOver::fourth_axis)
                                                  : mrope_alternating(sections);
}

/// What is wrong with sections that do not.
ROPE_COLD std::string misfit(const std::string& path, Mrope kind, const std::vector<Index>& sections, Index pairs) {
    Index sum = 0;
    for (const Index section : sections) sum += section;
    const char* const count = kind == Mrope::chunked       ? "2 to 4"
                              : kind == Mrope::alternating ? "3, the first two of which are equal,"
                                                           : "3";
    return path + " has " + std::to_string(sections.size()) + " sections with a sum of " + std::to_string(sum) +
           "; there must be " + count + " with as many pairs as turn (" + std::to_string(pairs) + ").";
}

}  // namespace detail
}  // namespace ROPE_VERSION_NAMESPACE
}  // namespace rope
