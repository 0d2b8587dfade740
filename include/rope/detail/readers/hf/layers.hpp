// SPDX-License-Identifier: MIT
// The layers of a Hugging Face configuration: their types, and which are rotated.
#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "../layers_and_axes.hpp"
#include "json.hpp"
#include "model_names.hpp"
#include "names.hpp"

ROPE_DETAIL_BEGIN

/// The heads of a layer that attends.
struct HfHeads {
    Index q = 0, kv = 0;
    Index head_dim = 0;                       ///< of the tensor that is rotated
    const char* head_dim_key = nullptr;       ///< the key that says so; null: hidden_size / num_attention_heads
    const JsonFields* head_dim_in = nullptr;  ///< the object that the key is in
    Index rotary_dim = 0;                     ///< where a key counts them; 0: see partial_rotary_factor
    Index plain_dim = 0;                      ///< latent attention: features of a head that are not rotated
    bool is_latent = false;
    bool is_linear = false;  ///< linear attention, whose queries and keys are rotated half-split
};

/// A configuration on its way to a ModelConfig: the object that describes the language model, and all known so far.
struct HfFile {
    JsonFields top;
    JsonFields* outer = nullptr;  ///< the object around it, where the language model is one part of the file
    std::optional<Layout> layout = {};
    bool layout_is_given = false;
    HfModel type = {};
    bool type_is_known = false;
    ModelConfig model = {};
    std::vector<HfHeads> heads = {};  ///< of each layer
};

/// The base of the parts of the reader.
class HfPart {
 protected:
    ROPE_COLD explicit HfPart(HfFile& file)
        : file_(file), top_(file.top), type_(file.type), model_(file.model), diagnostics_(file.top.diagnostics()) {}

    ROPE_COLD bool ok() const noexcept { return diagnostics_.ok(); }
    ROPE_COLD bool has(Traits trait) const noexcept { return (type_.traits & trait) != 0; }
    ROPE_COLD void fail(std::string_view form, Words words = {}) { diagnostics_.fail(form, words); }
    ROPE_COLD void warn(std::string_view form, Words words = {}) { diagnostics_.warn(form, words); }
    ROPE_COLD void no_rope(const std::string& reason) { fail("{}: none of this model's layers is rotated.", {reason}); }
    ROPE_COLD std::string named() const {
        return has(kReadsParamsJson) ? "params.json files" : "model_type " + shown(model_.model_type);
    }
    ROPE_COLD std::string default_of_type() const { return "the default of " + named(); }
    /// Replaces a missing count by the default of the model's type; 0: none.
    ROPE_COLD std::optional<Index> or_default(std::optional<Index> value, const char* key, Index of_type) {
        if (value || of_type == 0) return value;
        top_.warn_of_default(key, of_type, "the default of its model_type");
        return of_type;
    }

    HfFile& file_;
    JsonFields& top_;
    const HfModel& type_;
    ModelConfig& model_;
    Diagnostics& diagnostics_;
};

/// Reads the keys about layers.
class HfLayers : HfPart {
 public:
    ROPE_COLD explicit HfLayers(HfFile& file) : HfPart(file) {}

    /// The name of each layer, by the first of the many ways in which files say it.
    ROPE_COLD std::vector<std::string> read() {
        read_count();
        if (!ok()) return {};
        const Index extra = top_.count({"num_nextn_predict_layers"}, kAnyCountOrNone).value_or(0);
        top_.set_layers(static_cast<std::size_t>(count_), static_cast<std::size_t>(count_ + extra));
        std::vector<std::string> names = read_names();
        const auto crossing = top_.counts("cross_attention_layers", kAnyCountOrNone);
        if (has(kNeedsLayerTypes) && source_.empty() && !crossing)
            top_.demand(false, "layer_types", "a model of this model_type");
        if (has(kLastIsAlwaysFull) && !names.empty()) names.back() = "full_attention";
        for (const Index i : crossing.list)
            if (i < count_ && ok()) names[static_cast<std::size_t>(i)] = "cross_attention";
        const bool linear_rotates = has(kLinearRotates) && top_.truth({"linear_rope"}).value_or(true);
        for (std::size_t i = 0; i < names.size(); ++i) {
            const LayerName* const known = find_layer_name(names[i]);
            if (known == nullptr)
                top_.refuse(sentence_of("{}[{}]", {source_, i}), shown(names[i]),
                            "one of full_attention, sliding_attention, chunked_attention and the like, or "
                            "linear_attention, mamba, conv and the like (without RoPE)");
            const bool is_linear = linear_rotates && names[i] == "linear_attention";
            model_.layer_types.push_back(is_linear          ? LayerType::linear_attention
                                         : known != nullptr ? known->type
                                                            : LayerType::no_attention);
        }
        return names;
    }

