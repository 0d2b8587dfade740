// SPDX-License-Identifier: MIT
// The types of numbers and lists that positions are made of; a list as data; refusals by the compiler.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "../../errors.hpp"
#include "../../fwd.hpp"
#include "../../types.hpp"
#include "../base/bits.hpp"
#include "../base/containers.hpp"

ROPE_DETAIL_BEGIN

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

template <class Integer>
using IfInteger = std::enable_if_t<is_position_integer<Integer>, int>;
template <class C>
using IfIntegerList = std::enable_if_t<is_integer_list<C>, int>;
template <class C>
using IfIntegerSpan = std::enable_if_t<is_integer_span<C>, int>;
template <class Other>
using IfNoStart = std::enable_if_t<!is_position_integer<Other> && !is_integer_container<Other>, int>;

/// Numbers on several axes may be fractions; their lists have no gaps.
template <class Number>
inline constexpr bool is_position_number =
    is_position_integer<Number> || std::is_same_v<Number, float> || std::is_same_v<Number, double>;
template <class List>
inline constexpr bool is_number_list =
    is_position_number<ContainerValue<List>>&& is_list<List> && !HasInnerStride<List>::value;

/// Types that make Positions, or are refused with a sentence: numbers, pointers and containers of other types.
template <class Source>
inline constexpr bool may_mean_positions =
    !std::is_same_v<Source, Positions> &&
    (std::is_convertible_v<const Source&, Positions> || is_container<Source> ||
     std::is_convertible_v<const Source&, const volatile void*> ||
     (std::is_convertible_v<const Source&, Index> && !std::is_class_v<Source> && !std::is_enum_v<Source>));

template <class Integer>
constexpr void refuse_braces() noexcept {
    static_assert(never<Integer>,
                  "rope::Positions does not own its list, and this one in braces would be gone: give the list a "
                  "name (std::array, std::vector), or pass the braces straight to the call.");
}
/// Makes Positions or a PositionsArgument of a list.
template <class Result, class Kind, class List>
inline Result from_list(Kind kind, const List& list) noexcept {
    return Result(kind, list.data(), static_cast<Index>(list.size()), inner_stride(list));
}

template <class Result, class Source>
inline Result positions_from(const Source& source) noexcept {
    if constexpr (std::is_convertible_v<const Source&, Result>) {
        return source;
    } else {
        static_assert(!is_position_integer<Source>,
                      "positions must not be a lone integer, which could be a start or an id: write "
                      "rope::start_at(n) for n, n+1, n+2, ..., or {n}.");
        static_assert(!std::is_convertible_v<const Source&, const volatile void*>,
                      "positions must not be a lone pointer, which does not say how many there are: write "
                      "rope::ids(ptr, count).");
        static_assert(is_position_integer<Source> || std::is_convertible_v<const Source&, const volatile void*>,
                      "positions must be rope::start_at(n), rope::start_at(list), rope::ids(ptr, count), {5, 0, 7}, "
                      "or a contiguous container of integers of up to 64 bits (not of bool, characters or fractions).");
        return Result();
    }
}

/// An integer as a position. Unsigned ones above the largest Index become the largest Index, which no table holds.
template <class Integer>
constexpr Index clamped_position(Integer x) noexcept {
    if constexpr (std::is_unsigned_v<Integer> && sizeof(Integer) >= sizeof(Index))
        return x < static_cast<Integer>(kMaxIndex) ? static_cast<Index>(x) : kMaxIndex;
    else
        return static_cast<Index>(x);
}

/// Positions of Rows are from -2^52 to 2^52.
inline constexpr Index kMaxPosition = Index(1) << 52;

/// A position as a whole number, rounded towards 0, and the rest. Both are exact: -0.01 rounded downwards would leave
/// 0.99, which has fewer bits.
struct AxisPosition {
    Index whole;
    double part;
};

/// Numbers in memory, whose type is data.
class NumberList {
 public:
    NumberList() noexcept = default;
    /// Every stride-th number.
    template <class Number>
    NumberList(const Number* data, Index stride) noexcept : data_(data), stride_(stride), type_(type_of<Number>()) {}

    const void* data() const noexcept { return data_; }
    Index stride() const noexcept { return stride_; }
    Index element_size() const noexcept {
        return type_ == Type::f32 ? 4 : type_ == Type::f64 ? 8 : Index(1) << static_cast<int>(type_) % 4;
    }
    bool is_fractional() const noexcept { return type_ == Type::f32 || type_ == Type::f64; }
    /// Whether there is a list, which may be empty.
    bool is_given() const noexcept { return type_ != Type::none; }

