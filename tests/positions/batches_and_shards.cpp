// SPDX-License-Identifier: MIT
// Many sequences in one call, and one sequence in many calls, have the bits of the plain call on each whole sequence:
// packs, packs whose sequences have schedules of their own, shards of context-parallel ranks, trees of drafts.
#include <rope/core.hpp>
#include <rope/position_builders.hpp>
#include <rope/rows.hpp>
#include <rope/wrapped_rows.hpp>

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "support/catch.hpp"
#include "support/data.hpp"

using rope::Config;
using rope::CosSinCache;
using rope::CosSinRows;
using rope::Index;
using rope::Layout;
using rope::Rows;
using support::same_bits;
using support::size;
using support::TableOf;
namespace schedule = rope::schedule;

namespace {

using List = std::vector<Index>;

// A slice of the head turns, in vectors and a rest.
constexpr Index kHeads = 3, kDim = 44, kRotary = 38, kOffset = 4, kPairs = kRotary / 2;
constexpr Index kToken = kHeads * kDim;
constexpr Layout kLayouts[] = {Layout::interleaved, Layout::half_split};

Config model(const rope::Schedule& with = {}) {
    Config config = {kDim};
    config.rotary_dim = kRotary;
    config.rotary_offset = kOffset;
    config.schedule = with;
    return config;
}

/// [tokens, kHeads, kDim]
template <class X>
rope::TensorView<X> view(std::vector<X>& x) {
    return rope::view(x.data(), static_cast<Index>(x.size()) / kToken, kHeads, kDim);
}

template <class X>
std::vector<X> turned(Layout layout, std::vector<X> x, const CosSinRows<TableOf<X>>& rows,
                      rope::PositionsArgument&& positions = {}) {
    rope::apply(layout, view(x), rows, std::move(positions));
    return x;
}

template <class X>
std::vector<X> tokens_of(const std::vector<X>& x, Index first, Index count) {
    return std::vector<X>(x.begin() + first * kToken, x.begin() + (first + count) * kToken);
}

template <class X>
void append(std::vector<X>& to, const std::vector<X>& x) {
    to.insert(to.end(), x.begin(), x.end());
}

/// Tokens `which` of x, one after the other, and back.
template <class X>
std::vector<X> gathered(const std::vector<X>& x, const List& which) {
    std::vector<X> result;
    for (const Index token : which) append(result, tokens_of(x, token, 1));
    return result;
}
template <class X>
void scatter(const std::vector<X>& from, const List& which, std::vector<X>& to) {
    for (std::size_t i = 0; i < which.size(); ++i)
        std::copy_n(from.begin() + static_cast<Index>(i) * kToken, kToken, to.begin() + which[i] * kToken);
}

/// Sequences of many lengths, none and one among them, each from a position of its own.
const List& cu_seqlens() {
    static const List list = {0, 16, 16, 48, 112, 128, 384};
    return list;
}
const List& starts() {
    static const List list = {0, 7, 100, 3, 511, 256};
    return list;
}
constexpr Index kTokens = 384, kSequences = 6, kPositions = 1024;

/// The same with odd lengths, which no rank can halve.
const List& ragged() {
    static const List list = {0, 1, 1, 38, 39, 201, 384};
    return list;
}

/// Sequence after sequence, each by a plain call: sequence i with tables(i), from starts()[i] on.
template <class X, class TableOfSequence>
std::vector<X> one_by_one(Layout layout, const std::vector<X>& x, const List& cu, const TableOfSequence& table) {
    std::vector<X> result;
    for (std::size_t i = 0; i + 1 < cu.size(); ++i)
        append(result, turned(layout, tokens_of(x, cu[i], cu[i + 1] - cu[i]), table(i), rope::start_at(starts()[i])));
    return result;
}

}  // namespace

