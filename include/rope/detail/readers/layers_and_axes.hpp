// SPDX-License-Identifier: MIT
// Rules that the readers share: types of layers where a file names none, rotated layers, the other steps on their
// heads, and the pairs of each axis of positions.
#pragma once

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <numeric>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "../../model_config.hpp"
#include "axis_schemes.hpp"
#include "fields.hpp"
#include "hf/model_type.hpp"

ROPE_DETAIL_BEGIN

/// The letters of patterns.
struct PatternLetter {
    char letter;
    LayerType type;
};
inline constexpr PatternLetter kPatternLetters[] = {
    {'f', LayerType::full_attention},       {'s', LayerType::sliding_attention}, {'c', LayerType::chunked_attention},
    {'i', LayerType::sparse_attention},  // indexed
    {'z', LayerType::compressed_attention}, {'l', LayerType::linear_attention},  {'-', LayerType::no_attention},
};

/// The type of layer i of n, by a repeated pattern of letters. With a period, the first or the last letter of the
/// pattern is f, which stands once per period, at that end; the other one fills the rest.
ROPE_COLD LayerType layer_of_pattern(std::string_view pattern, Index period, Traits traits, Index i, Index n) noexcept {
    const Index length = period > 0 ? period : (std::max)(Index(1), static_cast<Index>(pattern.size()));
    const bool ends = ((traits & kLastIsFull) != 0 && i == n - 1) || ((traits & kFirstIsFull) != 0 && i == 0) ||
                      ((traits & kRestIsFull) != 0 && i >= n / length * length);
    if (ends || pattern.empty()) return LayerType::full_attention;
    const Index place = ((traits & kPatternFromTheEnd) != 0 ? i + (length - n % length) % length : i) % length;
    const bool full_is_first = pattern.front() == 'f';
    const bool is_full = place == (full_is_first ? 0 : period - 1);
    const char letter = period <= 0                ? pattern[static_cast<std::size_t>(place)]
                        : is_full == full_is_first ? pattern.front()
                                                   : pattern.back();
    for (const PatternLetter& known : kPatternLetters)
        if (letter == known.letter) return known.type;
    return LayerType::no_attention;  // the tables have no other letter
}

ROPE_COLD bool attends_to_itself(LayerType type) noexcept {
    return type != LayerType::no_attention && type != LayerType::cross_attention;
}

/// 1 or 0 for each layer. (std::vector<bool> would be code of its own in every unit.)
using Flags = std::vector<Index>;

/// Whether each layer is rotated, by its type and number.
ROPE_COLD Flags rotated_layers(const List<LayerType>& types, Traits traits, bool full_ones_are) {
    Flags rotated(types.size());
    const std::size_t shift = (traits & kPatternFromTheEnd) != 0 ? (4 - types.size() % 4) % 4 : 0;
    for (std::size_t i = 0; i < types.size(); ++i)
        rotated[i] = attends_to_itself(types[i]) && !((traits & kEveryFourthNoRope) != 0 && (i + shift) % 4 == 3) &&
                     (full_ones_are || types[i] != LayerType::full_attention);
    return rotated;
}

/// The steps of all layers of a model type; `eps` is the file's epsilon of norms.
ROPE_COLD HeadSteps usual_steps(const HfModel& type, bool has_norm, std::optional<double> eps) {
    HeadSteps s;
    s.v = type.v_norm;
    if (has_norm) s.q = s.k = type.norm;
    for (HeadNorm* norm : {&s.q, &s.k, &s.v})
        if (norm->kind != NormKind::none && type.eps_key != nullptr) norm->eps = eps.value_or(norm->eps);
    if ((type.traits & kRotatesInFloat) != 0) s.rotate_rounding = RotateRounding::none;
    if ((type.traits & kRotatesByRoundedRows) != 0) s.rotate_rounding = RotateRounding::rows;
    s.has_other_steps = (type.traits & kHasOtherSteps) != 0;
    s.keys_are_values = (type.traits & kKeysAreValues) != 0;
    if (s.keys_are_values) {  // DeepSeek-V4: keys alone have a weight
        s.q.weight = NormWeight::none;
        s.q.rounding = NormRounding::root;
    }
    return s;
}
/// Adds the steps of layer i to a model whose layers and rotary embeddings are known.
ROPE_COLD void add_steps(ModelConfig& model, const HfModel& type, HeadSteps s, std::size_t i) {
    if ((type.traits & kNormIfRotated) != 0 && model.config_of_layer[i] < 0) s.q = s.k = HeadNorm();
    if (model.layer_types[i] == LayerType::no_attention) s = HeadSteps();
    s.keys_of_layer = static_cast<Index>(i);
    model.steps.push_back(s);
}
/// Lets the last `shared` of the first n layers, which keep no keys, read keys of the last layer of their type that
/// does or, where all n are shared, of another model.
ROPE_COLD void share_last_keys(ModelConfig& model, std::size_t n, Index shared) {
    const List<LayerType>& types = model.layer_types;
    List<HeadSteps>& steps = model.steps;
    const std::size_t storing = n - (std::min)(n, static_cast<std::size_t>(shared));
    for (std::size_t i = 0; storing == 0 && i < n; ++i) steps[i].keys_of_layer = -1;
    Index last_of[256];  // for each number of a LayerType; -1: there is none
    std::fill(std::begin(last_of), std::end(last_of), Index(-1));
    for (std::size_t i = 0; i < n; ++i) {
        Index& last = last_of[static_cast<std::size_t>(types[i])];
        if (i < storing)
            last = static_cast<Index>(i);
        else if (last >= 0)
            steps[i].keys_of_layer = last;
    }
}

/// Writes the axes into the model. `path` is where the sections stand, for errors.
ROPE_COLD void set_axes(ModelConfig& model, const AxisScheme& scheme, const std::vector<Index>& sections, Index pairs,
                        const std::string& path, Diagnostics& diagnostics) {
    if (!fits(scheme, sections, pairs)) {
        const Index sum = std::accumulate(sections.begin(), sections.end(), Index(0));
        diagnostics.fail("{} has {} sections with a sum of {}; there must be {} with as many pairs as turn ({}).",
                         {path, sections.size(), sum, scheme.count, pairs});
    }
    if (!diagnostics.ok()) return;
    const AxisMap map = scheme.map(sections);
    if (!model.axis_map.axis_of.empty() && model.axis_map.axis_of != map.axis_of)
        diagnostics.fail("{} is not that of the other layer types; a model must have one.", {path});
    model.axis_map = map;
}

ROPE_DETAIL_END
