// SPDX-License-Identifier: MIT
// The heads of each layer of a Hugging Face configuration: their number, their size, and the steps on them beside the
// rotation.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <optional>
#include <string>

#include "layers.hpp"

ROPE_DETAIL_BEGIN

class HfHeadReader : HfPart {
 public:
    ROPE_COLD explicit HfHeadReader(HfFile& file) : HfPart(file) {}

    ROPE_COLD void read() {
        const HfHeads usual = read_usual();
        if (!ok()) return;
        const HfHeads of_full = full(usual), of_sliding = sliding(usual), of_linear = linear(usual);
        for (const LayerType type : model_.layer_types)
            file_.heads.push_back(type == LayerType::full_attention      ? of_full
                                  : type == LayerType::sliding_attention ? of_sliding
                                  : type == LayerType::linear_attention  ? of_linear
                                                                         : usual);
        read_list("num_attention_heads_per_layer", &HfHeads::q);
        read_list("num_key_value_heads_per_layer", &HfHeads::kv);
        read_blocks();
        read_per_layer_config();
    }

 private:
    ROPE_COLD HfHeads read_usual() {
        HfHeads h;
        const auto q = or_default(top_.count(kQueryKeys), "num_attention_heads", type_.q_heads);
        top_.demand(q.has_value(), "num_attention_heads", "every model");
        JsonFields& attn_config = top_.inside("attn_config");  // DBRX
        auto kv = top_.count(kKeyKeys);
        if (!kv) kv = attn_config.count({"kv_n_heads"});
        if (type_.kv_heads != type_.q_heads || type_.kv_heads == 0)
            kv = or_default(kv, "num_key_value_heads", type_.kv_heads);
        // Falcon: one key head unless the newer architecture, which counts them, is meant.
        const bool multi_query = top_.truth({"multi_query"}).value_or(has(kMultiQuery));
        if (multi_query && !top_.truth({"new_decoder_architecture"}).value_or(false)) kv = 1;
        auto hidden = top_.count(kHiddenKeys);
        // DeepSeek-OCR: false means plain attention.
        const bool is_mla = top_.truth({"use_mla"}).value_or(true);
        auto rotated = top_.count({"qk_rope_head_dim"}, is_mla ? kAnyHeadDim : kAnyCountOrNone);
        rotated = is_mla ? or_default(rotated, "qk_rope_head_dim", type_.latent_dim) : std::nullopt;
        h.plain_dim = top_.count({"qk_nope_head_dim"}, kAnyCountOrNone).value_or(0);
        top_.count({"qk_head_dim"}, kAnyCountOrNone);
        const auto head_dim = top_.count(kHeadDimKeys, kAnyHeadDim);
        if (!ok()) return h;
        h.q = *q;
        h.kv = kv.value_or(*q);
        h.is_latent = rotated && !has(kTrailingSlice);
        if (rotated && !h.is_latent) h.rotary_dim = *rotated;
        h.head_dim_in = &top_;
        h.head_dim_key = h.is_latent ? "qk_rope_head_dim" : head_dim ? top_.first(kHeadDimKeys).key : "head_dim";
        if (!h.is_latent && !head_dim) hidden = or_default(hidden, "hidden_size", type_.hidden);
        if (h.is_latent || head_dim) {
            h.head_dim = h.is_latent ? *rotated : *head_dim;
        } else if (type_.head_dim != 0) {
            const bool is_usual = hidden && *hidden == type_.head_dim * *q;
            h.head_dim = is_usual ? type_.head_dim : *or_default({}, "head_dim", type_.head_dim);
        } else if (!hidden) {
            top_.demand(false, "head_dim", "a model without hidden_size");
        } else if (*hidden % *q != 0 || *hidden / *q > kMaxHeadDim) {
            fail("{} is {}; without head_dim it must be a multiple of {} ({}), and at most 2^20 times as much.",
                 {top_.path_of_first(kHiddenKeys), *hidden, top_.path_of_first(kQueryKeys), *q});
        } else {
            h.head_dim = *hidden / *q;
            h.head_dim_key = nullptr;
        }
        return h;
    }

