// SPDX-License-Identifier: MIT
// Rotary embedding against what it competes with. Prints a table; --benchmark_out=FILE writes the times as JSON.
#include <rope/rope.hpp>

#include <benchmark/benchmark.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <list>
#include <memory>
#include <new>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "baselines.hpp"
#include "contest.hpp"

namespace {

using bench::Contest;
using bench::Problem;
using rope::Index;
using rope::Layout;

std::size_t size(Index n) { return static_cast<std::size_t>(n); }

/// 64-byte aligned memory whose pages exist.
class Buffer {
 public:
    explicit Buffer(Index count) : data_(static_cast<float*>(::operator new(size(count) * sizeof(float), kAlignment))) {
        std::minstd_rand engine(1);
        std::uniform_real_distribution<float> number(-1.0f, 1.0f);
        for (Index i = 0; i < count; ++i) data_[i] = number(engine);
    }
    ~Buffer() { ::operator delete(data_, kAlignment); }
    Buffer(const Buffer&) = delete;
    Buffer& operator=(const Buffer&) = delete;
    float* data() const { return data_; }

 private:
    static constexpr std::align_val_t kAlignment{64};
    float* data_;
};

// All contests work on the same two buffers, over and over. The numbers stay ordinary: a rotation and a factor of one
// keep them as they are, and an embedding adds at most 1 per call, so that after all calls of a run (some millions)
// they are still far from where float overflows or loses its normal numbers.
constexpr Index kBufferSize = Index(2048) * 16 * 12 * 64;

struct Data {
    Buffer q{kBufferSize}, k{kBufferSize};
};

/// One at run time, which the compiler does not know.
float one() {
    float value = 1.0f;
    benchmark::DoNotOptimize(value);
    return value;
}

/// The least that an in-place rotation could cost. Blocks of a fixed size, because g++ vectorises nothing else at -O2,
/// and unrolls nothing else at -O3; all counts here are multiples of it.
void scale(float* x, Index count, float factor) {
    constexpr Index kBlock = 32;
    for (float* const end = x + count; x != end; x += kBlock)
        for (Index k = 0; k < kBlock; ++k) x[k] *= factor;
}

std::string shape_name(std::initializer_list<Index> extents) {
    std::string name;
    for (const Index extent : extents) name += (name.empty() ? "[" : ", ") + std::to_string(extent);
    return name + "]";
}

// ---- 1. RoPE against additive embeddings ----

enum : std::size_t { kScale, kAdditive, kHalfSplit, kInterleaved };

/// EleutherAI's measurement: q and k of [seq, batch, heads, head_dim].
Contest q_and_k_contest(const Data& data) {
    constexpr Index seq = 2048, batch = 16, heads = 12, head_dim = 64, d_model = heads * head_dim;
    Contest contest("q and k " + shape_name({seq, batch, heads, head_dim}), 5);
    rope::Config config;
    config.head_dim = head_dim;
    const rope::CosSinCache<float> cache(config, seq);
    const rope::SinusoidalEmbedding<float> embedding(d_model, seq);
    float* const q = data.q.data();
    float* const k = data.k.data();
    contest.add("scale", [=] {
        scale(q, seq * batch * d_model, one());
        scale(k, seq * batch * d_model, one());
    });
    // The batch is the second axis of the memory, so it takes a view with its own strides.
    const auto tokens = [=](float* x) {
        return rope::TensorView<float>{x, batch, seq, heads, head_dim, d_model, batch * d_model, head_dim, 1};
    };
    contest.add("additive", [=] {
        embedding.add(tokens(q));
        embedding.add(tokens(k));
    });
    // To a rotation, the batch entries of a position are more heads.
    const auto q_view = rope::view(q, seq, batch * heads, head_dim);
    const auto k_view = rope::view(k, seq, batch * heads, head_dim);
    contest.add("half_split", [=] { rope::apply<Layout::half_split>(q_view, k_view, cache); });
    contest.add("interleaved", [=] { rope::apply<Layout::interleaved>(q_view, k_view, cache); });
    return contest;
}

/// One tensor of [seq, heads, head_dim]. A single token stands at position 1000, several at 0, 1, 2, ...
Contest one_tensor_contest(const Data& data, Index seq, Index heads, Index head_dim, int rounds) {
    Contest contest("x " + shape_name({seq, heads, head_dim}), rounds);
    const Index start = seq == 1 ? 1000 : 0;
    const rope::Positions positions = rope::start_at(start);
    rope::Config config;
    config.head_dim = head_dim;
    const rope::CosSinCache<float> cache(config, start + seq);
    const rope::SinusoidalEmbedding<float> embedding(heads * head_dim, start + seq);
    float* const x = data.q.data();
    const auto view = rope::view(x, seq, heads, head_dim);
    contest.add("scale", [=] { scale(x, seq * heads * head_dim, one()); });
    contest.add("additive", [=] { embedding.add(view, positions); });
    contest.add("half_split", [=] { rope::apply<Layout::half_split>(view, cache, positions); });
    contest.add("interleaved", [=] { rope::apply<Layout::interleaved>(view, cache, positions); });
    return contest;
}

// ---- 2. RoPE as it is commonly written ----

Contest baseline_contest(const Data& data, Index seq, int rounds) {
    constexpr Index heads = 32, head_dim = 128;
    const Problem p = {seq, heads, head_dim, seq == 1 ? Index(1000) : Index(0)};
    Contest contest("baselines " + shape_name({seq, heads, head_dim}), rounds);
    const rope::CosSinCache<float> cache(p.config(), seq, p.start);
    float* const x = data.q.data();
    contest.add("rope::apply", [=] {
        rope::apply<Layout::half_split>(rope::view(x, seq, heads, head_dim), cache, rope::start_at(p.start));
    });
    contest.add("cos and sin per token, as ggml", [f = bench::CosSinPerToken(p), x]() mutable { f(x); });
    contest.add("cos and sin per head", [f = bench::CosSinPerHead(p), x]() mutable { f(x); });
    contest.add("whole tensors, as eager frameworks",
                [f = bench::WholeTensors(p), x] { benchmark::DoNotOptimize(f(x).get()); });
    const auto dense = std::make_shared<bench::DenseMatrix>(p);
    contest.add("dense matrix per token, Eigen", [dense, x] { (*dense)(x); });
    return contest;
}

/// A baseline that computes something else would be no baseline. Largest difference to rope::apply on numbers in
/// [-1, 1], or the program ends.
void check_baselines() {
    const Problem p = {128, 3, 128, 0};
    const auto fresh = [&] {
        std::minstd_rand engine(2);
        std::uniform_real_distribution<float> number(-1.0f, 1.0f);
        std::vector<float> x(size(p.elements()));
        for (float& value : x) value = number(engine);
        return x;
    };
    std::vector<float> expected = fresh();
    const rope::CosSinCache<float> cache(p.config(), p.seq);
    rope::apply<Layout::half_split>(rope::view(expected.data(), p.seq, p.heads, p.head_dim), cache);
    const auto compare = [&](const char* name, const float* got) {
        float worst = 0;
        for (std::size_t i = 0; i < expected.size(); ++i) worst = std::max(worst, std::fabs(got[i] - expected[i]));
        if (worst <= 1e-4f) return;
        std::fprintf(stderr,
                     "The baseline \"%s\" differs from rope::apply by %g; it must agree to 1e-4 to be compared with.\n",
                     name, static_cast<double>(worst));
        std::exit(EXIT_FAILURE);
    };
    const auto in_place = [&](const char* name, auto&& baseline) {
        std::vector<float> x = fresh();
        baseline(x.data());
        compare(name, x.data());
    };
    in_place("dense matrix per token", bench::DenseMatrix(p));
    in_place("cos and sin per token", bench::CosSinPerToken(p));
    in_place("cos and sin per head", bench::CosSinPerHead(p));
    compare("whole tensors", bench::WholeTensors(p)(fresh().data()).get());

    const rope::Frequencies f = rope::frequencies(p.config());
    std::vector<float> table(size(p.seq * p.head_dim));
    bench::fill_by_library(f.inv_freq, p.seq, table.data());
    expected.assign(cache.cos_row(0), cache.cos_row(0) + table.size());
    compare("std::cos and std::sin", table.data());
}

// ---- 3. Building a table ----

enum : std::size_t { kWarm, kWarmLibrary, kFresh, kFreshLibrary };

Contest table_contest(const Data& data) {
    constexpr Index max_positions = 131072;
    rope::Config config;
    config.head_dim = 128;
    const rope::Frequencies f = rope::frequencies(config);
    const std::size_t bytes = size(max_positions * config.head_dim) * sizeof(float);
    float* const buffer = data.q.data();
    Contest contest("table of 131072 positions, 64 pairs", 3);
    contest.add("fill_cos_sin_table, warm memory", [=] {
        if (!rope::detail::fill_cos_sin_table(f, 0, max_positions, buffer)) std::abort();
    });
    contest.add("std::cos and std::sin, warm memory",
                [=] { bench::fill_by_library(f.inv_freq, max_positions, buffer); });
    contest.add("CosSinCache, fresh memory",
                [=] { benchmark::DoNotOptimize(rope::CosSinCache<float>(config, max_positions).cos_row(0)); });
    contest.add("std::cos and std::sin, fresh memory", [=] {
        constexpr std::align_val_t alignment{64};
        void* const memory = ::operator new(bytes, alignment);
        bench::fill_by_library(f.inv_freq, max_positions, static_cast<float*>(memory));
        ::operator delete(memory, alignment);
    });
    return contest;
}

// ---- What is printed ----

/// Google Benchmark's own lines are left out: the table says it all, and the JSON file has the rest.
class Quiet : public benchmark::BenchmarkReporter {
 public:
    bool ReportContext(const Context&) override { return true; }
    void ReportRuns(const std::vector<Run>& runs) override {
        for (const Run& run : runs)
            if (run.error_occurred) std::fprintf(stderr, "%s\n", run.error_message.c_str());
    }
};

std::string microseconds(double seconds) {
    const double us = 1e6 * seconds;
    char text[32];
    std::snprintf(text, sizeof(text), us < 10 ? "%.3f" : us < 1000 ? "%.1f" : "%.0f", us);
    return text;
}

bool any_has_run(const std::list<Contest>& contests) {
    return std::any_of(contests.begin(), contests.end(), [](const Contest& c) { return c.has_run(); });
}

void print_rotary_against_additive(const std::list<Contest>& contests) {
    if (!any_has_run(contests)) return;
    std::printf("\nIn place, float, one thread: median microseconds per call, and median ratios\n\n");
    std::printf("%-27s %8s %8s %10s %11s   RoPE / additive   RoPE / scale\n", "", "", "", "RoPE", "RoPE");
    std::printf("%-27s %8s %8s %10s %11s   half_s. interl.   half_s. interl.\n", "", "scale", "additive", "half_split",
                "interleaved");
    for (const Contest& c : contests) {
        if (!c.has_run()) continue;
        std::printf("%-27s %8s %8s %10s %11s   %7.2f %7.2f   %7.2f %7.2f\n", c.name().c_str(),
                    microseconds(c.seconds(kScale)).c_str(), microseconds(c.seconds(kAdditive)).c_str(),
                    microseconds(c.seconds(kHalfSplit)).c_str(), microseconds(c.seconds(kInterleaved)).c_str(),
                    c.ratio(kHalfSplit, kAdditive), c.ratio(kInterleaved, kAdditive), c.ratio(kHalfSplit, kScale),
                    c.ratio(kInterleaved, kScale));
    }
}

void print_baselines(const std::list<Contest>& contests) {
    if (!any_has_run(contests)) return;
    std::printf("\nRoPE as it is commonly written: median microseconds, and as a multiple of rope::apply\n\n%-35s", "");
    for (const Contest& c : contests)
        if (c.has_run()) std::printf(" %18s", c.name().substr(c.name().find('[')).c_str());
    for (std::size_t i = 0; i < contests.front().size(); ++i) {
        std::printf("\n%-35s", contests.front().name(i).c_str());
        for (const Contest& c : contests)
            if (c.has_run()) std::printf(" %10s %7.1f", microseconds(c.seconds(i)).c_str(), c.ratio(i, 0));
    }
    std::printf("\n");
}

void print_table_building(const std::list<Contest>& contests) {
    if (!any_has_run(contests)) return;
    const Contest& c = contests.front();
    std::printf("\nBuilding a %s, 64 MiB: median milliseconds, and how many times as fast\n\n", c.name().c_str());
    const auto line = [&](const char* memory, std::size_t ours, std::size_t library) {
        std::printf("%-13s rope %6.1f   std::cos and std::sin in double %6.1f   %5.1f\n", memory, 1e3 * c.seconds(ours),
                    1e3 * c.seconds(library), c.ratio(library, ours));
    };
    line("warm memory", kWarm, kWarmLibrary);
    line("fresh memory", kFresh, kFreshLibrary);
}

}  // namespace

