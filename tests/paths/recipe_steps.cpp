// SPDX-License-Identifier: MIT
// The steps of a recipe, in their order, are those of the path that is written by hand from what the model's code does:
// the same bits. What a recipe adds to them: weights in every shape, temperatures, layers without keys or values.
#include <rope/gguf_config.hpp>
#include <rope/heads.hpp>
#include <rope/hf_config.hpp>
#include <rope/recipe.hpp>

#include <cstdint>
#include <cstdio>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "support/catch.hpp"
#include "support/data.hpp"
#include "support/readers/head_steps.hpp"
#include "support/readers/hf_models.hpp"

using rope::HeadWeights;
using rope::Index;
using rope::Layout;
using rope::ModelConfig;
using rope::NormRounding;
using rope::NormSpan;
using rope::Path;
using rope::RotateRounding;
using support::size;

namespace {

constexpr Index kTokens = 3, kStart = 9000;
constexpr double kEps = 1e-6;
constexpr rope::RecipeOptions kOnce = {};
constexpr rope::RecipeOptions kPublished = {rope::RecipeRounding::as_published};

/// A model of 2 layers, each with 4 query heads and 2 key heads of 64 features.
ModelConfig model_of(const std::string& type, const std::string& more = "") {
    return rope::read_hf_config(R"({"model_type": ")" + type +
                                R"(", "hidden_size": 256, "head_dim": 64, "num_attention_heads": 4,
        "num_key_value_heads": 2, "num_hidden_layers": 2, "max_position_embeddings": 16384, "rms_norm_eps": 1e-06)" +
                                more + "}");
}

using Steps = std::function<Path(const Path&)>;

/// bfloat16 that a pass over `heads` heads of 64 features writes.
std::vector<rope::bfloat16> passed(const rope::Config& config, Index heads, const Steps& steps) {
    static const auto x = support::normal<rope::bfloat16>(kTokens * 4 * 64, 1);
    const rope::CosSinCache<float> table(config, kTokens, kStart);
    std::vector<rope::bfloat16> y(size(kTokens * heads * 64));
    const Path path = steps(rope::heads(rope::view(x.data(), kTokens, heads, 64)));
    const auto out = rope::view(y.data(), kTokens, heads, 64);
    if (config.layout == Layout::interleaved)
        rope::pass<Layout::interleaved>(table, rope::start_at(kStart), Path(path).to(out));
    else
        rope::pass<Layout::half_split>(table, rope::start_at(kStart), Path(path).to(out));
    return y;
}
bool are_same(const ModelConfig& model, Index heads, const Steps& recipe, const Steps& by_hand) {
    const rope::Config& config = model.configs.at(0);
    return support::same_bits(passed(config, heads, recipe), passed(config, heads, by_hand));
}

std::vector<float> weight(Index n) { return support::normal<float>(n, 2); }
HeadWeights of_q(const rope::StepNumbers& w, const rope::StepNumbers& b = nullptr) {
    HeadWeights weights;
    weights.q_norm = w;
    weights.q_norm_bias = b;
    return weights;
}

}  // namespace

TEST_CASE("OLMoE: a norm of the token, then the clamp, then the rotation") {
    const ModelConfig m = model_of("olmoe", R"(, "clip_qkv": 0.75)");
    const auto w = weight(4 * 64);
    const auto by_hand = [&](NormRounding norm, RotateRounding rotation, bool rounds) {
        return [&w, norm, rotation, rounds](Path p) {
            p.rms_norm(rope::view(w.data(), 1, 1, 4, 64), kEps, {NormSpan::token, norm, false}).clamp(0.75);
            if (rounds) p.round();
            return p.rotate(rotation);
        };
    };
    CHECK(are_same(
        m, 4, [&](const Path& p) { return rope::query_path(m, 1, p, of_q(w), kOnce); },
        by_hand(NormRounding::none, RotateRounding::none, false)));
    CHECK(are_same(
        m, 4, [&](const Path& p) { return rope::query_path(m, 1, p, of_q(w), kPublished); },
        by_hand(NormRounding::normalised, RotateRounding::all, true)));
    CHECK(are_same(
        m, 2, [&](const Path& p) { return rope::value_path(m, 1, p); }, [](Path p) { return p.clamp(0.75); }));
}

