// SPDX-License-Identifier: MIT
// reposition on caches, against long double: a key that is read, rotated and written back differs from the rotation of what
// was read by the errors of the rotation and of one rounding to the format.
#include <rope/engine.hpp>
#include <rope/reposition.hpp>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "support/cache_store.hpp"
#include "support/catch.hpp"
#include "support/data.hpp"

using rope::Index;
using rope::Layout;
using support::Kind;
using support::kKinds;
using support::size;
using support::Store;

namespace {

constexpr Index kHeads = support::kCacheHeads, kDim = support::kCacheDim, kTokens = 6;
const std::vector<int> kSlots = {9, 2, 7, 3, 11, 0};
using Head = std::vector<long double>;

/// The largest distance between neighbouring numbers of a format, for a block whose largest number is `most`, and what
/// scales of few bits and a smallest number add.
long double gap(Kind kind, long double most) {
    switch (kind) {
        case Kind::f32: return most * 0x1p-23L;
        case Kind::f16: return most * 0x1p-10L;
        case Kind::bf16: return most * 0x1p-7L;
        case Kind::int8: return most / 127;
        case Kind::int8_groups: return most * (1.0L / 127 + 0x1p-10L);
        case Kind::int8_given: return 0.05L;
        case Kind::int8_channels: return 0.045L;
        case Kind::int8_zeros:
        case Kind::uint8:
        case Kind::uint8_points: return 2 * most / 255;
        case Kind::int4: return most / 7;
        case Kind::uint4: return 2 * most / 15;
        case Kind::uint4_given: return 0.7L;
        case Kind::e4m3: return std::max(most / 8, 0x1p-9L / 0.25L);
        case Kind::e5m2: return std::max(most / 4, 0x1p-16L * 0.25L);
        case Kind::by_head:
        case Kind::by_power:
        case Kind::by_groups: return most / 8;
        case Kind::mxfp4:
        case Kind::ggml_mxfp4: return most / 2;  // numbers beyond 6 times a power of two are held
        case Kind::nvfp4: return most * 0.375L;
        case Kind::q8_0: return most * (1.0L / 127 + 0x1p-10L);
        case Kind::q4_0: return most * (1.0L / 8 + 0x1p-10L);
        case Kind::q4_1: return most * (2.0L / 15 + 0x1p-9L);
        case Kind::q5_0: return most * (1.0L / 16 + 0x1p-10L);
        case Kind::q5_1: return most * (2.0L / 31 + 0x1p-9L);
        case Kind::iq4_nl: return most * 0.25L;
        case Kind::count: break;
    }
    return 0;
}
/// The features that share a scale.
Index block_of(Kind kind) {
    switch (kind) {
        case Kind::int8_groups:
        case Kind::nvfp4: return 16;
        case Kind::int8_zeros:
        case Kind::by_groups:
        case Kind::mxfp4:
        case Kind::q8_0:
        case Kind::q4_0:
        case Kind::q4_1:
        case Kind::q5_0:
        case Kind::q5_1:
        case Kind::iq4_nl:
        case Kind::ggml_mxfp4: return 32;
        default: return kDim;
    }
}
/// Pairs 0 .. pairs - 1 behind `offset`, rotated by angle[i].
void rotate(Layout layout, Index offset, const Head& angles, Head& x) {
    const Index pairs = static_cast<Index>(angles.size());
    for (Index i = 0; i < pairs; ++i) {
        const bool is_half_split = layout == Layout::half_split;
        long double& a = x[size(offset + (is_half_split ? i : 2 * i))];
        long double& b = x[size(offset + (is_half_split ? i + pairs : 2 * i + 1))];
        const long double c = std::cos(angles[size(i)]), s = std::sin(angles[size(i)]), first = a;
        a = first * c - b * s;
        b = b * c + first * s;
    }
}
void transform(Head& x) {
    for (std::size_t distance = 1; distance < x.size(); distance *= 2)
        for (std::size_t i = 0; i < x.size(); ++i)
            if ((i & distance) == 0) {
                const long double a = x[i], b = x[i + distance];
                x[i] = a + b;
                x[i + distance] = a - b;
            }
    for (long double& number : x) number /= std::sqrt(static_cast<long double>(x.size()));
}

std::vector<float> read(Store& store) {
    std::vector<float> x(size(kTokens * kHeads * kDim));
    rope::dequantise(store.at(kSlots), rope::view(x.data(), kTokens, kHeads, kDim));
    return x;
}
Store filled(Kind kind, bool is_heads_first) {
    Store store = {kind, is_heads_first};
    std::vector<float> x = support::normal<float>(kTokens * kHeads * kDim, 7);
    rope::pass(rope::heads(rope::view(x.data(), kTokens, kHeads, kDim)).to(store.at(kSlots)));
    return store;
}

/// Compares each head of `after` with that of `before`, moved by angles(token).
template <class Angles>
void check_moved(Kind kind, Layout layout, Index offset, bool has_hadamard, const std::vector<float>& before,
                 const std::vector<float>& after, const Angles& angles) {
    int wrong = 0;
    for (Index t = 0; t < kTokens; ++t)
        for (Index h = 0; h < kHeads; ++h) {
            const std::size_t at = size((t * kHeads + h) * kDim);
            Head x(before.begin() + static_cast<std::ptrdiff_t>(at),
                   before.begin() + static_cast<std::ptrdiff_t>(at + kDim));
            if (has_hadamard) transform(x);
            rotate(layout, offset, angles(t), x);
            if (has_hadamard) transform(x);
            const Index block = block_of(kind);
            for (Index i = 0; i < kDim; ++i) {
                long double most = 0;
                for (Index k = 0; k < block; ++k) most = std::max(most, std::fabs(x[size(i / block * block + k)]));
                long double norm = 0;
                for (const long double number : x) norm += number * number;
                const long double of_apply = (has_hadamard ? 40 : 4) * 0x1p-24L * std::sqrt(norm);
                const long double error = std::fabs(static_cast<long double>(after[at + size(i)]) - x[size(i)]);
                wrong += !(error <= gap(kind, most) + of_apply);
            }
        }
    CHECK(wrong == 0);
}

rope::Config config(Index rotary_dim, Index offset, bool has_magnitude) {
    rope::Config c;
    c.head_dim = kDim;
    c.rotary_dim = rotary_dim;
    c.rotary_offset = offset;
    c.base = 1000.0;
    if (has_magnitude) c.attention_factor = 1.5;  // which is in the key already, and is not applied again
    return c;
}
Head angles_of(const rope::Config& c, long double distance) {
    Head angles;
    for (Index i = 0; i < c.rotary_dim / 2; ++i)
        angles.push_back(distance *
                         std::pow(static_cast<long double>(c.base),
                                  -2.0L * static_cast<long double>(i) / static_cast<long double>(c.rotary_dim)));
    return angles;
}

}  // namespace

