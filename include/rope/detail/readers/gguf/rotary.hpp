// SPDX-License-Identifier: MIT
// The metadata of a GGUF file as Fields; its rotary embeddings: keys about scaling, and tensors of factors.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "../../../gguf_config.hpp"
#include "../../angles/schedules.hpp"
#include "../layers_and_axes.hpp"
#include "architectures.hpp"

ROPE_DETAIL_BEGIN
namespace gguf {

/// Converts each kind of value to a Value.
struct AddValue {
    Values& values;

    ROPE_COLD Value& operator()(bool x) const { return values.add(Value::Kind::truth, x ? 1.0 : 0.0); }
    template <class Number>
    ROPE_COLD Value& operator()(Number x) const {
        const double number = static_cast<double>(x);
        const bool has_usual_form = std::is_integral_v<Number> && std::fabs(number) < 0x1p53;  // see Value::text
        return values.add(Value::Kind::number, number, has_usual_form ? std::string() : Message("{}", {x}).text());
    }
    ROPE_COLD Value& operator()(const std::string& x) const { return values.add(Value::Kind::text, 0.0, x); }
    /// A list of more than kMaxEntries entries keeps its size alone: Fields refuses it by that.
    template <class T>
    ROPE_COLD Value& operator()(const std::vector<T>& list) const {
        Value& v = values.add(Value::Kind::list, 0.0, "an array of " + std::to_string(list.size()));
        Value* last = nullptr;
        for (std::size_t i = 0; list.size() <= kMaxEntries && i < list.size(); ++i)
            Values::append(v, last, (*this)(list[i]));
        v.size = static_cast<std::uint32_t>((std::min)(list.size(), std::size_t(0xffffffffU)));
        return v;
    }
};

/// The keys of a file. Each but general.architecture has the architecture and a dot before it.
class GgufFields final : public Fields {
 public:
    ROPE_COLD GgufFields(const GgufLookup& get, Diagnostics& diagnostics) : Fields("", diagnostics), get_(get) {}

    ROPE_COLD void set_prefix(const std::string& prefix) { path_ = prefix; }

 private:
    ROPE_COLD const Value* lookup(std::string_view key) const final {
        const std::string name = path_.empty() ? std::string(key) : sentence_of("{}.{}", {path_, key});
        const auto known = found_.find(name);
        if (known != found_.end()) return known->second;
        const auto value = get_(name);
        const bool is_there = value && !value->valueless_by_exception();
        return found_[name] = is_there ? &std::visit(AddValue{values_}, *value) : nullptr;
    }

    const GgufLookup& get_;
    mutable Values values_;
    mutable Members found_;  ///< values that were asked for
};

/// The state of a reader. Reads the keys about scaling once, and makes of them the Configs of layers with full and with
/// sliding attention.
class Rotary {
 protected:
    ROPE_COLD Rotary(const GgufLookup& get, const GgufTensors& tensors, Diagnostics& diagnostics)
        : fields_(get, diagnostics), tensors_(tensors), diagnostics_(diagnostics) {}

    ROPE_COLD bool ok() const noexcept { return diagnostics_.ok(); }
    ROPE_COLD bool has(Traits trait) const noexcept { return (architecture_.traits & trait) != 0; }
    ROPE_COLD void fail(std::string_view form, Words words = {}) { diagnostics_.fail(form, words); }
    ROPE_COLD void warn(std::string_view form, Words words) { diagnostics_.warn(form, words); }
    ROPE_COLD std::string named() const { return "architecture " + model_.model_type; }

    ROPE_COLD void read_scaling() {
        const auto type = fields_.text({"rope.scaling.type"});
        type_ = type.value_or("linear");
        const bool is_known = type_ == "none" || type_ == "linear" || has_original_length();
        if (!is_known)
            fields_.refuse(fields_.path_of("rope.scaling.type"), shown(*fields_.find("rope.scaling.type")),
                           "none, linear, yarn or longrope");
        const bool has_factors = !tensors_.rope_factors_long.empty() || !tensors_.rope_factors_short.empty();
        if (!type && has_factors) type_ = "longrope";  // Phi-3 and MiniCPM3 have the tensors and no type
        check_tensors();
        read_factor(type.has_value());
        attn_factor_ = fields_.number({"rope.scaling.attn_factor"}, kAnyFactor);
        original_ = fields_.count({"rope.scaling.original_context_length"});
        fields_.truth({"rope.scaling.finetuned"});
        read_yarn_keys();
        read_alpha();
        if (type_ == "longrope" && !attn_factor_)
            warn("{} is missing; the magnitude was taken from context_length and original_context_length.",
                 {fields_.path_of("rope.scaling.attn_factor")});
        if (!has_original_length() || original_ || !ok()) return;
        fields_.demand(original_length() != 0, "rope.scaling.original_context_length", "rope.scaling.type " + type_);
        fields_.warn_of_default("rope.scaling.original_context_length", original_length(), "the context_length");
    }

