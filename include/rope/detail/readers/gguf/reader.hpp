// SPDX-License-Identifier: MIT
// The metadata of a GGUF file as a ModelConfig: layers, heads, which rotary embedding each layer has, and what stands
// beside it.
// Included by gguf_config.hpp, which has GgufTensors.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "../../../model_config.hpp"
#include "../hf/models.hpp"
#include "../layers_and_axes.hpp"
#include "architectures.hpp"
#include "fields.hpp"
#include "rotary.hpp"

#include "../../hide_macros.hpp"

namespace rope {
inline namespace ROPE_VERSION_NAMESPACE {
namespace detail {
namespace gguf {

class ROPE_ABI Reader {
 public:
    ROPE_COLD Reader(const GgufLookup& get, const GgufTensors& tensors, std::optional<Layout> layout,
                     Diagnostics& diagnostics)
        : get_(get),
          fields_(fields_of(get, "", diagnostics)),
          tensors_(tensors),
          diagnostics_(diagnostics),
          layout_(layout) {}

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
    ROPE_COLD bool ok() const noexcept { return diagnostics_.ok(); }
    ROPE_COLD void warn(const std::string& sentence) { diagnostics_.warn(sentence); }
    ROPE_COLD bool has(Traits trait) const noexcept { return (architecture_.traits & trait) != 0; }
    ROPE_COLD std::string named() const { return "architecture " + model_.model_type; }
    ROPE_COLD std::size_t layers() const noexcept { return model_.config_of_layer.size(); }

    // ---- which architecture, how many layers ----

    ROPE_COLD void read_architecture() {
        const auto name = fields_.text({"general.architecture"});
        if (!name) return fields_.require(false, "general.architecture", "every GGUF file");
        bool is_name = !name->empty() && name->size() <= 64;
        for (const char c : *name)
            is_name = is_name && ((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_' || c == '.');
        if (!is_name)
            return fields_.refuse("general.architecture", *fields_.find("general.architecture"),
                                  "1 to 64 of the characters a-z, 0-9, -, _ and .");
        model_.model_type = *name;
        fields_ = fields_of(get_, *name, diagnostics_);
        const Architecture* known = find_architecture(*name);
        if (known != nullptr && known->with_hyper_connections != nullptr)
            if (fields_.count({"hyper_connection.count"}, kAnyCountOrNone).value_or(0) > 0)
                known = known->with_hyper_connections;
        if (known == nullptr && !layout_)
            return diagnostics_.fail("general.architecture is " + shown(*name) +
                                     ", which is not known; give read_gguf_config the layout that the model turns: "
                                     "Layout::interleaved, (x[2i], x[2i+1]), or Layout::half_split, "
                                     "(x[i], x[i + rotary_dim/2]).");
        if (known == nullptr)
            warn("general.architecture is " + shown(*name) +
                 ", which is not known; only what the keys say of its layers was used. Not checked is whether its code "
                 "turns the other way, another slice of the head or other layers.");
        architecture_ = known != nullptr ? *known : Architecture{"", Rope::neox};
        // The conversion of a vision model stores its language model with the pairs of neox.
        const bool was_norm = architecture_.rope == Rope::norm;
        sections_ = fields_.counts("rope.dimension_sections", kAnyCountOrNone).value_or(std::vector<Index>());
        const bool has_axes = sections_.size() > 1 && sections_[0] > 0 && sections_[1] > 0;
        if (has(kOptionalSections) && has_axes) architecture_.rope = Rope::mrope;
        const Layout own = architecture_.rope == Rope::norm ? Layout::interleaved : Layout::half_split;
        if (!layout_) layout_ = own;
        if (known == nullptr) return;
        const bool converted = was_norm && architecture_.rope == Rope::mrope;
        const bool differs = converted || has(kRowsPermuted) || has(kReordersFeatures);
        model_.reference_uses_other_layout = differs != (*layout_ != own);
    }

    ROPE_COLD void read_shape() {
        const auto count = fields_.count({"block_count"}, kAnyLayers);
        fields_.require(count.has_value(), "block_count", "every model");
        model_.max_position_embeddings = fields_.count({"context_length"}).value_or(0);
        const Index extra = has(kIsDraft) ? 0 : fields_.count({"nextn_predict_layers"}, kAnyCountOrNone).value_or(0);
        if (!ok()) return;
        if (extra >= *count)
            return diagnostics_.fail(fields_.path_of("nextn_predict_layers") + " is " + std::to_string(extra) +
                                     "; it must be less than block_count (" + std::to_string(*count) + ").");
        extra_ = static_cast<std::size_t>(extra);
        model_.config_of_layer.assign(static_cast<std::size_t>(*count), -1);
    }

    // ---- heads ----

    ROPE_COLD void read_heads() {
        const auto q = fields_.count_per_layer("attention.head_count", kAnyCountOrNone, layers(), layers() - extra_);
        auto kv = fields_.count_per_layer("attention.head_count_kv", kAnyCountOrNone, layers(), layers() - extra_);
        const auto key_length = fields_.count({"attention.key_length"}, kAnyHeadDim);
        const auto key_length_mla = fields_.count({"attention.key_length_mla"}, kAnyHeadDim);
        sliding_head_dim_ = fields_.count({"attention.key_length_swa"}, kAnyHeadDim);
        fields_.count({"attention.value_length"}, kAnyHeadDim);
        const auto embedding = fields_.count({"embedding_length"});
        rotary_dim_ =
            fields_.count({"rope.dimension_count"}, architecture_.rope != Rope::none ? kAnyHeadDim : kAnyCountOrNone);
        sliding_rotary_dim_ = fields_.count({"rope.dimension_count_swa"}, kAnyHeadDim);
        if (architecture_.rope != Rope::none) fields_.require(q.has_value(), "attention.head_count", named());
        if (!ok()) return;
        is_latent_ = has(kLatentAttention) || (key_length_mla && !has(kCompresses));
        Index first = 0;
        for (std::size_t i = 0; i < layers(); ++i) {
            HeadCounts here;
            here.q = q ? of_layer(*q, i) : 0;
            here.k = here.v = kv ? of_layer(*kv, i) : here.q;
            if (here.q == 0 || here.k == 0) here = HeadCounts();
            if (is_latent_ && here.q != 0) here = HeadCounts{here.q, 1, here.q};
            model_.heads.push_back(here);
            if (first == 0 && q) first = of_layer(*q, i);
        }
        if (architecture_.rope == Rope::none || first == 0) return;
        const bool is_wide = has(kWidthScale) && (layers() == 46 || layers() == 62);
        const Index width = embedding.value_or(0) / first;
        score_dim_ = is_wide ? width : is_latent_ && key_length_mla ? *key_length_mla : key_length.value_or(width);
        if (has(kCompresses)) fields_.require(rotary_dim_.has_value(), "rope.dimension_count", named());
        if (is_latent_) {
            fields_.require(rotary_dim_.has_value(), "rope.dimension_count", "multi-head latent attention");
            head_dim_ = rotary_dim_.value_or(0);
        } else if (key_length) {
            head_dim_ = *key_length;
        } else if (!embedding) {
            fields_.require(false, "attention.key_length", "a model without embedding_length");
        } else if (*embedding % first != 0 || *embedding / first > kMaxHeadDim) {
            diagnostics_.fail(fields_.path_of("embedding_length") + " is " + std::to_string(*embedding) +
                              "; without attention.key_length it must be a multiple of attention.head_count (" +
                              std::to_string(first) + "), and at most 2^20 times it.");
        } else {
            head_dim_ = *embedding / first;
        }
    }
    /// Layers that an array leaves out are like the last that it has.
    ROPE_COLD static Index of_layer(const std::vector<Index>& list, std::size_t i) {
        return list.empty() ? 0 : list[i < list.size() ? i : list.size() - 1];
    }

    // ---- which layer is what ----

    ROPE_COLD void read_layer_types() {
        const std::vector<bool> recurrent = recurrent_layers();
        const std::vector<bool> sliding = sliding_layers();
        const std::vector<Index> ratios = compress_ratios();
        const auto pattern = fields_.count_per_layer("attention.rope_pattern", kYesOrNo, layers(), layers() - extra_);
        const auto dense = fields_.count({"leading_dense_block_count"}, kAnyCountOrNone);
        if (!ok()) return;
        const bool has_chunks = std::string(architecture_.pattern).find('c') != std::string::npos;
        for (std::size_t i = 0; i < layers(); ++i) {
            LayerType type = LayerType::full_attention;
            if (sliding[i]) type = has_chunks ? LayerType::chunked_attention : LayerType::sliding_attention;
            if (has(kCompresses)) type = LayerType::sliding_attention;
            if (i < ratios.size() && ratios[i] != 0) type = LayerType::compressed_attention;
            if (recurrent[i] || model_.heads[i].q == 0) {
                type = LayerType::no_attention;
                model_.heads[i] = HeadCounts();
            }
            model_.layer_types.push_back(type);
        }
        rotated_ = rotated_layers(model_.layer_types, architecture_.traits, !has(kNoRopeOnFullLayers) || !slides_);
        for (std::size_t i = 0; i < layers(); ++i) {
            const bool is_dense = has(kDenseLayersRotate) && static_cast<Index>(i) < dense.value_or(0);
            const bool rotates = pattern && i < pattern->size() ? (*pattern)[i] != 0 : rotated_[i] || is_dense;
            rotated_[i] = rotates && attends_to_itself(model_.layer_types[i]);
        }
    }
    /// DeepSeek-V4: one ratio per layer. Layers that predict further tokens slide if the list has none for them.
    ROPE_COLD std::vector<Index> compress_ratios() {
        const char* const key = "attention.compress_ratios";
        auto list = has(kCompresses) ? fields_.counts(key, kAnyCountOrNone) : std::nullopt;
        if (list) list->resize(std::min(list->size(), layers()));
        list = fields_.per_layer(key, std::move(list), layers(), layers() - extra_);
        if (has(kNeedsRatios)) fields_.require(list.has_value(), key, named());
        return list.value_or(std::vector<Index>());
    }
    ROPE_COLD std::vector<bool> recurrent_layers() {
        const auto list =
            fields_.per_layer("attention.recurrent_layers", fields_.counts("attention.recurrent_layers", kYesOrNo),
                              layers(), layers() - extra_);
        const auto interval = fields_.count({"full_attention_interval"});
        const std::string pattern = architecture_.pattern;
        const bool has_recurrence = pattern.find('-') != pattern.npos;
        std::vector<bool> recurrent(layers(), false);
        if (!ok()) return recurrent;
        const Index n = static_cast<Index>(layers() - extra_);
        for (Index i = 0; i < n; ++i)
            recurrent[static_cast<std::size_t>(i)] =
                list ? (*list)[static_cast<std::size_t>(i)] != 0
                     : (interval || has_recurrence) &&
                           layer_of_pattern(has_recurrence ? pattern : "-f", interval.value_or(0), 0, i, n) ==
                               LayerType::no_attention;
        return recurrent;
    }
    ROPE_COLD std::vector<bool> sliding_layers() {
        std::vector<bool> sliding(layers(), false);
        const auto window = fields_.count({"attention.sliding_window"}, kAnyCountOrNone);
        if (has(kNeedsWindow)) fields_.require(window.has_value(), "attention.sliding_window", named());
        const char* const key = "attention.sliding_window_pattern";
        std::optional<std::vector<Index>> list;
        std::optional<Index> period;
        if (fields_.is_list(key) || has(kNeedsList))
            list = fields_.per_layer(key, fields_.counts(key, kYesOrNo), layers(), layers() - extra_);
        else
            period = fields_.count({key}, kAnyCountOrNone);
        const bool may_slide = window ? *window > 0 : has(kSlidesAnyway);
        if (may_slide && has(kNeedsPattern | kNeedsList)) fields_.require(fields_.has(key), key, named());
        if (!ok()) return sliding;
        std::string pattern = architecture_.pattern;
        if (pattern.find('-') != pattern.npos) pattern.clear();
        slides_ = (list || period || !pattern.empty()) && may_slide;
        if (!slides_) return sliding;
        if (pattern.empty()) pattern = "sf";
        const Index n = static_cast<Index>(layers() - extra_);
        for (Index i = 0; i < n; ++i)  // a period of 0: all slide
            sliding[static_cast<std::size_t>(i)] =
                list ? (*list)[static_cast<std::size_t>(i)] != 0
                     : period == Index(0) || layer_of_pattern(pattern, period.value_or(0), architecture_.traits, i,
                                                              n) != LayerType::full_attention;
        return sliding;
    }

    ROPE_COLD bool any_is_rotated() {
        const bool is_on = !has(kFinetunedIsSwitch) || fields_.truth({"rope.scaling.finetuned"}).value_or(true);
        if (!is_on) warn(fields_.path_of("rope.scaling.finetuned") + " is false: no layer has RoPE.");
        const bool has_alibi = has(kAlibiWithFortyLayers) && layers() == 40;
        if (has_alibi)
            warn(fields_.path_of("block_count") + " is 40: no layer has RoPE, because this model has ALiBi.");
        return is_on && !has_alibi && std::find(rotated_.begin(), rotated_.end(), true) != rotated_.end();
    }

    // ---- rotary embeddings ----

    ROPE_COLD void read_rotary() {
        Rotary rotary(fields_, tensors_, architecture_, model_);
        rotary.read_scaling();
        const auto base = fields_.number({"rope.freq_base"}, kAnyBase);
        auto sliding_base = fields_.number({"rope.freq_base_swa"}, kAnyBase);
        const auto compressed_base = fields_.number({"attention.compress_rope_freq_base"}, kAnyBase);
        if (ok()) rotary.read_temperature(slides_);
        if (!ok() || !any_is_rotated()) return;
        bool any_slides = false, any_compresses = false;
        for (std::size_t i = 0; i < layers(); ++i) {
            any_slides = any_slides || (rotated_[i] && is_sliding(i));
            any_compresses = any_compresses || model_.layer_types[i] == LayerType::compressed_attention;
        }
        if (has(kNeedsSlidingBase) && any_slides)
            fields_.require(sliding_base.has_value(), "rope.freq_base_swa", named());

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
        const bool slid_is_unscaled = has(kScalingOnFullOnly) && rotary.is_scaled();
        const bool are_alike = slid_base == full_base && slid.head_dim == full.head_dim &&
                               slid.rotary_dim == full.rotary_dim && !slid_is_unscaled;
        Index index_of_full = -1, index_of_slid = -1;
        for (std::size_t i = 0; i < layers() && ok(); ++i) {
            if (!rotated_[i]) continue;
            const bool slides = is_sliding(i) && !are_alike;
            Index& index = slides ? index_of_slid : index_of_full;
            if (index < 0) {
                index = static_cast<Index>(model_.configs.size());
                model_.configs.push_back(slides ? rotary.make(slid, slid_base, slid_is_unscaled)
                                                : rotary.make(full, full_base, false));
            }
            model_.config_of_layer[i] = index;
        }
        if (ok()) rotary.read_sections(std::move(sections_));
    }
    ROPE_COLD bool is_sliding(std::size_t i) const { return model_.layer_types[i] == LayerType::sliding_attention; }
    ROPE_COLD Config with_dimensions(Index head_dim, const std::optional<Index>& rotary_dim, const char* head_dim_key,
                                     const char* rotary_dim_key) {
        Config c;
        c.layout = layout_;
        c.head_dim = head_dim;
        const Index d = rotary_dim.value_or(head_dim);
        if (d < 2 || d % 2 != 0 || d > head_dim)
            diagnostics_.fail(fields_.path_of(rotary_dim ? rotary_dim_key : head_dim_key) + " is " + std::to_string(d) +
                              "; so many features turn, which must be an even number from 2 to those of a head (" +
                              std::to_string(head_dim) + ").");
        if (d != head_dim) c.rotary_dim = d;
        if (has(kCompresses)) c.rotary_offset = head_dim - d;
        return c;
    }

    // ---- what stands beside the rotation ----

    ROPE_COLD void read_steps() {
        const HfModel* const type = find_hf_model(architecture_.hf_type);
        if (type == nullptr) return;
        const HeadSteps usual = usual_steps(*type);
        const auto own_scale = fields_.number({"attention.scale"}, kAnyFactorOrNone);
        const Index shared = fields_.count({"attention.shared_kv_layers"}, kAnyCountOrNone).value_or(0);
        Index kv_of_sliding = 0;
        for (std::size_t i = 0; i < layers(); ++i)
            if (is_sliding(i)) kv_of_sliding = model_.heads[i].k;
        for (std::size_t i = 0; i < layers(); ++i) {
            const LayerType kind = model_.layer_types[i];
            HeadSteps s = usual;
            if ((type->traits & kNormIfRotated) != 0 && model_.config_of_layer[i] < 0) s.q = s.k = HeadNorm();
            const Index dim = is_sliding(i) && !is_latent_ ? sliding_head_dim_.value_or(score_dim_) : score_dim_;
            if (own_scale.value_or(0.0) != 0.0)
                s.softmax_scale = *own_scale;
            else if (type->scale.key == nullptr && type->scale.value != 0.0)
                s.softmax_scale = type->scale.value;
            else if (dim != 0)
                s.softmax_scale = model_.softmax_scale_factor / std::sqrt(static_cast<double>(dim));
            // Gemma 4: full layers have fewer key heads just where their keys' projection makes the values, too.
            s.values_from_key_projection = (type->traits & kValuesFromKeysIfAsked) != 0 &&
                                           kind == LayerType::full_attention && kv_of_sliding != 0 &&
                                           kv_of_sliding != model_.heads[i].k;
            if (kind == LayerType::no_attention) s = HeadSteps();
            s.keys_of_layer = static_cast<Index>(i);
            model_.steps.push_back(s);
        }
        share_last_keys(model_.steps, model_.layer_types, layers() - extra_, shared);
    }
    ROPE_COLD HeadSteps usual_steps(const HfModel& type) {
        HeadSteps s;
        s.v = type.v_norm;
        if (has_norm(type)) s.q = s.k = type.norm;
        const bool is_layer_norm = type.norm.kind == NormKind::layer_norm;
        const auto eps = fields_.number(
            {is_layer_norm ? "attention.layer_norm_epsilon" : "attention.layer_norm_rms_epsilon"}, kAnyPart);
        for (HeadNorm* norm : {&s.q, &s.k, &s.v}) {
            norm->adds_one = false;  // conversions have added it
            if (norm->kind != NormKind::none && type.eps_key != nullptr) norm->eps = eps.value_or(norm->eps);
        }
        s.keys_are_values = (type.traits & kKeysAreValues) != 0;
        if (s.keys_are_values) s.q.weight = NormWeight::none;
        if (const double given = fields_.number({"attention.value_scale"}, kAnyNumber).value_or(0.0); given != 0.0)
            s.v_factor = given;
        s.clip = fields_.number({"attention.clamp_kqv"}, kAnyFactorOrNone).value_or(0.0);
        return s;
    }
    /// No key says it. Command R+, GLM-4.5 and StableLM 2 12B have norms and many layers, those without them have few;
    /// of Llama 4, the model with 128 experts has none.
    ROPE_COLD bool has_norm(const HfModel& type) {
        if (type.norm_key == nullptr) return true;
        if (type.norm_is_default) return fields_.count({"expert_count"}, kAnyCountOrNone) != Index(128);
        return layers() >= (has(kNormFromForty) ? 40u : 64u);
    }

    const GgufLookup& get_;
    Fields fields_;
    const GgufTensors& tensors_;
    Diagnostics& diagnostics_;
    std::optional<Layout> layout_;
    Architecture architecture_ = {"", Rope::neox};
    std::size_t extra_ = 0;
    Index head_dim_ = 0, score_dim_ = 0;  ///< score_dim_: features that q and k are multiplied over
    std::optional<Index> sliding_head_dim_, rotary_dim_, sliding_rotary_dim_;
    std::vector<Index> sections_;
    bool is_latent_ = false, slides_ = false;
    std::vector<bool> rotated_;
    ModelConfig model_;
};

}  // namespace gguf
}  // namespace detail
}  // namespace ROPE_VERSION_NAMESPACE
}  // namespace rope

#include "../../restore_macros.hpp"