TEST_CASE("factors come before the rotation or after it, and each is rounded where the published code does so") {
    const ModelConfig falcon = model_of("falcon_h1", R"(, "key_multiplier": 0.3)");
    CHECK(are_same(
        falcon, 2, [&](const Path& p) { return rope::key_path(falcon, 0, p, {}, kPublished); },
        [](Path p) { return p.multiply(0.3).round().rotate(RotateRounding::all); }));
    CHECK(are_same(
        falcon, 4, [&](const Path& p) { return rope::query_path(falcon, 0, p, {}, kPublished); },
        [](Path p) { return p.rotate(RotateRounding::all); }));
    const ModelConfig filter = model_of("openai_privacy_filter", R"(, "rope_parameters": {"rope_type": "default",
        "rope_theta": 150000.0})");
    const double factor = filter.steps[0].q[1].number;
    REQUIRE(factor != 1.0);
    CHECK(are_same(
        filter, 4, [&](const Path& p) { return rope::query_path(filter, 0, p, {}, kPublished); },
        [&](Path p) { return p.rotate(RotateRounding::all).multiply(factor).round(); }));
    const ModelConfig mimo = model_of("mimo_v2_flash", R"(, "attention_value_scale": 0.707,
        "partial_rotary_factor": 0.5)");
    CHECK(are_same(
        mimo, 2, [&](const Path& p) { return rope::value_path(mimo, 0, p); },
        [](Path p) { return p.multiply(0.707); }));
}

TEST_CASE("a list made by hand is taken in its order, and rotates nothing in a layer without RoPE") {
    using Kind = rope::HeadStepKind;
    ModelConfig m = model_of("llama");
    const rope::HeadNorm norm = {rope::NormKind::l2, rope::NormWeight::none, false, false, {}, kEps};
    rope::HeadStepList& list = m.steps[0].k;
    list[0] = {Kind::factor, {}, 3.0};
    list[1] = {Kind::rotation, {}, 1.0, RotateRounding::rows};
    list[2] = {Kind::clamp, {}, 0.5};
    list[3] = {Kind::norm, norm};
    const auto key = [&](const Path& p) { return rope::key_path(m, 0, p, {}, kPublished); };
    CHECK(are_same(m, 2, key, [](Path p) {
        p.multiply(3.0).round().rotate(RotateRounding::rows).round().clamp(0.5).round();
        return p.l2_norm(nullptr, kEps).round();
    }));
    m.config_of_layer[0] = -1;
    m.steps[1] = {};  // the default rotates q and k
    CHECK(are_same(
        m, 2, [&](const Path& p) { return rope::query_path(m, 1, p); }, [](Path p) { return p.rotate(); }));
    CHECK(are_same(m, 2, key, [](Path p) {
        p.multiply(3.0).round().clamp(0.5).round().l2_norm(nullptr, kEps).round();
        return p;
    }));
}

TEST_CASE("values: rotated in RoFormer, normed in Gemma 4, left alone in Qwen3") {
    const ModelConfig roformer = model_of("roformer", R"(, "rotary_value": true)");
    CHECK(are_same(
        roformer, 2, [&](const Path& p) { return rope::value_path(roformer, 0, p); },
        [](Path p) { return p.rotate(); }));
    const ModelConfig gemma = model_of("gemma4_text", R"(, "global_head_dim": 64, "num_kv_shared_layers": 0,
        "layer_types": ["sliding_attention", "full_attention"], "attention_k_eq_v": true)");
    CHECK(gemma.steps[1].values_from_key_projection);
    CHECK(are_same(
        gemma, 2, [&](const Path& p) { return rope::value_path(gemma, 1, p); },
        [](Path p) { return p.rms_norm(kEps); }));
    const ModelConfig qwen = model_of("qwen3");
    CHECK(are_same(
        qwen, 2, [&](const Path& p) { return rope::value_path(qwen, 0, p); }, [](const Path& p) { return p; }));
}

