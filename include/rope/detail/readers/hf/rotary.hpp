// SPDX-License-Identifier: MIT
// One rotary embedding from a Hugging Face configuration: rope_parameters or rope_scaling, completed by other keys of
// the model.
#pragma once

#include <algorithm>
#include <iterator>
#include <optional>
#include <string>
#include <vector>

#include "../../../frequencies.hpp"
#include "../../angles/schedules.hpp"
#include "layers.hpp"

ROPE_DETAIL_BEGIN

/// The source of the numbers of one kind of layers.
struct HfSource {
    const Value* params = nullptr;  ///< rope_parameters, one of their entries, or rope_scaling; they may be missing
    std::string path = {};          ///< of params
    const char* theta_key = "rope_theta";                    ///< the key for the base beside them
    double theta = 10000.0;                                  ///< if there is no base
    bool is_scaled = true;                                   ///< false: rope_type counts as default
    bool is_entry = false;                                   ///< params is the entry of one kind of layers
    std::optional<double> own_theta = {}, own_partial = {};  ///< from lists with one entry per layer

    /// Layers with the same text have the same Config.
    ROPE_COLD std::string text(Index head_dim) const {
        const auto bits = [](std::optional<double> x) { return bit_cast<Index>(x.value_or(0.0)); };
        return sentence_of("{} {} {} {} {} {}", {reinterpret_cast<Index>(params), theta_key, Index(is_scaled),
                                                 bits(own_theta), bits(own_partial), head_dim});
    }
};

/// Reads one rotary embedding, and facts about the whole model from its keys.
class HfRotary : HfPart {
 public:
    ROPE_COLD HfRotary(HfFile& file, const HfSource& source, const HfHeads& heads)
        : HfPart(file), source_(source), heads_(heads), params_(source.params, source.path, diagnostics_) {}

    ROPE_COLD Config read() {
        Config c;
        c.head_dim = heads_.head_dim;
        c.layout = file_.layout;
        c.is_reversed = has(kReversed);
        c.has_log_scale = has(kLearnedLogScale);
        read_type();
        if (!source_.is_scaled) rope_type_ = "default";
        by_ = "rope_type " + rope_type_;
        c.base = read_theta();
        read_rotary_dim(c);
        read_schedule(c);
        read_sections(c);
        read_temperature();
        for (const std::string& key : source_.is_scaled ? params_.unread() : std::vector<std::string>()) {
            if (key == "max_position_embeddings") continue;  // files that transformers writes back repeat it
            warn(params_.unread_sentence(key));
            // Parameters of an unknown kind of layers.
            if (!source_.is_entry && params_.is_object(key))
                fail("{} is an object; only kinds of layers may be, such as full_attention.",
                     {params_.path_of(in_path(key))});
        }
        if (ok()) check_result(c);
        return c;
    }

 private:
    /// Reports errors of check(config) in terms of the file's keys.
    ROPE_COLD void check_result(const Config& c) {
        const Index rotated = rotary_dim(c);
        if (rotated < 2 || rotated % 2 != 0 || rotated > c.head_dim)
            return fail("{}, so that {} features would turn; it must be an even number from 2 to head_dim ({}).",
                        {rotary_dim_is_, rotated, c.head_dim});
        Frequencies f;
        const CheckResult s = make_frequencies(c, 0, f);
        if (s.ok() || f.lacks_log_scale) return;
        const std::string argument(s.argument()), key = argument.substr(argument.find('.') + 1);
        const std::string said = key == "original_max_position_embeddings" ? original_length_is_
                                 : argument == "base"                      ? theta_is_
                                 : params_.has(key)                        ? params_.path_of(key)
                                                                           : "";
        if (!said.empty()) fail(in_words_of_the_file(s, said));
        fail("{} is \"{}\": {}", {params_.path_of_first(kRopeTypeKeys), rope_type_, s.message()});
    }

