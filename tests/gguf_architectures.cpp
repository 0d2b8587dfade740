// SPDX-License-Identifier: MIT
// What a GGUF file leaves to its architecture: which layers slide, which are rotated and how, what stands beside the
// rotation, and what an architecture that nobody knows is told.
#include <rope/core.hpp>
#include <rope/gguf_config.hpp>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "support/catch.hpp"
#include "support/data.hpp"
#include "support/gguf.hpp"
#include "support/mpfr.hpp"
#include "support/schedules.hpp"

using rope::Config;
using rope::Index;
using rope::LayerType;
using rope::Layout;
using rope::ModelConfig;
using support::check_frequencies;
using support::GgufFile;
using support::Ints;
using support::published;
using support::warns_of;

namespace {

/// A model of any architecture with heads of 64 features and a base of 500000.
GgufFile small(const std::string& architecture, Index layers = 8) {
    return {architecture,
            {{"block_count", layers},
             {"context_length", 8192},
             {"embedding_length", 512},
             {"attention.head_count", 8},
             {"attention.head_count_kv", 2},
             {"rope.freq_base", 500000.0}}};
}

/// The same, with all that the architecture asks for.
GgufFile complete(const std::string& name, Index layers = 8) {
    using namespace rope::detail::gguf;
    GgufFile file = small(name, layers);
    const Architecture* const a = find_architecture(name);
    file.set("attention.sliding_window", 512).set("rope.dimension_count", 64);
    if (a->traits & kNeedsPattern) file.set("attention.sliding_window_pattern", 2);
    if (a->traits & kNeedsList) file.set("attention.sliding_window_pattern", Ints(support::size(layers), 1));
    if (a->traits & kNeedsSlidingBase) file.set("rope.freq_base_swa", 10000.0);
    if (a->traits & kCompresses) file.set("attention.compress_ratios", Ints(support::size(layers), 0));
    if (a->rope == Rope::mrope || a->rope == Rope::imrope) file.set("rope.dimension_sections", Ints{16, 8, 8, 0});
    return file;
}

/// One letter per layer: what it attends to, in upper case where it is rotated.
std::string layers_of(const ModelConfig& model) {
    std::string letters;
    for (Index i = 0; i < model.layers(); ++i) {
        const char letter = "fscizx-"[static_cast<int>(model.layer_types[support::size(i)])];
        letters += model.layer(i) != nullptr ? static_cast<char>(letter - 'a' + 'A') : letter;
    }
    return letters;
}

}  // namespace

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

TEST_CASE("which layers slide and which are rotated follows from the architecture") {
    const auto letters = [](const std::string& architecture, Index window) {
        return layers_of(small(architecture).set("attention.sliding_window", window).read());
    };
    CHECK(letters("llama", 4096) == "FFFFFFFF");
    CHECK(letters("phi3", 2047) == "FFFFFFFF");
    CHECK(letters("gemma2", 4096) == "SFSFSFSF");
    CHECK(letters("gemma3", 1024) == "SSSSSFSS");
    CHECK(letters("gemma3n", 1024) == "SSSSFSSS");
    CHECK(letters("gemma-embedding", 512) == "SSSSSFSS");
    CHECK(letters("gpt-oss", 128) == "SFSFSFSF");
    CHECK(letters("cohere2", 4096) == "SSSfSSSf");
    CHECK(letters("exaone4", 4096) == "SSSfSSSf");
    CHECK(letters("exaone-moe", 128) == "SSSfSSSf");
    CHECK(letters("afmoe", 2048) == "SSSfSSSf");
    CHECK(letters("smallthinker", 4096) == "fSSSfSSS");
    CHECK(letters("modern-bert", 128) == "FSSFSSFS");
    CHECK(letters("olmo2", 4096) == "SSSFSSSF");
    CHECK(letters("llama4", 8192) == "CCCfCCCf");
    CHECK(letters("plamo3", 2048) == "SSSSSSSF");
    CHECK(letters("smollm3", 0) == "FFFfFFFf");
    for (const char* optional : {"gemma3", "exaone4", "olmo2", "smallthinker", "modern-bert", "plamo3"}) {
        CAPTURE(optional);
        CHECK(letters(optional, 0) == "FFFFFFFF");
        CHECK(layers_of(small(optional).read()) == "FFFFFFFF");
    }
    CHECK(letters("llama4", 0) == "FFFFFFFF");
    CHECK(layers_of(small("llama4").read()) == "CCCfCCCf");
    CHECK(layers_of(small("gemma2").read()) == "SFSFSFSF");
    CHECK(layers_of(small("smollm3").read()) == "FFFfFFFf");
    CHECK(layers_of(small("qwen3next").read()) == "---F---F");

    // The layers at the end that predict further tokens are full.
    CHECK(layers_of(small("gemma3").set("attention.sliding_window", 9).set("nextn_predict_layers", 3).read()) ==
          "SSSSSFFF");
    CHECK(layers_of(small("gemma2").set("nextn_predict_layers", 2).read()) == "SFSFSFFF");
}