TEST_CASE("a move in a cache is a rotation of what was read, but for one rounding to its format") {
    const std::vector<int> old_ids = {0, 5, 2, 900, 901, 17}, new_ids = {0, 4, 33, 2, 3, 18};
    for (const Kind kind : kKinds)
        for (const Layout layout : {Layout::half_split, Layout::interleaved})
            for (const bool is_partial : {false, true})
                for (const bool has_hadamard : {false, true}) {
                    CAPTURE(static_cast<int>(kind), static_cast<int>(layout), is_partial, has_hadamard);
                    const rope::Config c = is_partial ? config(40, 16, true) : config(kDim, 0, true);
                    Store store = filled(kind, is_partial);
                    const std::vector<float> before = read(store);
                    rope::Moves<float> moves(c);
                    moves.build(old_ids, new_ids, kTokens);
                    if (has_hadamard)
                        rope::reposition(layout, rope::under_hadamard(store.at(kSlots)), moves);
                    else
                        rope::reposition(layout, store.at(kSlots), moves);
                    check_moved(kind, layout, c.rotary_offset, has_hadamard, before, read(store), [&](Index t) {
                        return angles_of(c, static_cast<long double>(new_ids[size(t)] - old_ids[size(t)]));
                    });
                }
}

TEST_CASE("keys move by one delta, by a list of deltas, and on several axes") {
    const rope::Config c = config(kDim, 0, false);
    for (const Kind kind : {Kind::bf16, Kind::q8_0, Kind::by_power}) {
        CAPTURE(static_cast<int>(kind));
        rope::Moves<float> moves(c);
        {
            Store store = filled(kind, false);
            const std::vector<float> before = read(store);
            moves.build(-100);
            rope::reposition<Layout::half_split>(store.at(kSlots), moves);
            check_moved(kind, Layout::half_split, 0, false, before, read(store),
                        [&](Index) { return angles_of(c, -100); });
        }
        {
            Store store = filled(kind, false);
            const std::vector<float> before = read(store);
            const std::vector<int> deltas = {3, -2, 0, 7, 7, -50};
            moves.build(deltas, kTokens);
            rope::reposition<Layout::half_split>(store.at(kSlots), moves);
            check_moved(kind, Layout::half_split, 0, false, before, read(store),
                        [&](Index t) { return angles_of(c, deltas[size(t)]); });
        }
        {
            Store store = filled(kind, true);
            const std::vector<float> before = read(store);
            rope::Moves<float> of_axes(c, rope::mrope_sections({8, 12, 12}));
            const std::vector<int> from = {0, 1, 2, 3, 4, 5, 0, 0, 1, 1, 2, 2, 0, 1, 0, 1, 0, 1};
            std::vector<int> to = from;
            for (std::size_t i = 0; i < to.size(); ++i) to[i] += static_cast<int>(5 * (i / 6) + i % 6);
            of_axes.build(rope::AxisPositions(from, 3), rope::AxisPositions(to, 3), kTokens);
            rope::reposition<Layout::half_split>(store.at(kSlots), of_axes);
            check_moved(kind, Layout::half_split, 0, false, before, read(store), [&](Index t) {
                Head angles = angles_of(c, 1);
                for (std::size_t i = 0; i < angles.size(); ++i) {
                    const std::size_t at = (i < 8 ? 0 : i < 20 ? 1 : 2) * 6 + size(t);
                    angles[i] *= to[at] - from[at];
                }
                return angles;
            });
        }
    }
}