    /// Files may use both keys.
    ROPE_COLD void read_type() {
        const auto type = params_.text(kRopeTypeKeys);
        rope_type_ = type.value_or("default");
        const Value* const other = params_.lookup("type");
        if (rope_type_ == "default" && other != nullptr && other->text == "mrope") {  // they mean the same
            params_.find("type");
            rope_type_ = "mrope";
        }
        for (const char* key :
             {"factor", "alpha", "short_factor", "long_factor", "low_freq_factor", "high_freq_factor"})
            params_.demand(type || !params_.says(key), "rope_type", key);
    }
    ROPE_COLD double read_theta() {
        const char* const key = source_.theta_key;
        const bool is_usual = std::string(key) == "rope_theta";
        theta_is_ = top_.path_of(key);
        if (source_.own_theta) return *source_.own_theta;
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
        if ((has(kBaseInAttnConfig) || !file_.type_is_known) && attn_config.says("rope_theta")) {
            theta_is_ = attn_config.path_of("rope_theta");
            warn("{} was used, as the model's authors and most engines do; transformers takes 10000.", {theta_is_});
            return attn_config.number({"rope_theta"}, kAnyBase).value_or(1.0);
        }
        // ChatGLM gives its base as a multiple of the usual one.
        const auto ratio = top_.number({"rope_ratio"}, kAnyFactor);
        if (ratio && *ratio != 1.0 && (has(kFixedTheta) || !file_.type_is_known))
            warn(
                "{} multiplied the base, which is what it means in ChatGLM3 and GLM-4; in ChatGLM2 it divides "
                "positions, and the file does not tell them apart.",
                {top_.path_of("rope_ratio")});
        if (!ratio && !has(kFixedTheta)) warn_of_default(is_usual ? "rope_theta" : key, shown(source_.theta));
        return source_.theta * ratio.value_or(1.0);
    }
    ROPE_COLD void warn_of_default(const char* key, const Word& value) {
        Fields& fields = source_.is_entry ? params_ : top_;
        fields.warn_of_default(key, value, file_.type_is_known ? default_of_type() : "which most models have");
    }

    /// The rotated part of a head, if a key gives it that the model's code reads.
    ROPE_COLD std::optional<double> read_part() {
        auto part = params_.number({"partial_rotary_factor"}, kAnyFraction);
        part_is_ = params_.path_of("partial_rotary_factor");
        if (part)
            for (const char* outer : kPartKeys) top_.beat(outer, *params_.find("partial_rotary_factor"), part_is_);
        if (source_.own_partial) {
            part = source_.own_partial;
            part_is_ = top_.path_of("partial_rotary_factors");
        } else if (!part) {
            part = top_.number(kPartKeys, kAnyFraction);
            part_is_ = top_.path_of_first(kPartKeys);
        }
        const bool reads_it = !file_.type_is_known || has(kReadsPartial) || type_.partial != 1.0 ||
                              type_.rotary_dim != 0 || rope_type_ != "default" || heads_.is_latent;
        if (reads_it || part.value_or(1.0) == 1.0) return part;
        warn("{} was not used: the code of model_type {} rotates whole heads.", {part_is_, model_.model_type});
        return std::nullopt;
    }
    /// The number of rotated features: a part of the head, or a count.
    ROPE_COLD void read_rotary_dim(Config& c) {
        const std::optional<double> part = read_part();
        rotary_dim_is_ = sentence_of("{} is {}", {heads_.head_dim_is, c.head_dim});
        // qk_rope_head_dim has counted the rotated features: a factor is one of the whole head.
        if (heads_.is_latent) return;
        partial_ = part.value_or(1.0);
        if (rope_type_ == "proportional") return;
        const auto part_of_head = [&](double x) { return static_cast<Index>(static_cast<double>(c.head_dim) * x); };
        std::optional<Index> count = top_.count({"rotary_dim"});
        if (heads_.rotary_dim != 0) count = heads_.rotary_dim;
        const std::string count_is = top_.path_of(heads_.rotary_dim != 0 ? "qk_rope_head_dim" : "rotary_dim");
        if (count && part && *count != part_of_head(*part))
            warn("{} was not used: {} is there, too.", {count_is, part_is_});
        const double factor = part.value_or(type_.partial);
        if (!part && (count || type_.rotary_dim != 0)) {
            c.rotary_dim = count.value_or(type_.rotary_dim);
            if (!count) warn_of_default("rotary_dim", c.rotary_dim);
            rotary_dim_is_ = sentence_of("{} is {}", {count_is, c.rotary_dim});
        } else if (factor != 1.0) {
            if (!part && !has(kFixedTheta)) warn_of_default("partial_rotary_factor", shown(factor));
            c.rotary_dim = part_of_head(factor);
            rotary_dim_is_ = part_is_ + " is " + shown(factor);
            if (c.rotary_dim == 0)  // 0 means the whole head to a Config
                fail("{}, so that none of head_dim ({}) features would turn; at least two must.",
                     {rotary_dim_is_, c.head_dim});
        }
        if (has(kTrailingSlice)) c.rotary_offset = c.head_dim - rotary_dim(c);
    }

