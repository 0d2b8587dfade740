// SPDX-License-Identifier: MIT
// AxisPositions: where each token stands on one axis or several, in whole numbers or fractions.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

#include "errors.hpp"
#include "positions.hpp"
#include "types.hpp"

#include "detail/base/bits.hpp"

#include "detail/base/hide_macros.hpp"

namespace rope {
inline namespace ROPE_VERSION_NAMESPACE {

namespace detail {

template <class Number>
inline constexpr bool is_position_number =
    is_position_integer<Number> || std::is_same_v<Number, float> || std::is_same_v<Number, double>;

/// Contiguous lists of such numbers, without gaps.
template <class List>
inline constexpr bool is_number_list =
    is_position_number<ContainerValue<List>>&& is_list<List> && !HasInnerStride<List>::value;

/// A position as a whole number, rounded towards 0, and the rest. Both are exact: -0.01 rounded downwards would leave
/// 0.99, which has fewer bits.
struct ROPE_ABI Place {
    Index whole;
    double part;
};

/// Positions of Rows are from -2^52 to 2^52.
inline constexpr Index kMaxPosition = Index(1) << 52;

}  // namespace detail

/// Positions of shape [axes, tokens]: all tokens on the first axis, then all on the next one. Integers of any type up
/// to 64 bits (but bool and characters), float or double. Not copied: the numbers must outlive this and its call, so a
/// list that is a temporary is refused by the compiler.
class AxisPositions {
 public:
    /// Axis a begins at data + a * axis_stride; by default (-1) axes follow one another.
    template <class Number>
    ROPE_ABI AxisPositions(const Number* data, Index axes, Index tokens, Index axis_stride = -1) noexcept
        : data_(data),
          axes_(axes),
          tokens_(tokens),
          stride_(axis_stride < 0 ? tokens : axis_stride),
          size_(static_cast<unsigned char>(sizeof(Number))),
          kind_(std::is_floating_point_v<Number> ? kFraction
                : std::is_signed_v<Number>       ? kSigned
                                                 : kUnsigned) {
        static_assert(detail::is_position_number<Number>,
                      "rope::AxisPositions takes integers of up to 64 bits (not bool or characters), float or double.");
    }

    /// All numbers of a list, which holds as many for each axis, such as the results of position_builders.hpp. Throws
    /// std::invalid_argument when axes does not divide the list (and is one of 0 tokens where a handler returns).
    template <class List, std::enable_if_t<detail::is_container<List> && !detail::is_span<List>, int> = 0>
    ROPE_ABI AxisPositions(const List& list ROPE_LIFETIMEBOUND, Index axes) {
        take(list, axes);
    }
    template <class Span, std::enable_if_t<detail::is_container<Span> && detail::is_span<Span>, int> = 0>
    ROPE_ABI AxisPositions(Span span, Index axes) {
        take(span, axes);
    }
    template <class List, std::enable_if_t<detail::is_container<List> && !detail::is_span<List>, int> = 0>
    ROPE_ABI AxisPositions(const List&&, Index) {
        static_assert(detail::never<List>,
                      "rope::AxisPositions does not own its numbers, and this list is a temporary that would be gone: "
                      "give the list a name.");
    }

    ROPE_ABI Index axes() const noexcept { return axes_; }
    ROPE_ABI Index tokens() const noexcept { return tokens_; }
    ROPE_ABI const void* data() const noexcept { return data_; }

    /// Whether the numbers are float or double.
    ROPE_ABI bool is_fractional() const noexcept { return kind_ == kFraction; }
    /// Whether `token` of `axis` is a number from -2^52 to 2^52.
    ROPE_ABI bool is_in_range(Index axis, Index token) const noexcept {
        if (kind_ == kFraction) {
            const double x = fraction(axis, token);
            const double most = static_cast<double>(detail::kMaxPosition);
            return detail::is_finite(x) && x >= -most && x <= most;
        }
        const Index x = whole(axis, token);
        return x >= -detail::kMaxPosition && x <= detail::kMaxPosition;
    }
    /// The number as a double, for messages.
    ROPE_ABI double as_double(Index axis, Index token) const noexcept {
        return kind_ == kFraction ? fraction(axis, token) : static_cast<double>(whole(axis, token));
    }
    /// The position of a number that is in range.
    ROPE_ABI detail::Place at(Index axis, Index token) const noexcept {
        if (kind_ != kFraction) return {whole(axis, token), 0.0};
        const double x = fraction(axis, token);
        const double whole = std::trunc(x);
        return {static_cast<Index>(whole), x - whole};
    }

 private:
    enum Kind : unsigned char { kSigned, kUnsigned, kFraction };

    template <class List>
    ROPE_ABI void take(const List& list, Index axes) {
        static_assert(detail::is_number_list<List>,
                      "rope::AxisPositions takes (ptr, axes, tokens), or (list, axes) with a contiguous container of "
                      "integers of up to 64 bits (not bool or characters), float or double.");
        if constexpr (detail::is_number_list<List>) {
            const Index count = static_cast<Index>(list.size());
            *this = AxisPositions(list.data(), axes, axes > 0 ? count / axes : 0);
            if (axes > 0 && count % axes == 0) return;
            detail::ok_or_raise(detail::invalid(
                "The list has {} positions; there must be as many for each of {} axes, of which there is at least one.",
                {count, axes}));
            tokens_ = 0;
        }
    }

    template <class Number>
    ROPE_ABI Number entry(Index axis, Index token) const noexcept {
        Number value;
        std::memcpy(&value,
                    static_cast<const char*>(data_) + (axis * stride_ + token) * static_cast<Index>(sizeof(Number)),
                    sizeof(Number));
        return value;
    }
    ROPE_ABI double fraction(Index axis, Index token) const noexcept {
        return size_ == 4 ? static_cast<double>(entry<float>(axis, token)) : entry<double>(axis, token);
    }
    ROPE_ABI Index whole(Index axis, Index token) const noexcept {
        const bool is_signed = kind_ == kSigned;
        switch (size_) {
            case 1: return is_signed ? entry<std::int8_t>(axis, token) : Index(entry<std::uint8_t>(axis, token));
            case 2: return is_signed ? entry<std::int16_t>(axis, token) : Index(entry<std::uint16_t>(axis, token));
            case 4: return is_signed ? entry<std::int32_t>(axis, token) : Index(entry<std::uint32_t>(axis, token));
            default: {
                if (is_signed) return entry<std::int64_t>(axis, token);
                const std::uint64_t x = entry<std::uint64_t>(axis, token);
                const std::uint64_t most = static_cast<std::uint64_t>(std::numeric_limits<Index>::max());
                return static_cast<Index>(x < most ? x : most);
            }
        }
    }

    const void* data_ = nullptr;
    Index axes_ = 0, tokens_ = 0, stride_ = 0;
    unsigned char size_ = 8;
    Kind kind_ = kSigned;
};

}  // namespace ROPE_VERSION_NAMESPACE
}  // namespace rope

#include "detail/base/restore_macros.hpp"
