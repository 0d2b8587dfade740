// SPDX-License-Identifier: MIT
// Where implementations went wrong on the numbers in models' configuration files, one test each. The files are those of
// tests/readers/models, or changed in the one place that matters.
#include <rope/core.hpp>

#include <cmath>
#include <nlohmann/json.hpp>
#include <string>
#include <variant>
#include <vector>

#include "support/catch.hpp"
#include "support/exact/mpfr.hpp"
#include "support/readers/hf_files.hpp"
#include "support/readers/hf_models.hpp"

namespace {

using rope::Config;
using rope::Index;
using rope::ModelConfig;
using support::file;
using support::half_split;
using support::has_frequencies_of;
using support::is_close;
using support::Json;
using support::magnitude;
using support::magnitude_of_yarn;
using support::only;
using support::published;
using support::read;
using support::Real;
using support::warns_of;

/// A small Llama, and its rope_scaling.
Json llama(const Json& scaling) {
    return {{"model_type", "llama"},  {"num_hidden_layers", 2},           {"num_attention_heads", 4},
            {"hidden_size", 512},     {"max_position_embeddings", 16384}, {"rope_theta", 10000.0},
            {"rope_scaling", scaling}};
}
Json yarn(const Json& more = Json::object()) {
    Json scaling = {{"rope_type", "yarn"}, {"factor", 4.0}, {"original_max_position_embeddings", 4096}};
    scaling.update(more);
    return scaling;
}

}  // namespace

// ---- the base ----

TEST_CASE("a base that the file leaves out is never taken in silence") {
    for (const support::PublishedModel& model : support::published_models()) {
        if (model.name == "GPT-J-6B" || model.name == "GLM-4-9b-chat") continue;  // no key says it, ever
        Json j = file(model.name);
        Json& text = j.contains("text_config") ? j["text_config"] : j;
        for (const char* key : {"rope_theta", "rotary_emb_base", "global_rope_theta", "local_rope_theta"}) {
            text.erase(key);
            if (!text.contains("rope_parameters")) continue;
            text["rope_parameters"].erase(key);
            for (Json& entry : text["rope_parameters"])
                if (entry.is_object()) entry.erase(key);
        }
        INFO(model.name);
        const ModelConfig config = read(j);
        CHECK(warns_of(config, "is missing; "));
        CHECK(warns_of(config, "was taken, the default of model_type \"" + config.model_type + "\""));
    }
}

TEST_CASE("the base of a model is its own: the default of its type, not 10000 for all") {
    Json j = file("gpt-oss-20b");
    j.erase("rope_theta");
    CHECK(only(read(j)).base == 150000.0);
    CHECK(warns_of(read(j), "rope_theta is missing; 150000 was taken"));
}

TEST_CASE("ChatGLM's rope_ratio is how many times 10000 its base is") {
    Json j = file("GLM-4-9b-chat");
    j["rope_ratio"] = 10000;  // the model for a million tokens
    CHECK(only(read(j)).base == 1e8);
    j.erase("rope_ratio");
    CHECK(only(read(j)).base == 1e4);
}

TEST_CASE("the base of a vision tower is not that of the language model") {
    CHECK(file("Llama-4-Scout-17B-16E")["vision_config"]["rope_theta"] == 10000);
    CHECK(only(published("Llama-4-Scout-17B-16E")).base == 500000.0);
    CHECK(file("Gemma-4-31B")["vision_config"]["rope_parameters"]["rope_theta"] == 100.0);
    for (const Config& config : published("Gemma-4-31B").configs) CHECK(config.base >= 10000.0);
}

// ---- magnitudes ----

TEST_CASE("an attention_factor that is given is the magnitude, and nothing is made of the factor") {
    CHECK(magnitude(llama(yarn({{"attention_factor", 1.25}}))) == 1.25);
    CHECK(magnitude(llama(yarn({{"attention_factor", 1.0}}))) == 1.0);
    CHECK(magnitude(llama(yarn({{"attention_factor", 1.25}, {"mscale", 2.0}, {"mscale_all_dim", 1.0}}))) == 1.25);
    Json phi = file("Phi-3-mini-128k");
    phi["rope_scaling"]["attention_factor"] = 1.5;
    CHECK(magnitude(phi, 4096) == 1.5);
    CHECK(magnitude(phi, 4097) == 1.5);
}

TEST_CASE("an attention_factor beside a schedule that has none is not dropped in silence") {
    for (const char* type : {"default", "linear", "dynamic"}) {
        const ModelConfig model = read(llama({{"rope_type", type}, {"factor", 2.0}, {"attention_factor", 1.25}}));
        INFO(type);
        CHECK(rope::frequencies(only(model)).attention_factor == 1.0);
        CHECK(warns_of(model, "rope_scaling.attention_factor"));
    }
}