int main(int argc, char** argv) {
    benchmark::Initialize(&argc, argv);
    if (benchmark::ReportUnrecognizedArguments(argc, argv)) return EXIT_FAILURE;
    check_baselines();

    const Data data;
    std::list<Contest> additive, baselines, table;
    additive.push_back(q_and_k_contest(data));
    additive.push_back(one_tensor_contest(data, 1, 32, 128, 100));
    additive.push_back(one_tensor_contest(data, 16, 32, 128, 100));
    additive.push_back(one_tensor_contest(data, 128, 32, 128, 50));
    additive.push_back(one_tensor_contest(data, 2048, 32, 128, 30));
    additive.push_back(one_tensor_contest(data, 2048, 1, 128, 100));
    baselines.push_back(baseline_contest(data, 1, 30));
    baselines.push_back(baseline_contest(data, 128, 6));
    baselines.push_back(baseline_contest(data, 2048, 2));
    table.push_back(table_contest(data));
    for (std::list<Contest>* contests : {&additive, &baselines, &table})
        for (Contest& contest : *contests) contest.enroll();

    Quiet quiet;
    benchmark::RunSpecifiedBenchmarks(&quiet);
    print_rotary_against_additive(additive);
    print_baselines(baselines);
    print_table_building(table);
    benchmark::Shutdown();
    return EXIT_SUCCESS;
}
