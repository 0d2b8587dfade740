// SPDX-License-Identifier: MIT
// Rows for a step: building them, turning with them, and what a token costs in sequences of any length. Prints a table;
// --benchmark_out=FILE writes the times as JSON.
#include <rope/compact_cos_sin_cache.hpp>
#include <rope/core.hpp>
#include <rope/position_builders.hpp>
#include <rope/rows.hpp>

#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "baselines.hpp"
#include "data.hpp"
#include "suite.hpp"

namespace {

using bench::Buffer;
using bench::Cell;
using bench::config_of;
using bench::Contest;
using bench::Section;
using bench::shape_name;
using bench::Suite;
using rope::AxisPositions;
using rope::Index;
using rope::Layout;
using rope::Rows;

constexpr Index kTokens = 2048, kHeadDim = 128, kHeads = 32;

/// A prompt of 2048 tokens: text, an image of 32 x 48 patches, text; three axes.
std::vector<int> prompt() {
    constexpr Index height = 32, width = 48;
    std::vector<int> ids;
    for (int axis = 0; axis < 3; ++axis) {
        for (int i = 0; i < 256; ++i) ids.push_back(i);
        for (int y = 0; y < height; ++y)
            for (int x = 0; x < width; ++x) ids.push_back(256 + (axis == 0 ? 0 : axis == 1 ? y : x));
        for (int i = 0; i < 256; ++i) ids.push_back(256 + static_cast<int>(width) + i);
    }
    return ids;
}

struct Data {
    Buffer<float> x{kTokens * kHeads * kHeadDim}, table{kTokens * kHeadDim};
    std::vector<int> ids = std::vector<int>(static_cast<std::size_t>(kTokens));
    std::vector<int> on_axes = prompt();
    rope::CosSinCache<float> cache{config_of(kHeadDim), kTokens};
    Rows<float> rows{config_of(kHeadDim)}, mrope{config_of(kHeadDim), rope::mrope_interleaved({24, 20, 20})};
    Rows<float> sections{config_of(kHeadDim), rope::mrope_sections({16, 24, 24})};
    Data() { std::iota(ids.begin(), ids.end(), 0); }
};

AxisPositions three_axes(const Data& data) { return AxisPositions(data.on_axes.data(), 3, kTokens); }

// ---- 1: building ----

void add_building(Suite& suite, Data& data) {
    Section& section = suite.section("1. Rows of 2048 tokens, 64 pairs, float: how many times as fast as", 1e6,
                                     {"build, us", "std::cos, std::sin", "gathering"});
    const std::vector<double> inv_freq = rope::frequencies(config_of(kHeadDim)).inv_freq;
    const auto add = [&](const char* name, double least, auto build) {
        Contest& contest = suite.contest(std::string("rows ") + name, 20);
        contest.add("rows", build);
        contest.add("library", [&data, inv_freq] { bench::fill_by_library(inv_freq, kTokens, data.table.data()); });
        contest.add("gathering", [&data] {
            for (Index t = 0; t < kTokens; ++t)
                std::copy_n(data.cache.cos_row(data.ids[static_cast<std::size_t>(t)]), kHeadDim,
                            data.table.data() + t * kHeadDim);
        });
        section.rows.push_back(
            {&contest,
             name,
             "rows",
             {{"library", "rows", least > 0 ? Cell::at_least : Cell::none, least}, {"gathering", "rows"}}});
    };
    add("0, 1, 2, ...", 8, [&data] { data.rows.build(data.ids, kTokens); });
    add("M-RoPE, interleaved", 0, [&data] { data.mrope.build(three_axes(data), kTokens); });
    add("M-RoPE, sections", 0, [&data] { data.sections.build(three_axes(data), kTokens); });
    add("M-RoPE, text", 0, [&data] {
        data.mrope.build(AxisPositions(data.ids.data(), 3, kTokens, 0), kTokens);  // the same on all axes
    });
}

// ---- 2: turning ----

void add_prefill(Suite& suite, Data& data) {
    Section& section = suite.section("2. apply with rows on three axes / with a table by position, float, in place",
                                     1e6, {"table h.s., us", "half-split", "interleaved", "h.s., built"});
    for (const Index heads : {kHeads, Index(8), Index(1)}) {
        const Index count = kTokens * heads * kHeadDim;
        float* const x = data.x.data();
        const auto view = rope::view(x, kTokens, heads, kHeadDim);
        Contest& contest = suite.contest("M-RoPE " + shape_name({kTokens, heads, kHeadDim}),
                                         bench::rounds_for(4 * count, Index(1) << 30, 100));
        contest.before([=, &data] {
            bench::fill(x, count);
            data.mrope.build(three_axes(data), kTokens);
        });
        contest.add("table half_split", [=, &data] { rope::apply<Layout::half_split>(view, data.cache); });
        contest.add("rows half_split", [=, &data] { rope::apply<Layout::half_split>(view, data.mrope); });
        contest.add("table interleaved", [=, &data] { rope::apply<Layout::interleaved>(view, data.cache); });
        contest.add("rows interleaved", [=, &data] { rope::apply<Layout::interleaved>(view, data.mrope); });
        contest.add("built half_split", [=, &data] {
            data.mrope.build(three_axes(data), kTokens);
            rope::apply<Layout::half_split>(view, data.mrope);
        });
        section.rows.push_back({&contest,
                                contest.name(),
                                "table half_split",
                                {{"rows half_split", "table half_split", Cell::at_most, 1.05},
                                 {"rows interleaved", "table interleaved", Cell::at_most, 1.05},
                                 {"built half_split", "table half_split"}}});
    }
}

// ---- 3: sequences of any length ----

/// A sequence of n tokens, in steps of at most 512 on the same memory: what stays is what depends on the length.
template <class Table>
class Sequence {
 public:
    Sequence(float* x, Index heads, Index tokens) : x_(x), heads_(heads), tokens_(tokens) {}