TEST_CASE("a move under a Hadamard transform is a pass that takes it off and does it again") {
    const rope::Config c = config(kDim, 0, false);
    const std::vector<int> old_ids = {0, 5, 2, 900, 901, 17}, new_ids = {0, 4, 33, 2, 3, 18};
    rope::Moves<float> moves(c);
    moves.build(old_ids, new_ids, kTokens);
    for (const Kind kind : {Kind::f32, Kind::q8_0, Kind::int8})
        for (const Index block : {Index(0), Index(16), kDim}) {
            CAPTURE(static_cast<int>(kind), block);
            Store moved = filled(kind, false), expected = moved, parts = moved;
            rope::reposition<Layout::half_split>(rope::under_hadamard(moved.at(kSlots), block), moves);
            rope::pass<Layout::half_split>(moves,
                                           rope::heads(expected.at(kSlots)).hadamard(block).rotate().hadamard(block));
            for (Index i = 0; i < 5; ++i)
                rope::reposition<Layout::half_split>(rope::under_hadamard(parts.at(kSlots), block), moves,
                                                     rope::part(i, 5));
            CHECK(moved == expected);
            CHECK(moved == parts);
        }
    std::vector<float> plain = support::normal<float>(kTokens * kHeads * kDim, 3), expected = plain;
    const auto view = [](std::vector<float>& x) { return rope::view(x.data(), kTokens, kHeads, kDim); };
    rope::reposition<Layout::half_split>(rope::under_hadamard(view(plain)), moves);
    rope::pass<Layout::half_split>(moves, rope::heads(view(expected)).hadamard().rotate().hadamard());
    CHECK(plain == expected);
    Store store = filled(Kind::q8_0, false);
    const Store before = store;
    CHECK(std::string(
              rope::reposition<Layout::half_split>(rope::under_hadamard(store.at(kSlots), 48), moves, rope::no_throw())
                  .message())
              .find("48") != std::string::npos);
    moves.build(std::vector<int>{1, 2, 3}, 3);
    CHECK(std::string(
              rope::reposition<Layout::half_split>(rope::under_hadamard(store.at(kSlots)), moves, rope::no_throw())
                  .message()) == "k.seq is 6; these moves were built for 3 tokens.");
    CHECK(store == before);
}

