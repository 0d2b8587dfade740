// SPDX-License-Identifier: MIT
// AxisPositions: where each token stands on one axis or several, in whole numbers or fractions.
#pragma once

#include <type_traits>

#include "types.hpp"

#include "detail/base/containers.hpp"
#include "detail/positions/position_numbers.hpp"

ROPE_BEGIN

/// Positions of shape [axes, tokens]: all tokens on the first axis, then all on the next one; tokens of a batch are
/// counted entry after entry. Integers of any type up to 64 bits (but bool and characters), float or double. Not
/// copied: the numbers must outlive this and its call, so a list that is a temporary is refused by the compiler.
///
///     rope::AxisPositions(ids, 3, tokens)                      // const std::int32_t* ids: t, h, w of all tokens
///     rope::AxisPositions(ids, 3, tokens, capacity)            // the same, from rows of a larger buffer
///     rope::AxisPositions(grid, 2)                             // const std::vector<rope::Index> grid, by image_grid
///     rope::AxisPositions(&position, 3, 1, 0)                  // double position: one token, the same on every axis
///
/// Nothing is checked here but the size of a list: Rows and Moves check the number of axes and of tokens, and that each
/// number is from -2^52 to 2^52, when they are built.
class ROPE_VISIBLE AxisPositions {
 public:
    /// Axis a begins at data + a * axis_stride, counted in numbers; by default (-1) axes follow one another. A null
    /// pointer is for 0 tokens.
    template <class Number>
    ROPE_ABI AxisPositions(const Number* data, Index axes, Index tokens, Index axis_stride = -1) noexcept
        : numbers_(data, 1), axes_(axes), tokens_(tokens), stride_(axis_stride < 0 ? tokens : axis_stride) {
        static_assert(detail::is_position_number<Number>,
                      "rope::AxisPositions takes integers of up to 64 bits (not bool or characters), float or double.");
    }

    /// All numbers of a list, which holds as many for each axis, such as the results of position_builders.hpp. Throws
    /// std::invalid_argument when axes does not divide the list.
    template <class List, std::enable_if_t<detail::is_container<List> && !detail::is_span<List>, int> = 0>
    ROPE_ABI AxisPositions(const List& list ROPE_LIFETIMEBOUND, Index axes)
        : AxisPositions(detail::NumberList(list.data(), 1), axes, detail::tokens_per_axis(list, axes)) {}
    /// The same for a span, whose numbers must outlive this.
    template <class Span, std::enable_if_t<detail::is_container<Span> && detail::is_span<Span>, int> = 0>
    ROPE_ABI AxisPositions(Span span, Index axes)
        : AxisPositions(detail::NumberList(span.data(), 1), axes, detail::tokens_per_axis(span, axes)) {}
    template <class List, std::enable_if_t<detail::is_container<List> && !detail::is_span<List>, int> = 0>
    ROPE_ABI AxisPositions(const List&&, Index) {
        static_assert(detail::never<List>,
                      "rope::AxisPositions does not own its numbers, and this list is a temporary that would be gone: "
                      "give the list a name.");
    }

    /// The shape: axes() lists of tokens() numbers each.
    ROPE_ABI Index axes() const noexcept { return axes_; }
    ROPE_ABI Index tokens() const noexcept { return tokens_; }
    /// The first number of the first axis, whose type is known only to the members below.
    ROPE_ABI const void* data() const noexcept { return numbers_.data(); }

    /// Whether the numbers are float or double.
    ROPE_ABI bool is_fractional() const noexcept { return numbers_.is_fractional(); }
    /// Whether `token` of `axis` is a number from -2^52 to 2^52.
    ROPE_ABI bool is_in_range(Index axis, Index token) const noexcept {
        return numbers_.is_in_range(axis * stride_ + token);
    }
    /// The number as a double, for messages.
    ROPE_ABI double as_double(Index axis, Index token) const noexcept {
        return numbers_.as_double(axis * stride_ + token);
    }
    /// The position of a number that is in range: a whole number and a fraction of the same sign, both exact.
    ROPE_ABI detail::AxisPosition at(Index axis, Index token) const noexcept {
        return numbers_.position(axis * stride_ + token);
    }

 private:
    ROPE_ABI AxisPositions(const detail::NumberList& numbers, Index axes, Index tokens) noexcept
        : numbers_(numbers), axes_(axes), tokens_(tokens), stride_(tokens) {}

    detail::NumberList numbers_;
    Index axes_ = 0, tokens_ = 0, stride_ = 0;
};

ROPE_END