TEMPLATE_TEST_CASE("a pack has the bits of its sequences", "", float, rope::bfloat16, rope::half, double) {
    using T = TableOf<TestType>;
    const CosSinCache<T> cache(model(), kPositions);
    const auto x = support::normal<TestType>(kTokens * kToken, 1), y = support::normal<TestType>(kTokens * kToken, 2);
    Rows<T> rows(model());
    for (const Layout layout : kLayouts)
        for (const List& cu : {cu_seqlens(), ragged()}) {
            const auto one = [&](std::size_t) -> const CosSinCache<T>& { return cache; };
            const auto expected = one_by_one(layout, x, cu, one);
            const List ids = rope::packed_positions(cu, starts());
            CHECK(same_bits(turned(layout, x, cache, ids), expected));
            // Rows once, for every layer.
            rows.build(ids, kTokens);
            CHECK(same_bits(turned(layout, x, rows), expected));
            CHECK(same_bits(turned(layout, y, rows), one_by_one(layout, y, cu, one)));
            // Into memory of the caller, in ids of another type.
            List memory(kTokens);
            rope::packed_positions(cu, starts(), memory.data(), kTokens);
            CHECK(same_bits(turned(layout, x, cache, std::vector<unsigned short>(memory.begin(), memory.end())),
                            expected));
            // Decoding: a token of each sequence, as a pack and as a batch.
            const auto next = tokens_of(x, 0, kSequences);
            auto batch = next;
            rope::apply(layout, rope::view(batch.data(), kSequences, 1, kHeads, kDim), cache, rope::start_at(starts()));
            CHECK(
                same_bits(turned(layout, next, cache, rope::packed_positions({0, 1, 2, 3, 4, 5, 6}, starts())), batch));
        }
}

TEMPLATE_TEST_CASE("a pack of prompts with images has the bits of its prompts", "", float, rope::bfloat16, double) {
    using T = TableOf<TestType>;
    const rope::AxisMap map = rope::mrope_interleaved({7, 6, 6});
    const std::vector<std::vector<rope::PromptSpan>> prompts = {
        {rope::text_span(4), rope::image_span(5, 3), rope::text_span(9)},
        {rope::text_span(31)},
        {rope::video_span(4, 3, 4, 0.75, 2.0), rope::text_span(1), rope::image_span(1, 7)}};
    // All of them as [3, tokens], and each by Rows of its own.
    std::vector<rope::PromptPositions> positions;
    Index tokens = 0;
    for (const auto& spans : prompts) {
        positions.push_back(rope::mrope_prompt(spans));
        tokens += positions.back().tokens;
    }
    List all;
    for (Index axis = 0; axis < 3; ++axis)
        for (const auto& prompt : positions)
            all.insert(all.end(), prompt.positions.begin() + axis * prompt.tokens,
                       prompt.positions.begin() + (axis + 1) * prompt.tokens);
    Rows<T> packed(model(), map), alone(model(), map);
    packed.build(rope::AxisPositions(all.data(), 3, tokens), tokens);
    const auto x = support::normal<TestType>(tokens * kToken, 3);
    for (const Layout layout : kLayouts) {
        std::vector<TestType> expected;
        Index first = 0;
        for (const auto& prompt : positions) {
            alone.build(rope::AxisPositions(prompt.positions.data(), 3, prompt.tokens), prompt.tokens);
            append(expected, turned(layout, tokens_of(x, first, prompt.tokens), alone));
            first += prompt.tokens;
        }
        CHECK(same_bits(turned(layout, x, packed), expected));
        // After a prompt all axes are one: a plain table serves decoding.
        const auto token = tokens_of(x, 0, 1);
        for (const auto& prompt : positions) {
            const Index n = prompt.tokens + 5, place = n + prompt.delta;
            const List thrice = {place, place, place};
            alone.build(rope::AxisPositions(thrice.data(), 3, 1), 1);
            const CosSinCache<T> cache(model(), kPositions);
            CHECK(same_bits(turned(layout, token, cache, rope::start_at(n + prompt.delta)),
                            turned(layout, token, alone)));
        }
    }
}

