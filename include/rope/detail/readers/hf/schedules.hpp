// SPDX-License-Identifier: MIT
// The schedule of one rotary embedding from a Hugging Face configuration: a word, rope_type, and the keys that it has.
#pragma once

#include <initializer_list>
#include <optional>
#include <string>
#include <vector>

#include "../../angles/schedules.hpp"
#include "layers.hpp"
#include "rope_types.hpp"

ROPE_DETAIL_BEGIN

/// The source of the numbers of one kind of layers.
struct HfSource {
    const Value* params = nullptr;  ///< rope_parameters, one of their entries, or rope_scaling; they may be missing
    std::string path = {};          ///< of params
    const char* theta_key = "rope_theta";                    ///< the key for the base beside them
    double theta = 10000.0;                                  ///< if there is no base
    bool is_scaled = true;                                   ///< false: rope_type counts as default
    bool is_entry = false;                                   ///< params is the entry of one kind of layers
    bool is_params_json = false;                             ///< params is the "yarn" of Mistral's params.json
    std::optional<double> own_theta = {}, own_partial = {};  ///< from lists with one entry per layer
    bool is_first = true;  ///< no other source with these params and this is_scaled was read before

    /// Layers with the same text, which is made for each layer and never shown, have the same Config. (For a kind of
    /// layers a file has one key for the base, always in the same place.)
    ROPE_COLD std::string text(const HfHeads& heads) const {
        const auto bits = [](std::optional<double> x) { return bit_cast<Index>(x.value_or(0.0)); };
        return bytes_of({reinterpret_cast<Index>(params), Index(is_scaled), reinterpret_cast<Index>(theta_key),
                         bits(own_theta), bits(own_partial), heads.head_dim, Index(heads.is_linear)});
    }
    ROPE_COLD std::string text_of_params() const {
        return bytes_of({reinterpret_cast<Index>(params), Index(is_scaled)});
    }
    ROPE_COLD static std::string bytes_of(std::initializer_list<Index> numbers) {
        return std::string(reinterpret_cast<const char*>(numbers.begin()), numbers.size() * sizeof(Index));
    }
};

/// Reads the keys of rope_type.
class HfSchedules : protected HfPart {
 public:
    ROPE_COLD HfSchedules(HfFile& file, const HfSource& source, const HfHeads& heads)
        : HfPart(file), source_(source), heads_(heads), params_(source.params, source.path, diagnostics_) {}