TEST_CASE("which layers slide and which are rotated, where a file must say so") {
    const Ints list = {1, 1, 0, 1, 1, 1, 1, 0};
    const auto file = [](const char* name, rope::GgufValue pattern) {
        return small(name).set("attention.sliding_window", 512).set("attention.sliding_window_pattern", pattern);
    };
    for (const char* name : {"granite_swa", "spark2_5", "step35", "gemma4-assistant", "mimo2", "gemma4", "dflash"})
        CHECK(layers_of(file(name, list).read()) == "SSFSSSSF");
    CHECK(layers_of(file("maple", list).read()) == "SSfSSSSf");
    CHECK(layers_of(small("dflash").read()) == "FFFFFFFF");
    CHECK(layers_of(small("dflash").set("attention.sliding_window", 0).read()) == "FFFFFFFF");
    // A drafter's layers all predict further tokens, and count as usual.
    CHECK(layers_of(file("gemma4-assistant", list).set("nextn_predict_layers", 8).read()) == "SSFSSSSF");

    CHECK(layers_of(file("muse-glimmer", list).read()) == "SSfSSSSf");
    CHECK(layers_of(file("muse-glimmer", 4).read()) == "SSSfSSSf");
    CHECK(layers_of(file("muse-glimmer", 4).remove("attention.sliding_window").read()) == "SSSfSSSf");
    CHECK(layers_of(file("cohere2moe", 4).read()) == "fSSSfSSS");
    CHECK(layers_of(file("cohere2moe", 4).set("leading_dense_block_count", 1).read()) == "FSSSfSSS");
    CHECK(layers_of(file("cohere2moe", list).set("leading_dense_block_count", 3).read()) == "SSFSSSSf");
    CHECK(layers_of(file("cohere2", 4).set("leading_dense_block_count", 4).read()) == "SSSfSSSf");
    CHECK(layers_of(small("laguna").read()) == "FFFFFFFF");
    const GgufFile laguna = small("laguna").set("attention.sliding_window", 512).set("rope.freq_base_swa", 10000.0);
    CHECK(layers_of(laguna.read()) == "FSSSFSSS");

    CHECK(layers_of(small("minimax-01").read()) == "-------F");
    CHECK(layers_of(small("minimax-01").set("full_attention_interval", 4).read()) == "---F---F");
    const GgufFile qwen4 = small("qwen4exp").set("rope.dimension_sections", Ints{11, 11, 10, 0});
    CHECK(layers_of(qwen4.read()) == "---F---F");
    CHECK(layers_of(qwen4.with("attention.compress_ratios", Ints(8, 4)).read()) == "---F---F");
    CHECK(layers_of(small("bailingmoe3", 2)
                        .set("attention.head_count_kv", Ints{0, 1})
                        .set("rope.dimension_count", 32)
                        .read()) == "-F");
    for (const char* name : {"kimi-k3", "glm5-next"})
        CHECK(layers_of(small(name, 2).set("rope.dimension_count", 0).read()) == "ff");
}

