// SPDX-License-Identifier: MIT
// Definitions of model_config.hpp.
#pragma once

#include <cmath>
#include <cstddef>

#include "../../config.hpp"
#include "../../errors.hpp"
#include "../../model_config.hpp"
#include "../../schedule.hpp"
#include "../../types.hpp"
#include "../base/bits.hpp"
#include "config_checks.hpp"

ROPE_DETAIL_BEGIN

/// The most pairs of all rotary embeddings of a model. Each pair is a number in tables, and may be one in lists; a file
/// of a few bytes may name many.
inline constexpr Index kMaxModelPairs = Index(1) << 20;
/// The most rotary embeddings of a model: one for each layer that readers allow.
inline constexpr Index kMaxModelConfigs = 16384;

/// The context that a schedule names, times its factor; 0: it names none.
ROPE_COLD double scaled_length(const Schedule& s) noexcept {
    const auto length = [](const auto& of, double factor) {
        return static_cast<double>(of.original_max_position_embeddings) * factor;
    };
    if (const auto* const yarn = std::get_if<schedule::Yarn>(&s)) return length(*yarn, yarn->factor.value_or(1.0));
    if (const auto* const llama3 = std::get_if<schedule::Llama3>(&s)) return length(*llama3, llama3->factor);
    const auto* const longrope = std::get_if<schedule::LongRope>(&s);
    return longrope != nullptr ? length(*longrope, longrope->factor.value_or(1.0)) : 0.0;
}

/// The refusal of a layer that a model does not have.
ROPE_COLD Status no_layer(Index i, Index layers) noexcept {
    return out_of_range("layer is {}; this model has {} layers, counted from 0.", {i, layers});
}

ROPE_DETAIL_END

#if ROPE_HAS_DEFINITIONS
ROPE_BEGIN

ROPE_API double AttentionTemperature::at(Index position) const noexcept {
    const double p = static_cast<double>(position) + static_cast<double>(shift);
    if (scale == 0.0 || p < period) return 1.0;
    return 1.0 + scale * std::log(1.0 + std::floor(p / period));
}

ROPE_API const Config* ModelConfig::layer(Index i) const {
    if (i < 0 || i >= layers()) detail::refuse(detail::no_layer(i, layers()));
    const Index c = config_of_layer[static_cast<std::size_t>(i)];
    return c < 0 ? nullptr : &configs[static_cast<std::size_t>(c)];
}

ROPE_API Index scaled_length(const ModelConfig& model) noexcept {
    Index longest = model.max_position_embeddings;
    for (const Config& c : model.configs) {
        double length = detail::scaled_length(c.schedule);
        if (length == 0.0) length = static_cast<double>(model.max_position_embeddings) * c.interpolation_factor;
        if (length > static_cast<double>(longest) && length <= 0x1p40) longest = static_cast<Index>(length);
    }
    return longest;
}

ROPE_API Status check(const ModelConfig& model) noexcept {
    const std::size_t layers = model.config_of_layer.size();
    if (model.layer_types.size() != layers || model.heads.size() != layers)
        return detail::invalid("layer_types has {} {entry|entries} and heads {}; both must have one per layer ({}).",
                               {model.layer_types.size(), model.heads.size(), layers});
    const Index count = static_cast<Index>(model.configs.size());
    if (count > detail::kMaxModelConfigs)
        return detail::invalid("configs has {} entries; a model must have at most {}.",
                               {count, detail::kMaxModelConfigs});
    for (std::size_t i = 0; i < layers; ++i)
        if (model.config_of_layer[i] < -1 || model.config_of_layer[i] >= count)
            return detail::invalid(
                "config_of_layer[{}] is {}; it must be -1 (no RoPE) or an index into configs (0 to {}).",
                {i, model.config_of_layer[i], count - 1});
    const AttentionTemperature& t = model.attention_temperature;
    if (!detail::is_finite(t.scale) || !detail::is_positive(t.period))
        return detail::invalid(
            "attention_temperature has scale {} and period {}; both must be finite, and the period above 0.",
            {t.scale, t.period});
    if (!model.steps.empty() && model.steps.size() != layers)
        return detail::invalid("steps has {} {entry|entries}; it must be empty or have one per layer ({}).",
                               {model.steps.size(), layers});
    if (model.indexer)
        if (const Status s = check(model.indexer->config); !s.ok()) return s;
    Index pairs = 0;
    for (std::size_t i = 0; i < model.configs.size(); ++i) {
        const Config& config = model.configs[i];
        if (const Status s = check(config); !s.ok()) return s;
        pairs += detail::rotary_dim(config) / 2;
        if (pairs > detail::kMaxModelPairs)
            return detail::invalid(
                "configs has {} entries, the first {} of which have {} pairs; a model must have at most {} in all.",
                {count, i + 1, pairs, detail::kMaxModelPairs});
        if (const Status s = check(model.axis_map, detail::rotary_dim(config) / 2); !s.ok()) return s;
    }
    return Status();
}

ROPE_END
#endif