TEST_CASE("DeepSeek's mscale stands on the softmax, outside RoPE, and not twice") {
    const ModelConfig v3 = published("DeepSeek-V3");
    const Real g = magnitude_of_yarn(40.0);
    CHECK(rope::frequencies(only(v3)).attention_factor == 1.0);
    CHECK(is_close(v3.softmax_scale_factor, g * g));
    // Other models have no such factor, whatever they say of mscale.
    CHECK(read(llama(yarn({{"mscale", 1.0}, {"mscale_all_dim", 1.0}}))).softmax_scale_factor == 1.0);
    CHECK(published("Ministral-3-8B").softmax_scale_factor == 1.0);
}

TEST_CASE("mscale without mscale_all_dim is what DeepSeek's code makes of it, and nothing elsewhere") {
    Json j = file("DeepSeek-V2-Lite");
    j["rope_scaling"].erase("mscale_all_dim");
    CHECK(is_close(magnitude(j), magnitude_of_yarn(40.0, 0.707)));
    CHECK(read(j).softmax_scale_factor == 1.0);
    CHECK(is_close(magnitude(llama(yarn({{"mscale", 0.707}}))), magnitude_of_yarn(4.0)));
    CHECK(is_close(magnitude(llama(yarn({{"mscale", 0.5}, {"mscale_all_dim", 0.0}}))), magnitude_of_yarn(4.0)));
    CHECK(is_close(magnitude(llama(yarn({{"mscale", 2.0}, {"mscale_all_dim", 1.0}}))),
                   magnitude_of_yarn(4.0, 2.0) / magnitude_of_yarn(4.0)));
}

TEST_CASE("attn_factor multiplies the magnitude: that of DeepSeek-R1-0528-Qwen3-8B is 1") {
    CHECK(std::fabs(magnitude(file("DeepSeek-R1-0528-Qwen3-8B")) - 1.0) < 1e-12);
    CHECK(is_close(magnitude(llama(yarn({{"attn_factor", 0.5}}))), magnitude_of_yarn(4.0) / Real(2.0)));
    CHECK(magnitude(llama(yarn({{"attn_factor", 0.5}, {"attention_factor", 3.0}}))) == 1.5);
}

TEST_CASE("apply_yarn_scaling false leaves only the explicit factor") {
    CHECK(magnitude(llama(yarn({{"apply_yarn_scaling", false}}))) == 1.0);
    CHECK(magnitude(llama(yarn({{"apply_yarn_scaling", false}, {"attention_factor", 1.25}}))) == 1.25);
    CHECK(is_close(magnitude(llama(yarn({{"apply_yarn_scaling", true}}))), magnitude_of_yarn(4.0)));
}

TEST_CASE("TeleChat3 has 0.07 where others have 0.1") {
    Json j = llama(yarn());
    j["model_type"] = "telechat3";
    CHECK(is_close(magnitude(j), Real(1.0) + log(Real(4.0)) * Real(7.0) / Real(100.0)));
}

TEST_CASE("short_mscale and long_mscale are magnitudes of their own") {
    Json j = file("Phi-3-mini-128k");
    j["rope_scaling"]["short_mscale"] = 1.1;
    j["rope_scaling"]["long_mscale"] = 1.3;
    CHECK(magnitude(j, 4096) == 1.1);
    CHECK(magnitude(j, 4097) == 1.3);
}

// ---- lengths and factors ----

TEST_CASE("a top-level original_max_position_embeddings beats the nested one") {
    Json j = file("Phi-3-mini-128k");
    j["rope_scaling"]["original_max_position_embeddings"] = 8192;
    const Config config = only(read(j));
    CHECK(std::get<rope::schedule::LongRope>(config.schedule).original_max_position_embeddings == 4096);
    Json yarned = llama(yarn());
    yarned["original_max_position_embeddings"] = 2048;
    CHECK(std::get<rope::schedule::Yarn>(only(read(yarned)).schedule).original_max_position_embeddings == 2048);
}

TEST_CASE("without original_max_position_embeddings, max_position_embeddings stands in") {
    Json scaling = yarn();
    scaling.erase("original_max_position_embeddings");
    CHECK(std::get<rope::schedule::Yarn>(only(read(llama(scaling))).schedule).original_max_position_embeddings ==
          16384);
}

