// SPDX-License-Identifier: MIT
// The key that read_hf_config takes where a config.json says a thing twice, and its warning of the other.
#include <rope/core.hpp>
#include <rope/hf_config.hpp>

#include <optional>
#include <string>
#include <vector>

#include "support/catch.hpp"
#include "support/readers/small_model.hpp"
#include "support/refusal.hpp"

using namespace support;
using rope::Index;
using rope::ModelConfig;

TEST_CASE("rope_parameters beats rope_scaling, which is said unless they agree") {
    const std::string older = R"("rope_scaling": {"type": "linear", "factor": 4})";
    const std::string said = "rope_scaling was not used: rope_parameters is there, too.";
    takes(kFactor, older, 4, {});
    takes(kFactor, older + R"(, "rope_parameters": {"rope_type": "linear", "factor": 2})", 2, {said});
    takes(kFactor, older + R"(, "rope_parameters": {"rope_type": "default"})", 1, {said});
    takes(kFactor, older + R"(, "rope_parameters": {"factor": 4, "type": "linear"})", 4, {});  // in another order
    const std::string sections = R"("rope_scaling": {"type": "mrope", "mrope_section": [16, 8, 8]}, )";
    takes(kFactor, sections + R"("rope_parameters": {"type": "mrope", "mrope_section": [16, 8, 8]})", 1, {});
    takes(kFactor, sections + R"("rope_parameters": {"type": "mrope", "mrope_section": [16, 12, 4]})", 1, {said});
    takes(kFactor, sections + R"("rope_parameters": {"type": "mrope", "mrope_section": [16, 16]})", 1, {said});
    takes(kFactor, older + R"(, "rope_parameters": {"type": "linear", "factor": 4.0})", 4, {});
    takes(kFactor, older + R"(, "rope_parameters": {"full_attention": {"rope_type": "linear", "factor": 2}})", 2,
          {said});
    takes(kFactor, older + R"(, "rope_parameters": {})", 4, {});        // which says nothing
    const auto with = [](const std::string& x, const std::string& y) {  // 0: an unknown key, which is a warning, too
        return R"("rope_scaling": {"type": "linear", "factor": 4, "0": )" + x +
               R"(}, "rope_parameters": {"type": "linear", "factor": 4, "0": )" + y + "}";
    };
    const std::string unknown = "rope_parameters.0 is not understood, and was not used.";
    takes(kFactor, with("1", "1.0"), 4, {unknown});
    takes(kFactor, with("9007199254740993", "9007199254740992"), 4, {said, unknown});
    takes(kFactor, with("18446744073709551615", "-1"), 4, {said, unknown});
    takes(kFactor, with("true", "1"), 4, {said, unknown});
    takes(kFactor, with(R"({"__float__": "NaN"})", R"({"__float__": "NaN"})"), 4, {unknown});
    takes(kFactor, with(R"({"__float__": "Infinity"})", R"({"__float__": "-Infinity"})"), 4, {said, unknown});
    takes(kFactor, with(R"([{"__float__": "NaN", "a": 1}])", R"([{"__float__": "NaN", "a": 2}])"), 4, {said, unknown});
    // Not merge_patch's null: in the text.
    const ModelConfig model = rope::read_hf_config(
        R"({"model_type": "llama", "num_hidden_layers": 4, "num_attention_heads": 8, "head_dim": 64,
            "rope_theta": 20000, "rope_scaling": {"type": "linear", "factor": 4}, "rope_parameters": null})");
    CHECK(config_of(model).interpolation_factor == 4);
    CHECK(model.warnings == Warnings());
}

TEST_CASE("an inner rope_theta beats an outer one, and that beats its alias") {
    const std::string inner = "rope_theta was not used: rope_parameters.rope_theta is there, too.";
    takes(kBase, R"("rope_parameters": {"rope_theta": 5})", 5, {inner});
    takes(kBase, R"("rope_parameters": {"rope_theta": 20000.0})", 20000, {});
    takes(kBase, R"("rotary_emb_base": 5)", 20000, {"rotary_emb_base was not used: rope_theta is there, too."});
    takes(kBase, R"("rotary_emb_base": 20000)", 20000, {});
    takes(kBase, R"("rotary_emb_base": 5, "rope_parameters": {"rope_theta": 6})", 6,
          {inner, "rotary_emb_base was not used: rope_parameters.rope_theta is there, too."});
    takes(kBase, R"("rope_ratio": 5)", 20000,
          {"rope_ratio was not used: the code of model_type \"llama\" does not read it."});
    takes(kBase, R"("global_rope_theta": 5)", 5, {"rope_theta was not used: no layer asks for it."});
    const std::string types =
        R"("layer_types": ["sliding_attention", "full_attention", "full_attention", "full_attention"], )";
    const auto by_type = [&](const std::string& more, double sliding, double full, const Warnings& warnings) {
        CAPTURE(more);
        const ModelConfig model = read(types + more);
        CHECK(config_of(model).base == sliding);
        CHECK(config_of(model, 1).base == full);
        CHECK(config_of(model, 3).base == full);
        CHECK(model.warnings == warnings);
    };
    by_type(R"("rope_parameters": {"sliding_attention": {"rope_theta": 5}, "full_attention": {}})", 5, 20000, {});
    by_type(R"("rope_parameters": {"sliding_attention": {"rope_theta": 5}, "full_attention": {"rope_theta": 20000}})",
            5, 20000, {});
    by_type(R"("rope_parameters": {"sliding_attention": {"rope_theta": 5}, "full_attention": {"rope_theta": 6}})", 5, 6,
            {"rope_theta was not used: rope_parameters.full_attention.rope_theta is there, too."});
    by_type(R"("rope_local_base_freq": 7, "rope_parameters": {"sliding_attention": {"rope_theta": 5},
               "full_attention": {}})",
            5, 20000,
            {"rope_local_base_freq was not used: rope_parameters.sliding_attention.rope_theta is there, too."});
    by_type(R"("rope_local_base_freq": 7, "rope_parameters": {"sliding_attention": {}, "full_attention": {}})", 7,
            20000, {});
    by_type(R"("rope_local_base_freq": 7, "rope_scaling": {"rope_type": "linear", "factor": 8})", 7, 20000, {});
    CHECK(config_of(read(types + R"("rope_local_base_freq": 7, "rope_scaling": {"rope_type": "linear", "factor": 8})"))
              .interpolation_factor == 1.0);
    takes(kBase, R"("rope_local_base_freq": 7)", 20000, {"rope_local_base_freq was not used: no layer asks for it."});
}

