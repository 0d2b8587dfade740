// SPDX-License-Identifier: MIT
// Positions: where each token stands.
#pragma once

#include <initializer_list>
#include <type_traits>

#include "types.hpp"

#include "detail/base/containers.hpp"
#include "detail/positions/position_numbers.hpp"

ROPE_BEGIN

/// The position of every token of a call, as a value. Made by start_at(...), ids(...), or by itself from any
/// contiguous container of integers (std::vector, std::array, std::span, an Eigen vector), and in a call (see
/// PositionsArgument) from {5, 0, 7}:
///
///     nothing given             0, 1, 2, ... in every batch entry
///     start_at(n)               n, n+1, n+2, ... in every batch entry
///     start_at(list)            batch entry b has list[b], list[b]+1, ...; list has `batch` entries
///     ids                       explicit position ids: `seq` of them, shared by the batch, or batch * seq of them,
///                               entry after entry. Integers of any type up to 64 bits (but bool and characters), any
///                               order, repeats allowed.
///
/// Lists are not copied, and must outlive the Positions made of them. A temporary one would not: it is refused by the
/// compiler here, and goes straight into a call. When batch is 1 the two counts of ids are the same thing.
class ROPE_VISIBLE Positions {
 public:
    /// How the positions were given: one start for all batch entries, one for each, or a position for each token, which
    /// all entries share or each has for itself.
    enum class Kind : unsigned char { start, start_per_entry, ids };

    /// 0, 1, 2, ...
    ROPE_ABI Positions() noexcept = default;

    /// Ids: all entries of a container, which must outlive this; or of a span, whose integers must.
    template <class List, detail::IfIntegerList<List> = 0>
    ROPE_ABI Positions(const List& list ROPE_LIFETIMEBOUND) noexcept  // NOLINT(google-explicit-constructor): a value
        : Positions(Kind::ids, list.data(), static_cast<Index>(list.size()), detail::inner_stride(list)) {}
    template <class Span, detail::IfIntegerSpan<Span> = 0>
    ROPE_ABI Positions(Span span) noexcept  // NOLINT(google-explicit-constructor)
        : Positions(Kind::ids, span.data(), static_cast<Index>(span.size()), detail::inner_stride(span)) {}

    // Lists that would be gone are refused by the compiler.
    template <class List, detail::IfIntegerList<List> = 0>
    ROPE_ABI Positions(const List&&) noexcept {  // NOLINT(google-explicit-constructor)
        static_assert(detail::never<List>,
                      "rope::Positions does not own its list, and this one is a temporary that would be gone: give the "
                      "list a name, or pass it straight to the call.");
    }
    template <class Integer,
              std::enable_if_t<detail::is_position_integer<Integer> && !std::is_same_v<Integer, Index>, int> = 0>
    ROPE_ABI Positions(std::initializer_list<Integer>) noexcept {
        detail::refuse_braces<Integer>();
    }
    template <class Any = Index>
    ROPE_ABI Positions(std::initializer_list<Index>) noexcept {  // of several types, too
        detail::refuse_braces<Any>();
    }

    /// A lone integer could mean a start or one id: say start_at(n) or {n}.
    template <class Integer, std::enable_if_t<std::is_arithmetic_v<Integer>, int> = 0>
    Positions(Integer) = delete;

    /// Tells which of the members below have a meaning.
    ROPE_ABI Kind kind() const noexcept { return kind_; }
    /// The start, when kind() is Kind::start.
    ROPE_ABI Index start() const noexcept { return start_; }
    /// Entries of the list, otherwise: starts, or ids. Negative where a negative count was given, which calls refuse.
    ROPE_ABI Index count() const noexcept { return count_; }
    /// The first entry of the list, whose type is known only to the members below; null for a start.
    ROPE_ABI const void* data() const noexcept { return numbers_.data(); }
    /// Bytes of one of them, and the step from one to the next, counted in them.
    ROPE_ABI Index element_size() const noexcept { return numbers_.element_size(); }
    ROPE_ABI Index stride() const noexcept { return numbers_.stride(); }

    /// The first entry of the list below `low` or above `high`, or count() when there is none.
    ROPE_ABI Index find_outside(Index low, Index high) const noexcept {
        return numbers_.find_outside(count_, low, high);
    }

    /// Entry i of the list. Unsigned entries above the largest Index come back as the largest Index, which no table
    /// holds.
    ROPE_ABI Index operator[](Index i) const noexcept { return numbers_[i]; }

    /// The position of token s of batch entry b, in a call with seq tokens per entry. Nothing is checked.
    ROPE_ABI Index at(Index b, Index s, Index seq) const noexcept {
        return kind_ == Kind::start ? start_ + s : listed_at(b, s, seq);
    }

    /// For start_at(n).
    ROPE_ABI static Positions from_start(Index start) noexcept {
        Positions p;
        p.start_ = start;
        return p;
    }

    /// For start_at(list) and ids(ptr, n): every stride-th of `count` integers.
    template <class Integer>
    ROPE_ABI Positions(Kind kind, const Integer* data, Index count, Index stride) noexcept
        : numbers_(data, stride), count_(count), kind_(kind) {
        static_assert(sizeof(Integer) <= 8, "position ids have at most 64 bits");
    }