    /// `h`, changed by these keys of `fields`; `of_type` is the default of the last one, 0: none.
    ROPE_COLD HfHeads changed(HfHeads h, JsonFields& fields, Keys q, Keys kv, const char* head_dim, Index of_type = 0) {
        h.q = fields.count(q).value_or(h.q);
        h.kv = fields.count(kv).value_or(h.kv);
        const auto dim = or_default(fields.count({head_dim}, kAnyHeadDim), head_dim, of_type);
        if (dim && !h.is_latent) {
            h.head_dim = *dim;
            h.head_dim_in = &fields;
            h.head_dim_key = head_dim;
        }
        return h;
    }
    /// Gemma 4: full layers have larger heads, and fewer of them for keys.
    ROPE_COLD HfHeads full(const HfHeads& usual) {
        // Files that transformers writes back say it layer by layer.
        const Index of_type = top_.says("per_layer_config") ? 0 : type_.global_head_dim;
        HfHeads h = changed(usual, top_, {}, {"num_global_key_value_heads"}, "global_head_dim", of_type);
        if (top_.says("num_global_key_value_heads") && !top_.truth({"attention_k_eq_v"}).value_or(true))
            h.kv = usual.kv;
        return h;
    }
    /// MiMo-V2, Step-3.5: sliding layers have other numbers of heads.
    ROPE_COLD HfHeads sliding(const HfHeads& usual) {
        JsonFields& other = top_.inside("attention_other_setting");
        other.text({"attention_type"});
        top_.count({"swa_v_head_dim"}, kAnyHeadDim);
        const HfHeads h = changed(usual, other, {"num_attention_heads"}, {"num_attention_groups"}, "head_dim");
        return changed(h, top_, {"swa_num_attention_heads", "num_sliding_attention_heads"}, {"swa_num_key_value_heads"},
                       "swa_head_dim");
    }

    /// Ring-linear: layers of linear attention have as many key heads as query heads, none of them latent.
    ROPE_COLD HfHeads linear(HfHeads h) {
        if (!has(kLinearRotates)) return h;
        h.is_linear = true;
        h.kv = h.q;
        if (!h.is_latent) return h;
        h.is_latent = false;
        if (const auto head_dim = top_.count(kHeadDimKeys, kAnyHeadDim)) {
            h.head_dim = *head_dim;
            h.head_dim_key = top_.first(kHeadDimKeys).key;
        } else {
            h.head_dim = *or_default({}, "head_dim", type_.linear_head_dim);
            h.head_dim_key = "head_dim";
        }
        return h;
    }
    ROPE_COLD void read_list(const char* key, Index HfHeads::*member) {
        const auto list = top_.counts_per_layer(key, kAnyCount);
        for (std::size_t i = 0; i < list.list.size(); ++i) file_.heads[i].*member = list.list[i];
    }
    /// Nemotron-NAS: how many query heads share a key head, block by block.
    ROPE_COLD void read_blocks() {
        const Value* const list = top_.objects("block_configs");
        const Value* of_layer = list != nullptr ? list->first : nullptr;
        for (HfHeads& h : file_.heads) {
            if (of_layer == nullptr) return;
            JsonFields block(of_layer, top_.path_of("block_configs"), diagnostics_);
            JsonFields& attention = block.inside("attention");
            of_layer = of_layer->next;
            if (const auto group = attention.count({"n_heads_in_group"})) {
                if (h.q % *group != 0)
                    fail("{} is {}; it must divide the {} query heads.",
                         {attention.path_of("n_heads_in_group"), *group, h.q});
                h.kv = h.q / *group;
            }
            h.kv = attention.count({"num_key_value_heads"}).value_or(h.kv);
        }
    }
    /// Reads deviations from the keys for all layers, by the number of the layer.
    ROPE_COLD void read_per_layer_config() {
        JsonFields& layers = top_.inside("per_layer_config");
        for (const std::string_view key : layers.keys()) {
            const bool is_number = !key.empty() && key.size() <= 6 && key.find_first_not_of("0123456789") == key.npos;
            const std::size_t i = is_number ? std::stoul(std::string(key)) : file_.heads.size();
            if (i >= file_.heads.size())
                return fail("{} is not the number of a layer; it must be from 0 to {}.",
                            {layers.path_of(in_path(key)), file_.heads.size() - 1});
            JsonFields& here = layers.inside_first_time(key);
            HfHeads& h = file_.heads[i];
            h = changed(h, here, {"num_attention_heads"}, {"num_key_value_heads"}, "head_dim");
            h.plain_dim = here.count({"qk_nope_head_dim"}, kAnyCountOrNone).value_or(h.plain_dim);
            if (const auto rotated = here.count({"qk_rope_head_dim"}, kAnyHeadDim); rotated && h.is_latent) {
                h.head_dim = *rotated;
                h.head_dim_in = &here;
            }
        }
    }
};