TEST_CASE("Step 3.5: full layers turn half as much, with the first of the factors") {
    GgufFile file = small("step35").set("attention.sliding_window", 512).set("rope.freq_base_swa", 10000.0);
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
        CHECK(first_slid(small(name)).base == 500000.0);
        CHECK(first_slid(small(name)).interpolation_factor == 4.0);
    }
    for (const char* name : {"dots3note", "maple", "spark2_5"}) {
        CHECK(first_slid(small(name)).base == 20000.0);
        CHECK(first_slid(small(name)).interpolation_factor == 4.0);
    }
    for (const char* name : {"laguna", "muse-glimmer", "step35", "gemma4-assistant"}) {
        CHECK(first_slid(small(name)).base == 20000.0);
        CHECK(first_slid(small(name)).interpolation_factor == 1.0);
    }
}

TEST_CASE("Llama 4: layers without RoPE have a temperature instead") {
    const ModelConfig model = small("llama4").read();
    CHECK(model.attention_temperature.scale == 0.1);
    CHECK(model.attention_temperature.period == 8192.0);
    CHECK(model.attention_temperature.shift == 1);
    CHECK_FALSE(model.attention_temperature.on_layers_with_rope);
    CHECK(model.attention_temperature.on_layers_without_rope);
    CHECK_FALSE(model.reference_uses_other_layout);
    CHECK(small("llama4").set("attention.sliding_window", 0).read().attention_temperature.scale == 0.0);
    // Llama 3's rule by rope_freqs holds in the layers that are rotated, chunked ones.
    GgufFile file = small("llama4");
    std::vector<double> factors(32, 2.0);
    file.tensors.rope_freqs.assign(32, 2.0f);
    Config c = published(64, 500000.0, Layout::interleaved);
    c.schedule = rope::schedule::FreqFactors{factors};
    check_frequencies(file.read().layer(0), c);
}

TEST_CASE("OLMo 3: sliding layers have the same base, and no YaRN") {
    const ModelConfig model = small("olmo2")
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
    CHECK(small("olmo2").set("attention.sliding_window", 4096).read().configs.size() == 1);
}

TEST_CASE("layers without attention have no heads and no RoPE") {
    ModelConfig model = small("lfm2", 4).set("attention.head_count_kv", Ints{0, 8, 0, 2}).read();
    CHECK(layers_of(model) == "-F-F");
    CHECK(model.heads[0].q == 0);
    CHECK(model.heads[1].k == 8);
    CHECK(model.heads[3].v == 2);
    model = small("deci", 3)
                .set("attention.head_count", Ints{0, 8, 8})
                .set("attention.head_count_kv", Ints{0, 0, 4})
                .read();
    CHECK(layers_of(model) == "--F");
    CHECK(model.layer(2)->head_dim == 64);
    model = small("granitehybrid", 3).set("attention.head_count_kv", Ints{0, 0, 0}).read();
    CHECK(layers_of(model) == "---");
    CHECK(model.configs.empty());
}

TEST_CASE("architectures without RoPE") {
    CHECK(layers_of(small("gpt2", 2).read()) == "ff");
    CHECK(small("gpt2", 2).read().heads[1].k == 2);
    const GgufFile mamba("mamba", {{"block_count", 2}, {"embedding_length", 768}, {"attention.head_count", 0}});
    CHECK(layers_of(mamba.read()) == "--");
    CHECK(layers_of(mamba.without("attention.head_count").read()) == "--");
    CHECK(mamba.read().warnings.empty());

    CHECK(layers_of(small("baichuan", 32).read()) == std::string(32, 'F'));
    const ModelConfig alibi = small("baichuan", 40).read();
    CHECK(layers_of(alibi) == std::string(40, 'f'));
    CHECK(warns_of(alibi, "baichuan.block_count is 40: no layer has RoPE, because this model has ALiBi."));
    for (const char* granite : {"granite", "granitemoe", "granitehybrid", "graniteswitch"}) {
        const ModelConfig off = small(granite, 2).set("rope.scaling.finetuned", false).read();
        CHECK(layers_of(off) == "ff");
        CHECK(warns_of(off, std::string(granite) + ".rope.scaling.finetuned is false: no layer has RoPE."));
        CHECK(layers_of(small(granite, 2).set("rope.scaling.finetuned", true).read()) == "FF");
        CHECK(layers_of(small(granite, 2).read()) == "FF");
    }
    CHECK(layers_of(small("llama", 2).set("rope.scaling.finetuned", false).read()) == "FF");
}

