// SPDX-License-Identifier: MIT
// Share: the part of the time that the rotation takes, by the width of the network.
#pragma once

#include "settings.hpp"
#include "text.hpp"

namespace train {

/// Prints the time of a forward pass and of a training step, one thread, at three widths with heads of 64 features, and
/// the part of each that the calls of rope take: medians of several steps, rotary encoding. Takes width, heads and encoding
/// not from the settings.
void share(const Settings& settings, const Text& text);

}  // namespace train
