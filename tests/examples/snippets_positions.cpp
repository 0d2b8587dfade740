// SPDX-License-Identifier: MIT
// The code on the pages about decoding, images and shards: see snippets.hpp.
#include <rope/hf_config.hpp>
#include <rope/rope.hpp>

#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

#include "examples/snippets.hpp"

TEST_CASE("decode and prefill") {
    const Index n = 5;
    std::vector<float> of_q = normal<float>(n * 32 * 128, 1), of_k = normal<float>(n * 8 * 128, 2);
    std::vector<float> next_q = normal<float>(32 * 128, 3), next_k = normal<float>(8 * 128, 4);
    std::vector<float> of_batch = normal<float>(4 * 32 * 128, 5);
    const std::vector<float> batch_before = of_batch, next_before = next_q;
    float *const q = of_q.data(), *const k = of_k.data(), *const q_next = next_q.data(), *const k_next = next_k.data();
    float* const q_batch = of_batch.data();
#include "decode_and_prefill_1.inc"
#include "decode_and_prefill_2.inc"
    const auto at = [&](std::vector<float> x, int position) {
        rope::apply<rope::Layout::half_split>(rope::view(x, 1, 32, 128), cache, rope::start_at(position));
        return x;
    };
    CHECK(same_bits(next_q, at(next_before, 5)));
    for (std::size_t b = 0; b < 4; ++b) {
        const auto part = [&](const std::vector<float>& x) {
            return std::vector<float>(x.begin() + std::ptrdiff_t(b * 4096),
                                      x.begin() + std::ptrdiff_t(b * 4096 + 4096));
        };
        CHECK(same_bits(part(of_batch), at(part(batch_before), positions[b])));
    }
}

namespace {
constexpr const char* kVision = R"({"model_type": "qwen2_5_vl", "hidden_size": 512, "num_attention_heads": 4,
    "num_key_value_heads": 2, "num_hidden_layers": 2, "max_position_embeddings": 4096, "rope_theta": 1000000.0,
    "rope_scaling": {"type": "mrope", "mrope_section": [16, 24, 24]}})";
}

TEST_CASE("images: rows for a prompt, decoding after it, and a recipe's pass") {
    const rope::ModelConfig model = rope::read_hf_config(kVision);
    const rope::Config config = *model.layer(0);
    const rope::CosSinCache<float> cache(config, 64);
    const Index tokens = 5 + 24 + 3, n = tokens, layer = 0;
    const std::vector<float> of_q = normal<float>(tokens * 4 * 128, 1), of_k = normal<float>(tokens * 2 * 128, 2);
    std::vector<float> q_rotated = of_q, k_rotated = of_k, passed(of_q.size());
    std::vector<float> next_q = normal<float>(4 * 128, 3), next_k = normal<float>(2 * 128, 4);
    const std::vector<float> next_before = next_q;
    const auto q_next = rope::view(next_q, 1, 4, 128), k_next = rope::view(next_k, 1, 2, 128);
    {
        const auto q = rope::view(q_rotated, tokens, 4, 128), k = rope::view(k_rotated, tokens, 2, 128);
#include "images_and_video_1.inc"
        REQUIRE(prompt.tokens == tokens);
        // The prompt ends at position 5 + max(4, 6) + 3 - 1 on all axes, so the next token stands one further on.
        std::vector<float> want = next_before;
        rope::apply<rope::Layout::half_split>(rope::view(want, 1, 4, 128), cache, rope::start_at(14));
        CHECK(same_bits(next_q, want));
        {
            const rope::RotaryEmbedding<float> rotary(model);
            const auto q = rope::view(of_q, tokens, 4, 128);
            const auto q_out = rope::view(passed, tokens, 4, 128);
#include "images_and_video_2.inc"
            CHECK(same_bits(passed, q_rotated));
        }
        {
            next_q = next_before;
            rope::BasicPromptPositions<double> fractional;
            fractional.delta = -14.5;
#include "images_and_video_3.inc"
            const std::vector<double> at = {17.5, 17.5, 17.5};
            want = next_before;
            rows.build(rope::AxisPositions(at, 3), 1);
            rope::apply<rope::Layout::half_split>(rope::view(want, 1, 4, 128), rows);
            CHECK(same_bits(next_q, want));
        }
    }
}

TEST_CASE("shards: a norm over heads of several ranks") {
    const Index n = 3, seq = 4, all_heads = 4, my_heads = 2;
    const rope::CosSinCache<float> cache(rope::Config{128}, 16);
    const std::vector<float> whole = normal<float>(seq * all_heads * 128, 1),
                             weights = normal<float>(all_heads * 128, 2);
    std::vector<float> want = whole;
    rope::pass<rope::Layout::half_split>(cache, rope::start_at(n),
                                         rope::heads(rope::view(want, seq, all_heads, 128))
                                             .rms_norm(weights.data(), 1e-6, {rope::NormSpan::token})
                                             .rotate());
    // This rank has heads 2 and 3; the others' sums are added by all_reduce.
    std::vector<float> of_rank, mine_want;
    std::vector<double> squares(size(seq));
    for (Index t = 0; t < seq; ++t)
        for (Index i = 2 * 128; i < all_heads * 128; ++i) {
            const std::size_t at = size(t * all_heads * 128 + i);
            of_rank.push_back(whole[at]);
            mine_want.push_back(want[at]);
        }
    const auto all_reduce = [&](std::vector<double>& sums) {
        for (Index t = 0; t < seq; ++t)
            for (Index i = 0; i < 2 * 128; ++i) {
                const double x = double(whole[size(t * all_heads * 128 + i)]);
                sums[size(t)] += x * x;
            }
    };
    const float* const my_weights = weights.data() + 2 * 128;
    {
        float* const q = of_rank.data();
#include "shards_1.inc"
    }
    CHECK(distance(of_rank, mine_want) < 1e-6);
}