    ROPE_COLD double required(const char* key, const NumberRange& range = kAnyFactor) {
        return params_.needed(params_.number({key}, range), key, by_);
    }
    ROPE_COLD std::vector<double> required_list(const char* key) {
        const auto given = params_.numbers(key, {0x1p-32, 1e300, "a number from 2^-32 to 1e300"});
        params_.demand(given.is_there, key, by_);
        return given.list;
    }
    ROPE_COLD void require_max_position(std::string_view by) {
        top_.demand(model_.max_position_embeddings != 0, "max_position_embeddings", by);
    }
    /// `by` is the part of the file that needs it.
    ROPE_COLD Index original_length(std::string_view by, bool is_required = false) {
        const char* const key = "original_max_position_embeddings";
        const auto outer = top_.count({key}), inner = params_.count({key});
        has_original_ = outer || inner;
        if (is_required) params_.demand(has_original_, key, by);
        original_length_is_ = outer   ? top_.path_of(key)
                              : inner ? params_.path_of(key)
                                      : top_.path_of("max_position_embeddings");
        if (outer && inner && *outer != *inner) params_.warn_not_used(key, original_length_is_ + " is there, too");
        if (has_original_) return outer ? *outer : *inner;
        require_max_position(by);
        if (model_.max_position_embeddings != 0)  // it serves as the original length
            params_.warn_of_default(key, model_.max_position_embeddings, "the " + original_length_is_);
        return model_.max_position_embeddings;
    }

    ROPE_COLD void read_schedule(Config& c) {
        if (rope_type_ == "default" || rope_type_ == "mrope") {
            // Nomic's own code: dynamic NTK beyond the length it was trained with.
            if (const auto factor = top_.number({"rotary_scaling_factor"}, {1.0, 0x1p32, "a number from 1 to 2^32"})) {
                const auto trained = top_.count({"max_trained_positions"});
                if (!trained) require_max_position("rotary_scaling_factor");
                c.schedule = schedule::DynamicNtk{*factor, trained.value_or(model_.max_position_embeddings)};
            }
        } else if (rope_type_ == "linear") {
            c.interpolation_factor = required("factor");
        } else if (rope_type_ == "ntk") {
            c.schedule = schedule::Ntk{required("factor")};
        } else if (rope_type_ == "dynamic" || rope_type_ == "xdrope") {
            read_dynamic(c);
        } else if (rope_type_ == "yarn" || rope_type_ == "deepseek_yarn") {
            c.schedule = read_yarn();
        } else if (rope_type_ == "llama3") {
            c.schedule = schedule::Llama3{required("factor"), required("low_freq_factor"), required("high_freq_factor"),
                                          original_length(by_, true)};
        } else if (rope_type_ == "longrope" || rope_type_ == "su") {
            c.schedule = read_longrope();
        } else if (rope_type_ == "proportional") {
            c.schedule = schedule::Proportional{partial_, params_.number({"factor"}, kAnyFactor).value_or(1.0)};
        } else if (rope_type_ == "axial") {
            c.schedule = schedule::Axial();
        } else {
            params_.refuse(params_.path_of_first(kRopeTypeKeys), shown(rope_type_),
                           "one of default, linear, dynamic, ntk, yarn, deepseek_yarn, longrope, su, llama3, "
                           "proportional, axial, mrope, xdrope");
        }
    }
    ROPE_COLD void read_dynamic(Config& c) {
        if (const auto alpha = params_.number({"alpha"}, kAnyFactor)) {  // HunYuan: NTK-aware at any length
            // Beside it stand relics of YaRN and of dynamic NTK, which HunYuan's code does not read.
            for (const char* key : {"factor", "beta_fast", "beta_slow", "mscale", "mscale_all_dim"})
                params_.number({key}, kAnyNumber);
            c.schedule = schedule::Ntk{*alpha};
        } else if (rope_type_ == "xdrope") {
            params_.demand(false, "alpha", by_);
        } else {
            const double factor = required("factor", {1.0, 0x1p32, "a number from 1 to 2^32"});
            // Not the original length: the published code grows from max_position_embeddings on.
            require_max_position(by_);
            const char* const key = "original_max_position_embeddings";
            if (params_.count({key}).value_or(model_.max_position_embeddings) != model_.max_position_embeddings)
                params_.warn_not_used(key, "rope_type dynamic grows from max_position_embeddings on");
            c.schedule = schedule::DynamicNtk{factor, model_.max_position_embeddings};
        }
    }
    ROPE_COLD schedule::Yarn read_yarn() {
        schedule::Yarn y;
        y.original_max_position_embeddings = original_length(by_);
        y.max_position_embeddings = model_.max_position_embeddings;
        y.factor = params_.number({"factor"}, kAnyFactor);
        // It may be null where two lengths can give it.
        params_.demand(y.factor || (params_.has("factor") && has_original_), "factor", by_);
        if (!y.factor) require_max_position(by_ + " without a factor");
        y.beta_fast = params_.number({"beta_fast"}, kAnyFactor).value_or(y.beta_fast);
        y.beta_slow = params_.number({"beta_slow"}, kAnyFactor).value_or(y.beta_slow);
        y.truncate = params_.truth({"truncate"}).value_or(true);
        y.extrapolation_factor = params_.number({"extrapolation_factor"}, kAnyPart).value_or(1.0);
        y.attention_factor = params_.number({"attention_factor"}, kAnyFactor);
        y.mscale = params_.number({"mscale"}, kAnyNumber);
        y.mscale_all_dim = params_.number({"mscale_all_dim"}, kAnyNumber);
        y.attn_factor = params_.number({"attn_factor"}, kAnyFactor).value_or(1.0);
        if (y.attn_factor != 1.0)
            warn("{} multiplies the magnitude, as the model's authors mean it; transformers leaves it out.",
                 {params_.path_of("attn_factor")});
        y.log_coefficient = type_.log_coefficient;
        const bool deepseek =
            rope_type_ == "deepseek_yarn" || has(kDeepSeekYarn) || (heads_.is_latent && !file_.type_is_known);
        const bool is_plain = !params_.truth({"apply_yarn_scaling"}).value_or(true) || has(kYarnWithoutMagnitude);
        y.magnitude = is_plain   ? schedule::YarnMagnitude::none
                      : deepseek ? schedule::YarnMagnitude::deepseek
                                 : schedule::YarnMagnitude::standard;
        if (deepseek && y.mscale_all_dim && ok()) model_.softmax_scale_factor = yarn_softmax_factor(y);
        return y;
    }
    ROPE_COLD schedule::LongRope read_longrope() {
        schedule::LongRope s;
        s.short_factor = required_list("short_factor");
        s.long_factor = required_list("long_factor");
        s.original_max_position_embeddings = original_length(by_);
        s.max_position_embeddings = model_.max_position_embeddings;
        s.factor = params_.number({"factor"}, kAnyFactor);
        s.attention_factor = params_.number({"attention_factor"}, kAnyFactor);
        s.short_mscale = params_.number({"short_mscale"}, kAnyFactor);
        s.long_mscale = params_.number({"long_mscale"}, kAnyFactor);
        const bool has_magnitude = s.attention_factor || (s.short_mscale && s.long_mscale);
        if (!s.factor && !has_magnitude) require_max_position(by_ + " without a factor");
        return s;
    }

