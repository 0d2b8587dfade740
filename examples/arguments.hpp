// SPDX-License-Identifier: MIT
// The command line of examples that have no options of their own: --help, and a sentence for all else.
#pragma once

#include <cstdio>
#include <optional>
#include <string>

namespace arguments {

/// What main returns at once: 0 when --help was asked for, 1 when there is an argument that the program does not take.
/// Nothing when it is to go on. `help` begins with the program's name and a colon; up to `files` arguments may be names
/// of files. One of several processes with the same arguments speaks.
inline std::optional<int> answer(int argc, const char* const* argv, const char* help, int files = 0,
                                 bool speaks = true) {
    std::string wrong;
    for (int i = 1; i < argc && wrong.empty(); ++i) {
        const std::string name = argv[i];
        if (name == "--help") {
            if (speaks) std::fputs(help, stdout);
            return 0;
        }
        if (name.rfind("-", 0) == 0) {
            wrong = "There is no option \"" + name + "\"; see --help.";
        } else if (i > files) {
            wrong = "There is no use for \"" + name + "\"; see --help.";
        }
    }
    if (wrong.empty()) return std::nullopt;
    const std::string text = help;
    if (speaks) std::fprintf(stderr, "%s %s\n", text.substr(0, text.find(' ')).c_str(), wrong.c_str());
    return 1;
}

}  // namespace arguments
