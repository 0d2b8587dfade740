// SPDX-License-Identifier: MIT
// One rotary embedding from a Hugging Face configuration: rope_parameters or rope_scaling, with what the model's other
// keys add to it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "../../../config.hpp"
#include "../../../frequencies.hpp"
#include "../../../model_config.hpp"
#include "../../schedule_formulas.hpp"
#include "heads.hpp"
#include "json.hpp"
#include "models.hpp"
#include "names.hpp"

#include "../../hide_macros.hpp"

namespace rope {
inline namespace ROPE_VERSION_NAMESPACE {
namespace detail {

/// What a rotary embedding needs of the rest of the file.
struct ROPE_ABI HfContext {
    HfModel type;
    bool type_is_known = false;
    std::optional<Layout> layout;
    Index max_position_embeddings = 0;
};

/// Where the numbers of one kind of layers stand.
struct ROPE_ABI HfSource {
    const Json* params = nullptr;  ///< rope_parameters, one of their entries, or rope_scaling; they may be missing
    std::string path = {};         ///< of these
    const char* theta_key = "rope_theta";                    ///< the key for the base beside them
    double theta = 10000.0;                                  ///< what the absence of a base means
    bool is_scaled = true;                                   ///< false: rope_type counts as default
    bool is_entry = false;                                   ///< params is the entry of one kind of layers
    std::optional<double> own_theta = {}, own_partial = {};  ///< of lists with one per layer
    HfHeads heads = {};
};

/// Reads one rotary embedding, and what its keys say of the model as a whole. `top` is the model's configuration.
class ROPE_ABI HfRotary {
 public:
    ROPE_COLD HfRotary(HfSource source, JsonFields& top, const HfContext& context, ModelConfig& model)
        : source_(std::move(source)),
          params_(source_.params, source_.path, top.diagnostics()),
          top_(top),
          context_(context),
          diagnostics_(top.diagnostics()),
          model_(model) {}

    ROPE_COLD Config read() {
        Config c;
        c.head_dim = source_.heads.head_dim;
        c.layout = context_.layout;
        c.is_reversed = has(kReversed);
        c.has_log_scale = has(kLearnedLogScale);
        read_type();
        if (!source_.is_scaled) type_ = "default";
        c.base = read_theta();
        read_rotary_dim(c);
        read_schedule(c);
        read_sections(c);
        read_temperature();
        for (const std::string& key : source_.is_scaled ? params_.unread() : std::vector<std::string>()) {
            if (key == "max_position_embeddings") continue;  // what transformers writes back repeats it
            diagnostics_.warn(params_.unread_sentence(key));
            // Parameters of some kind of layers, which nobody knows.
            if (!source_.is_entry && params_.is_object(key))
                diagnostics_.fail(params_.path_of(in_path(key)) +
                                  " is an object; only kinds of layers may be, such as full_attention.");
        }
        if (diagnostics_.ok()) check_result(c);
        return c;
    }

 private:
    ROPE_COLD bool has(Traits trait) const noexcept { return (context_.type.traits & trait) != 0; }
    ROPE_COLD Fields& fields_of_defaults() { return source_.is_entry ? params_ : top_; }

    /// What check(config) refuses is said of the file's keys.
    ROPE_COLD void check_result(const Config& c) {
        const Index turning = rotary_dim(c);
        if (turning < 2 || turning % 2 != 0 || turning > c.head_dim)
            return diagnostics_.fail(rotary_dim_is_ + ", so that " + std::to_string(turning) +
                                     " features would turn; it must be an even number from 2 to head_dim (" +
                                     std::to_string(c.head_dim) + ").");
        Frequencies f;
        const Status s = make_frequencies(c, 0, f);
        if (s.ok() || f.lacks_log_scale) return;
        const std::string argument(s.argument()), key = argument.substr(argument.find('.') + 1);
        const std::string said = key == "original_max_position_embeddings" ? original_length_is_
                                 : argument == "base"                      ? theta_is_
                                 : params_.has(key)                        ? params_.path_of(key)
                                                                           : "";
        diagnostics_.fail(!said.empty()
                              ? in_words_of_the_file(s, said)
                              : params_.path_of_first({"rope_type", "type"}) + " is \"" + type_ + "\": " + s.message());
    }

    /// Files may name it by both keys.
    ROPE_COLD void read_type() {
        if (params_.holds("type", "mrope") && params_.holds("rope_type", "default")) {  // which mean the same
            params_.find("type");
            params_.find("rope_type");
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
    ROPE_COLD double read_theta() {
        const char* const key = source_.theta_key;
        const bool is_usual = std::string(key) == "rope_theta";
        if (source_.own_theta) {
            theta_is_ = top_.path_of(key);
            return *source_.own_theta;
        }
        const Keys keys = {key, is_usual ? "rotary_emb_base" : key, is_usual ? "rotary_embedding_base" : key};
        JsonFields& attn_config = top_.inside("attn_config");  // DBRX
        if (params_.says("rope_theta")) {
            theta_is_ = params_.path_of("rope_theta");
            for (const char* outer : keys) top_.beat(outer, *params_.find("rope_theta"), theta_is_);
            attn_config.beat("rope_theta", *params_.find("rope_theta"), theta_is_);
            return params_.number({"rope_theta"}, kAnyBase).value_or(1.0);
        }
        theta_is_ = top_.path_of_first(keys);
        if (const auto outer = top_.number(keys, kAnyBase)) {
            attn_config.beat("rope_theta", *top_.find(top_.first(keys)), theta_is_);
            return *outer;
        }
        if ((has(kBaseInAttnConfig) || !context_.type_is_known) && attn_config.says("rope_theta")) {
            theta_is_ = attn_config.path_of("rope_theta");
            diagnostics_.warn(theta_is_ +
                              " was used, as the model's authors and most engines do; transformers takes 10000.");
            return attn_config.number({"rope_theta"}, kAnyBase).value_or(1.0);
        }
        // ChatGLM says how many times the usual base its own is.
        const auto ratio = top_.number({"rope_ratio"}, kAnyFactor);
        if (ratio && *ratio != 1.0 && (has(kFixedTheta) || !context_.type_is_known))
            diagnostics_.warn(top_.path_of("rope_ratio") +
                              " multiplied the base, which is what it means in ChatGLM3 and GLM-4; in ChatGLM2 it "
                              "divides positions, and the file does not tell them apart.");
        if (!ratio && !has(kFixedTheta)) warn_of_default(is_usual ? "rope_theta" : key, Json(source_.theta));
        return source_.theta * ratio.value_or(1.0);
    }
    ROPE_COLD void warn_of_default(const char* key, const Json& value) {
        fields_of_defaults().warn_of_default(
            key, value.dump(), context_.type_is_known ? default_of(model_.model_type) : "which most models have");
    }

    /// The part of a head that turns, if a key says it that the model's code reads.
    ROPE_COLD std::optional<double> read_part() {
        const auto inner = params_.number({"partial_rotary_factor"}, kAnyFraction);
        if (inner)
            for (const char* outer : kPartKeys)
                top_.beat(outer, *params_.find("partial_rotary_factor"), params_.path_of("partial_rotary_factor"));
        part_is_ = source_.own_partial ? top_.path_of("partial_rotary_factors")
                   : inner             ? params_.path_of("partial_rotary_factor")
                                       : top_.path_of_first(kPartKeys);
        const auto part = source_.own_partial ? source_.own_partial
                          : inner             ? inner
                                              : top_.number(kPartKeys, kAnyFraction);
        const HfModel& type = context_.type;
        const bool reads_it = !context_.type_is_known || has(kReadsPartial) || type.partial != 1.0 ||
                              type.rotary_dim != 0 || type_ != "default" || source_.heads.is_latent;
        if (reads_it || part.value_or(1.0) == 1.0) return part;
        diagnostics_.warn(part_is_ + " was not used: the code of model_type " + model_.model_type +
                          " rotates whole heads.");
        return std::nullopt;
    }
    /// How many features turn: a part of the head, or a count of them.
    ROPE_COLD void read_rotary_dim(Config& c) {
        const std::optional<double> part = read_part();
        rotary_dim_is_ = source_.heads.head_dim_is + " is " + std::to_string(c.head_dim);
        if (source_.heads.is_latent)
            return;  // qk_rope_head_dim has counted what turns: a factor is one of the whole head
        if (type_ == "proportional") {
            partial_ = part.value_or(1.0);
            return;
        }
        const auto part_of_head = [&](double x) { return static_cast<Index>(static_cast<double>(c.head_dim) * x); };
        auto count = top_.count({"rotary_dim"});
        std::string count_is = top_.path_of("rotary_dim");
        if (source_.heads.rotary_dim != 0) {
            count = source_.heads.rotary_dim;
            count_is = top_.path_of("qk_rope_head_dim");
        }
        if (count && part && *count != part_of_head(*part))
            diagnostics_.warn(count_is + " was not used: " + part_is_ + " is there, too.");
        if (!part && (count || context_.type.rotary_dim != 0)) {
            c.rotary_dim = count.value_or(context_.type.rotary_dim);
            if (!count) warn_of_default("rotary_dim", Json(c.rotary_dim));
            rotary_dim_is_ = count_is + " is " + std::to_string(c.rotary_dim);
        } else {
            if (!part && context_.type.partial != 1.0 && !has(kFixedTheta))
                warn_of_default("partial_rotary_factor", Json(context_.type.partial));
            const double factor = part.value_or(context_.type.partial);
            if (factor != 1.0) {
                c.rotary_dim = part_of_head(factor);
                rotary_dim_is_ = part_is_ + " is " + Json(factor).dump();
                if (c.rotary_dim == 0)  // which a Config would take for the whole head
                    diagnostics_.fail(rotary_dim_is_ + ", so that none of head_dim (" + std::to_string(c.head_dim) +
                                      ") features would turn; at least two must.");
            }
        }
        if (has(kTrailingSlice)) c.rotary_offset = c.head_dim - rotary_dim(c);
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
            params_.warn_not_used("original_max_position_embeddings", original_length_is_ + " is there, too");
        if (outer || inner) return outer ? *outer : *inner;
        require_max_position(by);
        if (context_.max_position_embeddings != 0)  // which serves as the original length
            params_.warn_of_default("original_max_position_embeddings",
                                    std::to_string(context_.max_position_embeddings), "the " + original_length_is_);
        return context_.max_position_embeddings;
    }
    ROPE_COLD std::vector<double> required_list(const char* key) {
        auto list = params_.numbers(key, {0x1p-32, 1e300, "a number from 2^-32 to 1e300"});
        params_.require(list.has_value(), key, "rope_type " + type_);
        return list.value_or(std::vector<double>());
    }

    ROPE_COLD void read_schedule(Config& c) {
        if (type_ == "default" || type_ == "mrope") {
            // Nomic's own code: dynamic NTK beyond the length it was trained with.
            if (const auto factor = top_.number({"rotary_scaling_factor"}, {1.0, 0x1p32, "a number from 1 to 2^32"})) {
                const auto trained = top_.count({"max_trained_positions"});
                if (!trained) require_max_position("rotary_scaling_factor");
                c.schedule = schedule::DynamicNtk{*factor, trained.value_or(context_.max_position_embeddings)};
            }
        } else if (type_ == "linear") {
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
            params_.refuse(params_.path_of_first({"rope_type", "type"}), value_of(Json(type_)),
                           "one of default, linear, dynamic, ntk, yarn, deepseek_yarn, longrope, su, llama3, "
                           "proportional, axial, mrope, xdrope");
        }
    }
    ROPE_COLD void read_dynamic(Config& c) {
        if (const auto alpha = params_.number({"alpha"}, kAnyFactor)) {  // HunYuan: NTK-aware, whatever the length
            // Beside it stand relics of YaRN and of dynamic NTK, which HunYuan's code does not read.
            for (const char* key : {"factor", "beta_fast", "beta_slow", "mscale", "mscale_all_dim"})
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
                params_.warn_not_used("original_max_position_embeddings",
                                      "rope_type dynamic grows from max_position_embeddings on");
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
        y.extrapolation_factor = params_.number({"extrapolation_factor"}, kAnyPart).value_or(1.0);
        y.attention_factor = params_.number({"attention_factor"}, kAnyFactor);
        y.mscale = params_.number({"mscale"}, kAnyNumber);
        y.mscale_all_dim = params_.number({"mscale_all_dim"}, kAnyNumber);
        y.attn_factor = params_.number({"attn_factor"}, kAnyFactor).value_or(1.0);
        if (y.attn_factor != 1.0)
            diagnostics_.warn(params_.path_of("attn_factor") +
                              " multiplies the magnitude, as the model's authors mean it; transformers leaves it out.");
        y.log_coefficient = context_.type.log_coefficient;
        const bool deepseek =
            type_ == "deepseek_yarn" || has(kDeepSeekYarn) || (source_.heads.is_latent && !context_.type_is_known);
        y.magnitude = deepseek ? schedule::YarnMagnitude::deepseek : schedule::YarnMagnitude::standard;
        if (!params_.truth({"apply_yarn_scaling"}).value_or(true) || has(kYarnWithoutMagnitude))
            y.magnitude = schedule::YarnMagnitude::none;
        if (deepseek && y.mscale_all_dim && diagnostics_.ok()) model_.softmax_scale_factor = yarn_softmax_factor(y);
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

    /// How axes share the pairs is a matter of the model's code; a flag in the file counts where that is not known.
    ROPE_COLD void read_sections(const Config& c) {
        const char* const key = params_.has("xdrope_section") ? "xdrope_section" : "mrope_section";
        const auto sections = params_.counts(key, kAnyCountOrNone);
        const auto flag = params_.truth({"mrope_interleaved", "interleaved"});
        Mrope kind = context_.type.mrope;
        if (kind == Mrope::none) kind = flag.value_or(false) ? Mrope::interleaved : Mrope::chunked;
        if (context_.type.mrope != Mrope::none && flag && *flag != (kind == Mrope::interleaved))
            params_.warn_not_used(params_.says("mrope_interleaved") ? "mrope_interleaved" : "interleaved",
                                  "the code of model_type " + model_.model_type + " decides it by itself");
        if (!diagnostics_.ok()) return;
        const Index pairs = rotary_dim(c) / 2;
        std::vector<Index> chosen = sections.value_or(std::vector<Index>());
        if (!sections && context_.type.sections[0] != 0) {
            chosen.assign(std::begin(context_.type.sections), std::end(context_.type.sections));
            const std::string of = params_.lack_of(key) + "; that of model_type " + model_.model_type;
            if (kind == Mrope::interleaved)  // an axis has every third pair: no more than there are of these
                for (Index axis = 2; axis >= 0; --axis)
                    chosen[static_cast<std::size_t>(axis)] =
                        axis == 0 ? pairs - chosen[1] - chosen[2]
                                  : std::min(chosen[static_cast<std::size_t>(axis)], (pairs - axis + 2) / 3);
            if (!fits(kind, chosen, pairs))
                return diagnostics_.warn(of + " is not for " + std::to_string(pairs) +
                                         " pairs, so positions of several axes are not known.");
            diagnostics_.warn(of + " was taken, [" + std::to_string(chosen[0]) + ", " + std::to_string(chosen[1]) +
                              ", " + std::to_string(chosen[2]) + "].");
        }
        if (chosen.empty() && !sections) {
            if (type_ == "mrope") params_.require(false, "mrope_section", "rope_type mrope");
            return;
        }
        if (!fits(kind, chosen, pairs)) return diagnostics_.fail(misfit(params_.path_of(key), kind, chosen, pairs));
        if (!model_.mrope_section.empty() && model_.mrope_section != chosen)
            return diagnostics_.fail(params_.path_of(key) +
                                     " is not that of the other layer types; a model must have one.");
        set_axes(model_, kind, chosen);
    }
    ROPE_COLD void read_temperature() {
        const auto beta = params_.number({"llama_4_scaling_beta"}, kAnyNumber);
        if (!beta) return;
        const Index period = original_length("llama_4_scaling_beta");
        model_.attention_temperature = {*beta, static_cast<double>(period), 0, true, false};
    }

    HfSource source_;
    JsonFields params_;
    JsonFields& top_;
    const HfContext& context_;
    Diagnostics& diagnostics_;
    ModelConfig& model_;
    std::string type_;
    double partial_ = 1.0;
    bool has_original_ = false;
    // Where in the file it was found, for errors.
    std::string theta_is_, part_is_, rotary_dim_is_, original_length_is_;
};

}  // namespace detail
}  // namespace ROPE_VERSION_NAMESPACE
}  // namespace rope

#include "../../restore_macros.hpp"