TEMPLATE_TEST_CASE("sequences with schedules of their own share a call", "", float, rope::bfloat16, rope::half,
                   double) {
    using T = TableOf<TestType>;
    // Original contexts of 64: the last sequence of cu_seqlens() is beyond them.
    const schedule::LongRope longrope = {std::vector<double>(kPairs, 1.25), std::vector<double>(kPairs, 3.5), 64, 512};
    const schedule::DynamicNtk dynamic = {4.0, 64};
    const auto x = support::normal<TestType>(kTokens * kToken, 4);
    const auto length_of = [](std::size_t i) { return starts()[i] + cu_seqlens()[i + 1] - cu_seqlens()[i]; };
    for (int kind = 0; kind < 3; ++kind) {
        CAPTURE(kind);
        // LongRoPE's short and long list; dynamic NTK, a base for every sequence; and all sorts, with magnitudes of
        // their own.
        const auto config_of = [&](std::size_t i) {
            if (kind == 0) return model(longrope);
            if (kind == 1) return model(dynamic);
            return i % 3 == 0 ? model(dynamic) : i % 3 == 1 ? model(schedule::Yarn{8.0, 64}) : model(longrope);
        };
        std::vector<std::unique_ptr<CosSinCache<T>>> tables;
        std::vector<std::unique_ptr<Rows<T>>> rows;
        // Each sequence builds its part of one memory.
        std::vector<T> memory(size(kTokens * kRotary));
        for (std::size_t i = 0; i < size(kSequences); ++i) {
            const Index first = cu_seqlens()[i], count = cu_seqlens()[i + 1] - first;
            tables.push_back(std::make_unique<CosSinCache<T>>(config_of(i), length_of(i), 0, length_of(i)));
            rows.push_back(std::make_unique<Rows<T>>(config_of(i), rope::AxisMap(), length_of(i)));
            rows.back()->use_memory(memory.data() + first * kRotary, count);
            rows.back()->build(rope::start_at(starts()[i]), count);
        }
        CHECK_FALSE(std::equal(tables[0]->cos_row(1), tables[0]->cos_row(1) + kPairs, tables[2]->cos_row(1)));
        const double m = rows[0]->attention_factor();
        const rope::WrappedRows<T> all({memory.data(), memory.data() + kPairs, kTokens, kPairs, 1, kRotary},
                                       {kDim, kOffset}, m);
        for (const Layout layout : kLayouts) {
            const auto expected =
                one_by_one(layout, x, cu_seqlens(), [&](std::size_t i) -> const CosSinCache<T>& { return *tables[i]; });
            CHECK(same_bits(turned(layout, x, all), expected));
            // And without one view over all: each sequence's slice with its own rows.
            auto sliced = x;
            for (std::size_t i = 0; i < size(kSequences); ++i)
                rope::apply(layout, view(sliced).slice_tokens(cu_seqlens()[i], cu_seqlens()[i + 1] - cu_seqlens()[i]),
                            *rows[i]);
            CHECK(same_bits(sliced, expected));
            if (kind == 2) continue;
            // One magnitude for all: it can be taken back.
            auto back = expected, slow = expected;
            rope::apply_inverse(layout, view(back), all);
            for (std::size_t i = 0; i < size(kSequences); ++i)
                rope::apply_inverse(layout,
                                    view(slow).slice_tokens(cu_seqlens()[i], cu_seqlens()[i + 1] - cu_seqlens()[i]),
                                    *tables[i], rope::start_at(starts()[i]));
            CHECK(same_bits(back, slow));
        }
    }
    // Sequences of one length, as batch entries.
    constexpr Index tokens = 48, entries = 3;
    std::vector<T> memory(size(entries * tokens * kRotary));
    std::vector<std::unique_ptr<Rows<T>>> rows;
    for (Index b = 0; b < entries; ++b) {
        rows.push_back(std::make_unique<Rows<T>>(model(dynamic), rope::AxisMap(), 100 * b));
        rows.back()->use_memory(memory.data() + b * tokens * kRotary, tokens);
        rows.back()->build(rope::start_at(b), tokens);
    }
    const rope::WrappedRows<T> all({memory.data(), memory.data() + kPairs, tokens, kPairs, entries, kRotary},
                                   {kDim, kOffset});
    for (const Layout layout : kLayouts) {
        auto batch = tokens_of(x, 0, entries * tokens), expected = batch;
        rope::apply(layout, rope::view(batch.data(), entries, tokens, kHeads, kDim), all);
        for (Index b = 0; b < entries; ++b)
            rope::apply(layout, view(expected).slice_tokens(b * tokens, tokens),
                        CosSinCache<T>(model(dynamic), 64, 0, 100 * b), rope::start_at(b));
        CHECK(same_bits(batch, expected));
    }
}

