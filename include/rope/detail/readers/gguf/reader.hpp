// SPDX-License-Identifier: MIT
// Definitions of gguf_config.hpp: the metadata of a GGUF file as a ModelConfig, which are layers, heads, the rotary
// embedding of each layer, and the steps beside it.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "../../../gguf_config.hpp"
#include "../hf/model_names.hpp"
#include "rotary.hpp"

ROPE_DETAIL_BEGIN
namespace gguf {

class Reader : Rotary {
 public:
    ROPE_COLD Reader(const GgufLookup& get, const GgufTensors& tensors, std::optional<Layout> layout,
                     Diagnostics& diagnostics)
        : Rotary(get, tensors, diagnostics), layout_(layout) {}

    ROPE_COLD ModelConfig read() {
        read_architecture();
        if (ok()) read_shape();
        if (ok()) read_heads();
        if (ok()) read_layer_types();
        if (ok() && architecture_.rope != Rope::none) read_rotary();
        if (ok()) read_steps();
        return std::move(model_);
    }

 private:
    ROPE_COLD std::size_t layers() const noexcept { return model_.config_of_layer.size(); }
    ROPE_COLD bool has_chunks() const { return pattern_.find('c') != pattern_.npos; }

    ROPE_COLD void read_architecture() {
        const auto name = fields_.text({"general.architecture"});
        if (!name) return fields_.demand(false, "general.architecture", "every GGUF file");
        if (name->empty() || name->size() > 64 ||
            name->find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-_.") != name->npos)
            return fields_.refuse("general.architecture", shown(*fields_.find("general.architecture")),
                                  "1 to 64 of the characters a-z, 0-9, -, _ and .");
        model_.model_type = *name;
        fields_.set_prefix(*name);
        const Architecture* known = find_architecture(*name);
        if (known != nullptr && known->with_hyper_connections != nullptr)
            if (fields_.count({"hyper_connection.count"}, kAnyCountOrNone).value_or(0) > 0)
                known = known->with_hyper_connections;
        if (known == nullptr && !layout_)
            return fail(
                "general.architecture is {}, which is not known; give read_gguf_config the layout that the model "
                "rotates: Layout::interleaved, (x[2i], x[2i+1]), or Layout::half_split, (x[i], x[i + rotary_dim/2]).",
                {shown(*name)});
        if (known == nullptr)
            warn(
                "general.architecture is {}, which is not known; only what the keys say of its layers was used. Not "
                "checked is whether its code rotates the other way, another slice of the head or other layers.",
                {shown(*name)});
        if (known != nullptr) architecture_ = *known;
        pattern_ = architecture_.pattern;
        // The conversion of a vision model stores its language model with the pairs of neox.
        const bool was_norm = architecture_.rope == Rope::norm;
        sections_ = fields_.counts("rope.dimension_sections", kAnyCountOrNone).list;
        const bool has_axes = sections_.size() > 1 && sections_[0] > 0 && sections_[1] > 0;
        if (has(kOptionalSections) && has_axes) architecture_.rope = Rope::mrope;
        const Layout own = kind_of(architecture_.rope).layout;
        if (!layout_) layout_ = own;
        if (known == nullptr) return;
        const bool converted = was_norm && architecture_.rope == Rope::mrope;
        const bool differs = converted || has(kRowsPermuted) || has(kReordersFeatures);
        model_.reference_uses_other_layout = differs != (*layout_ != own);
    }

    ROPE_COLD void read_shape() {
        const Index count = fields_.needed(fields_.count({"block_count"}, kAnyLayers), "block_count", "every model");
        model_.max_position_embeddings = fields_.count({"context_length"}).value_or(0);
        const Index extra = has(kIsDraft) ? 0 : fields_.count({"nextn_predict_layers"}, kAnyCountOrNone).value_or(0);
        if (!ok()) return;
        if (extra >= count)
            return fail("{} is {}; it must be less than block_count ({}).",
                        {fields_.path_of("nextn_predict_layers"), extra, count});
        model_.config_of_layer.assign(static_cast<std::size_t>(count), -1);
        usual_layers_ = layers() - static_cast<std::size_t>(extra);
        fields_.set_layers(layers(), usual_layers_);
    }

    ROPE_COLD void read_heads() {
        const auto q = fields_.count_per_layer("attention.head_count", kAnyCountOrNone);
        const auto kv = fields_.count_per_layer("attention.head_count_kv", kAnyCountOrNone);
        const auto key_length = fields_.count({"attention.key_length"}, kAnyHeadDim);
        const auto key_length_mla = fields_.count({"attention.key_length_mla"}, kAnyHeadDim);
        sliding_head_dim_ = fields_.count({"attention.key_length_swa"}, kAnyHeadDim);
        fields_.count({"attention.value_length"}, kAnyHeadDim);
        const auto embedding = fields_.count({"embedding_length"});
        rotary_dim_ =
            fields_.count({"rope.dimension_count"}, architecture_.rope != Rope::none ? kAnyHeadDim : kAnyCountOrNone);
        sliding_rotary_dim_ = fields_.count({"rope.dimension_count_swa"}, kAnyHeadDim);
        if (architecture_.rope != Rope::none) fields_.demand(q.is_there, "attention.head_count", named());
        if (!ok()) return;
        is_latent_ = has(kLatentAttention) || (key_length_mla && !has(kCompresses));
        Index first = 0;
        for (std::size_t i = 0; i < layers(); ++i) {
            const Index of_q = q ? of_layer(q.list, i) : 0, of_kv = kv ? of_layer(kv.list, i) : of_q;
            HeadCounts here = is_latent_ ? HeadCounts{of_q, 1, of_q} : HeadCounts{of_q, of_kv, of_kv};
            if (of_q == 0 || of_kv == 0) here = HeadCounts();
            model_.heads.push_back(here);
            if (first == 0) first = of_q;
        }
        if (architecture_.rope == Rope::none || first == 0) return;
        const bool is_wide = has(kWidthScale) && (layers() == 46 || layers() == 62);
        const Index width = embedding.value_or(0) / first;
        score_dim_ = is_wide ? width : is_latent_ && key_length_mla ? *key_length_mla : key_length.value_or(width);
        if (has(kCompresses)) fields_.demand(rotary_dim_.has_value(), "rope.dimension_count", named());
        if (is_latent_) {
            fields_.demand(rotary_dim_.has_value(), "rope.dimension_count", "multi-head latent attention");
            head_dim_ = rotary_dim_.value_or(0);
        } else if (key_length) {
            head_dim_ = *key_length;
        } else if (!embedding) {
            fields_.demand(false, "attention.key_length", "a model without embedding_length");
        } else if (*embedding % first != 0 || *embedding / first > kMaxHeadDim) {
            fail(
                "{} is {}; without attention.key_length it must be a multiple of attention.head_count ({}), and at "
                "most 2^20 times it.",
                {fields_.path_of("embedding_length"), *embedding, first});
        } else {
            head_dim_ = *embedding / first;
        }
    }
    /// Layers beyond the end of an array are like its last entry.
    ROPE_COLD static Index of_layer(const std::vector<Index>& list, std::size_t i) {
        return list.empty() ? 0 : list[i < list.size() ? i : list.size() - 1];
    }

    ROPE_COLD void read_layer_types() {
        const Flags recurrent = recurrent_layers();
        const Flags sliding = sliding_layers();
        const std::vector<Index> ratios = compress_ratios();
        const auto pattern = fields_.count_per_layer("attention.rope_pattern", kYesOrNo);
        const auto dense = fields_.count({"leading_dense_block_count"}, kAnyCountOrNone);
        if (!ok()) return;
        for (std::size_t i = 0; i < layers(); ++i) {
            LayerType type = has(kCompresses) ? LayerType::sliding_attention : LayerType::full_attention;
            if (sliding[i]) type = has_chunks() ? LayerType::chunked_attention : LayerType::sliding_attention;
            if (i < ratios.size() && ratios[i] != 0) type = LayerType::compressed_attention;
            if (recurrent[i] || model_.heads[i].q == 0) type = LayerType::no_attention;
            if (type == LayerType::no_attention) model_.heads[i] = HeadCounts();
            model_.layer_types.push_back(type);
        }
        rotated_ = rotated_layers(model_.layer_types, architecture_.traits, !has(kNoRopeOnFullLayers) || !slides_);
        for (std::size_t i = 0; i < layers(); ++i) {
            const bool is_dense = has(kDenseLayersRotate) && static_cast<Index>(i) < dense.value_or(0);
            const bool rotates = i < pattern.list.size() ? pattern.list[i] != 0 : rotated_[i] || is_dense;
            rotated_[i] = rotates && attends_to_itself(model_.layer_types[i]);
        }
    }
    /// DeepSeek-V4: one ratio per layer. Layers that predict further tokens slide if the list has none for them.
    ROPE_COLD std::vector<Index> compress_ratios() {
        const char* const key = "attention.compress_ratios";
        auto list = has(kCompresses) ? fields_.counts(key, kAnyCountOrNone) : std::nullopt;
        list.list.resize((std::min)(list.list.size(), layers()));
        list = fields_.per_layer(key, std::move(list));
        if (has(kNeedsRatios)) fields_.demand(list.is_there, key, named());
        return list.list;
    }
    ROPE_COLD Flags recurrent_layers() {
        const auto list = fields_.counts_per_layer("attention.recurrent_layers", kYesOrNo);
        const auto interval = fields_.count({"full_attention_interval"});
        const bool has_recurrence = pattern_.find('-') != pattern_.npos;
        Flags recurrent(layers(), false);
        if (!list && !interval && !has_recurrence) return recurrent;
        for (std::size_t i = 0; i < usual_layers_ && ok(); ++i)
            recurrent[i] = list ? list.list[i] != 0
                                : by_pattern(has_recurrence ? pattern_ : "-f", interval.value_or(0), 0, i) ==
                                      LayerType::no_attention;
        return recurrent;
    }
    ROPE_COLD Flags sliding_layers() {
        Flags sliding(layers(), false);
        const auto window = fields_.count({"attention.sliding_window"}, kAnyCountOrNone);
        if (has(kNeedsWindow)) fields_.demand(window.has_value(), "attention.sliding_window", named());
        const char* const key = "attention.sliding_window_pattern";
        MaybeList<Index> list;
        std::optional<Index> period;
        if (fields_.is_list(key) || has(kNeedsList))
            list = fields_.counts_per_layer(key, kYesOrNo);
        else
            period = fields_.count({key}, kAnyCountOrNone);
        const bool may_slide = window ? *window > 0 : has(kSlidesAnyway);
        if (may_slide && has(kNeedsPattern | kNeedsList)) fields_.demand(fields_.has(key), key, named());
        if (!ok()) return sliding;
        const std::string pattern = pattern_.find('-') == pattern_.npos ? pattern_ : "";
        slides_ = (list || period || !pattern.empty()) && may_slide;
        for (std::size_t i = 0; i < usual_layers_ && slides_; ++i)  // a period of 0: all slide
            sliding[i] = list ? list.list[i] != 0
                              : period == Index(0) || by_pattern(pattern.empty() ? "sf" : pattern, period.value_or(0),
                                                                 architecture_.traits, i) != LayerType::full_attention;
        return sliding;
    }
    ROPE_COLD LayerType by_pattern(const std::string& pattern, Index period, Traits traits, std::size_t i) const {
        return layer_of_pattern(pattern, period, traits, static_cast<Index>(i), static_cast<Index>(usual_layers_));
    }

    ROPE_COLD bool any_is_rotated() {
        const bool is_on = !has(kFinetunedIsSwitch) || fields_.truth({"rope.scaling.finetuned"}).value_or(true);
        if (!is_on) warn("{} is false: no layer has RoPE.", {fields_.path_of("rope.scaling.finetuned")});
        const bool has_alibi = has(kAlibiWithFortyLayers) && layers() == 40;
        if (has_alibi)
            warn("{} is 40: no layer has RoPE, because this model has ALiBi.", {fields_.path_of("block_count")});
        return is_on && !has_alibi && std::find(rotated_.begin(), rotated_.end(), Index(1)) != rotated_.end();
    }

    ROPE_COLD void read_rotary() {
        read_scaling();
        const auto base = fields_.number({"rope.freq_base"}, kAnyBase);
        auto sliding_base = fields_.number({"rope.freq_base_swa"}, kAnyBase);
        const auto compressed_base = fields_.number({"attention.compress_rope_freq_base"}, kAnyBase);
        if (ok()) read_temperature(slides_ && has_chunks());
        if (!ok() || !any_is_rotated()) return;
        bool any_slides = false, any_compresses = false;
        for (std::size_t i = 0; i < layers(); ++i) {
            any_slides = any_slides || (rotated_[i] && is_sliding(i));
            any_compresses = any_compresses || model_.layer_types[i] == LayerType::compressed_attention;
        }
        if (has(kNeedsSlidingBase) && any_slides)
            fields_.demand(sliding_base.has_value(), "rope.freq_base_swa", named());

        if (!base) fields_.warn_of_default("rope.freq_base", "10000", "the default of GGUF");
        const double usual_base = base.value_or(10000.0);
        if (any_compresses && !compressed_base)
            fields_.warn_of_default("attention.compress_rope_freq_base", "160000", "the default of " + named());
        const double full_base = any_compresses ? compressed_base.value_or(160000.0) : usual_base;
        const bool has_own_default = architecture_.sliding_base != 0.0;
        if (any_slides && !sliding_base && has_own_default)
            fields_.warn_of_default("rope.freq_base_swa", shown(architecture_.sliding_base),
                                    "the default of " + named());
        if (sliding_base && (!any_slides || has(kOneBase))) {
            fields_.warn_not_used("rope.freq_base_swa", any_slides ? named() + " does not read it"
                                                                   : "no layer has a sliding window and RoPE");
            sliding_base.reset();
        }
        const double slid_base = sliding_base.value_or(has_own_default ? architecture_.sliding_base : usual_base);

        Config full = with_dimensions(head_dim_, rotary_dim_, "attention.key_length", "rope.dimension_count");
        Config slid = full;
        if (any_slides && (sliding_head_dim_ || sliding_rotary_dim_))
            slid = with_dimensions(sliding_head_dim_.value_or(head_dim_),
                                   sliding_rotary_dim_ ? sliding_rotary_dim_ : rotary_dim_, "attention.key_length_swa",
                                   "rope.dimension_count_swa");
        if (has(kHalfOnFullLayers)) full.rotary_dim = rotary_dim(full) / 2;
        const bool slid_is_unscaled = has(kScalingOnFullOnly) && is_scaled();
        const bool are_alike = slid_base == full_base && slid.head_dim == full.head_dim &&
                               slid.rotary_dim == full.rotary_dim && !slid_is_unscaled;
        Index index_of_full = -1, index_of_slid = -1;
        for (std::size_t i = 0; i < layers() && ok(); ++i) {
            if (!rotated_[i]) continue;
            const bool slides = is_sliding(i) && !are_alike;
            Index& index = slides ? index_of_slid : index_of_full;
            if (index < 0) {
                index = static_cast<Index>(model_.configs.size());
                model_.configs.push_back(slides ? make(slid, slid_base, slid_is_unscaled)
                                                : make(full, full_base, false));
            }
            model_.config_of_layer[i] = index;
        }
        if (ok()) read_sections(std::move(sections_));
    }
    ROPE_COLD bool is_sliding(std::size_t i) const { return model_.layer_types[i] == LayerType::sliding_attention; }
    ROPE_COLD Config with_dimensions(Index head_dim, const std::optional<Index>& rotary_dim, const char* head_dim_key,
                                     const char* rotary_dim_key) {
        Config c;
        c.layout = layout_;
        c.head_dim = head_dim;
        const Index d = rotary_dim.value_or(head_dim);
        if (d < 2 || d % 2 != 0 || d > head_dim)
            fail("{} is {}; so many features rotate, which must be an even number from 2 to those of a head ({}).",
                 {fields_.path_of(rotary_dim ? rotary_dim_key : head_dim_key), d, head_dim});
        if (d != head_dim) c.rotary_dim = d;
        if (has(kCompresses)) c.rotary_offset = head_dim - d;
        return c;
    }

    ROPE_COLD void read_steps() {
        const HfModel* const known = find_hf_model(architecture_.hf_type);
        if (known == nullptr) return;
        const HfModel type = read_numbers(*known);
        const auto own_scale = fields_.number({"attention.scale"}, kAnyFactorOrNone);
        const Index shared = fields_.count({"attention.shared_kv_layers"}, kAnyCountOrNone).value_or(0);
        Index kv_of_sliding = 0;
        for (std::size_t i = 0; i < layers(); ++i)
            if (is_sliding(i)) kv_of_sliding = model_.heads[i].k;
        for (std::size_t i = 0; i < layers(); ++i) {
            const Index dim = is_sliding(i) && !is_latent_ ? sliding_head_dim_.value_or(score_dim_) : score_dim_;
            double scale = own_scale.value_or(0.0);
            if (scale == 0.0 && type.scale.key == nullptr) scale = type.scale.value;
            if (scale == 0.0 && dim != 0) scale = model_.softmax_scale_factor / std::sqrt(static_cast<double>(dim));
            // Gemma 4: full layers have fewer key heads just where their keys' projection makes the values, too.
            const bool values_from_keys =
                (type.traits & kValuesFromKeysIfAsked) != 0 && kv_of_sliding != 0 && kv_of_sliding != model_.heads[i].k;
            add_steps(model_, type, i, scale, values_from_keys);
        }
        share_last_keys(model_, usual_layers_, shared);
    }
    /// The model type with this file's numbers. Conversions have added 1 to weights; no key has a factor of q or k.
    ROPE_COLD HfModel read_numbers(const HfModel& known) {
        const bool is_layer_norm = known.norm.kind == NormKind::layer_norm;
        const char* const key = is_layer_norm ? "attention.layer_norm_epsilon" : "attention.layer_norm_rms_epsilon";
        HfModel type = with_numbers(known, has_norm(known), fields_.number({key}, kAnyPart));
        type.norm.adds_one = type.v_norm.adds_one = false;
        type.q_factor = type.k_factor = KeyedNumber();
        type.v_factor.value = fields_.number({"attention.value_scale"}, kAnyNumber).value_or(0.0);
        if (type.v_factor.value == 0.0) type.v_factor.value = 1.0;
        type.clip = fields_.number({"attention.clamp_kqv"}, kAnyFactorOrNone).value_or(0.0);
        return type;
    }
    /// No key says whether q and k have norms. Command R+, GLM-4.5 and StableLM 2 12B have norms and many layers,
    /// models without norms have few; the Llama 4 with 128 experts has none.
    ROPE_COLD bool has_norm(const HfModel& type) {
        if (type.norm_key == nullptr) return true;
        if (type.norm_is_default) return fields_.count({"expert_count"}, kAnyCountOrNone) != Index(128);
        return layers() >= (has(kNormFromForty) ? 40u : 64u);
    }

    std::optional<Layout> layout_;
    std::string pattern_;
    std::size_t usual_layers_ = 0;        ///< layers before the ones that predict further tokens
    Index head_dim_ = 0, score_dim_ = 0;  ///< score_dim_: features that q and k are multiplied over
    std::optional<Index> sliding_head_dim_, rotary_dim_, sliding_rotary_dim_;
    std::vector<Index> sections_;
    bool is_latent_ = false, slides_ = false;
    Flags rotated_;
};

}  // namespace gguf
ROPE_DETAIL_END

ROPE_BEGIN

ROPE_API ModelConfig read_gguf_config(const GgufLookup& get, const GgufTensors& tensors, std::optional<Layout> layout) {
    detail::Diagnostics diagnostics;
    if (layout) diagnostics.status = detail::check_layout(*layout);
    if (!get) diagnostics.fail("get is empty; it must be a function that finds a key.");
    ModelConfig model;
    if (diagnostics.ok()) model = detail::gguf::Reader(get, tensors, layout, diagnostics).read();
    return detail::finished(std::move(model), std::move(diagnostics));
}

ROPE_END
