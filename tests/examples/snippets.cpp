// SPDX-License-Identifier: MIT
// The code on README.md and include/rope/README.md compiles as it stands there, and does what the page says. Each block
// is included into a function that declares the names which the page takes for granted.
#define EIGEN_USE_THREADS
#include <rope/gguf_config.hpp>
#include <rope/gradients.hpp>
#include <rope/hf_config.hpp>
#include <rope/reference.hpp>
#include <rope/rope.hpp>

#include <cmath>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <thread>
#include <unsupported/Eigen/CXX11/Tensor>
#include <vector>

#include "support/catch.hpp"
#include "support/data.hpp"

using rope::Index;
using support::normal;
using support::same_bits;
using support::size;

namespace {

int omp_get_max_threads() { return 3; }
// Without OpenMP a region is run once, by the one thread of its team.
int regions_entered = 0;
int omp_get_thread_num() { return 0 * ++regions_entered; }
int omp_get_num_threads() { return 1; }

constexpr const char* kConfig =
    R"({"model_type": "qwen3", "hidden_size": 1024, "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 128,
        "num_hidden_layers": 2, "max_position_embeddings": 4096, "rope_theta": 1000000.0, "rms_norm_eps": 1e-6})";

/// The largest difference of a and b, relative to the largest number of b.
template <class A, class B>
double distance(const std::vector<A>& a, const std::vector<B>& b) {
    REQUIRE(a.size() == b.size());
    double difference = 0, largest = 0;
    for (std::size_t i = 0; i < a.size(); ++i) {
        difference = std::max(difference, std::abs(support::to_double(a[i]) - support::to_double(b[i])));
        largest = std::max(largest, std::abs(support::to_double(b[i])));
    }
    return difference / largest;
}

}  // namespace

TEST_CASE("README: from a model's own file") {
    const Index n = 20, seq = 3, layer = 1;
    const std::string text = kConfig;
    std::vector<std::string> logged;
    const auto log = [&](const std::string& warning) { logged.push_back(warning); };
    const std::vector<float> of_q = normal<float>(seq * 4 * 128, 1), of_k = normal<float>(seq * 2 * 128, 2);
    std::vector<float> q_out = of_q, k_out = of_k, q_want = of_q, k_want = of_k;
    const auto q = rope::view(q_out, seq, 4, 128), k = rope::view(k_out, seq, 2, 128);
    {
#include "readme_2.inc"
        CHECK(logged == std::vector<std::string>(rotary.model().warnings.begin(), rotary.model().warnings.end()));
    }
    rope::Config config;
    config.head_dim = 128;
    config.base = 1e6;
    const rope::CosSinCache<float> cache(config, 64);
    rope::apply<rope::Layout::half_split>(rope::view(q_want, seq, 4, 128), rope::view(k_want, seq, 2, 128), cache,
                                          rope::start_at(n));
    CHECK(same_bits(q_out, q_want));
    CHECK(same_bits(k_out, k_want));
}

