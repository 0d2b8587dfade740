// SPDX-License-Identifier: MIT
// The model type of a Hugging Face configuration, its layout, and the keys that switch rotary embeddings on and off.
#pragma once

#include <optional>
#include <string>

#include "layers.hpp"

ROPE_DETAIL_BEGIN

class HfType : HfPart {
 public:
    ROPE_COLD explicit HfType(HfFile& file) : HfPart(file) {}

    ROPE_COLD void read() {
        if (model_.model_type.empty() && is_params_json()) model_.model_type = kParamsJsonType;
        const HfModel* known = find_hf_model(type_by_another_key());
        if (known == nullptr) known = type_of_architecture();
        file_.type_is_known = known != nullptr;
        if (known != nullptr) {
            file_.type = *known;
            if (!file_.layout_is_given) file_.layout = known->layout;
            model_.reference_uses_other_layout = has(kReordersFeatures) != (*file_.layout != known->layout);
        } else if (!speaks_of_rope()) {
            return fail("{} is not known to have a rotary embedding, and no key of the file speaks of one.", {named()});
        }
        if (has(kNoRope)) return no_rope(named() + " has no rotary embedding");
        hide_keys_of_others();
        read_layout_keys();
        read_switches();
        if (!file_.type_is_known)
            warn(
                "{} is not known, so only its keys were read. Compare with its code what no key may say: the direction "
                "of the rotation, the slice of the head, layers without RoPE, magnitudes, and norms, clamps or factors "
                "of q, k and v.",
                {named()});
        if (!file_.layout)
            warn(
                "{} is not known, so Config::layout is left open: find out whether the model rotates (x[2i], x[2i+1]) "
                "or (x[i], x[i + rotary_dim/2]).",
                {named()});
        auto positions = top_.count(kLengthKeys);
        if (!positions && type_.length_key != nullptr) positions = top_.count({type_.length_key});
        model_.max_position_embeddings = positions.value_or(type_.max_positions);
        if (!positions && type_.max_positions != 0)
            top_.warn_of_default("max_position_embeddings", type_.max_positions, default_of_type());
    }

 private:
    /// Whether the file is a params.json, as Mistral and Llama publish beside their own form of the weights.
    ROPE_COLD bool is_params_json() {
        if (!top_.says("dim") || !top_.says("n_layers") || !top_.says("n_heads")) return false;
        // DeepSeek's own files look alike, and leave YaRN to the code.
        const char* const other = top_.said({"n_routed_experts", "n_dense_layers", "original_seq_len", "rope_factor"});
        if (other != nullptr)
            fail("{} is a key of DeepSeek's own files, which are not read: take the config.json of the model.",
                 {top_.path_of(other)});
        return true;
    }
    ROPE_COLD void hide_keys_of_others() {
        const std::string_view types = type_.types, first = types.substr(0, types.find(' '));
        for (const OwnKey& own : kOwnKeys) {
            if (!file_.type_is_known || !top_.has(own.key) || is_one_of(own.types, ' ', first)) continue;
            const Value& value = *top_.lookup(own.key);
            const bool is_nothing = value.kind == Value::Kind::null || value.is_false() ||
                                    (value.kind == Value::Kind::number && value.number == 0.0) ||
                                    (value.kind == Value::Kind::list && value.size == 0);
            if (!is_nothing) top_.warn_not_used(own.key, "the code of " + named() + " does not read it");
            value.is_hidden = true;
        }
    }
    /// The type of the language model, where one name stands for several.
    ROPE_COLD std::string type_by_another_key() {
        for (const HfVersion& v : kHfVersions) {
            if (model_.model_type != v.type) continue;
            if (!top_.says(v.key)) continue;
            if (v.value == nullptr) return v.is;
            const Value& value = *top_.lookup(v.key);
            if (value.kind != Value::Kind::number && value.kind != Value::Kind::text) continue;
            if ((value.kind == Value::Kind::text ? value.text : shown(value)) != v.value) continue;
            top_.find(v.key);
            return v.is;
        }
        return model_.model_type;
    }
    /// The type of the class in "architectures", by which programs load the weights.
    ROPE_COLD const HfModel* type_of_architecture() {
        const Value* const list = top_.find("architectures");
        const Value* const only = list != nullptr && list->size == 1 ? list->first : nullptr;
        const bool is_text = only != nullptr && only->kind == Value::Kind::text;
        const HfModel* const known = is_text ? find_hf_architecture(only->text) : nullptr;
        if (known != nullptr)
            warn("{} is not known; the model was taken for {}, which architectures names.", {named(), shown(*only)});
        return known;
    }
    /// Whether some key says that there is a rotary embedding.
    ROPE_COLD bool speaks_of_rope() {
        for (const std::string_view key : top_.keys()) {
            const Value& value = *top_.lookup(key);
            if (!concerns_rope(key) || value.kind == Value::Kind::null || value.is_false()) continue;
            if (has_word(key, {"alibi", "nope", "no_rope", "neox"})) continue;
            const bool is_kind = is_among(kPositionKindKeys, key) || key.find("type") != key.npos;
            if (!is_kind || value.text.rfind("ro", 0) == 0 || value.text.rfind("Ro", 0) == 0) return true;
        }
        return top_.inside("attn_config").truth({"rope"}).value_or(false);  // MPT
    }
    ROPE_COLD void read_layout_keys() {
        auto interleave = top_.truth({"rope_interleave", "rotary_emb_interleaved"});
        const char* const neox_key = "is_neox_style";
        if (const auto is_neox = top_.truth({neox_key}); is_neox && !file_.layout_is_given) {
            if (!file_.type_is_known && !interleave) interleave = !*is_neox;
            if (*is_neox == (file_.layout == Layout::interleaved) && file_.layout)
                top_.warn_not_used(neox_key, "the code of " + named() + " does not read it");
        }
        if (file_.layout_is_given) return;
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
        for (const char* key : {"rotary", "rope", "use_rotary_pos_emb", "use_rotary_embedding"})
            if (top_.kind_of(key) == Value::Kind::truth && !top_.truth({key}).value_or(true))
                return no_rope(top_.path_of(key) + " is false");
        const char* kind_key = nullptr;  // other things than texts may stand there, too
        for (const char* key : kPositionKindKeys)
            if (kind_key == nullptr && top_.kind_of(key) == Value::Kind::text) kind_key = key;
        const auto kind = kind_key != nullptr ? top_.text({kind_key}) : std::nullopt;
        if (const char* const key = type_.rope_key) {
            const char* const value = type_.rope_value;
            if (value != nullptr ? kind == value : top_.truth({key}).value_or(false)) return;
            return no_rope((top_.says(key) ? top_.path_of(key) + " is " + shown(*top_.find(key)) : top_.lack_of(key)) +
                           ", not " + (value != nullptr ? shown(value) : "true"));
        }
        if (!kind || *kind == "rope" || *kind == "rotary" || *kind == "RoPE") return;
        if (*kind == "nope" || *kind == "alibi" || *kind == "learned")
            return no_rope(top_.path_of(kind_key) + " is " + shown(*kind));
        // These values repeat the layout that is known, or are left over from older files.
        const bool is_usual = *kind == "absolute" || (*kind == "rope_gptj" && type_.layout == Layout::interleaved);
        if (!file_.type_is_known || !is_usual)
            warn("{} is {}, which is not understood, and was not used.", {top_.path_of(kind_key), shown(*kind)});
    }
};

ROPE_DETAIL_END
