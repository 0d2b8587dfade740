// SPDX-License-Identifier: MIT
// A value of the wrong type or out of range, an array of the wrong length and a missing key in the metadata of a GGUF
// file are refused in a sentence that names the key and its value.
#include <rope/core.hpp>
#include <rope/gguf_config.hpp>

#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "support/catch.hpp"
#include "support/readers/gguf.hpp"

using rope::GgufValue;
using rope::Index;
using support::GgufFile;
using support::Ints;

namespace {

/// Values that no key of a kind may have, and how a sentence shows them.
using Bad = std::vector<std::pair<GgufValue, std::string>>;
const Bad kNotNumbers = {{"4", "\"4\""},
                         {true, "true"},
                         {false, "false"},
                         {Ints{4}, "an array of 1"},
                         {std::vector<double>{4.0, 5.0}, "an array of 2"},
                         {support::nan_value(), "nan"},
                         {support::infinity(), "inf"}};

void refuses(const GgufFile& file, const std::string& key, const Bad& values, const std::string& allowed) {
    for (const auto& [value, shown] : values) {
        CAPTURE(key, shown);
        CHECK(file.with(key, value).refused() == file.path_of(key) + " is " + shown + "; it must be " + allowed + ".");
    }
}
GgufFile deepseek_v4() {
    return support::small_model("deepseek4")
        .set("attention.sliding_window", 128)
        .set("attention.compress_ratios", Ints{0, 4, 128, 4})
        .set("attention.compress_rope_freq_base", 160000.0)
        .set("rope.dimension_count", 32);
}
Bad joined(Bad a, const Bad& b) {
    a.insert(a.end(), b.begin(), b.end());
    return a;
}

}  // namespace