TEST_CASE("Chameleon: a weight and a bias for each head, and three roundings") {
    const ModelConfig m = model_of("chameleon");
    const auto w = weight(4 * 64), b = support::normal<float>(4 * 64, 3);
    CHECK(are_same(
        m, 4, [&](const Path& p) { return rope::query_path(m, 0, p, of_q(w, b), kPublished); },
        [&](Path p) {
            return p
                .layer_norm(rope::view(w.data(), 1, 1, 4, 64), rope::view(b.data(), 1, 1, 4, 64), 1e-5,
                            {NormSpan::head, NormRounding::normalised, false})
                .round()
                .rotate(RotateRounding::all);
        }));
}

TEST_CASE("weights may be a pointer, a row or a view") {
    const auto w = weight(4 * 64);
    const Index doubled = 2;
    std::vector<float> strided(size(4 * 64 * doubled));
    for (std::size_t i = 0; i < w.size(); ++i) strided[i * size(doubled)] = w[i];
    const rope::TensorView<const float> gaps = {strided.data(), 1, 1, 4, 64, 0, 0, 64 * doubled, doubled};
    const ModelConfig command = model_of("cohere", R"(, "use_qk_norm": true, "layer_norm_eps": 1e-06)");
    const auto by_hand = [&](Path p) {
        return p.layer_norm(rope::view(w.data(), 1, 1, 4, 64), nullptr, kEps).rotate();
    };
    for (const rope::StepNumbers& numbers :
         {rope::StepNumbers(w.data()), rope::StepNumbers(w), rope::StepNumbers(rope::view(w.data(), 1, 4, 64)),
          rope::StepNumbers(gaps)})
        CHECK(are_same(
            command, 4, [&](const Path& p) { return rope::query_path(command, 0, p, of_q(numbers)); }, by_hand));
    const ModelConfig qwen = model_of("qwen3");
    for (const rope::StepNumbers& numbers :
         {rope::StepNumbers(w.data()), rope::StepNumbers(rope::view(w.data(), 1, 1, 64))})
        CHECK(are_same(
            qwen, 4, [&](const Path& p) { return rope::query_path(qwen, 0, p, of_q(numbers)); },
            [&](Path p) { return p.rms_norm(w.data(), kEps).rotate(); }));
}

TEST_CASE("a recipe goes on from the steps and the layout that are there") {
    const ModelConfig latent = model_of("deepseek_v3", R"(, "qk_rope_head_dim": 64, "qk_nope_head_dim": 64,
        "q_lora_rank": 64)");
    rope::RecipeOptions ordered;
    ordered.in_published_order = true;
    CHECK(are_same(
        latent, 4, [&](const Path& p) { return rope::query_path(latent, 0, Path(p).multiply(3.0)); },
        [](Path p) { return p.multiply(3.0).rotate(); }));
    CHECK(are_same(
        latent, 4, [&](const Path& p) { return rope::query_path(latent, 0, p, {}, ordered); },
        [](Path p) { return p.rotate_into(Layout::half_split); }));
    const ModelConfig v2 = model_of("deepseek_v2", R"(, "qk_rope_head_dim": 64, "qk_nope_head_dim": 64)");
    CHECK(are_same(
        v2, 4, [&](const Path& p) { return rope::query_path(v2, 0, p, {}, ordered); },
        [](Path p) { return p.rotate(); }));
    CHECK(are_same(
        latent, 4, [&](const Path& p) { return rope::output_path(latent, 0, p); }, [](const Path& p) { return p; }));
}

