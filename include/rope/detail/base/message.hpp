// SPDX-License-Identifier: MIT
// Builds a sentence in a fixed buffer: no allocation, no locale.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <type_traits>

#include "bits.hpp"
#include "digits.hpp"

ROPE_DETAIL_BEGIN

/// A piece of a sentence: text or a number.
struct Piece {
    enum class Kind : unsigned char { text, whole, natural, real };
    Kind kind;
    union {
        const char* text;
        std::int64_t whole;
        std::uint64_t natural;
        double real;
    };

    Piece(const char* x) noexcept : kind(Kind::text), text(x) {}  // NOLINT(google-explicit-constructor)
    Piece(double x) noexcept : kind(Kind::real), real(x) {}       // NOLINT(google-explicit-constructor)
    template <class Integer, std::enable_if_t<std::is_integral_v<Integer>, int> = 0>
    Piece(Integer x) noexcept  // NOLINT(google-explicit-constructor)
        : kind(std::is_signed_v<Integer> ? Kind::whole : Kind::natural), natural(static_cast<std::uint64_t>(x)) {}
};

/// The values that replace the "{}" of a sentence. A list, not parameters, so that a call is no template. After a number,
/// "{entry|entries}" is the first if it was 1, the second otherwise.
/// tests/errors/sentences_have_their_values counts both.
using Pieces = std::initializer_list<Piece>;

class Message {
 public:
    Message() noexcept { text_[0] = '\0'; }
    /// A sentence about an argument begins with its name, which ends at the first space or bracket; other sentences
    /// begin with a capital letter.
    ROPE_COLD Message(const char* sentence, Pieces pieces) noexcept : in_name_(*sentence < 'A' || *sentence > 'Z') {
        for (const Piece& piece : pieces) {
            sentence = copy_words(sentence);
            if (sentence[0] != '\0') sentence += 2;
            append(piece);
        }
        append(copy_words(sentence));
    }

    const char* text() const noexcept { return text_; }
    /// The length of the argument's name, with which the text begins.
    std::size_t name_size() const noexcept { return name_size_; }

    ROPE_COLD void append(const char* text) noexcept {
        while (*text != '\0') put(*text++);
        text_[size_] = '\0';
    }

 private:
    static constexpr std::size_t kSize = 320;  // a cut sentence is still zero-terminated

    /// Copies words up to the next "{}", and chooses between two.
    const char* copy_words(const char* from) noexcept {
        while (*from != '\0' && (from[0] != '{' || from[1] != '}')) {
            const char* bar = from;
            while (*from == '{' && *bar != '|' && *bar != '}' && *bar != '\0') ++bar;
            if (*bar != '|') {
                put(*from++);
                continue;
            }
            for (const char* word = is_one_ ? from + 1 : bar + 1; *word != '|' && *word != '}'; ++word) put(*word);
            while (*from++ != '}') continue;
        }
        return from;
    }
    void put(char c) noexcept {
        if (size_ + 1 < kSize) text_[size_++] = c;
        in_name_ = in_name_ && c != ' ' && c != '[';
        if (in_name_) name_size_ = size_;
    }
    void append(const Piece& piece) noexcept {
        is_one_ = piece.kind != Piece::Kind::text && piece.kind != Piece::Kind::real && piece.natural == 1;
        switch (piece.kind) {
            case Piece::Kind::text: return append(piece.text);
            case Piece::Kind::whole: {
                const std::uint64_t bits = static_cast<std::uint64_t>(piece.whole);
                if (piece.whole >= 0) return append(bits);
                append("-");
                return append(0 - bits);
            }
            case Piece::Kind::natural: return append(piece.natural);
            case Piece::Kind::real: return append_real(piece);
        }
    }
    // Avoids to_chars, whose code for any base takes as long to compile as this whole header.
    void append(std::uint64_t value) noexcept {
        char digits[24];
        char* first = digits + sizeof(digits) - 1;
        *first = '\0';
        do *--first = static_cast<char>('0' + value % 10);
        while ((value /= 10) != 0);
        append(first);
    }
    void append_real(const Piece& piece) noexcept {
        const std::uint64_t bits = bit_cast<std::uint64_t>(piece.real);
        if (!is_finite(piece.real)) return append(bits << 12 != 0 ? "nan" : bits >> 63 != 0 ? "-inf" : "inf");
        char digits[32];  // the longest shortest double has 24 characters
        write_number(piece.real, 0, digits);
        append(digits);
    }

    char text_[kSize];
    std::size_t size_ = 0, name_size_ = 0;
    bool in_name_ = false, is_one_ = false;
};

ROPE_DETAIL_END
