// SPDX-License-Identifier: MIT
// One rotary embedding from a Hugging Face configuration: rope_parameters or rope_scaling, completed by other keys of
// the model.
#pragma once

#include <algorithm>
#include <iterator>
#include <optional>
#include <string>
#include <vector>

#include "../../angles/check_frequencies.hpp"
#include "schedules.hpp"

ROPE_DETAIL_BEGIN

/// Reads one rotary embedding, and facts about the whole model from its keys.
class HfRotary : HfSchedules {
 public:
    using HfSchedules::HfSchedules;

    ROPE_COLD Config read() {
        Config c;
        c.head_dim = heads_.head_dim;
        c.layout = heads_.is_linear && !file_.layout_is_given ? Layout::half_split : file_.layout;
        c.is_reversed = has(kReversed);
        c.has_log_scale = has(kLearnedLogScale);
        read_type();
        if (!source_.is_scaled) rope_type_ = "default";
        known_ = find_rope_type(rope_type_);
        by_ = "rope_type " + rope_type_;
        c.base = read_theta();
        read_rotary_dim(c);
        read_schedule(c);
        read_sections(c);
        read_temperature();
        // Sources that differ in numbers of their layers leave the same keys unread.
        const bool warns = source_.is_scaled && source_.is_first;
        for (const std::string_view key : warns ? params_.unread() : std::vector<std::string_view>()) {
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
        if (rotated < 2 || rotated % 2 != 0 || rotated > c.head_dim) {
            if (rotary_dim_is_.empty()) rotary_dim_is_ = sentence_of("{} is {}", {head_dim_is(), c.head_dim});
            return fail("{}, so that {} features would rotate; it must be an even number from 2 to head_dim ({}).",
                        {rotary_dim_is_, rotated, c.head_dim});
        }
        const CheckResult s = check_frequencies(c);
        if (s.ok()) return;
        const std::string argument(s.argument()), key = argument.substr(argument.find('.') + 1);
        const std::string said = key == "original_max_position_embeddings" ? original_length_is_
                                 : argument == "base"                      ? theta_is_
                                 : params_.has(key)                        ? params_.path_of(key)
                                                                           : "";
        if (!said.empty()) fail(in_words_of_the_file(s, said));
        fail("{} is \"{}\": {}", {params_.path_of_first(kRopeTypeKeys), rope_type_, s.message()});
    }

    ROPE_COLD std::string head_dim_is() const {
        if (heads_.head_dim_key != nullptr) return heads_.head_dim_in->path_of(heads_.head_dim_key);
        return top_.path_of_first(kHiddenKeys) + " / " + top_.path_of_first(kQueryKeys);
    }

    /// Files may use both keys.
    ROPE_COLD void read_type() {
        auto type = params_.text(kRopeTypeKeys);
        if (source_.is_params_json) type = "yarn";
        rope_type_ = type.value_or("default");
        if (has(kRopeTypeBeside))
            if (const auto beside = top_.text({"rope_type"}); beside && *beside != "original")
                top_.refuse(top_.path_of("rope_type"), shown(*beside), "\"original\", with which nothing is scaled");
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
        const Keys keys = {key, is_usual ? "rotary_emb_base" : key, is_usual ? "rotary_embedding_base" : key};
        JsonFields& attn_config = top_.inside("attn_config");  // DBRX
        if (source_.own_theta) {
            const char* const own = top_.is_list("layer_rope_theta") ? "layer_rope_theta" : "rope_theta";
            const Value& list = *top_.find(own);
            theta_is_ = top_.path_of(own);
            for (const char* single : keys)
                if (!top_.is_list(single)) top_.beat(single, list, theta_is_);
            if (source_.is_first) params_.beat("rope_theta", list, theta_is_);  // its warnings are those of the first
            return *source_.own_theta;
        }
        if (params_.says("rope_theta")) {
            theta_is_ = params_.path_of("rope_theta");
            for (const char* outer : keys) top_.beat(outer, *params_.find("rope_theta"), theta_is_);
            attn_config.beat("rope_theta", *params_.find("rope_theta"), theta_is_);
            return params_.number({"rope_theta"}, kAnyBase).value_or(1.0);
        }
        theta_is_ = top_.path_of_first(keys);
        if (const auto outer = top_.number(keys, kAnyBase)) {
            attn_config.beat("rope_theta", *top_.first(keys).value, theta_is_);
            return *outer;
        }
        if ((has(kBaseInAttnConfig) || !file_.type_is_known) && attn_config.says("rope_theta")) {
            theta_is_ = attn_config.path_of("rope_theta");
            warn("{} was used, as the model's authors and most engines do; transformers takes 10000.", {theta_is_});
            return attn_config.number({"rope_theta"}, kAnyBase).value_or(1.0);
        }
        // ChatGLM gives its base as a multiple of the usual one.
        const auto ratio = top_.number({"rope_ratio"}, kAnyFactor);
        if (ratio && *ratio != 1.0)
            warn(
                "{} multiplied the base, which is right for ChatGLM3 and GLM-4. If the model is a ChatGLM2, set the "
                "base to 10000 and interpolation_factor to {}: there it divides positions.",
                {top_.path_of("rope_ratio"), shown(*ratio)});
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
            const Value& list = *top_.find("partial_rotary_factors");
            if (source_.is_first) params_.beat("partial_rotary_factor", list, part_is_);
            for (const char* single : kPartKeys) top_.beat(single, list, part_is_);
        } else if (!part) {
            part = top_.number(kPartKeys, kAnyFraction);
            part_is_ = top_.path_of_first(kPartKeys);
        }
        if (reads_part() || part.value_or(1.0) == 1.0) return part;
        warn_not_read(part_is_);
        return std::nullopt;
    }
    ROPE_COLD bool reads_part() const {
        return !file_.type_is_known || has(kReadsPartial) || type_.partial != 1.0 || type_.rotary_dim != 0 ||
               rope_type_ != "default" || heads_.is_latent;
    }
    ROPE_COLD void warn_not_read(const std::string& path) {
        warn("{} was not used: the code of {} rotates whole heads.", {path, named()});
    }
    /// The number of rotated features: a part of the head, or a count.
    ROPE_COLD void read_rotary_dim(Config& c) {
        const std::optional<double> part = read_part();
        // qk_rope_head_dim has counted the rotated features: a factor is one of the whole head.
        if (heads_.is_latent) return;
        partial_ = part.value_or(1.0);
        if (rope_type_ == "proportional") return;
        const auto part_of_head = [&](double x) { return static_cast<Index>(static_cast<double>(c.head_dim) * x); };
        Index count = top_.count({"rotary_dim"}).value_or(0);  // 0: there is none
        if (heads_.rotary_dim != 0) count = heads_.rotary_dim;
        const char* const count_key = heads_.rotary_dim != 0 ? "qk_rope_head_dim" : "rotary_dim";
        if (heads_.rotary_dim == 0 && count != 0 && count != c.head_dim && !reads_part()) {
            warn_not_read(top_.path_of(count_key));
            count = 0;
        }
        if (count != 0 && part && count != part_of_head(*part))
            warn("{} was not used: {} is there, too.", {top_.path_of(count_key), part_is_});
        const double factor = part.value_or(type_.partial);
        if (!part && (count != 0 || type_.rotary_dim != 0)) {
            c.rotary_dim = count != 0 ? count : type_.rotary_dim;
            if (count == 0) warn_of_default("rotary_dim", c.rotary_dim);
            rotary_dim_is_ = sentence_of("{} is {}", {top_.path_of(count_key), c.rotary_dim});
        } else if (factor != 1.0) {
            if (!part && !has(kFixedTheta)) warn_of_default("partial_rotary_factor", shown(factor));
            c.rotary_dim = part_of_head(factor);
            rotary_dim_is_ = part_is_ + " is " + shown(factor);
            if (c.rotary_dim == 0)  // 0 means the whole head to a Config
                fail("{}, so that none of head_dim ({}) features would rotate; at least two must.",
                     {rotary_dim_is_, c.head_dim});
        }
        if (has(kTrailingSlice)) c.rotary_offset = c.head_dim - rotary_dim(c);
    }

