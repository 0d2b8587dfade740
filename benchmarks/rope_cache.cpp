// SPDX-License-Identifier: MIT
// Caches as sources: keys that move in pages, change their format, or rotate when they are read, against loops that read and
// write the same memory once. Prints a table; --benchmark_out=FILE writes the times as JSON.
#include <rope/heads.hpp>
#include <rope/reposition.hpp>

#include <benchmark/benchmark.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "data.hpp"
#include "suite.hpp"

namespace {

using bench::Buffer;
using bench::Cell;
using bench::Contest;
using bench::Section;
using bench::shape_name;
using bench::Suite;
using rope::Index;

constexpr auto kLayout = rope::Layout::half_split;
constexpr Index kMostTokens = 32768, kHeads = 8, kHeadDim = 128, kPage = 16, kToken = kHeads * kHeadDim;
constexpr double kMicroseconds = 1e6;

/// Pages of a cache, and the slots of a sequence whose pages lie anywhere.
struct Data {
    Buffer<rope::bfloat16> keys{kMostTokens * kToken}, copy{kMostTokens * kToken};
    Buffer<float> read{kMostTokens * kToken}, far{kMostTokens * kToken}, scales{kMostTokens * kHeads};
    std::vector<signed char> codes = std::vector<signed char>(kMostTokens * kToken);
    std::vector<unsigned char> blocks = std::vector<unsigned char>(kMostTokens * kHeads * 136);
    rope::Moves<float> moves{bench::config_of(kHeadDim)};
    rope::CosSinCache<float> table{bench::config_of(kHeadDim), 2 * kMostTokens};