TEST_CASE("a given factor wins over the ratio of the lengths, which stands in for a null one") {
    Json scaling = yarn({{"factor", 8.0}});  // the ratio is 4
    CHECK(has_frequencies_of(only(read(llama(scaling))), half_split(128, 1e4, support::yarn(8.0, 4096))));
    CHECK(is_close(magnitude(llama(scaling)), magnitude_of_yarn(8.0)));
    scaling["factor"] = nullptr;
    CHECK(has_frequencies_of(only(read(llama(scaling))), half_split(128, 1e4, support::yarn(4.0, 4096))));
    CHECK(is_close(magnitude(llama(scaling)), magnitude_of_yarn(4.0)));
    Json phi = file("Phi-3-mini-128k");
    phi["rope_scaling"]["factor"] = 4.0;  // the ratio is 32
    CHECK(is_close(magnitude(phi), pow(Real(1.0) + Real(2.0) / Real(12.0), Real(0.5))));
}

TEST_CASE("LongRoPE switches to its long factors strictly above the original length") {
    const Config config = only(published("Phi-3-mini-128k"));
    CHECK(rope::frequencies(config, 0).inv_freq[0] == 1.0 / 1.1);
    CHECK(rope::frequencies(config, 4095).inv_freq[0] == 1.0 / 1.1);
    CHECK(rope::frequencies(config, 4096).inv_freq[0] == 1.0 / 1.1);
    CHECK(rope::frequencies(config, 4097).inv_freq[0] == 1.0 / 1.0700000524520874);
}

TEST_CASE("dynamic NTK changes nothing up to the trained length") {
    const Config config = only(published("InternLM2.5-7B"));
    CHECK(has_frequencies_of(config, half_split(128, 1e6), 1));
    CHECK(has_frequencies_of(config, half_split(128, 1e6), 32768));
    CHECK_FALSE(has_frequencies_of(config, half_split(128, 1e6), 32769));
}

TEST_CASE("HunYuan's alpha is NTK-aware whatever the length, though its file says dynamic") {
    const Config config = only(published("Hunyuan-7B"));
    for (const Index seq_len : {0, 1, 32768, 1000000})
        CHECK(has_frequencies_of(config, half_split(128, 1e4, rope::schedule::Ntk{1000.0}), seq_len));
    CHECK(file("Hunyuan-7B")["rope_scaling"]["type"] == "dynamic");
}

TEST_CASE("gpt-oss does not round where the ramp begins and ends") {
    Json j = file("gpt-oss-20b");
    const Config exact = half_split(64, 1.5e5, support::yarn(32.0, 4096, 32.0, false));
    const Config rounded = half_split(64, 1.5e5, support::yarn(32.0, 4096, 32.0, true));
    CHECK(has_frequencies_of(only(read(j)), exact));
    CHECK_FALSE(has_frequencies_of(only(read(j)), rounded));
    j["rope_scaling"].erase("truncate");
    CHECK(has_frequencies_of(only(read(j)), rounded));
}

// ---- which keys count ----

TEST_CASE("rope_parameters beats rope_scaling, and says so") {
    Json j = llama({{"rope_type", "linear"}, {"factor", 2.0}});
    j["rope_parameters"] = {{"rope_type", "linear"}, {"factor", 4.0}, {"rope_theta", 500000.0}};
    const ModelConfig model = read(j);
    CHECK(only(model).interpolation_factor == 4.0);
    CHECK(only(model).base == 500000.0);
    CHECK(warns_of(model, "rope_scaling was not used"));
    CHECK(warns_of(model, "rope_theta was not used"));
}

TEST_CASE("a file may name the type by both keys") {
    CHECK(read(llama(yarn({{"type", "yarn"}}))).warnings.empty());
    const ModelConfig model = read(llama(yarn({{"type", "linear"}})));
    CHECK(std::string(rope::schedule_name(only(model).schedule)) == "yarn");
    CHECK(warns_of(model, "rope_scaling.type was not used"));
}

TEST_CASE("any rope_type may stand with mrope_section: Qwen3.5 with YaRN for long contexts") {
    Json j = file("Qwen3.5-397B-A17B");
    Json& parameters = j["text_config"]["rope_parameters"];
    parameters["rope_type"] = "yarn";
    parameters["factor"] = 4.0;
    parameters["original_max_position_embeddings"] = 262144;
    const ModelConfig model = read(j);
    CHECK(model.axis_map.axis_of == rope::mrope_interleaved({11, 11, 10}).axis_of);
    CHECK(has_frequencies_of(only(model), half_split(256, 1e7, support::yarn(4.0, 262144), 64)));
    CHECK(is_close(rope::frequencies(only(model)).attention_factor, magnitude_of_yarn(4.0)));
    CHECK(model.warnings.empty());
}