TEST_CASE("wrong types and values are refused with the key's path") {
    const std::int64_t most = std::numeric_limits<std::int64_t>::max();
    const Bad not_counts = joined(kNotNumbers, {{-1, "-1"},
                                                {1.5, "1.5"},
                                                {most, "9223372036854775807"},
                                                {~std::uint64_t(0), "18446744073709551615"},
                                                {0x1p40 + 1.0, "1099511627777"}});
    const Bad not_positive = joined(not_counts, {{0, "0"}, {0.0, "0"}});
    for (const char* key : {"context_length", "embedding_length", "full_attention_interval",
                            "rope.scaling.original_context_length", "attention.temperature_length"})
        refuses(support::small_model(), key, not_positive, "a whole number from 1 to 2^40");
    const std::string none_or_more = "a whole number from 0 to 2^40";
    refuses(support::small_model("llama4"), "expert_count", not_counts, none_or_more);
    refuses(support::small_model("dflash"), "hyper_connection.count", not_counts, none_or_more);
    for (const char* key : {"attention.sliding_window", "nextn_predict_layers", "attention.shared_kv_layers",
                            "leading_dense_block_count"})
        refuses(support::small_model(), key, not_counts, none_or_more);
    const Bad neither_count_nor_list = {{"4", "\"4\""}, {true, "true"}, {-1, "-1"}, {0.5, "0.5"}};
    for (const char* key : {"attention.head_count", "attention.head_count_kv", "attention.sliding_window_pattern"})
        refuses(support::small_model(), key, neither_count_nor_list, none_or_more);
    for (const char* key : {"attention.key_length", "attention.key_length_mla", "attention.key_length_swa",
                            "attention.value_length", "rope.dimension_count", "rope.dimension_count_swa"})
        refuses(support::small_model(), key, joined(not_positive, {{1048577, "1048577"}}),
                "a whole number from 1 to 2^20");
    refuses(support::small_model(), "block_count", joined(not_positive, {{65537, "65537"}}),
            "a whole number from 1 to 16384");

    const Bad not_factors = joined(kNotNumbers, {{0, "0"}, {-2.0, "-2"}, {5e9, "5e+09"}, {1e-10, "1e-10"}});
    for (const char* key :
         {"rope.scaling.factor", "rope.scale_linear", "rope.scaling.attn_factor", "rope.scaling.alpha",
          "rope.scaling.yarn_attn_factor", "rope.scaling.yarn_beta_fast", "rope.scaling.yarn_beta_slow"})
        refuses(support::small_model(), key, not_factors, "a number from 2^-32 to 2^32");
    refuses(support::yarn_model(), "rope.scaling.yarn_ext_factor", joined(kNotNumbers, {{1.5, "1.5"}, {5e9, "5e+09"}}),
            "a number from 0 to 1, or negative for none");
    refuses(support::yarn_model(), "rope.scaling.yarn_log_multiplier",
            joined(kNotNumbers, {{-0.1, "-0.1"}, {65537.0, "65537"}}), "a number from 0 to 2^16");
    refuses(support::small_model(), "attention.temperature_scale", joined(kNotNumbers, {{-5e9, "-5e+09"}}),
            "a number from -2^32 to 2^32");
    refuses(support::small_model(), "attention.value_scale", joined(kNotNumbers, {{-5e9, "-5e+09"}}),
            "a number from -2^32 to 2^32");
    for (const char* key : {"attention.scale", "attention.clamp_kqv"})
        refuses(support::small_model(), key, joined(kNotNumbers, {{-0.5, "-0.5"}, {5e9, "5e+09"}}),
                "a number from 0 to 2^32");
    const Bad not_parts = joined(kNotNumbers, {{-1e-6, "-1e-06"}, {1.5, "1.5"}});
    refuses(support::small_model("qwen3"), "attention.layer_norm_rms_epsilon", not_parts, "a number from 0 to 1");
    refuses(support::small_model("chameleon"), "attention.layer_norm_epsilon", not_parts, "a number from 0 to 1");
    for (const char* key : {"rope.freq_base", "rope.freq_base_swa", "attention.compress_rope_freq_base"})
        refuses(support::small_model(), key, joined(kNotNumbers, {{0.0, "0"}, {-10000.0, "-10000"}}),
                "a number above 0 and at most 2^1000");

    const Bad not_text = {{1, "1"}, {2.5, "2.5"}, {true, "true"}, {Ints{}, "an array of 0"}};
    refuses(support::small_model(), "general.architecture", not_text, "a string");
    refuses(support::small_model(), "rope.scaling.type", not_text, "a string");
    refuses(support::small_model(), "rope.scaling.type",
            {{"dynamic", "\"dynamic\""}, {"", "\"\""}, {"YARN", "\"YARN\""}}, "none, linear, yarn or longrope");
    refuses(support::small_model(), "rope.scaling.finetuned", {{1, "1"}, {"true", "\"true\""}, {1.0, "1"}},
            "true or false");
    for (const char* key : {"rope.dimension_sections", "attention.recurrent_layers"})
        refuses(support::small_model(), key, {{1, "1"}, {"x", "\"x\""}, {true, "true"}}, "a list");
    const std::string characters = "1 to 64 of the characters a-z, 0-9, -, _ and .";
    refuses(support::small_model(), "general.architecture",
            {{"", "\"\""},
             {"Llama", "\"Llama\""},
             {"a b", "\"a b\""},
             {std::string("a\n\0\x80", 4), "\"a\\x0a\\x00\\x80\""},
             {std::string(65, 'a'), "\"" + std::string(60, 'a') + "...\""}},
            characters);
}

