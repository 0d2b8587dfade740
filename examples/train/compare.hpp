// SPDX-License-Identifier: MIT
// Comparisons: several encodings, each trained from the same first weights on the same batches.
#pragma once

#include <string>

#include "settings.hpp"
#include "text.hpp"

namespace train {

/// Trains every encoding that the attention can have, with the seeds 1 .. `seeds`. Prints the validation losses, their
/// spread, the differences from rotary embedding over the same windows, and the step at which rotary embedding has the
/// others' last loss. With a folder, interrupted runs go on, and the curves are written there.
void compare(const Settings& settings, const Text& text, Index seeds, const std::string& folder);

/// Trains with the seeds 1 .. `seeds`, and reads the same text in sequences as long as in training, twice and four times
/// as long; rotary embedding also by position interpolation and YaRN, and with larger bases from the first step on.
/// Prints means over the seeds, the lowest and the highest.
void extrapolate(const Settings& settings, const Text& text, Index seeds, const std::string& folder);

/// Windows of validation, and the longest sequence of extrapolate in contexts.
constexpr Index kWindows = 128, kLongest = 4;

}  // namespace train
