// SPDX-License-Identifier: MIT
// Rotary embedding against what it competes with, and what is aimed at. Prints a table; --benchmark_out=FILE writes the
// times as JSON.
#include <rope/additive.hpp>
#include <rope/core.hpp>

#include <benchmark/benchmark.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <new>
#include <string>
#include <type_traits>
#include <vector>

#include "baselines.hpp"
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
using bench::TableType;
using rope::Index;
using rope::Layout;

constexpr Index kHeads = 32, kHeadDim = 128, kToken = kHeads * kHeadDim, kMaxSeq = 8192;
constexpr double kMicroseconds = 1e6;

constexpr Index kPage = 4096, kPages = 64;  // bytes; where a tensor may begin

/// What every contest works on, over and over.
struct Data {
    Buffer<float> floats{kMaxSeq * kToken + kPages * kPage}, more_floats{Index(2048) * 16 * 12 * 64};
    Buffer<double> doubles{kMaxSeq * kToken + kPages * kPage};
    Buffer<rope::half> halves{kMaxSeq * kToken};
    Buffer<rope::bfloat16> bfloats{kMaxSeq * kToken};
};

template <class T>
rope::CosSinCache<T> cache() {
    static const rope::CosSinCache<T> table(config_of(kHeadDim), kMaxSeq);
    return table;
}

/// A single token stands at position 1000, several at 0, 1, 2, ...
Index start_of(Index seq) { return seq == 1 ? 1000 : 0; }

int rounds(Index bytes) { return bench::rounds_for(bytes, Index(1) << 30, 100); }

/// Adds the two contestants that turn what view() shows, in place.
template <class View>
void add_rotations_of(Contest& contest, View view, const std::string& prefix = "") {
    const auto table = cache<TableType<std::remove_pointer_t<decltype(view().data)>>>();
    const Index start = start_of(view().seq);
    contest.add(prefix + "half_split", [=] { rope::apply<Layout::half_split>(view(), table, rope::start_at(start)); });
    contest.add(prefix + "interleaved",
                [=] { rope::apply<Layout::interleaved>(view(), table, rope::start_at(start)); });
}
template <class X>
void add_rotations(Contest& contest, X* x, Index seq, const std::string& prefix = "") {
    const auto tensor = rope::view(x, seq, kHeads, kHeadDim);
    const auto view = [=]() -> const auto& { return tensor; };
    add_rotations_of(contest, view, prefix);
}

/// A contest on a tensor that begins another page further on in each repetition: a Zen's L1 finds a line by a hash of
/// the address above the page, and where lines of data and of a table have the same one, calls take up to 1.3 times as
/// long. `first` is what rotations are compared with, and takes the tensor.
template <class X, class First>
Contest& contest_on_other_pages(Suite& suite, const std::string& name, X* x, Index seq, Index heads,
                                const std::string& first_name, First first) {
    const Index count = seq * heads * kHeadDim;
    const auto tensor = std::make_shared<rope::TensorView<X>>(rope::view(x, seq, heads, kHeadDim));
    const auto view = [=]() -> const auto& { return *tensor; };
    Contest& contest = suite.contest(name, rounds(count * static_cast<Index>(sizeof(X))));
    contest.before([=] {
        constexpr Index page = kPage / static_cast<Index>(sizeof(X));
        tensor->data = x + (tensor->data - x + page) % (kPages * page);
        bench::fill(tensor->data, count);
    });
    contest.add(first_name, [=] { first(view()); });
    add_rotations_of(contest, view);
    return contest;
}

template <class X>
Contest& scale_contest(Suite& suite, X* x, Index seq) {
    return contest_on_other_pages(suite, bench::type_name<X>() + (" " + shape_name({seq, kHeads, kHeadDim})), x, seq,
                                  kHeads, "scale",
                                  [](const auto& view) { bench::scale(view.data, view.seq * kToken); });
}

// ---- 1 and 2: against scale, and 16 bits against float ----

struct Limits {
    Index seq;
    double half_split, interleaved;
};

void add_row(Section& section, const Contest& contest, const char* under, double half_split, double interleaved) {
    section.rows.push_back(
        {&contest,
         contest.name(),
         under,
         {{"half_split", under, Cell::at_most, half_split}, {"interleaved", under, Cell::at_most, interleaved}}});
}

