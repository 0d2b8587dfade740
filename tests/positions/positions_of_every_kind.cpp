// SPDX-License-Identifier: MIT
// Every way to say the same positions gives the same bits.
#include <rope/core.hpp>

#include <array>
#include <cstdint>
#include <limits>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "support/catch.hpp"
#include "support/data.hpp"

using rope::Index;
using rope::Layout;
using support::same_bits;

namespace {

constexpr Index kBatch = 3, kSeq = 4, kHeads = 2, kDim = 8;
constexpr Layout kLayout = Layout::interleaved;

const std::vector<float>& input() {
    static const std::vector<float> x = support::normal<float>(kBatch * kSeq * kHeads * kDim, 3);
    return x;
}

const rope::CosSinCache<float>& cache() {
    static const rope::CosSinCache<float> table = [] {
        rope::Config config;
        config.head_dim = kDim;
        return rope::CosSinCache<float>(config, 128);
    }();
    return table;
}

std::vector<float> turned(rope::PositionsArgument&& positions) {
    auto x = input();
    rope::apply<kLayout>(rope::view(x.data(), kBatch, kSeq, kHeads, kDim), cache(), std::move(positions));
    return x;
}

/// Token by token, which leaves nothing to get wrong.
std::vector<float> turned_one_by_one(const std::vector<Index>& per_token) {
    auto x = input();
    for (Index t = 0; t < kBatch * kSeq; ++t)
        rope::apply<kLayout>(rope::view(x.data() + t * kHeads * kDim, 1, kHeads, kDim), cache(),
                             rope::start_at(per_token[support::size(t)]));
    return x;
}

template <class Integer>
std::vector<Integer> as(const std::vector<Index>& list) {
    return std::vector<Integer>(list.begin(), list.end());
}

}  // namespace

TEMPLATE_TEST_CASE("ids of every integer type", "", signed char, unsigned char, short, unsigned short, int, unsigned,
                   long, unsigned long, long long, unsigned long long, std::int64_t, std::size_t) {
    const std::vector<Index> shared = {5, 0, 127, 5};
    const std::vector<Index> per_entry = {1, 2, 3, 4, 100, 7, 7, 0, 64, 63, 62, 61};
    std::vector<Index> repeated;
    for (Index b = 0; b < kBatch; ++b) repeated.insert(repeated.end(), shared.begin(), shared.end());
    const auto one = as<TestType>(shared);
    const auto all = as<TestType>(per_entry);
    CHECK(same_bits(turned(one), turned_one_by_one(repeated)));
    CHECK(same_bits(turned(all), turned_one_by_one(per_entry)));
    CHECK(same_bits(turned(rope::ids(all.data(), kBatch * kSeq)), turned_one_by_one(per_entry)));
    const std::vector<TestType> starts = {7, 0, 100};
    CHECK(same_bits(turned(rope::start_at(starts)), turned_one_by_one({7, 8, 9, 10, 0, 1, 2, 3, 100, 101, 102, 103})));
    CHECK(same_bits(turned(rope::start_at(TestType(9))),
                    turned_one_by_one({9, 10, 11, 12, 9, 10, 11, 12, 9, 10, 11, 12})));
}

TEST_CASE("nothing given, arrays and lists in braces") {
    const std::vector<Index> from_zero = {0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3};
    auto x = input();
    rope::apply<kLayout>(rope::view(x.data(), kBatch, kSeq, kHeads, kDim), cache());
    CHECK(same_bits(x, turned_one_by_one(from_zero)));
    CHECK(same_bits(turned({}), x));
    CHECK(same_bits(turned(std::array<int, 4>{0, 1, 2, 3}), x));
    CHECK(same_bits(turned({0, 1, 2, 3}), x));
    CHECK(same_bits(turned({5u, 6u, 7u, 8u}), turned(rope::start_at(5))));
    CHECK(same_bits(turned({std::uint8_t(5), std::uint8_t(6), std::uint8_t(7), std::uint8_t(8)}),
                    turned(rope::start_at(5))));
}

TEST_CASE("what does not say positions does not convert") {
    static_assert(!std::is_convertible_v<int, rope::Positions>, "a lone integer could be a start or an id");
    static_assert(!std::is_convertible_v<double, rope::Positions>, "");
    static_assert(!std::is_convertible_v<std::vector<float>, rope::Positions>, "");
    static_assert(!std::is_convertible_v<std::vector<bool>, rope::Positions>, "");
    static_assert(!std::is_convertible_v<std::string, rope::Positions>, "");
    static_assert(std::is_convertible_v<std::vector<unsigned short>, rope::Positions>, "");
    SUCCEED();
}

TEST_CASE("unsigned ids beyond every table are seen as such") {
    const std::vector<std::uint64_t> huge = {0, 1, std::numeric_limits<std::uint64_t>::max(), 3};
    const rope::Positions positions = huge;
    CHECK(positions[2] == std::numeric_limits<Index>::max());
    CHECK(positions.find_outside(0, 127) == 2);
    CHECK(rope::start_at(std::numeric_limits<std::uint64_t>::max()).start() == std::numeric_limits<Index>::max());
}

TEST_CASE("the position of a token, read back") {
    const std::vector<int> starts = {5, 50, 500}, shared = {9, 8, 7, 6};
    const std::vector<int> own = {1, 2, 3, 4, 11, 12, 13, 14, 21, 22, 23, 24};
    const rope::Positions from_one = rope::start_at(7), from_each = rope::start_at(starts), ids = shared, all = own;
    for (Index b = 0; b < kBatch; ++b)
        for (Index s = 0; s < kSeq; ++s) {
            CHECK(from_one.at(b, s, kSeq) == 7 + s);
            CHECK(from_each.at(b, s, kSeq) == starts[support::size(b)] + s);
            CHECK(ids.at(b, s, kSeq) == shared[support::size(s)]);
            CHECK(all.at(b, s, kSeq) == own[support::size(b * kSeq + s)]);
        }
}

TEST_CASE("ids of the entry, not of its neighbour") {
    // Every batch entry has ids of its own; give the wrong ones to one entry and it shows.
    const std::vector<int> right = {1, 2, 3, 4, 11, 12, 13, 14, 21, 22, 23, 24};
    std::vector<int> wrong = right;
    wrong[4] = 1;
    const auto a = turned(right);
    const auto b = turned(wrong);
    const std::size_t token = support::size(kHeads * kDim);
    for (std::size_t i = 0; i < a.size(); ++i) {
        const bool touched = i / token == 4;
        if (!touched) REQUIRE(a[i] == b[i]);
    }
    CHECK(!same_bits(a, b));
}
