// SPDX-License-Identifier: MIT
// Every instruction set, type, layout and size: RoPE against scale and additive embeddings. Prints the ratios to scale;
// --benchmark_out=FILE writes the times as JSON, which plot.py draws.
#include <rope/additive.hpp>
#include <rope/core.hpp>
#include <rope/isa.hpp>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "data.hpp"
#include "suite.hpp"

namespace {

using bench::Contest;
using bench::Suite;
using rope::Index;
using rope::Layout;

constexpr Index kHeads = 32, kHeadDim = 128;
constexpr Index kSmallest = Index(4) << 10, kLargest = Index(128) << 20;  // bytes

/// In place on a tensor of so many bytes; where they are no whole token of 32 heads, one of fewer.
template <class X>
Contest& add_contest(Suite& suite, const char* isa, X* x, Index bytes) {
    using T = bench::TableType<X>;
    const Index count = bytes / static_cast<Index>(sizeof(X));
    const Index heads = std::min(kHeads, count / kHeadDim);
    const Index seq = count / (heads * kHeadDim);
    static const rope::CosSinCache<T> cache(bench::config_of(kHeadDim),
                                            kLargest / static_cast<Index>(sizeof(X)) / (kHeads * kHeadDim));
    static const rope::SinusoidalEmbedding<T> whole_tokens(kHeads * kHeadDim, cache.max_positions());
    const rope::SinusoidalEmbedding<T> embedding =
        heads == kHeads ? whole_tokens : rope::SinusoidalEmbedding<T>(heads * kHeadDim, 1);

    const auto view = rope::view(x, seq, heads, kHeadDim);
    Contest& contest =
        suite.contest(std::string(isa) + " " + bench::type_name<X>() + " " + bench::shape_name({seq, heads, kHeadDim}),
                      bench::rounds_for(bytes, Index(1) << 26, 20));
    contest.before([=] {
        rope::force_isa(isa);
        bench::fill(x, count);
    });
    contest.note("bytes", static_cast<double>(bytes)).note("elements", static_cast<double>(count));
    contest.add("scale", [=] { bench::scale(x, count); });
    contest.add("additive", [=] { embedding.add(view); });
    contest.add("half_split", [=] { rope::apply<Layout::half_split>(view, cache); });
    contest.add("interleaved", [=] { rope::apply<Layout::interleaved>(view, cache); });
    return contest;
}

std::string size_name(Index bytes) {
    return bytes < (Index(1) << 20) ? std::to_string(bytes >> 10) + " KiB" : std::to_string(bytes >> 20) + " MiB";
}

}  // namespace

int main(int argc, char** argv) {
    const bench::Buffer<float> floats(kLargest / 4);
    const bench::Buffer<double> doubles(kLargest / 8);
    const bench::Buffer<rope::half> halves(kLargest / 2);
    const bench::Buffer<rope::bfloat16> bfloats(kLargest / 2);

    struct Line {
        const char* isa;
        Index bytes;
        std::vector<const Contest*> types;
    };
    Suite suite;
    std::vector<Line> lines;
    for (const char* isa : rope::available_isas())
        for (Index bytes = kSmallest; bytes <= kLargest; bytes *= 2)
            lines.push_back(
                {isa,
                 bytes,
                 {&add_contest(suite, isa, floats.data(), bytes), &add_contest(suite, isa, doubles.data(), bytes),
                  &add_contest(suite, isa, halves.data(), bytes), &add_contest(suite, isa, bfloats.data(), bytes)}});
    if (!suite.run(argc, argv, "3")) return EXIT_FAILURE;

    std::printf("\nRoPE / scale of the same type and instruction set, in place, one thread: half_split, interleaved\n");
    for (const Line& line : lines) {
        if (line.bytes == kSmallest)
            std::printf("\n%-12s %15s %15s %15s %15s\n", line.isa, "float", "double", "half", "bfloat16");
        std::printf("%-12s", size_name(line.bytes).c_str());
        for (const Contest* c : line.types) {
            if (c->has_run())
                std::printf(" %9.2f %5.2f", c->ratio("half_split", "scale"), c->ratio("interleaved", "scale"));
            else
                std::printf(" %15s", "");
        }
        std::printf("\n");
    }
    return EXIT_SUCCESS;
}