void add_against_scale(Suite& suite, const Data& data) {
    Section& floats =
        suite.section("1. RoPE / scale, float, in place", kMicroseconds, {"scale, us", "half_split", "interleaved"});
    Section& doubles =
        suite.section("2. RoPE / scale, double, in place", kMicroseconds, {"scale, us", "half_split", "interleaved"});
    for (const auto& [seq, half_split, interleaved] :
         {Limits{1, 1.25, 1.50}, {16, 1.30, 1.45}, {128, 1.45, 1.60}, {2048, 1.25, 1.30}, {8192, 1.30, 1.35}}) {
        add_row(floats, scale_contest(suite, data.floats.data(), seq), "scale", half_split, interleaved);
        add_row(doubles, scale_contest(suite, data.doubles.data(), seq), "scale", half_split + 0.05,
                interleaved + 0.05);
    }
}

void add_16_bits(Suite& suite, const Data& data) {
    Section& section =
        suite.section("2. RoPE in 16 bits / RoPE in float, as many elements", kMicroseconds,
                      {"float h.s., us", "half, half_spl.", "half, interl.", "bf16, half_spl.", "bf16, interl."});
    for (const Index seq : {128, 2048, 8192}) {
        Contest& contest = suite.contest("16 bits " + shape_name({seq, kHeads, kHeadDim}), rounds(seq * kToken * 4));
        contest.before([&data, seq] {
            bench::fill(data.floats.data(), seq * kToken);
            bench::fill(data.halves.data(), seq * kToken);
            bench::fill(data.bfloats.data(), seq * kToken);
        });
        add_rotations(contest, data.floats.data(), seq, "float ");
        add_rotations(contest, data.halves.data(), seq, "half ");
        add_rotations(contest, data.bfloats.data(), seq, "bfloat16 ");
        const double half = seq == 128 ? 1.05 : 0.70;
        const double bfloat16 = seq == 128 ? 1.60 : 0.85;
        section.rows.push_back({&contest,
                                contest.name(),
                                "float half_split",
                                {{"half half_split", "float half_split", Cell::at_most, half},
                                 {"half interleaved", "float interleaved", Cell::at_most, half},
                                 {"bfloat16 half_split", "float half_split", Cell::at_most, bfloat16},
                                 {"bfloat16 interleaved", "float interleaved", Cell::at_most, bfloat16}}});
    }
}

// ---- 3: against additive embeddings ----

Contest& additive_contest(Suite& suite, float* x, Index seq, Index heads) {
    const Index start = start_of(seq);
    const rope::SinusoidalEmbedding<float> embedding(heads * kHeadDim, start + seq);
    return contest_on_other_pages(suite, "x " + shape_name({seq, heads, kHeadDim}), x, seq, heads, "additive",
                                  [=](const auto& view) { embedding.add(view, rope::start_at(start)); });
}