/// The steps on q, k and v other than the rotation, of a file whose model type is known.
class HfSteps : HfPart {
 public:
    ROPE_COLD explicit HfSteps(HfFile& file) : HfPart(file) {}

    ROPE_COLD void read() {
        HfModel type = read_numbers();
        const HeadNorm norm = type.norm;
        const bool values_from_keys =
            has(kValuesFromKeys) || (has(kValuesFromKeysIfAsked) && top_.truth({"attention_k_eq_v"}).value_or(false));
        double given_scale = type_.scale.value;
        if (type_.scale.key != nullptr) given_scale = top_.number({type_.scale.key}, kAnyFactor).value_or(given_scale);
        for (std::size_t i = 0; i < file_.heads.size(); ++i) {
            type.norm = has(kLinearRotates) && file_.heads[i].is_latent ? HeadNorm() : norm;
            add_steps(model_, type, i, scale(file_.heads[i], given_scale), values_from_keys);
        }
        if (has(kValueEmbeddings)) add_value_embeddings();
        share_keys();
        warn_of_other_keys();
    }

 private:
    /// NeoMME: v of two layers gets a learned embedding of its token, which no HeadSteps describes.
    ROPE_COLD void add_value_embeddings() {
        const List<LayerType>& types = model_.layer_types;
        const auto first = std::find(types.begin(), types.end(), LayerType::full_attention);
        const auto last = std::find(types.rbegin(), types.rend(), LayerType::full_attention);
        if (first == types.end()) return;
        for (const auto at : {first - types.begin(), types.rend() - last - 1})
            model_.steps[static_cast<std::size_t>(at)].has_other_steps = true;
    }
    /// Warns of keys of steps that other model types have, unless their values say what the code does anyway.
    ROPE_COLD void warn_of_other_keys() {
        warn_of_other_keys(top_);
        for (const char* key : {"attn_config", "attention_config", "attention"})
            if (top_.is_object(key)) warn_of_other_keys(top_.inside(key));
    }
    ROPE_COLD void warn_of_other_keys(JsonFields& fields) {
        for (const std::string_view key : fields.unread()) {
            const bool is_other = key == "attention_k_eq_v" || key == "scaling" || key == "use_cla";
            if ((is_other || concerns_steps(key)) && !is_so(key, *fields.lookup(key)))
                fields.warn_not_used(in_path(key), "the code of " + named() + " does not read it");
        }
    }
    /// Whether the value says what the code does without the key.
    ROPE_COLD bool is_so(std::string_view key, const Value& value) const {
        const bool is_number = value.kind == Value::Kind::number;
        const bool is_off = value.is_false() || (is_number && value.number == 0.0);
        if (has_whole_word(key, kNorms)) {
            const bool is_of_values = has_whole_word(key, {"v", "value", "values"});
            const bool has_norm = is_of_values ? type_.v_norm.kind != NormKind::none : has_norm_;
            if (value.kind == Value::Kind::text) return has_norm && is_among(kUsualNorms, value.text);
            return is_off != has_norm;
        }
        if (is_off) return !is_among(kHarmlessIfTrue, key);
        if (is_among(kHarmlessIfTrue, key)) return true;
        const bool is_of_scores =
            has_whole_word(key, {"attn", "attention", "softmax"}) && !has_whole_word(key, {"value"});
        return is_number && value.number == 1.0 && !is_of_scores;
    }

