// SPDX-License-Identifier: MIT
// Which layer of a Hugging Face configuration is what, and which are rotated.
#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "../../../model_config.hpp"
#include "../layers_and_axes.hpp"
#include "json.hpp"
#include "models.hpp"
#include "names.hpp"

#include "../../hide_macros.hpp"

namespace rope {
inline namespace ROPE_VERSION_NAMESPACE {
namespace detail {

/// Reads the keys about layers.
class ROPE_ABI HfLayers {
 public:
    ROPE_COLD HfLayers(JsonFields& top, const HfModel& type)
        : top_(top), type_(type), diagnostics_(top.diagnostics()) {}

    /// The name of each layer. Files say it in one of many ways, of which the first is used.
    ROPE_COLD std::vector<std::string> read() {
        read_count();
        if (!diagnostics_.ok()) return {};
        extra_ = static_cast<std::size_t>(top_.count({"num_nextn_predict_layers"}, kAnyCountOrNone).value_or(0));
        std::vector<std::string> names = read_names();
        const auto crossing = top_.counts("cross_attention_layers", kAnyCountOrNone);
        if ((type_.traits & kNeedsLayerTypes) != 0 && source_.empty() && !crossing)
            top_.require(false, "layer_types", "a model of this model_type");
        if ((type_.traits & kLastIsAlwaysFull) != 0 && !names.empty()) names.back() = "full_attention";
        for (const Index i : crossing.value_or(std::vector<Index>()))
            if (i < count_ && diagnostics_.ok()) names[static_cast<std::size_t>(i)] = "cross_attention";
        for (std::size_t i = 0; i < names.size(); ++i)
            if (find_layer_name(names[i]) == nullptr)
                top_.refuse(source_ + "[" + std::to_string(i) + "]", value_of(Json(names[i])),
                            "one of full_attention, sliding_attention, chunked_attention and the "
                            "like, or linear_attention, mamba, conv and the like (without RoPE)");
        return names;
    }

    /// Whether each layer is rotated, as far as its kind and number tell.
    ROPE_COLD std::vector<bool> rotated(const List<LayerType>& types) {
        Traits traits = type_.traits;
        if ((traits & kAllRotateWithoutWindow) != 0 && window_is_null_) traits &= ~kNoRopeOnFullLayers;
        const bool has_lists = top_.says("no_rope_layers") || top_.says("no_rope_layer_interval");
        if (has_lists) traits &= ~kEveryFourthNoRope;
        std::vector<bool> rotated = rotated_layers(types, traits, (traits & kNoRopeOnFullLayers) == 0);
        auto list = top_.counts("no_rope_layers", {0.0, 1.0, "0 (no RoPE) or 1 (RoPE)"});
        const bool is_listed = list && !list->empty();
        if (is_listed) list = top_.per_layer("no_rope_layers", std::move(list), types.size(), types.size());
        const bool has_interval = (type_.traits & kEveryFourthNoRope) != 0;
        const Index interval = top_.count({"no_rope_layer_interval"}).value_or(has_interval ? 4 : 0);
        const auto dense = (traits & kDensePrefixRotates) != 0 ? top_.texts("mlp_layer_types") : std::nullopt;
        if (!diagnostics_.ok()) return rotated;
        for (std::size_t i = 0; i < types.size(); ++i) {
            if (is_listed ? (*list)[i] == 0 : has_lists && interval > 0 && (static_cast<Index>(i) + 1) % interval == 0)
                rotated[i] = false;
            const bool is_dense = dense ? i < dense->size() && (*dense)[i] == "dense" : static_cast<Index>(i) < prefix_;
            if (is_dense && prefix_period_ == 1) rotated[i] = attends_to_itself(types[i]);
        }
        return rotated;
    }

    /// Layers beyond those that are counted, which predict further tokens; lists may have entries for them.
    ROPE_COLD std::size_t extra() const noexcept { return extra_; }

 private:
    ROPE_COLD void read_count() {
        const auto count = top_.count(kLayerCountKeys, kAnyLayers);
        count_ = count.value_or(0);
        if (!count)  // Nemotron-H may leave it to the list
            if (const auto blocks = top_.texts("layers_block_type")) count_ = static_cast<Index>(blocks->size());
        if (count_ == 0 && diagnostics_.ok() && type_.layers != 0) {
            count_ = type_.layers;
            top_.warn_of_default("num_hidden_layers", std::to_string(count_), "the default of its model_type");
        }
        top_.require(count_ != 0, "num_hidden_layers", "every model");
    }

    ROPE_COLD std::vector<std::string> read_names() {
        const std::size_t n = static_cast<std::size_t>(count_);
        read_window();
        std::vector<std::string> names = by_pattern();
        for (const LayerKey& known : kLayerKeys) {
            JsonFields& fields = *known.inside != '\0' ? top_.inside(known.inside) : top_;
            auto list = read_list(fields, known);
            if (!list || list->empty() || !source_.empty()) continue;
            source_ = fields.path_of(known.key);
            if (auto one_each = fields.per_layer(known.key, std::move(list), n, n + extra_)) names = *one_each;
        }
        const auto period = top_.count({"attn_layer_period"});  // Jamba
        const Index offset = top_.count({"attn_layer_offset"}, kAnyCountOrNone).value_or(0);
        if (!period || !source_.empty()) return names;
        source_ = top_.path_of("attn_layer_period");
        for (std::size_t i = 0; i < n; ++i)
            names[i] = static_cast<Index>(i) % *period == offset ? "full_attention" : "mamba";
        return names;
    }
    ROPE_COLD std::optional<std::vector<std::string>> read_list(JsonFields& fields, const LayerKey& known) {
        if (known.form == LayerKey::Form::letters) return letters();
        if (known.form == LayerKey::Form::blocks) return blocks();
        const std::size_t n = static_cast<std::size_t>(count_);
        if (known.form == LayerKey::Form::names) {
            auto list = fields.texts(known.key);
            const std::size_t period = known.repeats && list ? list->size() : 0;
            while (period != 0 && list->size() < n) list->push_back((*list)[list->size() - period]);
            return list;
        }
        const auto numbers = fields.counts(known.key, known.first == 0 ? kAnyCountOrNone : kAnyCount);
        if (!numbers) return std::nullopt;
        std::vector<std::string> names;
        if (known.form == LayerKey::Form::codes) {
            for (const Index code : *numbers) names.emplace_back(code == 0 ? known.zero : known.other);
            return names;
        }
        names.assign(n, known.zero);
        for (const Index i : *numbers)
            if (i - known.first < count_)
                names[static_cast<std::size_t>(i - known.first)] = known.other;
            else
                top_.diagnostics().warn(fields.path_of(known.key) + " names layer " + std::to_string(i) +
                                        ", which is not there.");
        return names;
    }
    /// Nemotron-H: M is a Mamba layer, * attention, E experts, - an MLP.
    ROPE_COLD std::optional<std::vector<std::string>> letters() {
        const auto text = top_.text({"hybrid_override_pattern"});
        if (!text) return std::nullopt;
        std::vector<std::string> names;
        for (const char c : *text)
            names.emplace_back(c == 'M' ? "mamba" : c == '*' ? "attention" : c == 'E' ? "moe" : "mlp");
        if (text->find_first_not_of("M*E-") != text->npos)
            top_.refuse(top_.path_of("hybrid_override_pattern"), *top_.find("hybrid_override_pattern"),
                        "made of the letters M, *, E and -");
        return names;
    }
    /// Nemotron-NAS: some blocks have no attention.
    ROPE_COLD std::optional<std::vector<std::string>> blocks() {
        const Json* const list = top_.objects("block_configs");
        if (list == nullptr) return std::nullopt;
        std::vector<std::string> names;
        for (const Json& block : *list) {
            JsonFields fields(&block, top_.path_of("block_configs"), diagnostics_);
            JsonFields& attention = fields.inside("attention");
            const bool is_none = attention.truth({"no_op"}).value_or(false);
            const bool is_linear = attention.truth({"replace_with_linear"}).value_or(false);
            names.emplace_back(is_none || is_linear ? "linear_attention" : "full_attention");
        }
        return names;
    }

    ROPE_COLD void read_window() {
        const auto window = top_.find("sliding_window");
        window_is_null_ = window && window->kind == Value::Kind::null;
        const bool has_window = window && !window_is_null_;
        if (has_window && (type_.traits & kSlidesEverywhere) != 0) first_sliding_ = 0;
        if ((type_.traits & kDensePrefixRotates) != 0) {  // Cohere 2 MoE
            prefix_ = std::min(count_, top_.count({"first_k_dense_replace"}, kAnyCountOrNone).value_or(0));
            prefix_period_ = top_.count({"prefix_dense_sliding_window_pattern"}).value_or(1);
        }
        if ((type_.traits & kSlidesUnlessToldNot) != 0) slides_ = top_.truth({"use_sliding_window"}).value_or(true);
        if ((type_.traits & kSlidesIfAsked) == 0) return;
        const bool is_asked = top_.truth({"use_sliding_window"}).value_or(false);
        const Index first = top_.count({"max_window_layers"}, kAnyCountOrNone).value_or(28);
        if (has_window && is_asked) first_sliding_ = first;
    }
    /// Names after the pattern of the model's type, or of a key.
    ROPE_COLD std::vector<std::string> by_pattern() {
        std::string pattern = slides_ ? type_.pattern : "";
        Index period = 0;
        const auto own = top_.find("sliding_window_pattern");
        if (own && own->kind == Value::Kind::text) {  // a word of letters for layers: L slides, G does not
            pattern.clear();
            for (const char c : own->text) pattern += c == 'L' ? 's' : 'f';
            if (pattern.empty() || own->text.find_first_not_of("LG") != own->text.npos)
                top_.refuse(top_.path_of("sliding_window_pattern"), *own, "a whole number, or letters L and G");
        } else {
            auto number = top_.count({"sliding_window_pattern", "_sliding_window_pattern"}, kAnyCountOrNone);
            const auto interval =
                top_.count({"global_attn_every_n_layers", "full_attention_interval", "layer_group_size"});
            if (!number) number = interval;
            period = number.value_or(0);
            if (number && period == 0) pattern.clear();  // none slides
            if (period != 0 && pattern.find_first_not_of('f') == pattern.npos)
                pattern = top_.says("full_attention_interval") || top_.says("layer_group_size") ? "-f" : "sf";
        }
        std::vector<std::string> names;
        for (Index i = 0; i < count_; ++i) {
            LayerType type = layer_of_pattern(pattern, period, type_.traits, i - prefix_, count_ - prefix_);
            if (i < prefix_)
                type = (i + 1) % prefix_period_ == 0 ? LayerType::full_attention : LayerType::sliding_attention;
            if (type == LayerType::full_attention && i >= first_sliding_) type = LayerType::sliding_attention;
            names.emplace_back(usual_name(type));
        }
        return names;
    }

    JsonFields& top_;
    const HfModel& type_;
    Diagnostics& diagnostics_;
    Index count_ = 0, first_sliding_ = 65536;
    Index prefix_ = 0,
          prefix_period_ = 1;  ///< layers with a dense MLP, which come first and have a pattern of their own
    std::size_t extra_ = 0;
    bool window_is_null_ = false, slides_ = true;
    std::string source_;
};

}  // namespace detail
}  // namespace ROPE_VERSION_NAMESPACE
}  // namespace rope

#include "../../restore_macros.hpp"