 private:
    // A call of its own: with it inlined, every kernel would have the eight integer types in it.
    ROPE_ABI ROPE_NOINLINE Index listed_at(Index b, Index s, Index seq) const noexcept {
        return kind_ == Kind::start_per_entry ? (*this)[b] + s : (*this)[count_ == seq ? s : b * seq + s];
    }

    detail::NumberList numbers_;
    Index start_ = 0;
    Index count_ = 0;
    Kind kind_ = Kind::start;
};

/// The argument `positions` of functions: a Positions, or anything that makes one, temporaries of the call included:
///
///     rope::apply<layout>(x, cache, {5, 0, 7});                        rope::apply<layout>(x, cache, positions_of(batch));
///     rope::apply<layout>(x, cache, rope::start_at(starts_of(batch)));
///
/// It cannot be copied or moved. A function of your own takes one, too, and hands it on as Positions, a copy of which
/// must not outlive the call:
///
///     void rotate(rope::TensorView<float> x, rope::PositionsArgument&& given) {
///         const rope::Positions& positions = given;
///         rope::apply<layout>(x, cache, positions);
///     }
class PositionsArgument {
 public:
    /// 0, 1, 2, ...
    ROPE_ABI PositionsArgument() noexcept = default;
    ROPE_ABI PositionsArgument(const Positions& positions) noexcept  // NOLINT(google-explicit-constructor)
        : positions_(positions) {}

    /// Ids in braces, which live until the end of the call.
    template <class Integer, detail::IfInteger<Integer> = 0>
    ROPE_ABI PositionsArgument(std::initializer_list<Integer> list ROPE_LIFETIMEBOUND) noexcept
        : PositionsArgument(Positions::Kind::ids, list.begin(), static_cast<Index>(list.size()), 1) {}
    ROPE_ABI PositionsArgument(std::initializer_list<Index> list ROPE_LIFETIMEBOUND) noexcept
        : PositionsArgument(Positions::Kind::ids, list.begin(), static_cast<Index>(list.size()), 1) {}

    /// Anything that makes Positions. Numbers, pointers and other containers are refused by the compiler, with a
    /// sentence that says what to write.
    template <class Source, std::enable_if_t<detail::may_mean_positions<Source>, int> = 0>
    ROPE_ABI PositionsArgument(const Source& source ROPE_LIFETIMEBOUND) noexcept  // NOLINT(google-explicit-constructor)
        : positions_(detail::positions_from<Positions>(source)) {}

    /// For start_at of a temporary list.
    template <class Integer>
    ROPE_ABI PositionsArgument(Positions::Kind kind, const Integer* data ROPE_LIFETIMEBOUND, Index count,
                               Index stride) noexcept
        : positions_(kind, data, count, stride) {}

    PositionsArgument(const PositionsArgument&) = delete;
    PositionsArgument& operator=(const PositionsArgument&) = delete;

    /// The positions that were given, valid until the end of the call.
    ROPE_ABI operator const Positions&() const& noexcept ROPE_LIFETIMEBOUND {  // NOLINT(google-explicit-constructor)
        return positions_;
    }
    operator const Positions&() const&& = delete;

 private:
    Positions positions_;
};

/// n, n+1, n+2, ... in every batch entry. Any integer of up to 64 bits; an unsigned one above the largest Index is in
/// no table, and refused by the call.
template <class Integer, detail::IfInteger<Integer> = 0>
ROPE_ABI inline Positions start_at(Integer n) noexcept {
    return Positions::from_start(detail::clamped_position(n));
}

/// One start per batch entry, from any contiguous container of integers, which must outlive the result. With a
/// temporary container it goes straight into a call.
template <class List, detail::IfIntegerList<List> = 0>
ROPE_ABI inline Positions start_at(const List& starts ROPE_LIFETIMEBOUND) noexcept {
    return detail::from_list<Positions>(Positions::Kind::start_per_entry, starts);
}
/// For a temporary list, which goes straight into a call.
template <class List, detail::IfIntegerList<List> = 0>
ROPE_ABI inline PositionsArgument start_at(const List&& starts ROPE_LIFETIMEBOUND) noexcept {
    return detail::from_list<PositionsArgument>(Positions::Kind::start_per_entry, starts);
}
/// For a span, whose integers must outlive the result.
template <class Span, detail::IfIntegerSpan<Span> = 0>
ROPE_ABI inline Positions start_at(Span starts) noexcept {
    return detail::from_list<Positions>(Positions::Kind::start_per_entry, starts);
}
template <class Other, detail::IfNoStart<Other> = 0>
ROPE_ABI inline Positions start_at(const Other&) noexcept {
    static_assert(detail::never<Other>,
                  "rope::start_at takes an integer of up to 64 bits, or a contiguous container of such integers (no "
                  "bool, characters or fractions): for a pointer write rope::ids, or a span.");
    return Positions();
}

/// n explicit position ids: seq of them, shared by the batch, or batch * seq, entry after entry. They are not copied,
/// and must outlive the result and its call. A null pointer is for a call of no tokens.
template <class Integer>
ROPE_ABI inline Positions ids(const Integer* ptr, Index n) noexcept {
    static_assert(detail::is_position_integer<Integer>,
                  "rope::ids takes a pointer to integers of up to 64 bits (not to bool, characters or fractions).");
    if constexpr (detail::is_position_integer<Integer>) return Positions(Positions::Kind::ids, ptr, n, 1);
    return Positions();
}

ROPE_END
