// SPDX-License-Identifier: MIT
// Share: the part of the time that the rotation takes, by the width of the network.
#pragma once

#include "settings.hpp"
#include "text.hpp"

namespace train {

/// Prints the time of a forward pass and of a training step, one thread, at three widths, and the rotation's part of
/// each: medians of several steps. Of the settings layers, context, batch and attention count.
void share(const Settings& settings, const Text& text);

}  // namespace train