    /// The model type with this file's numbers.
    ROPE_COLD HfModel read_numbers() {
        has_norm_ = type_.norm.kind != NormKind::none &&
                    (type_.norm_key == nullptr || top_.truth({type_.norm_key}).value_or(type_.norm_is_default));
        const bool has_eps = has_norm_ && type_.eps_key != nullptr;
        HfModel type = with_numbers(type_, has_norm_, has_eps ? top_.number({type_.eps_key}, kAnyPart) : std::nullopt);
        type.q_factor.value = factor(type_.q_factor);
        if (has(kScalesByQueryRank))
            if (const auto hidden = top_.count(kHiddenKeys), rank = top_.count({"q_lora_rank"}); hidden && rank)
                type.q_factor.value *= std::sqrt(static_cast<double>(*hidden) / static_cast<double>(*rank));
        type.k_factor.value = factor(type_.k_factor);
        type.v_factor.value = factor(type_.v_factor);
        if (top_.truth({"rotary_value"}).value_or(false)) type.traits |= kRotatesValues;
        if (has(kLinearRotates) && top_.truth({"linear_silu", "use_linear_silu"}).value_or(false))
            type.traits |= kHasOtherSteps;
        if (!has(kClips)) return type;
        auto clip = top_.number({"clip_qkv"}, kAnyFactorOrNone);
        if (!clip) clip = top_.inside("attn_config").number({"clip_qkv"}, kAnyFactorOrNone);
        type.clip = clip.value_or(0.0);
        return type;
    }
    /// Without a key, a negative value is an exponent of head_dim.
    ROPE_COLD double factor(const KeyedNumber& of_type) {
        if (of_type.key != nullptr) return top_.number({of_type.key}, kAnyNumber).value_or(of_type.value);
        return of_type.value >= 0.0 ? of_type.value
                                    : std::pow(static_cast<double>(file_.heads[0].head_dim), of_type.value);
    }
    ROPE_COLD double scale(const HfHeads& heads, double given) const {
        const double dim = static_cast<double>(heads.head_dim + (heads.is_latent ? heads.plain_dim : 0));
        const bool is_root = given == 0.0 || type_.scale_is_inverse_root;
        if (given == 0.0) given = has(kHalfHeadScale) ? dim / 2.0 : dim;
        return (is_root ? 1.0 / std::sqrt(given) : given) * model_.softmax_scale_factor;
    }

    /// Layers without keys of their own read the keys of another layer.
    ROPE_COLD void share_keys() {
        const Index layers = static_cast<Index>(model_.steps.size());
        const auto given = top_.count({"num_kv_shared_layers"}, kAnyCountOrNone);
        const Index shared = given.value_or(type_.shared_layers < layers ? type_.shared_layers : 0);
        if (!given && shared != 0) top_.warn_of_default("num_kv_shared_layers", shared, default_of_type());
        share_last_keys(model_, model_.steps.size(), shared);
        if (shared > layers) top_.refuse(top_.path_of("num_kv_shared_layers"), shared, "no more than there are layers");
        const auto sources = top_.per_layer("kv_source_layers", top_.counts("kv_source_layers", kAnyCountOrNone), true);
        for (std::size_t i = 0; sources && ok() && i < model_.steps.size(); ++i) {
            const Index source = model_.steps[i].keys_of_layer = sources.list[i];
            if (source > static_cast<Index>(i))
                top_.refuse(sentence_of("{}[{}]", {top_.path_of("kv_source_layers"), i}), source,
                            "the number of this layer or of one before it");
        }
    }

    bool has_norm_ = false;  ///< of q and k, in this file
};

ROPE_DETAIL_END
