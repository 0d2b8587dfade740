// SPDX-License-Identifier: MIT
// The metadata of a GGUF file as a ModelConfig: layers, heads, and which rotary embedding each layer has.
// Included by gguf_config.hpp, which has GgufTensors.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "../../../model_config.hpp"
#include "../axes.hpp"
#include "../layer_rules.hpp"
#include "architectures.hpp"
#include "fields.hpp"
#include "rotary.hpp"

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
        const Architecture* const known = find_architecture(*name);
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
        // Text models of models that see: their conversion makes the pairs those of neox.
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
        const auto extra = fields_.count({"nextn_predict_layers"}, kAnyCountOrNone);
        if (!ok()) return;
        if (extra.value_or(0) >= *count)
            return diagnostics_.fail(fields_.path_of("nextn_predict_layers") + " is " + std::to_string(*extra) +
                                     "; it must be less than block_count (" + std::to_string(*count) + ").");
        extra_ = static_cast<std::size_t>(extra.value_or(0));
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
        rotary_dim_ = fields_.count({"rope.dimension_count"}, kAnyHeadDim);
        sliding_rotary_dim_ = fields_.count({"rope.dimension_count_swa"}, kAnyHeadDim);
        if (architecture_.rope != Rope::none) fields_.require(q.has_value(), "attention.head_count", named());
        if (!ok()) return;
        is_latent_ = has(kLatentAttention) || key_length_mla;
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
        const auto ratios = fields_.counts("attention.compress_ratios", kAnyCountOrNone);
        const auto pattern = fields_.count_per_layer("attention.rope_pattern", kYesOrNo, layers(), layers() - extra_);
        if (!ok()) return;
        const bool has_chunks = std::string(architecture_.pattern).find('c') != std::string::npos;
        for (std::size_t i = 0; i < layers(); ++i) {
            LayerType type = LayerType::full_attention;
            if (sliding[i]) type = has_chunks ? LayerType::chunked_attention : LayerType::sliding_attention;
            if (ratios && has(kCompresses))
                type = of_layer(*ratios, i) != 0 ? LayerType::compressed_attention : LayerType::sliding_attention;
            if (recurrent[i] || model_.heads[i].q == 0) {
                type = LayerType::no_attention;
                model_.heads[i] = HeadCounts();
            }
            model_.layer_types.push_back(type);
        }
        rotated_ = rotated_layers(model_.layer_types, architecture_.traits, !has(kNoRopeOnFullLayers) || !slides_);
        for (std::size_t i = 0; pattern && i < layers(); ++i)
            rotated_[i] = attends_to_itself(model_.layer_types[i]) && of_layer(*pattern, i) != 0;
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
        if (fields_.is_list(key))
            list = fields_.per_layer(key, fields_.counts(key, kYesOrNo), layers(), layers() - extra_);
        else
            period = fields_.count({key}, kAnyCountOrNone);
        if (has(kNeedsPattern)) fields_.require(fields_.has(key), key, named());
        if (!ok()) return sliding;
        std::string pattern = architecture_.pattern;
        if (pattern.find('-') != pattern.npos) pattern.clear();
        slides_ = (list || period || !pattern.empty()) && (window ? *window > 0 : has(kSlidesAnyway));
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

    ROPE_COLD bool is_rotated(std::size_t i) const { return rotated_[i]; }
    ROPE_COLD bool any_is_rotated() {
        if (has(kFinetunedIsSwitch) && !fields_.truth({"rope.scaling.finetuned"}).value_or(true)) {
            warn(fields_.path_of("rope.scaling.finetuned") + " is false: no layer has RoPE.");
            return false;
        }
        if (has(kAlibiWithFortyLayers) && layers() == 40) {
            warn(fields_.path_of("block_count") + " is 40: no layer has RoPE, because this model has ALiBi.");
            return false;
        }
        for (std::size_t i = 0; i < layers(); ++i)
            if (is_rotated(i)) return true;
        return false;
    }

    // ---- rotary embeddings ----

    ROPE_COLD void read_rotary() {
        Rotary rotary(fields_, tensors_, architecture_, diagnostics_, model_);
        rotary.read_scaling();
        const auto base = fields_.number({"rope.freq_base"}, kAnyBase);
        const auto sliding_base = fields_.number({"rope.freq_base_swa"}, kAnyBase);
        if (ok()) read_temperature(rotary);
        if (!ok() || !any_is_rotated()) return;
        bool any_slides = false;
        for (std::size_t i = 0; i < layers(); ++i) any_slides = any_slides || (is_rotated(i) && is_sliding(i));

        if (!base) warn_of_default("rope.freq_base", 10000.0, "the default of GGUF");
        const double full_base = base.value_or(10000.0);
        const bool has_own_default = architecture_.sliding_base != 0.0;
        if (any_slides && !sliding_base && has_own_default)
            warn_of_default("rope.freq_base_swa", architecture_.sliding_base, "the default of " + named());
        const double slid_base = sliding_base.value_or(has_own_default ? architecture_.sliding_base : full_base);
        if (sliding_base && !any_slides)
            warn(fields_.path_of("rope.freq_base_swa") + " was not used: no layer has a sliding window and RoPE.");

        const Config full = with_dimensions(head_dim_, rotary_dim_, "attention.key_length", "rope.dimension_count");
        Config slid = full;
        if (any_slides && (sliding_head_dim_ || sliding_rotary_dim_))
            slid = with_dimensions(sliding_head_dim_.value_or(head_dim_),
                                   sliding_rotary_dim_ ? sliding_rotary_dim_ : rotary_dim_, "attention.key_length_swa",
                                   "rope.dimension_count_swa");
        const bool slid_is_unscaled = has(kScalingOnFullOnly) && rotary.is_scaled();
        const bool are_alike = slid_base == full_base && slid.head_dim == full.head_dim &&
                               slid.rotary_dim == full.rotary_dim && !slid_is_unscaled;
        Index index_of_full = -1, index_of_slid = -1;
        for (std::size_t i = 0; i < layers() && ok(); ++i) {
            if (!is_rotated(i)) continue;
            const bool slides = is_sliding(i) && !are_alike;
            Index& index = slides ? index_of_slid : index_of_full;
            if (index < 0) {
                index = static_cast<Index>(model_.configs.size());
                model_.configs.push_back(slides ? rotary.make(slid, slid_base, slid_is_unscaled)
                                                : rotary.make(full, full_base, false));
            }
            model_.config_of_layer[i] = index;
        }
        if (ok()) read_sections();
    }
    ROPE_COLD bool is_sliding(std::size_t i) const { return model_.layer_types[i] == LayerType::sliding_attention; }
    ROPE_COLD void warn_of_default(const char* key, double value, const std::string& whose) {
        warn(fields_.path_of(key) + " is missing; " + shown(value) + " was taken, " + whose + ".");
    }
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
        return c;
    }

    // ---- what is said of the model as a whole ----

    /// Four numbers, of which the last ones are 0 when there are fewer axes.
    ROPE_COLD void read_sections() {
        const bool has_axes = architecture_.rope == Rope::mrope || architecture_.rope == Rope::imrope;
        Index sum = 0;
        for (const Index section : sections_) sum += section;
        if (!has_axes) {
            if (sum != 0)
                warn(fields_.path_of("rope.dimension_sections") + " was not used: " + named() +
                     " is not known to have positions of several axes.");
            return;
        }
        fields_.require(fields_.has("rope.dimension_sections"), "rope.dimension_sections", named());
        while (!sections_.empty() && sections_.back() == 0) sections_.pop_back();
        const Index pairs = rotary_dim(model_.configs.front()) / 2;
        const Mrope kind = architecture_.rope == Rope::imrope ? Mrope::fourth_axis : Mrope::chunked;
        if (!ok() || fits(kind, sections_, pairs)) return ok() ? set_axes(model_, kind, sections_) : void();
        diagnostics_.fail(misfit(fields_.path_of("rope.dimension_sections"), kind, sections_, pairs));
    }
    ROPE_COLD void read_temperature(const Rotary& rotary) {
        const auto scale = fields_.number({"attention.temperature_scale"}, kAnyNumber);
        const auto length = fields_.count({"attention.temperature_length"});
        if (scale && *scale != 0.0) {
            const Index period = length.value_or(rotary.original_length());
            fields_.require(period != 0, "attention.temperature_length", "attention.temperature_scale");
            model_.attention_temperature = {*scale, static_cast<double>(period), 0, true, false};
        } else if (std::string(architecture_.pattern).find('c') != std::string::npos && slides_) {
            model_.attention_temperature = {0.1, 8192.0, 1, false, true};
        } else if (length) {
            warn(fields_.path_of("attention.temperature_length") +
                 " was not used: attention.temperature_scale is missing or 0.");
        }
    }

    const GgufLookup& get_;
    Fields fields_;
    const GgufTensors& tensors_;
    Diagnostics& diagnostics_;
    std::optional<Layout> layout_;
    Architecture architecture_ = {"", Rope::neox};
    std::size_t extra_ = 0;
    Index head_dim_ = 0;
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