    /// A list with a number for each axis. (It is read again for every rotary embedding, so a long one is refused.)
    ROPE_COLD MaybeList<Index> few_counts(JsonFields& fields, const char* key) {
        const std::size_t size = fields.is_list(key) ? fields.lookup(key)->size : 0;
        if (size <= 16) return fields.counts(key, kAnyCountOrNone);
        fail("{} has {} entries; it must have one for each axis, at most 16.", {fields.path_of(key), size});
        return std::nullopt;
    }
    /// The model's code decides how axes share the pairs; a flag in the file counts where the code is not known.
    ROPE_COLD void read_sections(const Config& c) {
        const char* const key = params_.has("xdrope_section") ? "xdrope_section" : "mrope_section";
        auto sections = few_counts(params_, key);
        std::string sections_are = params_.path_of(key);
        for (JsonFields* const beside : {&top_, file_.outer}) {  // Ming
            if (beside == nullptr || !beside->says("mrope_section")) continue;
            auto list = few_counts(*beside, "mrope_section");
            if (sections && sections.list != list.list)
                beside->warn_not_used("mrope_section", sections_are + " is there, too");
            if (sections) continue;
            sections = std::move(list);
            sections_are = beside->path_of("mrope_section");
        }
        const auto flag = params_.truth({"mrope_interleaved", "interleaved"});
        const auto is_video = params_.truth({"video_rope"});
        const AxisScheme* scheme = known_ != nullptr && known_->axes != nullptr ? known_->axes : type_.mrope;
        if (scheme == nullptr && is_video.value_or(false)) scheme = &kTimeLastAxes;
        const bool is_decided = scheme != nullptr;
        if (!is_decided) scheme = flag.value_or(false) ? &kInterleavedAxes : &kChunkedAxes;
        if (is_decided && flag && *flag != scheme->is_interleaved)
            params_.warn_not_used(params_.says("mrope_interleaved") ? "mrope_interleaved" : "interleaved",
                                  "the code of " + named() + " decides it by itself");
        if (!is_decided && flag.value_or(false))
            warn(
                "{} is true, and t, h and w were taken alternately, as Qwen3-VL does. That is a guess for {}: other "
                "models alternate h and w before t, or apportion the pairs.",
                {params_.path_of(params_.says("mrope_interleaved") ? "mrope_interleaved" : "interleaved"), named()});
        if (!ok()) return;
        const Index pairs = rotary_dim(c) / 2;
        if (sections) return set_axes(model_, *scheme, sections.list, pairs, sections_are, diagnostics_);
        if (scheme == &kTimeLastAxes && is_decided && type_.sections[0] == 0) {
            warn("{}; that of Ming was taken, [8, 12, 12].", {params_.lack_of(key)});
            return set_axes(model_, *scheme, {8, 12, 12}, pairs, params_.path_of(key), diagnostics_);
        }
        const bool needs_sections = rope_type_ == "mrope" || (known_ != nullptr && known_->axes != nullptr);
        if (type_.sections[0] == 0) return params_.demand(!needs_sections, "mrope_section", by_);
        std::vector<Index> own(std::begin(type_.sections), std::end(type_.sections));
        if (scheme == &kInterleavedAxes) {  // an axis has every third pair: no more than there are of these
            own[2] = (std::min)(own[2], pairs / 3);
            own[1] = (std::min)(own[1], (pairs + 1) / 3);
            own[0] = pairs - own[1] - own[2];
        }
        const std::string lack = params_.lack_of(key);
        if (!fits(*scheme, own, pairs))
            return warn("{}; that of {} is not for {} pairs, so positions of several axes are not known.",
                        {lack, named(), pairs});
        warn("{}; that of {} was taken, [{}, {}, {}].", {lack, named(), own[0], own[1], own[2]});
        set_axes(model_, *scheme, own, pairs, params_.path_of(key), diagnostics_);
    }
    ROPE_COLD void read_temperature() {
        if (const Value* const of = has(kReadsParamsJson) ? top_.object("llama_4_scaling") : nullptr) {
            JsonFields scaling(of, top_.path_of("llama_4_scaling"), diagnostics_);
            const auto beta = scaling.number({"beta"}, kAnyNumber);
            const auto length = scaling.count({"original_max_position_embeddings"});
            scaling.demand(beta.has_value(), "beta", "llama_4_scaling");
            scaling.demand(length.has_value(), "original_max_position_embeddings", "llama_4_scaling");
            for (const std::string_view key : scaling.unread()) warn(scaling.unread_sentence(key));
            model_.attention_temperature = {beta.value_or(0.0), static_cast<double>(length.value_or(1)), 0, true,
                                            false};
        }
        const auto beta = params_.number({"llama_4_scaling_beta"}, kAnyNumber);
        if (!beta) return;
        const Index period = original_length("llama_4_scaling_beta");
        model_.attention_temperature = {*beta, static_cast<double>(period), 0, true, false};
    }

    // The places in the file where these were found, for errors; rotary_dim_is_: empty, the whole head rotates.
    std::string theta_is_, part_is_, rotary_dim_is_;
};

ROPE_DETAIL_END