namespace {
/// Keys in pages within `memory`, behind `offset` numbers, with these strides.
struct Place {
    const char* name;
    Index offset, page, place, head;
};
}  // namespace

TEST_CASE("keys beside a latent, beside values, and in a ring move, and nothing else does") {
    const Place places[] = {{"a latent of 100 before each key", 100, 4 * 3 * 164, 3 * 164, 164},
                            {"each head's key before its value", 0, 4 * 3 * 128, 3 * 128, 128},
                            {"values behind all keys of a page", 0, 2 * 4 * 3 * 64, 3 * 64, 64},
                            {"a key, then a value, of each token, heads first", 0, 3 * 4 * 128, 128, 4 * 128}};
    const std::vector<int> ring = {10, 11, 0, 1, 2, 3};  // 12 places, from which the oldest keys are gone
    rope::Moves<float> moves(config(kDim, 0, true));
    moves.build(std::vector<int>{-7, -7, -7, -7, 3, 0}, kTokens);
    std::vector<float> numbers = support::normal<float>(kTokens * kHeads * kDim, 3), expected = numbers;
    rope::reposition<Layout::half_split>(rope::view(expected.data(), kTokens, kHeads, kDim), moves);
    for (const Place& p : places)
        for (const std::vector<int>& slots : {kSlots, ring}) {
            CAPTURE(p.name, slots);
            std::vector<float> memory(size(p.offset + 3 * p.page), 9.0f);
            rope::Paged<float> pages = rope::paged(memory.data() + p.offset, 3, 4, kHeads, kDim, slots);
            pages.page_stride = p.page;
            pages.place_stride = p.place;
            pages.head_stride = p.head;
            rope::pass(rope::heads(rope::view(numbers.data(), kTokens, kHeads, kDim)).to(pages));
            std::vector<float> want = memory;
            for (Index t = 0; t < kTokens; ++t)
                for (Index h = 0; h < kHeads; ++h)
                    for (Index i = 0; i < kDim; ++i) {
                        const Index slot = slots[size(t)];
                        want[size(p.offset + slot / 4 * p.page + slot % 4 * p.place + h * p.head + i)] =
                            expected[size((t * kHeads + h) * kDim + i)];
                    }
            rope::reposition<Layout::half_split>(pages, moves);
            CHECK(memory == want);
        }
}

TEST_CASE("parts of a move have the bits of the whole") {
    const rope::Config c = config(kDim, 0, false);
    const std::vector<int> old_ids = {0, 5, 2, 900, 901, 17}, new_ids = {0, 4, 33, 2, 3, 18};
    rope::Moves<float> moves(c);
    moves.build(old_ids, new_ids, kTokens);
    for (const Kind kind : kKinds) {
        CAPTURE(static_cast<int>(kind));
        Store whole = filled(kind, false), parts = whole;
        rope::reposition<Layout::half_split>(whole.at(kSlots), moves);
        for (Index i = 0; i < 5; ++i) rope::reposition<Layout::half_split>(parts.at(kSlots), moves, rope::part(i, 5));
        CHECK(whole == parts);
    }
}

TEST_CASE("moves of another number of tokens are refused, and nothing is written") {
    Store store = filled(Kind::q8_0, false);
    const Store before = store;
    rope::Moves<float> moves(config(kDim, 0, false));
    moves.build(std::vector<int>{1, 2, 3}, 3);
    const rope::Status s = rope::reposition<Layout::half_split>(store.at(kSlots), moves, rope::no_throw());
    CHECK(std::string(s.message()) == "k.seq is 6; these moves were built for 3 tokens.");
    CHECK(store == before);
    const std::vector<float> constant(size(support::kPages * support::kPageSize * kHeads * kDim));
    const auto pages = rope::paged(constant.data(), support::kPages, support::kPageSize, kHeads, kDim, kSlots);
    moves.build(1);
    CHECK(std::string(rope::reposition<Layout::half_split>(pages, moves, rope::no_throw()).message()) ==
          "source of path 1 is const, and the path has no destination: add to(...).");
}