TEST_CASE("norms of q and k, by architecture") {
    using rope::NormKind;
    using rope::NormWeight;
    using Names = std::vector<const char*>;
    const auto have = [](const Names& names, NormKind kind, NormWeight weight, bool is_after) {
        for (const char* name : names) {
            CAPTURE(name);
            GgufFile file = complete(name).set("attention.layer_norm_rms_epsilon", 0.25);
            const ModelConfig model = file.set("attention.layer_norm_epsilon", 0.125).read();
            for (Index i = 0; i < model.layers(); ++i) {
                const rope::HeadSteps& s = model.steps[support::size(i)];
                CHECK(s.keys_of_layer == i);
                CHECK_FALSE(s.keys_are_values);
                const bool attends = model.layer_types[support::size(i)] != LayerType::no_attention;
                CHECK(s.softmax_scale == (attends ? 0.125 : 0.0));
                for (const rope::HeadNorm& norm : {s.q, s.k}) {
                    CHECK(norm.kind == (attends ? kind : NormKind::none));
                    if (norm.kind == NormKind::none) continue;
                    CHECK(norm.weight == weight);
                    CHECK(norm.is_after_rotation == is_after);
                    CHECK_FALSE(norm.adds_one);
                    CHECK(norm.eps == (kind == NormKind::rms ? 0.25 : std::string(name) == "chameleon" ? 1e-5 : 0.125));
                }
                CHECK(s.v.kind == NormKind::none);
                CHECK((s.q_factor == 1.0 && s.k_factor == 1.0 && s.v_factor == 1.0 && s.clip == 0.0));
            }
        }
    };
    have({"arcee",      "baichuan", "cohere2",  "cohere2moe",   "command-r",  "deepseek",    "deepseek2",
          "deepseek32", "eagle3",   "ernie4_5", "ernie4_5-moe", "falcon-h1",  "gemma",       "gemma2",
          "glm4",       "glm4moe",  "gpt-oss",  "gptj",         "granite",    "granite_swa", "granitehybrid",
          "hrm_text",   "hy_v4",    "llama",    "mimo2",        "minimax-01", "mistral3",    "mistral4",
          "nanbeige",   "phi2",     "phi3",     "qwen2",        "qwen2moe",   "qwen2vl",     "seed_oss",
          "smollm3",    "stablelm"},
         NormKind::none, NormWeight::none, false);
    have({"afmoe",        "apertus",    "dflash",   "dots1",     "exaone-moe", "exaone4",   "gemma-embedding",
          "gemma3",       "hy_v3",      "laguna",   "lfm2",      "lfm2moe",    "mellum",    "minimax-m3",
          "muse-glimmer", "qwen3",      "qwen35",   "qwen35moe", "qwen3moe",   "qwen3next", "qwen3tts",
          "qwen3vl",      "qwen3vlmoe", "qwen4exp", "step35"},
         NormKind::rms, NormWeight::head_dim, false);
    have({"hunyuan-dense", "hunyuan-moe", "hunyuan_vl"}, NormKind::rms, NormWeight::head_dim, true);
    have({"minimax-m2", "olmo2", "olmoe"}, NormKind::rms, NormWeight::all_heads, false);
    have({"chameleon"}, NormKind::layer_norm, NormWeight::heads_x_head_dim, false);
    for (const char* unknown : {"talkie", "maincoder", "dots3note", "maple"})
        CHECK(complete(unknown).read().steps.empty());

    // Of some architectures only the larger models have norms, and no key says it.
    const auto is_normed = [](const char* name, Index layers) {
        return complete(name, layers).read().steps[0].k.kind != NormKind::none;
    };
    CHECK_FALSE(is_normed("command-r", 40));
    CHECK(is_normed("command-r", 64));
    CHECK_FALSE(is_normed("stablelm", 32));
    CHECK(is_normed("stablelm", 40));
    CHECK_FALSE(is_normed("glm4moe", 47));
    CHECK(is_normed("glm4moe", 93));
    CHECK_FALSE(is_normed("phi2", 32));
    // Llama 4: layers that are rotated, unless there are 128 experts.
    ModelConfig model = small("llama4").set("expert_count", 16).set("attention.layer_norm_rms_epsilon", 0.25).read();
    CHECK((model.steps[2].q.kind == NormKind::rms && model.steps[2].q.weight == NormWeight::none));
    CHECK((model.steps[2].q.is_after_rotation && model.steps[2].q.eps == 0.25));
    CHECK(model.steps[3].q.kind == NormKind::none);
    CHECK(small("llama4").set("expert_count", 128).read().steps[2].q.kind == NormKind::none);
}

