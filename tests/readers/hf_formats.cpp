// SPDX-License-Identifier: MIT
// Words and formats that a model's makers use for themselves: rope_types of one family, Mistral's and Llama's
// params.json, layers of linear attention that rotate, the axes of Ming and openPangu. Expected are the numbers of the
// models' own code, or of vLLM 0.33 and SGLang 0.5.23 where that is all there is.
#include <rope/core.hpp>
#include <rope/gguf_config.hpp>

#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "support/catch.hpp"
#include "support/exact/mpfr.hpp"
#include "support/readers/head_steps.hpp"
#include "support/readers/hf_files.hpp"
#include "support/readers/hf_models.hpp"

namespace {

using rope::Index;
using rope::LayerType;
using rope::Layout;
using rope::ModelConfig;
using support::config_of;
using support::has_frequencies_of;
using support::is_close;
using support::Json;
using support::magnitude;
using support::only;
using support::read;
using support::Real;
using support::refused;
using support::warns_of;
using support::without;

using Warnings = std::vector<std::string>;

std::vector<int> axes(const ModelConfig& m) { return {m.axis_map.axis_of.begin(), m.axis_map.axis_of.end()}; }

/// Mistral's file: its own names, and no model_type.
Json params_json(const Json& more = Json::object()) {
    Json j = {{"dim", 5120},          {"n_layers", 2},
              {"head_dim", 128},      {"hidden_dim", 16384},
              {"n_heads", 32},        {"n_kv_heads", 8},
              {"rope_theta", 1e6},    {"norm_eps", 1e-6},
              {"vocab_size", 131072}, {"max_position_embeddings", 393216}};
    j.update(more);
    return j;
}
const Json kMistralYarn = {{"factor", 48}, {"beta", 16}, {"alpha", 2}, {"original_max_position_embeddings", 8192}};

}  // namespace

// ---- words ----

TEST_CASE("ntk, as GTE's models mean it, slows the fastest pair, too") {
    const Json scaling = {{"type", "ntk"}, {"factor", 8.0}};
    for (const char* type : {"gte", "new"}) {
        Json j = config_of(type, {{"hidden_size", 512}, {"rope_theta", 20000}, {"rope_scaling", scaling}});
        ModelConfig m = read(j);
        CHECK(m.warnings.empty());
        std::vector<double> w = rope::frequencies(only(m)).inv_freq;
        REQUIRE(w.size() == 32);
        CHECK(w[0] == Approx(0.93708382).epsilon(1e-8));
        CHECK(w[1] == Approx(0.64439133).epsilon(1e-8));
        CHECK(w[31] == Approx(8.517e-6).epsilon(1e-4));
        for (std::size_t i = 0; i < w.size(); ++i) {  // (base f)^(-2i/d) / f^(2/d)
            const Real power = Real(-2.0) * Real(static_cast<double>(i)) / Real(64.0);
            CHECK(is_close(w[i], pow(Real(160000.0), power) / pow(Real(8.0), Real(1.0) / Real(32.0))));
        }
        j["rope_scaling"]["mixed_b"] = 0.625;
        w = rope::frequencies(only(read(j))).inv_freq;
        const Real a = log(Real(8.0)) / pow(Real(32.0), Real(0.625));
        for (std::size_t i = 0; i < w.size(); ++i) {  // base^(-2i/d) / exp(a (i + 1)^mixed_b)
            const Real place = Real(static_cast<double>(i));
            const Real usual = pow(Real(20000.0), Real(-2.0) * place / Real(64.0));
            CHECK(is_close(w[i], usual / exp(a * pow(place + Real(1.0), Real(0.625)))));
        }
        // A factor that shortens nothing changes nothing.
        j["rope_scaling"]["factor"] = 0.5;
        CHECK(rope::frequencies(only(read(j))).inv_freq[0] == 1.0);
    }
    // The key is not known from other types, and says the same there.
    CHECK(std::get<rope::schedule::Ntk>(
              only(read(config_of("llama", {{"rope_scaling", {{"type", "ntk"}, {"factor", 8}, {"mixed_b", 1}}}})))
                  .schedule)
              .mixed_b == 1.0);
}