    /// The length that the model was trained with.
    ROPE_COLD Index original_length() const { return original_.value_or(model_.max_position_embeddings); }
    ROPE_COLD bool has_original_length() const { return type_ == "yarn" || type_ == "longrope"; }

    /// Whether the scaling changes anything.
    ROPE_COLD bool is_scaled() const {
        return has_original_length() || factor_ != 1.0 || attn_factor_.value_or(1.0) != 1.0 || alpha_ ||
               !tensors_.rope_freqs.empty();
    }

    ROPE_COLD void read_temperature(bool has_chunks) {
        const auto scale = fields_.number({"attention.temperature_scale"}, kAnyNumber);
        const auto length = fields_.count({"attention.temperature_length"});
        if (scale && *scale != 0.0) {
            const Index period = length.value_or(original_length());
            fields_.demand(period != 0, "attention.temperature_length", "attention.temperature_scale");
            model_.attention_temperature = {*scale, static_cast<double>(period), 0, true, false};
        } else if (has_chunks) {
            model_.attention_temperature = {0.1, 8192.0, 1, false, true};
        } else if (length) {
            fields_.warn_not_used("attention.temperature_length", "attention.temperature_scale is missing or 0");
        }
    }

    /// Takes four numbers, the last ones 0 where there are fewer axes.
    ROPE_COLD void read_sections(std::vector<Index> sections) {
        const char* const key = "rope.dimension_sections";
        const bool is_used = std::any_of(sections.begin(), sections.end(), [](Index n) { return n != 0; });
        const AxisScheme* const scheme = kind_of(architecture_.rope).axes;
        if (scheme == nullptr) {
            if (is_used && !has(kOptionalSections))
                fields_.warn_not_used(key, named() + " is not known to have positions of several axes");
            return;
        }
        fields_.demand(fields_.has(key), key, named());
        while (!sections.empty() && sections.back() == 0) sections.pop_back();
        const Index pairs = rotary_dim(model_.configs.front()) / 2;
        if (ok()) set_axes(model_, *scheme, sections, pairs, fields_.path_of(key), diagnostics_);
    }

    /// Adds base and scaling to a Config that has its layout and dimensions.
    ROPE_COLD Config make(Config c, double base, bool is_unscaled) {
        c.base = base;
        if (!is_unscaled) scale(c);
        if (const CheckResult s = validate(c); !s.ok()) fail(in_words(s));
        return c;
    }

    GgufFields fields_;
    const GgufTensors& tensors_;
    Diagnostics& diagnostics_;
    Architecture architecture_ = {"", Rope::neox};
    ModelConfig model_;

 private:
    ROPE_COLD void check_tensors() {
        const bool is_long = type_ == "longrope";
        const auto look_at = [&](const char* name, const std::vector<float>& values, bool is_needed, bool is_allowed) {
            if (values.empty() ? is_needed : !is_allowed)
                fail("{} has {} entries; with {} {} {}.",
                     {name, values.size(), fields_.path_of("rope.scaling.type"), type_,
                      is_needed ? "it must have one per pair" : "there must be none"});
        };
        look_at("rope_factors_long.weight", tensors_.rope_factors_long, is_long, is_long);
        look_at("rope_factors_short.weight", tensors_.rope_factors_short, is_long, is_long);
        // ggml would divide YaRN's frequencies by them, and take them for LongRoPE's: no known model means that.
        look_at("rope_freqs.weight", tensors_.rope_freqs, false, !has_original_length());
    }

