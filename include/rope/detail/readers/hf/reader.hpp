// SPDX-License-Identifier: MIT
// Definitions of hf_config.hpp: a Hugging Face configuration as a ModelConfig, its type, and the rotary embedding of
// each layer.
#pragma once

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "../../../hf_config.hpp"
#include "heads.hpp"
#include "indexer.hpp"
#include "rotary.hpp"
#include "type.hpp"

ROPE_DETAIL_BEGIN

class HfReader : HfPart {
 public:
    ROPE_COLD explicit HfReader(HfFile& file) : HfPart(file) {}

    ROPE_COLD ModelConfig read() {
        HfType(file_).read();
        if (ok()) read_layers();
        if (ok()) read_rotary();
        if (ok()) read_llama4_temperature();
        if (ok() && file_.type_is_known) HfSteps(file_).read();
        if (ok() && file_.type_is_known) HfIndexerReader(file_).read();
        const std::vector<std::string_view> unread = top_.unread();
        warn_of_indexer(unread);
        for (const std::string_view key : unread) warn_unread(key);
        for (const JsonFields& inner : top_.children())
            for (const std::string_view key : inner.unread())
                if (concerns_rope(key) && !is_harmless(key, *inner.lookup(key))) warn(inner.unread_sentence(key));
        return std::move(model_);
    }

 private:
    ROPE_COLD std::size_t layers() const noexcept { return model_.layer_types.size(); }

