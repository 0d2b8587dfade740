// SPDX-License-Identifier: MIT
// A program for separate compilation: all that it prints depends on the definitions of <rope/src.hpp>.
#include <rope/additive.hpp>
#include <rope/core.hpp>
#include <rope/gguf_config.hpp>
#include <rope/gradients.hpp>
#include <rope/heads.hpp>
#include <rope/hf_config.hpp>

#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
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

template <class X>
static X number(std::size_t i) {
    if constexpr (sizeof(X) == 2)
        return {
            static_cast<std::uint16_t>((std::is_same_v<X, rope::half> ? 0x3C00U : 0x3F80U) + 16 * i)};  // 1 and more
    else
        return static_cast<X>(i);
}
// Additive encodings of every type of elements, and gradients.
template <class T, class X>
static void add_and_learn() {
    constexpr rope::Layout layout = rope::Layout::half_split;
    std::vector<X> x(16), g(16), dx(16), weight(8, number<X>(1));
    for (std::size_t i = 0; i < 16; ++i) x[i] = g[15 - i] = number<X>(i);
    const auto xv = rope::view(x, 2, 1, 8), gv = rope::view(g, 2, 1, 8), dxv = rope::view(dx, 2, 1, 8);

    const rope::SinusoidalEmbedding<T> sinusoidal(8, 16);
    sinusoidal.add(rope::embedding_view(x, 1, 2, 8), rope::start_at(3));
    rope::LearnedEmbedding<T> learned(sinusoidal.row(2), 2, 8);
    learned = rope::LearnedEmbedding<T>(learned);
    learned.add(xv);
    std::printf("%s\n", learned.check(gv, rope::start_at(1)).message());

    const rope::CosSinCache<T> cache(rope::Config{8}, 16);
    std::vector<double> angles(8), dw(8), dp(2), by_rows(8), dweight(8);
    const auto av = rope::view(angles, 2, 1, 4), rv = rope::view(by_rows, rope::weight_gradient_rows(1, 2), 1, 8);
    rope::add_angle_gradients<layout>(xv, gv, cache, av);
    rope::add_frequency_gradients(av, rope::start_at(1), rope::view(dw.data(), 1, 1, 4));
    const double places[] = {3, 2.5};
    rope::add_frequency_gradients(av, rope::AxisPositions(places, 1, 2), rope::AxisMap(),
                                  rope::view(dw.data() + 4, 1, 1, 4));
    rope::add_position_gradients(av, rope::frequencies(rope::Config{8}), rope::view(dp, 1, 2, 1, 1));
    rope::pass_backward<layout>(cache, rope::heads(xv).rms_norm(weight, 1e-6).rotate(), gv, dxv, rv);
    rope::add_row_sums(rv, rope::view(dweight, 1, 1, 8));
    std::printf("%.17g", rope::attention_factor_gradient(av, 2.0));
    for (const std::vector<double>& all : {angles, dw, dp, dweight})
        for (const double number : all) std::printf(" %.17g", number);
    for (const X* written : {x.data(), dx.data()})
        for (std::size_t i = 0; i < 16 * sizeof(X); ++i)
            std::printf(i % sizeof(X) == 0 ? " %02x" : "%02x", reinterpret_cast<const unsigned char*>(written)[i]);
    std::printf("\n%s\n", rope::check_frequency_gradients(av, {}, av).message());
}

int main() {
    print(rope::read_hf_config(
        R"({"model_type": "qwen2", "num_hidden_layers": 2, "num_attention_heads": 4, "hidden_size": 512,
            "max_position_embeddings": 32768, "rope_theta": 1000000.0,
            "rope_scaling": {"type": "yarn", "factor": 2.0, "original_max_position_embeddings": 32768}})"));
    print(rope::read_gguf_config(find));
    add_and_learn<float, float>();
    add_and_learn<float, rope::half>();
    add_and_learn<float, rope::bfloat16>();
    add_and_learn<double, double>();
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
