// SPDX-License-Identifier: MIT
// What a GGUF file leaves to its architecture: which layers slide, which are rotated and how, what stands beside the
// rotation, and what an architecture that nobody knows is told.
#include <rope/core.hpp>
#include <rope/gguf_config.hpp>

#include <rope/detail/readers/hf/model_names.hpp>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "support/catch.hpp"
#include "support/data.hpp"
#include "support/exact/mpfr.hpp"
#include "support/exact/schedules.hpp"
#include "support/readers/gguf.hpp"

using rope::Config;
using rope::Index;
using rope::LayerType;
using rope::Layout;
using rope::ModelConfig;
using support::check_frequencies;
using support::complete_model;
using support::GgufFile;
using support::Ints;
using support::layers_of;
using support::published;
using support::small_grouped_model;
using support::warns_of;

TEST_CASE("Gemma: sliding layers have a base of their own and no scaling") {
    const GgufFile gemma3("gemma3", {{"block_count", 34},
                                     {"context_length", 131072},
                                     {"embedding_length", 2560},
                                     {"attention.head_count", 8},
                                     {"attention.head_count_kv", 4},
                                     {"attention.key_length", 256},
                                     {"attention.sliding_window", 1024},
                                     {"rope.freq_base", 1000000.0},
                                     {"rope.scaling.type", "linear"},
                                     {"rope.scaling.factor", 8.0}});
    ModelConfig model = gemma3.read();
    CHECK(
        warns_of(model, "gemma3.rope.freq_base_swa is missing; 10000 was taken, the default of architecture gemma3."));
    CHECK(model.warnings.size() == 1);
    CHECK(model.configs.size() == 2);
    Config full = published(256, 1000000.0, Layout::half_split);
    full.interpolation_factor = 8.0;
    for (Index i = 0; i < 34; ++i) {
        const bool is_full = i % 6 == 5;
        CHECK((model.layer_types[support::size(i)] == LayerType::full_attention) == is_full);
        check_frequencies(model.layer(i), is_full ? full : published(256, 10000.0, Layout::half_split));
    }
    model = gemma3.with("rope.freq_base_swa", 20000.0).read();
    CHECK(model.warnings.empty());
    check_frequencies(model.layer(0), published(256, 20000.0, Layout::half_split));

    // Gemma 4: full layers have heads twice as wide, of which rope_freqs lets a quarter turn.
    GgufFile gemma4("gemma4", {{"block_count", 4},
                               {"context_length", 131072},
                               {"embedding_length", 2560},
                               {"attention.head_count", 8},
                               {"attention.head_count_kv", Ints{2, 2, 1, 2}},
                               {"attention.key_length", 512},
                               {"attention.key_length_swa", 256},
                               {"attention.sliding_window", 512},
                               {"attention.sliding_window_pattern", Ints{1, 1, 0, 1}},
                               {"rope.dimension_count", 512},
                               {"rope.dimension_count_swa", 256},
                               {"rope.freq_base", 1000000.0},
                               {"rope.freq_base_swa", 10000.0}});
    std::vector<double> factors(256, 1.0);
    for (std::size_t i = 64; i < 256; ++i) factors[i] = double(1e30f);
    gemma4.tensors.rope_freqs.assign(factors.begin(), factors.end());
    model = gemma4.read();
    CHECK(model.warnings.empty());
    full = published(512, 1000000.0, Layout::half_split);
    full.schedule = rope::schedule::FreqFactors{factors};
    check_frequencies(model.layer(2), full);
    check_frequencies(model.layer(3), published(256, 10000.0, Layout::half_split));
    CHECK(model.heads[2].k == 1);
    CHECK(model.heads[3].k == 2);
}

