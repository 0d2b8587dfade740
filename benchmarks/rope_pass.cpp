// SPDX-License-Identifier: MIT
// One pass from the projection to the cache, against the same steps in three calls, the loop that a compiler vectorises, the
// same by hand, and a limit: what reading, converting and writing cost. Prints a table; --benchmark_out=FILE writes the
// times as JSON.
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

struct Format {
    const char* name;
    bench::CacheOf format;
};
constexpr Format kFormats[] = {
    {"bfloat16", bench::CacheOf::bfloat16}, {"int8", bench::CacheOf::int8}, {"q8_0", bench::CacheOf::q8_0}};

void add_contest(Suite& suite, Section& section, Data& d, Index tokens, const Format& format) {
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
                                  d.q_out.data(),
                                  reinterpret_cast<std::uint16_t*>(d.values.data()),
                                  format.format,
                                  reinterpret_cast<std::uint16_t*>(d.keys.data()),
                                  d.codes.data(),
                                  d.scales.data(),
                                  d.blocks.data()};
    const rope::Destination values = pages(d.values.data(), kHeadDim);
    const rope::Destination keys =
        format.format == bench::CacheOf::bfloat16 ? rope::Destination(pages(d.keys.data(), kHeadDim))
        : format.format == bench::CacheOf::int8 ? rope::int8(pages(d.codes.data(), kHeadDim), pages(d.scales.data(), 1))
                                                : rope::q8_0(pages(d.blocks.data(), 136));
    const std::string name = std::string(format.name) + " [" + std::to_string(tokens) + "]";
    const Index bytes = tokens * (kHeads + 2 * kKeyHeads) * kHeadDim * 4;
    Contest& contest = suite.contest(name, bench::rounds_for(bytes, Index(1) << 28, 60));
    contest.before([&d] {
        bench::fill(d.q.data(), kMostTokens * kHeads * kHeadDim);
        bench::fill(d.k.data(), kMostTokens * kKeyHeads * kHeadDim);
        bench::fill(d.v.data(), kMostTokens * kKeyHeads * kHeadDim);
    });
    contest.add("pass", [=] {
        rope::pass<kLayout>(*table, first, rope::heads(of_q).rms_norm(w, kEps).rotate().multiply(kFactor).to(to_q),
                            rope::heads(of_k).rms_norm(w, kEps).rotate().to(keys), rope::heads(of_v).to(values));
    });
    contest.add("steps", [=] {
        rope::pass<kLayout>(*table, first, rope::heads(of_q).rms_norm(w, kEps).to(to_q),
                            rope::heads(of_k).rms_norm(w, kEps).to(normed));
        rope::apply<kLayout>(to_q, normed, *table, first);
        rope::pass<kLayout>(*table, first, rope::heads(to_q).multiply(kFactor), rope::heads(normed).to(keys),
                            rope::heads(of_v).to(values));
    });
    contest.add("256 bits", [=] { bench::step_as_loop_256(step); });
    contest.add("512 bits", [=] { bench::step_as_loop_512(step); });
    std::vector<Cell> cells = {{"steps", "pass", tokens <= 16 ? Cell::at_least : Cell::none, 1.5},
                               {"pass", "256 bits", Cell::at_most, 1.05},
                               {"pass", "512 bits", Cell::at_most, 1.05}};
    if (bench::step_by_hand != nullptr) {
        contest.add("by hand", [=] { bench::step_by_hand(step); });
        contest.add("limit", [=] { bench::convert_only(step); });
        cells.push_back({"pass", "by hand", Cell::at_most, tokens == 1 ? 1.6 : 1.4});
        cells.push_back({"pass", "limit"});
    }
    section.rows.push_back({&contest, name, "pass", cells});
}

}  // namespace

int main(int argc, char** argv) {
    Data data;
    Suite suite;
    Section& section = suite.section(
        "Norm, rotation and factor to q; norm and rotation to pages in a format; v to pages of bfloat16. q 32, k and v "
        "8 "
        "heads of 128",
        1e6, {"pass, us", "steps / pass", "/ loop, 256 bits", "/ loop, 512", "/ by hand", "/ limit"});
    for (const Format& format : kFormats)
        for (const Index tokens : {Index(1), Index(16), Index(128), kMostTokens})
            add_contest(suite, section, data, tokens, format);
    if (!suite.run(argc, argv, "3")) return EXIT_FAILURE;
    suite.print();
    return EXIT_SUCCESS;
}
