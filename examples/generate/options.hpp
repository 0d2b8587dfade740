// SPDX-License-Identifier: MIT
// Options: what the command line asks for.
#pragma once

#include <rope/types.hpp>

#include <cstdint>
#include <string>

namespace llama {

/// Where keys and values are remembered: in matrices of float, or in pages of float or bfloat16.
enum class Cache { contiguous, paged_float, paged_bfloat16 };

struct Options {
    std::string model;
    std::string tokenizer;
    std::string prompt;
    int steps = 256;
    float temperature = 1.0f;
    float top_p = 0.9f;
    std::uint64_t seed = 0;
    rope::Layout layout = rope::Layout::interleaved;
    Cache cache = Cache::contiguous;
    bool help = false;
};

extern const char* const kHelp;

/// Throws std::runtime_error with a sentence for anything that is not in the help text.
Options parse_options(int argc, const char* const* argv);

}  // namespace llama
