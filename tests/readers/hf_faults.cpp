// SPDX-License-Identifier: MIT
// Faults that a config.json has led readers to, one test each: which features turn, with which numbers, and where in
// the file these stand. Expected are the numbers that transformers 5.24 or the models' own code use.
#include <rope/core.hpp>

#include <nlohmann/json.hpp>
#include <string>
#include <variant>
#include <vector>

#include "support/catch.hpp"
#include "support/exact/mpfr.hpp"
#include "support/readers/head_steps.hpp"
#include "support/readers/hf_files.hpp"
#include "support/readers/hf_models.hpp"

namespace {

using rope::Config;
using rope::Index;
using rope::Layout;
using rope::ModelConfig;
using support::config_of;
using support::half_split;
using support::has_frequencies_of;
using support::interleaved;
using support::is_close;
using support::Json;
using support::magnitude;
using support::only;
using support::published;
using support::read;
using support::Real;
using support::refused;
using support::shifted;
using support::warns_of;
using support::without;

/// In multi-head latent attention, 64 features of a head turn and 128 do not.
Json latent(const char* type, const Json& more = Json::object()) {
    Json j = config_of(type, {{"qk_nope_head_dim", 128}, {"qk_rope_head_dim", 64}});
    j.update(more);
    return j;
}
/// The same Config, with its slice and layout, and the frequencies of the formula.
bool is_config(const Config& got, const Config& expected) {
    return got.head_dim == expected.head_dim && got.rotary_offset == expected.rotary_offset &&
           got.layout == expected.layout && has_frequencies_of(got, expected);
}

}  // namespace

// ---- which features turn ----

TEST_CASE("latent attention: partial_rotary_factor is not applied again to qk_rope_head_dim (Mistral 4)") {
    const Json yarn = {{"rope_type", "yarn"},
                       {"rope_theta", 10000.0},
                       {"factor", 128.0},
                       {"original_max_position_embeddings", 8192},
                       {"mscale", 1.0},
                       {"mscale_all_dim", 1.0},
                       {"partial_rotary_factor", 0.5}};
    const ModelConfig got = read(without(
        latent("mistral4", {{"head_dim", 128}, {"qk_nope_head_dim", 64}, {"rope_parameters", yarn}}), "rope_theta"));
    CHECK(is_config(only(got), interleaved(64, 1e4, support::yarn(128.0, 8192))));
    const std::vector<double> w = rope::frequencies(only(got)).inv_freq;
    REQUIRE(w.size() == 32);
    CHECK(is_close(w[1], pow(Real(1e4), Real(-2.0) / Real(64.0))));
    CHECK(got.warnings.empty());
}

TEST_CASE("latent attention: partial_rotary_factor beside the keys is not applied either (DeepSeek-V3, Ling)") {
    CHECK(is_config(only(read(latent("deepseek_v3", {{"partial_rotary_factor", 0.5}}))), interleaved(64, 1e4)));
    const Json ling =
        latent("bailing_hybrid", {{"num_hidden_layers", 6}, {"head_dim", 64}, {"partial_rotary_factor", 0.5}});
    CHECK(is_config(only(read(ling)), interleaved(64, 1e4)));
}

TEST_CASE("latent attention: nor is it in the entry of a kind of layers (dots3)") {
    const Json entries = {{"indexed_attention", {{"rope_theta", 80000000.0}, {"partial_rotary_factor", 0.25}}},
                          {"sliding_attention", {{"rope_theta", 50000.0}, {"partial_rotary_factor", 0.25}}}};
    const ModelConfig got = read(
        without(latent("dots3_note_text", {{"num_hidden_layers", 5}, {"head_dim", 256}, {"rope_parameters", entries}}),
                "rope_theta"));
    REQUIRE(got.configs.size() == 2);
    CHECK(is_config(*got.layer(0), interleaved(64, 8e7)));
    CHECK(is_config(*got.layer(2), interleaved(64, 5e4)));
    CHECK(got.config_of_layer == std::vector<Index>{0, 0, 1, 1, 1});
}

TEST_CASE("the last 64 of 512 features turn in DeepSeek-V4, and frequencies are those of 64") {
    for (const Config& config : published("DeepSeek-V4-Flash").configs) {
        CHECK(config.head_dim == 512);
        CHECK(config.rotary_dim == 64);
        CHECK(config.rotary_offset == 448);
        CHECK(config.layout == Layout::interleaved);
    }
    CHECK(is_config(*published("DeepSeek-V4-Flash").layer(0), shifted(interleaved(512, 1e4, {}, 64), 448)));
}

