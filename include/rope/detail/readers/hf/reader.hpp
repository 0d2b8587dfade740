// SPDX-License-Identifier: MIT
// A Hugging Face configuration as a ModelConfig: its type, and which rotary embedding each layer has.
#pragma once

#include <algorithm>
#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "../../../model_config.hpp"
#include "heads.hpp"
#include "json.hpp"
#include "layers.hpp"
#include "models.hpp"
#include "names.hpp"
#include "rotary.hpp"
#include "steps.hpp"

#include "../../hide_macros.hpp"

namespace rope {
inline namespace ROPE_VERSION_NAMESPACE {
namespace detail {

class ROPE_ABI HfReader {
 public:
    /// `text_model` is the object that describes the language model, at `path`.
    ROPE_COLD HfReader(const Json& text_model, std::string path, std::string model_type, std::optional<Layout> layout,
                       Diagnostics& diagnostics)
        : top_(&text_model, path, diagnostics), diagnostics_(diagnostics) {
        model_.path = std::move(path);
        model_.model_type = std::move(model_type);
        context_.layout = layout;
        layout_is_given_ = layout.has_value();
    }

    ROPE_COLD ModelConfig read() {
        read_type();
        if (ok()) read_layers();
        if (ok()) read_rotary();
        if (ok()) read_llama4_temperature();
        if (ok() && context_.type_is_known) model_.steps = HfSteps(top_, context_.type, model_, layers_).read();
        for (const std::string& key : top_.unread()) warn_unread(key);
        for (const std::string& key : top_.children()) warn_unread_inside(key);
        return std::move(model_);
    }

 private:
    ROPE_COLD bool ok() const noexcept { return diagnostics_.ok(); }
    ROPE_COLD void warn(const std::string& sentence) { diagnostics_.warn(sentence); }
    ROPE_COLD bool has(Traits trait) const noexcept { return (context_.type.traits & trait) != 0; }
    ROPE_COLD std::string named() const { return "model_type " + shown(Json(model_.model_type)); }
    ROPE_COLD std::size_t layers() const noexcept { return model_.layer_types.size(); }

    ROPE_COLD void warn_unread(const std::string& key) {
        for (const char* harmless : kHarmlessKeys)
            if (key == harmless) return;
        const Value value = *top_.find(key);
        const bool is_off = value.kind == Value::Kind::truth && value.number == 0.0;
        const bool is_empty = value.kind == Value::Kind::list && value.size == 0;
        if ((is_off && key.rfind("use_", 0) == 0) || is_empty) return;
        top_.forget(key);
        if (concerns_rope(key) || concerns_layers(key)) warn(top_.unread_sentence(key, kRotaryKeys));
        if (top_.is_object(key)) top_.inside(key);
    }
    /// Warns of keys about RoPE in objects within the file.
    ROPE_COLD void warn_unread_inside(const std::string& key) {
        JsonFields& inner = top_.inside(key);
        for (const std::string& member : inner.unread())
            if (concerns_rope(member)) warn(inner.unread_sentence(member));
    }

    // ---- the model's type, and whether it has RoPE at all ----

    ROPE_COLD void read_type() {
        const HfModel* known = find_hf_model(model_.model_type);
        if (known == nullptr) known = type_of_architecture();
        context_.type_is_known = known != nullptr;
        if (known != nullptr) context_.type = *known;
        if (context_.type_is_known && !layout_is_given_) context_.layout = context_.type.layout;
        if (context_.type_is_known)
            model_.reference_uses_other_layout = has(kReordersFeatures) != (*context_.layout != context_.type.layout);
        if (!context_.type_is_known && !speaks_of_rope())
            return diagnostics_.fail(named() +
                                     " is not known to have a rotary embedding, and no key of the file speaks of one.");
        if (has(kNoRope)) return no_rope(named() + " has no rotary embedding");
        read_layout_keys();
        read_switches();
        if (!context_.type_is_known)
            warn(named() +
                 " is not known: only what the keys say was used. Not checked is whether its code turns the other "
                 "way, another slice of the head or other layers, and has magnitudes or learned factors of its own.");
        if (!context_.layout)
            warn(named() +
                 " is not known, so Config::layout is left open: find out whether the model turns "
                 "(x[2i], x[2i+1]) or (x[i], x[i + rotary_dim/2]).");
        const auto positions = top_.count(kLengthKeys);
        model_.max_position_embeddings = positions.value_or(context_.type.max_positions);
        if (!positions && context_.type.max_positions != 0)
            top_.warn_of_default("max_position_embeddings", std::to_string(context_.type.max_positions),
                                 default_of(model_.model_type));
        context_.max_position_embeddings = model_.max_position_embeddings;
    }
    /// The type of the class in "architectures", by which programs load the weights.
    ROPE_COLD const HfModel* type_of_architecture() {
        const auto value = top_.find("architectures");
        const bool is_list = value && value->kind == Value::Kind::list && value->items.size() == 1;
        const HfModel* const known = is_list ? find_hf_architecture(value->items[0].text) : nullptr;
        if (known != nullptr)
            warn(named() + " is not known, and was taken for what architectures names, " + value->items[0].shown + ".");
        return known;
    }
    /// Whether some key says that there is a rotary embedding.
    ROPE_COLD bool speaks_of_rope() {
        for (const std::string& key : top_.keys()) {
            const Value value = *top_.find(key);
            top_.forget(key);
            if (!concerns_rope(key) || value.kind == Value::Kind::null) continue;
            if (value.kind == Value::Kind::truth && value.number == 0.0) continue;
            if (has_word(key, {"alibi", "nope", "no_rope"})) continue;
            if (key.find("type") == key.npos || value.text.rfind("ro", 0) == 0) return true;
        }
        return top_.inside("attn_config").truth({"rope"}).value_or(false);  // MPT
    }
    ROPE_COLD void no_rope(const std::string& reason) {
        diagnostics_.fail(reason + ": none of this model's layers is rotated.");
    }

    ROPE_COLD void read_layout_keys() {
        const auto interleave = top_.truth({"rope_interleave", "rotary_emb_interleaved"});
        if (!layout_is_given_ && has(kDeepSeekYarn) && !top_.truth({"use_mla"}).value_or(true)) {
            context_.layout = Layout::half_split;  // DeepSeek-OCR, whose plain attention is Llama's
            model_.reference_uses_other_layout = false;
        }
        if (!interleave || layout_is_given_) return;
        const Layout said = *interleave ? Layout::interleaved : Layout::half_split;
        if (has(kFixedLayout)) {
            if (said != context_.layout)
                top_.warn_not_used("rope_interleave", "the code of " + named() + " does not read it");
            return;
        }
        context_.layout = said;
        model_.reference_uses_other_layout = *interleave && top_.says("rope_interleave");
    }

    /// Keys that switch rotary embeddings on and off.
    ROPE_COLD void read_switches() {
        const auto is = [&](const char* key, bool value) { return top_.truth({key}).value_or(!value) == value; };
        if (top_.truth({"position_encoding_2d"}).value_or(false))
            return diagnostics_.fail(
                top_.path_of("position_encoding_2d") +
                " is true: each half of a head is rotated by a position of its own, which no Config says.");
        if (is("alibi", true)) return no_rope(top_.path_of("alibi") + " is true");
        for (const char* key : {"rotary", "use_rotary_pos_emb", "use_rotary_embedding"})
            if (is(key, false)) return no_rope(top_.path_of(key) + " is false");
        const char* const kind_key =
            top_.says("position_embeddings_type") ? "position_embeddings_type" : "position_embedding_type";
        const auto kind = top_.text({kind_key});
        if (const char* const key = context_.type.rope_key) {
            const char* const value = context_.type.rope_value;
            const auto truth = value == nullptr ? top_.truth({key}) : std::nullopt;
            if (value != nullptr ? kind != value : !truth.value_or(false))
                no_rope((top_.says(key) ? top_.path_of(key) + " is " + top_.find(key)->shown : top_.lack_of(key)) +
                        ", not " + (value != nullptr ? shown(Json(value)) : "true"));
            return;
        }
        if (!kind || *kind == "rope" || *kind == "rotary") return;
        if (*kind == "nope" || *kind == "alibi" || *kind == "learned")
            return no_rope(top_.path_of(kind_key) + " is " + shown(Json(*kind)));
        // These values repeat the layout that is known, or are left over from older files.
        const bool is_known =
            context_.type_is_known &&
            (*kind == "absolute" || (*kind == "rope_gptj" && context_.type.layout == Layout::interleaved));
        if (!is_known)
            warn(top_.path_of(kind_key) + " is " + shown(Json(*kind)) + ", which is not understood, and was not used.");
    }

    // ---- layers ----

    ROPE_COLD void read_layers() {
        HfLayers reader(top_, context_.type);
        kinds_ = reader.read();
        if (!ok()) return;
        for (const std::string& kind : kinds_) model_.layer_types.push_back(find_layer_name(kind)->type);
        if (has(kAlibiWithFortyLayers) && layers() == 40)
            return no_rope(top_.path_of("num_hidden_layers") + " is 40, with which " + named() + " has ALiBi");
        rotated_ = reader.rotated(model_.layer_types);
        if (has(kLlama4) && !top_.has("layer_types"))
            for (std::size_t i = 0; i < layers(); ++i)
                if (rotated_[i]) model_.layer_types[i] = LayerType::chunked_attention;
        top_.find("attention_chunk_size");
        layers_ = HfHeadReader(top_, context_.type).read(model_.layer_types, reader.extra());
        if (!ok()) return;
        for (std::size_t i = 0; i < layers(); ++i) {
            const HfHeads& h = layers_[i];
            HeadCounts counts = {h.q, h.is_latent ? 1 : h.kv, h.kv};
            if (model_.layer_types[i] == LayerType::no_attention) counts = HeadCounts();
            model_.heads.push_back(counts);
        }
        own_thetas_ = own_numbers("layer_rope_theta", kAnyBaseOrNone, reader.extra());
        for (std::size_t i = 0; i < own_thetas_.size(); ++i) rotated_[i] = attends_to_itself(model_.layer_types[i]);
        if (own_thetas_.empty()) own_thetas_ = own_numbers("rope_theta", kAnyBaseOrNone, reader.extra());
        own_partials_ = own_numbers("partial_rotary_factors", kAnyFraction, reader.extra());
    }
    /// A list with one number per layer; empty: there is none.
    ROPE_COLD std::vector<double> own_numbers(const char* key, const NumberRange& range, std::size_t extra) {
        if (!top_.is_list(key)) return {};
        return top_.per_layer(key, top_.numbers(key, range), layers(), layers() + extra)
            .value_or(std::vector<double>());
    }

    // ---- rotary embeddings ----

    ROPE_COLD bool is_kind(const std::string& key) const {
        return find_layer_name(key) != nullptr || (has(kTrailingSlice) && (key == "main" || key == "compress"));
    }

    ROPE_COLD void read_rotary() {
        params_ = top_.object("rope_parameters");
        if (params_ != nullptr && params_->empty()) params_ = nullptr;  // which says nothing, and so wins nothing
        const Json* const older = top_.object("rope_scaling");
        if (params_ != nullptr && older != nullptr && *params_ != *older)
            top_.warn_not_used("rope_scaling", "rope_parameters is there, too");
        params_path_ = top_.path_of(params_ != nullptr || older == nullptr ? "rope_parameters" : "rope_scaling");
        if (params_ == nullptr) params_ = older;
        if (params_ == nullptr && !top_.has("rope_parameters") && !top_.has("rope_scaling")) take_default_parameters();
        JsonFields outer(params_, params_path_, diagnostics_);
        by_kind_ = false;
        for (const std::string& key : outer.keys()) by_kind_ = by_kind_ || is_kind(key);
        const bool states_theta = top_.has("rope_parameters") || top_.has("rope_theta");
        if (has(kRopeIfTheta) && states_theta && !outer.says("rope_theta") && !top_.says("rope_theta"))
            return no_rope(outer.lack_of("rope_theta") + ", without which " + named() + " has no RoPE");
        scaled_kinds_ = top_.texts("yarn_only_types");
        scaled_layers_ = top_.counts("rope_scaling_layers", kAnyCountOrNone);

        std::map<std::tuple<const Json*, std::string, bool, Index, double, double>, Index> made;
        model_.config_of_layer.assign(layers(), -1);
        bool any_asks = false, any_is_rotated = false;
        for (std::size_t i = 0; i < layers() && ok(); ++i) {
            const double theta = own_thetas_.empty() ? 0.0 : own_thetas_[i];
            if (!is_rotated(i) || (!own_thetas_.empty() && theta == 0.0)) continue;
            std::optional<HfSource> source = source_of(i, outer);
            if (!source || !ok()) continue;
            any_is_rotated = true;
            any_asks = any_asks || (source->params != nullptr && source->is_scaled);
            source->heads = layers_[i];
            if (theta != 0.0 && !has(kThetaListIsSwitch)) source->own_theta = theta;
            if (!own_partials_.empty()) source->own_partial = own_partials_[i];
            const auto key = std::make_tuple(source->params, std::string(source->theta_key), source->is_scaled,
                                             layers_[i].head_dim, theta, source->own_partial.value_or(0.0));
            auto known = made.find(key);
            if (known == made.end()) {
                model_.configs.push_back(HfRotary(*source, top_, context_, model_).read());
                known = made.emplace(key, static_cast<Index>(model_.configs.size()) - 1).first;
            }
            model_.config_of_layer[i] = known->second;
        }
        if (!ok()) return;
        if (!any_is_rotated) return no_rope("The keys about layers leave none with RoPE");
        if (params_ != nullptr && !by_kind_ && !any_asks) warn(params_path_ + " was not used: no layer asks for it.");
        for (const std::string& key : by_kind_ ? outer.unread() : std::vector<std::string>())
            warn(is_kind(key) ? outer.path_of(key) + " was not used: no layer of that type has RoPE."
                              : outer.unread_sentence(key));
        if (has(kLearnedLogScale))
            warn(named() +
                 " multiplies each frequency by e^alpha, and alpha is in its weights: Config::log_scale must "
                 "be set before any table is made.");
    }
    /// The default rope_parameters of the model's type, unless the file has one of kRotaryKeys, as older files do.
    ROPE_COLD void take_default_parameters() {
        default_params_ = Json::parse(context_.type.parameters, nullptr, false);
        if (!default_params_.is_object()) return;
        const std::string text = context_.type.parameters;
        const bool has_schedule = text.find("\"factor\"") != text.npos;
        const bool has_part =
            text.find("\"partial_rotary_factor\"") != text.npos && !top_.says("partial_rotary_factor");
        for (const char* key : kRotaryKeys) {
            if (!top_.says(key)) continue;
            if (has_schedule || has_part)
                warn(params_path_ + " is missing; that of " + named() + " was not taken, because " + top_.path_of(key) +
                     " is there.");
            return;
        }
        params_ = &default_params_;
        top_.warn_of_default("rope_parameters", default_params_.dump(), default_of(model_.model_type));
    }
    ROPE_COLD bool is_rotated(std::size_t i) const {
        if (!has(kRopeByEntry) || by_kind_) return rotated_[i];
        return rotated_[i] && model_.layer_types[i] != LayerType::full_attention;
    }

    /// Where the numbers of layer i stand; nothing where an entry says that it is not rotated.
    ROPE_COLD std::optional<HfSource> source_of(std::size_t i, JsonFields& outer) {
        const LayerType type = model_.layer_types[i];
        const bool slides = type == LayerType::sliding_attention;
        const HfModel& model = context_.type;
        HfSource s;
        s.params = params_;
        s.path = params_path_;
        s.theta = slides && model.local_theta != 0.0 ? model.local_theta : model.theta;
        if (scaled_kinds_) {
            s.is_scaled = false;
            for (const std::string& kind : *scaled_kinds_) s.is_scaled = s.is_scaled || kind == kinds_[i];
        } else if (slides && !by_kind_ && params_ != nullptr && has(kScalingOnFullOnly)) {
            s.is_scaled = false;
        }
        if (scaled_layers_)  // Molmo 2
            s.is_scaled = std::find(scaled_layers_->begin(), scaled_layers_->end(), static_cast<Index>(i)) !=
                          scaled_layers_->end();
        const char* own = nullptr;  // a key for the base of such layers
        const bool is_compressed = type == LayerType::compressed_attention;
        for (const char* key : {"rope_local_base_freq", "local_rope_theta", "swa_rope_theta"})
            if (slides && own == nullptr && top_.says(key)) own = key;
        for (const char* key : {is_compressed ? "compress_rope_theta" : "global_rope_theta"})
            if (!slides && top_.says(key)) own = key;
        if (by_kind_) {
            const std::string key = entry_of(i, outer);
            const auto entry = outer.find(key);
            if (!entry) {
                if (!has(kRopeByEntry)) outer.require(false, key.c_str(), "a layer of that type");
                return std::nullopt;
            }
            if (entry->kind == Value::Kind::null) return std::nullopt;
            if (entry->kind != Value::Kind::object)
                return outer.refuse(outer.path_of(key), *entry, "an object or null"), std::nullopt;
            s.params = outer.object(key);
            s.path = outer.path_of(key);
            s.is_entry = true;
            if (own != nullptr) s.theta_key = own;
        } else if (slides && (own != nullptr || model.local_theta != 0.0)) {
            // Gemma 3, ModernBERT: sliding layers have a base of their own, and no scaling.
            s.params = nullptr;
            s.theta_key = own != nullptr ? own : "rope_local_base_freq";
        } else if (has(kTrailingSlice) && !is_compressed) {
            s.is_scaled = false;  // DeepSeek-V4
        } else if (own != nullptr) {
            s.theta_key = own;
        } else if (is_compressed && has(kTrailingSlice)) {
            s.theta_key = "compress_rope_theta";
            s.theta = 160000.0;
        }
        return s;
    }
    /// The key of the entry for layer i: the layer's own name, or another one for the same.
    ROPE_COLD std::string entry_of(std::size_t i, const JsonFields& outer) const {
        const LayerType type = model_.layer_types[i];
        if (outer.has(kinds_[i])) return kinds_[i];
        if (outer.has("main")) return type == LayerType::compressed_attention ? "compress" : "main";
        const LayerType other = type == LayerType::full_attention     ? LayerType::sparse_attention
                                : type == LayerType::sparse_attention ? LayerType::full_attention
                                                                      : type;
        for (const LayerType same : {type, other})
            for (const LayerName& known : kLayerNames)
                if (known.type == same && outer.has(known.name)) return known.name;
        return usual_name(other == LayerType::sparse_attention ? type : other);
    }

    // ---- attention temperature of Llama 4 ----

    ROPE_COLD void read_llama4_temperature() {
        if (!has(kLlama4)) return;
        const auto tuning = top_.number_or_truth("attn_temperature_tuning", kAnyNumber);
        const double scale = top_.number({"attn_scale"}, kAnyNumber).value_or(0.1);
        const double period = top_.number({"floor_scale"}, kAnyFactor).value_or(8192.0);
        if (tuning.value_or(1.0) != 0.0) model_.attention_temperature = {scale, period, 1, false, true};
    }

    JsonFields top_;
    Diagnostics& diagnostics_;
    HfContext context_;
    bool layout_is_given_ = false;
    std::vector<std::string> kinds_;  ///< of layers, as the file names them
    std::vector<bool> rotated_;
    std::vector<HfHeads> layers_;
    std::vector<double> own_thetas_, own_partials_;
    const Json* params_ = nullptr;
    Json default_params_;
    std::string params_path_;
    bool by_kind_ = false;  ///< whether params_ has entries for kinds of layers
    std::optional<std::vector<std::string>> scaled_kinds_;
    std::optional<std::vector<Index>> scaled_layers_;
    ModelConfig model_;
};

}  // namespace detail
}  // namespace ROPE_VERSION_NAMESPACE
}  // namespace rope

#include "../../restore_macros.hpp"