TEST_CASE("Gemma 3 from GGUF: its weights have 1 added already, and make the same path") {
    const auto get = [](std::string_view key) -> std::optional<rope::GgufValue> {
        const std::string name(key.substr(key.find('.') + 1));
        if (name == "architecture") return std::string("gemma3");
        if (name == "attention.layer_norm_rms_epsilon") return kEps;
        if (name == "rope.freq_base") return 1e6;
        for (const auto& [known, value] : {std::pair<const char*, int>{"block_count", 2},
                                           {"context_length", 16384},
                                           {"embedding_length", 256},
                                           {"attention.head_count", 4},
                                           {"attention.head_count_kv", 2},
                                           {"attention.key_length", 64},
                                           {"attention.sliding_window", 512}})
            if (name == known) return std::int64_t(value);
        return std::nullopt;
    };
    const ModelConfig from_gguf = rope::read_gguf_config(get), from_json = model_of("gemma3_text");
    const auto w = weight(64);
    std::vector<float> with_one = w;
    for (float& value : with_one) value += 1.0f;
    CHECK(are_same(
        from_gguf, 4, [&](const Path& p) { return rope::query_path(from_gguf, 0, p, of_q(with_one), kPublished); },
        [&](const Path& p) { return rope::query_path(from_json, 0, p, of_q(w), kPublished); }));
    CHECK(are_same(
        from_gguf, 4, [&](const Path& p) { return rope::query_path(from_gguf, 0, p, of_q(with_one)); },
        [&](Path p) { return p.rms_norm(with_one, kEps).rotate(); }));
}

TEST_CASE("temperatures: one number per token, read by queries of the layers that have one") {
    const ModelConfig m = model_of("ministral3", R"(, "rope_parameters": {"rope_type": "default", "rope_theta": 1e6,
        "llama_4_scaling_beta": 0.1, "original_max_position_embeddings": 4096})");
    REQUIRE(m.attention_temperature.on_layers_with_rope);
    const std::vector<int> ids = {4095, 4096, -5, 8192, 9000, 12288};
    std::vector<float> t(6, -1.0f);
    std::vector<rope::bfloat16> narrow(12);
    rope::fill_temperatures(m, ids, rope::view(t.data(), 2, 3, 1, 1));
    for (Index i = 0; i < 6; ++i) CHECK(t[size(i)] == static_cast<float>(m.attention_temperature.at(ids[size(i)])));
    rope::fill_temperatures(m, ids, rope::TensorView<rope::bfloat16>{narrow.data(), 2, 3, 1, 1, 6, 2, 1, 1});
    CHECK(narrow[2].bits == support::from_double<rope::bfloat16>(m.attention_temperature.at(4096)).bits);
    CHECK(narrow[1].bits == 0);
    std::vector<double> none(3, 0.0);
    rope::fill_temperatures(model_of("qwen3"), rope::start_at(7), rope::view(none.data(), 1, 3, 1, 1));
    CHECK(none == std::vector<double>(3, 1.0));

    t.resize(3);
    rope::fill_temperatures(m, rope::start_at(kStart), rope::view(t.data(), 1, 3, 1, 1));
    HeadWeights weights;
    const auto recipe = [&](const Path& p) { return rope::query_path(m, 1, p, weights, kPublished); };
    const auto by_hand = [&](Path p) {
        return p.rotate(RotateRounding::all).multiply(rope::view(t.data(), 1, 3, 1, 1)).round();
    };
    for (const rope::StepNumbers& numbers :
         {rope::StepNumbers(t), rope::StepNumbers(t.data()), rope::StepNumbers(rope::view(t.data(), 1, 3, 1, 1))}) {
        weights.temperatures = numbers;
        CHECK(are_same(m, 4, recipe, by_hand));
    }
    CHECK(are_same(
        m, 2, [&](const Path& p) { return rope::key_path(m, 1, p, weights); }, [](Path p) { return p.rotate(); }));
}

