// SPDX-License-Identifier: MIT
// The values of options: numbers from their text, and the sentence for what is none.
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

}  // namespace llama
