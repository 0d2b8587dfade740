// SPDX-License-Identifier: MIT
// Where implementations went wrong on the layers and heads in models' configuration files, one test each. The files are
// those of tests/readers/models, or changed in the one place that matters.
#include <rope/core.hpp>
#include <rope/hf_config.hpp>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "support/catch.hpp"
#include "support/exact/mpfr.hpp"
#include "support/readers/hf_files.hpp"
#include "support/readers/hf_models.hpp"

namespace {

using rope::Config;
using rope::Index;
using rope::Layout;
using rope::ModelConfig;
using support::file;
using support::half_split;
using support::has_frequencies_of;
using support::is_close;
using support::Json;
using support::only;
using support::published;
using support::read;
using support::Real;
using support::refused;
using support::warns_of;

}  // namespace

TEST_CASE("sliding layers of Gemma 3 have a base of their own and no scaling") {
    Json j = file("Gemma-3-4b");
    j["text_config"]["rope_local_base_freq"] = 20000.0;
    const ModelConfig model = read(j);
    REQUIRE(model.configs.size() == 2);
    CHECK(has_frequencies_of(*model.layer(0), half_split(256, 20000.0)));
    CHECK(has_frequencies_of(*model.layer(5), support::slowed(half_split(256, 1e6), 8.0)));
}

TEST_CASE("the scaling of OLMo 3 is not for its sliding layers, in old keys and in new") {
    Json j = file("OLMo-3-7B");
    Json parameters = j["rope_scaling"];
    parameters["rope_theta"] = 500000.0;
    j.erase("rope_scaling");
    j.erase("rope_theta");
    j["rope_parameters"] = parameters;
    for (const ModelConfig& model : {published("OLMo-3-7B"), read(j)}) {
        CHECK(has_frequencies_of(*model.layer(0), half_split(128, 5e5)));
        CHECK(rope::frequencies(*model.layer(0)).attention_factor == 1.0);
        CHECK(std::string(rope::schedule_name(model.layer(3)->schedule)) == "yarn");
        CHECK(model.warnings.empty());
    }
}

TEST_CASE("a null entry of a layer type is no RoPE there") {
    Json j = file("Gemma-4-31B");
    j["text_config"]["rope_parameters"]["full_attention"] = nullptr;
    const ModelConfig model = read(j);
    CHECK(model.layer(0) != nullptr);
    CHECK(model.layer(5) == nullptr);
    CHECK(model.configs.size() == 1);
    // One that is missing is no null.
    j["text_config"]["rope_parameters"].erase("full_attention");
    CHECK(refused(j).find("text_config.rope_parameters.full_attention is missing") == 0);
}

TEST_CASE("linear_attention layers have neither RoPE nor heads to turn, and are not counted among the others") {
    const ModelConfig model = published("Qwen3.5-397B-A17B");
    Index with = 0;
    for (Index i = 0; i < model.layers(); ++i) with += model.layer(i) != nullptr ? 1 : 0;
    CHECK(with == 15);
    CHECK(model.layer(2) == nullptr);
    CHECK(model.layer(3) != nullptr);
    // The same without the list, from the interval.
    Json j = file("Qwen3.5-397B-A17B");
    j["text_config"].erase("layer_types");
    CHECK(read(j).config_of_layer == model.config_of_layer);
    CHECK(read(j).layer_types == model.layer_types);
}

TEST_CASE("Command-R7B and EXAONE 4.0 turn sliding layers only, unless there is no sliding window") {
    CHECK(published("Command-R7B").layer(3) == nullptr);
    CHECK(published("EXAONE-4.0-32B").layer(3) == nullptr);
    CHECK(published("EXAONE-4.0-1.2B").layer(3) != nullptr);
}

TEST_CASE("EXAONE's pattern of layers is a word") {
    Json j = file("EXAONE-4.0-32B");
    const ModelConfig listed = read(j);
    j.erase("layer_types");
    CHECK(read(j).layer_types == listed.layer_types);
    CHECK(read(j).config_of_layer == listed.config_of_layer);
    j["sliding_window_pattern"] = "LLXG";
    CHECK(refused(j).find("sliding_window_pattern is \"LLXG\"; it must be") == 0);
}

