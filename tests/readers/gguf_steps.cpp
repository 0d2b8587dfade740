// SPDX-License-Identifier: MIT
// The steps on q, k and v other than the rotation, from GGUF metadata: norms, the scale of the softmax, values made of keys.
#include <rope/core.hpp>
#include <rope/gguf_config.hpp>

#include <string>
#include <vector>

#include "support/catch.hpp"
#include "support/data.hpp"
#include "support/readers/gguf.hpp"
#include "support/readers/head_steps.hpp"

using rope::Index;
using rope::LayerType;
using rope::ModelConfig;
using support::complete_model;
using support::GgufFile;
using support::Ints;
using support::norm;
using support::order_of;
using support::small_grouped_model;

TEST_CASE("norms of q and k, by architecture") {
    using rope::NormKind;
    using rope::NormWeight;
    using Names = std::vector<const char*>;
    const auto have = [](const Names& names, NormKind kind, NormWeight weight, const std::string& order) {
        for (const char* name : names) {
            CAPTURE(name);
            GgufFile file = complete_model(name).set("attention.layer_norm_rms_epsilon", 0.25);
            const ModelConfig model = file.set("attention.layer_norm_epsilon", 0.125).read();
            for (Index i = 0; i < model.layers(); ++i) {
                const rope::HeadSteps& s = model.steps[support::size(i)];
                CHECK(s.keys_of_layer == i);
                CHECK_FALSE(s.keys_are_values);
                const bool attends = model.layer_types[support::size(i)] != LayerType::no_attention;
                CHECK(s.softmax_scale == (attends ? 0.125 : 0.0));
                const std::string steps = !attends                    ? ""
                                          : model.layer(i) == nullptr ? order.substr(0, order.find('r'))
                                                                      : order;
                CHECK((order_of(s.k) == steps && order_of(s.q).substr(0, steps.size()) == steps));
                CHECK((order_of(s.v).empty() && order_of(s.output).empty()));
                for (const rope::HeadNorm& of : {norm(s.q), norm(s.k)}) {
                    CHECK(of.kind == (attends ? kind : NormKind::none));
                    if (of.kind == NormKind::none) continue;
                    CHECK(of.weight == weight);
                    CHECK_FALSE(of.adds_one);
                    CHECK(of.eps == (kind == NormKind::rms ? 0.25 : std::string(name) == "chameleon" ? 1e-5 : 0.125));
                }
            }
        }
    };
    have({"arcee",      "baichuan", "cohere2",  "cohere2moe",   "command-r",  "deepseek",    "deepseek2",
          "deepseek32", "eagle3",   "ernie4_5", "ernie4_5-moe", "falcon-h1",  "gemma",       "gemma2",
          "glm4",       "glm4moe",  "gpt-oss",  "gptj",         "granite",    "granite_swa", "granitehybrid",
          "hrm_text",   "hy_v4",    "llama",    "mimo2",        "minimax-01", "mistral3",    "mistral4",
          "nanbeige",   "phi2",     "phi3",     "qwen2",        "qwen2moe",   "qwen2vl",     "seed_oss",
          "smollm3",    "stablelm"},
         NormKind::none, NormWeight::none, "r");
    have({"afmoe",        "apertus",    "dflash",   "dots1",     "exaone-moe", "exaone4",   "gemma-embedding",
          "gemma3",       "hy_v3",      "laguna",   "lfm2",      "lfm2moe",    "mellum",    "minimax-m3",
          "muse-glimmer", "qwen3",      "qwen35",   "qwen35moe", "qwen3moe",   "qwen3next", "qwen3tts",
          "qwen3vl",      "qwen3vlmoe", "qwen4exp", "step35"},
         NormKind::rms, NormWeight::head_dim, "nr");
    have({"hunyuan-dense", "hunyuan-moe", "hunyuan_vl"}, NormKind::rms, NormWeight::head_dim, "rn");
    have({"minimax-m2", "olmo2", "olmoe"}, NormKind::rms, NormWeight::all_heads, "nr");
    have({"chameleon"}, NormKind::layer_norm, NormWeight::heads_x_head_dim, "nr");
    for (const char* unknown : {"talkie", "maincoder", "dots3note", "maple"})
        CHECK(complete_model(unknown).read().steps.empty());

    // Of some architectures only the larger models have norms, and no key says it.
    const auto is_normed = [](const char* name, Index layers) {
        return rope::norm_of(complete_model(name, layers).read().steps[0].k) != nullptr;
    };
    CHECK_FALSE(is_normed("command-r", 40));
    CHECK(is_normed("command-r", 64));
    CHECK_FALSE(is_normed("stablelm", 32));
    CHECK(is_normed("stablelm", 40));
    CHECK_FALSE(is_normed("glm4moe", 47));
    CHECK(is_normed("glm4moe", 93));
    CHECK_FALSE(is_normed("phi2", 32));
    // Llama 4: layers that are rotated, unless there are 128 experts.
    ModelConfig model =
        small_grouped_model("llama4").set("expert_count", 16).set("attention.layer_norm_rms_epsilon", 0.25).read();
    CHECK((norm(model.steps[2].q).kind == NormKind::rms && norm(model.steps[2].q).weight == NormWeight::none));
    CHECK((order_of(model.steps[2].q) == "rn" && norm(model.steps[2].q).eps == 0.25));
    CHECK(order_of(model.steps[3].q) == "t");
    CHECK(order_of(small_grouped_model("llama4").set("expert_count", 128).read().steps[2].q) == "r");
}