TEST_CASE("README: everything around the rotation") {
    const Index n = 7, seq = 3, pages = 2;
    const float scale = 0.0883883f;
    const rope::CosSinCache<float> cache(rope::Config{128}, 64);
    const std::vector<int> slots = {17, -1, 4};
    const std::vector<float> q_weight = normal<float>(128, 1), k_weight = normal<float>(128, 2);
    const std::vector<float> of_q = normal<float>(seq * 8 * 128, 3), of_k = normal<float>(seq * 8 * 128, 4);
    std::vector<float> rotated(of_q.size());
    std::vector<rope::bfloat16> of_keys(size(pages * 16 * 8 * 128)), of_values(of_keys.size());
    rope::bfloat16 *const keys = of_keys.data(), *const values = of_values.data();
    const auto q = rope::view(of_q, seq, 8, 128), k = rope::view(of_k, seq, 8, 128), v = k;
    const auto q_out = rope::view(rotated, seq, 8, 128);
    {
#include "readme_3.inc"
    }
    const auto normed = [](std::vector<float> x, const std::vector<float>& w) {
        for (std::size_t at = 0; at < x.size(); at += 128) {
            double squares = 0;
            for (std::size_t i = at; i < at + 128; ++i) squares += double(x[i]) * double(x[i]);
            const double root = 1 / std::sqrt(squares / 128 + 1e-6);
            for (std::size_t i = at; i < at + 128; ++i)
                x[i] = static_cast<float>(double(x[i]) * root * double(w[i - at]));
        }
        return x;
    };
    std::vector<float> q_want = normed(of_q, q_weight), k_want = normed(of_k, k_weight);
    rope::apply<rope::Layout::half_split>(rope::view(q_want, seq, 8, 128), rope::view(k_want, seq, 8, 128), cache,
                                          rope::start_at(n));
    for (float& x : q_want) x *= scale;
    CHECK(distance(rotated, q_want) < 1e-6);
    const auto token = [](const auto& x, Index at) {
        return std::vector<typename std::decay_t<decltype(x)>::value_type>(x.begin() + at * 1024,
                                                                           x.begin() + (at + 1) * 1024);
    };
    CHECK(distance(token(of_keys, 17), token(k_want, 0)) < 4e-3);
    CHECK(distance(token(of_keys, 4), token(k_want, 2)) < 4e-3);
    CHECK(distance(token(of_values, 17), token(of_k, 0)) < 4e-3);

    // The other formats.
    std::vector<std::int8_t> of_codes(of_keys.size());
    std::vector<float> of_scales(size(pages * 16 * 8));
    std::vector<std::uint8_t> of_blocks(size(pages * 16 * 8 * 136));
    std::int8_t* const codes = of_codes.data();
    float* const scales = of_scales.data();
    std::uint8_t* const blocks = of_blocks.data();
    const auto run = [&](const rope::Path& path) {
        rope::pass<rope::Layout::half_split>(cache, rope::start_at(n), path);
    };
    {
#include "readme_4.inc"
        run(of_int8);
        run(of_q8_0);
    }
    std::vector<float> k_rotated = of_k;
    rope::apply<rope::Layout::half_split>(rope::view(k_rotated, seq, 8, 128), cache, rope::start_at(n));
    std::vector<float> read(1024);
    const std::vector<int> slot = {4};
    rope::dequantise(
        rope::int8(rope::paged(codes, pages, 16, 8, 128, slot), rope::paged(scales, pages, 16, 8, 1, slot)),
        rope::view(read, 1, 8, 128));
    CHECK(distance(read, token(k_rotated, 2)) < 5e-3);
    rope::dequantise(rope::q8_0(rope::paged(blocks, pages, 16, 8, 136, slot)), rope::view(read, 1, 8, 128));
    CHECK(distance(read, token(k_rotated, 2)) < 5e-3);
}

TEST_CASE("Recipe: pages") {
    const Index seq = 3, heads = 4, kv_heads = 2, head_dim = 64, pages = 3, page_size = 8, length = 2;
    const float scale = 0.125f;
    const rope::CosSinCache<float> cache(rope::Config{head_dim}, 64);
    std::vector<rope::bfloat16> keys(size(pages * page_size * kv_heads * head_dim)), values(keys.size());
    const int positions[] = {5, 6, 40}, slots[] = {8, 9, -1}, slots_of_sequence[] = {8, 9};
    std::vector<float> of_q = normal<float>(seq * heads * head_dim, 1),
                       of_k = normal<float>(seq * kv_heads * head_dim, 2);
    const std::vector<float> of_v = normal<float>(seq * kv_heads * head_dim, 3);
    std::vector<float> q_want = of_q, k_want = of_k, of_sequence(size(length * kv_heads * head_dim));
    float *const q = of_q.data(), *const k = of_k.data(), *const k_of_sequence = of_sequence.data();
    const float* const v = of_v.data();
    {
#include "guide_1.inc"
    } rope::apply<rope::Layout::half_split>(rope::view(q_want, seq, heads, head_dim),
                                            rope::view(k_want, seq, kv_heads, head_dim), cache,
                                            rope::ids(positions, seq));
    for (float& x : q_want) x *= scale;
    CHECK(same_bits(of_q, q_want));
    k_want.resize(of_sequence.size());
    CHECK(distance(of_sequence, k_want) < 4e-3);
    CHECK(support::to_double(values[size(9 * kv_heads * head_dim)]) ==
          Approx(double(of_v[size(kv_heads * head_dim)])).epsilon(4e-3));
}

