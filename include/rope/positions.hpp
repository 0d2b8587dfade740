// SPDX-License-Identifier: MIT
// Positions: where each token stands.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <limits>
#include <type_traits>
#include <utility>

#include "types.hpp"

#include "detail/base/containers.hpp"

#include "detail/base/hide_macros.hpp"

namespace rope {
inline namespace ROPE_VERSION_NAMESPACE {

namespace detail {

/// Characters are text, and no positions.
template <class T>
inline constexpr bool is_character =
    std::is_same_v<T, char> || std::is_same_v<T, wchar_t> || std::is_same_v<T, char16_t> || std::is_same_v<T, char32_t>;
#if defined(__cpp_char8_t)
template <>
inline constexpr bool is_character<char8_t> = true;
#endif

/// Integers of up to 64 bits. (Wider ones would be cut in silence.)
template <class Integer>
inline constexpr bool is_position_integer = std::is_integral_v<Integer> && sizeof(Integer) <= 8 &&
                                            !std::is_same_v<std::remove_cv_t<Integer>, bool> &&
                                            !is_character<std::remove_cv_t<Integer>>;
template <>
inline constexpr bool is_position_integer<void> = false;

template <class C>
inline constexpr bool is_integer_container = is_position_integer<ContainerValue<C>>&& is_list<C>;
/// Containers whose elements die with them, and containers that only refer to their elements.
template <class C>
inline constexpr bool is_integer_list = is_integer_container<C> && !is_span<C>;
template <class C>
inline constexpr bool is_integer_span = is_integer_container<C>&& is_span<C>;

}  // namespace detail

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
class Positions {
 public:
    /// How the positions were given.
    enum class Kind : unsigned char { start, start_per_entry, ids };

    /// 0, 1, 2, ...
    ROPE_ABI Positions() noexcept = default;

    template <class List, std::enable_if_t<detail::is_integer_list<List>, int> = 0>
    ROPE_ABI Positions(const List& list ROPE_LIFETIMEBOUND) noexcept  // NOLINT(google-explicit-constructor): a value
        : Positions(Kind::ids, list.data(), static_cast<Index>(list.size()), detail::inner_stride(list)) {}
    template <class Span, std::enable_if_t<detail::is_integer_span<Span>, int> = 0>
    ROPE_ABI Positions(Span span) noexcept  // NOLINT(google-explicit-constructor)
        : Positions(Kind::ids, span.data(), static_cast<Index>(span.size()), detail::inner_stride(span)) {}

    template <class List, std::enable_if_t<detail::is_integer_list<List>, int> = 0>
    ROPE_ABI Positions(const List&&) noexcept {  // NOLINT(google-explicit-constructor)
        static_assert(detail::never<List>,
                      "rope::Positions does not own its list, and this one is a temporary that would be gone: give the "
                      "list a name, or pass it straight to the call.");
    }
    template <class Integer,
              std::enable_if_t<detail::is_position_integer<Integer> && !std::is_same_v<Integer, Index>, int> = 0>
    ROPE_ABI Positions(std::initializer_list<Integer>) noexcept {
        static_assert(detail::never<Integer>,
                      "rope::Positions does not own its list, and this one in braces would be gone: give the list a "
                      "name (std::array, std::vector), or pass the braces straight to the call.");
    }
    template <class Any = Index>
    ROPE_ABI Positions(std::initializer_list<Index>) noexcept {  // of several types, too
        static_assert(detail::never<Any>,
                      "rope::Positions does not own its list, and this one in braces would be gone: give the list a "
                      "name (std::array, std::vector), or pass the braces straight to the call.");
    }

    /// A lone integer could mean a start or one id: say start_at(n) or {n}.
    template <class Integer, std::enable_if_t<std::is_arithmetic_v<Integer>, int> = 0>
    Positions(Integer) = delete;

    ROPE_ABI Kind kind() const noexcept { return kind_; }
    /// The start, when kind() is Kind::start.
    ROPE_ABI Index start() const noexcept { return start_; }
    /// Entries of the list, otherwise.
    ROPE_ABI Index count() const noexcept { return count_; }
    ROPE_ABI const void* data() const noexcept { return data_; }

    /// The first entry of the list below `low` or above `high`, or count() when there is none.
    ROPE_ABI Index find_outside(Index low, Index high) const noexcept {
        if (type_ == Type::i32) return find_outside_as<std::int32_t>(low, high);
        if (type_ == Type::i64) return find_outside_as<std::int64_t>(low, high);
        Index i = 0;  // the rarer ones, without a loop of their own
        while (i < count_ && (*this)[i] >= low && (*this)[i] <= high) ++i;
        return i;
    }

    /// Entry i of the list. Unsigned entries above the largest Index come back as the largest Index, which no table
    /// holds.
    ROPE_NOINLINE Index operator[](Index i) const noexcept {
        switch (type_) {
            case Type::i8: return entry<std::int8_t>(i);
            case Type::i16: return entry<std::int16_t>(i);
            case Type::i32: return entry<std::int32_t>(i);
            case Type::i64: return entry<std::int64_t>(i);
            case Type::u8: return entry<std::uint8_t>(i);
            case Type::u16: return entry<std::uint16_t>(i);
            case Type::u32: return entry<std::uint32_t>(i);
            default: return entry<std::uint64_t>(i);
        }
    }

    /// The position of token s of batch entry b, in a call with seq tokens per entry.
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
        : data_(data), count_(count), stride_(stride), kind_(kind), type_(type_of<Integer>()) {}

 private:
    enum class Type : unsigned char { i8, i16, i32, i64, u8, u16, u32, u64 };

    template <class Integer>
    ROPE_ABI static constexpr Type type_of() noexcept {
        constexpr int log2_size = sizeof(Integer) == 1 ? 0 : sizeof(Integer) == 2 ? 1 : sizeof(Integer) == 4 ? 2 : 3;
        static_assert(sizeof(Integer) <= 8, "position ids have at most 64 bits");
        return static_cast<Type>(log2_size + (std::is_signed_v<Integer> ? 0 : 4));
    }

    // A call of its own: with it inlined, every kernel would have the eight integer types in it.
    ROPE_NOINLINE Index listed_at(Index b, Index s, Index seq) const noexcept {
        return kind_ == Kind::start_per_entry ? (*this)[b] + s : (*this)[count_ == seq ? s : b * seq + s];
    }

    template <class Integer>
    ROPE_ABI Index entry(Index i) const noexcept {
        // Bytes, because `long` and `long long` are different types of the same bits.
        Integer value;
        std::memcpy(&value, static_cast<const char*>(data_) + i * stride_ * static_cast<Index>(sizeof(Integer)),
                    sizeof(Integer));
        if constexpr (std::is_unsigned_v<Integer> && sizeof(Integer) >= sizeof(Index)) {
            constexpr Integer most = static_cast<Integer>(std::numeric_limits<Index>::max());
            return static_cast<Index>(value < most ? value : most);
        } else {
            return static_cast<Index>(value);
        }
    }

    template <class Integer>
    ROPE_ABI Index find_outside_as(Index low, Index high) const noexcept {
        Index i = 0;
        while (i < count_ && entry<Integer>(i) >= low && entry<Integer>(i) <= high) ++i;
        return i;
    }

    const void* data_ = nullptr;
    Index start_ = 0;
    Index count_ = 0;
    Index stride_ = 1;
    Kind kind_ = Kind::start;
    Type type_ = Type::i64;
};

namespace detail {

/// Types that make Positions, and types that are refused with a sentence: numbers, pointers and containers of other
/// types.
template <class Source>
inline constexpr bool may_mean_positions =
    !std::is_same_v<Source, Positions> &&
    (std::is_convertible_v<const Source&, Positions> || is_container<Source> ||
     std::is_convertible_v<const Source&, const volatile void*> ||
     (std::is_convertible_v<const Source&, Index> && !std::is_class_v<Source> && !std::is_enum_v<Source>));

}  // namespace detail

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

    template <class Integer, std::enable_if_t<detail::is_position_integer<Integer>, int> = 0>
    ROPE_ABI PositionsArgument(std::initializer_list<Integer> list ROPE_LIFETIMEBOUND) noexcept
        : PositionsArgument(Positions::Kind::ids, list.begin(), static_cast<Index>(list.size()), 1) {}
    ROPE_ABI PositionsArgument(std::initializer_list<Index> list ROPE_LIFETIMEBOUND) noexcept
        : PositionsArgument(Positions::Kind::ids, list.begin(), static_cast<Index>(list.size()), 1) {}

    template <class Source, std::enable_if_t<detail::may_mean_positions<Source>, int> = 0>
    ROPE_ABI PositionsArgument(const Source& source ROPE_LIFETIMEBOUND) noexcept  // NOLINT(google-explicit-constructor)
        : positions_(from(source)) {}

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
    template <class Source>
    ROPE_ABI static Positions from(const Source& source) noexcept {
        if constexpr (std::is_convertible_v<const Source&, Positions>) {
            return source;
        } else {
            static_assert(!detail::is_position_integer<Source>,
                          "positions must not be a lone integer, which could be a start or an id: write "
                          "rope::start_at(n) for n, n+1, n+2, ..., or {n}.");
            static_assert(!std::is_convertible_v<const Source&, const volatile void*>,
                          "positions must not be a lone pointer, which does not say how many there are: write "
                          "rope::ids(ptr, count).");
            static_assert(
                detail::is_position_integer<Source> || std::is_convertible_v<const Source&, const volatile void*>,
                "positions must be rope::start_at(n), rope::start_at(list), rope::ids(ptr, count), {5, 0, 7}, "
                "or a contiguous container of integers of up to 64 bits (not of bool, characters or fractions).");
            return Positions();
        }
    }

    Positions positions_;
};

/// n, n+1, n+2, ... in every batch entry.
template <class Integer, std::enable_if_t<detail::is_position_integer<Integer>, int> = 0>
ROPE_ABI inline Positions start_at(Integer n) noexcept {
    constexpr Index most = std::numeric_limits<Index>::max();
    if constexpr (std::is_unsigned_v<Integer> && sizeof(Integer) >= sizeof(Index))
        if (n > static_cast<Integer>(most)) return Positions::from_start(most);
    return Positions::from_start(static_cast<Index>(n));
}

/// One start per batch entry, from any contiguous container of integers, which must outlive the result. With a
/// temporary container it goes straight into a call.
template <class List, std::enable_if_t<detail::is_integer_list<List>, int> = 0>
ROPE_ABI inline Positions start_at(const List& starts ROPE_LIFETIMEBOUND) noexcept {
    return Positions(Positions::Kind::start_per_entry, starts.data(), static_cast<Index>(starts.size()),
                     detail::inner_stride(starts));
}
template <class List, std::enable_if_t<detail::is_integer_list<List>, int> = 0>
ROPE_ABI inline PositionsArgument start_at(const List&& starts ROPE_LIFETIMEBOUND) noexcept {
    return PositionsArgument(Positions::Kind::start_per_entry, starts.data(), static_cast<Index>(starts.size()),
                             detail::inner_stride(starts));
}
template <class Span, std::enable_if_t<detail::is_integer_span<Span>, int> = 0>
ROPE_ABI inline Positions start_at(Span starts) noexcept {
    return Positions(Positions::Kind::start_per_entry, starts.data(), static_cast<Index>(starts.size()),
                     detail::inner_stride(starts));
}
template <class Other,
          std::enable_if_t<!detail::is_position_integer<Other> && !detail::is_integer_container<Other>, int> = 0>
ROPE_ABI inline Positions start_at(const Other&) noexcept {
    static_assert(detail::never<Other>,
                  "rope::start_at takes an integer of up to 64 bits, or a contiguous container of such integers (no "
                  "bool, characters or fractions): for a pointer write rope::ids, or a span.");
    return Positions();
}

/// n explicit position ids: seq of them, shared by the batch, or batch * seq.
template <class Integer>
ROPE_ABI inline Positions ids(const Integer* ptr, Index n) noexcept {
    static_assert(detail::is_position_integer<Integer>,
                  "rope::ids takes a pointer to integers of up to 64 bits (not to bool, characters or fractions).");
    if constexpr (detail::is_position_integer<Integer>) return Positions(Positions::Kind::ids, ptr, n, 1);
    return Positions();
}

}  // namespace ROPE_VERSION_NAMESPACE
}  // namespace rope

#include "detail/base/restore_macros.hpp"