TEST_CASE("Gemma: values, and the scale of the softmax") {
    for (const char* name : {"gemma3n", "gemma4", "gemma4-assistant"}) {
        const ModelConfig model = complete_model(name).set("attention.layer_norm_rms_epsilon", 0.25).read();
        CHECK(model.steps[7].softmax_scale == 1.0);
        const rope::HeadNorm of_v = norm(model.steps[7].v);
        CHECK((of_v.kind == rope::NormKind::rms && of_v.weight == rope::NormWeight::none && of_v.eps == 0.25));
        CHECK(norm(model.steps[7].k).weight == rope::NormWeight::head_dim);
        CHECK_FALSE(model.steps[7].values_from_key_projection);
    }
    // The last layers reuse keys and values of the last layer of their kind before them.
    GgufFile file = complete_model("gemma4").set("attention.sliding_window_pattern", Ints{1, 0, 1, 1, 0, 1, 1, 0});
    ModelConfig model = file.with("attention.shared_kv_layers", 4).read();
    std::vector<Index> of;
    for (const rope::HeadSteps& s : model.steps) of.push_back(s.keys_of_layer);
    CHECK(of == std::vector<Index>{0, 1, 2, 3, 1, 3, 3, 1});
    CHECK(file.with("attention.shared_kv_layers", 8).read().steps[7].keys_of_layer == -1);
    // Where full layers have other key heads, their values come from the keys' projection.
    CHECK_FALSE(file.read().steps[1].values_from_key_projection);
    file.set("attention.head_count_kv", Ints{4, 1, 4, 2, 1, 4, 4, 1});
    for (const Index i : {0, 1, 3, 7})
        CHECK(file.read().steps[support::size(i)].values_from_key_projection == (i == 1 || i == 7));
    CHECK_FALSE(file.set("attention.sliding_window", 0).read().steps[1].values_from_key_projection);

    // Of 27B, the softmax's scale is that of embedding_length / head_count.
    for (const char* name : {"gemma2", "gemma3"})
        for (const Index layers : {42, 46, 62}) {
            file = complete_model(name, layers).set("attention.key_length", 100);
            CHECK(file.read().steps[0].softmax_scale == (layers == 42 ? 0.1 : 0.125));
        }
}