TEST_CASE("Recipe: from a model's file to a pass") {
    const rope::ModelConfig model = rope::read_hf_config(kConfig);
    const Index n = 9, seq = 2, kv_heads = 2, pages = 1;
    const std::size_t i = 1, layer_with_rope = 0;
    const std::vector<std::vector<float>> q_norm(2, std::vector<float>(128, 2.0f)),
        k_norm(2, std::vector<float>(128, 3.0f));
    std::vector<float> temperatures(size(seq));
    const std::vector<float> of_q = normal<float>(seq * 4 * 128, 1), of_k = normal<float>(seq * kv_heads * 128, 2);
    std::vector<float> out(of_q.size()), of_keys(size(pages * 16 * kv_heads * 128)), of_values(of_keys.size());
    float *const keys = of_keys.data(), *const values = of_values.data();
    const std::vector<int> slots = {0, 1};
    const auto q = rope::view(of_q, seq, 4, 128), k = rope::view(of_k, seq, kv_heads, 128), v = k;
    const auto q_out = rope::view(out, seq, 4, 128);
    {
#include "guide_2.inc"
    }
    // The norm leaves heads of 128 numbers with a sum of squares of 128, times the weight and the factor of scores.
    double squares_q = 0, squares_k = 0;
    for (Index f = 0; f < 128; ++f) {
        squares_q += double(out[size(f)]) * double(out[size(f)]);
        squares_k += double(of_keys[size(f)]) * double(of_keys[size(f)]);
    }
    CHECK(squares_q == Approx(4.0).epsilon(1e-5));  // 128 * 2^2 / 128
    CHECK(squares_k == Approx(128 * 9.0).epsilon(1e-5));
    std::vector<float> want(out.size());
    const auto by_hand = [&](const auto& x, Index heads, const std::vector<float>& weight, double factor) {
        rope::Config config;
        config.head_dim = 128;
        config.base = 1e6;
        rope::pass<rope::Layout::half_split>(rope::CosSinCache<float>(config, 16), rope::start_at(n),
                                             rope::heads(x)
                                                 .rms_norm(weight, 1e-6)
                                                 .rotate()
                                                 .multiply(factor)
                                                 .to(rope::view(want.data(), seq, heads, 128)));
    };
    by_hand(q, 4, q_norm[i], model.steps[i].softmax_scale);
    CHECK(distance(out, want) < 1e-6);
    want.resize(of_k.size());
    by_hand(k, kv_heads, k_norm[i], 1.0);
    of_keys.resize(of_k.size());
    CHECK(distance(of_keys, want) < 1e-6);
    of_values.resize(of_k.size());
    CHECK(same_bits(of_values, of_k));
    CHECK(temperatures == std::vector<float>(size(seq), 1.0f));
}

TEST_CASE("Recipe: threads") {
    const Index seq = 100;
    const rope::CosSinCache<float> cache(rope::Config{64}, seq);
    std::vector<float> of_q = normal<float>(seq * 64 * 64, 1), of_k = normal<float>(seq * 8 * 64, 2);
    std::vector<float> q_want = of_q, k_want = of_k, q_eigen = of_q, q_threads = of_q;
    const auto q = rope::view(of_q, seq, 64, 64), k = rope::view(of_k, seq, 8, 64);
    Eigen::ThreadPool two(2);
    Eigen::ThreadPoolDevice device(&two, 2);
    {
#include "guide_3.inc"
        rope::apply<rope::Layout::half_split>(rope::view(q_eigen, seq, 64, 64), cache, rope::start_at(0), eigen);
        rope::apply<rope::Layout::half_split>(rope::view(q_threads, seq, 64, 64), cache, rope::start_at(0), threads);
    }
    rope::apply<rope::Layout::half_split>(rope::view(q_want, seq, 64, 64), rope::view(k_want, seq, 8, 64), cache);
    CHECK(same_bits(of_q, q_want));
    CHECK(same_bits(of_k, k_want));
    CHECK(same_bits(q_eigen, q_want));
    CHECK(same_bits(q_threads, q_want));
}

