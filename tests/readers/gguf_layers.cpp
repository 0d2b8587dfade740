// SPDX-License-Identifier: MIT
// Which layers of a GGUF file slide, and which are rotated: by its architecture and its keys.
#include <rope/core.hpp>
#include <rope/gguf_config.hpp>

#include <string>
#include <vector>

#include "support/catch.hpp"
#include "support/data.hpp"
#include "support/exact/mpfr.hpp"
#include "support/exact/schedules.hpp"
#include "support/readers/gguf.hpp"

using rope::Index;
using rope::ModelConfig;
using support::GgufFile;
using support::Ints;
using support::layers_of;
using support::small_grouped_model;
using support::warns_of;

TEST_CASE("which layers slide and which are rotated follows from the architecture") {
    const auto letters = [](const std::string& architecture, Index window) {
        return layers_of(small_grouped_model(architecture).set("attention.sliding_window", window).read());
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
        CHECK(layers_of(small_grouped_model(optional).read()) == "FFFFFFFF");
    }
    CHECK(letters("llama4", 0) == "FFFFFFFF");
    CHECK(layers_of(small_grouped_model("llama4").read()) == "CCCfCCCf");
    CHECK(layers_of(small_grouped_model("gemma2").read()) == "SFSFSFSF");
    CHECK(layers_of(small_grouped_model("smollm3").read()) == "FFFfFFFf");
    CHECK(layers_of(small_grouped_model("qwen3next").read()) == "---F---F");

    // The layers at the end that predict further tokens are full.
    CHECK(layers_of(
              small_grouped_model("gemma3").set("attention.sliding_window", 9).set("nextn_predict_layers", 3).read()) ==
          "SSSSSFFF");
    CHECK(layers_of(small_grouped_model("gemma2").set("nextn_predict_layers", 2).read()) == "SFSFSFFF");
}

TEST_CASE("which layers slide and which are rotated, where a file must say so") {
    const Ints list = {1, 1, 0, 1, 1, 1, 1, 0};
    const auto file = [](const char* name, rope::GgufValue pattern) {
        return small_grouped_model(name)
            .set("attention.sliding_window", 512)
            .set("attention.sliding_window_pattern", pattern);
    };
    for (const char* name : {"granite_swa", "spark2_5", "step35", "gemma4-assistant", "mimo2", "gemma4", "dflash"})
        CHECK(layers_of(file(name, list).read()) == "SSFSSSSF");
    CHECK(layers_of(file("maple", list).read()) == "SSfSSSSf");
    CHECK(layers_of(small_grouped_model("dflash").read()) == "FFFFFFFF");
    CHECK(layers_of(small_grouped_model("dflash").set("attention.sliding_window", 0).read()) == "FFFFFFFF");
    // A drafter's layers all predict further tokens, and count as usual.
    CHECK(layers_of(file("gemma4-assistant", list).set("nextn_predict_layers", 8).read()) == "SSFSSSSF");

    CHECK(layers_of(file("muse-glimmer", list).read()) == "SSfSSSSf");
    CHECK(layers_of(file("muse-glimmer", 4).read()) == "SSSfSSSf");
    CHECK(layers_of(file("muse-glimmer", 4).remove("attention.sliding_window").read()) == "SSSfSSSf");
    CHECK(layers_of(file("cohere2moe", 4).read()) == "fSSSfSSS");
    CHECK(layers_of(file("cohere2moe", 4).set("leading_dense_block_count", 1).read()) == "FSSSfSSS");
    CHECK(layers_of(file("cohere2moe", list).set("leading_dense_block_count", 3).read()) == "SSFSSSSf");
    CHECK(layers_of(file("cohere2", 4).set("leading_dense_block_count", 4).read()) == "SSSfSSSf");
    CHECK(layers_of(small_grouped_model("laguna").read()) == "FFFFFFFF");
    const GgufFile laguna =
        small_grouped_model("laguna").set("attention.sliding_window", 512).set("rope.freq_base_swa", 10000.0);
    CHECK(layers_of(laguna.read()) == "FSSSFSSS");

    CHECK(layers_of(small_grouped_model("minimax-01").read()) == "-------F");
    CHECK(layers_of(small_grouped_model("minimax-01").set("full_attention_interval", 4).read()) == "---F---F");
    const GgufFile qwen4 = small_grouped_model("qwen4exp").set("rope.dimension_sections", Ints{11, 11, 10, 0});
    CHECK(layers_of(qwen4.read()) == "---F---F");
    CHECK(layers_of(qwen4.with("attention.compress_ratios", Ints(8, 4)).read()) == "---F---F");
    CHECK(layers_of(small_grouped_model("bailingmoe3", 2)
                        .set("attention.head_count_kv", Ints{0, 1})
                        .set("rope.dimension_count", 32)
                        .read()) == "-F");
    for (const char* name : {"kimi-k3", "glm5-next"})
        CHECK(layers_of(small_grouped_model(name, 2).set("rope.dimension_count", 0).read()) == "ff");
}

TEST_CASE("layers without attention have no heads and no RoPE") {
    ModelConfig model = small_grouped_model("lfm2", 4).set("attention.head_count_kv", Ints{0, 8, 0, 2}).read();
    CHECK(layers_of(model) == "-F-F");
    CHECK(model.heads[0].q == 0);
    CHECK(model.heads[1].k == 8);
    CHECK(model.heads[3].v == 2);
    model = small_grouped_model("deci", 3)
                .set("attention.head_count", Ints{0, 8, 8})
                .set("attention.head_count_kv", Ints{0, 0, 4})
                .read();
    CHECK(layers_of(model) == "--F");
    CHECK(model.layer(2)->head_dim == 64);
    model = small_grouped_model("granitehybrid", 3).set("attention.head_count_kv", Ints{0, 0, 0}).read();
    CHECK(layers_of(model) == "---");
    CHECK(model.configs.empty());
}

TEST_CASE("architectures without RoPE") {
    CHECK(layers_of(small_grouped_model("gpt2", 2).read()) == "ff");
    CHECK(small_grouped_model("gpt2", 2).read().heads[1].k == 2);
    const GgufFile mamba("mamba", {{"block_count", 2}, {"embedding_length", 768}, {"attention.head_count", 0}});
    CHECK(layers_of(mamba.read()) == "--");
    CHECK(layers_of(mamba.without("attention.head_count").read()) == "--");
    CHECK(mamba.read().warnings.empty());

    CHECK(layers_of(small_grouped_model("baichuan", 32).read()) == std::string(32, 'F'));
    const ModelConfig alibi = small_grouped_model("baichuan", 40).read();
    CHECK(layers_of(alibi) == std::string(40, 'f'));
    CHECK(warns_of(alibi, "baichuan.block_count is 40: no layer has RoPE, because this model has ALiBi."));
    for (const char* granite : {"granite", "granitemoe", "granitehybrid", "graniteswitch"}) {
        const ModelConfig off = small_grouped_model(granite, 2).set("rope.scaling.finetuned", false).read();
        CHECK(layers_of(off) == "ff");
        CHECK(warns_of(off, std::string(granite) + ".rope.scaling.finetuned is false: no layer has RoPE."));
        CHECK(layers_of(small_grouped_model(granite, 2).set("rope.scaling.finetuned", true).read()) == "FF");
        CHECK(layers_of(small_grouped_model(granite, 2).read()) == "FF");
    }
    CHECK(layers_of(small_grouped_model("llama", 2).set("rope.scaling.finetuned", false).read()) == "FF");
}