TEST_CASE("telechat3-yarn has 0.07 in place of 0.1, whichever type says it") {
    const Json scaling = {{"type", "telechat3-yarn"},
                          {"rope_type", "telechat3-yarn"},
                          {"factor", 4.0},
                          {"original_max_position_embeddings", 8192}};
    for (const char* type : {"telechat3", "llama"})
        CHECK(
            is_close(magnitude(config_of(type, {{"rope_scaling", scaling}})), Real(1.0) + Real(0.07) * log(Real(4.0))));
}

TEST_CASE("video_rope: h and w alternate, then t, whose section comes first") {
    // As Ming has it: sections beside rope_scaling, in the language model or around it.
    Json language = config_of("bailing_moe_v2", {{"head_dim", 128}, {"partial_rotary_factor", 0.5}});
    language["rope_scaling"] = {{"factor", nullptr}, {"type", "video_rope"}};
    std::vector<int> expected;
    for (int i = 0; i < 24; ++i) expected.push_back(1 + i % 2);
    expected.insert(expected.end(), 8, 0);

    Json within = language, around = {{"model_type", "bailingmm_moe_v2_lite"}, {"mrope_section", {8, 12, 12}}};
    within["mrope_section"] = {8, 12, 12};
    around["llm_config"] = language;
    for (const Json& j : {within, around}) {
        CHECK(axes(read(j)) == expected);
        CHECK(read(j).warnings.empty());
    }
    // By default they are Ming's.
    CHECK(axes(read(language)) == expected);
    CHECK(read(language).warnings ==
          Warnings{"rope_scaling.mrope_section is missing; that of Ming was taken, [8, 12, 12]."});
    within["mrope_section"] = {8, 10, 14};
    CHECK(refused(within) ==
          "mrope_section has 3 sections with a sum of 32; there must be 3, the last two of which are "
          "equal, with as many pairs as rotate (32).");
    // Sections in two places must be the same.
    language["rope_scaling"]["mrope_section"] = {8, 12, 12};
    around["llm_config"] = language;
    around["mrope_section"] = {16, 8, 8};
    CHECK(read(around).warnings ==
          Warnings{"mrope_section was not used: llm_config.rope_scaling.mrope_section is there, too."});
    // SGLang and vLLM mark the same in words of their own.
    for (const Json& scaling : {Json{{"rope_type", "default"}, {"video_rope", true}, {"mrope_section", {8, 12, 12}}},
                                Json{{"rope_type", "bailing_mrope"}, {"mrope_section", {8, 12, 12}}}}) {
        language["rope_scaling"] = scaling;
        CHECK(axes(read(language)) == expected);
    }
}

TEST_CASE("openPangu's axes are apportioned; of an unknown type, axes in turn are a guess and said to be one") {
    Json j = config_of("openpangu_vl_text", 2);
    j["rope_scaling"] = {{"rope_type", "default"}, {"mrope_section", {24, 20, 20}}, {"mrope_interleaved", true}};
    CHECK(read(j).axis_map.axis_of == rope::mrope_apportioned({24, 20, 20}).axis_of);
    CHECK(read(j).warnings.empty());
    j["model_type"] = "brand_new_vl";
    CHECK(read(j).axis_map.axis_of == rope::mrope_interleaved({24, 20, 20}).axis_of);
    CHECK(warns_of(read(j), "rope_scaling.mrope_interleaved is true, and t, h and w were taken alternately"));
    j["rope_scaling"]["rope_type"] = "openpangu";
    CHECK(read(j).axis_map.axis_of == rope::mrope_apportioned({24, 20, 20}).axis_of);
    CHECK_FALSE(warns_of(read(j), "in turn"));
    CHECK(read(config_of("openpangu_v2", 2)).configs[0].head_dim == 64);  // latent, and half-split
    CHECK(read(config_of("openpangu_v2", 2)).configs[0].layout == Layout::half_split);
}

// ---- params.json ----