/// EleutherAI's measurement: q and k of [seq, batch, heads, head_dim].
Contest& q_and_k_contest(Suite& suite, const Data& data) {
    constexpr Index seq = 2048, batch = 16, heads = 12, head_dim = 64, d_model = heads * head_dim;
    constexpr Index count = seq * batch * d_model;
    float* const q = data.floats.data();
    float* const k = data.more_floats.data();
    const rope::CosSinCache<float> table(config_of(head_dim), seq);
    const rope::SinusoidalEmbedding<float> embedding(d_model, seq);
    Contest& contest = suite.contest("q and k " + shape_name({seq, batch, heads, head_dim}), rounds(2 * 4 * count));
    contest.before([=] {
        bench::fill(q, count);
        bench::fill(k, count);
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
    contest.add("half_split", [=] { rope::apply<Layout::half_split>(q_view, k_view, table); });
    contest.add("interleaved", [=] { rope::apply<Layout::interleaved>(q_view, k_view, table); });
    return contest;
}

void add_against_additive(Suite& suite, const Data& data) {
    Section& section = suite.section("3. RoPE / additive sinusoidal embedding, float, in place", kMicroseconds,
                                     {"additive, us", "half_split", "interleaved"});
    float* const x = data.floats.data();
    add_row(section, additive_contest(suite, x, 1, kHeads), "additive", 0.75, 0.85);
    add_row(section, additive_contest(suite, x, 2048, kHeads), "additive", 0.85, 0.90);
    add_row(section, q_and_k_contest(suite, data), "additive", 1.10, 1.10);
    add_row(section, additive_contest(suite, x, 2048, 1), "additive", 1.05, 1.25);
}

// ---- 4: one decode step, and what a call costs that has next to nothing to do ----

/// k behind q, as in a buffer that one projection has filled, or some lines of the cache further on.
void add_decode(Suite& suite, const Data& data) {
    constexpr Index kv_heads = 8, gap = 7 * kHeadDim;
    float* const x = data.floats.data();
    const auto q = rope::view(x, 1, kHeads, kHeadDim);
    const auto table = cache<float>();
    const Index position = start_of(1);
    Section& section = suite.section("4. One decode step in one call / scale of the same 40 heads, float",
                                     kMicroseconds, {"scale, us", "half_split", "interleaved"});
    for (const bool is_strided : {false, true}) {
        float* const behind = x + kToken + (is_strided ? gap : 0);
        const auto k = rope::view(behind, 1, kv_heads, kHeadDim);
        Contest& contest =
            suite.contest(is_strided ? "the same, apart in memory" : "q [1, 32, 128], k [1, 8, 128]", 100);
        contest.before([=] { bench::fill(x, (kHeads + kv_heads) * kHeadDim + gap); });
        contest.add("scale", [=] {
            bench::scale(x, is_strided ? kToken : kToken + kv_heads * kHeadDim);
            if (is_strided) bench::scale(behind, kv_heads * kHeadDim);
        });
        contest.add("half_split", [=] { rope::apply<Layout::half_split>(q, k, table, rope::start_at(position)); });
        contest.add("interleaved", [=] { rope::apply<Layout::interleaved>(q, k, table, rope::start_at(position)); });
        add_row(section, contest, "scale", 1.35, 1.35);
    }
}

void add_call(Suite& suite, const Data& data) {
    float* const x = data.floats.data();
    static const rope::CosSinCache<float> table(config_of(2), 1001);
    Contest& contest = suite.contest("call", 100);
    contest.before([=] { bench::fill(x, 4); });
    const auto q = rope::view(x, 1, 1, 2);
    const auto k = rope::view(x + 2, 1, 1, 2);
    contest.add("x", [=] { rope::apply<Layout::half_split>(q, table, rope::start_at(1000)); });
    contest.add("q and k", [=] { rope::apply<Layout::half_split>(q, k, table, rope::start_at(1000)); });
    Section& section = suite.section("What a call costs by itself", 1e9, {"ns"});
    section.rows.push_back({&contest, "apply, x [1, 1, 2]", "x", {}});
    section.rows.push_back({&contest, "apply, q and k [1, 1, 2]", "q and k", {}});
}

// ---- 5: two threads ----

#if defined(_OPENMP)
void add_two_threads(Suite& suite, const Data& data) {
    const auto two_threads = [](Index count, auto&& f) {
#    pragma omp parallel for num_threads(2)
        for (Index i = 0; i < 2; ++i) f(count * i / 2, count * (i + 1) / 2);
    };
    Section& section = suite.section("5. How many times as fast with two threads, float", kMicroseconds,
                                     {"one thread, us", "half_split", "interleaved", "scale"});
    float* const x = data.floats.data();
    const auto table = cache<float>();
    for (const Index seq : {1, 16, 64, 128, 512}) {
        Contest& contest = suite.contest("two threads " + shape_name({seq, kHeads, kHeadDim}), 100);
        contest.before([=] { bench::fill(x, seq * kToken); });
        add_rotations(contest, x, seq, "one, ");
        const auto view = rope::view(x, seq, kHeads, kHeadDim);
        const Index start = start_of(seq);
        contest.add("two, half_split",
                    [=] { rope::apply<Layout::half_split>(view, table, rope::start_at(start), two_threads); });
        contest.add("two, interleaved",
                    [=] { rope::apply<Layout::interleaved>(view, table, rope::start_at(start), two_threads); });
        // What the memory allows.
        contest.add("one, scale", [=] { bench::scale(x, seq * kToken); });
        contest.add("two, scale", [=] {
            two_threads(seq, [=](Index begin, Index end) { bench::scale(x + begin * kToken, (end - begin) * kToken); });
        });
        // Not slower, but for what two timings of the same code differ by.
        const double least = seq == 512 ? 1.70 : 0.97;
        section.rows.push_back({&contest,
                                shape_name({seq, kHeads, kHeadDim}),
                                "one, half_split",
                                {{"one, half_split", "two, half_split", Cell::at_least, least},
                                 {"one, interleaved", "two, interleaved", Cell::at_least, least},
                                 {"one, scale", "two, scale"}}});
    }
}
#else
void add_two_threads(Suite&, const Data&) {
    std::printf("The compiler has no OpenMP: two threads are not measured.\n");
}
#endif

// ---- RoPE as it is commonly written ----

bench::Problem problem(Index seq, Index heads) { return {seq, heads, kHeadDim, start_of(seq), 10000.0}; }

void add_baselines(Suite& suite, const Data& data) {
    std::vector<std::string> columns = {"apply, us"};
    for (const bench::Baseline& baseline : bench::baselines(problem(1, 1))) columns.push_back(baseline.name);
    Section& section =
        suite.section("RoPE as it is commonly written / rope::apply, float, half-split", kMicroseconds, columns);
    float* const x = data.floats.data();
    for (const Index seq : {1, 128, 2048}) {
        Contest& contest = suite.contest("baselines " + shape_name({seq, kHeads, kHeadDim}), seq == 1     ? 30
                                                                                             : seq == 128 ? 6
                                                                                                          : 2);
        contest.before([=] { bench::fill(x, seq * kToken); });
        const auto table = cache<float>();
        const Index start = start_of(seq);
        contest.add("apply", [=] {
            rope::apply<Layout::half_split>(rope::view(x, seq, kHeads, kHeadDim), table, rope::start_at(start));
        });
        section.rows.push_back({&contest, shape_name({seq, kHeads, kHeadDim}), "apply", {}});
        for (const bench::Baseline& baseline : bench::baselines(problem(seq, kHeads))) {
            contest.add(baseline.name, [run = baseline.run, x] { benchmark::DoNotOptimize(run(x)); });
            section.rows.back().cells.push_back({baseline.name, "apply"});
        }
    }
}

/// A baseline that computes something else would be no baseline. The program ends when the result of one is further
/// from that of rope::apply than 1e-4, for numbers in [-1, 1].
void check_baselines() {
    const bench::Problem p = problem(128, 3);
    constexpr Index count = 128 * 3 * kHeadDim;
    const Buffer<float> expected(count);
    rope::apply<Layout::half_split>(rope::view(expected.data(), p.seq, p.heads, p.head_dim), cache<float>());
    const auto compare = [](const char* name, const float* got, const float* right, Index n) {
        for (Index i = 0; i < n; ++i) {
            if (std::fabs(got[i] - right[i]) <= 1e-4f) continue;
            std::fprintf(stderr, "The baseline \"%s\" gives %g where the library gives %g; it must agree to 1e-4.\n",
                         name, static_cast<double>(got[i]), static_cast<double>(right[i]));
            std::exit(EXIT_FAILURE);
        }
    };
    for (const bench::Baseline& baseline : bench::baselines(p)) {
        const Buffer<float> x(count);
        compare(baseline.name, baseline.run(x.data()), expected.data(), count);
    }
    const Buffer<float> table(128 * kHeadDim);
    bench::fill_by_library(rope::frequencies(config_of(kHeadDim)).inv_freq, 128, table.data());
    compare("std::cos and std::sin", table.data(), cache<float>().data(), 128 * kHeadDim);
}

// ---- Building a table ----

void add_table(Suite& suite, const Data& data) {
    constexpr Index max_positions = 131072;
    const rope::Frequencies f = rope::frequencies(config_of(kHeadDim));
    float* const buffer = data.floats.data();
    Contest& contest = suite.contest("table of 131072 positions, 64 pairs", 2);
    contest.add("rope, warm", [=] {
        if (!rope::detail::fill_cos_sin_table(f, 0, max_positions, buffer)) std::abort();
    });
    contest.add("library, warm", [=] { bench::fill_by_library(f.inv_freq, max_positions, buffer); });
    contest.add("rope, fresh", [=] {
        benchmark::DoNotOptimize(rope::CosSinCache<float>(config_of(kHeadDim), max_positions).cos_row(0));
    });
    contest.add("library, fresh", [=] {
        constexpr std::align_val_t alignment{64};
        void* const memory = ::operator new(std::size_t(max_positions * kHeadDim) * sizeof(float), alignment);
        bench::fill_by_library(f.inv_freq, max_positions, static_cast<float*>(memory));
        ::operator delete(memory, alignment);
    });
    Section& section =
        suite.section("Building a " + contest.name() + ", 64 MiB: how many times as fast as std::cos, std::sin", 1e3,
                      {"rope, ms", "times as fast"});
    section.rows.push_back(
        {&contest, "memory written before", "rope, warm", {{"library, warm", "rope, warm", Cell::at_least, 8}}});
    section.rows.push_back(
        {&contest, "memory new", "rope, fresh", {{"library, fresh", "rope, fresh", Cell::at_least, 3.5}}});
}

}  // namespace

int main(int argc, char** argv) {
    check_baselines();
    const Data data;
    Suite suite;
    add_against_scale(suite, data);
    add_16_bits(suite, data);
    add_against_additive(suite, data);
    add_decode(suite, data);
    add_two_threads(suite, data);
    add_call(suite, data);
    add_baselines(suite, data);
    add_table(suite, data);
    if (!suite.run(argc, argv, "9")) return EXIT_FAILURE;
    suite.print();
    return EXIT_SUCCESS;
}