TEST_CASE("gpt-oss: YaRN that is not truncated, the same in all layers") {
    const ModelConfig model = GgufFile("gpt-oss", {{"block_count", 24},
                                                   {"context_length", 131072},
                                                   {"embedding_length", 2880},
                                                   {"attention.head_count", 64},
                                                   {"attention.head_count_kv", 8},
                                                   {"attention.key_length", 64},
                                                   {"attention.sliding_window", 128},
                                                   {"rope.freq_base", 150000.0},
                                                   {"rope.scaling.type", "yarn"},
                                                   {"rope.scaling.factor", 32.0},
                                                   {"rope.scaling.original_context_length", 4096}})
                                  .read();
    CHECK(model.warnings.empty());
    CHECK(model.configs.size() == 1);
    Config c = published(64, 150000.0, Layout::half_split);
    rope::schedule::Yarn yarn;
    yarn.factor = 32.0;
    yarn.original_max_position_embeddings = 4096;
    yarn.truncate = false;
    c.schedule = yarn;
    for (Index i = 0; i < 24; ++i) {
        const LayerType type = i % 2 == 0 ? LayerType::sliding_attention : LayerType::full_attention;
        CHECK(model.layer_types[support::size(i)] == type);
        check_frequencies(model.layer(i), c);
    }
}

TEST_CASE("Step 3.5: full layers turn half as much, with the first of the factors") {
    GgufFile file =
        small_grouped_model("step35").set("attention.sliding_window", 512).set("rope.freq_base_swa", 10000.0);
    file.set("attention.sliding_window_pattern", Ints{0, 1, 1, 1, 0, 1, 1, 1});
    std::vector<double> factors(16, 2.0);
    for (int i = 0; i < 32; ++i) file.tensors.rope_freqs.push_back(i < 16 ? 2.0f : 3.0f);
    Config c = published(64, 500000.0, Layout::half_split, 32);
    c.schedule = rope::schedule::FreqFactors{factors};
    check_frequencies(file.read().layer(0), c);
    check_frequencies(file.read().layer(1), published(64, 10000.0, Layout::half_split));
    CHECK(warns_of(file.without("rope.freq_base_swa").read(), "step35.rope.freq_base_swa is missing; 10000 was taken"));
}

TEST_CASE("bases and scaling of layers that slide") {
    const auto first_slid = [](GgufFile file) {
        file.set("attention.sliding_window", 512).set("rope.scaling.factor", 4.0);
        file.set("attention.sliding_window_pattern", Ints{1, 0, 0, 0, 0, 0, 0, 0}).set("rope.freq_base_swa", 20000.0);
        return *file.set("rope.dimension_count", 64).read().layer(0);
    };
    for (const char* name : {"cohere2moe", "granite_swa", "dflash"}) {
        CHECK(first_slid(small_grouped_model(name)).base == 500000.0);
        CHECK(first_slid(small_grouped_model(name)).interpolation_factor == 4.0);
    }
    for (const char* name : {"dots3note", "maple", "spark2_5"}) {
        CHECK(first_slid(small_grouped_model(name)).base == 20000.0);
        CHECK(first_slid(small_grouped_model(name)).interpolation_factor == 4.0);
    }
    for (const char* name : {"laguna", "muse-glimmer", "step35", "gemma4-assistant"}) {
        CHECK(first_slid(small_grouped_model(name)).base == 20000.0);
        CHECK(first_slid(small_grouped_model(name)).interpolation_factor == 1.0);
    }
}

TEST_CASE("Llama 4: layers without RoPE have a temperature instead") {
    const ModelConfig model = small_grouped_model("llama4").read();
    CHECK(model.attention_temperature.scale == 0.1);
    CHECK(model.attention_temperature.period == 8192.0);
    CHECK(model.attention_temperature.shift == 1);
    CHECK_FALSE(model.attention_temperature.on_layers_with_rope);
    CHECK(model.attention_temperature.on_layers_without_rope);
    CHECK_FALSE(model.reference_uses_other_layout);
    CHECK(small_grouped_model("llama4").set("attention.sliding_window", 0).read().attention_temperature.scale == 0.0);
    // Llama 3's rule by rope_freqs holds in the layers that are rotated, chunked ones.
    GgufFile file = small_grouped_model("llama4");
    std::vector<double> factors(32, 2.0);
    file.tensors.rope_freqs.assign(32, 2.0f);
    Config c = published(64, 500000.0, Layout::interleaved);
    c.schedule = rope::schedule::FreqFactors{factors};
    check_frequencies(file.read().layer(0), c);
}

