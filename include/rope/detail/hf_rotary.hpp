// SPDX-License-Identifier: MIT
// One rotary embedding from a Hugging Face configuration: rope_parameters or rope_scaling, with what the model's other
// keys add to it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "../config.hpp"
#include "../frequencies.hpp"
#include "../model_config.hpp"
#include "hf_models.hpp"
#include "json_fields.hpp"
#include "schedule_formulas.hpp"

namespace rope {
inline namespace ROPE_VERSION_NAMESPACE {
namespace detail {

/// What a rotary embedding needs of the rest of the file.
struct ROPE_ABI HfContext {
    HfModel type;
    Layout layout;
    bool layout_is_known;
    Index head_dim;
    Index max_position_embeddings;
    std::string head_dim_is = {};  ///< the paths of the keys that head_dim was read from
    bool type_is_known = true;
    bool is_latent = false;            ///< multi-head latent attention, DeepSeek's
    bool has_parameters_only = false;  ///< rope_parameters by layer type, where a key for all layers has no place
};

/// Reads one rotary embedding, and what its keys say of the model as a whole. `params` are rope_parameters, one of
/// their entries, or rope_scaling; they may be missing. `top` is the model's configuration.
class ROPE_ABI HfRotary {
 public:
    ROPE_COLD HfRotary(JsonFields params, JsonFields& top, const HfContext& context, Findings& findings,
                       ModelConfig& model)
        : params_(std::move(params)), top_(top), context_(context), findings_(findings), model_(model) {}

    /// `theta_key` is the model's key for the base of this kind of layer, `default_theta` what its absence means. Of
    /// parameters that are not for this kind of layer, only the base counts.
    ROPE_COLD Config read(const char* theta_key, double default_theta, bool is_scaled = true) {
        Config c;
        c.head_dim = context_.head_dim;
        if (context_.layout_is_known) c.layout = context_.layout;
        read_type();
        if (!is_scaled) type_ = "default";
        c.base = read_theta(theta_key, default_theta);
        read_rotary_dim(c);
        read_schedule(c);
        read_sections(c);
        read_temperature();
        for (const std::string& key : is_scaled ? params_.unread() : std::vector<std::string>()) {
            findings_.warn(params_.unread_sentence(key));
            // Parameters of some kind of layers, which nobody knows.
            if (!context_.has_parameters_only && params_.is_object(key))
                findings_.fail(params_.path_of(key) +
                               " is an object; only full_attention, sliding_attention and chunked_attention may be.");
        }
        if (findings_.status.ok()) check_result(c);
        return c;
    }

 private:
    /// What check(config) refuses is said of the file's keys.
    ROPE_COLD void check_result(const Config& c) {
        const Index turning = rotary_dim(c);
        if (turning < 2 || turning % 2 != 0 || turning > c.head_dim)
            return findings_.fail(rotary_dim_is_ + ", so that " + std::to_string(turning) +
                                  " features would turn; it must be an even number from 2 to head_dim (" +
                                  std::to_string(c.head_dim) + ").");
        Frequencies f;
        const Status s = make_frequencies(c, 0, f);
        if (s.ok()) return;
        const std::string sentence = s.message(), schedule = "schedule.";
        const std::size_t end = std::min(sentence.find(' '), sentence.find('['));
        const std::string name = sentence.substr(0, end), rest = sentence.substr(end);
        const std::string key = name.compare(0, schedule.size(), schedule) == 0 ? name.substr(schedule.size()) : "";
        if (name == "base")
            findings_.fail(theta_is_ + rest);
        else if (key == "original_max_position_embeddings")
            findings_.fail(original_length_is_ + rest);
        else if (params_.has(key))
            findings_.fail(params_.path_of(key) + rest);
        else
            findings_.fail(params_.path_of_first({"rope_type", "type"}) + " is \"" + type_ + "\": " + sentence);
    }

    /// Files may name it by both keys.
    ROPE_COLD void read_type() {
        if (params_.holds("type", "mrope") && params_.holds("rope_type", "default")) {  // which mean the same
            params_.text({"type"});
            params_.text({"rope_type"});
            type_ = "mrope";
            return;
        }
        const auto type = params_.text({"rope_type", "type"});
        type_ = type.value_or("default");
        if (type) return;
        for (const char* key :
             {"factor", "alpha", "short_factor", "long_factor", "low_freq_factor", "high_freq_factor"})
            params_.require(!params_.says(key), "rope_type", key);
    }
    ROPE_COLD double read_theta(const char* key, double default_theta) {
        const bool is_usual = std::string(key) == "rope_theta";
        const Keys keys = {key, is_usual ? "rotary_emb_base" : key};
        if (const auto inner = params_.number({"rope_theta"}, kAnyBase)) {
            theta_is_ = params_.path_of("rope_theta");
            for (const char* outer : keys) top_.beat(outer, Json(*inner), theta_is_);
            return *inner;
        }
        theta_is_ = top_.path_of_first(keys);
        if (const auto outer = top_.number(keys, kAnyBase)) return *outer;
        // ChatGLM says how many times the usual base its own is.
        const auto ratio = top_.number({"rope_ratio"}, kAnyFactor);
        if (!ratio && (context_.type.traits & kFixedTheta) == 0)
            warn_of_default(context_.has_parameters_only ? params_ : top_, is_usual ? "rope_theta" : key,
                            default_theta);
        return default_theta * ratio.value_or(1.0);
    }
    ROPE_COLD void warn_of_default(const JsonFields& where, const char* key, const Json& value) {
        const std::string type = context_.type.type;
        findings_.warn(
            where.lack_of(key) + "; " + value.dump() + " was taken, " +
            (context_.type_is_known ? "the default of model_type " + type + "." : "which most models have."));
    }

    /// How many features turn: a part of the head, or a count of them.
    ROPE_COLD void read_rotary_dim(Config& c) {
        const Keys keys = {"partial_rotary_factor", "rotary_pct", "rope_pct", "rotary_emb_fraction"};
        std::optional<double> part = params_.number({"partial_rotary_factor"}, kAnyFraction);
        std::string part_is = params_.path_of("partial_rotary_factor");
        if (part) {
            for (const char* outer : keys) top_.beat(outer, Json(*part), part_is);
        } else {
            part = top_.number(keys, kAnyFraction);
            part_is = top_.path_of_first(keys);
        }
        rotary_dim_is_ = context_.head_dim_is + " is " + std::to_string(c.head_dim);
        if (type_ == "proportional") {
            partial_ = part.value_or(1.0);
            return;
        }
        const auto part_of_head = [&](double x) { return static_cast<Index>(static_cast<double>(c.head_dim) * x); };
        const auto count = top_.count({"rotary_dim"});
        if (count && part && *count != part_of_head(*part))
            findings_.warn(top_.path_of("rotary_dim") + " was not used: " + part_is + " is there, too.");
        if (!part && (count || context_.type.rotary_dim != 0)) {
            c.rotary_dim = count.value_or(context_.type.rotary_dim);
            if (!count) warn_of_default(top_, "rotary_dim", c.rotary_dim);
            rotary_dim_is_ = top_.path_of("rotary_dim") + " is " + std::to_string(c.rotary_dim);
            return;
        }
        if (!part && context_.type.partial != 1.0 && (context_.type.traits & kFixedTheta) == 0)
            warn_of_default(context_.has_parameters_only ? params_ : top_, "partial_rotary_factor",
                            context_.type.partial);
        const double factor = part.value_or(context_.type.partial);
        if (factor == 1.0) return;
        c.rotary_dim = part_of_head(factor);
        rotary_dim_is_ = part_is + " is " + Json(factor).dump();
        if (c.rotary_dim == 0)  // which a Config would take for the whole head
            findings_.fail(rotary_dim_is_ + ", so that none of head_dim (" + std::to_string(c.head_dim) +
                           ") features would turn; at least two must.");
    }

    // ---- schedules ----

    ROPE_COLD double required(const char* key, const NumberRange& range = kAnyFactor) {
        const auto value = params_.number({key}, range);
        params_.require(value.has_value(), key, "rope_type " + type_);
        return value.value_or(1.0);
    }
    /// "factor", which may be null where two lengths can give it.
    ROPE_COLD std::optional<double> factor_or_lengths() {
        const auto factor = params_.number({"factor"}, kAnyFactor);
        const bool can_be_ratio = params_.has("factor") && has_original_;
        params_.require(factor || can_be_ratio, "factor", "rope_type " + type_);
        if (!factor) require_max_position("rope_type " + type_ + " without a factor");
        return factor;
    }
    ROPE_COLD void require_max_position(const std::string& by) {
        top_.require(context_.max_position_embeddings != 0, "max_position_embeddings", by);
    }
    /// `by` is what needs it.
    ROPE_COLD Index original_length(const std::string& by, bool is_required = false) {
        const auto outer = top_.count({"original_max_position_embeddings"});
        const auto inner = params_.count({"original_max_position_embeddings"});
        has_original_ = outer || inner;
        if (is_required) params_.require(has_original_, "original_max_position_embeddings", by);
        original_length_is_ = outer   ? top_.path_of("original_max_position_embeddings")
                              : inner ? params_.path_of("original_max_position_embeddings")
                                      : top_.path_of("max_position_embeddings");
        if (outer && inner && *outer != *inner)
            findings_.warn(params_.path_of("original_max_position_embeddings") +
                           " was not used: " + original_length_is_ + " is there, too.");
        if (outer || inner) return outer ? *outer : *inner;
        require_max_position(by);
        if (context_.max_position_embeddings != 0)  // for which it is as good
            findings_.warn(params_.lack_of("original_max_position_embeddings") + "; " +
                           std::to_string(context_.max_position_embeddings) + " was taken, the " + original_length_is_ +
                           ".");
        return context_.max_position_embeddings;
    }
    ROPE_COLD std::vector<double> required_list(const char* key) {
        auto list = params_.numbers(key, {0x1p-32, 1e300, "a number from 2^-32 to 1e300"});
        params_.require(list.has_value(), key, "rope_type " + type_);
        return list.value_or(std::vector<double>());
    }

    ROPE_COLD void read_schedule(Config& c) {
        if (type_ == "default" || type_ == "mrope") return;
        if (type_ == "linear") {
            c.interpolation_factor = required("factor");
        } else if (type_ == "ntk") {
            c.schedule = schedule::Ntk{required("factor")};
        } else if (type_ == "dynamic" || type_ == "xdrope") {
            read_dynamic(c);
        } else if (type_ == "yarn" || type_ == "deepseek_yarn") {
            c.schedule = read_yarn();
        } else if (type_ == "llama3") {
            c.schedule = schedule::Llama3{required("factor"), required("low_freq_factor"), required("high_freq_factor"),
                                          original_length("rope_type llama3", true)};
        } else if (type_ == "longrope" || type_ == "su") {
            c.schedule = read_longrope();
        } else if (type_ == "proportional") {
            c.schedule = schedule::Proportional{partial_, params_.number({"factor"}, kAnyFactor).value_or(1.0)};
        } else if (type_ == "axial") {
            c.schedule = schedule::Axial();
        } else {
            params_.refuse(params_.path_of_first({"rope_type", "type"}), Json(type_),
                           "one of default, linear, dynamic, ntk, yarn, deepseek_yarn, longrope, su, llama3, "
                           "proportional, axial, mrope, xdrope");
        }
    }
    ROPE_COLD void read_dynamic(Config& c) {
        if (const auto alpha = params_.number({"alpha"}, kAnyFactor)) {  // HunYuan: NTK-aware, whatever the length
            params_.number({"factor"}, kAnyNumber);
            // Beside it stand relics of YaRN, which HunYuan's code does not read.
            if (model_.model_type.rfind("hunyuan", 0) == 0)
                for (const char* key : {"beta_fast", "beta_slow", "mscale", "mscale_all_dim"})
                    params_.number({key}, kAnyNumber);
            c.schedule = schedule::Ntk{*alpha};
        } else if (type_ == "xdrope") {
            params_.require(false, "alpha", "rope_type xdrope");
        } else {
            const double factor = required("factor", {1.0, 0x1p32, "a number from 1 to 2^32"});
            // Not the original length: the published code grows from max_position_embeddings on.
            require_max_position("rope_type dynamic");
            if (const auto original = params_.count({"original_max_position_embeddings"});
                original && *original != context_.max_position_embeddings)
                findings_.warn(params_.path_of("original_max_position_embeddings") +
                               " was not used: rope_type dynamic grows from max_position_embeddings on.");
            c.schedule = schedule::DynamicNtk{factor, context_.max_position_embeddings};
        }
    }
    ROPE_COLD schedule::Yarn read_yarn() {
        schedule::Yarn y;
        y.original_max_position_embeddings = original_length("rope_type " + type_);
        y.max_position_embeddings = context_.max_position_embeddings;
        y.factor = factor_or_lengths();
        y.beta_fast = params_.number({"beta_fast"}, kAnyFactor).value_or(y.beta_fast);
        y.beta_slow = params_.number({"beta_slow"}, kAnyFactor).value_or(y.beta_slow);
        y.truncate = params_.truth({"truncate"}).value_or(true);
        y.extrapolation_factor = params_.number({"extrapolation_factor"}, kAnyNumber).value_or(1.0);
        y.attention_factor = params_.number({"attention_factor"}, kAnyFactor);
        y.mscale = params_.number({"mscale"}, kAnyNumber);
        y.mscale_all_dim = params_.number({"mscale_all_dim"}, kAnyNumber);
        y.attn_factor = params_.number({"attn_factor"}, kAnyFactor).value_or(1.0);
        y.log_coefficient = context_.type.log_coefficient;
        const bool deepseek = type_ == "deepseek_yarn" || (context_.type.traits & kDeepSeekYarn) != 0 ||
                              (context_.is_latent && !context_.type_is_known);
        y.magnitude = deepseek ? schedule::YarnMagnitude::deepseek : schedule::YarnMagnitude::standard;
        if (!params_.truth({"apply_yarn_scaling"}).value_or(true)) y.magnitude = schedule::YarnMagnitude::none;
        if (deepseek && y.mscale_all_dim && findings_.status.ok()) model_.softmax_scale_factor = yarn_softmax_factor(y);
        return y;
    }
    ROPE_COLD schedule::LongRope read_longrope() {
        schedule::LongRope s;
        s.short_factor = required_list("short_factor");
        s.long_factor = required_list("long_factor");
        s.original_max_position_embeddings = original_length("rope_type " + type_);
        s.max_position_embeddings = context_.max_position_embeddings;
        s.factor = params_.number({"factor"}, kAnyFactor);
        s.attention_factor = params_.number({"attention_factor"}, kAnyFactor);
        s.short_mscale = params_.number({"short_mscale"}, kAnyFactor);
        s.long_mscale = params_.number({"long_mscale"}, kAnyFactor);
        const bool has_magnitude = s.attention_factor || (s.short_mscale && s.long_mscale);
        if (!s.factor && !has_magnitude) require_max_position("rope_type " + type_ + " without a factor");
        return s;
    }

    // ---- what the parameters say of the whole model ----

    ROPE_COLD void read_sections(const Config& c) {
        const char* const key = params_.has("xdrope_section") ? "xdrope_section" : "mrope_section";
        const auto sections = params_.counts(key, kAnyCountOrNone);
        if (!sections) {
            if (type_ == "mrope") params_.require(false, "mrope_section", "rope_type mrope");
            return;
        }
        const bool interleaved = params_.truth({"mrope_interleaved"}).value_or(false);
        if (!findings_.status.ok()) return;
        Index sum = 0;
        for (const Index section : *sections) sum += section;
        if (sections->size() < 2 || sections->size() > 4 || sum != rotary_dim(c) / 2)
            findings_.fail(params_.path_of(key) + " has " + std::to_string(sections->size()) +
                           " sections with a sum of " + std::to_string(sum) +
                           "; there must be 2 to 4 with as many pairs as turn (" + std::to_string(rotary_dim(c) / 2) +
                           ").");
        const bool is_first = model_.mrope_section.empty();
        if (!is_first && (model_.mrope_section != *sections || model_.mrope_interleaved != interleaved))
            findings_.fail(params_.path_of(key) + " is not that of the other layer types; a model must have one.");
        model_.mrope_section = *sections;
        model_.mrope_interleaved = interleaved;
    }
    ROPE_COLD void read_temperature() {
        const auto beta = params_.number({"llama_4_scaling_beta"}, kAnyNumber);
        if (!beta) return;
        const Index period = original_length("llama_4_scaling_beta");
        model_.attention_temperature = {*beta, static_cast<double>(period), 0, true, false};
    }

    JsonFields params_;
    JsonFields& top_;
    const HfContext& context_;
    Findings& findings_;
    ModelConfig& model_;
    std::string type_;
    double partial_ = 1.0;
    bool has_original_ = false;
    // Where in the file it was found, for errors.
    std::string theta_is_, rotary_dim_is_, original_length_is_;
};

}  // namespace detail
}  // namespace ROPE_VERSION_NAMESPACE
}  // namespace rope
