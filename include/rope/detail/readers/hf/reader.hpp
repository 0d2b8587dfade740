// SPDX-License-Identifier: MIT
// A Hugging Face configuration as a ModelConfig: its type, and the rotary embedding of each layer.
#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "heads.hpp"
#include "rotary.hpp"

ROPE_DETAIL_BEGIN

class HfReader : HfPart {
 public:
    ROPE_COLD explicit HfReader(HfFile& file) : HfPart(file), layout_is_given_(file.layout.has_value()) {}

    ROPE_COLD ModelConfig read() {
        read_type();
        if (ok()) read_layers();
        if (ok()) read_rotary();
        if (ok()) read_llama4_temperature();
        if (ok() && file_.type_is_known) HfSteps(file_).read();
        for (const std::string& key : top_.unread()) warn_unread(key);
        for (const JsonFields& inner : top_.children())
            for (const std::string& key : inner.unread())
                if (concerns_rope(key)) warn(inner.unread_sentence(key));
        return std::move(model_);
    }

 private:
    ROPE_COLD std::size_t layers() const noexcept { return model_.layer_types.size(); }

    ROPE_COLD void warn_unread(const std::string& key) {
        if (std::find(kHarmlessKeys.begin(), kHarmlessKeys.end(), key) != kHarmlessKeys.end()) return;
        const Value& value = *top_.lookup(key);
        const bool is_empty = value.kind == Value::Kind::list && value.size == 0;
        if ((value.is_false() && key.rfind("use_", 0) == 0) || is_empty) return;
        if (concerns_rope(key) || concerns_layers(key)) warn(top_.unread_sentence(key, kRotaryKeys));
        if (top_.is_object(key)) top_.inside_first_time(key);
    }
    ROPE_COLD void read_type() {
        const HfModel* known = find_hf_model(model_.model_type);
        if (known == nullptr) known = type_of_architecture();
        file_.type_is_known = known != nullptr;
        if (known != nullptr) {
            file_.type = *known;
            if (!layout_is_given_) file_.layout = known->layout;
            model_.reference_uses_other_layout = has(kReordersFeatures) != (*file_.layout != known->layout);
        } else if (!speaks_of_rope()) {
            return fail("{} is not known to have a rotary embedding, and no key of the file speaks of one.", {named()});
        }
        if (has(kNoRope)) return no_rope(named() + " has no rotary embedding");
        read_layout_keys();
        read_switches();
        if (!file_.type_is_known)
            warn(
                "{} is not known: only what the keys say was used. Not checked is whether its code turns the other "
                "way, another slice of the head or other layers, and has magnitudes or learned factors of its own.",
                {named()});
        if (!file_.layout)
            warn(
                "{} is not known, so Config::layout is left open: find out whether the model turns (x[2i], x[2i+1]) or "
                "(x[i], x[i + rotary_dim/2]).",
                {named()});
        const auto positions = top_.count(kLengthKeys);
        model_.max_position_embeddings = positions.value_or(type_.max_positions);
        if (!positions && type_.max_positions != 0)
            top_.warn_of_default("max_position_embeddings", type_.max_positions, default_of_type());
    }
    /// The type of the class in "architectures", by which programs load the weights.
    ROPE_COLD const HfModel* type_of_architecture() {
        const Value* const list = top_.find("architectures");
        const Value* const only = list != nullptr && list->size == 1 ? list->first : nullptr;
        const bool is_text = only != nullptr && only->kind == Value::Kind::text;
        const HfModel* const known = is_text ? find_hf_architecture(only->text) : nullptr;
        if (known != nullptr)
            warn("{} is not known, and was taken for what architectures names, {}.", {named(), shown(*only)});
        return known;
    }
    /// Whether some key says that there is a rotary embedding.
    ROPE_COLD bool speaks_of_rope() {
        for (const std::string& key : top_.keys()) {
            const Value& value = *top_.lookup(key);
            if (!concerns_rope(key) || value.kind == Value::Kind::null || value.is_false()) continue;
            if (has_word(key, {"alibi", "nope", "no_rope"})) continue;
            if (key.find("type") == key.npos || value.text.rfind("ro", 0) == 0) return true;
        }
        return top_.inside("attn_config").truth({"rope"}).value_or(false);  // MPT
    }
    ROPE_COLD void no_rope(const std::string& reason) { fail("{}: none of this model's layers is rotated.", {reason}); }

