// SPDX-License-Identifier: MIT
// The positions of images, videos, prompts with both, packed sequences and context-parallel shards: as published
// examples have them, written out by hand, and as slow code makes them that counts in another way.
#include <rope/core.hpp>
#include <rope/position_builders.hpp>
#include <rope/rows.hpp>

#include <rapidcheck.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <vector>

#include "support/catch.hpp"
#include "support/count_allocations.hpp"
#include "support/data.hpp"
#include "support/exact/mpfr.hpp"

using rope::GridOrder;
using rope::image_span;
using rope::Index;
using rope::PromptSpan;
using rope::text_span;
using rope::video_span;
using support::Real;

namespace {

using List = std::vector<Index>;

constexpr Index kFar = Index(1) << 52;

/// Axes one after the other, as the builders return them.
List axes(std::initializer_list<List> lists) {
    List all;
    for (const List& list : lists) all.insert(all.end(), list.begin(), list.end());
    return all;
}

List counted(Index first, Index count) {
    List list(support::size(count));
    std::iota(list.begin(), list.end(), first);
    return list;
}

/// What a token is: a place in the picture, or beside it.
struct Patch {
    bool is_patch;
    Index row, column;
};

/// Token n of a grid, by division alone.
Patch patch_at(Index n, Index height, Index width, const GridOrder& order) {
    const Index k = n - order.before, b = order.block;
    if (k < 0 || k >= height * width) return {false, 0, 0};
    const Index block = k / (b * b), within = k % (b * b);
    return {true, block / (width / b) * b + within / b, block % (width / b) * b + within % b};
}

/// The prompt token by token, as a list of (t, h, w). Where the next span begins is found by looking at all positions
/// so far, and times are rounded by storing them.
std::vector<std::array<Index, 3>> slow_prompt(const std::vector<PromptSpan>& spans, Index start) {
    std::vector<std::array<Index, 3>> tokens;
    const auto next = [&] {
        Index most = start - 1;
        for (const auto& token : tokens) most = std::max({most, token[0], token[1], token[2]});
        return most + 1;
    };
    for (const PromptSpan& span : spans) {
        for (Index s = 0; s < span.text; ++s) {
            const Index p = next();
            tokens.push_back({p, p, p});
        }
        const Index begin = next();
        for (Index n = 0; n < span.frames * span.height * span.width; ++n) {
            const volatile float frame = static_cast<float>(n / (span.height * span.width));
            const volatile float seconds = frame * static_cast<float>(span.second_per_grid);
            const volatile float time = seconds * static_cast<float>(span.tokens_per_second);
            tokens.push_back(
                {begin + static_cast<Index>(time), begin + n / span.width % span.height, begin + n % span.width});
        }
    }
    return tokens;
}

/// The parts of a sequence, cut one after the other, that rank r of `ranks` has.
List slow_shard(Index rank, Index ranks, const List& cu_seqlens, const List& starts) {
    List result;
    for (std::size_t i = 0; i + 1 < cu_seqlens.size(); ++i) {
        const List sequence = counted(starts[i], cu_seqlens[i + 1] - cu_seqlens[i]);
        const std::ptrdiff_t part = static_cast<Index>(sequence.size()) / (2 * ranks);
        std::vector<List> parts;
        for (auto at = sequence.begin(); static_cast<Index>(parts.size()) < 2 * ranks; at += part)
            parts.emplace_back(at, at + part);
        const List& first = parts[support::size(rank)];
        const List& second = *(parts.rbegin() + rank);
        result.insert(result.end(), first.begin(), first.end());
        result.insert(result.end(), second.begin(), second.end());
    }
    return result;
}

/// Lists of sequences for RapidCheck.
struct Pack {
    List cu_seqlens = {0};
    List starts;
};
Pack any_pack(Index multiple) {
    Pack pack;
    for (Index left = *rc::gen::inRange<Index>(0, 8); left > 0; --left) {
        pack.cu_seqlens.push_back(pack.cu_seqlens.back() + multiple * *rc::gen::inRange<Index>(0, 12));
        pack.starts.push_back(*rc::gen::element<Index>(0, 1, -5, 1000, kFar - 1000, -kFar));
    }
    return pack;
}

}  // namespace

