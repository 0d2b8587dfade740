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

#include "detail/hide_macros.hpp"

namespace rope {
inline namespace ROPE_VERSION_NAMESPACE {

class Positions;

namespace detail {

template <class Integer>
inline constexpr bool is_position_integer =
    std::is_integral_v<Integer> && !std::is_same_v<std::remove_cv_t<Integer>, bool> &&
    !std::is_same_v<std::remove_cv_t<Integer>, char>;  // a string is no list of positions

/// Contiguous containers: data() and size(), and, as in Eigen's vectors, innerStride().
template <class C, class = void>
struct ContainerValue {
    using type = void;
};
template <class C>
struct ContainerValue<
    C, std::void_t<decltype(*std::declval<const C&>().data()), decltype(std::declval<const C&>().size())>> {
    using type = std::remove_cv_t<std::remove_reference_t<decltype(*std::declval<const C&>().data())>>;
};

/// Eigen's matrices and tensors have data() and size() too, but only their vectors are lists.
template <class C, class = void>
inline constexpr bool is_list = true;
template <class C>
inline constexpr bool is_list<C, std::enable_if_t<(C::NumDimensions > 1)>> = false;

template <class C>
inline constexpr bool is_integer_container = is_position_integer<typename ContainerValue<C>::type>&& is_list<C>;

template <class C, class = void>
struct HasInnerStride : std::false_type {};
template <class C>
struct HasInnerStride<C, std::void_t<decltype(std::declval<const C&>().innerStride())>> : std::true_type {};

template <class C>
ROPE_ABI constexpr Index inner_stride(const C& c) noexcept {
    if constexpr (HasInnerStride<C>::value) return static_cast<Index>(c.innerStride());
    return 1;
}

}  // namespace detail

/// The position of every token of a call, as a value. Made by start_at(...), ids(...), or by itself from any
/// contiguous container of integers (std::vector, std::array, std::span, an Eigen vector) or from {5, 0, 7}:
///
///     nothing given             0, 1, 2, ... in every batch entry
///     start_at(n)               n, n+1, n+2, ... in every batch entry
///     start_at(list)            batch entry b has list[b], list[b]+1, ...; list has `batch` entries
///     ids                       explicit position ids: `seq` of them, shared by the batch, or batch * seq of them,
///                               entry after entry. Any integer type, any order, repeats allowed.
///
/// Lists are not copied: like std::string_view, a Positions made from a temporary container is good until the end of
/// the full expression, so pass it straight to the call. When batch is 1 the two counts of ids are the same thing.
class Positions {
 public:
    /// How the positions were given.
    enum class Kind : unsigned char { start, start_per_entry, ids };

    /// 0, 1, 2, ...
    ROPE_ABI Positions() noexcept = default;

    template <class Container, std::enable_if_t<detail::is_integer_container<Container>, int> = 0>
    ROPE_ABI Positions(const Container& list) noexcept  // NOLINT(google-explicit-constructor): reads as a value
        : Positions(Kind::ids, list.data(), static_cast<Index>(list.size()), detail::inner_stride(list)) {}

    template <class Integer, std::enable_if_t<detail::is_position_integer<Integer>, int> = 0>
    ROPE_ABI Positions(std::initializer_list<Integer> list) noexcept
        : Positions(Kind::ids, list.begin(), static_cast<Index>(list.size()), 1) {}
    ROPE_ABI Positions(std::initializer_list<Index> list) noexcept
        : Positions(Kind::ids, list.begin(), static_cast<Index>(list.size()), 1) {}

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

/// n, n+1, n+2, ... in every batch entry.
template <class Integer, std::enable_if_t<detail::is_position_integer<Integer>, int> = 0>
ROPE_ABI inline Positions start_at(Integer n) noexcept {
    constexpr Index most = std::numeric_limits<Index>::max();
    if constexpr (std::is_unsigned_v<Integer> && sizeof(Integer) >= sizeof(Index))
        if (n > static_cast<Integer>(most)) return Positions::from_start(most);
    return Positions::from_start(static_cast<Index>(n));
}

/// One start per batch entry, from any contiguous container of integers, which must outlive the result.
template <class Container, std::enable_if_t<detail::is_integer_container<Container>, int> = 0>
ROPE_ABI inline Positions start_at(const Container& starts) noexcept {
    return Positions(Positions::Kind::start_per_entry, starts.data(), static_cast<Index>(starts.size()),
                     detail::inner_stride(starts));
}

/// n explicit position ids: seq of them, shared by the batch, or batch * seq.
template <class Integer, std::enable_if_t<detail::is_position_integer<Integer>, int> = 0>
ROPE_ABI inline Positions ids(const Integer* ptr, Index n) noexcept {
    return Positions(Positions::Kind::ids, ptr, n, 1);
}

}  // namespace ROPE_VERSION_NAMESPACE
}  // namespace rope

#include "detail/restore_macros.hpp"
