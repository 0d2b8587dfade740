// SPDX-License-Identifier: MIT
// The steps on q, k and v other than the rotation, per layer of a config.json whose model type is known.
#pragma once

#include <cmath>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "../../../head_steps.hpp"
#include "../../../model_config.hpp"
#include "heads.hpp"
#include "json.hpp"
#include "models.hpp"
#include "names.hpp"

namespace rope {
inline namespace ROPE_VERSION_NAMESPACE {
namespace detail {

class ROPE_ABI HfSteps {
 public:
    ROPE_COLD HfSteps(JsonFields& top, const HfModel& type, const ModelConfig& model, const std::vector<HfHeads>& heads)
        : top_(top), type_(type), model_(model), heads_(heads) {}

    ROPE_COLD List<HeadSteps> read() {
        const HeadSteps usual = read_usual();
        const bool values_from_keys =
            has(kValuesFromKeys) || (has(kValuesFromKeysIfAsked) && top_.truth({"attention_k_eq_v"}).value_or(false));
        List<HeadSteps> steps(heads_.size(), usual);
        for (std::size_t i = 0; i < steps.size(); ++i) {
            HeadSteps& s = steps[i];
            const bool is_full = model_.layer_types[i] == LayerType::full_attention;
            s.values_from_key_projection = values_from_keys && is_full;
            if (has(kNormIfRotated) && model_.config_of_layer[i] < 0) s.q = s.k = HeadNorm();
            s.softmax_scale = scale(heads_[i]) * model_.softmax_scale_factor;
            if (model_.layer_types[i] == LayerType::no_attention) s = HeadSteps();
            s.keys_of_layer = static_cast<Index>(i);
        }
        share_keys(steps);
        return steps;
    }

 private:
    ROPE_COLD bool has(Traits trait) const noexcept { return (type_.traits & trait) != 0; }

    ROPE_COLD HeadSteps read_usual() {
        HeadSteps s;
        HeadNorm norm = type_.norm;
        if (type_.norm_key != nullptr && !top_.truth({type_.norm_key}).value_or(type_.norm_is_default))
            norm = HeadNorm();
        s.v = type_.v_norm;
        if (norm.kind != NormKind::none && type_.eps_key != nullptr) {
            norm.eps = top_.number({type_.eps_key}, {0.0, 1.0, "a number from 0 to 1"}).value_or(norm.eps);
            if (s.v.kind != NormKind::none) s.v.eps = norm.eps;
        }
        s.q = s.k = norm;
        if (has(kKeysAreValues)) s.q.weight = NormWeight::none;  // DeepSeek-V4: keys alone have a weight
        if (has(kNormOfKeysOnly)) s.q = HeadNorm();
        s.q_factor = factor(type_.q_factor);
        if (has(kScalesByQueryRank))
            if (const auto hidden = top_.count(kHiddenKeys), rank = top_.count({"q_lora_rank"}); hidden && rank)
                s.q_factor *= std::sqrt(static_cast<double>(*hidden) / static_cast<double>(*rank));
        s.k_factor = factor(type_.k_factor);
        s.v_factor = factor(type_.v_factor);
        s.factors_follow_rotation = has(kFactorsFollowRotation);
        s.rotates_values = has(kRotatesValues) || top_.truth({"rotary_value"}).value_or(false);
        s.keys_are_values = has(kKeysAreValues);
        JsonFields& attn_config = top_.inside("attn_config");
        const NumberRange any_clip = {0.0, 0x1p32, "a number from 0 to 2^32"};
        s.clip = top_.number({"clip_qkv"}, any_clip).value_or(attn_config.number({"clip_qkv"}, any_clip).value_or(0.0));
        return s;
    }
    /// Without a key, a negative value is a power of head_dim.
    ROPE_COLD double factor(const KeyedNumber& of_type) {
        if (of_type.key != nullptr) return top_.number({of_type.key}, kAnyNumber).value_or(of_type.value);
        return of_type.value >= 0.0 ? of_type.value : std::pow(static_cast<double>(heads_[0].head_dim), of_type.value);
    }
    ROPE_COLD double scale(const HfHeads& heads) {
        const double dim = static_cast<double>(heads.head_dim + (heads.is_latent ? heads.plain_dim : 0));
        double given = type_.scale.value;
        if (type_.scale.key != nullptr) given = top_.number({type_.scale.key}, kAnyFactor).value_or(given);
        if (given == 0.0) return 1.0 / std::sqrt(has(kHalfHeadScale) ? dim / 2.0 : dim);
        return type_.scale_is_inverse_root ? 1.0 / std::sqrt(given) : given;
    }

    /// Layers that keep no keys read those of another one.
    ROPE_COLD void share_keys(List<HeadSteps>& steps) {
        const auto given = top_.count({"num_kv_shared_layers"}, kAnyCountOrNone);
        const Index shared =
            given.value_or(type_.shared_layers < static_cast<Index>(steps.size()) ? type_.shared_layers : 0);
        if (!given && shared != 0)
            top_.warn_of_default("num_kv_shared_layers", std::to_string(shared), default_of(model_.model_type));
        share_last_keys(steps, model_.layer_types, steps.size(), shared);
        if (shared > static_cast<Index>(steps.size()))
            top_.refuse(top_.path_of("num_kv_shared_layers"), value_of(Json(shared)), "no more than there are layers");
        const auto sources = top_.per_layer("kv_source_layers", top_.counts("kv_source_layers", kAnyCountOrNone),
                                            steps.size(), steps.size());
        for (std::size_t i = 0; sources && i < sources->size() && i < steps.size(); ++i) {
            if ((*sources)[i] > static_cast<Index>(i))
                top_.refuse(top_.path_of("kv_source_layers") + "[" + std::to_string(i) + "]",
                            value_of(Json((*sources)[i])), "the number of this layer or of one before it");
            steps[i].keys_of_layer = (*sources)[i];
        }
    }

    JsonFields& top_;
    const HfModel& type_;
    const ModelConfig& model_;
    const std::vector<HfHeads>& heads_;
};

}  // namespace detail
}  // namespace ROPE_VERSION_NAMESPACE
}  // namespace rope
