// SPDX-License-Identifier: MIT
// MoveRows, the base of Moves: rows of cached keys that go from old positions to new ones.
#pragma once

#include <type_traits>

#include "../../axis_map.hpp"
#include "../../axis_positions.hpp"
#include "../../positions.hpp"
#include "../../types.hpp"
#include "../base/containers.hpp"
#include "../base/executor.hpp"
#include "token_rows.hpp"

ROPE_DETAIL_BEGIN

/// As the number of rows: one row serves every token.
inline constexpr Index kEveryToken = Index(1) << 62;

/// Types that cannot be a number of positions to move by, or not a negative one: numbers that are no integers of up to
/// 64 bits, and short unsigned integers.
template <class Number>
inline constexpr bool is_no_delta =
    std::is_convertible_v<Number, Index> && !std::is_class_v<Number> && !std::is_enum_v<Number> &&
    (!is_position_integer<Number> || (std::is_unsigned_v<Number> && sizeof(Number) < sizeof(Index)));

template <class Number>
constexpr void refuse_delta() noexcept {
    static_assert(never<Number>,
                  "delta must be a signed integer of up to 64 bits (32 unsigned bits with a minus sign would be some "
                  "4 billion positions): write rope::Index(delta).");
}

ROPE_DETAIL_END

ROPE_SOURCE_BEGIN

template <class T>
class MoveRows : public TokenRows<T> {
 protected:
    /// Moves within one schedule.
    ROPE_API MoveRows(const GivenSource& given, AxisMap&& map);
    /// Moves from one schedule to another.
    ROPE_API MoveRows(const GivenSource& given_old, const GivenSource& given_new, AxisMap&& map);
    ROPE_ABI ~MoveRows() = default;

    /// Builds one row, which serves every token.
    ROPE_API void build_by(Index delta);
    /// Builds the rows of moves by one delta for each token.
    ROPE_API void build_by(const Positions& deltas, Index seq, Index batch, const AnyExecutor& executor);
    ROPE_API void build_between(const Positions& from, const Positions& to, Index seq, Index batch,
                                const AnyExecutor& executor);
    ROPE_API void build_between(const AxisPositions& from, const AxisPositions& to, Index seq, Index batch,
                                const AnyExecutor& executor);
};

ROPE_SOURCE_END