    ROPE_COLD void read_factor(bool type_is_given) {
        const auto newer = fields_.number({"rope.scaling.factor"}, kAnyFactor);
        const auto older = fields_.number({"rope.scale_linear"}, kAnyFactor);
        const char* const key = newer || !older ? "rope.scaling.factor" : "rope.scale_linear";
        const bool is_used = type_ == "linear" || type_ == "yarn";
        if (newer && older && *newer != *older)
            fields_.warn_not_used("rope.scale_linear", "rope.scaling.factor is there, too");
        factor_ = newer.value_or(older.value_or(1.0));
        if (type_is_given && is_used) fields_.demand(newer || older, key, "rope.scaling.type " + type_);
        if (!is_used && factor_ != 1.0) fields_.warn_not_used(key, "rope.scaling.type is " + type_);
        if (!is_used) factor_ = 1.0;
    }

    ROPE_COLD void read_yarn_keys() {
        const auto beta_fast = fields_.number({"rope.scaling.yarn_beta_fast"}, kAnyFactor);
        const auto beta_slow = fields_.number({"rope.scaling.yarn_beta_slow"}, kAnyFactor);
        const auto ext_factor = fields_.number({"rope.scaling.yarn_ext_factor"},
                                               {-0x1p32, 1.0, "a number from 0 to 1, or negative for none"});
        const auto log_multiplier =
            fields_.number({"rope.scaling.yarn_log_multiplier"}, {0.0, 0x1p16, "a number from 0 to 2^16"});
        const auto magnitude = fields_.number({"rope.scaling.yarn_attn_factor"}, kAnyFactor);
        if (type_ != "yarn")
            return warn_not_used(
                {"rope.scaling.yarn_beta_fast", "rope.scaling.yarn_beta_slow", "rope.scaling.yarn_ext_factor",
                 "rope.scaling.yarn_log_multiplier", "rope.scaling.yarn_attn_factor"},
                "rope.scaling.type is not yarn");
        yarn_.factor = factor_;
        yarn_.beta_fast = beta_fast.value_or(has(kBetaFastEight) ? 8.0 : yarn_.beta_fast);
        yarn_.beta_slow = beta_slow.value_or(yarn_.beta_slow);
        yarn_.truncate = !has(kYarnIsNotTruncated);
        yarn_.extrapolation_factor = ext_factor.value_or(-1.0) < 0.0 ? 1.0 : *ext_factor;
        // ggml's kernel has its 1 + 0.1 ln(factor) only where the ramp is in use.
        if (has(kCompresses) || yarn_.extrapolation_factor == 0.0) yarn_.magnitude = schedule::YarnMagnitude::none;
        if (has(kCompresses))
            return warn_not_used(
                {"rope.scaling.attn_factor", "rope.scaling.yarn_log_multiplier", "rope.scaling.yarn_attn_factor"},
                "the magnitude of " + named() + " is 1");
        yarn_.attn_factor = attn_factor_.value_or(1.0);
        const double g = yarn_magnitude(yarn_, exact(factor_), 1.0).hi;
        if (log_multiplier && *log_multiplier != 0.0) {
            // In float, as the file has it: 0.1f / 0.1f is 1.
            const float stored = static_cast<float>(*log_multiplier);
            const double all_dim = has(kPlainLogMultiplier) ? *log_multiplier : static_cast<double>(stored / 0.1f);
            yarn_.mscale = has(kMscaleIsAllDim) ? all_dim : 1.0;
            yarn_.mscale_all_dim = all_dim;
            if (has(kYarnScalesSoftmax)) model_.softmax_scale_factor = yarn_softmax_factor(yarn_);
        }
        if (magnitude) read_yarn_attn_factor(*magnitude, g);
    }
    ROPE_COLD void warn_not_used(Keys keys, std::string_view because) {
        for (const char* key : keys)
            if (fields_.has(key)) fields_.warn_not_used(key, because);
    }
    /// llama.cpp's conversion writes config.json's "attention_factor" there, the whole magnitude, or, without one, its
    /// "attn_factor", which multiplies the magnitude and is known by making it 1.
    ROPE_COLD void read_yarn_attn_factor(double value, double g) {
        const double own = yarn_attention_factor(yarn_, exact(factor_)).hi;
        if (std::fabs(value - own) <= 1e-4 * own) return;
        const bool makes_one = value != 1.0 && yarn_.attn_factor == 1.0 && std::fabs(value * g - 1.0) <= 1e-4;
        yarn_.attention_factor = makes_one ? 1.0 : value;
        if (yarn_.attn_factor != 1.0)
            warn_not_used({"rope.scaling.attn_factor"},
                          fields_.path_of("rope.scaling.yarn_attn_factor") + " is the whole magnitude");
        yarn_.attn_factor = 1.0;
        warn(makes_one
                 ? "{} is {} and makes YaRN's own magnitude, {}, 1; llama.cpp does not read it."
                 : "{} is {} and was taken for the whole magnitude, the attention_factor of a config.json. "
                   "llama.cpp does not read it and takes {}: set attention_factor to that for keys of its caches.",
             {fields_.path_of("rope.scaling.yarn_attn_factor"), shown(value), shown(own)});
    }
    /// HunYuan: NTK-aware.
    ROPE_COLD void read_alpha() {
        alpha_ = fields_.number({"rope.scaling.alpha"}, kAnyFactor);
        if (!alpha_) return;
        if (!tensors_.rope_freqs.empty())
            fail("rope_freqs.weight has {} entries; with {} there must be none.",
                 {tensors_.rope_freqs.size(), fields_.path_of("rope.scaling.alpha")});
        if (type_ == "none" || type_ == "linear") return;
        fields_.warn_not_used("rope.scaling.alpha", "rope.scaling.type is " + type_);
        alpha_.reset();
    }

