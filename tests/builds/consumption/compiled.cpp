// SPDX-License-Identifier: MIT
// A user's program that links the compiled library: it has neither kernels nor nlohmann-json in it.
#include <rope/engine.hpp>
#include <rope/hf_config.hpp>

#include <cstdio>
#include <utility>
#include <vector>

int main() {
    rope::ModelConfig model = rope::read_hf_config(
        R"({"model_type": "llama", "num_hidden_layers": 2, "num_attention_heads": 2, "num_key_value_heads": 1,
            "hidden_size": 128, "max_position_embeddings": 128, "rope_theta": 10000.0})");
    const rope::RotaryEmbedding<float> rotary(std::move(model));
    std::vector<float> q(4 * 2 * 64, 1.0f), k(4 * 1 * 64, 1.0f);
    rotary.apply(1, rope::view(q.data(), 4, 2, 64), rope::view(k.data(), 4, 1, 64));
    const bool ok = q[0] == 1.0f && q[3 * 2 * 64] != 1.0f && q[3 * 2 * 64] == k[3 * 64];
    std::printf("rope %s: %s\n", ROPE_VERSION_STRING, ok ? "ok" : "wrong");
}
