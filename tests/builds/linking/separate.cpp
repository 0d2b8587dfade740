// SPDX-License-Identifier: MIT
// A program for separate compilation: what it prints depends on the tables, the call, the pass and the readers of
// <rope/src.hpp>.
#include <rope/core.hpp>
#include <rope/gguf_config.hpp>
#include <rope/heads.hpp>
#include <rope/hf_config.hpp>

#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#if defined(ROPE_SEPARATE_COMPILATION) && defined(NLOHMANN_JSON_VERSION_MAJOR)
#    error "<rope/hf_config.hpp> includes nlohmann-json, which <rope/src.hpp> alone needs"
#endif

static std::optional<rope::GgufValue> find(std::string_view key) {
    if (key == "general.architecture") return std::string("qwen2");
    if (key == "qwen2.block_count") return std::uint64_t(3);
    if (key == "qwen2.context_length") return std::uint64_t(131072);
    if (key == "qwen2.embedding_length") return std::uint64_t(1024);
    if (key == "qwen2.attention.head_count") return std::uint64_t(8);
    if (key == "qwen2.rope.freq_base") return 1e6;
    if (key == "qwen2.rope.scaling.type") return std::string("yarn");
    if (key == "qwen2.rope.scaling.factor") return 4.0;
    if (key == "qwen2.rope.scaling.original_context_length") return std::uint64_t(32768);
    return std::nullopt;
}

static void print(const rope::ModelConfig& model) {
    const rope::Frequencies f = rope::frequencies(*model.layer(1));
    std::printf("%s: %zu %zu %zu %.6f %.6f\n", model.model_type.c_str(), model.config_of_layer.size(),
                f.inv_freq.size(), model.warnings.size(), static_cast<double>(rope::scaled_length(model)),
                f.attention_factor);
}

int main() {
    print(rope::read_hf_config(
        R"({"model_type": "qwen2", "num_hidden_layers": 2, "num_attention_heads": 4, "hidden_size": 512,
            "max_position_embeddings": 32768, "rope_theta": 1000000.0,
            "rope_scaling": {"type": "yarn", "factor": 2.0, "original_max_position_embeddings": 32768}})"));
    print(rope::read_gguf_config(find));
    const rope::CosSinCache<float> cache(rope::Config{8}, 16);
    std::vector<float> x = {1, 2, 3, 4, 5, 6, 7, 8};
    const auto v = rope::view(x.data(), 1, 1, 8);
    rope::apply<rope::Layout::half_split>(v, cache, rope::start_at(3));
    rope::pass<rope::Layout::half_split>(cache, rope::start_at(2), rope::heads(v).rms_norm(1e-6).rotate());
    double sum = 0.0;
    for (std::size_t i = 0; i < x.size(); ++i) sum += static_cast<double>(i + 1) * static_cast<double>(x[i]);
    const rope::Status refused = rope::check(rope::view(x.data(), 1, 2, 4), cache);
    std::printf("%.6f %s\n", sum, refused.message());
}
