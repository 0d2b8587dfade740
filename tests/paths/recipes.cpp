// SPDX-License-Identifier: MIT
// From a model's file to a path, and its results: those of the model's own code, written down here as loops. In
// bfloat16 with the roundings of that code, bit for bit; in float, rounded once, within a bound.
#include <rope/heads.hpp>
#include <rope/hf_config.hpp>
#include <rope/recipe.hpp>

#include <cmath>
#include <functional>
#include <vector>

#include "slow_models.hpp"
#include "support/catch.hpp"
#include "support/data.hpp"

using rope::Index;
using rope::Layout;
using rope::ModelConfig;
using rope::Path;
using slow::bf;
using slow::drawn;
using slow::drawn_heads;
using slow::Heads;
using slow::product;
using slow::root;
using slow::Rotation;
using slow::Round;
using slow::same;
using support::size;

namespace {

constexpr auto kHalf = Layout::half_split, kInter = Layout::interleaved;
constexpr Index kTokens = 5;

template <class T>
std::vector<T> as(const std::vector<float>& x) {
    std::vector<T> y;
    for (const float value : x) y.push_back(support::from_double<T>(static_cast<double>(value)));
    return y;
}

/// A recipe of the test: from the beginning of a path to its end, with numbers of type T for HeadWeights.
template <class T>
using MakePath = std::function<Path(const Path&, const std::vector<T>&, const rope::RecipeOptions&)>;

/// What a pass makes of `x` by a recipe for a layer.
template <class T>
std::vector<T> passed(const ModelConfig& model, Index layer, const Heads& x, const std::vector<float>& weight,
                      const rope::RecipeOptions& options, const MakePath<T>& recipe) {
    const rope::Config* const own = model.layer(layer);
    const rope::CosSinCache<float> table(own != nullptr ? *own : model.configs.at(0), kTokens, x.first);
    const std::vector<T> source = as<T>(x.x), numbers = as<T>(weight);
    std::vector<T> y(source.size());
    const Path path = recipe(rope::heads(rope::view(source.data(), x.tokens, x.heads, x.dim)), numbers, options)
                          .to(rope::view(y.data(), x.tokens, x.heads, x.dim));
    if (table.layout() == kInter)
        rope::pass<kInter>(table, rope::start_at(x.first), path);
    else
        rope::pass<kHalf>(table, rope::start_at(x.first), path);
    return y;
}

/// Compares a recipe with a model's code, given as a function of a Round that stands wherever it rounds.
template <class Recipe>
void compare(const ModelConfig& model, Index layer, Heads x, const std::vector<float>& weight, const Recipe& recipe,
             const std::function<void(Heads&, Round)>& code) {
    Heads rounded = x, exact = x;
    code(rounded, bf);
    code(exact, same);
    rope::RecipeOptions options;
    const std::vector<float> once = passed<float>(model, layer, x, weight, options, recipe);
    double worst = 0.0;
    for (std::size_t i = 0; i < once.size(); ++i)
        worst = std::fmax(worst, std::fabs(static_cast<double>(once[i]) - static_cast<double>(exact.x[i])) /
                                     (1.0 + std::fabs(static_cast<double>(exact.x[i]))));
    CHECK(worst < 1e-6);

    options.rounding = rope::RecipeRounding::as_published;
    options.in_published_order = true;
    const auto bits = passed<rope::bfloat16>(model, layer, x, weight, options, recipe);
    std::size_t differences = 0;
    for (std::size_t i = 0; i < bits.size(); ++i)
        differences += static_cast<float>(support::to_double(bits[i])) != rounded.x[i] ? 1U : 0U;
    CHECK(differences == 0);
}

/// The recipes of a layer as functions of the weight of its norm.
auto queries(const ModelConfig& model, Index layer) {
    return [&model, layer](const Path& x, const auto& w, const rope::RecipeOptions& options) {
        rope::HeadWeights weights;
        if (!w.empty()) weights.q_norm = w.data();
        return rope::query_path(model, layer, x, weights, options);
    };
}
auto keys(const ModelConfig& model, Index layer) {
    return [&model, layer](const Path& x, const auto& w, const rope::RecipeOptions& options) {
        rope::HeadWeights weights;
        if (!w.empty()) weights.k_norm = w.data();
        return rope::key_path(model, layer, x, weights, options);
    };
}
auto values(const ModelConfig& model, Index layer) {
    return [&model, layer](const Path& x, const auto&, const rope::RecipeOptions& options) {
        return rope::value_path(model, layer, x, {}, options);
    };
}

Heads heads_for(const ModelConfig& model, Index layer, bool is_q, unsigned seed, Index dim) {
    const rope::HeadCounts& counts = model.heads[size(layer)];
    return drawn_heads(kTokens, is_q ? counts.q : counts.k, dim, seed);
}

}  // namespace