TEST_CASE("which layers have no RoPE, a list or an interval says") {
    Json j = file("SmolLM3-3B");
    const ModelConfig listed = read(j);
    j.erase("no_rope_layers");
    CHECK(read(j).config_of_layer == listed.config_of_layer);
    j["no_rope_layer_interval"] = 2;
    CHECK(read(j).layer(1) == nullptr);
    CHECK(read(j).layer(2) != nullptr);
    Json llama4 = file("Llama-4-Scout-17B-16E");
    const std::vector<Index> four = read(llama4).config_of_layer;
    llama4["text_config"]["no_rope_layers"] = Json::array();  // as published at first: the interval of the type
    CHECK(read(llama4).config_of_layer == four);
}

TEST_CASE("Llama 4's temperature is for layers without RoPE, Ministral's for those with it") {
    const rope::AttentionTemperature llama4 = published("Llama-4-Scout-17B-16E").attention_temperature;
    const rope::AttentionTemperature ministral = published("Ministral-3-8B").attention_temperature;
    CHECK((llama4.on_layers_without_rope && !llama4.on_layers_with_rope));
    CHECK((ministral.on_layers_with_rope && !ministral.on_layers_without_rope));
    CHECK(llama4.at(8190) == 1.0);
    CHECK(llama4.at(8191) > 1.06);
    CHECK(ministral.at(16383) == 1.0);
    CHECK(ministral.at(16384) > 1.06);
}

// ---- heads ----

TEST_CASE("the layout follows from the model: GPT-J, Cohere, GLM, Llama 4 beside Llama, GPT-NeoX and the others") {
    for (const char* name : {"GPT-J-6B", "Command-R", "Command-R7B", "GLM-4-9b-hf", "GLM-4-9b-chat", "DeepSeek-V2",
                             "DeepSeek-V3", "Llama-4-Scout-17B-16E"})
        CHECK(only(published(name)).layout == Layout::interleaved);
    for (const char* name : {"Llama-2-7b", "GPT-NeoX-20B", "Pythia-1b", "Falcon-7b", "Phi-2", "Gemma-2-9b", "Qwen3-8B",
                             "gpt-oss-20b", "StableLM-3B-4E1T"})
        CHECK(only(published(name)).layout == Layout::half_split);
}

TEST_CASE("the layout of a model that is not known is left open, and asked for") {
    Json j = file("Llama-2-7b");
    j["model_type"] = "brand_new";
    j["rope_theta"] = 10000;
    CHECK_FALSE(only(read(j)).layout.has_value());
    CHECK(warns_of(read(j), "model_type \"brand_new\" is not known"));
    CHECK(only(rope::read_hf_config(j.dump(), Layout::interleaved)).layout == Layout::interleaved);
}

TEST_CASE(
    "DeepSeek-V3's published code reorders features that its weights have side by side, unless rope_interleave is "
    "false") {
    Json j = file("DeepSeek-V3");
    CHECK(read(j).reference_uses_other_layout);
    j["rope_interleave"] = false;
    CHECK_FALSE(read(j).reference_uses_other_layout);
    CHECK(only(read(j)).layout == Layout::half_split);
}

TEST_CASE("proportional is not partial: pairs span the head, and the exponent has all of it") {
    const Config full = *published("Gemma-4-31B").layer(5);
    const std::vector<double> w = rope::frequencies(full).inv_freq;
    REQUIRE(w.size() == 256);
    for (std::size_t i = 0; i < w.size(); ++i) {
        INFO(i);
        if (i < 64)
            CHECK(is_close(w[i], pow(Real(1e6), Real::integer(-2 * static_cast<Index>(i)) / Real(512.0))));
        else
            CHECK(w[i] == 0.0);
    }
    // The same number as a partial rotary embedding turns 128 features, at other frequencies.
    Json j = file("Gemma-4-31B");
    j["text_config"]["model_type"] = "one_that_reads_it";
    j["text_config"]["rope_parameters"]["full_attention"]["rope_type"] = "default";
    CHECK(has_frequencies_of(*read(j).layer(5), half_split(512, 1e6, {}, 128)));
}

TEST_CASE("head_dim is not always hidden_size over heads, even where the file leaves it out") {
    Json j = file("Gemma-3-4b");  // made Gemma 3 12B: 3840 / 16 would be 240
    j["text_config"]["hidden_size"] = 3840;
    j["text_config"]["num_attention_heads"] = 16;
    j["text_config"]["num_key_value_heads"] = 8;
    CHECK(read(j).layer(0)->head_dim == 256);
    CHECK(warns_of(read(j), "text_config.head_dim is missing; 256"));
    CHECK(only(published("Qwen3-8B")).head_dim == 128);
}