TEST_CASE("OLMo 3: sliding layers have the same base, and no YaRN") {
    const ModelConfig model = small_grouped_model("olmo2")
                                  .set("attention.sliding_window", 4096)
                                  .set("rope.scaling.type", "yarn")
                                  .set("rope.scaling.factor", 8.0)
                                  .set("rope.scaling.original_context_length", 8192)
                                  .set("rope.scaling.attn_factor", 1.5)
                                  .read();
    CHECK(model.warnings.empty());
    Config c = published(64, 500000.0, Layout::half_split);
    check_frequencies(model.layer(0), c);
    rope::schedule::Yarn yarn;
    yarn.factor = 8.0;
    yarn.original_max_position_embeddings = 8192;
    yarn.attn_factor = 1.5;
    c.schedule = yarn;
    check_frequencies(model.layer(3), c);
    CHECK(model.configs.size() == 2);
    // Without scaling all layers are alike, and share what they have.
    CHECK(small_grouped_model("olmo2").set("attention.sliding_window", 4096).read().configs.size() == 1);
}

TEST_CASE("models that see have the pairs of half-split where there are sections") {
    for (const char* name : {"glm4", "glm4moe", "hunyuan_vl", "dflash"}) {
        CAPTURE(name);
        const bool is_glm4 = std::string(name) == "glm4";
        ModelConfig model = small_grouped_model(name).set("rope.dimension_sections", Ints{8, 12, 12, 0}).read();
        CHECK(model.layer(0)->layout == Layout::half_split);
        CHECK(model.axis_map.axis_of == rope::mrope_sections({8, 12, 12}).axis_of);
        CHECK(model.reference_uses_other_layout == is_glm4);
        for (const GgufFile& text :
             {small_grouped_model(name), small_grouped_model(name).set("rope.dimension_sections", Ints{0, 0, 0, 0}),
              small_grouped_model(name).set("rope.dimension_sections", Ints{32, 0, 0, 0})}) {
            model = text.read();
            CHECK(model.layer(0)->layout == (is_glm4 ? Layout::interleaved : Layout::half_split));
            CHECK(model.axis_map.axis_of.empty());
            CHECK_FALSE(model.reference_uses_other_layout);
            CHECK(model.warnings.empty());
        }
    }
}

TEST_CASE("HunYuan's alpha is NTK-aware scaling") {
    Config c = published(64, 500000.0, Layout::half_split);
    c.schedule = rope::schedule::Ntk{1000.0};
    const ModelConfig model = small_grouped_model("hunyuan_vl")
                                  .set("rope.scaling.type", "none")
                                  .set("rope.scaling.factor", 1.0)
                                  .set("rope.scaling.alpha", 1000.0)
                                  .read();
    CHECK(model.warnings.empty());
    check_frequencies(model.layer(0), c);
}

TEST_CASE("Grok turns to YaRN's ramp at 8 turns") {
    Config c = published(64, 500000.0, Layout::half_split);
    rope::schedule::Yarn yarn;
    yarn.factor = 16.0;
    yarn.original_max_position_embeddings = 8192;
    yarn.beta_fast = 8.0;
    c.schedule = yarn;
    GgufFile file = small_grouped_model("grok").set("rope.scaling.type", "yarn").set("rope.scaling.factor", 16.0);
    file.set("rope.scaling.original_context_length", 8192);
    check_frequencies(file.read().layer(0), c);
    yarn.beta_fast = 32.0;
    c.schedule = yarn;
    check_frequencies(file.set("rope.scaling.yarn_beta_fast", 32.0).read().layer(0), c);
}