TEST_CASE("layers that make no keys, or no values") {
    const ModelConfig shared = model_of("gemma4_text", R"(, "global_head_dim": 64, "num_kv_shared_layers": 1,
        "layer_types": ["full_attention", "full_attention"])");
    CHECK((rope::makes_keys(shared, 0) && rope::makes_values(shared, 0)));
    CHECK_FALSE((rope::makes_keys(shared, 1) || rope::makes_values(shared, 1)));
    ModelConfig one = model_of("qwen3");
    one.steps[0].keys_are_values = true;
    CHECK((rope::makes_keys(one, 0) && !rope::makes_values(one, 0)));
    CHECK(rope::check_recipe(shared, 1).ok());
}

TEST_CASE("every layer of the published models has its recipes, which a pass accepts with either rounding") {
    std::vector<float> x(3 * 1024 * 1024), w(1024 * 1024, 1.0f);
    Index layers = 0, refused = 0;
    for (const support::PublishedModel& published : support::published_models()) {
        const ModelConfig m = rope::read_hf_config(support::model_text(published.name));
        for (Index i = 0; i < m.layers(); ++i) {
            INFO(published.name << ", layer " << i);
            const bool attends = m.layer_types[size(i)] < rope::LayerType::cross_attention;
            const rope::Status known = rope::check_recipe(m, i);
            ++layers;
            refused += known.ok() ? 0 : 1;
            REQUIRE((known.ok() || m.steps.empty() || !attends || m.steps[size(i)].has_other_steps));
            if (!known.ok()) continue;
            const rope::HeadSteps& s = m.steps[size(i)];
            const rope::HeadCounts& heads = m.heads[size(i)];
            const rope::Config* const own = m.layer(i);
            rope::Config config = own != nullptr ? *own : m.configs.at(0);
            config.log_scale.assign(config.has_log_scale ? size(config.head_dim / 2) : 0, 0.0);
            const Index dim = config.head_dim;
            const auto numbers = [&](const rope::HeadStepList& steps) {
                const rope::HeadNorm* const norm = rope::norm_of(steps);
                const bool is_there = norm != nullptr && norm->weight != rope::NormWeight::none;
                return is_there ? rope::StepNumbers(w.data()) : rope::StepNumbers();
            };
            HeadWeights weights;
            weights.q_norm = numbers(s.q);
            weights.k_norm = numbers(s.k);
            weights.v_norm = numbers(s.v);
            if (support::norm(s.q).has_bias) weights.q_norm_bias = w.data();
            if (support::norm(s.k).has_bias) weights.k_norm_bias = w.data();
            weights.temperatures = w.data();
            const rope::CosSinCache<float> table(config, 1);
            const auto accepted = [&](const Path& path) {
                return config.layout == Layout::interleaved
                           ? rope::check_pass<Layout::interleaved>(table, rope::start_at(0), path)
                           : rope::check_pass<Layout::half_split>(table, rope::start_at(0), path);
            };
            const auto start = [&](Index count) { return rope::heads(rope::view(x.data(), 1, count, dim)); };
            for (const rope::RecipeRounding rounding :
                 {rope::RecipeRounding::once, rope::RecipeRounding::as_published}) {
                const rope::RecipeOptions options = {rounding, rounding == rope::RecipeRounding::as_published, true};
                const Path q = rope::query_path(m, i, start(heads.q), weights, options);
                CHECK(accepted(Path(q).multiply(s.softmax_scale)).ok());
                CHECK(accepted(rope::output_path(m, i, start(heads.q), rounding)).ok());
                if (rope::makes_keys(m, i))
                    CHECK(accepted(rope::key_path(m, i, start(heads.k), weights, options)).ok());
                if (rope::makes_values(m, i))
                    CHECK(accepted(rope::value_path(m, i, start(heads.v), weights, options)).ok());
            }
        }
    }
    CHECK(layers > 1500);
    CHECK(refused < layers / 4);
    std::printf("%d layers, %d without a recipe\n", static_cast<int>(layers), static_cast<int>(refused));
}
