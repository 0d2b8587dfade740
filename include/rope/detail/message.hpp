// SPDX-License-Identifier: MIT
// A sentence built in place: no allocation, no locale, no printf.
#pragma once

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "bits.hpp"

namespace rope {
inline namespace ROPE_VERSION_NAMESPACE {
namespace detail {

class Message {
 public:
    ROPE_ABI Message() noexcept { text_[0] = '\0'; }

    ROPE_ABI const char* text() const noexcept { return text_; }

    // Calls of their own: a sentence has many pieces, and nobody waits for one.
    ROPE_NOINLINE void append(const char* text) noexcept {
        while (*text != '\0' && size_ + 1 < kSize) text_[size_++] = *text++;
        text_[size_] = '\0';
    }
    template <class Integer, std::enable_if_t<std::is_integral_v<Integer>, int> = 0>
    ROPE_ABI void append(Integer value) noexcept {
        append_number(static_cast<std::conditional_t<std::is_signed_v<Integer>, std::int64_t, std::uint64_t>>(value));
    }
    ROPE_ABI void append(double value) noexcept {
        if (is_finite(value)) return append_number(value);
        const bool nan = (bit_cast<std::uint64_t>(value) << 12) != 0;
        append(nan ? "nan" : (bit_cast<std::uint64_t>(value) >> 63) != 0 ? "-inf" : "inf");
    }

 private:
    static constexpr std::size_t kSize = 320;  // a cut sentence is still zero-terminated

    template <class Number>
    ROPE_NOINLINE void append_number(Number value) noexcept {
        char digits[40];  // the longest shortest double has 24 characters
        *std::to_chars(digits, digits + sizeof(digits) - 1, value).ptr = '\0';
        append(digits);
    }

    char text_[kSize];
    std::size_t size_ = 0;
};

template <class... Parts>
ROPE_ABI inline Message make_message(const Parts&... parts) noexcept {
    Message message;
    (message.append(parts), ...);
    return message;
}

}  // namespace detail
}  // namespace ROPE_VERSION_NAMESPACE
}  // namespace rope