TEST_CASE("only linear sets the interpolation factor") {
    for (const support::PublishedModel& model : support::published_models())
        for (const Config& config : published(model.name).configs) {
            INFO(model.name);
            const bool is_linear =
                model.name == "DeepSeek-Coder-6.7B" || (model.name == "Gemma-3-4b" && config.base > 1e4);
            CHECK((config.interpolation_factor != 1.0) == is_linear);
            CHECK(config.attention_factor == 1.0);
        }
}

TEST_CASE("keys in an object of their own are not dropped in silence (DBRX, MPT)") {
    Json j = file("Llama-2-7b");
    j["attn_config"] = {{"rope_theta", 500000}, {"rope", false}, {"clip_qkv", 8}};
    const rope::ModelConfig model = read(j);
    CHECK(warns_of(model, "attn_config.rope_theta is not understood"));
    CHECK(warns_of(model, "attn_config.rope is not understood"));
    CHECK(warns_of(model, "attn_config.clip_qkv was not used"));
}

TEST_CASE("embeddings of another kind mean no RoPE: position_embedding_type, and Baichuan's forty layers") {
    Json j = file("Llama-2-7b");
    for (const char* kind : {"nope", "alibi", "learned"}) {
        j["position_embedding_type"] = kind;
        CHECK(refused(j) ==
              "position_embedding_type is \"" + std::string(kind) + "\": none of this model's layers is rotated.");
    }
    j.erase("position_embedding_type");
    j["model_type"] = "baichuan";
    CHECK(read(j).layer(0) != nullptr);
    j["num_hidden_layers"] = 40;
    CHECK(refused(j) ==
          "num_hidden_layers is 40, with which model_type \"baichuan\" has ALiBi: none of this model's layers is "
          "rotated.");
}

TEST_CASE("full_attn_idxs names the layers that attend; the others are convolutions (LFM2)") {
    Json j = file("Llama-2-7b");
    j["model_type"] = "lfm2";
    j["full_attn_idxs"] = {2, 5};
    const rope::ModelConfig model = read(j);
    for (Index i = 0; i < model.layers(); ++i) CHECK((model.layer(i) != nullptr) == (i == 2 || i == 5));
}

TEST_CASE("scaling that no layer asks for is not dropped in silence") {
    Json j = file("Llama-2-7b");
    j["rope_scaling"] = {{"rope_type", "linear"}, {"factor", 4}};
    CHECK_FALSE(warns_of(read(j), "rope_scaling was not used"));
    j["layer_types"] = std::vector<std::string>(32, "sliding_attention");
    j["rope_local_base_freq"] = 20000;
    CHECK(warns_of(read(j), "rope_scaling was not used: no layer asks for it."));
}

TEST_CASE("latent attention of a model that is not known scales the softmax as DeepSeek's does") {
    Json j = file("DeepSeek-V3");
    const double factor = read(j).softmax_scale_factor;
    CHECK(factor > 1.5);
    j["model_type"] = "brand_new";
    CHECK(read(j).softmax_scale_factor == factor);
}

TEST_CASE("dynamic NTK grows from max_position_embeddings on, whatever the original length") {
    Json j = file("Llama-2-7b");
    j["rope_scaling"] = {{"rope_type", "dynamic"}, {"factor", 4}, {"original_max_position_embeddings", 2048}};
    const rope::ModelConfig model = read(j);
    CHECK(std::get<rope::schedule::DynamicNtk>(only(model).schedule).max_position_embeddings == 4096);
    CHECK(warns_of(model, "rope_scaling.original_max_position_embeddings was not used"));
}

TEST_CASE("what no frequencies can be made of is refused by the reader, not by the first table") {
    Json j = file("Llama-2-7b");
    j["rope_theta"] = 1e-300;
    CHECK(refused(j).find("with base 1e-300 and interpolation_factor 1;") != std::string::npos);
    j["rope_theta"] = 10000;
    j["rope_scaling"] = {{"rope_type", "yarn"}, {"factor", 40}, {"mscale", -100}, {"mscale_all_dim", 1}};
    CHECK(refused(j).find("attention_factor is -") != std::string::npos);
}

TEST_CASE("type mrope beside rope_type default says the same, and is no reason to warn") {
    Json j = file("Qwen2-VL-7B");
    Json& scaling = j.contains("text_config") ? j["text_config"]["rope_scaling"] : j["rope_scaling"];
    scaling["type"] = "mrope";
    scaling["rope_type"] = "default";
    CHECK(read(j).axis_map.axis_of == rope::mrope_sections({16, 24, 24}).axis_of);
    CHECK_FALSE(warns_of(read(j), "type"));
}
