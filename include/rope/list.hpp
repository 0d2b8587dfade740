// SPDX-License-Identifier: MIT
// List: a std::vector that belongs to the translation units compiled for one machine.
#pragma once

#include <vector>

#include "version.hpp"

#include "detail/base/containers.hpp"

ROPE_BEGIN

/// A std::vector with another allocator. It converts implicitly from and to a std::vector, by copying. Translation
/// units of a program that are compiled with different -m flags share the functions of std::vector<double>: the linker
/// keeps one of each, which an older machine may not be able to run. They do not share the functions of List<double>
/// (see ROPE_ABI). So the library keeps its numbers in Lists. A function that takes a List takes braces and a
/// std::vector, too:
///
///     config.schedule = rope::schedule::FreqFactors{factors};          // const std::vector<double> factors
template <class T>
class List : public std::vector<T, detail::Allocator<T>> {
    using Base = std::vector<T, detail::Allocator<T>>;

 public:
    using Base::Base;
    ROPE_ABI List() = default;
    ROPE_ABI List(const List&) = default;
    ROPE_ABI List(List&&) noexcept = default;
    ROPE_ABI List& operator=(const List&) = default;
    ROPE_ABI List& operator=(List&&) noexcept = default;
    /// Not inline: where g++ 12 inlines the destructor for a Config's schedule, it warns of members that are not in
    /// use.
    ROPE_ABI ROPE_COLD ~List() {}
    /// Copies the elements; so does the conversion to a std::vector.
    ROPE_ABI List(const std::vector<T>& list) : Base(list.begin(), list.end()) {}
    ROPE_ABI operator std::vector<T>() const { return std::vector<T>(this->begin(), this->end()); }
    ROPE_ABI friend bool operator==(const List& a, const List& b) {
        return static_cast<const Base&>(a) == static_cast<const Base&>(b);
    }
    ROPE_ABI friend bool operator!=(const List& a, const List& b) { return !(a == b); }
};

ROPE_END