TEST_CASE("entries of arrays are refused with their place, and arrays of a wrong length") {
    const auto refused = [](const char* key, const Ints& list) {
        return support::small_model().set(key, list).refused();
    };
    CHECK(refused("attention.head_count", {8, 8, -8, 8}) ==
          "qwen2.attention.head_count[2] is -8; it must be a whole number from 0 to 2^40.");
    CHECK(refused("rope.dimension_sections", {8, 8, 8, -1}) ==
          "qwen2.rope.dimension_sections[3] is -1; it must be a whole number from 0 to 2^40.");
    for (const char* key : {"attention.sliding_window_pattern", "attention.recurrent_layers", "attention.rope_pattern"})
        CHECK(refused(key, {1, 0, 1, 2}) == std::string("qwen2.") + key + "[3] is 2; it must be true or false.");
    for (const char* key : {"attention.head_count", "attention.head_count_kv", "attention.sliding_window_pattern",
                            "attention.recurrent_layers", "attention.rope_pattern"}) {
        CAPTURE(key);
        for (const std::size_t count : {std::size_t(0), std::size_t(3), std::size_t(5)})
            CHECK(refused(key, Ints(count, 1)) == std::string("qwen2.") + key + " has " + std::to_string(count) +
                                                      " entries; it must have one per layer (4).");
        CHECK(refused(key, Ints(65537, 1)) ==
              std::string("qwen2.") + key + " has 65537 entries; it must have at most 65536.");
        // Without the layers that predict further tokens, too.
        CHECK(support::small_model().set("nextn_predict_layers", 1).set(key, Ints(3, 1)).refused() == "(accepted)");
        CHECK(support::small_model().set("nextn_predict_layers", 1).set(key, Ints(4, 1)).refused() == "(accepted)");
        CHECK(support::small_model().set("nextn_predict_layers", 1).set(key, Ints(2, 1)).refused() != "(accepted)");
    }
    // DeepSeek-V4's list may go on.
    const GgufFile v4 = deepseek_v4();
    for (const unsigned count : {4u, 5u, 4000u})
        CHECK(v4.with("attention.compress_ratios", Ints(count, 4)).refused() == "(accepted)");
    for (const unsigned count : {0u, 3u})
        CHECK(v4.with("attention.compress_ratios", Ints(count, 4)).refused() ==
              "deepseek4.attention.compress_ratios has " + std::to_string(count) +
                  " entries; it must have one per layer (4).");
    CHECK(v4.with("attention.compress_ratios", Ints{4, 4, -4, 4}).refused() ==
          "deepseek4.attention.compress_ratios[2] is -4; it must be a whole number from 0 to 2^40.");
    CHECK(support::small_model().set("nextn_predict_layers", 4).refused() ==
          "qwen2.nextn_predict_layers is 4; it must be less than block_count (4).");
}

