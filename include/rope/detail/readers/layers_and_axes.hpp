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

/// A model type with a file's numbers of norms in the place of its defaults.
ROPE_COLD HfModel with_numbers(HfModel type, bool has_norm, std::optional<double> eps) {
    if (!has_norm) type.norm = HeadNorm();
    for (HeadNorm* norm : {&type.norm, &type.v_norm})
        if (type.eps_key != nullptr) norm->eps = eps.value_or(norm->eps);
    return type;
}
/// Adds the steps of layer i, in the order of its type, to a model whose layers, rotary embeddings and temperature are
/// known. `type` has the numbers of the file. Layers of one type that are all rotated, or all not, have the same lists.
ROPE_COLD void add_steps(ModelConfig& model, const HfModel& type, std::size_t i, double softmax_scale,
                         bool values_from_keys) {
    const auto has = [&](Traits trait) { return (type.traits & trait) != 0; };
    const bool is_rotated = model.config_of_layer[i] >= 0;
    const bool is_like_last = i > 0 && model.layer_types[i] == model.layer_types[i - 1] &&
                              is_rotated == (model.config_of_layer[i - 1] >= 0);  // in most models
    model.steps.reserve(model.layer_types.size());
    HeadSteps& s = is_like_last ? model.steps.emplace_back(model.steps.back()) : model.steps.emplace_back();
    if (!is_like_last) s.q[0] = s.k[0] = HeadStep();
    s.keys_of_layer = static_cast<Index>(i);
    if (model.layer_types[i] == LayerType::no_attention) return;
    s.softmax_scale = softmax_scale;
    s.values_from_key_projection = values_from_keys && model.layer_types[i] == LayerType::full_attention;
    if (is_like_last) return;
    s.has_other_steps = has(kHasOtherSteps);
    s.keys_are_values = has(kKeysAreValues);
    const AttentionTemperature& t = model.attention_temperature;
    const bool has_temperature = t.scale != 0.0 && (is_rotated ? t.on_layers_with_rope : t.on_layers_without_rope);
    const RotateRounding rounding = has(kRotatesInFloat)         ? RotateRounding::none
                                    : has(kRotatesByRoundedRows) ? RotateRounding::rows
                                                                 : RotateRounding::all;
    HeadNorm of_k = has(kNormIfRotated) && !is_rotated ? HeadNorm() : type.norm, of_q = of_k;
    if (s.keys_are_values) {  // DeepSeek-V4: keys alone have a weight
        of_q.weight = NormWeight::none;
        of_q.rounding = NormRounding::root;
        if (is_rotated) s.output[0] = {HeadStepKind::rotation_back, {}, 1.0, rounding};
    }
    const auto append = [&](HeadStep* next, const HeadNorm& norm, double factor, bool rotates, bool is_q) {
        for (const char* letter = type.order; *letter != '\0'; ++letter) {
            const bool is_norm = *letter == 'n' || (*letter == 'k' && !is_q);
            if (is_norm && norm.kind != NormKind::none) *next++ = {HeadStepKind::norm, norm};
            if (*letter == 'c' && type.clip != 0.0) *next++ = {HeadStepKind::clamp, {}, type.clip};
            if (*letter == 'f' && factor != 1.0) *next++ = {HeadStepKind::factor, {}, factor};
            if (*letter == 'r' && rotates) *next++ = {HeadStepKind::rotation, {}, 1.0, rounding};
            if (*letter == 't' && is_q && has_temperature) *next++ = {HeadStepKind::temperature};
        }
    };
    append(s.q.data(), of_q, type.q_factor.value, is_rotated, true);
    append(s.k.data(), of_k, type.k_factor.value, is_rotated, false);
    append(s.v.data(), type.v_norm, type.v_factor.value, is_rotated && has(kRotatesValues), false);
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
        diagnostics.fail("{} has {} sections with a sum of {}; there must be {} with as many pairs as rotate ({}).",
                         {path, sections.size(), sum, scheme.count, pairs});
    }
    if (!diagnostics.ok()) return;
    const AxisMap map = scheme.map(sections);
    if (!model.axis_map.axis_of.empty() && model.axis_map.axis_of != map.axis_of)
        diagnostics.fail("{} is not that of the other layer types; a model must have one.", {path});
    model.axis_map = map;
}

ROPE_DETAIL_END
