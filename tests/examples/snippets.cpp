// SPDX-License-Identifier: MIT
// The code on the pages about model files, threads, training and errors: see snippets.hpp.
#define EIGEN_USE_THREADS
#include <rope/gguf_config.hpp>
#include <rope/gradients.hpp>
#include <rope/hf_config.hpp>
#include <rope/rope.hpp>

#include <cmath>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <thread>
#include <unsupported/Eigen/CXX11/Tensor>
#include <vector>

#include "examples/snippets.hpp"

namespace {

int omp_get_max_threads() { return 3; }
// Without OpenMP a region is run once, by the one thread of its team.
int regions_entered = 0;
int omp_get_thread_num() { return 0 * ++regions_entered; }
int omp_get_num_threads() { return 1; }

constexpr const char* kConfig =
    R"({"model_type": "qwen3", "hidden_size": 1024, "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 128,
        "num_hidden_layers": 2, "max_position_embeddings": 4096, "rope_theta": 1000000.0, "rms_norm_eps": 1e-6})";

}  // namespace

TEST_CASE("from a model's own file") {
    const Index n = 20, seq = 3, layer = 1;
    const std::string text = kConfig;
    std::vector<std::string> logged;
    const auto log = [&](const std::string& warning) { logged.push_back(warning); };
    const std::vector<float> of_q = normal<float>(seq * 4 * 128, 1), of_k = normal<float>(seq * 2 * 128, 2);
    std::vector<float> q_out = of_q, k_out = of_k, q_want = of_q, k_want = of_k;
    const auto q = rope::view(q_out, seq, 4, 128), k = rope::view(k_out, seq, 2, 128);
    {
#include "model_files_1.inc"
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

TEST_CASE("from a model's file to a pass") {
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
#include "model_files_4.inc"
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

TEST_CASE("a GGUF file by a parser of the caller's") {
    struct {
        std::optional<rope::GgufValue> find(std::string_view key) const {
            if (key == "general.architecture") return rope::GgufValue(std::string("llama"));
            if (key == "llama.block_count") return rope::GgufValue(std::int64_t(2));
            if (key == "llama.attention.head_count") return rope::GgufValue(std::int64_t(4));
            if (key == "llama.embedding_length") return rope::GgufValue(std::int64_t(256));
            if (key == "llama.context_length") return rope::GgufValue(std::int64_t(64));
            if (key == "llama.rope.freq_base") return rope::GgufValue(5e5);
            return std::nullopt;
        }
        std::vector<float> floats(std::string_view) const { return {}; }
    } file;
#include "model_files_2.inc"
    CHECK(rotary.model().layer(1)->base == 5e5);
    CHECK(rotary.table(0)->layout() == rope::Layout::interleaved);
}

TEST_CASE("a model type that is not known gets its layout from the caller") {
    const std::string text_of_unknown_type =
        R"({"model_type": "tomorrow", "hidden_size": 256, "num_attention_heads": 2, "num_hidden_layers": 1, "rope_theta": 1e4,
            "max_position_embeddings": 64})";
#include "model_files_3.inc"
    CHECK(model.layer(0)->layout == rope::Layout::half_split);
    CHECK(model.steps.empty());
    CHECK_FALSE(rope::check_recipe(model, 0).ok());
    CHECK_NOTHROW(rope::RotaryEmbedding<float>(model));
    CHECK_THROWS(rope::RotaryEmbedding<float>(rope::read_hf_config(text_of_unknown_type)));
}

TEST_CASE("threads") {
    const Index seq = 100;
    const rope::CosSinCache<float> cache(rope::Config{64}, seq);
    std::vector<float> of_q = normal<float>(seq * 64 * 64, 1), of_k = normal<float>(seq * 8 * 64, 2);
    std::vector<float> q_want = of_q, k_want = of_k, q_eigen = of_q, q_threads = of_q;
    const auto q = rope::view(of_q, seq, 64, 64), k = rope::view(of_k, seq, 8, 64);
    Eigen::ThreadPool two(2);
    Eigen::ThreadPoolDevice device(&two, 2);
    {
#include "threads_1.inc"
        rope::apply<rope::Layout::half_split>(rope::view(q_eigen, seq, 64, 64), cache, rope::start_at(0), eigen);
        rope::apply<rope::Layout::half_split>(rope::view(q_threads, seq, 64, 64), cache, rope::start_at(0), threads);
    }
    rope::apply<rope::Layout::half_split>(rope::view(q_want, seq, 64, 64), rope::view(k_want, seq, 8, 64), cache);
    CHECK(same_bits(of_q, q_want));
    CHECK(same_bits(of_k, k_want));
    CHECK(same_bits(q_eigen, q_want));
    CHECK(same_bits(q_threads, q_want));
}

TEST_CASE("threads that all make the call ask first") {
    const rope::CosSinCache<float> cache(rope::Config{64}, 16);
    const std::vector<float> before_q = normal<float>(4 * 64, 1), before_k = normal<float>(64, 2);
    std::vector<float> of_q = before_q, of_k = before_k;
    const auto q = rope::view(of_q, 1, 4, 64), k = rope::view(of_k, 1, 1, 64);
    const auto call = [&](const rope::Positions& positions) {
#include "threads_2.inc"
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

TEST_CASE("training") {
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
#include "training_1.inc"
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

TEST_CASE("the gradient of a pass that changes the layout is the pass back, at negated positions") {
    const Index seq = 3, heads = 2, head_dim = 8;
    rope::Rows<double> rows(rope::Config{head_dim});
    const std::vector<int> positions = {3, 0, 11};
    std::vector<int> negated(positions.size());
    const std::vector<double> of_x = normal<double>(seq * heads * head_dim, 1),
                              of_dy = normal<double>(seq * heads * head_dim, 2);
    std::vector<double> of_y(of_x.size()), of_dx(of_x.size());
    const auto x = rope::view(of_x, seq, heads, head_dim), dy = rope::view(of_dy, seq, heads, head_dim);
    const auto y = rope::view(of_y, seq, heads, head_dim), dx = rope::view(of_dx, seq, heads, head_dim);
    {
#include "training_2.inc"
    }
    // The pass is linear, so <dy, pass(x)> is <dx, x>, and no other dx does that for every x.
    double forward = 0, backward = 0;
    for (std::size_t i = 0; i < of_x.size(); ++i) {
        forward += of_dy[i] * of_y[i];
        backward += of_dx[i] * of_x[i];
    }
    CHECK(backward == Approx(forward).epsilon(1e-13));
    // Each number of dx by itself: x with a 1 there and 0 elsewhere.
    for (std::size_t one = 0; one < of_x.size(); ++one) {
        std::vector<double> unit(of_x.size()), image(of_x.size());
        unit[one] = 1;
        rope::Rows<double> at(rope::Config{head_dim});
        at.build(positions, seq);
        rope::pass<rope::Layout::interleaved>(at, rope::start_at(0),
                                              rope::heads(rope::view(unit, seq, heads, head_dim))
                                                  .rotate_into(rope::Layout::half_split)
                                                  .to(rope::view(image, seq, heads, head_dim)));
        double want = 0;
        for (std::size_t i = 0; i < image.size(); ++i) want += of_dy[i] * image[i];
        CHECK(std::abs(of_dx[one] - want) < 1e-13);
    }
}

TEST_CASE("errors: asked first, and as a Status; the sentences on the page") {
    const Index n = 20;
    const rope::CosSinCache<float> cache(rope::Config{64}, 16), long_cache(rope::Config{128}, 8192);
    const std::vector<float> before = normal<float>(64, 1);
    std::vector<float> of_q = before, of_k = before;
    const auto q = rope::view(of_q, 1, 1, 64), k = rope::view(of_k, 1, 1, 64);
    std::vector<std::string> logged;
    const auto log = [&](const std::string& message) { logged.push_back(message); };
    {
#include "errors_1.inc"
    } {
#include "errors_2.inc"
        CHECK(logged == std::vector<std::string>{done.message()});
    }
    {
        const Index n = 5, positions = 16;
        std::vector<float> of_q = before, of_k = before, want = before;
        const auto q = rope::view(of_q, 1, 1, 64), k = rope::view(of_k, 1, 1, 64);
        std::vector<float> columns(16 * 64);  // cosines of all positions, then sines
        for (Index p = 0; p < positions; ++p)
            for (Index i = 0; i < 32; ++i) {
                columns[size(p * 32 + i)] = cache.cos_row(p)[i];
                columns[size((positions + p) * 32 + i)] = cache.sin_row(p)[i];
            }
        {
            const float* const numbers = columns.data();
#include "errors_4.inc"
        }
        rope::apply<rope::Layout::half_split>(rope::view(want, 1, 1, 64), cache, rope::start_at(n));
        CHECK(same_bits(of_q, want));
        CHECK(same_bits(of_k, want));
    }
    CHECK(logged[0] == "positions start at 20 and seq is 1; this cache holds positions 0 to 15.");
    CHECK(same_bits(of_q, before));
    std::vector<float> wide(128), narrow(96);
    CHECK_THROWS_WITH(
        rope::apply<rope::Layout::half_split>(rope::view(wide, 1, 1, 128), rope::view(narrow, 1, 1, 96), long_cache),
        "k.head_dim is 96; its cache was made for a head_dim of 128.");
    CHECK_THROWS_WITH(
        rope::apply<rope::Layout::half_split>(rope::view(wide, 1, 1, 128), long_cache, rope::start_at(8192)),
        "positions start at 8192 and seq is 1; this cache holds positions 0 to 8191.");
}
