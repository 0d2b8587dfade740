// SPDX-License-Identifier: MIT
// Gradients of angles, from q, k and their gradients, against multiplying what they read by a constant. Prints a table;
// --benchmark_out=FILE writes the times as JSON.
#include <rope/core.hpp>
#include <rope/gradients.hpp>

#include <benchmark/benchmark.h>

#include <cstdlib>
#include <string>

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

constexpr Index kHeads = 32, kHeadDim = 128, kPairs = kHeadDim / 2, kToken = kHeads * kHeadDim, kMost = 2048;

/// q, k and their gradients, and the sums of a token over both.
template <class X>
struct Operands {
    Buffer<X> q{kMost * kToken}, k{kMost * kToken}, dq{kMost * kToken}, dk{kMost * kToken};
    Buffer<double> angles{kMost * kPairs};
};

template <Layout layout, class X>
void add(Contest& contest, const char* name, Operands<X>& o, Index seq, const rope::CosSinCache<float>& table) {
    const auto view = [seq](const X* x) { return rope::view(x, seq, kHeads, kHeadDim); };
    contest.add(name, [&o, &table, seq, view] {
        const rope::TensorView<double> angles = rope::view(o.angles.data(), seq, 1, kPairs);
        rope::add_angle_gradients<layout>(view(o.q.data()), view(o.dq.data()), table, angles);
        rope::add_angle_gradients<layout>(view(o.k.data()), view(o.dk.data()), table, angles);
    });
}

template <class X>
void add_section(Suite& suite, Operands<X>& o, const rope::CosSinCache<float>& table) {
    const std::string type = bench::type_name<X>();
    Section& section = suite.section("Gradients of angles / scale of q, k, dq and dk, " + type, 1e6,
                                     {"scale, us", "half_split", "interleaved"});
    for (const Index seq : {Index(1), Index(16), Index(128), kMost}) {
        const Index count = seq * kToken, bytes = 4 * count * static_cast<Index>(sizeof(X));
        Contest& contest = suite.contest(type + " " + bench::shape_name({seq, kHeads, kHeadDim}),
                                         bench::rounds_for(bytes, Index(1) << 29, 50));
        contest.add("scale", [&o, count] {
            for (Buffer<X>* x : {&o.q, &o.k, &o.dq, &o.dk}) bench::scale(x->data(), count);
        });
        add<Layout::half_split>(contest, "half_split", o, seq, table);
        add<Layout::interleaved>(contest, "interleaved", o, seq, table);
        const Cell::Goal goal = seq == kMost ? Cell::at_most : Cell::none;
        section.rows.push_back({&contest,
                                bench::shape_name({seq, kHeads, kHeadDim}),
                                "scale",
                                {{"half_split", "scale", goal, 1.5}, {"interleaved", "scale", goal, 1.5}}});
    }
}

}  // namespace

int main(int argc, char** argv) {
    const rope::CosSinCache<float> table(bench::config_of(kHeadDim), kMost);
    Operands<float> floats;
    Operands<rope::bfloat16> narrow;
    Suite suite;
    add_section(suite, floats, table);
    add_section(suite, narrow, table);
    if (!suite.run(argc, argv, "9")) return EXIT_FAILURE;
    suite.print();
    return EXIT_SUCCESS;
}