// ---- DeepSeek-V4 ----

TEST_CASE("DeepSeek-V4 as it was published: compress_ratios has one entry more than there are layers") {
    const ModelConfig got = published("DeepSeek-V4-Flash");
    CHECK(support::file("DeepSeek-V4-Flash")["compress_ratios"].size() == 44);
    REQUIRE(got.layers() == 43);
    for (Index i = 0; i < 43; ++i) {
        CHECK(got.config_of_layer[support::size(i)] == (i < 2 ? 0 : 1));
        CHECK(got.layer_types[support::size(i)] ==
              (i < 2 ? rope::LayerType::sliding_attention : rope::LayerType::compressed_attention));
    }
    CHECK(got.layer(0)->base == 1e4);
    CHECK(std::holds_alternative<rope::schedule::Default>(got.layer(0)->schedule));
    // Compressed layers have another base and all of the scaling, but YaRN's magnitude.
    CHECK(got.layer(2)->base == 1.6e5);
    CHECK(std::holds_alternative<rope::schedule::Yarn>(got.layer(2)->schedule));
    CHECK(rope::frequencies(*got.layer(2)).attention_factor == 1.0);
    Json j = support::file("DeepSeek-V4-Flash");
    j["compress_ratios"].push_back(0);
    CHECK(refused(j) == "compress_ratios has 45 entries; it must have one per layer (43).");
}

TEST_CASE("DeepSeek-V4 as transformers writes it back: the entries are called main and compress") {
    Json j = support::file("DeepSeek-V4-Flash");
    Json types = Json::array();
    for (int i = 0; i < 43; ++i)
        types.push_back(i < 2        ? "sliding_attention"
                        : i % 2 == 0 ? "compressed_sparse_attention"
                                     : "heavily_compressed_attention");
    Json compress = j["rope_scaling"];
    compress.update(
        {{"rope_type", "yarn"}, {"rope_theta", 160000}, {"attention_factor", 1.0}, {"partial_rotary_factor", 0.125}});
    for (const char* key : {"rope_scaling", "compress_ratios", "num_nextn_predict_layers"}) j.erase(key);
    j.update({{"layer_types", types},
              {"compress_rates", {{"compressed_sparse_attention", 4}, {"heavily_compressed_attention", 128}}},
              {"partial_rotary_factor", 0.125},
              {"rope_parameters",
               {{"compress", compress},
                {"main", {{"rope_type", "default"}, {"rope_theta", 10000}, {"partial_rotary_factor", 0.125}}}}}});
    const ModelConfig got = read(j), first = published("DeepSeek-V4-Flash");
    CHECK(got.config_of_layer == first.config_of_layer);
    CHECK(got.layer_types == first.layer_types);
    for (const Index i : {0, 2}) {
        CHECK(is_config(*got.layer(i), *first.layer(i)));
        CHECK(rope::frequencies(*got.layer(i)).attention_factor == 1.0);
    }
    CHECK(got.warnings.empty());
    j["rope_parameters"].erase("compress");
    CHECK(refused(j).find("rope_parameters.compress is missing") == 0);
}

// ---- bases and parts that stand elsewhere ----

TEST_CASE("MiMo-V2: sliding layers have a base, and key heads, under keys of their own") {
    const ModelConfig got = read(config_of("mimo_v2_flash", {{"num_hidden_layers", 6},
                                                             {"head_dim", 192},
                                                             {"partial_rotary_factor", 0.334},
                                                             {"rope_theta", 5000000},
                                                             {"swa_rope_theta", 20000},
                                                             {"swa_num_attention_heads", 16},
                                                             {"swa_num_key_value_heads", 4},
                                                             {"hybrid_layer_pattern", {0, 1, 1, 0, 1, 0}}}));
    CHECK(got.config_of_layer == std::vector<Index>{0, 1, 1, 0, 1, 0});
    CHECK(is_config(*got.layer(0), half_split(192, 5e6, {}, 64)));
    CHECK(is_config(*got.layer(1), half_split(192, 2e4, {}, 64)));
    CHECK(got.layer_types[0] == rope::LayerType::full_attention);
    CHECK(got.layer_types[1] == rope::LayerType::sliding_attention);
    CHECK((got.heads[0].q == 8 && got.heads[0].k == 2));
    CHECK((got.heads[1].q == 16 && got.heads[1].k == 4));
    CHECK(got.warnings.empty());
}

