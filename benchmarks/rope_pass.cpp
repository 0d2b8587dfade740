// SPDX-License-Identifier: MIT
// One pass from the projection to the cache, against the same steps one after the other, a plain loop, and the least that
// reading, converting and writing cost. Prints a table; --benchmark_out=FILE writes the times as JSON.
#include <rope/core.hpp>
#include <rope/heads.hpp>

#include <benchmark/benchmark.h>

#include <cstdint>
#include <cstdlib>
#include <numeric>
#include <string>
#include <vector>

#include "data.hpp"
#include "pass_loops.hpp"
#include "suite.hpp"

namespace {

using bench::Buffer;
using bench::Cell;
using bench::Contest;
using bench::Section;
using bench::Suite;
using rope::Index;

constexpr auto kLayout = rope::Layout::half_split;
constexpr Index kMostTokens = 2048, kHeads = 32, kKeyHeads = 8, kHeadDim = 128, kPage = 16;
constexpr double kEps = 1e-6, kFactor = 0.125;

/// The memory of all contests.
struct Data {
    Buffer<float> q{kMostTokens * kHeads * kHeadDim}, q_out{kMostTokens * kHeads * kHeadDim};
    Buffer<float> k{kMostTokens * kKeyHeads * kHeadDim}, v{kMostTokens * kKeyHeads * kHeadDim};
    Buffer<float> normed{kMostTokens * kKeyHeads * kHeadDim}, scales{kMostTokens * kKeyHeads};
    Buffer<rope::bfloat16> keys{kMostTokens * kKeyHeads * kHeadDim}, values{kMostTokens * kKeyHeads * kHeadDim};
    std::vector<signed char> codes = std::vector<signed char>(kMostTokens * kKeyHeads * kHeadDim);
    std::vector<unsigned char> blocks = std::vector<unsigned char>(kMostTokens * kKeyHeads * 136);
    std::vector<float> weight = std::vector<float>(kHeadDim, 1.1f);
    std::vector<std::int64_t> slots = std::vector<std::int64_t>(kMostTokens);
    rope::CosSinCache<float> table{bench::config_of(kHeadDim), kMostTokens};

    Data() { std::iota(slots.begin(), slots.end(), 0); }
};

void add_contest(Suite& suite, Section& section, Data& d, Index tokens) {
    const auto of_q = rope::view(d.q.data(), tokens, kHeads, kHeadDim);
    const auto to_q = rope::view(d.q_out.data(), tokens, kHeads, kHeadDim);
    const auto of_k = rope::view(d.k.data(), tokens, kKeyHeads, kHeadDim);
    const auto of_v = rope::view(d.v.data(), tokens, kKeyHeads, kHeadDim);
    const auto normed = rope::view(d.normed.data(), tokens, kKeyHeads, kHeadDim);
    const std::vector<std::int64_t>& slots = d.slots;
    const auto pages = [tokens, &slots](auto* memory, Index width) {
        const Index count = (tokens + kPage - 1) / kPage;
        auto p = rope::paged(memory, count, kPage, kKeyHeads, width, slots);
        p.slot_count = tokens;
        return p;
    };
    const float* const w = d.weight.data();
    const rope::CosSinCache<float>* const table = &d.table;
    const auto first = rope::start_at(0);
    const bench::StepData step = {tokens,
                                  kHeads,
                                  kKeyHeads,
                                  d.q.data(),
                                  d.k.data(),
                                  d.v.data(),
                                  w,
                                  w,
                                  d.table.data(),
                                  static_cast<float>(kEps),
                                  static_cast<float>(kFactor),
                                  40.0f,
                                  d.q_out.data(),
                                  reinterpret_cast<std::uint16_t*>(d.keys.data()),
                                  reinterpret_cast<std::uint16_t*>(d.values.data()),
                                  nullptr};
    const auto pass = [=](const rope::Destination& keys, const rope::Destination& values) {
        rope::pass<kLayout>(*table, first, rope::heads(of_q).rms_norm(w, kEps).rotate().multiply(kFactor).to(to_q),
                            rope::heads(of_k).rms_norm(w, kEps).rotate().to(keys), rope::heads(of_v).to(values));
    };
    const rope::Destination keys = pages(d.keys.data(), kHeadDim), values = pages(d.values.data(), kHeadDim);
    const rope::Destination int8 = rope::int8(pages(d.codes.data(), kHeadDim), pages(d.scales.data(), 1));
    const rope::Destination q8_0 = rope::q8_0(pages(d.blocks.data(), 136));
    const std::string name = "[" + std::to_string(tokens) + "]";
    const Index bytes = tokens * (kHeads + 2 * kKeyHeads) * kHeadDim * 4;
    Contest& contest = suite.contest(name, bench::rounds_for(bytes, Index(1) << 28, 60));
    contest.before([&d] {
        bench::fill(d.q.data(), kMostTokens * kHeads * kHeadDim);
        bench::fill(d.k.data(), kMostTokens * kKeyHeads * kHeadDim);
        bench::fill(d.v.data(), kMostTokens * kKeyHeads * kHeadDim);
    });
    contest.add("pass", [=] { pass(keys, values); });
    contest.add("convert", [=] { bench::convert_only(step); });
    contest.add("steps", [=] {
        rope::pass<kLayout>(*table, first, rope::heads(of_q).rms_norm(w, kEps).to(to_q));
        rope::apply<kLayout>(to_q, *table, first);
        rope::pass<kLayout>(*table, first, rope::heads(to_q).multiply(kFactor));
        rope::pass<kLayout>(*table, first, rope::heads(of_k).rms_norm(w, kEps).to(normed));
        rope::apply<kLayout>(normed, *table, first);
        rope::pass<kLayout>(*table, first, rope::heads(normed).to(keys), rope::heads(of_v).to(values));
    });
    contest.add("loop", [=] { bench::step_as_loop(step); });
    contest.add("int8", [=] { pass(int8, values); });
    contest.add("q8_0", [=] { pass(q8_0, values); });
    const bool is_long = tokens >= 2048;
    section.rows.push_back({&contest,
                            name,
                            "pass",
                            {{"pass", "convert", is_long ? Cell::at_most : Cell::none, 1.30},
                             {"steps", "pass", Cell::at_least,
                              is_long         ? 2.0
                              : tokens >= 128 ? 1.3
                                              : 1.0},
                             {"pass", "loop", Cell::at_most, 1.03},
                             {"int8", "pass"},
                             {"q8_0", "pass"}}});
}

}  // namespace

int main(int argc, char** argv) {
    Data data;
    Suite suite;
    Section& section = suite.section(
        "Norm, rotation and factor to q; norm and rotation to pages of bfloat16; v to its pages. q 32, k and v 8 heads "
        "of 128",
        1e6, {"pass, us", "/ converting", "steps / pass", "pass / loop", "int8 / pass", "q8_0 / pass"});
    for (const Index tokens : {Index(1), Index(16), Index(128), kMostTokens}) add_contest(suite, section, data, tokens);
    if (!suite.run(argc, argv, "3")) return EXIT_FAILURE;
    suite.print();
    return EXIT_SUCCESS;
}