    ROPE_COLD void read_layout_keys() {
        const auto interleave = top_.truth({"rope_interleave", "rotary_emb_interleaved"});
        if (layout_is_given_) return;
        if (has(kDeepSeekYarn) && !top_.truth({"use_mla"}).value_or(true)) {
            file_.layout = Layout::half_split;  // DeepSeek-OCR, whose plain attention is Llama's
            model_.reference_uses_other_layout = false;
        }
        if (!interleave) return;
        const Layout said = *interleave ? Layout::interleaved : Layout::half_split;
        if (has(kFixedLayout) && said != file_.layout)
            top_.warn_not_used("rope_interleave", "the code of " + named() + " does not read it");
        if (has(kFixedLayout)) return;
        file_.layout = said;
        model_.reference_uses_other_layout = *interleave && top_.says("rope_interleave");
    }

    /// Keys that switch rotary embeddings on and off.
    ROPE_COLD void read_switches() {
        if (top_.truth({"position_encoding_2d"}).value_or(false))
            return fail("{} is true: each half of a head is rotated by a position of its own, which no Config says.",
                        {top_.path_of("position_encoding_2d")});
        if (top_.truth({"alibi"}).value_or(false)) return no_rope(top_.path_of("alibi") + " is true");
        for (const char* key : {"rotary", "use_rotary_pos_emb", "use_rotary_embedding"})
            if (!top_.truth({key}).value_or(true)) return no_rope(top_.path_of(key) + " is false");
        const char* const kind_key =
            top_.says("position_embeddings_type") ? "position_embeddings_type" : "position_embedding_type";
        const auto kind = top_.text({kind_key});
        if (const char* const key = type_.rope_key) {
            const char* const value = type_.rope_value;
            if (value != nullptr ? kind == value : top_.truth({key}).value_or(false)) return;
            return no_rope((top_.says(key) ? top_.path_of(key) + " is " + shown(*top_.find(key)) : top_.lack_of(key)) +
                           ", not " + (value != nullptr ? shown(value) : "true"));
        }
        if (!kind || *kind == "rope" || *kind == "rotary") return;
        if (*kind == "nope" || *kind == "alibi" || *kind == "learned")
            return no_rope(top_.path_of(kind_key) + " is " + shown(*kind));
        // These values repeat the layout that is known, or are left over from older files.
        const bool is_usual = *kind == "absolute" || (*kind == "rope_gptj" && type_.layout == Layout::interleaved);
        if (!file_.type_is_known || !is_usual)
            warn("{} is {}, which is not understood, and was not used.", {top_.path_of(kind_key), shown(*kind)});
    }

    ROPE_COLD void read_layers() {
        HfLayers reader(file_);
        kinds_ = reader.read();
        if (!ok()) return;
        if (has(kAlibiWithFortyLayers) && layers() == 40)
            return no_rope(top_.path_of("num_hidden_layers") + " is 40, with which " + named() + " has ALiBi");
        rotated_ = reader.rotated();
        for (std::size_t i = 0; has(kLlama4) && !top_.has("layer_types") && i < layers(); ++i)
            if (rotated_[i]) model_.layer_types[i] = LayerType::chunked_attention;
        top_.find("attention_chunk_size");
        HfHeadReader(file_).read();
        if (!ok()) return;
        for (std::size_t i = 0; i < layers(); ++i) {
            const HfHeads& h = file_.heads[i];
            const bool attends = model_.layer_types[i] != LayerType::no_attention;
            model_.heads.push_back(attends ? HeadCounts{h.q, h.is_latent ? 1 : h.kv, h.kv} : HeadCounts());
        }
        own_thetas_ = own_numbers("layer_rope_theta", kAnyBaseOrNone);
        for (std::size_t i = 0; i < own_thetas_.size(); ++i) rotated_[i] = attends_to_itself(model_.layer_types[i]);
        if (own_thetas_.empty()) own_thetas_ = own_numbers("rope_theta", kAnyBaseOrNone);
        own_partials_ = own_numbers("partial_rotary_factors", kAnyFraction);
    }
    /// A list with one number per layer; empty: there is none.
    ROPE_COLD std::vector<double> own_numbers(const char* key, const NumberRange& range) {
        if (!top_.is_list(key)) return {};
        return top_.per_layer(key, top_.numbers(key, range)).list;
    }

    ROPE_COLD bool is_kind(const std::string& key) const {
        return find_layer_name(key) != nullptr || (has(kTrailingSlice) && (key == "main" || key == "compress"));
    }

