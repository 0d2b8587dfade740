// SPDX-License-Identifier: MIT
// What a recipe does not know, it says, in a sentence: it never leaves a step out.
#include <rope/heads.hpp>
#include <rope/hf_config.hpp>
#include <rope/recipe.hpp>

#include <cmath>
#include <string>
#include <vector>

#include "support/catch.hpp"
#include "support/data.hpp"
#include "support/refusal.hpp"

using rope::HeadWeights;
using rope::Index;
using rope::ModelConfig;
using rope::Path;
using support::invalid;
using support::out_of_range;

namespace {

ModelConfig model_of(const std::string& type, const std::string& more = "") {
    return rope::read_hf_config(R"({"model_type": ")" + type +
                                R"(", "hidden_size": 256, "head_dim": 64, "num_attention_heads": 4,
        "num_key_value_heads": 2, "num_hidden_layers": 2, "max_position_embeddings": 16384, "rope_theta": 10000.0)" +
                                more + "}");
}

std::vector<float> memory(1024, 1.0f);
/// Heads of 64 features of 3 tokens.
Path heads(Index count) { return rope::heads(rope::view(memory.data(), 3, count, 64)); }

std::string of_q(const ModelConfig& m, const HeadWeights& w = {}, Index layer = 0, Index count = 4,
                 const rope::RecipeOptions& options = {}) {
    return invalid([&] { (void)rope::query_path(m, layer, heads(count), w, options); });
}
std::string of_k(const ModelConfig& m, const HeadWeights& w = {}, Index layer = 0) {
    return invalid([&] { (void)rope::key_path(m, layer, heads(2), w); });
}
std::string of_v(const ModelConfig& m, const HeadWeights& w = {}, Index layer = 0) {
    return invalid([&] { (void)rope::value_path(m, layer, heads(2), w); });
}
HeadWeights with_q(const rope::StepNumbers& numbers) {
    HeadWeights w;
    w.q_norm = numbers;
    return w;
}

}  // namespace

TEST_CASE("layers that do not exist") {
    const ModelConfig m = model_of("llama");
    const std::string two = "layer is 2; this model has 2 layers, counted from 0.";
    CHECK(out_of_range([&] { (void)rope::query_path(m, 2, heads(4)); }) == two);
    CHECK(out_of_range([&] { (void)rope::key_path(m, 2, heads(2)); }) == two);
    CHECK(out_of_range([&] { (void)rope::value_path(m, 2, heads(2)); }) == two);
    CHECK(out_of_range([&] { (void)rope::output_path(m, 2, heads(4)); }) == two);
    CHECK(out_of_range([&] { (void)rope::makes_keys(m, 2); }) == two);
    CHECK(out_of_range([&] { (void)rope::makes_values(m, -1); }) ==
          "layer is -1; this model has 2 layers, counted from 0.");
    CHECK(rope::check_recipe(m, 2).code() == rope::StatusCode::out_of_range);
}

TEST_CASE("models whose steps are not known") {
    const ModelConfig m = model_of("tomorrow", R"(, "rope_scaling": null)");
    REQUIRE(m.steps.empty());
    const std::string sentence =
        "steps is empty, so the norms and factors of this model are not known; a recipe needs an entry per layer (2). "
        "model_type is \"tomorrow\".";
    CHECK(of_q(m) == sentence);
    CHECK(of_v(m) == sentence);
    CHECK(invalid([&] { (void)rope::makes_keys(m, 0); }) == sentence);
    CHECK(rope::check_recipe(m, 1).message() == sentence);
    CHECK(rope::check_recipe(m, 1).argument() == "steps");
    ModelConfig half = model_of("llama");
    half.steps.pop_back();
    CHECK(of_q(half) == "steps has 1 entry; it must be empty or have one per layer (2).");
    half = model_of("llama");
    half.heads.clear();
    CHECK(of_q(half) == "layer_types has 2 entries and heads 0; both must have one per layer (2).");
    half = model_of("llama");
    half.config_of_layer[0] = 1;
    CHECK(of_q(half) == "config_of_layer[0] is 1; it must be -1 (no RoPE) or an index into configs (0 to 0).");
}

TEST_CASE("layers whose steps are not known") {
    const ModelConfig mixed = model_of("qwen3_next", R"(, "layer_types": ["linear_attention", "full_attention"])");
    CHECK(of_q(mixed) == "layer 0 of this model has no attention, and so no heads to make a path of.");
    ModelConfig crossed = model_of("llama");
    crossed.layer_types[1] = rope::LayerType::cross_attention;
    CHECK(of_k(crossed, {}, 1) == "layer 1 of this model attends to another input; its steps are not known.");
    for (const char* type : {"dory", "timesfm2_5"})
        CHECK(of_q(model_of(type)) ==
              "layer 0 of this model has steps that HeadSteps does not describe, such as learned factors; make its "
              "paths by hand.");
    CHECK(rope::check_recipe(model_of("qwen3"), 0).ok());
}