    /// Whether each layer is rotated, as far as its kind and number tell.
    ROPE_COLD Flags rotated() {
        const List<LayerType>& types = model_.layer_types;
        Traits traits = type_.traits;
        if (has(kAllRotateWithoutWindow) && window_is_null_) traits &= ~kNoRopeOnFullLayers;
        const char* const interval_key = has(kReadsParamsJson) ? "nope_layer_interval" : "no_rope_layer_interval";
        const bool has_lists = top_.says("no_rope_layers") || top_.says(interval_key);
        if (has_lists) traits &= ~kEveryFourthNoRope;
        Flags rotated = rotated_layers(types, traits, (traits & kNoRopeOnFullLayers) == 0);
        auto list = top_.counts("no_rope_layers", {0.0, 1.0, "0 (no RoPE) or 1 (RoPE)"});
        const bool is_listed = !list.list.empty();
        if (is_listed) list = top_.per_layer("no_rope_layers", std::move(list), true);
        const Index interval = top_.count({interval_key}).value_or(has(kEveryFourthNoRope) ? 4 : 0);
        const Value* const switches = top_.is_list("use_rope_layers") ? top_.find("use_rope_layers")->first : nullptr;
        std::size_t number_of = 0;  // Step 5: one truth per layer
        for (const Value* on = switches; on != nullptr && number_of < types.size(); on = on->next, ++number_of) {
            if (on->kind != Value::Kind::truth)
                top_.refuse(sentence_of("{}[{}]", {top_.path_of("use_rope_layers"), number_of}), shown(*on),
                            kYesOrNo.text);
            if (on->is_false()) rotated[number_of] = false;
        }
        if (switches != nullptr && number_of < types.size())
            fail("{} has {} entries; it must have one per layer ({}).",
                 {top_.path_of("use_rope_layers"), number_of, types.size()});
        const auto dense = has(kDensePrefixRotates) ? top_.texts("mlp_layer_types") : std::nullopt;
        for (std::size_t i = 0; i < types.size() && ok(); ++i) {
            const Index number = static_cast<Index>(i);
            if (is_listed ? list.list[i] == 0 : has_lists && interval > 0 && (number + 1) % interval == 0)
                rotated[i] = false;
            const bool is_dense = dense ? i < dense.list.size() && dense.list[i] == "dense" : number < prefix_;
            if (is_dense && prefix_period_ == 1) rotated[i] = attends_to_itself(types[i]);
        }
        return rotated;
    }

 private:
    ROPE_COLD void read_count() {
        auto count = top_.count(kLayerCountKeys, kAnyLayers);
        if (!count)  // Nemotron-H may leave it to the list
            if (const auto blocks = top_.texts("layers_block_type")) count = static_cast<Index>(blocks.list.size());
        if (ok() && count.value_or(0) == 0) count = or_default({}, "num_hidden_layers", type_.layers);
        count_ = count.value_or(0);
        top_.demand(count_ != 0, "num_hidden_layers", "every model");
    }

