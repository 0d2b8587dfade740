// SPDX-License-Identifier: MIT
// Moving the keys of a cache against multiplying them by a constant, and what it costs to say how far each goes. Prints
// a table; --benchmark_out=FILE writes the times as JSON.
#include <rope/core.hpp>
#include <rope/reposition.hpp>
#include <rope/rows.hpp>

#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <numeric>
#include <random>
#include <string>
#include <vector>

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
using rope::Moves;

constexpr Index kTokens = 32768, kHeads = 8, kHeadDim = 128, kPairs = kHeadDim / 2;
constexpr double kMicroseconds = 1e6;

/// Where tokens stand: in order; behind a gap that is closed; at a quarter; anywhere.
struct Ids {
    std::vector<int> in_order, closed, quarter, anywhere;
    Ids() : in_order(static_cast<std::size_t>(kTokens)) {
        std::iota(in_order.begin(), in_order.end(), 0);
        closed = quarter = anywhere = in_order;
        for (int& id : closed) id = id < 4 ? id : id - 3 > 4 ? id - 3 : 4;
        for (int& id : quarter) id /= 4;
        std::minstd_rand engine(1);
        std::shuffle(anywhere.begin(), anywhere.end(), engine);
    }
};

/// What lives as long as the contests.
struct Data {
    Buffer<float> floats{kTokens * kHeads * kHeadDim};
    Buffer<rope::half> halves{kTokens * kHeads * kHeadDim};
    Buffer<rope::bfloat16> bfloats{kTokens * kHeads * kHeadDim};
    Ids ids;
    Moves<float> by_delta{config_of(kHeadDim)}, by_ids{config_of(kHeadDim)},
        between{config_of(kHeadDim), 0, config_of(kHeadDim, 5e5), 0};
    Moves<float> on_axes{config_of(kHeadDim), rope::mrope_interleaved({24, 20, 20})};
    Moves<double> doubles{config_of(kHeadDim)}, doubles_between{config_of(kHeadDim), 0, config_of(kHeadDim, 5e5), 0};
    rope::Rows<float> rows{config_of(kHeadDim)};
};

// ---- 1: by a delta ----

template <class X>
void add_delta(Suite& suite, Section& section, const Data& data, X* x, Index tokens, double limit) {
    const Index count = tokens * kHeads * kHeadDim;
    const auto view = rope::view(x, tokens, kHeads, kHeadDim);
    const Moves<float>* const moves = &data.by_delta;
    Contest& contest = suite.contest(bench::type_name<X>() + (" " + shape_name({tokens, kHeads, kHeadDim})),
                                     bench::rounds_for(count * static_cast<Index>(sizeof(X)), Index(1) << 30, 100));
    contest.before([=] { bench::fill(x, count); });
    contest.add("scale", [=] { bench::scale(x, count); });
    contest.add("half_split", [=] { rope::reposition<Layout::half_split>(view, *moves); });
    contest.add("interleaved", [=] { rope::reposition<Layout::interleaved>(view, *moves); });
    const Cell::Goal goal = limit > 0 ? Cell::at_most : Cell::none;
    section.rows.push_back({&contest,
                            contest.name(),
                            "scale",
                            {{"half_split", "scale", goal, limit}, {"interleaved", "scale", goal, limit}}});
}

// ---- 2: from ids to ids, from schedule to schedule ----

void add_ids(Suite& suite, Data& data) {
    Section& section = suite.section("2. From ids to ids / scale, float, [32768, 8, 128], half-split", kMicroseconds,
                                     {"scale, us", "one schedule", "two schedules"});
    float* const x = data.floats.data();
    const auto view = rope::view(x, kTokens, kHeads, kHeadDim);
    const auto add = [&](const char* name, bool with_building) {
        Contest& contest = suite.contest(name, 6);
        contest.before([x, &data] {
            bench::fill(x, kTokens * kHeads * kHeadDim);
            data.by_ids.build(data.ids.in_order, data.ids.quarter, kTokens);
            data.between.build(data.ids.in_order, data.ids.in_order, kTokens);
        });
        contest.add("scale", [=] { bench::scale(x, kTokens * kHeads * kHeadDim); });
        contest.add("one", [=, &data] {
            if (with_building) data.by_ids.build(data.ids.in_order, data.ids.quarter, kTokens);
            rope::reposition<Layout::half_split>(view, data.by_ids);
        });
        contest.add("two", [=, &data] {
            if (with_building) data.between.build(data.ids.in_order, data.ids.in_order, kTokens);
            rope::reposition<Layout::half_split>(view, data.between);
        });
        section.rows.push_back({&contest, name, "scale", {{"one", "scale"}, {"two", "scale"}}});
    };
    add("moves built before", false);
    add("moves built each time", true);
}