TEST_CASE("patches of an image stand at their rows and columns") {
    CHECK(rope::image_grid(2, 3) == axes({{0, 0, 0, 1, 1, 1}, {0, 1, 2, 0, 1, 2}}));
    CHECK(rope::image_grid(1, 1) == List{0, 0});
    CHECK(rope::image_grid(2, 2, {}, 7) == axes({{7, 7, 8, 8}, {7, 8, 7, 8}}));
    // Llama 4: x + 1, y + 1, and the class token behind them at angle 0.
    CHECK(rope::image_grid(2, 3, {0, 1, true}, 1) == axes({{1, 2, 3, 1, 2, 3, 0}, {1, 1, 1, 2, 2, 2, 0}}));
    // A class token and two registers in front.
    CHECK(rope::image_grid(1, 2, {3}) == axes({{0, 0, 0, 0, 0}, {0, 0, 0, 0, 1}}));
    // Qwen's ViT, patches in the order in which four become one.
    CHECK(rope::image_grid(4, 4, {0, 0, false, 2}) ==
          axes({{0, 0, 1, 1, 0, 0, 1, 1, 2, 2, 3, 3, 2, 2, 3, 3}, {0, 1, 0, 1, 2, 3, 2, 3, 0, 1, 0, 1, 2, 3, 2, 3}}));
    CHECK(rc::check("any grid, by division", [] {
        GridOrder order;
        order.block = *rc::gen::inRange<Index>(1, 5);
        order.before = *rc::gen::inRange<Index>(0, 6);
        order.after = *rc::gen::inRange<Index>(0, 6);
        order.width_first = *rc::gen::arbitrary<bool>();
        const Index height = order.block * *rc::gen::inRange<Index>(1, 9);
        const Index width = order.block * *rc::gen::inRange<Index>(1, 9);
        const Index first = *rc::gen::element<Index>(0, 1, -3, kFar - 40, -kFar);
        const List grid = rope::image_grid(height, width, order, first);
        const std::vector<double> centred = rope::image_grid_centred(height, width, order);
        const Index tokens = order.before + height * width + order.after;
        RC_ASSERT(static_cast<Index>(grid.size()) == 2 * tokens);
        RC_ASSERT(static_cast<Index>(centred.size()) == 2 * tokens);
        for (Index n = 0; n < tokens; ++n) {
            const Patch patch = patch_at(n, height, width, order);
            const std::size_t row = support::size(order.width_first ? tokens + n : n);
            const std::size_t column = support::size(order.width_first ? n : tokens + n);
            RC_ASSERT(grid[row] == (patch.is_patch ? first + patch.row : 0));
            RC_ASSERT(grid[column] == (patch.is_patch ? first + patch.column : 0));
            const double y = (2.0 * static_cast<double>(patch.row) + 1.0) / static_cast<double>(height) - 1.0;
            const double x = (2.0 * static_cast<double>(patch.column) + 1.0) / static_cast<double>(width) - 1.0;
            RC_ASSERT(std::fabs(centred[row] - (patch.is_patch ? y : 0.0)) < 1e-15);
            RC_ASSERT(std::fabs(centred[column] - (patch.is_patch ? x : 0.0)) < 1e-15);
        }
    }));
}