TEST_CASE("params.json: Mistral's names for heads, YaRN and the temperature") {
    const ModelConfig m = read(params_json(
        {{"yarn", kMistralYarn}, {"llama_4_scaling", {{"beta", 0.1}, {"original_max_position_embeddings", 8192}}}}));
    CHECK(m.warnings.empty());
    CHECK(m.layers() == 2);
    CHECK((m.heads[1].q == 32 && m.heads[1].k == 8 && m.heads[1].v == 8));
    CHECK(m.max_position_embeddings == 393216);
    rope::Config expected = {128};
    expected.base = 1e6;
    expected.schedule = support::yarn(48.0, 8192, 16.0);
    std::get<rope::schedule::Yarn>(expected.schedule).beta_slow = 2.0;
    CHECK(has_frequencies_of(only(m), expected));
    CHECK(only(m).layout == Layout::interleaved);  // the weights beside such a file are those of the original code
    CHECK(is_close(rope::frequencies(only(m)).attention_factor, Real(1.0) + Real(0.1) * log(Real(48.0))));
    CHECK((m.attention_temperature.scale == 0.1 && m.attention_temperature.period == 8192.0));
    CHECK(m.attention_temperature.on_layers_with_rope);

    Json yarn = kMistralYarn;
    yarn["apply_scale"] = false;
    CHECK(magnitude(params_json({{"yarn", yarn}})) == 1.0);
    yarn.erase("factor");
    CHECK(refused(params_json({{"yarn", yarn}})) == "yarn.factor is missing; rope_type yarn needs it.");
    yarn = kMistralYarn;
    yarn["gamma"] = 3;
    CHECK(read(params_json({{"yarn", yarn}})).warnings == Warnings{"yarn.gamma is not understood, and was not used."});
    CHECK(refused(params_json({{"llama_4_scaling", {{"beta", 0.1}}}})) ==
          "llama_4_scaling.original_max_position_embeddings is missing; llama_4_scaling needs it.");
    // Latent attention: DeepSeek's magnitude, of which the softmax has the square.
    const Json latent = {{"qk_rope_head_dim", 64}, {"qk_nope_head_dim", 128}, {"yarn", kMistralYarn}};
    CHECK(magnitude(params_json(latent)) == 1.0);
    CHECK(read(params_json(latent)).softmax_scale_factor > 1.9);
    Json unscaled = latent;
    unscaled["yarn"]["apply_scale"] = false;
    CHECK(read(params_json(unscaled)).softmax_scale_factor == 1.0);
}

TEST_CASE("params.json: windows layer by layer, and Llama's own schedule") {
    const ModelConfig m = read(params_json({{"n_layers", 4}, {"sliding_window", {nullptr, 4096}}}));
    for (const Index i : {0, 1, 2, 3})
        CHECK(m.layer_types[support::size(i)] ==
              (i % 2 == 0 ? LayerType::full_attention : LayerType::sliding_attention));
    const ModelConfig slides = read(params_json({{"sliding_window", 4096}}));  // Mistral-7B-v0.1
    CHECK(slides.warnings.empty());
    for (const LayerType type : slides.layer_types) CHECK(type == LayerType::sliding_attention);

    // Llama 3.1 and 3.2 differ in a number that their files leave out.
    const Json llama =
        without(params_json({{"use_scaled_rope", true}, {"rope_theta", 5e5}}), "max_position_embeddings");
    rope::Config expected = {128};
    expected.base = 5e5;
    expected.schedule = rope::schedule::Llama3();
    CHECK(has_frequencies_of(only(read(llama)), expected));
    CHECK(read(llama).warnings ==
          Warnings{"rope_scaling_factor is missing; 8 was taken, which Llama 3.1 has; Llama 3.2 "
                   "has 32."});
    Json newer = llama;
    newer["rope_scaling_factor"] = 32;
    CHECK(read(newer).warnings.empty());
    CHECK_FALSE(has_frequencies_of(only(read(newer)), expected));
}

TEST_CASE("params.json: the names of transformers within yarn, and a vision encoder beside the language model") {
    const Json yarn = {{"factor", 48}, {"beta_fast", 16}, {"beta_slow", 2}, {"original_max_position_embeddings", 8192}};
    const ModelConfig m =
        read(params_json({{"yarn", yarn}, {"vision_encoder", {{"rope_theta", 10000.0}, {"image_size", 1024}}}}));
    CHECK(m.warnings.empty());
    CHECK(has_frequencies_of(only(m), only(read(params_json({{"yarn", kMistralYarn}})))));
}