TEST_CASE("Gemma: values, and the scale of the softmax") {
    for (const char* name : {"gemma3n", "gemma4", "gemma4-assistant"}) {
        const ModelConfig model = complete(name).set("attention.layer_norm_rms_epsilon", 0.25).read();
        CHECK(model.steps[7].softmax_scale == 1.0);
        CHECK((model.steps[7].v.kind == rope::NormKind::rms && model.steps[7].v.weight == rope::NormWeight::none));
        CHECK((model.steps[7].v.eps == 0.25 && model.steps[7].k.weight == rope::NormWeight::head_dim));
        CHECK_FALSE(model.steps[7].values_from_key_projection);
    }
    // The last layers reuse keys and values of the last layer of their kind before them.
    GgufFile file = complete("gemma4").set("attention.sliding_window_pattern", Ints{1, 0, 1, 1, 0, 1, 1, 0});
    ModelConfig model = file.with("attention.shared_kv_layers", 4).read();
    std::vector<Index> of;
    for (const rope::HeadSteps& s : model.steps) of.push_back(s.keys_of_layer);
    CHECK(of == std::vector<Index>{0, 1, 2, 3, 1, 3, 3, 1});
    CHECK(file.with("attention.shared_kv_layers", 8).read().steps[7].keys_of_layer == 7);
    // Where full layers have other key heads, their values come from the keys' projection.
    CHECK_FALSE(file.read().steps[1].values_from_key_projection);
    file.set("attention.head_count_kv", Ints{4, 1, 4, 2, 1, 4, 4, 1});
    for (const Index i : {0, 1, 3, 7})
        CHECK(file.read().steps[support::size(i)].values_from_key_projection == (i == 1 || i == 7));
    CHECK_FALSE(file.set("attention.sliding_window", 0).read().steps[1].values_from_key_projection);

    // Of 27B, the softmax's scale is that of embedding_length / head_count.
    for (const char* name : {"gemma2", "gemma3"})
        for (const Index layers : {42, 46, 62}) {
            file = complete(name, layers).set("attention.key_length", 100);
            CHECK(file.read().steps[0].softmax_scale == (layers == 42 ? 0.1 : 0.125));
        }
}

TEST_CASE("models that see have the pairs of half-split where there are sections") {
    for (const char* name : {"glm4", "glm4moe", "hunyuan_vl", "dflash"}) {
        CAPTURE(name);
        const bool is_glm4 = std::string(name) == "glm4";
        ModelConfig model = small(name).set("rope.dimension_sections", Ints{8, 12, 12, 0}).read();
        CHECK(model.layer(0)->layout == Layout::half_split);
        CHECK(model.mrope_section == std::vector<Index>{8, 12, 12});
        CHECK_FALSE(model.mrope_interleaved);
        CHECK(model.reference_uses_other_layout == is_glm4);
        for (const GgufFile& text : {small(name), small(name).set("rope.dimension_sections", Ints{0, 0, 0, 0}),
                                     small(name).set("rope.dimension_sections", Ints{32, 0, 0, 0})}) {
            model = text.read();
            CHECK(model.layer(0)->layout == (is_glm4 ? Layout::interleaved : Layout::half_split));
            CHECK(model.mrope_section.empty());
            CHECK_FALSE(model.reference_uses_other_layout);
            CHECK(model.warnings.empty());
        }
    }
}