    /// One warning for all keys of an indexer that is not described. (Of one that is, the others say how many it chooses.)
    ROPE_COLD void warn_of_indexer(const std::vector<std::string_view>& unread) {
        if (model_.indexer) return;
        std::string names;
        for (const std::string_view key : unread)
            if (is_of_indexer(key) && names.size() < 2 * kMaxShown)
                names.append(names.empty() ? "" : ", ").append(top_.path_of(key));
        if (!names.empty())
            warn(
                "Keys of the indexer were not used ({}): its heads, their norm and their rotation are not described "
                "here, and must be computed as in the model's code.",
                {names});
    }
    ROPE_COLD static bool is_of_indexer(std::string_view key) noexcept {
        return begins_with(key, "index_") || begins_with(key, "indexer_");
    }
    ROPE_COLD static bool is_harmless(std::string_view key, const Value& value) {
        const bool is_empty = value.kind == Value::Kind::list && value.size == 0;
        return is_empty || is_among(kHarmlessKeys, key) || (value.is_false() && is_among(kHarmlessIfFalse, key));
    }
    ROPE_COLD void warn_unread(std::string_view key) {
        const Value& value = *top_.lookup(key);
        if (is_harmless(key, value) || is_of_indexer(key)) return;
        const bool is_switched_off = begins_with(key, "use_pos") && value.is_false();
        if (concerns_rope(key) || concerns_layers(key) || is_switched_off)
            return warn(top_.unread_sentence(key, kRotaryKeys));
        if (value.members == nullptr || has_word(key, {"vision", "audio"})) return;
        for (const auto& [inner, of_inner] : *value.members)  // (Fields of each object would take long.)
            if (concerns_rope(inner) && of_inner->kind != Value::Kind::null && !is_harmless(inner, *of_inner))
                warn("{}.{} is not understood, and was not used.", {top_.path_of(in_path(key)), in_path(inner)});
    }
    ROPE_COLD void read_layers() {
        HfLayers reader(file_);
        kinds_ = reader.read();
        if (!ok()) return;
        if (has(kAlibiWithFortyLayers) && layers() == 40)
            return no_rope(top_.path_of("num_hidden_layers") + " is 40, with which " + named() + " has ALiBi");
        rotated_ = reader.rotated();
        const bool has_chunks = has(kReadsParamsJson) ? top_.says("attention_chunk_size") : !top_.has("layer_types");
        for (std::size_t i = 0; has(kLlama4) && has_chunks && i < layers(); ++i)
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

    ROPE_COLD bool is_kind(std::string_view key) const {
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
        if (params_ == nullptr && has(kReadsParamsJson)) params_ = top_.object("yarn");
        is_params_json_ = params_ != nullptr && params_ == top_.lookup("yarn");
        if (has(kReadsParamsJson) && !is_params_json_ && top_.is_object("yarn"))
            top_.warn_not_used("yarn", params_path_ + " is there, too");
        if (is_params_json_) params_path_ = top_.path_of("yarn");
        if (params_ == nullptr && !top_.has("rope_parameters") && !top_.has("rope_scaling")) take_default_parameters();
        JsonFields outer(params_, params_path_, diagnostics_);
        for (const std::string_view key : outer.keys()) by_kind_ = by_kind_ || is_kind(key);
        const bool states_theta = top_.has("rope_parameters") || top_.has("rope_theta");
        if (has(kRopeIfTheta) && states_theta && !outer.says("rope_theta") && !top_.says("rope_theta"))
            return no_rope(outer.lack_of("rope_theta") + ", without which " + named() + " has no RoPE");
        read_scaled_layers();

        Values numbers;
        Members made;  // by the text of a source, the number of its config, as a Value: a map of Index is one more type
        model_.config_of_layer.assign(layers(), -1);
        bool any_asks = false, any_is_rotated = false;
        Index pairs = 0;
        for (std::size_t i = 0; i < layers() && ok(); ++i) {
            const double theta = own_thetas_.empty() ? 0.0 : own_thetas_[i];
            if (!is_rotated(i) || (!own_thetas_.empty() && theta == 0.0)) continue;
            HfSource source;
            if (!find_source(source, i, outer) || !ok()) continue;
            any_is_rotated = true;
            any_asks = any_asks || (source.params != nullptr && source.is_scaled);
            if (theta != 0.0 && !has(kThetaListIsSwitch)) source.own_theta = theta;
            if (!own_partials_.empty()) source.own_partial = own_partials_[i];
            const Value*& config = made[source.text(file_.heads[i])];
            if (config == nullptr) {
                config = &numbers.add(Value::Kind::number, static_cast<double>(model_.configs.size()));
                const Value*& same_params = made[source.text_of_params()];
                source.is_first = same_params == nullptr;
                same_params = config;
                model_.configs.push_back(HfRotary(file_, source, file_.heads[i]).read());
                pairs += rotary_dim(model_.configs.back()) / 2;
                if (pairs > kMaxModelPairs)
                    fail(
                        "{} is {}; the rotary embeddings of layers 0 to {} have {} pairs in all, and those of a model "
                        "must have at most {}.",
                        {top_.path_of_first(kLayerCountKeys), layers(), i, pairs, kMaxModelPairs});
            }
            model_.config_of_layer[i] = static_cast<Index>(config->number);
        }
        if (!ok()) return;
        if (!any_is_rotated) return no_rope("The keys about layers leave none with RoPE");
        if (params_ != nullptr && !by_kind_ && !any_asks)
            warn("{} was not used: no layer asks for it.", {params_path_});
        if (by_kind_) find_repeated(outer);
        for (const std::string_view key : by_kind_ ? outer.unread() : std::vector<std::string_view>())
            warn(is_kind(key) ? outer.path_of(key) + " was not used: no layer of that type has RoPE."
                              : outer.unread_sentence(key));
        if (has(kLearnedLogScale))
            warn(
                "{} multiplies each frequency by e^alpha, and alpha is in its weights: Config::log_scale must be set "
                "before any table is made.",
                {named()});
    }
    /// Keys beside the entries for kinds of layers that stand in an entry, too.
    ROPE_COLD void find_repeated(JsonFields& outer) const {
        for (const std::string_view kind : outer.keys()) {
            const Value* const entry = outer.lookup(kind);
            if (!is_kind(kind) || entry->members == nullptr) continue;
            for (const auto& member : *entry->members)
                if (member.second->kind != Value::Kind::null)
                    outer.beat(member.first, *member.second, outer.path_of(kind) + "." + in_path(member.first));
        }
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
    /// Which layers have the scaling, by their kinds or their numbers (Molmo 2).
    ROPE_COLD void read_scaled_layers() {
        const auto kinds = top_.texts("yarn_only_types");
        const auto numbers = top_.counts("rope_scaling_layers", kAnyCountOrNone);
        if (!kinds && !numbers) return;
        Members scaled;  // the keys alone count
        for (const std::string& kind : kinds.list) scaled[kind];
        Flags flags(layers());
        for (std::size_t i = 0; i < layers() && !numbers; ++i) flags[i] = Index(scaled.count(kinds_[i]));
        for (const Index i : numbers.list)
            if (i < static_cast<Index>(layers())) flags[static_cast<std::size_t>(i)] = 1;
        is_scaled_ = std::move(flags);
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
        s.is_params_json = is_params_json_;
        s.theta = slides && type_.local_theta != 0.0 ? type_.local_theta : type_.theta;
        if (slides && !by_kind_ && params_ != nullptr && has(kScalingOnFullOnly)) s.is_scaled = false;
        if (is_scaled_) s.is_scaled = is_scaled_.list[i] != 0;
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
        const double usual = has(kReadsParamsJson) ? 0.0 : 1.0;
        if (tuning.value_or(usual) != 0.0) model_.attention_temperature = {scale, period, 1, false, true};
    }

    std::vector<std::string> kinds_;  ///< of layers, as the file names them
    Flags rotated_;
    std::vector<double> own_thetas_, own_partials_;
    const Value* params_ = nullptr;
    Values default_params_;
    std::string params_path_;
    bool by_kind_ = false;         ///< whether params_ has entries for kinds of layers
    bool is_params_json_ = false;  ///< whether it is the "yarn" of a params.json
    MaybeList<Index> is_scaled_;   ///< 1 or 0 for each layer, where a key says which layers are
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
    std::list<JsonFields> objects;
    while (diagnostics.ok()) {
        JsonFields& fields = objects.emplace_back(model, path, diagnostics);
        if (const auto own = fields.text({"model_type"})) type = *own;
        const char* name = fields.said(kLanguageModelKeys);
        for (const char* key : kPerhapsLanguageModelKeys)  // only where there is nothing else
            if (name == nullptr && fields.is_object(key) && !fields.says("num_hidden_layers")) name = key;
        const Value* const inner = name != nullptr ? fields.object(name) : nullptr;
        if (inner == nullptr) break;
        for (const std::string_view unread : fields.unread())
            if (concerns_rope(unread) && unread != "mrope_section" &&
                (member_of(*inner, unread) == nullptr || !(*member_of(*inner, unread) == *member_of(*model, unread))))
                fields.warn_not_used(unread, "the language model is in " + fields.path_of(name));
        model = inner;
        path = fields.path_of(name);
    }
    if (!diagnostics.ok()) return {};
    HfFile file = {JsonFields(model, path, diagnostics)};
    if (objects.size() > 1) file.outer = &*std::prev(objects.end(), 2);
    file.layout = layout;
    file.layout_is_given = layout.has_value();
    file.model.path = path;
    file.model.model_type = type;
    return HfReader(file).read();
}

ROPE_DETAIL_END

ROPE_BEGIN

ROPE_API ModelConfig read_hf_config(std::string_view json_text, std::optional<Layout> layout) {
    detail::Diagnostics diagnostics;
    ModelConfig model = detail::read_hf_json(json_text, layout, diagnostics);
    return detail::finished(std::move(model), std::move(diagnostics));
}

ROPE_END
