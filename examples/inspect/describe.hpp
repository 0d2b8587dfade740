// SPDX-License-Identifier: MIT
// A rotary embedding in words and numbers.
#pragma once

#include <rope/rope.hpp>

#include <string>
#include <vector>

namespace inspect {

/// The parameters of a schedule, as "factor 8, low_freq_factor 1, ..."; those that have their default value, too.
std::string parameters(const rope::Schedule& schedule);

/// The layers of a model that have rotary embedding `config`, as "0-3, 5".
std::string layers_with(const rope::ModelConfig& model, rope::Index config);

/// The steps on q, k and v other than the rotation: one line of text for all layers that have the same.
std::string steps(const rope::ModelConfig& model);

/// How many positions each pair takes for one turn; infinity for a pair that does not turn.
std::vector<double> wavelengths(const rope::Frequencies& frequencies);

/// One rotary embedding: before is without its schedule and interpolation, after with them.
struct Spectrum {
    rope::Config config;
    rope::Frequencies frequencies;
    std::vector<double> before, after;
};
Spectrum spectrum(const rope::Config& config, rope::Index seq_len);

/// What a person wants to know of it, as lines of text.
std::string describe(const Spectrum& s, rope::Index positions);

}  // namespace inspect