TEST_CASE("weights that are missing, that the layer does not have, or of another shape") {
    const ModelConfig qwen = model_of("qwen3"), llama = model_of("llama"), phi = model_of("persimmon");
    const ModelConfig command = model_of("cohere", R"(, "use_qk_norm": true)");
    CHECK(of_q(qwen) == "q_norm is missing; layer 0 of this model needs it, with the shape [1, 1, 1, 64].");
    CHECK(of_k(qwen) == "k_norm is missing; layer 0 of this model needs it, with the shape [1, 1, 1, 64].");
    CHECK(of_q(command) == "q_norm is missing; layer 0 of this model needs it, with the shape [1, 1, 4, 64].");
    CHECK(of_q(phi, with_q(memory.data())) ==
          "q_norm_bias is missing; layer 0 of this model needs it, with the shape [1, 1, 1, 64].");
    CHECK(of_q(llama, with_q(memory.data()), 1) ==
          "q_norm is given; layer 1 of this model has no such numbers: leave it empty.");
    HeadWeights w;
    w.v_norm = memory.data();
    CHECK(of_v(qwen, w) == "v_norm is given; layer 0 of this model has no such numbers: leave it empty.");
    w = with_q(memory.data());
    w.q_norm_bias = memory.data();
    CHECK(of_q(qwen, w) == "q_norm_bias is given; layer 0 of this model has no such numbers: leave it empty.");
    CHECK(of_q(qwen, with_q(std::vector<float>(63))) ==
          "q_norm has the shape [1, 1, 1, 63]; in layer 0 of this model it must have [1, 1, 1, 64], or as many numbers "
          "in a row.");
    CHECK(of_q(command, with_q(rope::view(memory.data(), 1, 1, 64))) ==
          "q_norm has the shape [1, 1, 1, 64]; in layer 0 of this model it must have [1, 1, 4, 64], or as many numbers "
          "in a row.");
    CHECK(of_q(command, with_q(rope::view(memory.data(), 1, 64, 4))) ==
          "q_norm has the shape [1, 1, 64, 4]; in layer 0 of this model it must have [1, 1, 4, 64], or as many numbers "
          "in a row.");
    const rope::TensorView<float> with_gaps = {memory.data(), 1, 1, 1, 256, 0, 0, 0, 2};
    CHECK(
        of_q(command, with_q(with_gaps)) ==
        "q_norm has the shape [1, 1, 1, 256]; in layer 0 of this model it must have [1, 1, 4, 64], or as many numbers "
        "in a row.");
    const ModelConfig llama4 = model_of("llama4_text", R"(, "no_rope_layers": [1, 0])");
    CHECK(of_q(llama4, with_q(memory.data())) ==
          "q_norm is given; layer 0 of this model has no such numbers: leave it empty.");
}

TEST_CASE("a norm over all heads of a token, and only some of them") {
    const ModelConfig m = model_of("olmo2");
    const auto way = [](const std::string& of) {
        return " For some of them give " + of +
               "_squares, the sums over all heads of what rope::sum_squares makes of each part.";
    };
    CHECK(of_q(m, with_q(memory.data()), 0, 2) ==
          "heads of q is 2; layer 0 of this model norms all 4 heads of a token together." + way("q"));
    HeadWeights w;
    w.k_norm = memory.data();
    CHECK(invalid([&] { (void)rope::key_path(m, 1, heads(4), w); }) ==
          "heads of k is 4; layer 1 of this model norms all 2 heads of a token together." + way("k"));
    ModelConfig centred = m;
    for (rope::HeadSteps& steps : centred.steps) steps.q[0].norm.kind = rope::NormKind::layer_norm;
    CHECK(of_q(centred, with_q(memory.data()), 0, 2) ==
          "heads of q is 2; layer 0 of this model takes the mean of all 4 heads of a token: make the path by hand.");
    // With squares, whose norm is that of NormOptions.
    const std::vector<double> squares = {256.0, 1024.0, 256.0};
    HeadWeights part = with_q(memory.data());
    part.q_squares = rope::view(squares.data(), 1, 3, 1, 1);
    const std::string unused =
        "q_squares is given; layer 0 of this model has no rms_norm or l2_norm over a token: leave it empty.";
    CHECK(of_q(centred, part, 0, 2) == unused);
    CHECK(of_q(model_of("qwen3"), part, 0, 2) == unused);
    std::vector<float> got(3 * 2 * 64);
    const rope::CosSinCache<float> cache(m.configs[0], 1);
    rope::pass(*m.configs[0].layout, cache, std::vector<int>(3, 0),
               rope::query_path(m, 0, heads(2), part).to(rope::view(got.data(), 3, 2, 64)));
    CHECK(std::abs(got[0] - 1.0f) < 1e-5f);
    CHECK(std::abs(got[2 * 64] - 0.5f) < 1e-5f);
}

TEST_CASE("a norm that HeadWeights has no member for") {
    ModelConfig m = model_of("qwen3");
    m.steps[0].q[2] = m.steps[0].q[0];
    CHECK(of_q(m, with_q(memory.data())) ==
          "q of layer 0 of this model has more norms than HeadWeights has members for.");
    m.steps[0].output[0] = m.steps[0].q[0];
    CHECK(invalid([&] { (void)rope::output_path(m, 0, heads(4)); }) ==
          "output of layer 0 of this model has more norms than HeadWeights has members for.");
    CHECK(rope::check_recipe(m, 0).ok());
}

