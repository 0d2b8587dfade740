// SPDX-License-Identifier: MIT
// Two views that are said to share no byte share none, and over nine tenths of the disjoint parts of rows and pages are
// seen to be so: drawn views against the set of their bytes.
#include <rope/apply.hpp>

#include <rope/detail/views/view_checks.hpp>

#include <bitset>
#include <cstdint>
#include <random>

#include "support/catch.hpp"

using rope::Index;
using rope::detail::AnyView;

namespace {

constexpr Index kMemory = 1 << 14;
using Bytes = std::bitset<kMemory>;

class Draw {
 public:
    explicit Draw(unsigned seed) : engine_(seed) {}
    Index operator()(Index low, Index high) { return std::uniform_int_distribution<Index>(low, high)(engine_); }

 private:
    std::mt19937 engine_;
};

alignas(64) unsigned char memory[kMemory];

/// Strides are of elements; where they are negative, the data is moved so that all bytes are in memory.
AnyView view_of(Index element, Index offset, const Index (&extents)[4], const Index (&strides)[4]) {
    AnyView v = {"v", nullptr, rope::detail::ElementType::u8, static_cast<unsigned char>(element), {}, {}};
    for (int axis = 0; axis < 4; ++axis) {
        v.extents[axis] = extents[axis];
        v.strides[axis] = strides[axis];
        if (strides[axis] < 0) offset -= strides[axis] * (extents[axis] - 1) * element;
    }
    v.data = memory + offset;
    return v;
}

Bytes bytes_in(const AnyView& v) {
    Bytes bytes;
    const Index begin = static_cast<unsigned char*>(v.data) - memory;
    for (Index b = 0; b < v.extents[0]; ++b)
        for (Index s = 0; s < v.extents[1]; ++s)
            for (Index h = 0; h < v.extents[2]; ++h)
                for (Index i = 0; i < v.extents[3]; ++i) {
                    const Index at = b * v.strides[0] + s * v.strides[1] + h * v.strides[2] + i * v.strides[3];
                    for (Index k = 0; k < v.element_size; ++k)
                        bytes.set(static_cast<std::size_t>(begin + at * v.element_size + k));
                }
    return bytes;
}

/// A part of packed rows of `row` bytes within pages of `page` bytes, which begins anywhere in a row.
AnyView part_of_rows(Draw& draw, Index page, Index row, Index pages, Index rows) {
    const Index element = Index(1) << draw(0, 3), head_dim = draw(1, 4), heads = draw(1, 3);
    const Index unit = row / element, width = heads * head_dim;
    const Index offset = width < unit ? draw(0, unit - width) * element : 0;
    const Index sign = draw(0, 3) == 0 ? -1 : 1;
    return view_of(element, offset, {pages, rows, heads, head_dim}, {page / element, sign * unit, head_dim, 1});
}
/// Up to 8 bytes for each row, behind all rows of the page.
AnyView part_behind_rows(Draw& draw, Index page, Index row, Index pages, Index rows) {
    const Index element = Index(1) << draw(0, 3);
    return view_of(element, rows * row, {pages, rows, draw(1, 8 / element), 1}, {page / element, 8 / element, 1, 1});
}

}  // namespace

TEST_CASE("views with any strides") {
    Draw draw(1);
    long disjoint = 0, shown = 0;
    for (int round = 0; round < 200000; ++round) {
        const auto any = [&] {
            Index extents[4], strides[4];
            for (int axis = 0; axis < 4; ++axis) {
                extents[axis] = draw(1, 3);
                const Index most = draw(0, 2) == 0 ? 60 : 12;
                strides[axis] = draw(-most, most);
            }
            return view_of(Index(1) << draw(0, 2), draw(0, 200), extents, strides);
        };
        const AnyView a = any(), b = any();
        const bool are_disjoint = (bytes_in(a) & bytes_in(b)).none(), is_shown = rope::detail::is_disjoint(a, b);
        if (is_shown) REQUIRE(are_disjoint);
        disjoint += are_disjoint ? 1 : 0;
        shown += is_shown ? 1 : 0;
    }
    CHECK(disjoint > 20000);
    CHECK(shown > disjoint / 10);
}

TEST_CASE("parts of rows within pages, padded or not, and what lies behind all rows of a page") {
    Draw draw(2);
    long disjoint = 0, shown = 0, behind = 0;
    for (int round = 0; round < 200000; ++round) {
        const Index row = 8 * draw(4, 12), rows = draw(1, 4), pages = draw(1, 3);
        const Index page = rows * row + 8 * draw(0, 20);
        const bool is_behind = page - rows * row >= 8 * rows && draw(0, 1) == 0;
        const AnyView a = part_of_rows(draw, page, row, pages, rows);
        const AnyView b = (is_behind ? part_behind_rows : part_of_rows)(draw, page, row, pages, rows);
        behind += is_behind ? 1 : 0;
        const bool are_disjoint = (bytes_in(a) & bytes_in(b)).none(), is_shown = rope::detail::is_disjoint(a, b);
        if (is_shown) REQUIRE(are_disjoint);
        disjoint += are_disjoint ? 1 : 0;
        shown += is_shown ? 1 : 0;
    }
    CHECK(disjoint > 50000);
    CHECK(shown > disjoint * 9 / 10);
    CHECK(behind > 20000);
}