TEST_CASE("params.json: keys that are switched off or overruled say so, and DeepSeek's own files are none") {
    CHECK(read(params_json({{"rope_scaling_factor", 32}})).warnings ==
          Warnings{"rope_scaling_factor was not used: use_scaled_rope is not true."});
    CHECK(read(params_json({{"yarn", kMistralYarn}, {"rope_scaling", {{"type", "linear"}, {"factor", 2}}}})).warnings ==
          Warnings{"yarn was not used: rope_scaling is there, too."});
    CHECK(read(params_json({{"clip_qkv", 8}})).warnings ==
          Warnings{"clip_qkv was not used: the code of params.json files does not read it."});
    CHECK(read(params_json({{"nope_layer_interval", 2}, {"attn_temperature_tuning", true}, {"attn_scale", 0.2}}))
              .attention_temperature.scale == 0.2);
    for (const char* key : {"n_routed_experts", "original_seq_len"})
        CHECK(refused(params_json({{key, 256}})) ==
              std::string(key) +
                  " is a key of DeepSeek's own files, which are not read: take the config.json of the model.");
}

TEST_CASE("params.json of Llama 4: every fourth layer without RoPE, chunks, a norm after the rotation") {
    const Json more = {{"n_layers", 8},
                       {"norm_eps", 1e-5},
                       {"rope_theta", 5e5},
                       {"nope_layer_interval", 4},
                       {"use_qk_norm", true},
                       {"attention_chunk_size", 8192},
                       {"use_scaled_rope", true},
                       {"rope_scaling_factor", 16},
                       {"rope_high_freq_factor", 1}};
    const ModelConfig m = read(params_json(more));
    CHECK(m.warnings.empty());
    rope::Config expected = {128};
    expected.base = 5e5;
    expected.schedule = rope::schedule::Llama3{16.0, 1.0, 1.0, 8192};
    for (const Index i : {0, 1, 2, 3, 4, 5, 6, 7}) {
        const bool rotates = i % 4 != 3;
        const rope::HeadSteps& steps = m.steps[support::size(i)];
        CHECK((m.layer(i) != nullptr) == rotates);
        CHECK(m.layer_types[support::size(i)] == (rotates ? LayerType::chunked_attention : LayerType::full_attention));
        CHECK(support::order_of(steps.q) == (rotates ? "rn" : ""));
        if (!rotates) continue;
        const rope::HeadNorm norm = support::norm(steps.q);
        CHECK((norm.kind == rope::NormKind::rms && norm.weight == rope::NormWeight::none && norm.eps == 1e-5));
        CHECK(has_frequencies_of(*m.layer(i), expected));
        CHECK(m.layer(i)->layout == Layout::interleaved);
    }
    CHECK(m.attention_temperature.scale == 0.0);  // the code has it off unless the file says otherwise

    Json other = more;
    other["attn_temperature_tuning"] = true;
    CHECK((read(params_json(other)).attention_temperature.scale == 0.1));
    other.erase("use_qk_norm");
    other.erase("attention_chunk_size");
    CHECK(read(params_json(other)).layer_types[0] == LayerType::full_attention);
    CHECK(support::order_of(read(params_json(other)).steps[0].q) == "r");
    // The numbers that Llama 4's code takes where the file has none.
    other.erase("rope_scaling_factor");
    other.erase("rope_high_freq_factor");
    CHECK(has_frequencies_of(*read(params_json(other)).layer(0), expected));
    CHECK(read(params_json(other)).warnings ==
          Warnings{"rope_scaling_factor is missing; 16 was taken, which Llama 4's code takes."});
}

// ---- layers of linear attention that rotate ----