    /// Full layers that rotate half as many features as others use the first factors, one per pair.
    ROPE_COLD std::vector<double> factors_of(const std::vector<float>& values, const Config& c) const {
        std::vector<double> factors(values.begin(), values.end());
        const std::size_t pairs = static_cast<std::size_t>(rotary_dim(c) / 2);
        if (has(kHalfOnFullLayers)) factors.resize((std::min)(factors.size(), pairs));
        return factors;
    }

    ROPE_COLD void scale(Config& c) const {
        if (type_ == "yarn") {
            schedule::Yarn yarn = yarn_;
            yarn.original_max_position_embeddings = original_length();
            yarn.max_position_embeddings = model_.max_position_embeddings;
            c.schedule = yarn;
        } else if (type_ == "longrope") {
            schedule::LongRope s;
            s.short_factor = factors_of(tensors_.rope_factors_short, c);
            s.long_factor = factors_of(tensors_.rope_factors_long, c);
            s.original_max_position_embeddings = original_length();
            // Without a context_length, the ratio of the lengths is 1.
            s.max_position_embeddings =
                model_.max_position_embeddings != 0 ? model_.max_position_embeddings : original_length();
            s.attention_factor = attn_factor_;
            c.schedule = s;
        } else {
            c.interpolation_factor = factor_;
            c.attention_factor = attn_factor_.value_or(1.0);
            if (alpha_) c.schedule = schedule::Ntk{*alpha_};
            if (!tensors_.rope_freqs.empty()) c.schedule = schedule::FreqFactors{factors_of(tensors_.rope_freqs, c)};
        }
    }

    /// The error of check(config), in terms of the file's keys.
    ROPE_COLD std::string in_words(const CheckResult& status) const {
        const std::pair<const char*, std::string> names[] = {
            {"schedule.freq_factors", "rope_freqs.weight"},
            {"schedule.long_factor", "rope_factors_long.weight"},
            {"schedule.short_factor", "rope_factors_short.weight"},
            {"schedule.beta_fast", fields_.path_of("rope.scaling.yarn_beta_fast")},
            {"schedule.original_max_position_embeddings", fields_.path_of("rope.scaling.original_context_length")},
            {"schedule.attn_factor", fields_.path_of("rope.scaling.attn_factor") + " times yarn_attn_factor"},
            {"base", fields_.path_of("rope.freq_base")},
            {"rotary_dim", fields_.path_of("rope.dimension_count")},
        };
        for (const auto& [ours, theirs] : names)
            if (status.argument() == ours) return in_words_of_the_file(status, theirs);
        return status.message();
    }

    std::string type_;
    double factor_ = 1.0;
    std::optional<double> attn_factor_, alpha_;
    std::optional<Index> original_;
    schedule::Yarn yarn_;
};

}  // namespace gguf
ROPE_DETAIL_END
