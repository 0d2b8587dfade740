// SPDX-License-Identifier: MIT
#include "options.hpp"

#include <cmath>
#include <cstdlib>
#include <limits>
#include <stdexcept>

#include "option_values.hpp"

namespace llama {
namespace {

/// A finite decimal number. strtof alone would also accept spaces in front, hexadecimal digits, "inf" and "nan".
float decimal_number(const std::string& name, const std::string& value, float least, float most,
                     const std::string& allowed) {
    char* end = nullptr;
    const float number = std::strtof(value.c_str(), &end);
    const bool whole = !value.empty() && value.find_first_not_of("+-.0123456789eE") == std::string::npos &&
                       end == value.c_str() + value.size();
    if (!whole || !std::isfinite(number) || number < least || number > most) refuse(name, value, allowed);
    return number;
}

rope::Layout layout(const std::string& name, const std::string& value) {
    if (value == "interleaved") return rope::Layout::interleaved;
    if (value == "half-split") return rope::Layout::half_split;
    refuse(name, value, "interleaved or half-split");
}

Cache cache(const std::string& name, const std::string& value) {
    if (value == "float") return Cache::contiguous;
    if (value == "paged-float") return Cache::paged_float;
    if (value == "paged-bfloat16") return Cache::paged_bfloat16;
    refuse(name, value, "float, paged-float or paged-bfloat16");
}

}  // namespace

const char* const kHelp =
    "generate: continues a text with a Llama model in the llama2.c format.\n"
    "\n"
    "  --model FILE       weights, llama2.c version 0 (required)\n"
    "  --tokenizer FILE   vocabulary, llama2.c tokenizer.bin (required)\n"
    "  --prompt TEXT      what the text begins with (default: nothing)\n"
    "  --steps N          positions to fill, the prompt's included (default: 256)\n"
    "  --temperature T    0: always the most likely token; higher is more varied (default: 1)\n"
    "  --top-p P          draw from the most likely tokens that together have\n"
    "                     probability P, above 0 and at most 1 (default: 0.9)\n"
    "  --seed S           seed of the random numbers (default: 0)\n"
    "  --layout L         interleaved, as the file has its weights, or half-split: they are\n"
    "                     converted first, and the text is the same (default: interleaved)\n"
    "  --cache C          keys and values are kept as float, in one matrix for each layer, or as\n"
    "                     paged-float or paged-bfloat16, in pages of 16 tokens (default: float)\n"
    "  --help             print this and stop\n"
    "\n"
    "The text goes to standard output, times and notes to standard error.\n";

Options parse_options(int argc, const char* const* argv) {
    Options options;
    read_options(argc, argv, options, [&options](const std::string& name, const auto& value) {
        if (name == "--prompt") {
            options.prompt = value();
        } else if (name == "--steps") {
            options.steps = whole_number<int>(name, value(), 1);
        } else if (name == "--temperature") {
            options.temperature = decimal_number(name, value(), 0.0f, std::numeric_limits<float>::max(),
                                                 "a finite number that is 0 or more");
        } else if (name == "--top-p") {
            options.top_p = decimal_number(name, value(), std::numeric_limits<float>::min(), 1.0f,
                                           "a number above 0 and at most 1");
        } else if (name == "--seed") {
            options.seed = whole_number<std::uint64_t>(name, value(), 0);
        } else if (name == "--layout") {
            options.layout = layout(name, value());
        } else if (name == "--cache") {
            options.cache = cache(name, value());
        } else {
            return false;
        }
        return true;
    });
    return options;
}

}  // namespace llama