TEST_CASE("Qwen3: RMSNorm rounds twice, and the rotation everywhere") {
    const ModelConfig model = rope::read_hf_config(R"({"model_type": "qwen3", "hidden_size": 1024, "head_dim": 128,
        "num_attention_heads": 16, "num_key_value_heads": 8, "num_hidden_layers": 28, "rms_norm_eps": 1e-06,
        "rope_theta": 1000000, "rope_scaling": null, "max_position_embeddings": 40960})");
    for (const bool is_q : {true, false}) {
        const auto w = drawn(128, is_q ? 1 : 2);
        const auto code = [&](Heads& x, Round r) {
            x.for_each([&](float* h, Index position, Index) {
                const float scale = root(h, 128, 1e-6);
                for (Index i = 0; i < 128; ++i) h[i] = r(product(w[size(i)], r(product(h[i], scale))));
                Rotation{128, kHalf, kHalf, 1e6L, r, r}(h, position);
            });
        };
        const Heads x = heads_for(model, 27, is_q, 3, 128);
        if (is_q) compare(model, 27, x, w, queries(model, 27), code);
        if (!is_q) compare(model, 27, x, w, keys(model, 27), code);
    }
    compare(model, 27, heads_for(model, 27, false, 4, 128), {}, values(model, 27), [](Heads&, Round) {});
}

TEST_CASE("Gemma 3: the weight has 1 added and rounds once; local and global layers rotate otherwise") {
    const ModelConfig model = rope::read_hf_config(R"({"model_type": "gemma3_text", "hidden_size": 2560,
        "head_dim": 256, "num_attention_heads": 8, "num_key_value_heads": 4, "num_hidden_layers": 34,
        "query_pre_attn_scalar": 256, "rms_norm_eps": 1e-06, "rope_local_base_freq": 10000.0, "rope_theta": 1000000.0,
        "rope_scaling": {"factor": 8.0, "rope_type": "linear"}, "sliding_window": 1024, "sliding_window_pattern": 6,
        "max_position_embeddings": 131072})");
    for (const Index layer : {0, 5})
        for (const bool is_q : {true, false}) {
            const auto w = drawn(256, is_q ? 5 : 6);
            const auto code = [&](Heads& x, Round r) {
                x.for_each([&](float* h, Index position, Index) {
                    const float scale = root(h, 256, 1e-6);
                    for (Index i = 0; i < 256; ++i)
                        h[i] = r(product(product(h[i], scale), slow::sum(1.0f, w[size(i)])));
                    Rotation rotation = {256, kHalf, kHalf, layer == 5 ? 1e6L : 1e4L, r, r};
                    if (layer == 5) rotation.divisor = 8.0L;
                    rotation(h, position);
                });
            };
            const Heads x = heads_for(model, layer, is_q, 7, 256);
            if (is_q) compare(model, layer, x, w, queries(model, layer), code);
            if (!is_q) compare(model, layer, x, w, keys(model, layer), code);
        }
}

TEST_CASE("OLMo 2: all heads of a token have one norm; the rotation is in float") {
    const ModelConfig model = rope::read_hf_config(R"({"model_type": "olmo2", "hidden_size": 1024,
        "num_attention_heads": 16, "num_key_value_heads": 4, "num_hidden_layers": 16, "rms_norm_eps": 1e-06,
        "rope_theta": 500000, "rope_scaling": null, "max_position_embeddings": 4096})");
    for (const bool is_q : {true, false}) {
        const Heads x = heads_for(model, 3, is_q, 8, 64);
        const Index all = x.heads * 64;
        const auto w = drawn(all, 9);
        const auto code = [&](Heads& y, Round r) {
            for (Index token = 0; token < y.tokens; ++token) {
                float* const of_token = y.head(token, 0);
                const float scale = root(of_token, all, 1e-6);
                for (Index i = 0; i < all; ++i) of_token[i] = r(product(product(of_token[i], scale), w[size(i)]));
            }
            y.for_each(
                [&](float* h, Index position, Index) { Rotation{64, kHalf, kHalf, 5e5L, same, same, r}(h, position); });
        };
        if (is_q) compare(model, 3, x, w, queries(model, 3), code);
        if (!is_q) compare(model, 3, x, w, keys(model, 3), code);
    }
}

