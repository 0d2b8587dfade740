// SPDX-License-Identifier: MIT
// Structs of rope.h as older and newer programs have them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "../../errors.hpp"
#include "../../rope.h"
#include "../../types.hpp"

ROPE_DETAIL_BEGIN

/// The size of a struct in the first version that had it. A struct that grows gets a line here with the offset of its first
/// new member, which never changes again.
template <class S>
inline constexpr std::uint32_t kFirstSize = sizeof(S);
/// No struct grows beyond this: a larger size is memory that nobody has set.
inline constexpr std::uint32_t kLargestSize = 4096;

/// The name of an argument, and of a member of what it points to.
struct Name {
    const char* of;
    const char* member;
    Name(const char* argument, const char* m = "") noexcept  // NOLINT(google-explicit-constructor)
        : of(argument), member(m) {}
};

ROPE_COLD Status missing(Name name, const char* type) noexcept {
    return invalid("{}{} is NULL; it must be a {}.", {name.of, name.member, type});
}

template <class S>
ROPE_COLD Status wrong_size(Name name, const char* type, std::uint32_t size) noexcept {
    return invalid("{}{}.size is {}; it must be sizeof({}), which is {} here.",
                   {name.of, name.member, size, type, sizeof(S)});
}
template <class S>
inline bool is_possible_size(std::uint32_t size) noexcept {
    return size >= kFirstSize<S> && size <= kLargestSize && size % alignof(S) == 0;
}

/// A struct that a caller gives: itself if it has the size that is known here, else a copy, in which members that the
/// caller's program does not know are 0.
template <class S>
class Struct {
    static_assert(std::is_trivial_v<S>);

 public:
    /// Reads what is not NULL.
    ROPE_INLINE Status read(Name name, const char* type, const S* given) noexcept {
        if (given == nullptr) return missing(name, type);
        given_ = given;
        return given->size == sizeof(S) ? Status() : adapt(name, type);
    }
    ROPE_INLINE const S& operator*() const noexcept { return *given_; }
    ROPE_INLINE const S* operator->() const noexcept { return given_; }

 private:
    ROPE_COLD Status adapt(Name name, const char* type) noexcept {
        const std::uint32_t size = given_->size;
        if (!is_possible_size<S>(size)) return wrong_size<S>(name, type, size);
        const auto* const bytes = reinterpret_cast<const unsigned char*>(given_);
        for (std::size_t i = sizeof(S); i < size; ++i)
            if (bytes[i] != 0)
                return invalid(
                    "{}{}.size is {}, of a newer rope.h than this library's, where it is {}; a member that is not 0 "
                    "lies at byte {}, and the library does not know it.",
                    {name.of, name.member, size, sizeof(S), i});
        copy_ = S();
        std::memcpy(&copy_, bytes, size < sizeof(S) ? size : sizeof(S));
        given_ = &copy_;
        return Status();
    }
    const S* given_ = nullptr;
    S copy_;
};

/// Reads element i of an array, all of whose elements have the size of the first, which was read before.
template <class S>
Status read_element(Name name, const char* type, const S* first, Index i, Struct<S>& to) noexcept {
    const S* given = first;
    if (first != nullptr && i > 0) {
        const auto* const bytes = reinterpret_cast<const unsigned char*>(first);
        given = static_cast<const S*>(static_cast<const void*>(bytes + static_cast<std::size_t>(i) * first->size));
    }
    if (given != nullptr && given->size != first->size)
        return invalid("{}{}[{}].size is {}, and that of the first is {}; all elements must have one size.",
                       {name.of, name.member, i, given->size, first->size});
    return to.read(name, type, given);
}

/// Writes a struct of answers, as far as the caller's program knows its members.
template <class S>
Status fill(const char* name, const char* type, const S& answers, S* to) noexcept {
    if (to == nullptr) return missing(name, type);
    const std::uint32_t size = to->size;
    if (!is_possible_size<S>(size)) return wrong_size<S>(name, type, size);
    std::memset(to, 0, size);
    std::memcpy(to, &answers, size < sizeof(S) ? size : sizeof(S));
    to->size = size;
    return Status();
}

/// The answer of a switch for a number in its range that has no case: a new value is refused until it has one.
ROPE_COLD Status no_case(Name name, std::int32_t value) noexcept {
    return invalid("{}{} is {}, which is not supported here.", {name.of, name.member, value});
}

/// A member, whether it is set, and the kinds that read it, as bits.
struct Member {
    const char* name;
    bool is_set;
    unsigned read_by;
};
constexpr unsigned bit_of(std::int32_t kind) noexcept { return 1u << kind; }
/// The first member that is set although the kind does not read it, or null.
template <std::size_t N>
const Member* first_unread(const Member (&members)[N], std::int32_t kind) noexcept {
    for (const Member& m : members)
        if (m.is_set && (m.read_by & bit_of(kind)) == 0) return &m;
    return nullptr;
}

/// A member that must be one of 0 .. count - 1.
ROPE_INLINE Status check_named(Name name, std::int32_t value, std::int32_t count) noexcept {
    if (value >= 0 && value < count) return Status();
    return invalid("{}{} is {}; it must be from 0 to {}.", {name.of, name.member, value, count - 1});
}

ROPE_DETAIL_END
