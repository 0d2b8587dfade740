// SPDX-License-Identifier: MIT
// Rules that the readers share: which layer is what where a file names none, which layers are rotated, and how the axes
// of positions share the pairs.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "../../model_config.hpp"

#include "../hide_macros.hpp"

namespace rope {
inline namespace ROPE_VERSION_NAMESPACE {
namespace detail {

using Traits = std::uint64_t;

/// Peculiarities of a model's layers, as bits. Those of one file format begin at kFirstOwnTrait.
inline constexpr Traits kNoRopeOnFullLayers =
    1;  ///< layers with full attention are not rotated (GGUF: where others slide)
inline constexpr Traits kEveryFourthNoRope =
    2;  ///< layers 3, 7, 11, ... are not rotated, unless the file says otherwise
inline constexpr Traits kAlibiWithFortyLayers = 4;  ///< the larger of two models has ALiBi
inline constexpr Traits kScalingOnFullOnly = 8;     ///< layers that slide have no scaling
inline constexpr Traits kLastIsFull = 16;           ///< whatever the pattern, the last layer is full
inline constexpr Traits kFirstIsFull = 32;          ///< whatever the pattern, the first layer is full
inline constexpr Traits kPatternFromTheEnd = 64;    ///< the pattern ends with the last layer
inline constexpr Traits kReordersFeatures =
    128;  ///< the published code rotates in the other layout than the weights have
inline constexpr Traits kFirstOwnTrait = 256;

/// The type of layer i of n, after a pattern of letters that repeats: f is full, s slides, c sees its chunk, i is
/// sparse (indexed), z is compressed, and - does not attend. With a period, the pattern is its first or last letter, whichever is f, and the
/// other one repeated.
ROPE_COLD LayerType layer_of_pattern(std::string_view pattern, Index period, Traits traits, Index i, Index n) noexcept {
    const bool ends = ((traits & kLastIsFull) != 0 && i == n - 1) || ((traits & kFirstIsFull) != 0 && i == 0);
    if (ends || pattern.empty()) return LayerType::full_attention;
    const Index length = period > 0 ? period : static_cast<Index>(pattern.size());
    const Index place = ((traits & kPatternFromTheEnd) != 0 ? i + (length - n % length) % length : i) % length;
    char letter = 'f';
    if (period <= 0) {
        letter = pattern[static_cast<std::size_t>(place)];
    } else {
        const bool full_is_first = pattern.front() == 'f';
        if (place != (full_is_first ? 0 : period - 1)) letter = full_is_first ? pattern.back() : pattern.front();
    }
    return letter == 's'   ? LayerType::sliding_attention
           : letter == 'c' ? LayerType::chunked_attention
           : letter == 'i' ? LayerType::sparse_attention
           : letter == 'z' ? LayerType::compressed_attention
           : letter == '-' ? LayerType::no_attention
                           : LayerType::full_attention;
}

ROPE_COLD bool attends_to_itself(LayerType type) noexcept {
    return type != LayerType::no_attention && type != LayerType::cross_attention;
}

/// Whether each layer is rotated, by its type and number.
ROPE_COLD std::vector<bool> rotated_layers(const List<LayerType>& types, Traits traits, bool full_ones_are) {
    std::vector<bool> rotated;
    const std::size_t shift = (traits & kPatternFromTheEnd) != 0 ? (4 - types.size() % 4) % 4 : 0;
    for (std::size_t i = 0; i < types.size(); ++i)
        rotated.push_back(attends_to_itself(types[i]) &&
                          !((traits & kEveryFourthNoRope) != 0 && (i + shift) % 4 == 3) &&
                          (full_ones_are || types[i] != LayerType::full_attention));
    return rotated;
}

/// Of the first n layers, the last `shared` keep no keys: they read those of the last one of their type that does, or,
/// where all n are shared, those of another model.
ROPE_COLD void share_last_keys(List<HeadSteps>& steps, const List<LayerType>& types, std::size_t n,
                               Index shared) {
    const std::size_t storing = n - std::min(n, static_cast<std::size_t>(shared));
    for (std::size_t i = 0; storing == 0 && i < n; ++i) steps[i].keys_of_layer = -1;
    for (std::size_t i = storing; i < n; ++i)
        for (std::size_t j = 0; j < storing; ++j)
            if (types[j] == types[i]) steps[i].keys_of_layer = static_cast<Index>(j);
}

/// How several axes share the pairs; see axis_map.hpp.
enum class Mrope : unsigned char {
    none,         ///< the table says nothing: the file's keys decide
    chunked,      ///< mrope_sections
    interleaved,  ///< mrope_interleaved
    fourth_axis,  ///< the same, with ggml's fourth axis
    alternating   ///< mrope_alternating; sections are those of height, width and time
};

/// Whether sections of this kind share just so many pairs.
ROPE_COLD bool fits(Mrope kind, const std::vector<Index>& sections, Index pairs) {
    Index sum = 0;
    for (const Index section : sections) sum += section;
    if (sum != pairs || sections.size() < 2 || sections.size() > 4) return false;
    if (kind == Mrope::chunked) return true;
    return sections.size() == 3 && (kind != Mrope::alternating || sections[0] == sections[1]);
}

/// Writes the axes into the model. The sections must fit.
ROPE_COLD void set_axes(ModelConfig& model, Mrope kind, const std::vector<Index>& sections) {
    model.mrope_section = sections;
    model.mrope_interleaved = kind == Mrope::interleaved || kind == Mrope::fourth_axis;
    model.axis_map = kind == Mrope::chunked       ? mrope_sections(sections)
                     : kind == Mrope::interleaved ? mrope_interleaved(sections)
                     : kind == Mrope::fourth_axis ? mrope_interleaved(sections, LeftOver::fourth_axis)
                                                  : mrope_alternating(sections);
}

/// The error about sections that do not fit.
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

#include "../restore_macros.hpp"
