// SPDX-License-Identifier: MIT
// The positions of KeyPositions, by place and axis.
#pragma once

#include <cstddef>

#include "../../errors.hpp"
#include "../../list.hpp"
#include "../../types.hpp"
#include "../base/containers.hpp"
#include "../base/raise.hpp"
#include "position_numbers.hpp"

ROPE_DETAIL_BEGIN

struct CountedList {
    NumberList numbers;
    Index count;
};
template <class C>
inline CountedList counted(const C& list) noexcept {
    static_assert(
        is_integer_container<C>,
        "Slots and positions are contiguous containers of integers of up to 64 bits (not bool or characters).");
    return {NumberList(list.data(), inner_stride(list)), static_cast<Index>(list.size())};
}

/// Where a key was rotated, and where it stands.
struct KeyPlace {
    Index rotated = 0, now = 0;
};

class KeyPlaces {
 public:
    KeyPlaces(Index places, Index axes) : places_(places), axes_(axes) {
        constexpr Index most = kPointersAreShort ? 1 << 24 : Index(1) << 32;
        if (places < 0 || places > most) refuse(invalid("places is {}; it must be from 0 to {}.", {places, most}));
        if (axes < 1 || axes > 8) refuse(invalid("axes is {}; it must be from 1 to 8.", {axes}));
        all_.resize(static_cast<std::size_t>(places * axes));
    }
    Index places() const noexcept { return places_; }
    Index axes() const noexcept { return axes_; }

    void put(const CountedList& keys, const CountedList& positions, bool are_rotated) {
        check_slots("slots", keys);
        if (positions.count != keys.count * axes_)
            refuse(invalid("positions has {} {number|numbers}; there must be {}: one for each slot and axis.",
                           {positions.count, keys.count * axes_}));
        const Index outside = positions.numbers.find_outside(positions.count, -kMaxPosition, kMaxPosition);
        if (outside < positions.count)
            refuse(out_of_range("positions has {} for entry {}; positions are from -2^52 to 2^52.",
                                {positions.numbers[outside], outside}));
        for_each(keys, [&](Index axis, Index i, KeyPlace& p) {
            p.now = positions.numbers[axis * keys.count + i];
            if (are_rotated) p.rotated = p.now;
        });
    }
    /// Entry by entry, as a slot may come twice; undone before a refusal.
    void shift(const CountedList& keys, Index delta) {
        check_slots("slots", keys);
        for (Index i = 0; i < keys.count; ++i)
            for (Index axis = 0; axis < axes_ && keys.numbers[i] >= 0; ++axis) {
                Index& now = at(keys.numbers[i], axis).now;
                if (is_position(delta) && is_position(now + delta)) {
                    now += delta;
                    continue;
                }
                const Index stood = now;
                for (Index a = 0; a < axis; ++a) at(keys.numbers[i], a).now -= delta;
                for_each({keys.numbers, i}, [&](Index, Index, KeyPlace& p) { p.now -= delta; });
                refuse(out_of_range("delta is {}; entry {} stands at {}, and positions are from -2^52 to 2^52.",
                                    {delta, i, stood}));
            }
    }
    void copy(const CountedList& from, const CountedList& to) {
        check_slots("from", from);
        check_slots("to", to);
        if (from.count != to.count)
            refuse(invalid("from has {} {slot|slots} and to {}; they must be as many.", {from.count, to.count}));
        for_each(from, [&](Index axis, Index i, const KeyPlace& p) {
            if (to.numbers[i] >= 0) at(to.numbers[i], axis) = p;
        });
    }
    void settle(const CountedList& keys) {
        check_slots("slots", keys);
        for_each(keys, [](Index, Index, KeyPlace& p) { p.rotated = p.now; });
    }
    List<Index> gathered(const CountedList& keys, bool are_rotated) const {
        check_slots("slots", keys);
        List<Index> list(static_cast<std::size_t>(keys.count * axes_));
        for (Index i = 0; i < keys.count; ++i)
            for (Index axis = 0; axis < axes_ && keys.numbers[i] >= 0; ++axis) {
                const KeyPlace& p = all_[static_cast<std::size_t>(keys.numbers[i] * axes_ + axis)];
                list[static_cast<std::size_t>(axis * keys.count + i)] = are_rotated ? p.rotated : p.now;
            }
        return list;
    }

 private:
    static bool is_position(Index p) noexcept { return p >= -kMaxPosition && p <= kMaxPosition; }
    void check_slots(const char* name, const CountedList& list) const {
        const Index outside = list.numbers.find_outside(list.count, -1, places_ - 1);
        if (outside < list.count)
            refuse(out_of_range("{} has {} for entry {}; places are from 0 to {}, and -1 leaves an entry out.",
                                {name, list.numbers[outside], outside, places_ - 1}));
    }
    KeyPlace& at(Index slot, Index axis) { return all_[static_cast<std::size_t>(slot * axes_ + axis)]; }
    /// f(axis, i, place) for each entry i that is not left out.
    template <class F>
    void for_each(const CountedList& keys, const F& f) {
        for (Index i = 0; i < keys.count; ++i)
            for (Index axis = 0; axis < axes_ && keys.numbers[i] >= 0; ++axis) f(axis, i, at(keys.numbers[i], axis));
    }

    Index places_, axes_;
    List<KeyPlace> all_;
};

ROPE_DETAIL_END
