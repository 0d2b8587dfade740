// SPDX-License-Identifier: MIT
// A list of types as the one place that gives each of them a number.
#pragma once

#include <cstddef>
#include <tuple>
#include <type_traits>

ROPE_DETAIL_BEGIN

/// Types by number, which is the place in the list.
template <class Number, class... Types>
struct TypeList {
    template <int number>
    using At = std::tuple_element_t<static_cast<std::size_t>(number), std::tuple<Types...>>;
    template <class T>
    static constexpr bool has = (std::is_same_v<T, Types> || ...);
    template <class T>
    static constexpr Number number_of() noexcept {
        static_assert(has<T>, "This type must stand in the list.");
        int place = 0;
        static_cast<void>(((std::is_same_v<T, Types> || (++place, false)) || ...));
        return static_cast<Number>(place);
    }
    /// f(the type of a number)
    template <class F>
    ROPE_INLINE static void visit(Number number, const F& f) {
        static_cast<void>(((number == number_of<Types>() ? (f(Types()), true) : false) || ...));
    }
};

ROPE_DETAIL_END
