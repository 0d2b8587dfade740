// SPDX-License-Identifier: MIT
// The demo: what the library does, on tensors mapped by Eigen, as five small tables.
#include <rope/rope.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <random>
#include <string>
#include <vector>

namespace {

using rope::Index;
using rope::Layout;
using Tensor = Eigen::Tensor<float, 3, Eigen::RowMajor>;  // [seq, heads, head_dim]
using TensorMap = Eigen::TensorMap<Tensor>;

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

const char* name_of(Layout layout) { return layout == Layout::interleaved ? "interleaved" : "half-split "; }

/// q and k in one call, compared with the dense rotation matrix, element by element.
template <Layout layout>
void compare_with_dense_matrix() {
    constexpr Index seq = 64, heads = 8, kv_heads = 2, head_dim = 128;
    rope::Config config;
    config.head_dim = head_dim;
    const rope::CosSinCache<float> cache(config, 131072);
    std::vector<float> q_data = random_numbers(seq * heads * head_dim, 1);
    std::vector<float> k_data = random_numbers(seq * kv_heads * head_dim, 2);
    const std::vector<float> before = q_data;

    const TensorMap q(q_data.data(), seq, heads, head_dim);
    const TensorMap k(k_data.data(), seq, kv_heads, head_dim);
    const Index first = 131000;  // deep inside a long context
    rope::apply<layout>(q, k, cache, rope::start_at(first));

    double worst = 0.0;
    for (Index s = 0; s < seq; ++s) {
        const Eigen::MatrixXd r = rope::reference::rotation_matrix<layout>(config, first + s);
        for (Index h = 0; h < heads; ++h) {
            const Index at = (s * heads + h) * head_dim;
            const Eigen::VectorXd x = Eigen::Map<const Eigen::VectorXf>(before.data() + at, head_dim).cast<double>();
            const Eigen::VectorXd y = Eigen::Map<const Eigen::VectorXf>(q_data.data() + at, head_dim).cast<double>();
            worst = std::max(worst, (r * x - y).cwiseAbs().maxCoeff());
        }
    }
    std::printf("   %s   [%td, %td, %td] at positions %td ..   largest difference %.1e\n", name_of(layout), seq, heads,
                head_dim, first, worst);
}

/// One head at one position.
std::vector<float> turned(std::vector<float> x, const rope::CosSinCache<float>& cache, Index position) {
    rope::apply<Layout::half_split>(rope::view(x.data(), 1, 1, cache.head_dim()), cache, rope::start_at(position));
    return x;
}

std::vector<float> added(std::vector<float> x, const rope::SinusoidalEmbedding<float>& embedding, Index position) {
    embedding.add(rope::embedding_view(x.data(), 1, 1, embedding.d_model()), rope::start_at(position));
    return x;
}

void shift_positions() {
    constexpr Index head_dim = 128;
    rope::Config config;
    config.head_dim = head_dim;
    const rope::CosSinCache<float> cache(config, 110000);
    const rope::SinusoidalEmbedding<float> sinusoidal(head_dim, 110000);
    const std::vector<float> q = random_numbers(head_dim, 3), k = random_numbers(head_dim, 4);
    std::printf("\n2. The score of a query and a key 5 tokens apart, wherever the two stand\n\n");
    std::printf("   query at     key at       with RoPE    with sinusoidal embeddings added\n");
    for (const Index n : {Index(0), Index(7), Index(100), Index(4000), Index(100000)})
        std::printf("   %8td   %8td      %10.5f    %10.5f\n", n + 5, n,
                    dot(turned(q, cache, n + 5), turned(k, cache, n)),
                    dot(added(q, sinusoidal, n + 5), added(k, sinusoidal, n)));
}

void mean_score_by_distance() {
    constexpr Index head_dim = 128;
    constexpr unsigned samples = 200;
    rope::Config config;
    config.head_dim = head_dim;
    const rope::CosSinCache<float> cache(config, 4097);
    std::printf("\n3. The mean score of a query and an equal key, by distance (1 where they stand together)\n\n");
    for (const Index distance : {0, 1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096}) {
        double sum = 0.0, self = 0.0;
        for (unsigned seed = 0; seed < samples; ++seed) {
            const std::vector<float> x = random_numbers(head_dim, seed);
            sum += dot(turned(x, cache, distance), x);
            self += dot(x, x);
        }
        const double mean = sum / self;
        std::printf("   %5td   %6.3f  %s\n", distance, mean,
                    std::string(static_cast<std::size_t>(std::max(0.0, 50.0 * mean)), '#').c_str());
    }
}

template <class F>
double milliseconds(F&& f) {
    const auto start = std::chrono::steady_clock::now();
    f();
    return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
}

double median(std::vector<double> values) {
    std::sort(values.begin(), values.end());
    return values[values.size() / 2];
}

void compare_time() {
    constexpr Index seq = 2048, batch = 16, heads = 12, head_dim = 64;
    rope::Config config;
    config.head_dim = head_dim;
    const rope::CosSinCache<float> cache(config, seq);
    const rope::SinusoidalEmbedding<float> sinusoidal(heads * head_dim, seq);
    std::vector<float> q = random_numbers(seq * batch * heads * head_dim, 5), k = q;
    const auto as_heads = [&](std::vector<float>& x) { return rope::view(x.data(), seq, batch * heads, head_dim); };
    const auto as_tokens =
        [&](std::vector<float>& x) {  // [seq, batch, d_model] in memory, seen as [batch, seq, d_model]
            rope::TensorView<float> v = rope::embedding_view(x.data(), batch, seq, heads * head_dim);
            v.batch_stride = heads * head_dim;
            v.seq_stride = batch * heads * head_dim;
            return v;
        };
    std::vector<double> additive, interleaved, half_split;
    for (int round = 0; round < 9; ++round) {  // interleaved, so that the machine's moods hit all three alike
        additive.push_back(milliseconds([&] { sinusoidal.add(as_tokens(q)), sinusoidal.add(as_tokens(k)); }));
        interleaved.push_back(milliseconds([&] { rope::apply<Layout::interleaved>(as_heads(q), as_heads(k), cache); }));
        half_split.push_back(milliseconds([&] { rope::apply<Layout::half_split>(as_heads(q), as_heads(k), cache); }));
    }
    std::printf("\n4. Time for q and k of [%td, %td, %td, %td] in float, in place, one thread, median of 9\n\n", seq,
                batch, heads, head_dim);
    std::printf("   additive sinusoidal   %7.2f ms\n", median(additive));
    std::printf("   RoPE, interleaved     %7.2f ms   %.2f times\n", median(interleaved),
                median(interleaved) / median(additive));
    std::printf("   RoPE, half-split      %7.2f ms   %.2f times\n", median(half_split),
                median(half_split) / median(additive));
    const double build = milliseconds([&] { (void)rope::CosSinCache<float>(rope::Config{128}, 131072).bytes(); });
    std::printf("   the table, once       %7.2f ms   for 131072 positions of 64 pairs\n", build);
}

void refuse() {
    std::printf("\n5. A call that cannot be right is refused before anything is written\n\n");
    const rope::CosSinCache<float> cache(rope::Config{128}, 4096);
    std::vector<float> q(2 * 128);
    const std::vector<int> ids = {17, 4096};
    const rope::Status status = rope::check(rope::view(q.data(), 2, 1, 128), cache, ids);
    std::printf("   %s\n", status.message());
}

}  // namespace

int main() {
    std::printf("rope %s: rotary position embedding on the CPU\n\n", ROPE_VERSION_STRING);
    std::printf("1. Queries and keys turned in place, against the dense rotation matrix\n\n");
    compare_with_dense_matrix<Layout::interleaved>();
    compare_with_dense_matrix<Layout::half_split>();
    shift_positions();
    mean_score_by_distance();
    compare_time();
    refuse();
}