TEST_CASE("DBRX: the base, key heads and the clip stand in attn_config") {
    const ModelConfig got = read({{"model_type", "dbrx"},
                                  {"d_model", 6144},
                                  {"n_heads", 48},
                                  {"n_layers", 2},
                                  {"max_seq_len", 32768},
                                  {"attn_config", {{"clip_qkv", 8}, {"kv_n_heads", 8}, {"rope_theta", 500000}}}});
    CHECK(is_config(only(got), half_split(128, 5e5)));
    CHECK((got.heads[0].q == 48 && got.heads[0].k == 8 && got.heads[0].v == 8));
    CHECK(got.max_position_embeddings == 32768);
    REQUIRE(got.steps.size() == 2);
    CHECK(support::step(got.steps[1].v, rope::HeadStepKind::clamp).number == 8.0);
    // transformers takes 10000 all the same, and whoever compares with it must hear of that.
    REQUIRE(got.warnings.size() == 1);
    CHECK(warns_of(got, "attn_config.rope_theta was used"));
}

TEST_CASE("Step-3.5: base and part are lists with one number per layer, and only some kinds of layers are scaled") {
    Json j = config_of(
        "step3p5",
        {{"num_nextn_predict_layers", 1},
         {"num_attention_heads", 64},
         {"num_attention_groups", 8},
         {"head_dim", 128},
         {"layer_types",
          {"full_attention", "sliding_attention", "sliding_attention", "full_attention", "sliding_attention"}},
         {"rope_theta", {5e6, 1e4, 1e4, 5e6, 1e4}},
         {"partial_rotary_factors", {0.5, 1.0, 1.0, 0.5, 1.0}},
         {"rope_scaling",
          {{"rope_type", "llama3"},
           {"factor", 2.0},
           {"original_max_position_embeddings", 131072},
           {"low_freq_factor", 1.0},
           {"high_freq_factor", 32.0}}},
         {"yarn_only_types", Json::array({"full_attention"})},
         {"attention_other_setting",
          {{"attention_type", "sliding_attention"},
           {"num_attention_heads", 96},
           {"num_attention_groups", 4},
           {"head_dim", 128}}}});
    j.erase("num_key_value_heads");
    const ModelConfig got = read(j);
    CHECK(got.config_of_layer == std::vector<Index>{0, 1, 1, 0});
    CHECK(is_config(*got.layer(0), half_split(128, 5e6, rope::schedule::Llama3{2.0, 1.0, 32.0, 131072}, 64)));
    CHECK(is_config(*got.layer(1), half_split(128, 1e4)));
    CHECK((got.heads[0].q == 64 && got.heads[0].k == 8));
    CHECK((got.heads[1].q == 96 && got.heads[1].k == 4));
    CHECK(got.warnings.empty());
    j["rope_theta"] = {5e6, 1e4};
    CHECK(refused(j) == "rope_theta has 2 entries; it must have one per layer (4).");
    j["rope_theta"] = 1e4;
    j["partial_rotary_factors"] = {0.5, 1.0, 1.0, 0.5, 1.0, 1.0};
    CHECK(refused(j) == "partial_rotary_factors has 6 entries; it must have one per layer (4).");
}

TEST_CASE("Nomic's file says dynamic NTK by one factor, and the layout by a key") {
    const Json nomic = {{"model_type", "nomic_bert"},
                        {"n_embd", 768},
                        {"n_head", 12},
                        {"n_layer", 2},
                        {"n_positions", 8192},
                        {"rotary_emb_base", 1000},
                        {"rotary_emb_fraction", 1.0},
                        {"rotary_emb_interleaved", false},
                        {"rotary_emb_scale_base", nullptr}};
    CHECK(is_config(only(read(nomic)), half_split(64, 1e3)));
    Json j = nomic;
    j["rotary_scaling_factor"] = 2;
    j["max_trained_positions"] = 2048;
    const Config expected = half_split(64, 1e3, rope::schedule::DynamicNtk{2.0, 2048});
    CHECK(has_frequencies_of(only(read(j)), expected, 2048));
    CHECK(has_frequencies_of(only(read(j)), expected, 8192));
    CHECK_FALSE(has_frequencies_of(only(read(j)), half_split(64, 1e3), 8192));
    j["rotary_emb_interleaved"] = true;
    CHECK(only(read(j)).layout == Layout::interleaved);
    CHECK(read(j).warnings.empty());
}

TEST_CASE(
    "ChatGLM-6B's two positions per token are refused, and a rope_ratio that may mean two things is warned about") {
    Json j = support::file("GLM-4-9b-chat");
    CHECK(warns_of(
        read(j), "rope_ratio multiplied the base, which is right for ChatGLM3 and GLM-4. If the model is a ChatGLM2"));
    j["rope_ratio"] = 1;
    CHECK(read(j).warnings.empty());
    j["position_encoding_2d"] = true;
    CHECK(refused(j).find("position_encoding_2d is true: each half of a head is rotated by a position of its own") ==
          0);
    j["position_encoding_2d"] = false;
    CHECK(read(j).warnings.empty());
}