TEST_CASE("Llama 4: a norm without weight after the rotation; without a rotation queries have a temperature") {
    const ModelConfig model = rope::read_hf_config(R"({"model_type": "llama4_text", "hidden_size": 5120,
        "head_dim": 128, "num_attention_heads": 40, "num_key_value_heads": 8, "num_hidden_layers": 48,
        "rms_norm_eps": 1e-05, "rope_theta": 500000.0, "rope_scaling": null, "use_qk_norm": true,
        "attn_temperature_tuning": true, "attn_scale": 0.1, "floor_scale": 8192, "attention_chunk_size": 8192,
        "max_position_embeddings": 10485760})");
    const auto rotated = [](Heads& x, Round r) {
        x.for_each([&](float* h, Index position, Index) {
            Rotation{128, kInter, kInter, 5e5L, same, same, r}(h, position);
            const float scale = root(h, 128, 1e-5);
            for (Index i = 0; i < 128; ++i) h[i] = r(product(h[i], scale));
        });
    };
    compare(model, 0, drawn_heads(kTokens, 3, 128, 10), {}, queries(model, 0), rotated);
    compare(model, 0, drawn_heads(kTokens, 1, 128, 11), {}, keys(model, 0), rotated);

    REQUIRE(model.layer(3) == nullptr);
    Heads q = drawn_heads(kTokens, 3, 128, 12);
    q.first = 16381;  // the third token is at 16383, the last of its period of 8192 once 1 is added
    std::vector<float> temperatures(kTokens);
    rope::fill_temperatures(model, rope::start_at(q.first), rope::view(temperatures.data(), 1, kTokens, 1, 1));
    const auto tempered = [&](const Path& x, const auto&, const rope::RecipeOptions& options) {
        rope::HeadWeights weights;
        weights.temperatures = temperatures;
        return rope::query_path(model, 3, x, weights, options);
    };
    compare(model, 3, q, {}, tempered, [](Heads& x, Round r) {
        x.for_each([&](float* h, Index position, Index) {
            const double t = std::log1p(std::floor((static_cast<double>(position) + 1.0) / 8192.0)) * 0.1 + 1.0;
            for (Index i = 0; i < 128; ++i) h[i] = r(product(h[i], static_cast<float>(t)));
        });
    });
    CHECK(temperatures[1] < temperatures[2]);
    compare(model, 3, drawn_heads(kTokens, 1, 128, 13), {}, keys(model, 3), [](Heads&, Round) {});
}

TEST_CASE("Hunyuan: RMSNorm after the rotation, by dynamic NTK with alpha") {
    const ModelConfig model = rope::read_hf_config(R"({"model_type": "hunyuan_v1_dense", "hidden_size": 2048,
        "head_dim": 128, "num_attention_heads": 16, "num_key_value_heads": 4, "num_hidden_layers": 32,
        "rms_norm_eps": 1e-05, "rope_theta": 10000.0, "max_position_embeddings": 32768,
        "rope_scaling": {"alpha": 1000.0, "beta_fast": 32, "beta_slow": 1, "factor": 1.0, "mscale": 1.0,
        "mscale_all_dim": 1.0, "type": "dynamic"}})");
    const auto w = drawn(128, 14);
    const auto code = [&](Heads& x, Round r) {
        x.for_each([&](float* h, Index position, Index) {
            Rotation{128, kHalf, kHalf, 1e4L * std::pow(1000.0L, 128.0L / 126.0L), r, r}(h, position);
            const float scale = root(h, 128, 1e-5);
            for (Index i = 0; i < 128; ++i) h[i] = r(product(w[size(i)], r(product(h[i], scale))));
        });
    };
    compare(model, 31, heads_for(model, 31, true, 15, 128), w, queries(model, 31), code);
    compare(model, 31, heads_for(model, 31, false, 16, 128), w, keys(model, 31), code);
}

