// SPDX-License-Identifier: MIT
// The other half of a unit, which is compiled only, not run: what works on std's and Eigen's types or nlohmann-json's,
// whose functions the units of any program share.
#include <rope/gguf_config.hpp>
#include <rope/hf_config.hpp>
#include <rope/rope.hpp>
#include <rope/testing.hpp>

#include <cstdio>
#include <string>

#include "numbers.hpp"
#include "units.hpp"

namespace {

std::uint64_t positions(std::uint64_t h) {
    h = hash(h, rope::image_grid(4, 6, {1, 2, true, 2}));
    h = hash(h, rope::image_grid_centred(4, 6));
    h = hash(h, rope::video_grid(2, 3, 4, 1, 2, 3));
    h = hash(h, rope::mrope_prompt({rope::text_span(5), rope::video_span(3, 2, 2, 0.5, 25.0)}).positions);
    h = hash(h, rope::mrope_prompt<double>({rope::video_with_audio_span(3, 2, 2, 20, 0.5, 13.0)}).positions);
    h = hash(h, rope::packed_positions({0, 3, 7, 20}, rope::start_at(5)));
    h = hash(h, rope::context_parallel_positions(1, 2, {0, 8, 24}));
    h = hash(h, rope::context_parallel_cu_seqlens(2, {0, 8, 24}));
    return h;
}

std::uint64_t models(std::uint64_t h) {
    const rope::ModelConfig model = rope::read_hf_config(
        R"({"model_type": "llama", "hidden_size": 96, "num_attention_heads": 4, "num_key_value_heads": 2,
            "num_hidden_layers": 3, "rope_theta": 10000.0, "max_position_embeddings": 256, "rope_parameters":
            {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 64}})");
    rope::RotaryEmbedding<float> rotary(model, {0, 16});
    rotary.reserve(100);
    Numbers<float> q = numbers<float>(kSeq * kHeads * kHeadDim), k = numbers<float>(kSeq * kHeadDim);
    rotary.apply(1, rope::view(q.data(), kSeq, kHeads, kHeadDim), rope::view(k.data(), kSeq, 1, kHeadDim));
    h = hash(hash(h, q), rotary.table(0)->q.cos_row(5), 8) + rotary.bytes();
    const rope::ModelConfig gguf = rope::read_gguf_config([](std::string_view key) -> std::optional<rope::GgufValue> {
        if (key == "general.architecture") return std::string("llama");
        if (key == "llama.rope.freq_base") return 10000.0;
        if (key == "llama.block_count") return std::uint64_t(2);
        if (key == "llama.embedding_length") return std::uint64_t(96);
        if (key == "llama.attention.head_count") return std::uint64_t(4);
        if (key == "llama.context_length") return std::uint64_t(128);
        return std::nullopt;
    });
    h = hash(h, gguf.config_of_layer);
    Numbers<float> weights = numbers<float>(2 * kHeadDim * 8), permuted = weights;
    const rope::HeadRows rows = rope::head_rows<float>(config_of(), 2, 8);
    rope::permute_rows(weights.data(), rows, Layout::interleaved, Layout::half_split);
    rope::permute_rows_copy(weights.data(), permuted.data(), rows, Layout::half_split, Layout::interleaved);
    return hash(hash(h, weights), permuted);
}

std::uint64_t eigen(std::uint64_t h) {
    const rope::CosSinCache<float> cache = rope::CosSinCache<float>::float32_chain(config_of(), kSeq);
    Eigen::MatrixXf matrix = Eigen::MatrixXf::Ones(kSeq, kHeads * kHeadDim);
    rope::apply<Layout::half_split>(rope::view(matrix, kHeads), cache);
    Eigen::Tensor<float, 4> tensor(1, kSeq, kHeads, kHeadDim);
    tensor.setConstant(0.5f);
    rope::apply<Layout::interleaved>(tensor, cache);
    Eigen::TensorMap<Eigen::Tensor<const float, 4>> map(tensor.data(), tensor.dimensions());
    Eigen::Tensor<float, 4> out(1, kSeq, kHeads, kHeadDim);
    rope::apply_copy<Layout::interleaved>(map, out, cache);
    h = hash(h, out.data(), static_cast<std::size_t>(out.size()) * 4);
    h = hash(h, matrix.data(), static_cast<std::size_t>(matrix.size()) * 4);
    h += static_cast<std::uint64_t>(rope::cos_table(cache).rows() + rope::sin_table(cache).cols());
    return h;
}

std::uint64_t companions() {
    const rope::Config config = config_of();
    const rope::CosSinCache<float> cache(config, 1001);
    const auto rotate = [&cache](auto* x, Index seq, Index heads, const Index* ids) {
        rope::apply<Layout::half_split>(rope::view(x, seq, heads, kHeadDim), cache, rope::ids(ids, seq));
    };
    rope::testing::Options options;
    options.max_position = 1000;
    const auto report = rope::testing::measure<float>(rotate, Layout::half_split, config, options);
    const auto wrong = rope::testing::measure<rope::half>(rotate, Layout::interleaved, config, options);
    const Eigen::MatrixXd r = rope::reference::rotation_matrix<Layout::half_split>(config, 3);
    const Eigen::VectorXd x = Eigen::VectorXd::Ones(kHeadDim);
    const double difference = (rope::reference::rotate_complex<Layout::half_split>(x, config, 3) -
                               rope::reference::rotate_cos_sin<Layout::half_split>(x, config, 3))
                                  .norm() +
                              (r * x).norm();
    return static_cast<std::uint64_t>(report.ok()) + 2 * static_cast<std::uint64_t>(wrong.mistake.empty()) +
           4 * static_cast<std::uint64_t>(!rope::testing::to_string(wrong).empty()) +
           8 * static_cast<std::uint64_t>(difference < 100.0);
}

}  // namespace

std::string UNIT::more_results() {
    const std::uint64_t basis = 14695981039346656037u;
    char text[100];
    std::snprintf(text, sizeof(text), "%016llx %016llx %016llx %d", static_cast<unsigned long long>(positions(basis)),
                  static_cast<unsigned long long>(models(basis)), static_cast<unsigned long long>(eigen(basis)),
                  static_cast<int>(companions()));
    return text;
}