TEST_CASE("DINOv3's coordinates are the nearest doubles") {
    const std::vector<double> rows = {0, -0.5, -0.5, -0.5, -0.5, 0.5, 0.5, 0.5, 0.5};
    const std::vector<double> columns = {0, -0.75, -0.25, 0.25, 0.75, -0.75, -0.25, 0.25, 0.75};
    std::vector<double> both = rows;
    both.insert(both.end(), columns.begin(), columns.end());
    CHECK(rope::image_grid_centred(2, 4, {1}) == both);
    double worst = 0.0;
    for (const Index n : {1, 2, 3, 7, 14, 16, 37, 56, 100, 1001, 10007}) {
        const std::vector<double> grid = rope::image_grid_centred(n, 1);
        for (Index i = 0; i < n; ++i) {
            const double x = grid[support::size(i)];
            if (i == n - 1 - i) {
                REQUIRE(x == 0.0);
                continue;
            }
            const Real place = Real(2.0) * (Real::integer(i) + Real(0.5)) / Real::integer(n) - Real(1.0);
            const double ulp = std::ldexp(1.0, std::ilogb(x) - 52);
            worst = std::max(worst, std::fabs((place - Real(x)).to_double()) / ulp);
            REQUIRE(x == -grid[support::size(n - 1 - i)]);
            REQUIRE(std::fabs(x) < 1.0);
        }
    }
    WARN("coordinates are within " << worst << " ulp");
    CHECK(worst <= 0.5);
}

TEST_CASE("a video's patches stand at their frames, rows and columns") {
    CHECK(rope::video_grid(2, 1, 3) == axes({{0, 0, 0, 1, 1, 1}, {0, 0, 0, 0, 0, 0}, {0, 1, 2, 0, 1, 2}}));
    CHECK(rope::video_grid(1, 2, 2, 10, 20, -30) == axes({{10, 10, 10, 10}, {20, 20, 21, 21}, {-30, -29, -30, -29}}));
    for (const Index frames : {1, 2, 5})
        for (const Index height : {1, 3, 4})
            for (const Index width : {1, 2, 7}) {
                const List grid = rope::video_grid(frames, height, width, -2, 5, kFar - 6);
                const Index tokens = frames * height * width;
                REQUIRE(static_cast<Index>(grid.size()) == 3 * tokens);
                for (Index n = 0; n < tokens; ++n) {
                    REQUIRE(grid[support::size(n)] == n / (height * width) - 2);
                    REQUIRE(grid[support::size(tokens + n)] == n / width % height + 5);
                    REQUIRE(grid[support::size(2 * tokens + n)] == n % width + kFar - 6);
                }
            }
}

TEST_CASE("a prompt has the published positions") {
    // The examples of Hugging Face's Qwen2-VL and Qwen2.5-VL: 3 x 2 x 2 patches, then 5 tokens of text. At 25 tokens
    // per second, two frames per patch and a frame per second, patches are 50 apart.
    const List h = {0, 0, 1, 1, 0, 0, 1, 1, 0, 0, 1, 1}, w = {0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1};
    const auto plain = rope::mrope_prompt({video_span(3, 2, 2), text_span(5)});
    CHECK(plain.positions ==
          axes({{0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2}, counted(3, 5), h, counted(3, 5), w, counted(3, 5)}));
    CHECK(plain.tokens == 17);
    CHECK(plain.delta == 8 - 17);
    const auto timed = rope::mrope_prompt({video_span(3, 2, 2, 2.0, 25.0), text_span(5)});
    const List t = {0, 0, 0, 0, 50, 50, 50, 50, 100, 100, 100, 100};
    CHECK(timed.positions == axes({t, counted(101, 5), h, counted(101, 5), w, counted(101, 5)}));
    CHECK(timed.delta == 106 - 17);

    // Text alone is 0, 1, 2, ... on all axes.
    const auto text = rope::mrope_prompt({text_span(5)});
    CHECK(text.positions == axes({counted(0, 5), counted(0, 5), counted(0, 5)}));
    CHECK(text.delta == 0);

    // An image of 2 x 3 between texts: all its patches at time 2, and what follows after its three columns.
    const auto image = rope::mrope_prompt({text_span(2), image_span(2, 3), text_span(2)});
    CHECK(image.positions == axes({{0, 1, 2, 2, 2, 2, 2, 2, 5, 6},  //
                                   {0, 1, 2, 2, 2, 3, 3, 3, 5, 6},
                                   {0, 1, 2, 3, 4, 2, 3, 4, 5, 6}}));
    CHECK(image.tokens == 10);
    // The first token after the prompt has index 10 and stands at 7.
    CHECK(image.tokens + image.delta == 7);

    // Images without text between, and a prompt that goes on where another ended.
    const auto two = rope::mrope_prompt({image_span(1, 2), image_span(3, 1)}, 7);
    CHECK(two.positions == axes({{7, 7, 9, 9, 9}, {7, 7, 9, 10, 11}, {7, 8, 9, 9, 9}}));
    CHECK(two.tokens + two.delta == 12);
    CHECK(rope::mrope_prompt({text_span(4)}, -2).positions == axes({counted(-2, 4), counted(-2, 4), counted(-2, 4)}));

    // Nothing, in three ways.
    for (const auto& none : {rope::mrope_prompt({}, 3), rope::mrope_prompt({text_span(0)}, 3),
                             rope::mrope_prompt({PromptSpan(), PromptSpan()}, 3)}) {
        CHECK(none.positions.empty());
        CHECK(none.tokens == 0);
        CHECK(none.delta == 3);
    }
}