    /// The model's code decides how axes share the pairs; a flag in the file counts where the code is not known.
    ROPE_COLD void read_sections(const Config& c) {
        const char* const key = params_.has("xdrope_section") ? "xdrope_section" : "mrope_section";
        const auto sections = params_.counts(key, kAnyCountOrNone);
        const auto flag = params_.truth({"mrope_interleaved", "interleaved"});
        Mrope kind = type_.mrope;
        if (kind == Mrope::none) kind = flag.value_or(false) ? Mrope::interleaved : Mrope::chunked;
        if (type_.mrope != Mrope::none && flag && *flag != (kind == Mrope::interleaved))
            params_.warn_not_used(params_.says("mrope_interleaved") ? "mrope_interleaved" : "interleaved",
                                  "the code of model_type " + model_.model_type + " decides it by itself");
        if (!ok()) return;
        const Index pairs = rotary_dim(c) / 2;
        if (sections) return set_axes(model_, kind, sections.list, pairs, params_.path_of(key), diagnostics_);
        if (type_.sections[0] == 0) return params_.demand(rope_type_ != "mrope", "mrope_section", by_);
        std::vector<Index> own(std::begin(type_.sections), std::end(type_.sections));
        if (kind == Mrope::interleaved) {  // an axis has every third pair: no more than there are of these
            own[2] = (std::min)(own[2], pairs / 3);
            own[1] = (std::min)(own[1], (pairs + 1) / 3);
            own[0] = pairs - own[1] - own[2];
        }
        const std::string lack = params_.lack_of(key);
        if (!fits(kind, own, pairs))
            return warn("{}; that of model_type {} is not for {} pairs, so positions of several axes are not known.",
                        {lack, model_.model_type, pairs});
        warn("{}; that of model_type {} was taken, [{}, {}, {}].", {lack, model_.model_type, own[0], own[1], own[2]});
        set_axes(model_, kind, own, pairs, params_.path_of(key), diagnostics_);
    }
    ROPE_COLD void read_temperature() {
        const auto beta = params_.number({"llama_4_scaling_beta"}, kAnyNumber);
        if (!beta) return;
        const Index period = original_length("llama_4_scaling_beta");
        model_.attention_temperature = {*beta, static_cast<double>(period), 0, true, false};
    }

    const HfSource& source_;
    const HfHeads& heads_;
    JsonFields params_;
    std::string rope_type_, by_;  ///< by_: the part of the file that needs a key, for errors
    double partial_ = 1.0;
    bool has_original_ = false;
    // The places in the file where these were found, for errors.
    std::string theta_is_, part_is_, rotary_dim_is_, original_length_is_;
};

ROPE_DETAIL_END
