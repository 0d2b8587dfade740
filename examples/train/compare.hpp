// SPDX-License-Identifier: MIT
// Comparisons: several encodings, each trained from the same first weights on the same batches.
#pragma once

#include <string>

#include "settings.hpp"
#include "text.hpp"

namespace train {

/// Trains every encoding that the attention can have, with the seeds 1 .. `seeds`. Prints the validation losses, their
/// spread, and the differences from rotary embedding over the same windows. With a folder, interrupted runs go on, and
/// the curves are written there.
void compare(const Settings& settings, const Text& text, Index seeds, const std::string& folder);

/// Trains with the seed of the settings, and reads the same text in sequences as long as in training, twice and four
/// times as long; rotary embedding also by position interpolation and YaRN.
void extrapolate(const Settings& settings, const Text& text, const std::string& folder);

/// Windows of validation, and the longest sequence of extrapolate in contexts.
constexpr Index kWindows = 128, kLongest = 4;

}  // namespace train
