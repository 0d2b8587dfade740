// SPDX-License-Identifier: MIT
// The command line of both programs: its options, their values, and the sentences for what is wrong.
#pragma once

#include <charconv>
#include <limits>
#include <stdexcept>
#include <string>
#include <system_error>

namespace llama {

[[noreturn]] inline void refuse(const std::string& name, const std::string& value, const std::string& allowed) {
    throw std::runtime_error("The value of " + name + " is \"" + value + "\"; it must be " + allowed + ".");
}

/// A whole number: digits alone, with nothing around them.
template <class Integer>
Integer whole_number(const std::string& name, const std::string& value, Integer least) {
    constexpr Integer most = std::numeric_limits<Integer>::max();
    Integer number = 0;
    const char* const end = value.data() + value.size();
    const std::from_chars_result result = std::from_chars(value.data(), end, number);
    if (result.ec != std::errc() || result.ptr != end || number < least)
        refuse(name, value, "a whole number from " + std::to_string(least) + " to " + std::to_string(most));
    return number;
}

/// Reads the options of a program into `options`, which has --model, --tokenizer and --help; take(name, value) has the
/// others, where value() is the text after the option, and is false when there is no such option.
template <class Options, class Take>
void read_options(int argc, const char* const* argv, Options& options, const Take& take) {
    for (int i = 1; i < argc; ++i) {
        const std::string name = argv[i];
        const auto value = [&]() -> std::string {
            if (++i == argc) throw std::runtime_error("The option " + name + " needs a value after it.");
            return argv[i];
        };
        if (name == "--help") {
            options.help = true;
            return;
        }
        if (name == "--model") {
            options.model = value();
        } else if (name == "--tokenizer") {
            options.tokenizer = value();
        } else if (!take(name, value)) {
            throw std::runtime_error("There is no option \"" + name + "\"; --help lists them all.");
        }
    }
    if (options.model.empty()) throw std::runtime_error("The option --model is missing; it names the weights.");
    if (options.tokenizer.empty())
        throw std::runtime_error("The option --tokenizer is missing; it names the vocabulary.");
}

}  // namespace llama
