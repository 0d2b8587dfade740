// SPDX-License-Identifier: MIT
// Comparisons: several encodings, each trained from the same first weights on the same batches.
#pragma once

#include <string>

#include "settings.hpp"
#include "text.hpp"

namespace train {

/// Trains rotary embedding, trained frequencies, T5's bias, learned positions, sinusoidal and none, with the seeds
/// 1 .. `seeds`. Local attention is without trained frequencies and learned positions; linear attention without trained
/// frequencies and T5's bias, and with rotary embedding also after the features. Prints the validation losses, their spread, the differences from
/// rotary embedding over the same windows, and the step at which rotary embedding has the others' last loss. With a
/// folder, interrupted runs go on, and the curves are written there.
void compare(const Settings& settings, const Text& text, Index seeds, const std::string& folder);

/// Trains rotary embedding with three bases, T5's bias, sinusoidal, none and ALiBi, with the seeds 1 .. `seeds`, and reads
/// the same text in sequences as long as in training, twice and four times as long; rotary embedding with the usual base
/// also by position interpolation and YaRN. Prints the losses, their spread, and the differences from rotary embedding
/// over the same windows. With a folder, interrupted runs go on.
void extrapolate(const Settings& settings, const Text& text, Index seeds, const std::string& folder);

/// The number of validation windows, and the longest sequence of extrapolate, as a multiple of the context.
constexpr Index kWindows = 128, kLongest = 4;

}  // namespace train
