// SPDX-License-Identifier: MIT
// The files of tests/readers/models, read or changed in one place and then read.
#pragma once

#include <rope/core.hpp>
#include <rope/hf_config.hpp>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <vector>

#include "../exact/mpfr.hpp"
#include "../exact/schedules.hpp"
#include "../refusal.hpp"
#include "hf_models.hpp"

namespace support {

using Json = nlohmann::json;

inline Json file(const std::string& name) { return Json::parse(model_text(name)); }
inline rope::ModelConfig read(const Json& j) { return rope::read_hf_config(j.dump()); }
inline rope::ModelConfig published(const std::string& name) { return rope::read_hf_config(model_text(name)); }
inline std::string refused(const Json& j) {
    return refusal([&] { (void)read(j); }).message;
}

/// A model of four layers, and what it says otherwise.
inline Json config_of(const char* type, const Json& more = Json::object()) {
    Json j = {
        {"model_type", type},  {"num_hidden_layers", 4}, {"num_attention_heads", 8},        {"num_key_value_heads", 2},
        {"hidden_size", 1024}, {"rope_theta", 10000.0},  {"max_position_embeddings", 16384}};
    j.update(more);
    return j;
}
/// The same with any number of layers, which says that heads have 128 features.
inline Json config_of(const char* type, Index layers, const Json& more = Json::object()) {
    Json j = config_of(type, {{"num_hidden_layers", layers}, {"head_dim", 128}});
    j.update(more);
    return j;
}
inline Json without(Json j, const char* key) {
    j.erase(key);
    return j;
}
/// Gemma 4, with its rope_parameters.
inline Json gemma4(Index layers, const Json& more) {
    Json j = without(config_of("gemma4_text", layers, more), "rope_theta");
    j["rope_parameters"] = {
        {"full_attention", {{"rope_type", "proportional"}, {"rope_theta", 1e6}, {"partial_rotary_factor", 0.25}}},
        {"sliding_attention", {{"rope_type", "default"}, {"rope_theta", 1e4}}}};
    return j;
}

/// The only rotary embedding of a model.
inline rope::Config only(const rope::ModelConfig& model) {
    if (model.configs.size() != 1) throw std::logic_error("the model has more or less than one rotary embedding");
    return model.configs[0];
}
inline double magnitude(const Json& j, Index seq_len = 0) {
    return rope::frequencies(only(read(j)), seq_len).attention_factor;
}
inline bool is_close(double value, const Real& exact) { return abs(Real(value) - exact) <= abs(exact) * Real(1e-15); }

/// Whether the frequencies of `got` are those of `expected`, by the formula.
inline bool has_frequencies_of(const rope::Config& got, const rope::Config& expected, Index seq_len = 0) {
    const std::vector<double> w = rope::frequencies(got, seq_len).inv_freq;
    const std::vector<Real> exact = real_frequencies(expected, seq_len).inv_freq;
    if (w.size() != exact.size()) return false;
    for (std::size_t i = 0; i < w.size(); ++i)
        if (!is_close(w[i], exact[i])) return false;
    return true;
}

inline bool warns_of(const rope::ModelConfig& model, const std::string& words) {
    return std::any_of(model.warnings.begin(), model.warnings.end(),
                       [&](const std::string& warning) { return warning.find(words) != std::string::npos; });
}

}  // namespace support