TEST_CASE("the times of a video are cut once, after float's products") {
    const auto times = [](Index frames, double second_per_grid, double tokens_per_second) {
        List t = rope::mrope_prompt({video_span(frames, 1, 1, second_per_grid, tokens_per_second)}).positions;
        t.resize(support::size(frames));
        return t;
    };
    // Qwen2.5-VL has 2 tokens per second: patches half a second apart do not fall together.
    CHECK(times(4, 0.5, 2.0) == List{0, 1, 2, 3});
    CHECK(times(5, 0.75, 2.0) == List{0, 1, 3, 4, 6});
    CHECK(times(4, 0.083, 2.0) == List{0, 0, 0, 0});
    CHECK(times(3, 0.0, 2.0) == List{0, 0, 0});
    CHECK(times(3, 1.0, 1.0) == List{0, 1, 2});
    // 5 * 0.16 s * 25 is 20, and a little less in float: what Hugging Face computes.
    CHECK(times(8, 0.16, 25.0) == List{0, 4, 8, 12, 16, 19, 24, 28});
    // The text after it begins where the last patch ends, be that by time or by place.
    CHECK(rope::mrope_prompt({video_span(2, 3, 3, 0.5, 2.0)}).delta == 3 - 18);
    CHECK(rope::mrope_prompt({video_span(2, 3, 3, 2.0, 2.0)}).delta == 5 - 18);
    // With 2 per second, all orders of multiplication agree, since doubling is exact.
    for (const double fps : {0.5, 1.0, 1.5, 2.0, 3.0, 7.0, 12.5, 23.976, 29.97, 60.0}) {
        const List ours = times(768, 2.0 / fps, 2.0);
        for (Index i = 0; i < 768; ++i) {
            const volatile float step = static_cast<float>(2.0 / fps) * 2.0f;
            const volatile float time = static_cast<float>(i) * step;
            REQUIRE(ours[support::size(i)] == static_cast<Index>(time));
        }
    }
}