TEST_CASE("the way that is named for some of the heads") {
    const ModelConfig m = model_of("olmo2");
    const rope::CosSinCache<float> cache(*m.layer(0), 16);
    constexpr Index kTokens = 3, kHeads = 4, kDim = 64;
    const std::vector<float> x = support::normal<float>(kTokens * kHeads * kDim, 1),
                             weight = support::normal<float>(kHeads * kDim, 2);
    std::vector<float> whole = x, shards = x, r;
    const auto view = [](std::vector<float>& v) { return rope::view(v, kTokens, kHeads, kDim); };
    rope::pass<rope::Layout::half_split>(cache, rope::start_at(5),
                                         rope::query_path(m, 0, rope::heads(view(whole)), with_q(weight)));
    for (Index t = 0; t < kTokens; ++t) {
        double sum = 0.0;
        for (Index i = 0; i < kHeads * kDim; ++i) {
            const double one = static_cast<double>(x[support::size(t * kHeads * kDim + i)]);
            sum += one * one;
        }
        r.push_back(static_cast<float>(1.0 / std::sqrt(sum / double(kHeads * kDim) + m.steps[0].q[0].norm.eps)));
    }
    for (const Index first : {0, 2})
        rope::pass<rope::Layout::half_split>(cache, rope::start_at(5),
                                             rope::heads(view(shards).slice_heads(first, 2))
                                                 .multiply(rope::view(r, 1, kTokens, 1, 1))
                                                 .multiply(rope::view(weight.data() + first * kDim, 1, 1, 2, kDim))
                                                 .rotate());
    for (std::size_t i = 0; i < whole.size(); ++i)
        REQUIRE(std::fabs(double(whole[i]) - double(shards[i])) <= 4.0 * 0x1p-24 * 4.0);
}

TEST_CASE("keys and values of other layers") {
    ModelConfig m = model_of("gemma4_text", R"(, "global_head_dim": 64, "num_kv_shared_layers": 1,
        "layer_types": ["full_attention", "full_attention"])");
    CHECK(of_k(m, {}, 1) == "layer 1 of this model reads the keys and values of layer 0; it makes none.");
    CHECK(of_v(m, {}, 1) == "layer 1 of this model reads the keys and values of layer 0; it makes none.");
    m.steps[1].keys_of_layer = -1;
    CHECK(of_k(m, {}, 1) == "layer 1 of this model reads the keys and values of another model; it makes none.");
    m.steps[0].keys_are_values = true;
    CHECK(of_v(m) == "layer 0 of this model makes no values: its keys are the values, too.");
}

TEST_CASE("temperatures that are missing or of another shape") {
    const ModelConfig m = model_of("llama4_text", R"(, "use_qk_norm": false, "no_rope_layers": [1, 0])");
    CHECK(of_q(m, {}, 1) == "temperatures is missing; layer 1 of this model needs it, with the shape [1, 3, 1, 1].");
    HeadWeights w;
    const std::vector<float> two(2);
    w.temperatures = two;
    CHECK(of_q(m, w, 1) ==
          "temperatures has the shape [1, 1, 1, 2]; in layer 1 of this model it must have [1, 3, 1, 1], or as many "
          "numbers in a row.");
    CHECK_NOTHROW((void)rope::query_path(m, 0, heads(4), w));  // which does not read them
    CHECK(invalid([&] {
              rope::fill_temperatures(m, {0, 1, 2}, rope::view(memory.data(), 1, 3, 1));
          }) ==
          "numbers has 3 heads of 1 feature; it must have one number per token: rope::view(data, batch, seq, 1, 1).");
    CHECK(invalid([&] {
              rope::fill_temperatures(m, {0, 1}, rope::view(memory.data(), 1, 3, 1, 1));
          }) == "positions has 2 ids; there must be one for each token, seq (3) of them.");
    CHECK(invalid([&] { rope::fill_temperatures(m, {0}, rope::view<float>(nullptr, 1, 1, 1, 1)); }) ==
          "numbers.data is null; a view of 1 element needs memory to point to.");
    CHECK(out_of_range(
              [&] { rope::fill_temperatures(m, rope::start_at(INT64_MAX), rope::view(memory.data(), 1, 3, 1, 1)); }) ==
          "positions start at 9223372036854775807 or more and seq is 3; this function holds positions "
          "-4503599627370496 to 4503599627370496.");
    CHECK(memory == std::vector<float>(1024, 1.0f));
}

TEST_CASE("the published order needs to know the order of the weights") {
    ModelConfig m = model_of("deepseek_v3", R"(, "qk_rope_head_dim": 64, "qk_nope_head_dim": 64, "q_lora_rank": 64)");
    m.configs[0].layout.reset();
    rope::RecipeOptions options;
    CHECK_NOTHROW((void)rope::query_path(m, 0, heads(4)));
    options.in_published_order = true;
    CHECK(of_q(m, {}, 0, 4, options) ==
          "layout of the rotary embedding of layer 0 is left open; in_published_order needs it.");
}