TEST_CASE("what is required") {
    CHECK(support::small_model().without("general.architecture").refused() ==
          "general.architecture is missing; every GGUF file needs it.");
    CHECK(support::small_model().without("block_count").refused() ==
          "qwen2.block_count is missing; every model needs it.");
    CHECK(support::small_model().without("attention.head_count").refused() ==
          "qwen2.attention.head_count is missing; architecture qwen2 needs it.");
    CHECK(support::small_model().without("embedding_length").refused() ==
          "qwen2.attention.key_length is missing; a model without embedding_length needs it.");
    CHECK(support::small_model().set("embedding_length", 513).refused() ==
          "qwen2.embedding_length is 513; without attention.key_length it must be a multiple of attention.head_count "
          "(8), and at most 2^20 times it.");
    CHECK(support::small_model()
              .set("embedding_length", Index(1) << 33)
              .refused()
              .find("qwen2.embedding_length is 8589934592;") == 0);
    CHECK(support::small_model("deepseek2").refused() ==
          "deepseek2.rope.dimension_count is missing; multi-head latent attention needs it.");
    for (const char* name : {"gemma3n", "gemma-embedding", "gemma4", "gpt-oss", "cohere2", "exaone-moe", "mimo2",
                             "gemma4-assistant", "cohere2moe", "granite_swa", "maple", "spark2_5", "step35"})
        CHECK(support::small_model(name).refused() ==
              std::string(name) + ".attention.sliding_window is missing; architecture " + name + " needs it.");
    for (const char* name : {"gemma4", "mimo2", "gemma4-assistant", "cohere2moe", "granite_swa", "maple", "spark2_5",
                             "step35", "dflash", "muse-glimmer"})
        CHECK(support::small_model(name).set("attention.sliding_window", 512).refused() ==
              std::string(name) + ".attention.sliding_window_pattern is missing; architecture " + name + " needs it.");
    for (const char* name :
         {"gemma4", "mimo2", "gemma4-assistant", "granite_swa", "maple", "spark2_5", "step35", "dflash"})
        CHECK(support::small_model(name)
                  .set("attention.sliding_window", 512)
                  .set("attention.sliding_window_pattern", 2)
                  .refused() == std::string(name) + ".attention.sliding_window_pattern is 2; it must be a list.");
    for (const char* name : {"laguna", "dots3note"})
        CHECK(support::small_model(name)
                  .set("rope.dimension_count", 32)
                  .set("attention.sliding_window", 512)
                  .set("attention.sliding_window_pattern", Ints{1, 0, 1, 0})
                  .refused() ==
              std::string(name) + ".rope.freq_base_swa is missing; architecture " + name + " needs it.");
    for (const char* name : {"bailingmoe3", "dots3note", "hy_v4"})
        CHECK(support::small_model(name).set("attention.sliding_window", 0).refused() ==
              std::string(name) + ".rope.dimension_count is missing; multi-head latent attention needs it.");
    for (const char* key : {"attention.compress_ratios", "rope.dimension_count", "attention.sliding_window"})
        CHECK(deepseek_v4().without(key).refused() ==
              std::string("deepseek4.") + key + " is missing; architecture deepseek4 needs it.");
    for (const char* name : {"qwen2vl", "qwen3vl", "qwen35", "paddleocr", "qwen3tts", "qwen4exp"})
        CHECK(support::small_model(name).refused() ==
              std::string(name) + ".rope.dimension_sections is missing; architecture " + name + " needs it.");
    CHECK(support::small_model().set("rope.scaling.type", "linear").refused() ==
          "qwen2.rope.scaling.factor is missing; rope.scaling.type linear needs it.");
    CHECK(support::yarn_model().without("rope.scaling.factor").refused() ==
          "qwen2.rope.scaling.factor is missing; rope.scaling.type yarn needs it.");
    CHECK(support::yarn_model().remove("context_length").remove("rope.scaling.original_context_length").refused() ==
          "qwen2.rope.scaling.original_context_length is missing; rope.scaling.type yarn needs it.");
    CHECK(support::small_model().remove("context_length").set("attention.temperature_scale", 0.1).refused() ==
          "qwen2.attention.temperature_length is missing; attention.temperature_scale needs it.");
    CHECK(support::refusal([] { (void)rope::read_gguf_config(nullptr); }).message ==
          "get is empty; it must be a function that finds a key.");
}

TEST_CASE("the ends of a range are in it") {
    const auto accepts = [](const std::string& key, const GgufValue& value) {
        CAPTURE(key);
        CHECK(support::small_model().set(key, value).refused() == "(accepted)");
    };
    for (const char* key : {"rope.scaling.factor", "rope.scale_linear", "rope.scaling.attn_factor"})
        for (const double end : {0x1p-32, 0x1p32}) accepts(key, end);
    for (const char* key : {"rope.freq_base", "rope.freq_base_swa"})
        for (const double end : {0x1p-1000, 0x1p1000}) accepts(key, end);
    for (const double end : {-0x1p32, 0.0, 1.0})
        CHECK(support::yarn_model().set("rope.scaling.yarn_ext_factor", end).refused() == "(accepted)");
    for (const double end : {0.0, 0x1p16})
        CHECK(support::yarn_model().set("rope.scaling.yarn_log_multiplier", end).refused() == "(accepted)");
    for (const Index end : {Index(1), Index(1) << 40}) accepts("context_length", end);
    for (const Index end : {Index(0), Index(1) << 40}) accepts("attention.sliding_window", end);
    for (const Index end : {Index(2), Index(1) << 20}) accepts("attention.key_length", end);
    for (const Index end : {Index(1), Index(16384)}) accepts("block_count", end);
    accepts("embedding_length", Index(8) << 20);
}