    bool is_same(const NumberList& other) const noexcept {
        return data_ == other.data_ && stride_ == other.stride_ && type_ == other.type_;
    }

    /// Number i of integers. No part of a kernel, or every kernel would have the eight types in it.
    ROPE_NOINLINE Index operator[](Index i) const noexcept {
        switch (type_) {
            case Type::i8: return whole<std::int8_t>(i);
            case Type::i16: return whole<std::int16_t>(i);
            case Type::i32: return whole<std::int32_t>(i);
            case Type::i64: return whole<std::int64_t>(i);
            case Type::u8: return whole<std::uint8_t>(i);
            case Type::u16: return whole<std::uint16_t>(i);
            case Type::u32: return whole<std::uint32_t>(i);
            case Type::u64:
            case Type::f32:  // which as_double reads
            case Type::f64:
            case Type::none: break;
        }
        return whole<std::uint64_t>(i);
    }

    /// The first of `count` integers below `low` or above `high`, or count if there is none.
    Index find_outside(Index count, Index low, Index high) const noexcept {
        if (type_ == Type::i32) return find_outside_as<std::int32_t>(count, low, high);
        if (type_ == Type::i64) return find_outside_as<std::int64_t>(count, low, high);
        Index i = 0;  // the rarer ones, without a loop of their own
        while (i < count && (*this)[i] >= low && (*this)[i] <= high) ++i;
        return i;
    }

    double as_double(Index i) const noexcept {
        return type_ == Type::f32   ? static_cast<double>(entry<float>(i))
               : type_ == Type::f64 ? entry<double>(i)
                                    : static_cast<double>((*this)[i]);
    }
    /// Whether number i is from -2^52 to 2^52. (An integer just beyond them is rounded to none that is within.)
    bool is_in_range(Index i) const noexcept {
        const double x = as_double(i), most = static_cast<double>(kMaxPosition);
        return is_finite(x) && x >= -most && x <= most;
    }
    /// The position of a number that is in range.
    AxisPosition position(Index i) const noexcept {
        if (!is_fractional()) return {(*this)[i], 0.0};
        const double x = as_double(i);
        const double whole = std::trunc(x);
        return {static_cast<Index>(whole), x - whole};
    }

 private:
    enum class Type : unsigned char { i8, i16, i32, i64, u8, u16, u32, u64, f32, f64, none };

    template <class Number>
    static constexpr Type type_of() noexcept {
        if constexpr (std::is_floating_point_v<Number>) return sizeof(Number) == 4 ? Type::f32 : Type::f64;
        constexpr int log2_size = sizeof(Number) == 1 ? 0 : sizeof(Number) == 2 ? 1 : sizeof(Number) == 4 ? 2 : 3;
        return static_cast<Type>(log2_size + (std::is_signed_v<Number> ? 0 : 4));
    }

    template <class Number>
    Number entry(Index i) const noexcept {
        Number value;  // bytes, because `long` and `long long` are different types of the same bits
        std::memcpy(&value, static_cast<const char*>(data_) + i * stride_ * static_cast<Index>(sizeof(Number)),
                    sizeof(Number));
        return value;
    }
    template <class Integer>
    Index whole(Index i) const noexcept {
        return clamped_position(entry<Integer>(i));
    }
    template <class Integer>
    Index find_outside_as(Index count, Index low, Index high) const noexcept {
        Index i = 0;
        while (i < count && whole<Integer>(i) >= low && whole<Integer>(i) <= high) ++i;
        return i;
    }

    const void* data_ = nullptr;
    Index stride_ = 1;
    Type type_ = Type::none;
};

/// The tokens of a list that holds as many numbers for each axis.
template <class List>
inline Index tokens_per_axis(const List& list, Index axes) {
    static_assert(is_number_list<List>,
                  "rope::AxisPositions takes (ptr, axes, tokens), or (list, axes) with a contiguous container of "
                  "integers of up to 64 bits (not bool or characters), float or double.");
    const Index count = static_cast<Index>(list.size());
    if (axes > 0 && count % axes == 0) return count / axes;
    refuse(
        invalid("The list has {} {position|positions}; there must be as many for each of {} {axis|axes}, of which "
                "there is at least one.",
                {count, axes}));
}

ROPE_DETAIL_END