TEST_CASE("any prompt is that of slow code") {
    CHECK(rc::check("token by token", [] {
        std::vector<PromptSpan> spans;
        for (Index left = *rc::gen::inRange<Index>(0, 6); left > 0; --left) {
            const Index a = *rc::gen::inRange<Index>(1, 6), b = *rc::gen::inRange<Index>(1, 6);
            switch (*rc::gen::inRange(0, 3)) {
                case 0: spans.push_back(text_span(a - 1)); break;
                case 1: spans.push_back(image_span(a, b)); break;
                default:
                    spans.push_back(video_span(*rc::gen::inRange<Index>(1, 9), a, b,
                                               *rc::gen::element(0.0, 0.083, 0.16, 0.5, 1.0, 2.0 / 3.0, 2.0, 1e6),
                                               *rc::gen::element(1.0, 2.0, 25.0, 0.3)));
            }
        }
        const Index start = *rc::gen::element<Index>(0, 1, -7, 123456789012345, -kFar);
        const rope::PromptPositions prompt = rope::mrope_prompt(spans, start);
        const auto slow = slow_prompt(spans, start);
        const std::size_t tokens = slow.size();
        RC_ASSERT(prompt.tokens == static_cast<Index>(tokens));
        RC_ASSERT(prompt.positions.size() == 3 * tokens);
        Index most = start - 1;
        for (std::size_t n = 0; n < tokens; ++n)
            for (std::size_t axis = 0; axis < 3; ++axis) {
                RC_ASSERT(prompt.positions[axis * tokens + n] == slow[n][axis]);
                most = std::max(most, slow[n][axis]);
            }
        RC_ASSERT(prompt.delta == most + 1 - prompt.tokens);
        // And Rows take them.
        if (tokens > 0) {
            static rope::Rows<float> rows(rope::Config{16}, rope::mrope_sections({2, 3, 3}));
            rows.build(rope::AxisPositions(prompt.positions.data(), 3, prompt.tokens), prompt.tokens);
            RC_ASSERT(rows.rows() == prompt.tokens);
        }
    }));
}

TEMPLATE_TEST_CASE("packed sequences count from their starts", "", signed char, unsigned char, short, unsigned, int,
                   long, long long, std::uint64_t) {
    const std::vector<TestType> cu_seqlens = {0, 3, 3, 7, 8}, starts = {0, 50, 100, 7};
    const List from_zero = {0, 1, 2, 0, 1, 2, 3, 0}, from_starts = {0, 1, 2, 100, 101, 102, 103, 7};
    CHECK(rope::packed_positions(cu_seqlens) == from_zero);
    CHECK(rope::packed_positions(rope::ids(cu_seqlens.data(), 5)) == from_zero);
    CHECK(rope::packed_positions(cu_seqlens, starts) == from_starts);
    CHECK(rope::packed_positions(cu_seqlens, rope::start_at(starts)) == from_starts);
    CHECK(rope::packed_positions(cu_seqlens, rope::start_at(TestType(5))) == List{5, 6, 7, 5, 6, 7, 8, 5});
    // From the pack's own beginnings: indices.
    CHECK(rope::packed_positions(cu_seqlens, rope::ids(cu_seqlens.data(), 4)) == counted(0, 8));
    List memory(10, -77);
    rope::packed_positions(cu_seqlens, starts, memory.data() + 1, 8);
    CHECK(memory == List{-77, 0, 1, 2, 100, 101, 102, 103, 7, -77});
    // 2 ranks of it, with even lengths.
    const std::vector<TestType> even = {0, 8, 8, 12};
    CHECK(rope::context_parallel_positions(0, 2, even) == List{0, 1, 6, 7, 0, 3});
    CHECK(rope::context_parallel_positions(1, 2, even) == List{2, 3, 4, 5, 1, 2});
    CHECK(rope::context_parallel_cu_seqlens(2, even) == List{0, 4, 4, 6});
}

