// SPDX-License-Identifier: MIT
// A Hugging Face configuration as a ModelConfig: layers, heads, and which rotary embedding each layer has.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "../model_config.hpp"
#include "hf_models.hpp"
#include "hf_rotary.hpp"
#include "json_fields.hpp"

namespace rope {
inline namespace ROPE_VERSION_NAMESPACE {
namespace detail {

class ROPE_ABI HfReader {
 public:
    /// `text_model` is the object that describes the language model, at `path`.
    ROPE_COLD HfReader(const Json& text_model, std::string path, std::string model_type, std::optional<Layout> layout,
                       Findings& findings)
        : top_(&text_model, std::move(path), findings), findings_(findings), layout_(layout) {
        model_.model_type = std::move(model_type);
    }

    ROPE_COLD ModelConfig read() {
        read_type();
        read_shape();
        if (findings_.status.ok()) read_layer_types();
        if (findings_.status.ok()) read_heads();
        if (findings_.status.ok()) read_rotary();
        if (findings_.status.ok()) read_temperature();
        for (const std::string& key : top_.unread()) {
            if (concerns_rope(key)) warn(top_.unread_sentence(key, kRotaryKeys));
            if (!top_.is_object(key)) continue;
            for (const auto& member : top_.find(key)->items())  // some models keep their keys in objects of their own
                if (concerns_rope(member.key()))
                    warn(joined(top_.path_of(key), member.key()) + " is not understood, and was not used.");
        }
        return std::move(model_);
    }

    /// Whether a word of a key begins with one of these. ("properties" has a rope, too.)
    ROPE_COLD static bool concerns_rope(const std::string& key) {
        for (const std::string word : {"rope", "mrope", "xdrope", "longrope", "nope", "rotary", "yarn", "alibi", "ntk",
                                       "logn", "mscale", "position_embedding_type", "attn_temperature"})
            for (std::size_t at = key.find(word); at != key.npos; at = key.find(word, at + 1))
                if (at == 0 || key[at - 1] < 'a' || key[at - 1] > 'z') return true;
        return false;
    }

 private:
    ROPE_COLD void warn(const std::string& sentence) { findings_.warn(sentence); }
    ROPE_COLD std::size_t layers() const noexcept { return model_.config_of_layer.size(); }

    ROPE_COLD void read_type() {
        const HfModel* known = find_hf_model(model_.model_type.c_str());
        if (model_.model_type.find('\0') != std::string::npos) known = nullptr;  // there was more than was compared
        context_.type_is_known = known != nullptr;
        context_.type = known != nullptr ? *known : half_split_model(model_.model_type.c_str());
        context_.layout = layout_.value_or(context_.type.layout);
        context_.layout_is_known = layout_.has_value() || known != nullptr;
        model_.reference_uses_other_layout = (context_.type.traits & kReordersFeatures) != 0;
        read_embedding_type(known != nullptr);
        if ((context_.type.traits & kFixedTheta) != 0) top_.find("original_rope");  // true, and without effect
        if (const auto interleave = top_.truth({"rope_interleave"}); interleave && !layout_) {
            context_.layout = *interleave ? Layout::interleaved : Layout::half_split;
            context_.layout_is_known = true;
            model_.reference_uses_other_layout = *interleave;
        }
        if (!context_.layout_is_known)
            warn("model_type " + shown(Json(model_.model_type)) +
                 " is not known, so Config::layout is left open: find out whether the model turns (x[2i], x[2i+1]) or "
                 "(x[i], x[i + rotary_dim/2]).");
    }

    /// Of the layout, position_embedding_type says what is known already, or it is a relic.
    ROPE_COLD void read_embedding_type(bool type_is_known) {
        const auto text = top_.text({"position_embedding_type"});
        if (!text || *text == "rope" || (type_is_known && *text == "absolute")) return;
        if (type_is_known && *text == "rope_gptj" && context_.type.layout == Layout::interleaved) return;
        if (*text == "nope" || *text == "alibi" || *text == "learned") {
            has_no_rope_ = true;
            return warn(top_.path_of("position_embedding_type") + " is " + shown(Json(*text)) + ": no layer has RoPE.");
        }
        warn(top_.path_of("position_embedding_type") + " is " + shown(Json(*text)) +
             ", which is not understood, and was not used.");
    }

    ROPE_COLD void read_shape() {
        const auto count = top_.count({"num_hidden_layers", "n_layer", "n_layers", "num_layers"},
                                      {1.0, static_cast<double>(kMostLayers), "a whole number from 1 to 65536"});
        top_.require(count.has_value(), "num_hidden_layers", "every model");
        model_.config_of_layer.assign(findings_.status.ok() && count ? static_cast<std::size_t>(*count) : 0, 0);
        const auto positions = top_.count(
            {"max_position_embeddings", "n_positions", "max_seq_len", "seq_length", "n_ctx", "model_max_length"});
        context_.max_position_embeddings =
            positions ? *positions : type_default("max_position_embeddings", context_.type.max_positions);
        model_.max_position_embeddings = context_.max_position_embeddings;
    }

    /// What a missing count means for the model's type; 0: nothing.
    ROPE_COLD Index type_default(const char* key, Index value) {
        if (value != 0)
            warn(top_.path_of(key) + " is missing; " + std::to_string(value) +
                 " was taken, the default of model_type " + context_.type.type + ".");
        return value;
    }

    // ---- which layer is what ----

    ROPE_COLD void read_layer_types() {
        const auto names = top_.texts("layer_types");
        if (names && names->size() != layers())
            findings_.fail(top_.path_of("layer_types") + " has " + std::to_string(names->size()) +
                           " entries; it must have one per layer (" + std::to_string(layers()) + ").");
        read_window();
        const auto full = top_.counts("full_attn_idxs", kAnyCountOrNone);  // LFM2: the others are convolutions
        const std::string letters = pattern_letters();
        if (!findings_.status.ok()) return;
        std::vector<bool> is_full(layers(), !full);
        if (full)
            for (const Index i : *full)
                if (i < static_cast<Index>(layers())) is_full[static_cast<std::size_t>(i)] = true;
        for (std::size_t i = 0; i < layers(); ++i) {
            LayerType type = letters.empty() ? unnamed_layer(static_cast<Index>(i)) : LayerType::full_attention;
            if (!letters.empty() && letters[i % letters.size()] == 'L') type = LayerType::sliding_attention;
            if (!is_full[i]) type = LayerType::no_attention;
            if (names) type = layer_type((*names)[i], i);
            model_.layer_types.push_back(type);
        }
    }
    /// sliding_window_pattern may be a word of letters for layers: L slides, G does not.
    ROPE_COLD std::string pattern_letters() {
        const Json* const value = top_.find("sliding_window_pattern");
        if (value == nullptr || !value->is_string()) return {};
        std::string letters = value->get<std::string>();
        if (letters.empty() || letters.find_first_not_of("LG") != std::string::npos)
            top_.refuse(top_.path_of("sliding_window_pattern"), *value, "a whole number, or letters L and G");
        return letters;
    }
    /// Which layers slide, where neither names nor letters say it.
    ROPE_COLD void read_window() {
        const Json* const own_pattern = top_.find("sliding_window_pattern");
        const bool has_letters = own_pattern != nullptr && own_pattern->is_string();
        const auto number = has_letters ? std::nullopt
                                        : top_.count({"sliding_window_pattern", "_sliding_window_pattern",
                                                      "global_attn_every_n_layers", "full_attention_interval"});
        pattern_ = number.value_or(context_.type.pattern);
        const Json* const window = top_.find("sliding_window");
        window_is_null_ = window != nullptr && window->is_null();
        const bool has_window = window != nullptr && !window->is_null();
        const unsigned traits = context_.type.traits;
        if (has_window && (traits & kSlidesEverywhere) != 0) first_sliding_ = 0;
        if (has_window && (traits & kSlidesIfAsked) != 0 && top_.truth({"use_sliding_window"}).value_or(false))
            first_sliding_ = top_.count({"max_window_layers"}, kAnyCountOrNone).value_or(28);
    }
    ROPE_COLD LayerType unnamed_layer(Index i) const {
        const bool is_linear = top_.says("full_attention_interval") || model_.model_type == "qwen3_next";
        const bool counts_from_zero = model_.model_type == "modernbert";  // layer 0 is full there
        const Index number = counts_from_zero ? i : i + 1;
        if (pattern_ > 0 && number % pattern_ != 0)
            return is_linear ? LayerType::no_attention : LayerType::sliding_attention;
        return i >= first_sliding_ ? LayerType::sliding_attention : LayerType::full_attention;
    }
    ROPE_COLD LayerType layer_type(const std::string& name, std::size_t i) {
        if (name == "full_attention" || name == "attention" || name == "global_attention")
            return LayerType::full_attention;
        if (name == "sliding_attention" || name == "local_attention") return LayerType::sliding_attention;
        if (name == "chunked_attention") return LayerType::chunked_attention;
        for (const char* none : {"linear_attention", "mamba", "mamba2", "conv", "recurrent", "moe", "mlp"})
            if (name == none) return LayerType::no_attention;
        top_.refuse(top_.path_of("layer_types") + "[" + std::to_string(i) + "]", Json(name),
                    "one of full_attention, sliding_attention, chunked_attention, or linear_attention, mamba, mamba2, "
                    "conv, recurrent, moe, mlp (which have no RoPE)");
        return LayerType::no_attention;
    }

    /// Whether each layer that attends is rotated.
    ROPE_COLD std::vector<bool> rotated_layers() {
        std::vector<bool> rotated(layers(), true);
        if (top_.truth({"alibi"}).value_or(false)) {
            warn(top_.path_of("alibi") + " is true: no layer has RoPE.");
            rotated.assign(layers(), false);
        }
        if (!top_.truth({"rotary"}).value_or(true)) {
            warn(top_.path_of("rotary") + " is false: no layer has RoPE.");
            rotated.assign(layers(), false);
        }
        if ((context_.type.traits & kAlibiWithFortyLayers) != 0 && layers() == 40) {
            warn(top_.path_of("num_hidden_layers") + " is 40, with which " + model_.model_type +
                 " has ALiBi: no layer has RoPE.");
            has_no_rope_ = true;
        }
        if (has_no_rope_) rotated.assign(layers(), false);
        const auto list = top_.counts("no_rope_layers", {0.0, 1.0, "0 (no RoPE) or 1 (RoPE)"});
        const bool has_interval = (context_.type.traits & kEveryFourthNoRope) != 0;
        const Index interval = top_.count({"no_rope_layer_interval"}).value_or(has_interval ? 4 : 0);
        const bool is_listed = list && !list->empty();
        if (is_listed && list->size() != layers())
            findings_.fail(top_.path_of("no_rope_layers") + " has " + std::to_string(list->size()) +
                           " entries; it must have one per layer (" + std::to_string(layers()) + ").");
        if (!findings_.status.ok()) return rotated;
        const bool only_sliding = (context_.type.traits & kNoRopeOnFullLayers) != 0 && !window_is_null_;
        const bool chunks = (context_.type.traits & kLlama4) != 0 && !top_.has("layer_types");
        for (std::size_t i = 0; i < layers(); ++i) {
            if (is_listed ? (*list)[i] == 0 : interval > 0 && (static_cast<Index>(i) + 1) % interval == 0)
                rotated[i] = false;
            if (only_sliding && model_.layer_types[i] == LayerType::full_attention) rotated[i] = false;
            if (model_.layer_types[i] == LayerType::no_attention) rotated[i] = false;
            if (chunks && rotated[i]) model_.layer_types[i] = LayerType::chunked_attention;
        }
        return rotated;
    }

    ROPE_COLD void read_heads() {
        const HfModel& type = context_.type;
        const Keys q_keys = {"num_attention_heads", "n_head", "n_heads"};
        std::optional<Index> q = top_.count(q_keys);
        if (!q && type.q_heads != 0) q = type_default("num_attention_heads", type.q_heads);
        top_.require(q.has_value(), "num_attention_heads", "every model");
        std::optional<Index> kv =
            top_.count({"num_key_value_heads", "num_kv_heads", "n_head_kv", "multi_query_group_num"});
        if (!kv && type.kv_heads != 0) kv = type_default("num_key_value_heads", type.kv_heads);
        // Falcon: one key head unless the newer architecture, which counts them, is meant.
        const bool multi_query = top_.truth({"multi_query"}).value_or((type.traits & kMultiQuery) != 0);
        if (multi_query && !top_.truth({"new_decoder_architecture"}).value_or(false)) kv = 1;
        std::optional<Index> global_kv = top_.count({"num_global_key_value_heads"});
        if (!top_.truth({"attention_k_eq_v"}).value_or(true)) global_kv.reset();
        const Keys hidden_keys = {"hidden_size", "n_embd", "d_model"};
        const Keys head_dim_keys = {"head_dim", "kv_channels", "attention_head_dim"};
        const auto hidden = top_.count(hidden_keys);
        const auto rope_part = top_.count({"qk_rope_head_dim"}, kAnyHeadDim);
        top_.count({"qk_nope_head_dim"}, kAnyCountOrNone);  // features that never turn, a tensor of their own
        const auto head_dim = top_.count(head_dim_keys, kAnyHeadDim);
        global_head_dim_ = top_.count({"global_head_dim"}, kAnyHeadDim);
        if (!global_head_dim_ && type.global_head_dim != 0)
            global_head_dim_ = type_default("global_head_dim", type.global_head_dim);
        if (!findings_.status.ok()) return;
        HeadCounts heads = {*q, rope_part ? 1 : kv.value_or(*q), kv.value_or(*q)};
        for (const LayerType layer : model_.layer_types) {
            HeadCounts here = heads;
            if (global_kv && layer == LayerType::full_attention) here.k = here.v = *global_kv;
            if (layer == LayerType::no_attention) here = HeadCounts();
            model_.heads.push_back(here);
        }
        context_.is_latent = rope_part.has_value();
        context_.head_dim_is = rope_part ? top_.path_of("qk_rope_head_dim") : top_.path_of_first(head_dim_keys);
        if (rope_part || head_dim) {
            context_.head_dim = rope_part ? *rope_part : *head_dim;
        } else if (type.head_dim != 0) {
            const bool is_usual = hidden && *hidden == type.head_dim * *q;
            context_.head_dim = is_usual ? type.head_dim : type_default("head_dim", type.head_dim);
        } else if (!hidden) {
            top_.require(false, "head_dim", "a model without hidden_size");
        } else if (*hidden % *q != 0 || *hidden / *q > kMaxHeadDim) {
            findings_.fail(top_.path_of_first(hidden_keys) + " is " + std::to_string(*hidden) +
                           "; without head_dim it must be a multiple of " + top_.path_of_first(q_keys) + " (" +
                           std::to_string(*q) + "), and at most 2^20 times as much.");
        } else {
            context_.head_dim = *hidden / *q;
            context_.head_dim_is = top_.path_of_first(hidden_keys) + " / " + top_.path_of_first(q_keys);
        }
    }

    // ---- rotary embeddings ----

    ROPE_COLD static const char* key_of(LayerType type) noexcept {
        return type == LayerType::sliding_attention   ? "sliding_attention"
               : type == LayerType::chunked_attention ? "chunked_attention"
                                                      : "full_attention";
    }
    ROPE_COLD static bool is_layer_type(const std::string& key) {
        for (const char* type : kLayerTypeKeys)
            if (key == type) return true;
        return false;
    }
    ROPE_COLD static bool is_by_layer_type(const Json& params) {
        for (const char* key : kLayerTypeKeys)
            if (params.contains(key)) return true;
        return false;
    }

    ROPE_COLD void read_rotary() {
        const std::vector<bool> rotated = rotated_layers();
        if (!findings_.status.ok()) return;
        const Json* newer = top_.object("rope_parameters");
        if (newer != nullptr && newer->empty()) newer = nullptr;  // which says nothing, and so wins nothing
        const Json* const older = top_.object("rope_scaling");
        const Json* const params = newer != nullptr ? newer : older;
        if (newer != nullptr && older != nullptr && *newer != *older)
            warn(top_.path_of("rope_scaling") + " was not used: rope_parameters is there, too.");
        const std::string path =
            top_.path_of(newer != nullptr || older == nullptr ? "rope_parameters" : "rope_scaling");
        const bool by_type = params != nullptr && is_by_layer_type(*params);
        JsonFields outer(params, path, findings_);

        Index made[3] = {-2, -2, -2};  // by layer type; -2: not yet
        for (std::size_t i = 0; i < layers(); ++i) {
            Index& config = model_.config_of_layer[i];
            config = -1;
            if (!rotated[i]) continue;
            const LayerType type = model_.layer_types[i];
            Index& known = made[static_cast<int>(type)];
            if (known == -2) known = read_one(type, by_type, params, outer);
            if (!findings_.status.ok()) return;
            config = known;
        }
        if (params != nullptr && !by_type && !params_are_used_) warn(path + " was not used: no layer asks for it.");
        if (by_type)
            for (const std::string& key : outer.unread())
                warn(is_layer_type(key) ? outer.path_of(key) + " was not used: no layer of that type has RoPE."
                                        : outer.unread_sentence(key));
    }

    /// The index of the rotary embedding of layers of a type, -1 for none.
    ROPE_COLD Index read_one(LayerType type, bool by_type, const Json* params, JsonFields& outer) {
        const bool slides = type == LayerType::sliding_attention;
        const bool is_unscaled =
            slides && !by_type && params != nullptr && (context_.type.traits & kScalingOnFullOnly) != 0;
        const char* theta_key = "rope_theta";
        double theta = context_.type.theta;
        bool may_share = false;
        std::string path = outer.path();
        if (by_type) {
            const Json* const entry = outer.find(key_of(type));
            if (entry == nullptr) return outer.require(false, key_of(type), "a layer of that type"), -1;
            if (entry->is_null()) return -1;
            if (!entry->is_object()) return outer.refuse(outer.path_of(key_of(type)), *entry, "an object or null"), -1;
            params = entry;
            path = outer.path_of(key_of(type));
            if (slides && context_.type.local_theta != 0.0) theta = context_.type.local_theta;
            if (slides && top_.says("rope_local_base_freq")) theta_key = "rope_local_base_freq";
        } else if (slides && (top_.says("rope_local_base_freq") || top_.says("local_rope_theta") ||
                              context_.type.local_theta != 0.0)) {
            // Gemma 3, ModernBERT: sliding layers have a base of their own, and no scaling.
            params = nullptr;
            theta_key = top_.says("local_rope_theta") || model_.model_type == "modernbert" ? "local_rope_theta"
                                                                                           : "rope_local_base_freq";
            if (context_.type.local_theta != 0.0) theta = context_.type.local_theta;
        } else if (top_.says("global_rope_theta")) {
            theta_key = "global_rope_theta";
        } else {
            may_share = !is_unscaled && !global_head_dim_;
            if (may_share && config_of_flat_ >= 0) return config_of_flat_;
        }
        HfContext context = context_;
        context.has_parameters_only = by_type;
        if (global_head_dim_ && type == LayerType::full_attention) {
            context.head_dim = *global_head_dim_;
            context.head_dim_is = top_.path_of("global_head_dim");
        }
        if (params != nullptr && !is_unscaled) params_are_used_ = true;
        const Config config = HfRotary(JsonFields(params, path, findings_), top_, context, findings_, model_)
                                  .read(theta_key, theta, !is_unscaled);
        model_.configs.push_back(config);
        const Index index = static_cast<Index>(model_.configs.size()) - 1;
        if (may_share) config_of_flat_ = index;
        return index;
    }

    // ---- attention temperature of Llama 4 ----

    ROPE_COLD void read_temperature() {
        if ((context_.type.traits & kLlama4) == 0) return;
        const auto tuning = top_.number_or_truth("attn_temperature_tuning");
        const double scale = top_.number({"attn_scale"}, kAnyNumber).value_or(0.1);
        const double period = top_.number({"floor_scale"}, kAnyFactor).value_or(8192.0);
        if (tuning.value_or(1.0) != 0.0) model_.attention_temperature = {scale, period, 1, false, true};
    }

    static constexpr Index kMostLayers = 65536;
    static constexpr Keys kRotaryKeys = {
        "rope_theta",       "rotary_emb_base",   "rope_ratio",         "rope_local_base_freq",
        "local_rope_theta", "global_rope_theta", "rotary_dim",         "partial_rotary_factor",
        "rotary_pct",       "rope_pct",          "rotary_emb_fraction"};
    static constexpr const char* kLayerTypeKeys[] = {"full_attention", "sliding_attention", "chunked_attention"};
    static constexpr NumberRange kAnyHeadDim = {1.0, static_cast<double>(kMaxHeadDim), "a whole number from 1 to 2^20"};

    JsonFields top_;
    Findings& findings_;
    std::optional<Layout> layout_;
    HfContext context_ = {HfModel(), Layout::half_split, false, 0, 0};
    Index pattern_ = 0;
    Index first_sliding_ = kMostLayers;
    bool window_is_null_ = false;
    bool has_no_rope_ = false;
    bool params_are_used_ = false;
    std::optional<Index> global_head_dim_;
    Index config_of_flat_ = -1;  ///< what all layers share that nothing sets apart
    ModelConfig model_;
};

}  // namespace detail
}  // namespace ROPE_VERSION_NAMESPACE
}  // namespace rope