TEST_CASE("an architecture that is not known asks for the layout") {
    GgufFile file = small_grouped_model("quokka-7");
    CHECK(file.refused() ==
          "general.architecture is \"quokka-7\", which is not known; give read_gguf_config the layout that the model "
          "rotates: Layout::interleaved, (x[2i], x[2i+1]), or Layout::half_split, (x[i], x[i + rotary_dim/2]).");
    for (const Layout layout : {Layout::interleaved, Layout::half_split}) {
        file.layout = layout;
        const ModelConfig model = file.read();
        check_frequencies(model.layer(0), published(64, 500000.0, layout));
        CHECK(model.warnings ==
              std::vector<std::string>{"general.architecture is \"quokka-7\", which is not known; "
                                       "only what the keys say of its layers was used. Not checked is whether "
                                       "its code rotates the other way, another slice of the head or other "
                                       "layers."});
        CHECK_FALSE(model.reference_uses_other_layout);
    }
    // What keys say of layers holds for it, too.
    const ModelConfig keys =
        small_grouped_model("quokka-7").set("attention.sliding_window", 512).read_as(Layout::half_split);
    CHECK(layers_of(keys) == "FFFFFFFF");
    file =
        small_grouped_model("quokka-7").set("attention.sliding_window", 512).set("attention.sliding_window_pattern", 4);
    CHECK(layers_of(file.read_as(Layout::half_split)) == "SSSFSSSF");

    file.layout = static_cast<Layout>(7);
    CHECK(file.refused() == "layout is 7; it must be Layout::interleaved (0) or Layout::half_split (1).");
}

TEST_CASE("a given layout beats the architecture's, and says how the published code differs") {
    CHECK(small_grouped_model("llama").read_as(Layout::half_split).layer(0)->layout == Layout::half_split);
    CHECK_FALSE(small_grouped_model("llama").read_as(Layout::half_split).reference_uses_other_layout);
    CHECK(small_grouped_model("llama").read_as(Layout::interleaved).reference_uses_other_layout);
    CHECK(small_grouped_model("qwen2").read_as(Layout::interleaved).reference_uses_other_layout);
    CHECK_FALSE(small_grouped_model("qwen2").read_as(Layout::half_split).reference_uses_other_layout);
}

TEST_CASE("the list of architectures") {
    using namespace rope::detail::gguf;
    std::set<std::string> names;
    for (const Architecture& a : kArchitectures) {
        CAPTURE(a.name);
        CHECK(names.insert(a.name).second);
        CHECK(find_architecture(a.name) == &a);
        // Each can be read, and has the layout of its kind.
        const ModelConfig model = complete_model(a.name).read();
        CHECK(model.configs.empty() == (a.rope == Rope::none));
        for (const Config& c : model.configs)
            CHECK(c.layout == (a.rope == Rope::norm ? Layout::interleaved : Layout::half_split));
        const bool is_in_turn = model.axis_map.axis_of.size() > 2 && model.axis_map.axis_of[1] == 1;
        CHECK(is_in_turn == (a.rope == Rope::imrope));
        CHECK(model.heads[7].k == (a.traits & kLatentAttention ? 1 : 2));

        // What is published on Hugging Face turns as its type says.
        const rope::detail::HfModel* const type = rope::detail::find_hf_model(a.hf_type);
        CHECK(((type != nullptr) == (a.hf_type[0] != '\0')));
        CHECK(model.steps.size() == (type != nullptr ? 8u : 0u));
        if (type == nullptr || model.configs.empty()) continue;
        const bool differs = (type->traits & rope::detail::kReordersFeatures) != 0;
        if (std::string(a.name) != "pockettts" && std::string(a.name) != "hy_v4")
            CHECK(model.reference_uses_other_layout == (differs != (model.configs[0].layout != type->layout)));
    }
    CHECK(names.size() == 153);
    CHECK(find_architecture("Llama") == nullptr);
    CHECK(find_architecture("") == nullptr);
    // Those whose conversion permutes rows: Llama and what is made like it, never the pairs of half-split.
    const std::set<std::string> permuted = {
        "arcee",         "arctic", "baichuan", "bailingmoe",  "chameleon",     "deci",       "deepseek",
        "deepseek2-ocr", "eagle3", "granite",  "granite_swa", "granitehybrid", "granitemoe", "graniteswitch",
        "internlm2",     "llada",  "llama",    "llama-embed", "minicpm",       "mistral3",   "muse-glimmer",
        "nanbeige",      "olmo",   "smollm3",  "xverse"};
    for (const Architecture& a : kArchitectures) {
        CAPTURE(a.name);
        CHECK(((a.traits & kRowsPermuted) != 0) == (permuted.count(a.name) != 0));
    }
}