TEST_CASE("Recipe: threads that all make the call ask first") {
    const rope::CosSinCache<float> cache(rope::Config{64}, 16);
    const std::vector<float> before_q = normal<float>(4 * 64, 1), before_k = normal<float>(64, 2);
    std::vector<float> of_q = before_q, of_k = before_k;
    const auto q = rope::view(of_q, 1, 4, 64), k = rope::view(of_k, 1, 1, 64);
    const auto call = [&](const rope::Positions& positions) {
#include "guide_4.inc"
    };
    regions_entered = 0;
    CHECK_THROWS_WITH(call(rope::start_at(16)),
                      "positions start at 16 and seq is 1; this cache holds positions 0 to 15.");
    CHECK(regions_entered == 0);
    CHECK(same_bits(of_q, before_q));
    CHECK(same_bits(of_k, before_k));
    call(rope::start_at(15));
    CHECK(regions_entered == 1);
    std::vector<float> want = before_q;
    rope::apply<rope::Layout::half_split>(rope::view(want, 1, 4, 64), cache, rope::start_at(15));
    CHECK(same_bits(of_q, want));
}

TEST_CASE("Recipe: training") {
    constexpr rope::Layout layout = rope::Layout::half_split;
    const Index batch = 1, seq = 4, head_dim = 8, pairs = head_dim / 2;
    const double rate = 1e-3;
    rope::Frequencies frequencies = rope::frequencies(rope::Config{head_dim});
    const std::vector<double> before(frequencies.inv_freq.begin(), frequencies.inv_freq.end());
    rope::Rows<float> rows(rope::Config{head_dim});
    const rope::Positions positions = rope::start_at(3);
    rows.build(positions, seq, batch);
    std::vector<float> of_q = normal<float>(seq * 2 * head_dim, 1), of_k = normal<float>(seq * head_dim, 2);
    std::vector<float> of_dq = normal<float>(seq * 2 * head_dim, 3), of_dk = normal<float>(seq * head_dim, 4);
    const auto q = rope::view(of_q, seq, 2, head_dim), k = rope::view(of_k, seq, 1, head_dim);
    const auto dq = rope::view(of_dq, seq, 2, head_dim), dk = rope::view(of_dk, seq, 1, head_dim);
    const std::vector<float> dq_before = of_dq;
    {
#include "guide_5.inc"
        // dL/dw_i is the sum over tokens of the position times dL/dangle: dL/da' = g, da'/dangle = -b', db'/dangle = a'.
        for (Index pair = 0; pair < pairs; ++pair) {
            double want = 0;
            for (Index t = 0; t < seq; ++t)
                for (Index h = 0; h < 2; ++h) {
                    const std::size_t a = size((t * 2 + h) * head_dim + pair), b = a + size(pairs);
                    want += double(3 + t) *
                            (double(dq_before[b]) * double(of_q[a]) - double(dq_before[a]) * double(of_q[b]));
                }
            for (Index t = 0; t < seq; ++t) {
                const std::size_t a = size(t * head_dim + pair), b = a + size(pairs);
                want += double(3 + t) * (double(normal<float>(seq * head_dim, 4)[b]) * double(of_k[a]) -
                                         double(normal<float>(seq * head_dim, 4)[a]) * double(of_k[b]));
            }
            CHECK(dw[size(pair)] == Approx(want).epsilon(1e-6));
            CHECK(frequencies.inv_freq[size(pair)] == before[size(pair)] - rate * dw[size(pair)]);
        }
    }
    // Rows rebuilt after use_frequencies rotate as rows made from the new frequencies do.
    rope::Rows<float> fresh(frequencies, {}, rope::HeadSlice{head_dim});
    fresh.build(positions, seq, batch);
    std::vector<float> one = of_k, other = of_k;
    rope::apply<layout>(rope::view(one, seq, 1, head_dim), rows);
    rope::apply<layout>(rope::view(other, seq, 1, head_dim), fresh);
    CHECK(same_bits(one, other));
}