TEST_CASE("HunYuan's alpha is NTK-aware scaling") {
    Config c = published(64, 500000.0, Layout::half_split);
    c.schedule = rope::schedule::Ntk{1000.0};
    const ModelConfig model = small("hunyuan_vl")
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
    GgufFile file = small("grok").set("rope.scaling.type", "yarn").set("rope.scaling.factor", 16.0);
    file.set("rope.scaling.original_context_length", 8192);
    check_frequencies(file.read().layer(0), c);
    yarn.beta_fast = 32.0;
    c.schedule = yarn;
    check_frequencies(file.set("rope.scaling.yarn_beta_fast", 32.0).read().layer(0), c);
}

TEST_CASE("an architecture that is not known asks for the layout") {
    GgufFile file = small("quokka-7");
    CHECK(file.refused() ==
          "general.architecture is \"quokka-7\", which is not known; give read_gguf_config the layout that the model "
          "turns: Layout::interleaved, (x[2i], x[2i+1]), or Layout::half_split, (x[i], x[i + rotary_dim/2]).");
    for (const Layout layout : {Layout::interleaved, Layout::half_split}) {
        file.layout = layout;
        const ModelConfig model = file.read();
        check_frequencies(model.layer(0), published(64, 500000.0, layout));
        CHECK(model.warnings ==
              std::vector<std::string>{"general.architecture is \"quokka-7\", which is not known; "
                                       "only what the keys say of its layers was used. Not checked is whether "
                                       "its code turns the other way, another slice of the head or other "
                                       "layers."});
        CHECK_FALSE(model.reference_uses_other_layout);
    }
    // What keys say of layers holds for it, too.
    const ModelConfig keys = small("quokka-7").set("attention.sliding_window", 512).read_as(Layout::half_split);
    CHECK(layers_of(keys) == "FFFFFFFF");
    file = small("quokka-7").set("attention.sliding_window", 512).set("attention.sliding_window_pattern", 4);
    CHECK(layers_of(file.read_as(Layout::half_split)) == "SSSFSSSF");

    file.layout = static_cast<Layout>(7);
    CHECK(file.refused() == "layout is 7; it must be Layout::interleaved (0) or Layout::half_split (1).");
}

TEST_CASE("a given layout beats the architecture's, and says how the published code differs") {
    CHECK(small("llama").read_as(Layout::half_split).layer(0)->layout == Layout::half_split);
    CHECK_FALSE(small("llama").read_as(Layout::half_split).reference_uses_other_layout);
    CHECK(small("llama").read_as(Layout::interleaved).reference_uses_other_layout);
    CHECK(small("qwen2").read_as(Layout::interleaved).reference_uses_other_layout);
    CHECK_FALSE(small("qwen2").read_as(Layout::half_split).reference_uses_other_layout);
}

TEST_CASE("the list of architectures") {
    using namespace rope::detail::gguf;
    std::set<std::string> names;
    for (const Architecture& a : kArchitectures) {
        CAPTURE(a.name);
        CHECK(names.insert(a.name).second);
        CHECK(find_architecture(a.name) == &a);
        // Each can be read, and has the layout of its kind.
        const ModelConfig model = complete(a.name).read();
        CHECK(model.configs.empty() == (a.rope == Rope::none));
        for (const Config& c : model.configs)
            CHECK(c.layout == (a.rope == Rope::norm ? Layout::interleaved : Layout::half_split));
        CHECK(model.mrope_interleaved == (a.rope == Rope::imrope));
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
