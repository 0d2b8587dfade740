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

/// A piece of a sentence: text or a number. What it is, its type says.
enum class PieceKind : unsigned char { text, whole, natural, real };
template <class Part>
ROPE_ABI constexpr PieceKind piece_kind() noexcept {
    if (std::is_floating_point_v<Part>) return PieceKind::real;
    if (!std::is_integral_v<Part>) return PieceKind::text;
    return std::is_signed_v<Part> ? PieceKind::whole : PieceKind::natural;
}
/// Apart from the pieces, so that a call which makes a sentence is no larger than it must be.
template <class... Parts>
inline constexpr PieceKind kPieceKinds[] = {piece_kind<Parts>()...};

union Piece {
    const char* text;
    std::int64_t whole;
    std::uint64_t natural;
    double real;

    ROPE_ABI Piece(const char* x) noexcept : text(x) {}  // NOLINT(google-explicit-constructor)
    ROPE_ABI Piece(double x) noexcept : real(x) {}       // NOLINT(google-explicit-constructor)
    template <class Integer, std::enable_if_t<std::is_integral_v<Integer>, int> = 0>
    ROPE_ABI Piece(Integer x) noexcept {  // NOLINT(google-explicit-constructor)
        if constexpr (std::is_signed_v<Integer>)
            whole = x;
        else
            natural = x;
    }
};

class Message {
 public:
    ROPE_ABI Message() noexcept { text_[0] = '\0'; }
    ROPE_COLD Message(const PieceKind* kinds, const Piece* pieces, std::size_t count) noexcept {
        text_[0] = '\0';
        for (std::size_t i = 0; i < count; ++i) append(kinds[i], pieces[i]);
    }

    ROPE_ABI const char* text() const noexcept { return text_; }

    ROPE_COLD void append(const char* text) noexcept {
        while (*text != '\0' && size_ + 1 < kSize) text_[size_++] = *text++;
        text_[size_] = '\0';
    }

 private:
    static constexpr std::size_t kSize = 320;  // a cut sentence is still zero-terminated

    ROPE_ABI void append(PieceKind kind, const Piece& piece) noexcept {
        switch (kind) {
            case PieceKind::text: return append(piece.text);
            case PieceKind::whole: {
                const std::uint64_t bits = static_cast<std::uint64_t>(piece.whole);
                if (piece.whole >= 0) return append(bits);
                append("-");
                return append(0 - bits);
            }
            case PieceKind::natural: return append(piece.natural);
            case PieceKind::real: return append(piece.real);
        }
    }
    // Not by to_chars, whose code for any base takes as long to compile as all of this.
    ROPE_ABI void append(std::uint64_t value) noexcept {
        char digits[24];
        char* first = digits + sizeof(digits) - 1;
        *first = '\0';
        do *--first = static_cast<char>('0' + value % 10);
        while ((value /= 10) != 0);
        append(first);
    }
    ROPE_ABI void append(double value) noexcept {
        const std::uint64_t bits = bit_cast<std::uint64_t>(value);
        if (!is_finite(value)) return append(bits << 12 != 0 ? "nan" : bits >> 63 != 0 ? "-inf" : "inf");
        char digits[40];  // the longest shortest double has 24 characters
        *std::to_chars(digits, digits + sizeof(digits) - 1, value).ptr = '\0';
        append(digits);
    }

    char text_[kSize];
    std::size_t size_ = 0;
};

/// From text, integers and doubles.
template <class... Parts>
ROPE_INLINE Message make_message(const Parts&... parts) noexcept {
    const Piece pieces[] = {parts...};
    return Message(kPieceKinds<Parts...>, pieces, sizeof...(Parts));
}

}  // namespace detail
}  // namespace ROPE_VERSION_NAMESPACE
}  // namespace rope
