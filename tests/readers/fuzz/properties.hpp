// SPDX-License-Identifier: MIT
// What must hold of whatever a reader makes, and of every sentence that it says.
#pragma once

#include <rope/core.hpp>
#include <rope/model_config.hpp>

#include <cmath>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <vector>

namespace fuzz {

inline void require(bool holds, const char* what, const std::string& shown = "") {
    if (holds) return;
    std::fprintf(stderr, "This does not hold: %s %s\n", what, shown.c_str());
    std::abort();
}

/// Something before its verb, a full stop at its end, and nothing that a terminal would not show.
inline void check_sentence(const std::string& text) {
    require(text.size() > 10 && text.back() == '.', "a message is a sentence:", text);
    for (const char c : text) require(c >= ' ' && c <= '~', "a message can be printed:", text);
}

/// Of some pairs: more would only take long.
inline void check_frequencies(const rope::Config& config, rope::Index& pairs_left) {
    const rope::Index d = config.rotary_dim != 0 ? config.rotary_dim : config.head_dim;
    if (d / 2 > pairs_left) return;
    pairs_left -= d / 2;
    for (const rope::Index seq_len : {rope::Index(0), rope::Index(4097), rope::Index(1) << 30}) {
        try {
            rope::Frequencies f = rope::frequencies(config, seq_len);
            require(f.lacks_log_scale == config.has_log_scale, "what the weights hold is missing");
            f.lacks_log_scale = false;
            require(rope::check(f).ok(), "frequencies can be used:", rope::check(f).message());
            require(f.inv_freq.size() == static_cast<std::size_t>(d / 2), "there is one frequency per pair");
        } catch (const std::invalid_argument& e) {
            check_sentence(e.what());  // one that is too large, or a magnitude
        }
    }
}

inline void check_model(const rope::ModelConfig& model) {
    require(rope::check(model).ok(), "the model can be used:", rope::check(model).message());
    require(model.layers() >= 1 && model.layers() <= 65536, "there are layers");
    std::vector<bool> used(model.configs.size(), false);
    for (rope::Index i = 0; i < model.layers(); ++i) {
        const rope::HeadCounts& heads = model.heads[static_cast<std::size_t>(i)];
        const bool attends = model.layer_types[static_cast<std::size_t>(i)] != rope::LayerType::no_attention;
        require(attends || model.layer(i) == nullptr, "only layers that attend are rotated");
        require(attends == (heads.q > 0) && attends == (heads.k > 0) && attends == (heads.v > 0),
                "layers that attend have heads");
        if (const rope::Index c = model.config_of_layer[static_cast<std::size_t>(i)]; c >= 0)
            used[static_cast<std::size_t>(c)] = true;
    }
    for (const bool is_used : used) require(is_used, "every rotary embedding has a layer");
    rope::Index pairs_left = 4096;
    for (const rope::Config& config : model.configs) check_frequencies(config, pairs_left);
    require(model.steps.empty() || model.steps.size() == model.heads.size(), "steps are said of all layers or of none");
    for (std::size_t i = 0; i < model.steps.size(); ++i) {
        const rope::HeadSteps& s = model.steps[i];
        require(s.keys_of_layer >= -1 && s.keys_of_layer <= static_cast<rope::Index>(i),
                "keys come from a layer before, or from another model");
        require(std::isfinite(s.softmax_scale), "the softmax has a scale");
        for (const auto* steps : {&s.q, &s.k, &s.v, &s.output})
            for (const rope::HeadStep& step : *steps)
                require(std::isfinite(step.number) && std::isfinite(step.norm.eps), "a step's number is one");
    }
    require(std::isfinite(model.softmax_scale_factor), "the softmax has a factor");
    for (const rope::Index p : {rope::Index(0), rope::Index(1) << 31})
        require(std::isfinite(model.attention_temperature.at(p)), "the temperature is a number");

    for (std::size_t i = 0; i < model.warnings.size(); ++i) {
        check_sentence(model.warnings[i]);
        for (std::size_t j = 0; j < i && i < 100; ++j)
            require(model.warnings[i] != model.warnings[j], "a warning comes once:", model.warnings[i]);
    }
}

}  // namespace fuzz