    void operator()(const Table& table) const {
        for (Index begin = 0; begin < tokens_; begin += kStep) turn(begin, table, rope::start_at(begin));
    }
    /// The least that a step can cost.
    void operator()() const {
        for (Index begin = 0; begin < tokens_; begin += kStep) bench::scale(x_, count(begin) * heads_ * kHeadDim);
    }
    /// Rows are built for each step.
    void operator()(Rows<float>& rows) const {
        for (Index begin = 0; begin < tokens_; begin += kStep) {
            rows.build(rope::start_at(begin), count(begin));
            turn(begin, rows, {});
        }
    }

 private:
    static constexpr Index kStep = 512;

    Index count(Index begin) const { return std::min(kStep, tokens_ - begin); }
    void turn(Index begin, const rope::CosSinRows<float>& rows, const rope::Positions& positions) const {
        rope::apply<Layout::half_split>(rope::view(x_, count(begin), heads_, kHeadDim), rows, positions);
    }

    float* x_;
    Index heads_, tokens_;
};

void add_lengths(Suite& suite, Data& data) {
    for (const Index heads : {Index(1), Index(8)}) {
        Section& section = suite.section(
            "3. A sequence in steps of 512 tokens, float, half-split, heads: " + std::to_string(heads), 1e3,
            {"compact, ms", "compact, ns/token", "rows, ns/token", "compact / scale", "rows / scale"});
        for (Index tokens = 100; tokens <= 10'000'000; tokens *= 10) {
            Contest& contest = suite.contest("sequence heads " + std::to_string(heads) + " " + std::to_string(tokens),
                                             tokens >= 1'000'000 ? 1 : 5);
            const auto compact = std::make_shared<rope::CompactCosSinCache<float>>(config_of(kHeadDim), tokens);
            const Sequence<rope::CompactCosSinCache<float>> sequence(data.x.data(), heads, tokens);
            contest.before([&data, heads] { bench::fill(data.x.data(), 512 * heads * kHeadDim); });
            contest.note("heads", static_cast<double>(heads)).note("tokens", static_cast<double>(tokens));
            contest.add("scale", [=] { sequence(); });
            contest.add("compact", [=] { sequence(*compact); });
            contest.add("rows", [=, &data] { sequence(data.rows); });
            section.rows.push_back({&contest,
                                    std::to_string(tokens) + " tokens",
                                    "compact",
                                    {{"compact", "", Cell::none, 0, 1e9 / static_cast<double>(tokens)},
                                     {"rows", "", Cell::none, 0, 1e9 / static_cast<double>(tokens)},
                                     {"compact", "scale"},
                                     {"rows", "scale"}}});
        }
    }
}

}  // namespace

int main(int argc, char** argv) {
    Data data;
    Suite suite;
    add_building(suite, data);
    add_prefill(suite, data);
    add_lengths(suite, data);
    if (!suite.run(argc, argv, "5")) return EXIT_FAILURE;
    suite.print();
    return EXIT_SUCCESS;
}