    ROPE_COLD void read_rotary() {
        params_ = top_.object("rope_parameters");
        if (params_ != nullptr && params_->members == nullptr) params_ = nullptr;  // an empty object overrides nothing
        const Value* const older = top_.object("rope_scaling");
        if (params_ != nullptr && older != nullptr && !(*params_ == *older))
            top_.warn_not_used("rope_scaling", "rope_parameters is there, too");
        params_path_ = top_.path_of(params_ != nullptr || older == nullptr ? "rope_parameters" : "rope_scaling");
        if (params_ == nullptr) params_ = older;
        if (params_ == nullptr && !top_.has("rope_parameters") && !top_.has("rope_scaling")) take_default_parameters();
        JsonFields outer(params_, params_path_, diagnostics_);
        for (const std::string& key : outer.keys()) by_kind_ = by_kind_ || is_kind(key);
        const bool states_theta = top_.has("rope_parameters") || top_.has("rope_theta");
        if (has(kRopeIfTheta) && states_theta && !outer.says("rope_theta") && !top_.says("rope_theta"))
            return no_rope(outer.lack_of("rope_theta") + ", without which " + named() + " has no RoPE");
        scaled_kinds_ = top_.texts("yarn_only_types");
        scaled_layers_ = top_.counts("rope_scaling_layers", kAnyCountOrNone);

        Values numbers;
        Members made;  // by the text of a source, the number of its config, as a Value: a map of Index is one more type
        model_.config_of_layer.assign(layers(), -1);
        bool any_asks = false, any_is_rotated = false;
        for (std::size_t i = 0; i < layers() && ok(); ++i) {
            const double theta = own_thetas_.empty() ? 0.0 : own_thetas_[i];
            if (!is_rotated(i) || (!own_thetas_.empty() && theta == 0.0)) continue;
            HfSource source;
            if (!find_source(source, i, outer) || !ok()) continue;
            any_is_rotated = true;
            any_asks = any_asks || (source.params != nullptr && source.is_scaled);
            if (theta != 0.0 && !has(kThetaListIsSwitch)) source.own_theta = theta;
            if (!own_partials_.empty()) source.own_partial = own_partials_[i];
            const Value*& config = made[source.text(file_.heads[i].head_dim)];
            if (config == nullptr) {
                config = &numbers.add(Value::Kind::number, static_cast<double>(model_.configs.size()));
                model_.configs.push_back(HfRotary(file_, source, file_.heads[i]).read());
            }
            model_.config_of_layer[i] = static_cast<Index>(config->number);
        }
        if (!ok()) return;
        if (!any_is_rotated) return no_rope("The keys about layers leave none with RoPE");
        if (params_ != nullptr && !by_kind_ && !any_asks)
            warn("{} was not used: no layer asks for it.", {params_path_});
        for (const std::string& key : by_kind_ ? outer.unread() : std::vector<std::string>())
            warn(is_kind(key) ? outer.path_of(key) + " was not used: no layer of that type has RoPE."
                              : outer.unread_sentence(key));
        if (has(kLearnedLogScale))
            warn(
                "{} multiplies each frequency by e^alpha, and alpha is in its weights: Config::log_scale must be set "
                "before any table is made.",
                {named()});
    }
    /// The default rope_parameters of the model's type, unless the file has one of kRotaryKeys, as older files do.
    ROPE_COLD void take_default_parameters() {
        const std::string_view text = type_.parameters;
        if (text.empty()) return;
        const bool has_schedule = text.find("\"factor\"") != text.npos;
        const bool has_part =
            text.find("\"partial_rotary_factor\"") != text.npos && !top_.says("partial_rotary_factor");
        for (const char* key : kRotaryKeys) {
            if (!top_.says(key)) continue;
            if (has_schedule || has_part)
                warn("{} is missing; that of {} was not taken, because {} is there.",
                     {params_path_, named(), top_.path_of(key)});
            return;
        }
        params_ = JsonTextReader(text, default_params_, diagnostics_).read();
        top_.warn_of_default("rope_parameters", text, default_of_type());
    }
    ROPE_COLD bool is_rotated(std::size_t i) const {
        return rotated_[i] && (!has(kRopeByEntry) || by_kind_ || model_.layer_types[i] != LayerType::full_attention);
    }

