// SPDX-License-Identifier: MIT
// The files of tests/models, read or changed in one place and then read.
#pragma once

#include <rope/core.hpp>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <vector>

#include "hf_models.hpp"
#include "mpfr.hpp"
#include "read_hf_config.hpp"
#include "refusal.hpp"
#include "schedules.hpp"

namespace support {

using Json = nlohmann::json;

inline Json file(const std::string& name) { return Json::parse(model_text(name)); }
inline rope::ModelConfig read(const Json& j) { return support::read_hf_config(j.dump()); }
inline rope::ModelConfig published(const std::string& name) { return support::read_hf_config(model_text(name)); }
inline std::string refused(const Json& j) {
    return refusal([&] { (void)read(j); }).message;
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