    Data() { moves.build(-100); }
};
std::vector<int> slots_of(Index tokens) {
    std::vector<int> pages(static_cast<std::size_t>(tokens / kPage)), slot_list;
    for (std::size_t i = 0; i < pages.size(); ++i) pages[i] = static_cast<int>(i);
    std::minstd_rand engine(1);
    for (std::size_t i = pages.size(); i > 1; --i) std::swap(pages[i - 1], pages[engine() % i]);
    for (const int page : pages)
        for (int place = 0; place < kPage; ++place) slot_list.push_back(page * static_cast<int>(kPage) + place);
    return slot_list;
}
template <class X>
rope::Paged<X> pages_of(X* memory, Index width, Index tokens, const std::vector<int>& slot_list) {
    return rope::paged(memory, tokens / kPage, kPage, kHeads, width, slot_list);
}

/// Each element of the pages read and written once, in the order of the slots.
void touch(std::uint16_t* x, const std::vector<int>& slot_list) {
    for (const int slot : slot_list) {
        std::uint16_t* const token = x + Index(slot) * kToken;
        for (Index i = 0; i < kToken; ++i) token[i] = static_cast<std::uint16_t>(token[i] ^ 1u);
    }
}

void add_moves(Suite& suite, Data& d) {
    Section& section = suite.section("1. Moving keys in bfloat16 pages, against a loop that reads and writes them once",
                                     kMicroseconds, {"loop, us", "move", "scale"});
    for (const Index tokens : {Index(2048), kMostTokens}) {
        const std::vector<int> slot_list = slots_of(tokens);
        rope::bfloat16* const keys = d.keys.data();
        const rope::Moves<float>* const moves = &d.moves;
        Contest& contest = suite.contest("pages " + shape_name({tokens, kHeads, kHeadDim}),
                                         bench::rounds_for(tokens * kToken * 2, Index(1) << 30, 100));
        contest.before([=] { bench::fill(keys, tokens * kToken); });
        contest.add("loop", [=] { touch(reinterpret_cast<std::uint16_t*>(keys), slot_list); });
        contest.add("move", [=] { rope::reposition<kLayout>(pages_of(keys, kHeadDim, tokens, slot_list), *moves); });
        contest.add("scale", [=] { bench::scale(keys, tokens * kToken); });
        section.rows.push_back({&contest,
                                shape_name({tokens, kHeads, kHeadDim}),
                                "loop",
                                {{"move", "loop", Cell::at_most, 1.25}, {"scale", "loop"}}});
    }
}

void add_formats(Suite& suite, Data& d) {
    Section& section = suite.section("2. Pages of [2048, 8, 128]: moved in place, against reading to float and writing",
                                     kMicroseconds, {"move, us", "/ (read, write)", "changed to int8 / (read, write)"});
    constexpr Index tokens = 2048;
    static const std::vector<int> slot_list = slots_of(tokens);
    const auto floats = rope::view(d.read.data(), tokens, kHeads, kHeadDim);
    const rope::Destination other = rope::int8(pages_of(d.codes.data(), kHeadDim, tokens, slot_list),
                                               pages_of(d.scales.data(), 1, tokens, slot_list));
    const std::pair<const char*, rope::Destination> formats[] = {
        {"bfloat16", pages_of(d.keys.data(), kHeadDim, tokens, slot_list)},
        {"q8_0", rope::q8_0(pages_of(d.blocks.data(), 136, tokens, slot_list))}};
    for (const auto& [name, cache] : formats) {
        const rope::Moves<float>* const moves = &d.moves;
        Contest& contest = suite.contest(std::string("format ") + name, 50);
        contest.before([floats, cache = cache] {
            bench::fill(floats.data, tokens * kToken);
            rope::pass(rope::heads(floats).to(cache));
        });
        contest.add("move", [=, cache = cache] { rope::reposition<kLayout>(cache, *moves); });
        contest.add("read, write", [=, cache = cache] {
            rope::dequantise(cache, floats);
            rope::pass(rope::heads(floats).to(cache));
        });
        contest.add("change", [=, cache = cache] { rope::pass(rope::heads(cache).to(other)); });
        section.rows.push_back({&contest, name, "move", {{"move", "read, write"}, {"change", "read, write"}}});
    }
}

void add_reading(Suite& suite, Data& d) {
    Section& section = suite.section("3. Raw bfloat16 pages, read as float: rotated, and two results in one call",
                                     kMicroseconds, {"read, us", "rotated / read", "two / two calls"});
    for (const Index tokens : {Index(2048), kMostTokens}) {
        const std::vector<int> slot_list = slots_of(tokens);
        const auto cache = [=, keys = d.keys.data()] {
            return rope::heads(pages_of(keys, kHeadDim, tokens, slot_list));
        };
        const auto near = rope::view(d.read.data(), tokens, kHeads, kHeadDim);
        const auto far = rope::view(d.far.data(), tokens, kHeads, kHeadDim);
        const rope::CosSinCache<float>* const table = &d.table;
        const auto first = rope::start_at(7), second = rope::start_at(100);
        Contest& contest = suite.contest("reading " + shape_name({tokens, kHeads, kHeadDim}),
                                         bench::rounds_for(tokens * kToken * 8, Index(1) << 30, 50));
        contest.before([keys = d.keys.data(), tokens] { bench::fill(keys, tokens * kToken); });
        contest.add("read", [=] { rope::pass(cache().to(near)); });
        contest.add("rotated", [=] { rope::pass<kLayout>(*table, first, cache().rotate().to(near)); });
        contest.add("two", [=] {
            rope::pass<kLayout>(*table, first, cache().rotate().to(near), cache().rotate(*table, second).to(far));
        });
        contest.add("two calls", [=] {
            rope::pass<kLayout>(*table, first, cache().rotate().to(near));
            rope::pass<kLayout>(*table, second, cache().rotate().to(far));
        });
        section.rows.push_back(
            {&contest, shape_name({tokens, kHeads, kHeadDim}), "read", {{"rotated", "read"}, {"two", "two calls"}}});
    }
}

#if defined(_OPENMP)
void add_two_threads(Suite& suite, Data& d) {
    const auto two_threads = [](Index count, auto&& f) {
#    pragma omp parallel for num_threads(2)
        for (int half = 0; half < 2; ++half) f(count * half / 2, count * (half + 1) / 2);
    };
    Section& section = suite.section("4. How many times as fast with two threads: a move in bfloat16 pages, and memcpy",
                                     kMicroseconds, {"one thread, us", "move", "memcpy"});
    for (const Index tokens : {Index(2048), kMostTokens}) {
        const std::vector<int> slot_list = slots_of(tokens);
        rope::bfloat16 *const keys = d.keys.data(), *const copy = d.copy.data();
        const rope::Moves<float>* const moves = &d.moves;
        const auto copy_part = [=](Index begin, Index end) {
            std::memcpy(copy + begin * kToken, keys + begin * kToken,
                        static_cast<std::size_t>((end - begin) * kToken) * sizeof(rope::bfloat16));
        };
        Contest& contest = suite.contest("two threads " + shape_name({tokens, kHeads, kHeadDim}), 100);
        contest.before([=] { bench::fill(keys, tokens * kToken); });
        contest.add("one", [=] { rope::reposition<kLayout>(pages_of(keys, kHeadDim, tokens, slot_list), *moves); });
        contest.add("two", [=] {
            rope::reposition<kLayout>(pages_of(keys, kHeadDim, tokens, slot_list), *moves, two_threads);
        });
        contest.add("memcpy one", [=] { copy_part(0, tokens); });
        contest.add("memcpy two", [=] { two_threads(tokens, copy_part); });
        section.rows.push_back(
            {&contest, shape_name({tokens, kHeads, kHeadDim}), "one", {{"one", "two"}, {"memcpy one", "memcpy two"}}});
    }
}
#else
void add_two_threads(Suite&, Data&) { std::printf("The compiler has no OpenMP: two threads are not measured.\n"); }
#endif

}  // namespace

int main(int argc, char** argv) {
    Data data;
    Suite suite;
    add_moves(suite, data);
    add_formats(suite, data);
    add_reading(suite, data);
    add_two_threads(suite, data);
    if (!suite.run(argc, argv, "5")) return EXIT_FAILURE;
    suite.print();
    return EXIT_SUCCESS;
}
