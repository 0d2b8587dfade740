// SPDX-License-Identifier: MIT
// A record of positions: a thousand moves by 1 have the bits of one by 1000, as keys stay as they were written.
#include <rope/engine.hpp>
#include <rope/key_positions.hpp>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "support/cache_store.hpp"
#include "support/catch.hpp"
#include "support/data.hpp"
#include "support/refusal.hpp"

using rope::Index;
using rope::KeyPositions;
using rope::Layout;
using support::refusal;
using support::size;
using support::Store;

namespace {

constexpr Index kHeads = support::kCacheHeads, kDim = support::kCacheDim, kTokens = 6;
const std::vector<int> kSlots = {9, 2, -1, 3, 11, 0};

std::vector<Index> of(const rope::List<Index>& list) { return list; }

}  // namespace

TEST_CASE("a thousand moves by 1 have the bits of one move by 1000, in every format") {
    rope::Config config;
    config.head_dim = kDim;
    const rope::CosSinCache<float> cache(config, 4096);
    const std::vector<int> positions = {5, 6, 7, 8, 9, 2000};
    std::vector<float> keys = support::normal<float>(kTokens * kHeads * kDim, 5);
    for (const support::Kind kind : support::kKinds) {
        CAPTURE(static_cast<int>(kind));
        Store store = {kind, true};
        rope::pass<Layout::half_split>(
            cache, positions,
            rope::heads(rope::view(keys.data(), kTokens, kHeads, kDim)).rotate().to(store.at(kSlots)));
        KeyPositions record(support::kPages * support::kPageSize);
        record.write(kSlots, positions);
        for (int i = 0; i < 1000; ++i) record.shift(kSlots, 1);
        CHECK(of(record.rotated_at(kSlots)) == std::vector<Index>{5, 6, 0, 8, 9, 2000});
        CHECK(of(record.now_at(kSlots)) == std::vector<Index>{1005, 1006, 0, 1008, 1009, 3000});
        rope::Moves<float> moves(config), once(config);
        moves.build(record.rotated_at(kSlots), record.now_at(kSlots), kTokens);
        once.build(1000);
        std::vector<float> read(keys.size()), expected(keys.size());
        rope::pass<Layout::half_split>(
            moves, rope::start_at(0),
            rope::heads(store.at(kSlots)).rotate().to(rope::view(read.data(), kTokens, kHeads, kDim)));
        rope::pass<Layout::half_split>(
            once, rope::heads(store.at(kSlots)).rotate().to(rope::view(expected.data(), kTokens, kHeads, kDim)));
        CHECK(read == expected);
        // Brought up to date: the codes of one move.
        Store other = store;
        rope::reposition<Layout::half_split>(store.at(kSlots), moves);
        rope::reposition<Layout::half_split>(other.at(kSlots), once);
        CHECK(store == other);
        record.settle(kSlots);
        CHECK(record.rotated_at(kSlots) == record.now_at(kSlots));
    }
}

TEST_CASE("keys that are written back after each of a thousand moves are far from the key moved once") {
    // The bounds are those that reposition.hpp states; below `least` the record would be of no use.
    constexpr Index kFew = 64, kFeatures = 128;
    const rope::Config config{kFeatures};
    rope::Moves<float> one(config), thousand(config);
    one.build(1);
    thousand.build(1000);
    std::vector<float> numbers = support::normal<float>(kFew * kFeatures, 5), scales(kFew), zeros(kFew);
    std::vector<rope::half> halves(size(kFew * kFeatures));
    std::vector<rope::bfloat16> rounded(halves.size());
    std::vector<signed char> codes(halves.size());
    std::vector<unsigned char> bytes(2 * halves.size());
    const auto as = [](auto& memory, Index width) { return rope::view(memory.data(), kFew, 1, width); };
    const auto worst = [&](const rope::Destination& keys) {
        std::vector<float> once(numbers.size()), many(numbers.size());
        rope::pass(rope::heads(as(numbers, kFeatures)).to(keys));
        rope::dequantise(keys, as(once, kFeatures));
        rope::reposition<Layout::half_split>(as(once, kFeatures), thousand);
        for (int i = 0; i < 1000; ++i) rope::reposition<Layout::half_split>(keys, one);
        rope::dequantise(keys, as(many, kFeatures));
        double largest = 0;
        for (Index h = 0; h < kFew; ++h) {
            double squares = 0, of_error = 0;
            for (Index i = 0; i < kFeatures; ++i) {
                const double a = once[size(h * kFeatures + i)], b = many[size(h * kFeatures + i)];
                squares += a * a;
                of_error += (a - b) * (a - b);
            }
            largest = std::max(largest, std::sqrt(of_error / squares));
        }
        return largest;
    };
    const auto check = [](double error, double least, double most) {
        CHECK(error > least);
        CHECK(error < most);
    };
    check(worst(as(halves, kFeatures)), 0.02, 0.12);
    check(worst(as(rounded, kFeatures)), 0.2, 0.84);
    check(worst(rope::int8(as(codes, kFeatures), as(scales, 1))), 0.2, 5.4);
    check(worst(rope::uint8(as(bytes, kFeatures), as(scales, 1), as(zeros, 1))), 0.2, 2.6);
    check(worst(rope::q8_0(as(bytes, kFeatures / 32 * 34))), 0.2, 2.7);
    check(worst(rope::fp8_e4m3(as(bytes, kFeatures), 1.0f)), 0.5, 1.7);
    check(worst(rope::uint4(as(bytes, kFeatures / 2), as(scales, 1), as(zeros, 1))), 1e3, 1e30);
}