TEST_CASE("packs in braces, of nothing, and of decoding") {
    CHECK(rope::packed_positions({0, 2, 5}) == List{0, 1, 0, 1, 2});
    CHECK(rope::packed_positions({0}).empty());
    CHECK(rope::packed_positions({0}, List()).empty());
    CHECK(rope::packed_positions({0, 0, 0}).empty());
    rope::packed_positions({0, 0}, {}, nullptr, 0);
    // One token per sequence, each where its sequence is.
    CHECK(rope::packed_positions({0, 1, 2, 3}, {17, 0, -3}) == List{17, 0, -3});
    CHECK(rope::packed_positions({0, 2, 3}, {kFar - 1, -kFar}) == List{kFar - 1, kFar, -kFar});
    CHECK(rc::check("any pack, token by token", [] {
        const Pack pack = any_pack(1);
        const List all = rope::packed_positions(pack.cu_seqlens, pack.starts);
        RC_ASSERT(static_cast<Index>(all.size()) == pack.cu_seqlens.back());
        for (Index n = 0; n < static_cast<Index>(all.size()); ++n) {
            // The sequence is the last one that begins no later.
            const auto after = std::upper_bound(pack.cu_seqlens.begin(), pack.cu_seqlens.end(), n);
            const std::size_t i = support::size(after - pack.cu_seqlens.begin()) - 1;
            RC_ASSERT(all[support::size(n)] == pack.starts[i] + n - pack.cu_seqlens[i]);
        }
    }));
}

TEST_CASE("the form that writes into the caller's memory allocates nothing") {
    const std::vector<int> cu_seqlens = {0, 1, 40, 41, 90}, starts = {500, 0, 7, 3};
    const List once = rope::packed_positions(cu_seqlens, starts);
    List memory(90);
    const long before = support::allocations;
    rope::packed_positions(cu_seqlens, starts, memory.data(), 90);
    const long after = support::allocations;
    CHECK(after == before);
    CHECK(before > 0);
    CHECK(memory == once);
}

TEST_CASE("context-parallel ranks have balanced halves, and together everything once") {
    // Megatron-LM's example: 4 chunks, of which the first rank has 0 and 3.
    CHECK(rope::context_parallel_positions(0, 2, {0, 4}) == List{0, 3});
    CHECK(rope::context_parallel_positions(1, 2, {0, 4}) == List{1, 2});
    // s tokens on this rank: the halves begin at rank * s / 2 and (2 * ranks - rank - 1) * s / 2.
    const Index s = 6, ranks = 4;
    for (Index rank = 0; rank < ranks; ++rank) {
        const List shard = rope::context_parallel_positions(rank, ranks, {Index(0), s * ranks}, rope::start_at(100));
        REQUIRE(static_cast<Index>(shard.size()) == s);
        for (Index j = 0; j < s / 2; ++j) {
            CHECK(shard[support::size(j)] == 100 + rank * (s / 2) + j);
            CHECK(shard[support::size(s / 2 + j)] == 100 + (2 * ranks - rank - 1) * (s / 2) + j);
        }
    }
    CHECK(rope::context_parallel_positions(0, 1, {0, 6, 8}) == List{0, 1, 2, 3, 4, 5, 0, 1});
    CHECK(rope::context_parallel_positions(0, Index(1) << 30, {0}).empty());

    CHECK(rc::check("any pack on any ranks", [] {
        const Index n = *rc::gen::element<Index>(1, 2, 3, 4, 8);
        const Pack pack = any_pack(2 * n);
        const List local = rope::context_parallel_cu_seqlens(n, pack.cu_seqlens);
        RC_ASSERT(local.size() == pack.cu_seqlens.size());
        for (std::size_t i = 0; i < local.size(); ++i) RC_ASSERT(local[i] * n == pack.cu_seqlens[i]);
        std::vector<int> seen(support::size(pack.cu_seqlens.back()));
        const rope::Positions begins = rope::ids(pack.cu_seqlens.data(), static_cast<Index>(pack.starts.size()));
        for (Index rank = 0; rank < n; ++rank) {
            const List shard = rope::context_parallel_positions(rank, n, pack.cu_seqlens, pack.starts);
            RC_ASSERT(shard == slow_shard(rank, n, pack.cu_seqlens, pack.starts));
            RC_ASSERT(static_cast<Index>(shard.size()) == local.back());
            for (const Index token : rope::context_parallel_positions(rank, n, pack.cu_seqlens, begins))
                ++seen[support::size(token)];
        }
        RC_ASSERT(std::all_of(seen.begin(), seen.end(), [](int times) { return times == 1; }));
    }));
}