    /// Finds the source of the numbers of layer i; false if an entry says that the layer is not rotated.
    ROPE_COLD bool find_source(HfSource& s, std::size_t i, JsonFields& outer) {
        const LayerType type = model_.layer_types[i];
        const bool slides = type == LayerType::sliding_attention;
        s.params = params_;
        s.path = params_path_;
        s.theta = slides && type_.local_theta != 0.0 ? type_.local_theta : type_.theta;
        if (slides && !by_kind_ && params_ != nullptr && has(kScalingOnFullOnly)) s.is_scaled = false;
        if (scaled_kinds_)
            s.is_scaled = std::count(scaled_kinds_.list.begin(), scaled_kinds_.list.end(), kinds_[i]) != 0;
        if (scaled_layers_)  // Molmo 2
            s.is_scaled =
                std::count(scaled_layers_.list.begin(), scaled_layers_.list.end(), static_cast<Index>(i)) != 0;
        const bool is_compressed = type == LayerType::compressed_attention;
        // A key for the base of such layers.
        const char* const own = top_.said(slides          ? kSlidingThetaKeys
                                          : is_compressed ? kCompressedThetaKeys
                                                          : kFullThetaKeys);
        if (by_kind_) {
            const std::string key = entry_of(i, outer);
            const Value* const entry = outer.find(key);
            if (entry == nullptr && !has(kRopeByEntry)) outer.demand(false, key.c_str(), "a layer of that type");
            if (!outer.says(key)) return false;
            if (!outer.is_object(key)) outer.refuse(outer.path_of(key), shown(*entry), "an object or null");
            s.params = outer.object(key);
            s.path = outer.path_of(key);
            s.is_entry = true;
            if (own != nullptr) s.theta_key = own;
        } else if (slides && (own != nullptr || type_.local_theta != 0.0)) {
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
        return true;
    }
    /// The key of the entry for layer i: the layer's own name, or another one for the same type.
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

    ROPE_COLD void read_llama4_temperature() {
        if (!has(kLlama4)) return;
        const auto tuning = top_.number_or_truth("attn_temperature_tuning");
        const double scale = top_.number({"attn_scale"}, kAnyNumber).value_or(0.1);
        const double period = top_.number({"floor_scale"}, kAnyFactor).value_or(8192.0);
        if (tuning.value_or(1.0) != 0.0) model_.attention_temperature = {scale, period, 1, false, true};
    }

    const bool layout_is_given_;
    std::vector<std::string> kinds_;  ///< of layers, as the file names them
    Flags rotated_;
    std::vector<double> own_thetas_, own_partials_;
    const Value* params_ = nullptr;
    Values default_params_;
    std::string params_path_;
    bool by_kind_ = false;  ///< whether params_ has entries for kinds of layers
    MaybeList<std::string> scaled_kinds_;
    MaybeList<Index> scaled_layers_;
};

/// Reads the text of a config.json. After an error, the model is empty.
ROPE_COLD ModelConfig read_hf_json(std::string_view text, std::optional<Layout> layout, Diagnostics& diagnostics) {
    if (layout) diagnostics.status = check_layout(*layout);
    Values values;
    const Value* model = diagnostics.ok() ? JsonTextReader(text, values, diagnostics).read() : nullptr;
    if (diagnostics.ok() && model->kind != Value::Kind::object)
        diagnostics.fail("json_text is {}; it must be an object.", {shown(*model)});
    if (!diagnostics.ok()) return {};

    // Multimodal models keep the language model in an object of its own, at times within another.
    std::string path, type;
    while (diagnostics.ok()) {
        JsonFields fields(model, path, diagnostics);
        if (const auto own = fields.text({"model_type"})) type = *own;
        const char* name = fields.said(kLanguageModelKeys);
        for (const char* key : kPerhapsLanguageModelKeys)  // only where there is nothing else
            if (name == nullptr && fields.is_object(key) && !fields.says("num_hidden_layers")) name = key;
        const Value* const inner = name != nullptr ? fields.object(name) : nullptr;
        if (inner == nullptr) break;
        for (const std::string& unread : fields.unread())
            if (concerns_rope(unread) &&
                (member_of(*inner, unread) == nullptr || !(*member_of(*inner, unread) == *member_of(*model, unread))))
                fields.warn_not_used(unread, "the language model is in " + fields.path_of(name));
        model = inner;
        path = fields.path_of(name);
    }
    if (!diagnostics.ok()) return {};
    HfFile file = {JsonFields(model, path, diagnostics), layout};
    file.model.path = path;
    file.model.model_type = type;
    return HfReader(file).read();
}

ROPE_DETAIL_END