// ---- axes ----

TEST_CASE("M-RoPE: how axes share the pairs is a matter of the model's type, and so are sections that are left out") {
    struct Case {
        const char* type;
        Index head_dim, rotary_dim;
        std::vector<Index> sections;
        bool is_interleaved;
    };
    for (const Case& c :
         {Case{"qwen2_vl_text", 128, 128, {16, 24, 24}, false}, Case{"qwen2_5_vl_text", 128, 128, {16, 24, 24}, false},
          Case{"qwen2_5_omni_text", 128, 128, {16, 24, 24}, false}, Case{"qwen3_vl_text", 128, 128, {24, 20, 20}, true},
          Case{"qwen3_omni_moe_text", 128, 128, {24, 20, 20}, true}, Case{"qwen3_5_text", 256, 64, {11, 11, 10}, true},
          Case{"glm4v_text", 128, 64, {8, 12, 12}, false}, Case{"paddleocr_vl_text", 128, 128, {16, 24, 24}, false}}) {
        INFO(c.type);
        const double part = static_cast<double>(c.rotary_dim) / static_cast<double>(c.head_dim);
        Json j = config_of(c.type, {{"head_dim", c.head_dim}, {"partial_rotary_factor", part}});
        const auto is_right = [&](const ModelConfig& got) {
            return got.axis_map.axes == 3 &&
                   got.axis_map.axis_of ==
                       (c.is_interleaved ? rope::mrope_interleaved(c.sections) : rope::mrope_sections(c.sections))
                           .axis_of;
        };
        CHECK(is_right(read(j)));
        CHECK(warns_of(read(j), "rope_parameters.mrope_section is missing; that of model_type"));
        j["rope_scaling"] = {{"rope_type", "default"}, {"mrope_section", c.sections}};
        CHECK(is_right(read(j)));
        CHECK(read(j).warnings.empty());
    }
}

TEST_CASE("M-RoPE: mrope_interleaved false in a file of Qwen3-VL is not used, and not dropped in silence") {
    Json j = config_of("qwen3_vl_text", {{"head_dim", 128}});
    j["rope_scaling"] = {{"rope_type", "default"}, {"mrope_section", {24, 20, 20}}, {"mrope_interleaved", false}};
    CHECK(read(j).axis_map.axis_of == rope::mrope_interleaved({24, 20, 20}).axis_of);
    CHECK(warns_of(read(j), "rope_scaling.mrope_interleaved was not used"));
    j["model_type"] = "qwen2_vl_text";
    j["rope_scaling"] = {{"type", "mrope"}, {"mrope_section", {16, 24, 24}}, {"mrope_interleaved", true}};
    CHECK(read(j).axis_map.axis_of == rope::mrope_sections({16, 24, 24}).axis_of);
    CHECK(warns_of(read(j), "rope_scaling.mrope_interleaved was not used"));
    // Where the type is not known, it counts.
    j["model_type"] = "brand_new_vl";
    CHECK(read(j).axis_map.axis_of == rope::mrope_interleaved({16, 24, 24}).axis_of);
    j["rope_scaling"].erase("mrope_interleaved");
    CHECK(read(j).axis_map.axis_of == rope::mrope_sections({16, 24, 24}).axis_of);
    j["rope_scaling"]["interleaved"] = true;
    CHECK(read(j).axis_map.axis_of == rope::mrope_interleaved({16, 24, 24}).axis_of);
}

TEST_CASE("M-RoPE: Ernie 4.5 VL alternates height and width, and time comes last") {
    Json j = config_of("ernie4_5_vl_moe_text");
    const auto is_right = [&](const ModelConfig& got) {
        if (got.axis_map.axis_of.size() != 64 || got.axis_map.axes != 3) return false;
        for (std::size_t i = 0; i < 64; ++i)
            if (got.axis_map.axis_of[i] != (i >= 44 ? 0 : i % 2 == 0 ? 1 : 2)) return false;
        return true;
    };
    CHECK(is_right(read(j)));
    CHECK(warns_of(read(j), "was taken, [22, 22, 20]"));
    j["rope_scaling"] = {{"type", "default"}, {"mrope_section", {22, 22, 20}}};
    CHECK(is_right(read(j)));
    CHECK(read(j).axis_map.axis_of == rope::mrope_alternating({22, 22, 20}).axis_of);
    j["rope_scaling"]["mrope_section"] = {22, 20, 22};
    CHECK(refused(j) ==
          "rope_scaling.mrope_section has 3 sections with a sum of 64; there must be 3, the first two of which are "
          "equal, with as many pairs as rotate (64).");
}