// ---- 3: building ----

void add_building(Suite& suite, Data& data) {
    Section& section = suite.section("3. Building moves of 32768 tokens, 64 pairs: ns per pair, and against Rows",
                                     1e9 / static_cast<double>(kTokens * kPairs), {"ns", "/ Rows"});
    const auto add = [&](const char* name, auto build) {
        Contest& contest = suite.contest(std::string("building ") + name, 10);
        contest.add("moves", build);
        contest.add("Rows", [&data] { data.rows.build(data.ids.in_order, kTokens); });
        section.rows.push_back({&contest, name, "moves", {{"moves", "Rows"}}});
    };
    const Ids& ids = data.ids;
    add("gap closed", [&] { data.by_ids.build(ids.in_order, ids.closed, kTokens); });
    add("a quarter", [&] { data.by_ids.build(ids.in_order, ids.quarter, kTokens); });
    add("anywhere", [&] { data.by_ids.build(ids.in_order, ids.anywhere, kTokens); });
    add("two schedules", [&] { data.between.build(ids.in_order, ids.in_order, kTokens); });
    add("two schedules, a quarter", [&] { data.between.build(ids.in_order, ids.quarter, kTokens); });
    add("double, a quarter", [&] { data.doubles.build(ids.in_order, ids.quarter, kTokens); });
    add("double, two schedules", [&] { data.doubles_between.build(ids.in_order, ids.in_order, kTokens); });
    static std::vector<int> from, to;
    for (const std::vector<int>* axis : {&ids.in_order, &ids.quarter, &ids.closed}) {
        from.insert(from.end(), ids.in_order.begin(), ids.in_order.end());
        to.insert(to.end(), axis->begin(), axis->end());
    }
    add("three axes", [&] {
        data.on_axes.build(AxisPositions(from.data(), 3, kTokens), AxisPositions(to.data(), 3, kTokens), kTokens);
    });
    Section& making = suite.section("Making them, 64 pairs: milliseconds", 1e3, {"ms"});
    Contest& contest = suite.contest("making", 10);
    contest.add("one", [] { benchmark::DoNotOptimize(Moves<float>(config_of(kHeadDim)).pairs()); });
    contest.add("two", [] {
        benchmark::DoNotOptimize(Moves<float>(config_of(kHeadDim), 0, config_of(kHeadDim, 5e5), 0).pairs());
    });
    making.rows.push_back({&contest, "one schedule", "one", {}});
    making.rows.push_back({&contest, "two schedules", "two", {}});
}

}  // namespace

int main(int argc, char** argv) {
    Data data;
    data.by_delta.build(-1024);
    Suite suite;
    Section& deltas =
        suite.section("1. By a delta / scale, in place", kMicroseconds, {"scale, us", "half_split", "interleaved"});
    add_delta(suite, deltas, data, data.floats.data(), kTokens, 1.25);
    for (const Index tokens : {Index(512), Index(4096)}) add_delta(suite, deltas, data, data.floats.data(), tokens, 0);
    add_delta(suite, deltas, data, data.halves.data(), kTokens, 0);
    add_delta(suite, deltas, data, data.bfloats.data(), kTokens, 0);
    add_ids(suite, data);
    add_building(suite, data);
    if (!suite.run(argc, argv, "9")) return EXIT_FAILURE;
    suite.print();
    return EXIT_SUCCESS;
}
