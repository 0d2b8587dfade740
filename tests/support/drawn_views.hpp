// SPDX-License-Identifier: MIT
// Views, tables and positions at random, right ones and wrong ones, of which nothing is read or written.
#pragma once

#include <rope/core.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <random>
#include <vector>

namespace support {

using rope::Index;
using rope::Positions;
using rope::detail::AnyView;
using rope::detail::Capabilities;
using rope::detail::typed;

inline constexpr Index kMost = std::numeric_limits<Index>::max();

/// Nothing is read or written there.
inline void* address(std::uintptr_t at) { return rope::detail::bit_cast<void*>(at); }

class Draw {
 public:
    bool one_in(Index n) { return below(n) == 0; }
    Index below(Index n) { return static_cast<Index>(engine_() % static_cast<std::uint64_t>(n)); }
    Index of(std::initializer_list<Index> list) { return list.begin()[below(static_cast<Index>(list.size()))]; }
    /// A number that no tensor should have.
    Index hostile() {
        const Index power = Index(1) << below(63);
        return of(
            {0, -1, -3, kMost, -kMost - 1, kMost - 1, kMost / 2, kMost / 2 + 1, power, power - 1, power + 1, -power});
    }

    void type_of(AnyView& v) {
        const Index type = below(4);
        v.element_size = type == 0 ? 8 : type == 1 ? 4 : 2;
        using rope::detail::ElementType;
        v.type = type == 0   ? ElementType::f64
                 : type == 1 ? ElementType::f32
                 : type == 2 ? ElementType::f16
                             : ElementType::bf16;
    }

    /// Axes in any order, each just beyond what the smaller ones reach, and then, maybe, something wrong.
    AnyView view(const std::array<Index, 4>& extents, void* data) {
        AnyView v = {};
        v.name = "x";
        v.data = data;
        type_of(v);
        std::array<std::size_t, 4> order = {3, 2, 1, 0};
        const Index usual = below(6);
        if (usual == 1) order = {3, 1, 2, 0};
        if (usual == 2) order = {3, 2, 0, 1};
        if (usual == 3) order = {1, 3, 2, 0};
        if (usual == 4) order = {0, 1, 2, 3};
        if (usual == 5) std::shuffle(order.begin(), order.end(), engine_);
        Index reach = 0;
        for (const std::size_t axis : order) {
            v.extents[axis] = extents[axis];
            v.strides[axis] = reach + 1 + of({0, 0, 1, 20});
            if (reach < 1000 && one_in(3)) v.strides[axis] *= of({2, 3, 4, Index(1) << 22, Index(1) << 40});
            const Index large = Index(1) << 30;
            if (v.strides[axis] < large && extents[axis] > 0 && extents[axis] < large)
                reach += v.strides[axis] * (extents[axis] - 1);
        }
        if (one_in(3)) {
            Index& stride = v.strides[below(4)];
            const Index mistake = below(4);
            if (mistake == 0) stride -= 1;
            if (mistake == 1) stride = -stride;
            if (mistake == 2) stride = 0;
            if (mistake == 3) stride = hostile();
        }
        if (one_in(40)) v.extents[below(4)] = hostile();
        if (one_in(200)) v.data = nullptr;
        return v;
    }

    /// Somewhere about `v`: where it is, where it or one of its axes ends, or anywhere at all.
    void* place_near(const AnyView& v, const AnyView& other) {
        if (one_in(20)) return address(engine_());
        if (one_in(20)) return address(static_cast<std::uintptr_t>(hostile()));
        std::uintptr_t at = reinterpret_cast<std::uintptr_t>(v.data);
        const auto step = [&](const AnyView& from, std::uint64_t sign) {
            const std::size_t fewest = one_in(4) ? 0 : one_in(3) ? 1 : 2;
            std::uint64_t elements = 1;
            for (std::size_t axis = fewest; axis < 4; ++axis)
                elements += static_cast<std::uint64_t>(from.strides[axis]) *
                            (static_cast<std::uint64_t>(from.extents[axis]) - 1);
            at += sign * elements * static_cast<std::uint64_t>(from.element_size);
        };
        if (one_in(2)) {
            step(v, 1);
        } else if (one_in(2)) {
            step(other, ~std::uint64_t(0));
        }
        if (one_in(2))
            at += static_cast<std::uint64_t>(of({-1, 1})) * static_cast<std::uint64_t>(of({1, 2, 4, 8, 64, 4096}));
        return address(at);
    }

    std::array<Index, 4> extents() {
        std::array<Index, 4> e{};
        for (Index& extent : e) extent = one_in(3) ? 1 : 1 + below(5);
        if (one_in(10))
            e[static_cast<std::size_t>(below(4))] =
                of({0, 128, 4096, Index(1) << 22, (Index(1) << 22) + 1, Index(1) << 31});
        return e;
    }

    /// A second view of these extents: anywhere about the first, or beside it in the rows of one buffer.
    AnyView beside(const AnyView& v, const std::array<Index, 4>& extents) {
        AnyView other = view(extents, v.data);
        if (one_in(3)) {
            other = v;
            std::copy(extents.begin(), extents.end(), other.extents);
            if (one_in(8)) other.strides[below(4)] = hostile();
        }
        other.data = place_near(v, other);
        return other;
    }

    rope::detail::TableShape table(Index head_dim) {
        const Index most = one_in(8) ? Index(1) << 62 : 1 + below(12);
        Index first = one_in(2) ? 0 : of({-3, 3, -(Index(1) << 62)});
        if (one_in(8)) first = (Index(1) << 62) - most;
        const Capabilities unsupported = static_cast<Capabilities>(one_in(8) ? below(8) : 0);
        return {one_in(20) ? head_dim ^ 1 : head_dim, first, most, "cache", unsupported, one_in(4) ? below(5) : 0};
    }

    Positions positions(const rope::detail::TableShape& table, Index batch, Index seq, std::vector<Index>& list) {
        const Index last = table.first_position + table.max_positions - 1;
        const auto near = [&]() -> Index {
            if (one_in(20)) return hostile();
            if (one_in(2)) return table.first_position + below(3) - (one_in(3) ? 1 : 0);
            return last - below(3) + (one_in(3) ? 1 : 0) - (one_in(2) && seq > 0 && seq < 100 ? seq - 1 : 0);
        };
        if (one_in(2)) return rope::start_at(near());
        const bool starts = one_in(2);
        Index count = starts ? batch : one_in(2) ? seq : rope::detail::clamped_product(batch, seq);
        if (count < 0 || count > 10000) count = 0;
        if (one_in(10)) count += of({-1, 1});
        list.assign(static_cast<std::size_t>(std::max<Index>(count, 0)), table.first_position);
        for (Index& position : list)
            if (one_in(4)) position = near();
        const Index* const data = one_in(20) ? nullptr : list.data();
        return Positions(starts ? Positions::Kind::start_per_entry : Positions::Kind::ids, data, count, 1);
    }

 private:
    std::mt19937_64 engine_{20261121};
};

}  // namespace support