TEST_CASE("which part turns: an inner part beats an outer one, that beats its aliases, and those beat a count") {
    const std::string phi3 = R"("model_type": "phi3", )";  // which has parts of heads that do not turn
    const std::string inner = "rope_parameters.partial_rotary_factor";
    takes(kRotaryDim, phi3 + R"("partial_rotary_factor": 0.25, "rope_parameters": {"partial_rotary_factor": 0.5})", 32,
          {"partial_rotary_factor was not used: " + inner + " is there, too."});
    takes(kRotaryDim, phi3 + R"("partial_rotary_factor": 0.5, "rope_parameters": {"partial_rotary_factor": 0.5})", 32,
          {});
    for (const std::string alias : {"rotary_pct", "rope_pct", "rotary_emb_fraction"}) {
        const std::string quarter = "\"" + alias + "\": 0.25, ";
        takes(kRotaryDim, phi3 + quarter + R"("partial_rotary_factor": 0.5)", 32,
              {alias + " was not used: partial_rotary_factor is there, too."});
        takes(kRotaryDim, phi3 + quarter + R"("partial_rotary_factor": 0.25)", 16, {});
        takes(kRotaryDim, phi3 + quarter + R"("rope_parameters": {"partial_rotary_factor": 0.5})", 32,
              {alias + " was not used: " + inner + " is there, too."});
    }
    takes(kRotaryDim, phi3 + R"("rotary_dim": 16, "rotary_pct": 0.5)", 32,
          {"rotary_dim was not used: rotary_pct is there, too."});
    takes(kRotaryDim, phi3 + R"("rotary_dim": 32, "rotary_pct": 0.5)", 32, {});
    // The code of other types does not read it.
    takes(kRotaryDim, R"("partial_rotary_factor": 0.5)", 0,
          {"partial_rotary_factor was not used: the code of model_type \"llama\" rotates whole heads."});
    takes(kRotaryDim, R"("rope_parameters": {"partial_rotary_factor": 0.5})", 0,
          {inner + " was not used: the code of model_type \"llama\" rotates whole heads."});
    takes(kRotaryDim, R"("partial_rotary_factor": 1.0)", 0, {});
}

TEST_CASE("an outer original_max_position_embeddings beats an inner one (Phi-3)") {
    for (const std::string type :
         {R"("rope_type": "yarn", "factor": 4)",
          R"("rope_type": "llama3", "factor": 4, "low_freq_factor": 1, "high_freq_factor": 4)"}) {
        CAPTURE(type);
        const auto original = [&](const std::string& outer, Index expected, const Warnings& warnings) {
            const ModelConfig model =
                read(outer + R"("rope_scaling": {"original_max_position_embeddings": 1024, )" + type + "}");
            const rope::Schedule& s = config_of(model).schedule;
            CHECK((s.index() == 3 ? std::get<rope::schedule::Yarn>(s).original_max_position_embeddings
                                  : std::get<rope::schedule::Llama3>(s).original_max_position_embeddings) == expected);
            CHECK(model.warnings == warnings);
        };
        original("", 1024, {});
        original(R"("original_max_position_embeddings": 1024, )", 1024, {});
        original(
            R"("original_max_position_embeddings": 2048, )", 2048,
            {"rope_scaling.original_max_position_embeddings was not used: original_max_position_embeddings is there, "
             "too."});
    }
}

TEST_CASE("the newest of several names for one number is used, and keys beside RoPE give no warning") {
    CHECK(read(R"("n_layer": 3, "n_head": 4, "n_embd": 77, "n_positions": 5, "seq_length": 6)").warnings == Warnings());
    CHECK(read(R"("n_layer": 3)").layers() == 4);
    CHECK(config_of(read(R"("head_dim": 32, "kv_channels": 16)")).head_dim == 32);
    CHECK(config_of(read(R"("head_dim": 32, "qk_rope_head_dim": 16)")).head_dim == 16);
    CHECK(read(R"("num_kv_heads": 1, "num_key_value_heads": 2)").heads[0].k == 2);
    const ModelConfig both = read(R"("rope_scaling": {"type": "linear", "rope_type": "dynamic", "alpha": 2})");
    CHECK(std::string(rope::schedule_name(config_of(both).schedule)) == "ntk");
    CHECK(both.warnings == Warnings{"rope_scaling.type was not used: rope_scaling.rope_type is there, too."});
    CHECK(read(R"("rope_scaling": {"type": "linear", "rope_type": "linear", "factor": 2})").warnings == Warnings());
    // Names of layers beat a pattern; a list of layers without RoPE beats an interval.
    const std::string full =
        R"("layer_types": ["full_attention", "full_attention", "full_attention", "full_attention"])";
    CHECK(read(full + R"(, "sliding_window_pattern": 2)").layer_types[0] == rope::LayerType::full_attention);
    CHECK(read(R"("no_rope_layers": [0, 1, 1, 1], "no_rope_layer_interval": 4)").layer(3) != nullptr);
}
