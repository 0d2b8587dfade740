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

/// A piece of a sentence: text or a number.
struct ROPE_ABI Piece {
    enum class Kind : unsigned char { text, whole, natural, real };
    Kind kind;
    union {
        const char* text;
        std::int64_t whole;
        std::uint64_t natural;
        double real;
    };
    ROPE_ABI Piece(const char* x) noexcept : kind(Kind::text), text(x) {}  // NOLINT(google-explicit-constructor)
    ROPE_ABI Piece(double x) noexcept : kind(Kind::real), real(x) {}       // NOLINT(google-explicit-constructor)
    template <class Integer, std::enable_if_t<std::is_integral_v<Integer>, int> = 0>
    ROPE_ABI Piece(Integer x) noexcept {  // NOLINT(google-explicit-constructor)
        if constexpr (std::is_signed_v<Integer>) {
            kind = Kind::whole;
            whole = x;
        } else {
            kind = Kind::natural;
            natural = x;
        }
    }
};

class Message {
 public:
    ROPE_ABI Message() noexcept { text_[0] = '\0'; }
    ROPE_COLD Message(const Piece* pieces, std::size_t count) noexcept {
        text_[0] = '\0';
        for (std::size_t i = 0; i < count; ++i) append(pieces[i]);
    }

    ROPE_ABI const char* text() const noexcept { return text_; }

    // A call of its own: a sentence has many pieces, and nobody waits for one.
    ROPE_COLD void append(const Piece& piece) noexcept {
        switch (piece.kind) {
            case Piece::Kind::text: return append_text(piece.text);
            case Piece::Kind::whole: {
                const std::uint64_t bits = static_cast<std::uint64_t>(piece.whole);
                if (piece.whole >= 0) return append_number(bits);
                append_text("-");
                return append_number(0 - bits);
            }
            case Piece::Kind::natural: return append_number(piece.natural);
            case Piece::Kind::real: break;
        }
        if (is_finite(piece.real)) {
            char digits[40];  // the longest shortest double has 24 characters
            *std::to_chars(digits, digits + sizeof(digits) - 1, piece.real).ptr = '\0';
            return append_text(digits);
        }
        const std::uint64_t bits = bit_cast<std::uint64_t>(piece.real);
        append_text(bits << 12 != 0 ? "nan" : bits >> 63 != 0 ? "-inf" : "inf");
    }

 private:
    static constexpr std::size_t kSize = 320;  // a cut sentence is still zero-terminated

    ROPE_ABI void append_text(const char* text) noexcept {
        while (*text != '\0' && size_ + 1 < kSize) text_[size_++] = *text++;
        text_[size_] = '\0';
    }
    // Not by to_chars, whose code for any base takes as long to compile as all this.
    ROPE_ABI void append_number(std::uint64_t value) noexcept {
        char digits[24];
        char* first = digits + sizeof(digits) - 1;
        *first = '\0';
        do *--first = static_cast<char>('0' + value % 10);
        while ((value /= 10) != 0);
        append_text(first);
    }

    char text_[kSize];
    std::size_t size_ = 0;
};

/// From text, integers and doubles.
template <class... Parts>
ROPE_INLINE Message make_message(const Parts&... parts) noexcept {
    const Piece pieces[] = {parts...};
    return Message(pieces, sizeof...(Parts));
}

}  // namespace detail
}  // namespace ROPE_VERSION_NAMESPACE
}  // namespace rope