TEST_CASE("Command R+: LayerNorm with a weight for each head; cos and sin alone are rounded in the rotation") {
    const ModelConfig model = rope::read_hf_config(R"({"model_type": "cohere", "hidden_size": 1536,
        "num_attention_heads": 12, "num_key_value_heads": 2, "num_hidden_layers": 64, "layer_norm_eps": 1e-05,
        "rope_theta": 75000000.0, "use_qk_norm": true, "max_position_embeddings": 131072})");
    for (const bool is_q : {true, false}) {
        const Heads x = heads_for(model, 63, is_q, 17, 128);
        const auto w = drawn(x.heads * 128, 18);
        const auto code = [&](Heads& y, Round r) {
            y.for_each([&](float* h, Index position, Index head) {
                const float shift = slow::mean(h, 128), scale = root(h, 128, 1e-5, shift);
                for (Index i = 0; i < 128; ++i)
                    h[i] = r(product(product(slow::sum(h[i], -shift), scale), w[size(head * 128 + i)]));
                Rotation{128, kInter, kInter, 75e6L, r, same, r}(h, position);
            });
        };
        if (is_q) compare(model, 63, x, w, queries(model, 63), code);
        if (!is_q) compare(model, 63, x, w, keys(model, 63), code);
    }
}

TEST_CASE("DeepSeek-V3: the published code leaves interleaved pairs half-split; a recipe does if it is asked to") {
    const ModelConfig model = rope::read_hf_config(R"({"model_type": "deepseek_v3", "hidden_size": 7168,
        "num_attention_heads": 128, "num_key_value_heads": 128, "num_hidden_layers": 61, "q_lora_rank": 1536,
        "kv_lora_rank": 512, "qk_nope_head_dim": 128, "qk_rope_head_dim": 64, "v_head_dim": 128,
        "rms_norm_eps": 1e-06, "rope_theta": 10000, "rope_scaling": null, "max_position_embeddings": 4096})");
    const auto code = [](Heads& x, Round r) {
        const Layout out = r == &bf ? kHalf : kInter;  // in the order of the weights, unless it is asked for
        x.for_each([&](float* h, Index position, Index) { Rotation{64, kInter, out, 1e4L, r, r}(h, position); });
    };
    compare(model, 60, drawn_heads(kTokens, 4, 64, 19), {}, queries(model, 60), code);
    compare(model, 60, drawn_heads(kTokens, 1, 64, 20), {}, keys(model, 60), code);
}

TEST_CASE("DeepSeek-V4: the last 64 features rotate, q by a rounded root, keys are values, and the output goes back") {
    const ModelConfig model = rope::read_hf_config(R"({"model_type": "deepseek_v4", "hidden_size": 4096,
        "head_dim": 512, "num_attention_heads": 64, "num_key_value_heads": 1, "num_hidden_layers": 2,
        "q_lora_rank": 1024, "qk_rope_head_dim": 64, "rms_norm_eps": 1e-06, "rope_theta": 10000,
        "compress_rope_theta": 160000, "compress_ratios": [0, 4], "sliding_window": 128,
        "max_position_embeddings": 1048576})");
    for (const Index layer : {0, 1}) {
        const auto rotate = [&](float* h, Index position, Round r, long double direction) {
            Rotation rotation = {64, kInter, kInter, layer == 0 ? 1e4L : 16e4L, r, same, r};
            rotation.direction = direction;
            rotation(h + 448, position);
        };
        compare(model, layer, drawn_heads(kTokens, 4, 512, 21), {}, queries(model, layer), [&](Heads& x, Round r) {
            x.for_each([&](float* h, Index position, Index) {
                const float scale = r(root(h, 512, 1e-6));
                for (Index i = 0; i < 512; ++i) h[i] = r(product(h[i], scale));
                rotate(h, position, r, 1.0L);
            });
        });
        const auto w = drawn(512, 22);
        compare(model, layer, drawn_heads(kTokens, 1, 512, 23), w, keys(model, layer), [&](Heads& x, Round r) {
            x.for_each([&](float* h, Index position, Index) {
                const float scale = root(h, 512, 1e-6);
                for (Index i = 0; i < 512; ++i) h[i] = r(product(product(h[i], scale), w[size(i)]));
                rotate(h, position, r, 1.0L);
            });
        });
        const auto back = [&](const Path& x, const auto&, const rope::RecipeOptions& options) {
            return rope::output_path(model, layer, x, options.rounding);
        };
        compare(model, layer, drawn_heads(kTokens, 4, 512, 24), {}, back, [&](Heads& x, Round r) {
            x.for_each([&](float* h, Index position, Index) { rotate(h, position, r, -1.0L); });
        });
    }
}