TEST_CASE("M-RoPE: sections of the type that do not fit the pairs are not taken") {
    const ModelConfig got = read(config_of("qwen2_vl_text", {{"head_dim", 64}}));
    CHECK(got.axis_map.axes == 1);
    CHECK(warns_of(got, "is not for 32 pairs, so positions of several axes are not known"));
    // Where every third pair is due to an axis, they do.
    CHECK(read(config_of("qwen3_vl_text", {{"head_dim", 64}})).axis_map.axis_of ==
          rope::mrope_interleaved({11, 11, 10}).axis_of);
}

// ---- direction, and factors that were learned ----

TEST_CASE("nanochat turns backwards") {
    const ModelConfig got = read(config_of("nanochat"));
    CHECK(only(got).is_reversed);
    const std::vector<double> w = rope::frequencies(only(got)).inv_freq;
    REQUIRE(w.size() == 64);
    for (std::size_t i = 0; i < 64; ++i)
        CHECK(is_close(-w[i], pow(Real(1e4), Real::integer(-2 * static_cast<Index>(i)) / Real(128.0))));
    for (const char* other : {"llama", "brand_new"}) CHECK_FALSE(only(read(config_of(other))).is_reversed);
}

TEST_CASE("Mistral Large 4 learned a factor for every frequency, which the file does not say") {
    const ModelConfig got = read(latent("mistral_large4_text", {{"kv_source_layers", {0, 1, 1, 3}}}));
    CHECK(only(got).has_log_scale);
    CHECK(only(got).log_scale.empty());
    CHECK(rope::frequencies(only(got)).lacks_log_scale);
    CHECK(warns_of(got, "Config::log_scale must be set before any table is made"));
    CHECK(got.config_of_layer == std::vector<Index>{0, 0, 0, -1});
    for (const char* other : {"deepseek_v3", "mistral4"}) CHECK_FALSE(only(read(latent(other))).has_log_scale);
}

TEST_CASE("use_mla false: DeepSeek-OCR has Llama's attention") {
    const Json j = {{"model_type", "deepseek_v2"},
                    {"num_hidden_layers", 2},
                    {"num_attention_heads", 10},
                    {"hidden_size", 1280},
                    {"use_mla", false},
                    {"qk_rope_head_dim", 0},
                    {"qk_nope_head_dim", 0},
                    {"max_position_embeddings", 8192},
                    {"rope_theta", 10000.0}};
    const ModelConfig m = read(j);
    CHECK(has_frequencies_of(only(m), half_split(128, 1e4)));
    CHECK(only(m).layout == Layout::half_split);
    CHECK_FALSE(m.reference_uses_other_layout);
}

TEST_CASE("Qwen3-TTS: the talker's scaling says that axes take turns") {
    const ModelConfig m = read(
        {{"model_type", "qwen3_tts"},
         {"talker_config",
          {{"model_type", "qwen3_tts_talker"},
           {"num_hidden_layers", 2},
           {"num_attention_heads", 16},
           {"num_key_value_heads", 8},
           {"hidden_size", 2048},
           {"head_dim", 128},
           {"max_position_embeddings", 32768},
           {"rope_theta", 1000000},
           {"rope_scaling", {{"interleaved", true}, {"mrope_section", {24, 20, 20}}, {"rope_type", "default"}}}}}});
    CHECK(m.path == "talker_config");
    CHECK(m.axis_map.axis_of == rope::mrope_interleaved({24, 20, 20}).axis_of);
    CHECK(only(m).layout == Layout::half_split);
    CHECK(m.warnings.empty());
}

TEST_CASE("a base beside a type that has a default schedule: the schedule is not taken, and that is said") {
    const ModelConfig m = read({{"model_type", "ministral3"},
                                {"num_hidden_layers", 2},
                                {"num_attention_heads", 8},
                                {"hidden_size", 1024},
                                {"head_dim", 128},
                                {"max_position_embeddings", 16384},
                                {"rope_theta", 1e6}});
    CHECK(has_frequencies_of(only(m), half_split(128, 1e6)));
    CHECK(support::warns_of(m,
                            "rope_parameters is missing; that of model_type \"ministral3\" was not taken, because "
                            "rope_theta is there."));
}