TEST_CASE("a record of several axes, copies and moves to given positions") {
    KeyPositions record(4, 2);
    CHECK(record.places() == 4);
    CHECK(record.axes() == 2);
    const std::vector<short> slots = {3, 1};
    record.write(slots, std::vector<Index>{10, 11, 20, 21});
    record.move(slots, std::vector<int>{12, 13, 20, 25});
    CHECK(of(record.rotated_at(slots)) == std::vector<Index>{10, 11, 20, 21});
    CHECK(of(record.now_at(slots)) == std::vector<Index>{12, 13, 20, 25});
    record.copy(std::vector<int>{3, 1}, std::vector<int>{0, -1});
    const std::vector<int> all = {0, 1, 2, 3};
    CHECK(of(record.now_at(all)) == std::vector<Index>{12, 13, 0, 12, 20, 25, 0, 20});
    CHECK(of(record.rotated_at(all)) == std::vector<Index>{10, 11, 0, 10, 20, 21, 0, 20});
    record.shift(std::vector<int>{1}, -3);
    CHECK(of(record.now_at(all)) == std::vector<Index>{12, 10, 0, 12, 20, 22, 0, 20});
}

TEST_CASE("a record refuses what does not fit, and writes nothing") {
    KeyPositions record(4);
    const std::vector<int> slots = {0, 3}, beyond = {0, 4}, below = {-2}, ids = {7, 8};
    record.write(slots, ids);
    const std::string places = "; places are from 0 to 3, and -1 leaves an entry out.";
    CHECK(refusal([&] { record.write(beyond, ids); }).message == "slots has 4 for entry 1" + places);
    CHECK(refusal([&] { record.shift(below, 1); }).message == "slots has -2 for entry 0" + places);
    CHECK(refusal([&] { static_cast<void>(record.now_at(beyond)); }).message == "slots has 4 for entry 1" + places);
    CHECK(refusal([&] { record.copy(slots, beyond); }).message == "to has 4 for entry 1" + places);
    CHECK(refusal([&] { record.copy(slots, std::vector<int>{1}); }).message ==
          "from has 2 slots and to 1; they must be as many.");
    CHECK(refusal([&] { record.write(slots, std::vector<int>{1}); }).message ==
          "positions has 1 number; there must be 2: one for each slot and axis.");
    const std::vector<Index> far = {0, (Index(1) << 52) + 1};
    CHECK(refusal([&] { record.move(slots, far); }).message ==
          "positions has 4503599627370497 for entry 1; positions are from -2^52 to 2^52.");
    CHECK(refusal([&] { record.shift(slots, (Index(1) << 52) - 7); }).message ==
          "delta is 4503599627370489; entry 1 stands at 8, and positions are from -2^52 to 2^52.");
    CHECK(of(record.now_at(slots)) == std::vector<Index>{7, 8});
    // A slot that comes twice moves twice, and not beyond the range.
    const std::vector<int> twice = {0, 3, 0};
    record.shift(twice, 5);
    CHECK(of(record.now_at(slots)) == std::vector<Index>{17, 13});
    CHECK(refusal([&] { record.shift(twice, Index(1) << 51); }).message ==
          "delta is 2251799813685248; entry 2 stands at 2251799813685265, and positions are from -2^52 to 2^52.");
    CHECK(of(record.now_at(slots)) == std::vector<Index>{17, 13});
    KeyPositions of_axes(2, 2);
    of_axes.write(std::vector<int>{1}, std::vector<Index>{0, Index(1) << 52});
    CHECK_FALSE(refusal([&] { of_axes.shift(std::vector<int>{0, 1}, 1); }).message.empty());
    CHECK(of(of_axes.now_at(std::vector<int>{0, 1})) == std::vector<Index>{0, 0, 0, Index(1) << 52});
    CHECK(refusal([] { KeyPositions(-1); }).message.substr(0, 38) ==
          "places is -1; it must be from 0 to " + std::string(sizeof(void*) == 4 ? "167" : "429"));
    CHECK(refusal([] { KeyPositions(1, 9); }).message == "axes is 9; it must be from 1 to 8.");
}