TEST_CASE("Ring-linear: layers of linear attention rotate, too, unless linear_rope is false") {
    Json j = config_of("bailing_moe_linear", 10, {{"layer_group_size", 4}, {"partial_rotary_factor", 0.5}});
    const ModelConfig m = read(j);
    CHECK(m.warnings.empty());
    for (const Index i : {0, 1, 2, 3, 4, 5, 6, 7, 8, 9}) {  // the rest that fills no group attends in full
        const bool is_full = i == 3 || i == 7 || i >= 8;
        CHECK(m.layer_types[support::size(i)] == (is_full ? LayerType::full_attention : LayerType::linear_attention));
        CHECK((m.layer(i) != nullptr && m.layer(i)->rotary_dim == 64));
        CHECK(m.heads[support::size(i)].k == (is_full ? 2 : 8));
        CHECK(support::norm(m.steps[support::size(i)].q).kind == rope::NormKind::rms);
    }
    j["linear_rope"] = false;
    CHECK(read(j).layer(0) == nullptr);
    CHECK(read(j).layer_types[0] == LayerType::no_attention);
    CHECK(read(j).layer(3) != nullptr);
}

TEST_CASE("Ring-2.5: latent layers are interleaved, linear ones half-split, over a part of larger heads") {
    const Json j = config_of("bailing_moe_v2_5", 8,
                             {{"layer_group_size", 8},
                              {"partial_rotary_factor", 0.5},
                              {"qk_rope_head_dim", 64},
                              {"qk_nope_head_dim", 128},
                              {"head_dim", 96},
                              {"rope_interleave", true}});
    const ModelConfig m = read(j);
    CHECK(m.warnings.empty());
    REQUIRE((m.layer(0) != nullptr && m.layer(7) != nullptr));
    CHECK((m.layer(0)->head_dim == 96 && m.layer(0)->rotary_dim == 48 && m.layer(0)->layout == Layout::half_split));
    CHECK((m.layer(7)->head_dim == 64 && m.layer(7)->rotary_dim == 0 && m.layer(7)->layout == Layout::interleaved));
    CHECK((m.heads[0].k == 8 && m.heads[7].k == 1));
    CHECK((support::order_of(m.steps[0].q) == "nr" && support::order_of(m.steps[7].q) == "r"));
    CHECK(is_close(m.steps[0].softmax_scale, pow(Real(96.0), Real(-0.5))));
    // A function that no step describes stands before the norm.
    Json silu = j;
    silu["linear_silu"] = true;
    CHECK(read(silu).steps[0].has_other_steps);
}

// ---- both readers of one model ----

TEST_CASE("YaRN's magnitude of 1 is an answer in config.json and in GGUF") {
    const Json full = {{"rope_type", "yarn"},
                       {"rope_theta", 5e5},
                       {"factor", 64.0},
                       {"original_max_position_embeddings", 4096},
                       {"attention_factor", 1.0}};
    Json j = without(config_of("laguna", 1, {{"layer_types", {"full_attention"}}}), "rope_theta");
    j["rope_parameters"] = {{"original_max_position_embeddings", 4096}, {"full_attention", full}};
    CHECK(magnitude(j) == 1.0);
    CHECK(read(j).warnings.empty());  // a length that stands twice

    using I = std::int64_t;
    const std::map<std::string, rope::GgufValue> keys = {{"general.architecture", std::string("laguna")},
                                                         {"laguna.block_count", I(1)},
                                                         {"laguna.context_length", I(16384)},
                                                         {"laguna.attention.head_count", I(8)},
                                                         {"laguna.attention.head_count_kv", I(2)},
                                                         {"laguna.attention.key_length", I(128)},
                                                         {"laguna.attention.sliding_window", I(512)},
                                                         {"laguna.rope.dimension_count", I(128)},
                                                         {"laguna.rope.freq_base", 500000.0},
                                                         {"laguna.rope.scaling.type", std::string("yarn")},
                                                         {"laguna.rope.scaling.factor", 64.0},
                                                         {"laguna.rope.scaling.original_context_length", I(4096)},
                                                         {"laguna.rope.scaling.yarn_attn_factor", 1.0}};
    const ModelConfig m = rope::read_gguf_config([&](std::string_view key) -> std::optional<rope::GgufValue> {
        const auto at = keys.find(std::string(key));
        return at == keys.end() ? std::nullopt : std::optional<rope::GgufValue>(at->second);
    });
    CHECK(rope::frequencies(m.configs[0]).attention_factor == 1.0);
    CHECK(warns_of(m, "laguna.rope.scaling.yarn_attn_factor is 1 and was taken for the whole magnitude"));
}