TEMPLATE_TEST_CASE("the shards of context-parallel ranks are the whole", "", float, rope::bfloat16, rope::half,
                   double) {
    using T = TableOf<TestType>;
    const CosSinCache<T> cache(model(), kPositions);
    Rows<T> rows(model());
    const auto x = support::normal<TestType>(kTokens * kToken, 5);
    const List one_sequence = {0, kTokens};
    for (const Layout layout : kLayouts)
        for (const Index ranks : {1, 2, 4, 8})
            for (const List& cu : {one_sequence, cu_seqlens()}) {
                CAPTURE(ranks, cu.size());
                const List from(starts().begin(), starts().begin() + static_cast<Index>(cu.size()) - 1);
                const auto whole = turned(layout, x, cache, rope::packed_positions(cu, from));
                CHECK(same_bits(
                    whole, one_by_one(layout, x, cu, [&](std::size_t) -> const CosSinCache<T>& { return cache; })));
                const List local = rope::context_parallel_cu_seqlens(ranks, cu);
                std::vector<TestType> by_ids(x.size()), by_rows = by_ids, by_halves = by_ids;
                for (Index rank = 0; rank < ranks; ++rank) {
                    const List which = rope::context_parallel_positions(
                        rank, ranks, cu, rope::ids(cu.data(), static_cast<Index>(cu.size()) - 1));
                    const List ids = rope::context_parallel_positions(rank, ranks, cu, from);
                    const auto shard = gathered(x, which);
                    REQUIRE(static_cast<Index>(ids.size()) == local.back());
                    scatter(turned(layout, shard, cache, ids), which, by_ids);
                    rows.build(ids, static_cast<Index>(ids.size()));
                    scatter(turned(layout, shard, rows), which, by_rows);
                    // By the local cu_seqlens: two calls for each sequence, where its halves begin.
                    auto halves = shard;
                    for (std::size_t i = 0; i + 1 < cu.size(); ++i) {
                        const Index half = (local[i + 1] - local[i]) / 2;
                        rope::apply(layout, view(halves).slice_tokens(local[i], half), cache,
                                    rope::start_at(from[i] + rank * half));
                        rope::apply(layout, view(halves).slice_tokens(local[i] + half, half), cache,
                                    rope::start_at(from[i] + (2 * ranks - 1 - rank) * half));
                    }
                    scatter(halves, which, by_halves);
                }
                CHECK(same_bits(by_ids, whole));
                CHECK(same_bits(by_rows, whole));
                CHECK(same_bits(by_halves, whole));
            }
}

TEMPLATE_TEST_CASE("a tree of drafts has the bits of its branches", "", float, rope::bfloat16, rope::half, double) {
    using T = TableOf<TestType>;
    // Positions repeat where branches are alternatives, and go back where the next branch begins.
    const std::vector<int> depths = {0, 1, 2, 3, 3, 2, 3, 1, 2, 2, 1, 0, 4, 0};
    const Index drafts = static_cast<Index>(depths.size()), trees = 5;
    const CosSinCache<T> cache(model(), kPositions);
    const auto x = support::normal<TestType>(trees * drafts * kToken, 6);
    std::vector<int> ids;
    for (const int context : {0, 700, 33, 700, 1})
        for (const int depth : depths) ids.push_back(context + depth);
    // One row for every position there is; ids pick them.
    Rows<T> rows(model()), by_token(model());
    rows.build({2, 0, 1, 3, 4}, 5);
    by_token.build(ids, drafts, trees);
    const std::vector<int> row_of_depth = {1, 2, 0, 3, 4};
    std::vector<int> picks;
    for (const int depth : depths) picks.push_back(row_of_depth[static_cast<std::size_t>(depth)]);
    for (const Layout layout : kLayouts) {
        std::vector<TestType> expected;
        for (Index token = 0; token < trees * drafts; ++token)
            append(expected,
                   turned(layout, tokens_of(x, token, 1), cache, rope::start_at(ids[static_cast<std::size_t>(token)])));
        CHECK(same_bits(turned(layout, x, cache, ids), expected));
        auto batch = x, batch_by_rows = x;
        rope::apply(layout, rope::view(batch.data(), trees, drafts, kHeads, kDim), cache, ids);
        CHECK(same_bits(batch, expected));
        rope::apply(layout, rope::view(batch_by_rows.data(), trees, drafts, kHeads, kDim), by_token);
        CHECK(same_bits(batch_by_rows, expected));
        CHECK(same_bits(turned(layout, tokens_of(x, 0, drafts), rows, picks), tokens_of(expected, 0, drafts)));
        // The accepted branch alone: drafts 0, 1, 5, 6 of the first tree.
        const List accepted = {0, 1, 5, 6};
        CHECK(same_bits(turned(layout, gathered(x, accepted), cache), gathered(expected, accepted)));
    }
}
