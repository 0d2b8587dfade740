// SPDX-License-Identifier: MIT
// The demo: what the library does, on tensors mapped by Eigen, as small tables that fit on a screen.
#include <rope/rope.hpp>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "../arguments.hpp"
#include "other_ways.hpp"
#include "timing.hpp"

namespace {

using rope::Index;
using rope::Layout;
using Tensor = Eigen::Tensor<float, 3, Eigen::RowMajor>;  // [seq, heads, head_dim]
using TensorMap = Eigen::TensorMap<Tensor>;

constexpr Index kHeadDim = 128;

rope::Config config() {
    rope::Config config;
    config.head_dim = kHeadDim;
    return config;
}

std::vector<float> random_numbers(Index count, unsigned seed) {
    std::mt19937 engine(seed);
    std::normal_distribution<float> normal;
    std::vector<float> numbers(static_cast<std::size_t>(count));
    for (float& x : numbers) x = normal(engine);
    return numbers;
}

double dot(const std::vector<float>& a, const std::vector<float>& b) {
    double sum = 0.0;
    for (std::size_t i = 0; i < a.size(); ++i) sum += static_cast<double>(a[i]) * static_cast<double>(b[i]);
    return sum;
}

/// The largest difference from the dense matrix, and the bound that apply.hpp states for that element.
struct Worst {
    double difference = 0.0, bound = 0.0;
    bool all_within = true;
};

/// Of q at positions `first` on, `before` and after it was turned.
template <Layout layout>
Worst compare_with_dense_matrix(const std::vector<float>& before, const std::vector<float>& after, Index first) {
    const double u = 0x1p-24;
    Worst worst;
    for (std::size_t at = 0; at < before.size(); at += kHeadDim) {
        const Index position = first + static_cast<Index>(at) / (8 * kHeadDim);
        const Eigen::MatrixXd r = rope::reference::rotation_matrix<layout>(config(), position);
        const Eigen::VectorXd x = Eigen::Map<const Eigen::VectorXf>(&before[at], kHeadDim).cast<double>();
        const Eigen::VectorXd y = Eigen::Map<const Eigen::VectorXf>(&after[at], kHeadDim).cast<double>();
        const Eigen::VectorXd right = r * x;
        // 2.01 u for both products, as without fma, cos and sin counting as at least 2^-10; half an ulp of the result.
        const Eigen::VectorXd terms = (r.array() != 0.0).select(r.cwiseAbs().cwiseMax(0x1p-10), 0.0) * x.cwiseAbs();
        for (Index i = 0; i < kHeadDim; ++i) {
            const double difference = std::fabs(right[i] - y[i]);
            const double bound = 2.01 * u * terms[i] + u * std::fabs(right[i]) + 0x1p-149;
            worst.all_within = worst.all_within && difference <= bound;
            if (difference > worst.difference) worst = {difference, bound, worst.all_within};
        }
    }
    return worst;
}

/// Promises that this run did not keep.
std::vector<std::string> broken_promises;

void print(const char* name, const Worst& w, bool is_promised) {
    if (is_promised && !w.all_within) broken_promises.push_back(name);
    std::printf("   %-20s largest error %.1e", name, w.difference);
    if (is_promised) std::printf(", where %.1e is promised%s", w.bound, w.all_within ? "; all within" : " (FAILED)");
    std::printf("\n");
}

void compare_errors() {
    constexpr Index seq = 64, heads = 8, kv_heads = 2, first = 131000;  // deep inside a long context
    std::printf("1. Query and key rotated in place at positions %td and after, against the dense matrix\n", first);
    const rope::CosSinCache<float> cache(config(), 131072);
    const std::vector<float> before = random_numbers(seq * heads * kHeadDim, 1);
    std::vector<float> interleaved = before, half_split = before, by_ggml = before;
    std::vector<float> k_data = random_numbers(seq * kv_heads * kHeadDim, 2);
    const TensorMap k(k_data.data(), seq, kv_heads, kHeadDim);
    rope::apply<Layout::interleaved>(TensorMap(interleaved.data(), seq, heads, kHeadDim), k, cache,
                                     rope::start_at(first));
    rope::apply<Layout::half_split>(TensorMap(half_split.data(), seq, heads, kHeadDim), k, cache,
                                    rope::start_at(first));
    other_ways::ggmls_way(by_ggml.data(), seq, heads, kHeadDim / 2, 10000.0f, first);
    print("rope, interleaved", compare_with_dense_matrix<Layout::interleaved>(before, interleaved, first), true);
    print("rope, half-split", compare_with_dense_matrix<Layout::half_split>(before, half_split, first), true);
    print("ggml's way", compare_with_dense_matrix<Layout::half_split>(before, by_ggml, first), false);
}

/// One head at one position.
std::vector<float> turned(std::vector<float> x, const rope::CosSinCache<float>& cache, Index position) {
    rope::apply<Layout::half_split>(rope::view(x.data(), 1, 1, kHeadDim), cache, rope::start_at(position));
    return x;
}
std::vector<float> added(std::vector<float> x, const rope::SinusoidalEmbedding<float>& embedding, Index position) {
    embedding.add(rope::embedding_view(x.data(), 1, 1, embedding.d_model()), rope::start_at(position));
    return x;
}

void shift_positions() {
    const rope::CosSinCache<float> cache(config(), 110000);
    const rope::SinusoidalEmbedding<float> sinusoidal(kHeadDim, 110000);
    const std::vector<float> q = random_numbers(kHeadDim, 3), k = random_numbers(kHeadDim, 4);
    std::printf("\n2. The score of a query and a key 5 tokens apart, wherever the two stand\n");
    std::printf("   query at     key at       with RoPE    with sinusoidal embeddings added\n");
    double least = INFINITY, most = -INFINITY;
    for (const Index n : {Index(0), Index(100), Index(4000), Index(100000)}) {
        const double score = dot(turned(q, cache, n + 5), turned(k, cache, n));
        least = std::min(least, score);
        most = std::max(most, score);
        std::printf("   %8td   %8td      %10.5f    %10.5f\n", n + 5, n, score,
                    dot(added(q, sinusoidal, n + 5), added(k, sinusoidal, n)));
    }
    // A head turned in float is off by at most 4 * 2^-24 of its norm (reposition.hpp); two heads, two scores.
    const double bound = 4.0 * 4.0 * 0x1p-24 * std::sqrt(dot(q, q) * dot(k, k));
    if (most - least > bound) broken_promises.push_back("a score that depends on distance alone");
    std::printf("   With RoPE they differ by %.1e, where %.1e is promised.\n", most - least, bound);
}

void mean_score_by_distance() {
    constexpr unsigned samples = 200;
    const rope::CosSinCache<float> cache(config(), 4097);
    std::printf("\n3. The mean score of a query and an equal key, by distance (1 where they stand together)\n");
    for (const Index distance : {0, 1, 4, 16, 64, 512, 4096}) {
        double sum = 0.0, self = 0.0;
        for (unsigned seed = 0; seed < samples; ++seed) {
            const std::vector<float> x = random_numbers(kHeadDim, seed);
            sum += dot(turned(x, cache, distance), x);
            self += dot(x, x);
        }
        const double mean = sum / self;
        std::printf("   %5td   %6.3f  %s\n", distance, mean,
                    std::string(static_cast<std::size_t>(std::max(0.0, 50.0 * mean)), '#').c_str());
    }
}

void compare_time() {
    constexpr Index heads = 32, most = 2048;
    const rope::CosSinCache<float> cache(config(), most);
    const rope::SinusoidalEmbedding<float> sinusoidal(heads * kHeadDim, most);
    std::vector<float> q = random_numbers(most * heads * kHeadDim, 5);
    std::vector<std::vector<double>> times;
    for (const Index seq : {Index(1), Index(16), most}) {
        const auto x = rope::view(q.data(), seq, heads, kHeadDim);
        times.push_back(
            timing::compare({[&] { rope::apply<Layout::half_split>(x, cache); },
                             [&] { rope::apply<Layout::interleaved>(x, cache); }, [&] { sinusoidal.add(x); },
                             [&] { other_ways::plain_loop(q.data(), seq, heads, kHeadDim / 2, cache.data()); },
                             [&] { other_ways::ggmls_way(q.data(), seq, heads, kHeadDim / 2, 10000.0f, 0); }}));
    }
    std::printf("\n4. Nanoseconds per call, q [tokens, %td, %td] in float, in place, one thread (times the first)\n",
                heads, kHeadDim);
    std::printf("                                 1 token           16 tokens          2048 tokens\n");
    const char* const names[] = {"rope, half-split", "rope, interleaved", "sinusoidal, added", "a plain loop",
                                 "ggml's way"};
    for (std::size_t i = 0; i < std::size(names); ++i) {
        std::printf("   %-20s", names[i]);
        for (const std::vector<double>& t : times) std::printf("%12.0f (%5.2f)", t[i], t[i] / t[0]);
        std::printf("\n");
    }
    const double build = timing::nanoseconds([] { (void)rope::CosSinCache<float>(config(), 131072).bytes(); });
    std::printf("   The table that rope needs, for 131072 positions, took %.0f ms, once.\n", build / 1e6);
}

void refuse() {
    std::printf("\n5. A call that cannot be right is refused before anything is written\n");
    const rope::CosSinCache<float> cache(config(), 4096);
    std::vector<float> q(2 * kHeadDim);
    const std::vector<int> ids = {17, 4096};
    const rope::Status status = rope::check(rope::view(q.data(), 2, 1, kHeadDim), cache, ids);
    if (status.ok()) broken_promises.push_back("a call that is refused");
    std::printf("   %s\n", status.message());
}

constexpr const char* kHelp =
    "quickstart: the demo of the library, as small tables.\n"
    "\n"
    "  quickstart   run it, which takes some seconds\n"
    "  --help       print this and stop\n";

}  // namespace

int main(int argc, char** argv) {
    if (const auto status = arguments::answer(argc, argv, kHelp)) return *status;
    std::printf("rope %s: rotary position embedding on the CPU, by the instruction set %s\n\n", ROPE_VERSION_STRING,
                rope::active_isa());
    compare_errors();
    shift_positions();
    mean_score_by_distance();
    compare_time();
    refuse();
    std::printf(
        "\nRead next: include/rope/guide/README.md, a page for each task; a whole model is in examples/generate/,\n");
    std::printf("more programs in examples/README.md, figures in benchmarks/README.md.\n\n");
    for (const std::string& promise : broken_promises) std::printf("NOT as promised: %s.\n", promise.c_str());
    if (!broken_promises.empty()) return 1;
    std::printf("All as promised.\n");
}
