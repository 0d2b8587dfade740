// SPDX-License-Identifier: MIT
// Options: the command line, checked.
#pragma once

#include <string>

#include "settings.hpp"

namespace train {

enum class Mode { single, compare, extrapolate, share };

struct Options {
    Settings settings;
    Mode mode = Mode::single;
    std::string data;
    std::string folder;  // of checkpoints and curves; empty: nothing is written
    Index seeds = 3;     // of compare and extrapolate
    Index stop_at = 0;   // 0: not before the last step
    bool help = false;
};

extern const char* const kHelp;

/// Throws std::runtime_error with a sentence for anything that is not in the help text.
Options parse_options(int argc, const char* const* argv);

}  // namespace train