 protected:
    /// Sets the schedule by known_.
    ROPE_COLD void read_schedule(Config& c) {
        if (known_ == nullptr)
            return params_.refuse(params_.path_of_first(kRopeTypeKeys), shown(rope_type_),
                                  "one of " + names_of_rope_types());
        switch (known_->formula) {
            case RopeFormula::usual: return read_usual(c);
            case RopeFormula::linear: c.interpolation_factor = required("factor"); return;
            case RopeFormula::ntk: return read_ntk(c);
            case RopeFormula::dynamic:
            case RopeFormula::alpha: return read_dynamic(c);
            case RopeFormula::yarn:
            case RopeFormula::deepseek_yarn: c.schedule = read_yarn(); return;
            case RopeFormula::llama3:
                c.schedule = schedule::Llama3{required("factor"), required("low_freq_factor"),
                                              required("high_freq_factor"), original_length(by_, true)};
                return;
            case RopeFormula::longrope: c.schedule = read_longrope(); return;
            case RopeFormula::proportional:
                c.schedule = schedule::Proportional{partial_, params_.number({"factor"}, kAnyFactor).value_or(1.0)};
                return;
            case RopeFormula::axial: c.schedule = schedule::Axial(); return;
        }
    }
    /// Files that scale nothing, or say so beside rope_scaling.
    ROPE_COLD void read_usual(Config& c) {
        // Nomic's own code: dynamic NTK beyond the length it was trained with.
        if (const auto factor = top_.number({"rotary_scaling_factor"}, {1.0, 0x1p32, "a number from 1 to 2^32"})) {
            const auto trained = top_.count({"max_trained_positions"});
            if (!trained) require_max_position("rotary_scaling_factor");
            c.schedule = schedule::DynamicNtk{*factor, trained.value_or(model_.max_position_embeddings)};
        }
        // Llama's own files (params.json) have Llama 3.1's schedule without its numbers.
        if (!has(kReadsParamsJson)) return;
        if (!top_.truth({"use_scaled_rope"}).value_or(false)) {
            for (const char* key : {"rope_scaling_factor", "rope_high_freq_factor", "high_freq_factor"})
                if (top_.says(key)) top_.warn_not_used(key, top_.path_of("use_scaled_rope") + " is not true");
            return;
        }
        schedule::Llama3 s;
        if (has(kLlama4)) s.factor = 16.0, s.high_freq_factor = 1.0;
        const auto factor = top_.number({"rope_scaling_factor"}, kAnyFactor);
        if (!factor)
            top_.warn_of_default("rope_scaling_factor", shown(s.factor),
                                 has(kLlama4) ? "which Llama 4's code takes" : "which Llama 3.1 has; Llama 3.2 has 32");
        s.factor = factor.value_or(s.factor);
        const auto high = top_.number({"rope_high_freq_factor", "high_freq_factor"}, kAnyFactor);
        s.high_freq_factor = high.value_or(s.high_freq_factor);
        c.schedule = s;
    }
    ROPE_COLD void read_ntk(Config& c) {
        const double factor = required("factor");
        auto mixed_b = params_.number({"mixed_b"}, kAnyFactor);
        if (has(kMixedNtk)) mixed_b = mixed_b.value_or(1.0);
        if (!mixed_b)
            warn(
                "{} is \"ntk\", and the base was multiplied by factor to the power of d / (d - 2); GTE's models mean "
                "another formula by the word, schedule::Ntk with mixed_b 1.",
                {params_.path_of_first(kRopeTypeKeys)});
        c.schedule = schedule::Ntk{factor, mixed_b};
    }
    ROPE_COLD void read_dynamic(Config& c) {
        if (const auto alpha = params_.number({"alpha"}, kAnyFactor)) {  // HunYuan: NTK-aware at any length
            // Beside it stand relics of YaRN and of dynamic NTK, which HunYuan's code does not read.
            for (const char* key : {"factor", "beta_fast", "beta_slow", "mscale", "mscale_all_dim"})
                params_.number({key}, kAnyNumber);
            c.schedule = schedule::Ntk{*alpha};
        } else if (known_->formula == RopeFormula::alpha) {
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
        const bool is_mistral = source_.is_params_json;
        y.beta_fast =
            params_.number({is_mistral ? "beta" : "beta_fast", "beta_fast"}, kAnyFactor).value_or(y.beta_fast);
        y.beta_slow =
            params_.number({is_mistral ? "alpha" : "beta_slow", "beta_slow"}, kAnyFactor).value_or(y.beta_slow);
        y.truncate = params_.truth({"truncate"}).value_or(true);
        y.extrapolation_factor = params_.number({"extrapolation_factor"}, kAnyPart).value_or(1.0);
        y.attention_factor = params_.number({"attention_factor"}, kAnyFactor);
        y.mscale = params_.number({"mscale"}, kAnyNumber);
        y.mscale_all_dim = params_.number({"mscale_all_dim"}, kAnyNumber);
        y.attn_factor = params_.number({"attn_factor"}, kAnyFactor).value_or(1.0);
        if (y.attn_factor != 1.0)
            warn("{} multiplies the magnitude, as the model's authors mean it; transformers leaves it out.",
                 {params_.path_of("attn_factor")});
        y.log_coefficient = known_->log_coefficient != 0.0 ? known_->log_coefficient : type_.log_coefficient;
        const bool deepseek = known_->formula == RopeFormula::deepseek_yarn || has(kDeepSeekYarn) ||
                              (heads_.is_latent && (is_mistral || !file_.type_is_known));
        const bool is_plain = !params_.truth({is_mistral ? "apply_scale" : "apply_yarn_scaling"}).value_or(true) ||
                              has(kYarnWithoutMagnitude);
        if (is_mistral && deepseek && !is_plain) y.mscale_all_dim = 1.0;
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

    const HfSource& source_;
    const HfHeads& heads_;
    JsonFields params_;
    std::string rope_type_, by_;       ///< by_: the part of the file that needs a key, for errors
    const RopeType* known_ = nullptr;  ///< null: the word is not known
    double partial_ = 1.0;             ///< the rotated part of the head, for "proportional"
    std::string original_length_is_;   ///< the place in the file where it was found, for errors

 private:
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
    bool has_original_ = false;
};

ROPE_DETAIL_END