    ROPE_COLD std::vector<std::string> read_names() {
        read_window();
        std::vector<std::string> names = by_pattern();
        const std::vector<std::string> by_period = names;
        for (const LayerKey& known : kLayerKeys) {
            JsonFields& fields = *known.inside != '\0' ? top_.inside(known.inside) : top_;
            auto list = read_list(fields, known);
            if (list.list.empty()) continue;
            if (!source_.empty()) {
                if (!means(list.list, names)) fields.warn_not_used(known.key, source_ + " is there, too");
                continue;
            }
            source_ = fields.path_of(known.key);
            if (auto one_each = fields.per_layer(known.key, std::move(list))) names = one_each.list;
        }
        const char* const pattern = top_.said(kPatternKeys);
        if (pattern != nullptr && !source_.empty() && !means(names, by_period))
            top_.warn_not_used(pattern, source_ + " is there, too");
        const auto period = top_.count({"attn_layer_period"});  // Jamba
        const Index offset = top_.count({"attn_layer_offset"}, kAnyCountOrNone).value_or(0);
        if (!period) return names;
        std::vector<std::string> periodic;
        for (Index i = 0; i < count_; ++i) periodic.push_back(i % *period == offset ? "full_attention" : "mamba");
        if (!source_.empty()) {
            if (!means(periodic, names)) top_.warn_not_used("attn_layer_period", source_ + " is there, too");
            return names;
        }
        source_ = top_.path_of("attn_layer_period");
        return periodic;
    }
    /// Whether two lists name the same types of layers, by whatever words.
    ROPE_COLD static bool means(const std::vector<std::string>& a, const std::vector<std::string>& b) {
        bool is_same = a.size() == b.size();
        for (std::size_t i = 0; is_same && i < a.size(); ++i) {
            const LayerName *const x = find_layer_name(a[i]), *const y = find_layer_name(b[i]);
            is_same = x != nullptr && y != nullptr && x->type == y->type;
        }
        return is_same;
    }
    ROPE_COLD MaybeList<std::string> read_list(JsonFields& fields, const LayerKey& known) {
        std::vector<std::string> names;
        if (known.form == LayerKey::Form::windows) {
            if (!has(kReadsParamsJson) || !fields.is_list(known.key)) return std::nullopt;
            for (const Value* window = fields.find(known.key)->first; window != nullptr; window = window->next)
                names.push_back(window->kind == Value::Kind::null ? known.zero : known.other);
            for (const std::size_t period = names.size(); period != 0 && names.size() < std::size_t(count_);)
                names.push_back(names[names.size() - period]);
            return names;
        }
        if (known.form == LayerKey::Form::names) {
            auto list = fields.texts(known.key);
            const std::size_t period = known.repeats ? list.list.size() : 0;
            while (period != 0 && list.list.size() < static_cast<std::size_t>(count_))
                list.list.push_back(list.list[list.list.size() - period]);
            return list;
        }
        if (known.form == LayerKey::Form::letters) {
            const auto text = fields.text({known.key});
            if (!text) return std::nullopt;
            for (const char c : *text)
                names.push_back(c == 'M' ? "mamba" : c == '*' ? "attention" : c == 'E' ? "moe" : "mlp");
            if (text->find_first_not_of("M*E-") != text->npos)
                fields.refuse(fields.path_of(known.key), shown(*text), "made of the letters M, *, E and -");
            return names;
        }
        if (known.form == LayerKey::Form::blocks) {
            const Value* const list = fields.objects(known.key);
            if (list == nullptr) return std::nullopt;
            for (const Value* block = list->first; block != nullptr; block = block->next) {
                JsonFields in_block(block, fields.path_of(known.key), diagnostics_);
                JsonFields& attention = in_block.inside("attention");
                const bool is_none = attention.truth({"no_op"}).value_or(false);
                const bool is_linear = attention.truth({"replace_with_linear"}).value_or(false);
                names.push_back(is_none || is_linear ? "linear_attention" : "full_attention");
            }
            return names;
        }
        const auto numbers = fields.counts(known.key, known.first == 0 ? kAnyCountOrNone : kAnyCount);
        if (!numbers) return std::nullopt;
        if (known.form == LayerKey::Form::numbers) names.assign(static_cast<std::size_t>(count_), known.zero);
        for (const Index i : numbers.list)
            if (known.form == LayerKey::Form::codes)
                names.push_back(i == 0 ? known.zero : known.other);
            else if (i - known.first < count_)
                names[static_cast<std::size_t>(i - known.first)] = known.other;
            else
                warn("{} names layer {}, which is not there.", {fields.path_of(known.key), i});
        return names;
    }

    ROPE_COLD void read_window() {
        const Value* const window = top_.find("sliding_window");
        window_is_null_ = window != nullptr && window->kind == Value::Kind::null;
        const bool has_window = window != nullptr && !window_is_null_;
        if (has_window && has(kSlidesEverywhere) && !top_.is_list("sliding_window")) first_sliding_ = 0;
        if (has(kDensePrefixRotates)) {  // Cohere 2 MoE
            prefix_ = (std::min)(count_, top_.count({"first_k_dense_replace"}, kAnyCountOrNone).value_or(0));
            prefix_period_ = top_.count({"prefix_dense_sliding_window_pattern"}).value_or(1);
        }
        if (has(kSlidesUnlessToldNot)) slides_ = top_.truth({"use_sliding_window"}).value_or(true);
        if (!has(kSlidesIfAsked)) return;
        const bool is_asked = top_.truth({"use_sliding_window"}).value_or(false);
        const Index first = top_.count({"max_window_layers"}, kAnyCountOrNone).value_or(28);
        if (has_window && is_asked) first_sliding_ = first;
    }
    /// Names by the pattern of the model's type, or of a key.
    ROPE_COLD std::vector<std::string> by_pattern() {
        std::string pattern = slides_ ? type_.pattern : "";
        Index period = 0;
        const Value* const own = top_.find("sliding_window_pattern");
        if (own != nullptr && own->kind == Value::Kind::text) {  // a word of letters for layers: L slides, G does not
            pattern.clear();
            for (const char c : own->text) pattern += c == 'L' ? 's' : 'f';
            if (pattern.empty() || own->text.find_first_not_of("LG") != own->text.npos)
                top_.refuse(top_.path_of("sliding_window_pattern"), shown(*own), "a whole number, or letters L and G");
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
            LayerType type = (i + 1) % prefix_period_ == 0 ? LayerType::full_attention : LayerType::sliding_attention;
            if (i >= prefix_) type = layer_of_pattern(pattern, period, type_.traits, i - prefix_, count_ - prefix_);
            if (type == LayerType::full_attention && i >= first_sliding_) type = LayerType::sliding_attention;
            names.push_back(usual_name(type));
        }
        return names;
    }

    Index count_ = 0, first_sliding_ = 65536;
    // Layers with a dense MLP, which come first and have a pattern of their own.
    Index prefix_ = 0, prefix_period_ = 1;
    bool window_is_null_ = false, slides_ = true;
    std::string source_;
};

ROPE_DETAIL_END
