// SPDX-License-Identifier: MIT
// A table of two rows per position against one of all rows: time, memory, building. Prints a table;
// --benchmark_out=FILE writes the times as JSON.
#include <rope/compact_cos_sin_cache.hpp>
#include <rope/core.hpp>

#include <unistd.h>

#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <list>
#include <optional>
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
using rope::Index;
using rope::Layout;

constexpr Index kHeadDim = 128, kTokens = 262144;
constexpr Index kMostPositions = 10'000'000;
constexpr double kMicroseconds = 1e6;
using Full = rope::CosSinCache<float>;
using Compact = rope::CompactCosSinCache<float>;

/// The two tables of a number of positions. The full one is left out where it would take a third of the memory.
struct Tables {
    explicit Tables(Index positions) : compact(config_of(kHeadDim), positions) {
        const Index memory = static_cast<Index>(sysconf(_SC_PHYS_PAGES)) * static_cast<Index>(sysconf(_SC_PAGESIZE));
        if (positions * kHeadDim * 4 <= memory / 3) full.emplace(config_of(kHeadDim), positions);
    }
    Compact compact;
    std::optional<Full> full;
};

// ---- The lines with goals: positions 0, 1, 2, ..., tables of just as many ----

struct Line {
    Index seq, heads;
    double over_full, over_scale;  // 0: no goal
};

Cell goal(const char* over, const char* under, double limit) {
    return {over, under, limit > 0 ? Cell::at_most : Cell::none, limit};
}

void add_goals(Suite& suite, float* x) {
    Section& section = suite.section("1. The compact table against the full one and against scale, float, in place",
                                     kMicroseconds, {"full h.s., us", "half-split", "interleaved", "h.s. / scale"});
    for (const Line& line : {Line{262144, 1, 0.80, 1.40}, {2048, 1, 1.30, 0}, {2048, 32, 1.05, 0}}) {
        const Index count = line.seq * line.heads * kHeadDim;
        const auto view = rope::view(x, line.seq, line.heads, kHeadDim);
        const Tables tables(line.seq);
        Contest& contest =
            suite.contest(shape_name({line.seq, line.heads, kHeadDim}), bench::rounds_for(4 * count, 1 << 30, 100));
        contest.before([=] { bench::fill(x, count); });
        contest.add("scale", [=] { bench::scale(x, count); });
        contest.add("full half_split", [=] { rope::apply<Layout::half_split>(view, *tables.full); });
        contest.add("compact half_split", [=] { rope::apply<Layout::half_split>(view, tables.compact); });
        contest.add("full interleaved", [=] { rope::apply<Layout::interleaved>(view, *tables.full); });
        contest.add("compact interleaved", [=] { rope::apply<Layout::interleaved>(view, tables.compact); });
        section.rows.push_back({&contest,
                                contest.name(),
                                "full half_split",
                                {goal("compact half_split", "full half_split", line.over_full),
                                 goal("compact interleaved", "full interleaved", line.over_full),
                                 goal("compact half_split", "scale", line.over_scale)}});
    }
}

// ---- Every length of table and number of heads ----

/// As many tokens as make 128 MiB, in batch entries of at most as many tokens as the table has positions. Each call
/// begins where the one before it ended, so that it finds in the caches what is always there, and no more.
class Walk {
 public:
    Walk(float* x, Index heads, Index positions)
        : seq_(std::min(kTokens / heads, positions)),
          batch_(kTokens / heads / seq_),
          positions_(positions),
          view_(rope::view(x, batch_, seq_, heads, kHeadDim)) {}

    template <class Table>
    void operator()(const Table& table) {
        rope::apply<Layout::half_split>(view_, table, rope::start_at(start_));
        start_ += seq_;
        if (start_ > positions_ - seq_) start_ = 0;
    }
    Index count() const { return view_.batch * view_.seq * view_.heads * kHeadDim; }

 private:
    Index seq_, batch_, positions_, start_ = 0;
    rope::TensorView<float> view_;
};

void add_lengths(Suite& suite, float* x, std::list<Tables>& all) {
    const std::vector<Index> heads = {1, 2, 8, 32};
    for (const Index h : heads) {
        Section& section =
            suite.section("2. Compact / full table, float, half-split, 128 MiB of data, heads: " + std::to_string(h) +
                              ", table positions as named",
                          1e3, {"compact, ms", "compact / full", "compact / scale", "full / scale"});
        auto tables = all.begin();
        for (Index positions = 1000; positions <= kMostPositions; positions *= 10, ++tables) {
            Contest& contest =
                suite.contest("heads " + std::to_string(h) + " positions " + std::to_string(positions), 2);
            const Walk walk(x, h, positions);
            const Tables& t = *tables;
            contest.before([=] { bench::fill(x, walk.count()); });
            contest.note("heads", static_cast<double>(h)).note("positions", static_cast<double>(positions));
            contest.note("compact bytes", static_cast<double>(t.compact.bytes()));
            contest.note("full bytes", static_cast<double>(positions) * kHeadDim * 4);
            contest.add("scale", [=] { bench::scale(x, walk.count()); });
            contest.add("compact", [=, table = t.compact, w = walk]() mutable { w(table); });
            section.rows.push_back({&contest, std::to_string(positions), "compact", {}});
            std::vector<Cell>& cells = section.rows.back().cells;
            if (t.full) {
                contest.add("full", [=, table = *t.full, w = walk]() mutable { w(table); });
                cells.push_back({"compact", "full"});
            }
            cells.push_back({"compact", "scale"});
            if (t.full) cells.push_back({"full", "scale"});
        }
    }
}

// ---- Building ----

void add_building(Suite& suite) {
    Section& section = suite.section("3. Building a compact table, 64 pairs, float", 1e3, {"ms"});
    for (Index positions = 1000; positions <= kMostPositions; positions *= 10) {
        Contest& contest = suite.contest("building " + std::to_string(positions), 10);
        contest.add("compact", [=] {
            const Compact table(config_of(kHeadDim), positions);
            benchmark::DoNotOptimize(table.bytes());
        });
        const double mib = static_cast<double>(Compact(config_of(kHeadDim), positions).bytes()) / (1 << 20);
        char label[64];
        std::snprintf(label, sizeof(label), "%td positions, %.2f MiB", positions, mib);
        section.rows.push_back({&contest, label, "compact", {}});
    }
}

}  // namespace

int main(int argc, char** argv) {
    const Buffer<float> x(Index(2048) * 32 * kHeadDim > kTokens * kHeadDim ? Index(2048) * 32 * kHeadDim
                                                                           : kTokens * kHeadDim);
    std::list<Tables> tables;
    for (Index positions = 1000; positions <= kMostPositions; positions *= 10) tables.emplace_back(positions);
    Suite suite;
    add_goals(suite, x.data());
    add_lengths(suite, x.data(), tables);
    add_building(suite);
    if (!suite.run(argc, argv, "9")) return EXIT_FAILURE;
    suite.print();
    return EXIT_SUCCESS;
}
