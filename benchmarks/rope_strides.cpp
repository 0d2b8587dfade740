// SPDX-License-Identifier: MIT
// Tensors whose features are no neighbours in memory, and copies from one storage order to another, against the same
// calls where they are. Prints a table; --benchmark_out=FILE writes the times as JSON.
#include <rope/core.hpp>

#include <benchmark/benchmark.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "data.hpp"
#include "suite.hpp"

namespace {

using bench::Buffer;
using bench::config_of;
using bench::Contest;
using bench::Section;
using bench::shape_name;
using bench::Suite;
using rope::Index;
using rope::Layout;
using rope::TensorView;

constexpr Index kHeads = 32, kHeadDim = 128, kToken = kHeads * kHeadDim, kMost = 2048;
constexpr double kMicroseconds = 1e6;
constexpr Layout kLayout = Layout::half_split;

struct Shape {
    Index batch, seq;
};

TensorView<float> by_rows(float* x, Shape s) { return rope::view(x, s.batch, s.seq, kHeads, kHeadDim); }
/// As an Eigen tensor [batch, seq, heads, head_dim] has it by default: the first axis is the innermost.
TensorView<float> by_columns(float* x, Shape s) {
    const Index tokens = s.batch * s.seq;
    return {x, s.batch, s.seq, kHeads, kHeadDim, 1, s.batch, tokens, tokens * kHeads};
}

const rope::CosSinCache<float>& cache() {
    static const rope::CosSinCache<float> table(config_of(kHeadDim), kMost);
    return table;
}

Contest& contest_of(Suite& suite, const char* what, Shape s, const Buffer<float>& x, const Buffer<float>& y) {
    const Index count = s.batch * s.seq * kToken;
    Contest& contest = suite.contest(what + (" " + shape_name({s.batch, s.seq, kHeads, kHeadDim})),
                                     bench::rounds_for(8 * count, Index(1) << 29, 50));
    contest.before([&x, &y, count] {
        bench::fill(x.data(), count);
        bench::fill(y.data(), count);
    });
    return contest;
}

}  // namespace

int main(int argc, char** argv) {
    const Buffer<float> x(kMost * kToken), y(kMost * kToken);
    const std::vector<Shape> shapes = {{1, 1}, {1, 3}, {1, 7}, {1, 16}, {1, 20}, {1, 128}, {1, 2048}, {4, 32}, {16, 8}};
    Suite suite;
    Section& in_place = suite.section("In place, float, half-split: by columns / by rows", kMicroseconds,
                                      {"by rows, us", "by columns"});
    for (const Shape s : shapes) {
        Contest& contest = contest_of(suite, "in place", s, x, y);
        contest.add("rows", [=, &x] { rope::apply<kLayout>(by_rows(x.data(), s), cache()); });
        contest.add("columns", [=, &x] { rope::apply<kLayout>(by_columns(x.data(), s), cache()); });
        in_place.rows.push_back({&contest, contest.name(), "rows", {{"columns", "rows"}}});
    }
    Section& copies = suite.section("Copies, float, half-split: from one order to another / by rows", kMicroseconds,
                                    {"by rows, us", "by columns", "rows to columns", "columns to rows"});
    for (const Shape s : shapes) {
        Contest& contest = contest_of(suite, "copy", s, x, y);
        contest.add("rows",
                    [=, &x, &y] { rope::apply_copy<kLayout>(by_rows(x.data(), s), by_rows(y.data(), s), cache()); });
        contest.add("columns", [=, &x, &y] {
            rope::apply_copy<kLayout>(by_columns(x.data(), s), by_columns(y.data(), s), cache());
        });
        contest.add("to columns",
                    [=, &x, &y] { rope::apply_copy<kLayout>(by_rows(x.data(), s), by_columns(y.data(), s), cache()); });
        contest.add("to rows",
                    [=, &x, &y] { rope::apply_copy<kLayout>(by_columns(x.data(), s), by_rows(y.data(), s), cache()); });
        copies.rows.push_back(
            {&contest, contest.name(), "rows", {{"columns", "rows"}, {"to columns", "rows"}, {"to rows", "rows"}}});
    }
    if (!suite.run(argc, argv, "9")) return EXIT_FAILURE;
    suite.print();
    return EXIT_SUCCESS;
}
