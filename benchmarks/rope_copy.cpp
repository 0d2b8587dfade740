// SPDX-License-Identifier: MIT
// apply_copy against memcpy of the same bytes and against a plain loop, from one token to sequences far beyond the
// caches. Prints a table; --benchmark_out=FILE writes the times as JSON.
#include <rope/core.hpp>

#include <benchmark/benchmark.h>

#include <cstdlib>
#include <cstring>

#include "baselines.hpp"
#include "data.hpp"
#include "suite.hpp"

namespace {

using bench::Buffer;
using bench::Cell;
using bench::Contest;
using bench::Section;
using bench::Suite;
using rope::Index;
using rope::Layout;

constexpr Index kHeads = 32, kHeadDim = 128, kToken = kHeads * kHeadDim, kMost = 8192;
/// The output begins a page further on: at the same place within large pages, loads and stores would collide in L1.
constexpr Index kPage = 1024;

Contest& contest_of(Suite& suite, Index seq, const float* x, float* y, const rope::CosSinCache<float>& table) {
    const Index count = seq * kToken;
    Contest& contest =
        suite.contest(bench::shape_name({seq, kHeads, kHeadDim}), bench::rounds_for(8 * count, Index(1) << 29, 50));
    const auto from = rope::view(x, seq, kHeads, kHeadDim);
    const auto to = rope::view(y, seq, kHeads, kHeadDim);
    const bench::Rows rows = {table.cos_row(0), table.sin_row(0), table.cos_row(1) - table.cos_row(0)};
    contest.add("memcpy", [=] { std::memcpy(y, x, static_cast<std::size_t>(count) * sizeof(float)); });
    contest.add("plain half_split", [=] { bench::copy_half_split(x, y, rows, {seq, kHeads, kHeadDim, 0, 0.0}); });
    contest.add("half_split", [=, &table] { rope::apply_copy<Layout::half_split>(from, to, table); });
    contest.add("plain interleaved", [=] { bench::copy_interleaved(x, y, rows, {seq, kHeads, kHeadDim, 0, 0.0}); });
    contest.add("interleaved", [=, &table] { rope::apply_copy<Layout::interleaved>(from, to, table); });
    return contest;
}

}  // namespace

int main(int argc, char** argv) {
    const Buffer<float> x(kMost * kToken), y(kMost * kToken + kPage);
    const rope::CosSinCache<float> table(bench::config_of(kHeadDim), kMost);
    Suite suite;
    Section& section = suite.section(
        "apply_copy, float", 1e6,
        {"memcpy, us", "half_split / memcpy", "interleaved / memcpy", "half_split / plain", "interleaved / plain"});
    for (Index seq = 1; seq <= kMost; seq *= 2) {
        const Contest& contest = contest_of(suite, seq, x.data(), y.data() + kPage, table);
        const Cell::Goal goal = seq >= 1024 ? Cell::at_most : Cell::none;
        section.rows.push_back({&contest,
                                contest.name(),
                                "memcpy",
                                {{"half_split", "memcpy", goal, 1.05},
                                 {"interleaved", "memcpy", goal, 1.05},
                                 {"half_split", "plain half_split", Cell::at_most, 1.03},
                                 {"interleaved", "plain interleaved", Cell::at_most, 1.03}}});
    }
    if (!suite.run(argc, argv, "9")) return EXIT_FAILURE;
    suite.print();
    return EXIT_SUCCESS;
}
