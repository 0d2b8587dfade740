// SPDX-License-Identifier: MIT
// Keys and values of a config.json that read_hf_config does not understand or that cannot be: which of them give a
// warning, and the sentence of every error.
#include <rope/core.hpp>
#include <rope/hf_config.hpp>

#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "support/catch.hpp"
#include "support/readers/small_model.hpp"
#include "support/refusal.hpp"

using namespace support;
using rope::Index;
using rope::Layout;
using rope::ModelConfig;

TEST_CASE("the layout is what the caller says, else rope_interleave, else the model type's; else it is left open") {
    const auto layout = [](const std::string& text, std::optional<Layout> given) {
        return config_of(rope::read_hf_config(text, given)).layout;
    };
    const std::string gptj = file(R"("model_type": "gptj", "rotary_dim": 64)");
    const std::string interleaved = file(R"("rope_interleave": true)");
    CHECK(layout(file(), std::nullopt) == Layout::half_split);
    CHECK(layout(gptj, std::nullopt) == Layout::interleaved);
    CHECK(layout(interleaved, std::nullopt) == Layout::interleaved);
    CHECK(layout(file(R"("model_type": "gptj", "rope_interleave": false)"), std::nullopt) == Layout::half_split);
    for (const Layout given : {Layout::interleaved, Layout::half_split})
        for (const std::string& text : {file(), gptj, interleaved}) CHECK(layout(text, given) == given);
    for (const auto& [type, shown] : std::vector<std::pair<std::string, std::string>>{
             {"mystery", "\"mystery\""}, {"llama\\u0000", "\"llama\\x00\""}, {"", "\"\""}, {"a\\nb", "\"a\\x0ab\""}}) {
        const std::string text = file("\"model_type\": \"" + type + "\"");
        CHECK(layout(text, std::nullopt) == std::nullopt);
        // What is not checked is said, whatever the layout.
        const std::string unknown = "model_type " + shown +
                                    " is not known, so only its keys were read. Compare with its code what no key may "
                                    "say: the direction of the "
                                    "rotation, the slice of the head, layers without RoPE, magnitudes, and norms, "
                                    "clamps or factors of q, k and "
                                    "v.";
        CHECK(rope::read_hf_config(text).warnings ==
              Warnings{unknown, "model_type " + shown +
                                    " is not known, so Config::layout is left open: find out whether the model rotates "
                                    "(x[2i], x[2i+1]) or (x[i], x[i + rotary_dim/2])."});
        CHECK(layout(text, Layout::interleaved) == Layout::interleaved);
        CHECK(rope::read_hf_config(text, Layout::interleaved).warnings == Warnings{unknown});
    }
    CHECK(read(R"("model_type": null)").warnings.size() == 2);
    refuses_text(file(), "layout is 7; it must be Layout::interleaved (0) or Layout::half_split (1).",
                 static_cast<Layout>(7));
    // What the default of an unknown type is, nobody knows.
    CHECK(read(R"("model_type": "mystery", "rope_interleave": true, "rope_theta": null)").warnings.back() ==
          "rope_theta is missing; 10000 was taken, which most models have.");
}

TEST_CASE("every rope_type gives its schedule") {
    const std::vector<std::pair<std::string, std::string>> types = {
        {R"("default")", "default"},
        {R"("linear", "factor": 2)", "default"},
        {R"("mrope", "mrope_section": [16, 8, 8])", "default"},
        {R"("ntk", "factor": 2, "mixed_b": 0.625)", "ntk"},
        {R"("video_rope", "mrope_section": [16, 8, 8])", "default"},
        {R"("bailing_mrope", "mrope_section": [16, 8, 8])", "default"},
        {R"("openpangu", "mrope_section": [16, 8, 8])", "default"},
        {R"("telechat3-yarn", "factor": 2, "original_max_position_embeddings": 9)", "yarn"},
        {R"("dynamic", "alpha": 2)", "ntk"},
        {R"("xdrope", "alpha": 2, "xdrope_section": [8, 8, 8, 8])", "ntk"},
        {R"("dynamic", "factor": 2)", "dynamic"},
        {R"("yarn", "factor": 2, "original_max_position_embeddings": 9)", "yarn"},
        {R"("deepseek_yarn", "factor": 2, "original_max_position_embeddings": 9)", "yarn"},
        {R"("llama3", "factor": 2, "low_freq_factor": 1, "high_freq_factor": 4, "original_max_position_embeddings": 9)",
         "llama3"},
        {R"("longrope", "short_factor": [1, 2], "long_factor": [3, 4], "original_max_position_embeddings": 9)",
         "longrope"},
        {R"("su", "short_factor": [1, 2], "long_factor": [3, 4], "original_max_position_embeddings": 9)", "longrope"},
        {R"("proportional", "partial_rotary_factor": 0.5)", "proportional"},
        {R"("axial")", "axial"}};
    for (const auto& [type, schedule] : types)
        for (const std::string key : {"type", "rope_type"})
            for (const std::string object : {"rope_scaling", "rope_parameters"}) {
                CAPTURE(type);
                const std::string head_dim = schedule == "longrope" ? "\"head_dim\": 4, " : "";
                const ModelConfig model = read(head_dim + "\"" + object + "\": {\"" + key + "\": " + type + "}");
                CHECK(rope::schedule_name(config_of(model).schedule) == schedule);
                CHECK(config_of(model).interpolation_factor == (type.find("linear") == 1 ? 2.0 : 1.0));
                CHECK(model.warnings == Warnings());
            }
    using rope::schedule::YarnMagnitude;
    const auto magnitude = [](const ModelConfig& m) {
        return std::get<rope::schedule::Yarn>(config_of(m).schedule).magnitude;
    };
    CHECK(magnitude(read(R"("rope_scaling": {"type": "yarn", "factor": 2, "original_max_position_embeddings": 9})")) ==
          YarnMagnitude::standard);
    CHECK(magnitude(read(R"("rope_scaling": {"type": "deepseek_yarn", "factor": 2})")) == YarnMagnitude::deepseek);
}

TEST_CASE("what concerns RoPE and is not understood is a warning, once; what does not is none") {
    const auto not_understood = [](const std::string& path) { return path + " is not understood, and was not used."; };
    const auto warns = [](const std::string& more, Warnings warnings) {
        CAPTURE(more);
        CHECK(read(more).warnings == warnings);
    };
    // Sliding layers and others have the same parameters, and one warning.
    const std::string mixed =
        R"("layer_types": ["sliding_attention", "full_attention", "chunked_attention", "mamba"], )";
    warns(mixed + R"("rope_scaling": {"type": "linear", "factor": 2, "finetuned": true, "beta_fast": 3})",
          {not_understood("rope_scaling.beta_fast"), not_understood("rope_scaling.finetuned")});
    CHECK(read(mixed + R"("rope_scaling": {"type": "linear", "factor": 2})").configs.size() == 1);
    // YaRN asks for it, and so does the temperature.
    warns(R"("rope_scaling": {"type": "yarn", "factor": 2, "llama_4_scaling_beta": 0.1})",
          {"rope_scaling.original_max_position_embeddings is missing; 4096 was taken, the max_position_embeddings."});
    const std::string theta = "rope_theta is missing; 10000 was taken, the default of model_type \"llama\".";
    warns(mixed + R"("rope_theta": null)", {theta});
    warns(mixed + R"("rope_theta": null, "rope_parameters": {"sliding_attention": {}, "chunked_attention": {"a": 1},
                     "full_attention": {}, "hidden_size": 1, "linear_attention": {}})",
          {"rope_parameters.sliding_attention." + theta, "rope_parameters.full_attention." + theta,
           "rope_parameters.chunked_attention." + theta, not_understood("rope_parameters.chunked_attention.a"),
           not_understood("rope_parameters.hidden_size"),
           "rope_parameters.linear_attention was not used: no layer of that type has RoPE."});
    warns(R"("rope_parameters": {"sliding_attention": {"rope_theta": "x"}, "full_attention": {}})",
          {"rope_parameters.sliding_attention was not used: no layer of that type has RoPE."});
    for (const char* key :
         {"rope_foo", "use_rope", "mrope_foo", "rotary_foo", "no_rope", "yarn", "qk-rope-x", "x.rope"}) {
        const std::string path = std::string(key) == "x.rope" ? "\"x.rope\"" : key;
        warns("\"" + std::string(key) + "\": 1", {not_understood(path)});
    }
    for (const char* key : {"properties", "europe", "microrope", "vocab_size", "layer_norm_eps", "attention_dropout"})
        warns("\"" + std::string(key) + "\": 1", {});
    warns(R"("rope_scaling": {"a\u0000b": 1, "a": null})", {not_understood("rope_scaling.\"a\\x00b\"")});
    warns(R"("rope_foo": {"a": [1]}, "rope bar": 1)", {not_understood("\"rope bar\""), not_understood("rope_foo")});
    warns(R"("attn_temperature_tuning": true)",
          {"attn_temperature_tuning was not used: the code of model_type \"llama\" does not read it."});
    refuses(R"("alibi": true)", "alibi is true: none of this model's layers is rotated.");
    warns(R"("alibi": false)", {});
    warns(R"("x": {"rope\u0001": 1, "y": 2}, "x\u0000": {"rope": 1}, "y": [{"rope": 1}])",
          {not_understood("x.\"rope\\x01\""), not_understood("\"x\\x00\".rope")});
    warns(R"("qk_nope_head_dim": 128, "qk_rope_head_dim": 64)", {});
    refuses(R"("qk_nope_head_dim": "128")", "qk_nope_head_dim is \"128\"; it must be a whole number from 0 to 2^40.");
    refuses(R"("alibi": 1)", "alibi is 1; it must be true or false.");
    // Whatever a key is called, a sentence stays one.
    const std::string key = "rope" + std::string(1000, 'x');
    warns("\"" + key + "\": 1", {not_understood("\"" + key.substr(0, 60) + "...\"")});
}

TEST_CASE("an unknown layer type, a list that does not fit, an entry that is missing: errors that say what fits") {
    refuses(R"("layer_types": ["full_attention", "mamba", "Mamba3", "mamba"])",
            "layer_types[2] is \"Mamba3\"; it must be one of full_attention, sliding_attention, chunked_attention "
            "and the like, or linear_attention, mamba, conv and the like (without RoPE).");
    refuses(R"("layer_types": ["mamba"])", "layer_types has 1 entries; it must have one per layer (4).");
    refuses(R"("model_type": "smollm3", "no_rope_layers": [1, 1, 1, 1, 1])",
            "no_rope_layers has 5 entries; it must have one per layer (4).");
    const std::string mixed = R"("layer_types": ["full_attention", "mamba", "sliding_attention", "mamba"], )";
    refuses(mixed + R"("rope_parameters": {"full_attention": {}})",
            "rope_parameters.sliding_attention is missing; a layer of that type needs it.");
    refuses(mixed + R"("rope_parameters": {"full_attention": {}, "sliding_attention": "default"})",
            "rope_parameters.sliding_attention is \"default\"; it must be an object or null.");
    refuses(R"("rope_parameters": {"main": {"rope_type": "yarn", "factor": 4}})",
            "rope_parameters.main is an object; only kinds of layers may be, such as full_attention.");
    const ModelConfig none = rope::read_hf_config(R"({"model_type": "llama", "num_hidden_layers": 2, "rope_theta": 5,
        "num_attention_heads": 8, "head_dim": 64, "layer_types": ["full_attention", "sliding_attention"],
        "rope_parameters": {"full_attention": null, "sliding_attention": {"rope_type": "default"}}})");
    CHECK(none.layer(0) == nullptr);
    CHECK(config_of(none, 1).base == 5);
    CHECK(none.warnings == Warnings());

    refuses(
        R"("rope_scaling": {"mrope_section": [16, 8]})",
        "rope_scaling.mrope_section has 2 sections with a sum of 24; there must be 2 to 4 with as many pairs as rotate "
        "(32).");
    refuses(
        R"("rope_scaling": {"mrope_section": [32]})",
        "rope_scaling.mrope_section has 1 sections with a sum of 32; there must be 2 to 4 with as many pairs as rotate "
        "(32).");
    refuses(
        mixed + R"("rope_parameters": {"full_attention": {"mrope_section": [16, 16]},
                       "sliding_attention": {"mrope_section": [8, 24]}})",
        "rope_parameters.sliding_attention.mrope_section is not that of the other layer types; a model must have one.");
    const std::string longrope = R"("head_dim": 4, "rope_scaling": {"type": "longrope", "short_factor": )";
    refuses(longrope + R"([1], "long_factor": [1, 2]})",
            "rope_scaling.short_factor has 1 entry; it must have one per pair (2).");
    refuses(longrope + R"([1, 2], "long_factor": [1, 2, 3]})",
            "rope_scaling.long_factor has 3 entries; it must have one per pair (2).");
}

TEST_CASE("values that do not go together are refused in terms of the keys that they were read from") {
    const auto part = [](const std::string& what, Index turning, Index head_dim) {
        return what + ", so that " + std::to_string(turning) +
               " features would rotate; it must be an even number from 2 to head_dim (" + std::to_string(head_dim) +
               ").";
    };
    const std::string phi3 = R"("model_type": "phi3", )";
    refuses(phi3 + R"("rotary_dim": 7)", part("rotary_dim is 7", 7, 64));
    refuses(phi3 + R"("rotary_dim": 66)", part("rotary_dim is 66", 66, 64));
    refuses(phi3 + R"("rotary_pct": 0.05)", part("rotary_pct is 0.05", 3, 64));
    refuses(phi3 + R"("rope_scaling": {"partial_rotary_factor": 0.02})",
            part("rope_scaling.partial_rotary_factor is 0.02", 1, 64));
    refuses(phi3 + R"("rope_pct": 0.01)",
            "rope_pct is 0.01, so that none of head_dim (64) features would rotate; at least two must.");
    refuses(R"("head_dim": 63)", part("head_dim is 63", 63, 63));
    refuses(R"("qk_rope_head_dim": 63)", part("qk_rope_head_dim is 63", 63, 63));
    refuses(R"("model_type": "gemma4_text", "head_dim": 64, "global_head_dim": 63)",
            part("global_head_dim is 63", 63, 63));
    refuses(R"("hidden_size": 8)", part("hidden_size / num_attention_heads is 1", 1, 1));
    refuses(
        R"("hidden_size": null, "n_embd": 513)",
        "n_embd is 513; without head_dim it must be a multiple of num_attention_heads (8), and at most 2^20 times as "
        "much.");
    refuses(
        R"("hidden_size": 8388616)",
        "hidden_size is 8388616; without head_dim it must be a multiple of num_attention_heads (8), and at most 2^20 "
        "times as much.");

    refuses(R"("rope_scaling": {"type": "yarn", "factor": 4, "beta_fast": 1, "beta_slow": 2})",
            "rope_scaling.beta_fast is 1; it must be at least beta_slow (2).");
    refuses(R"("rope_theta": 1, "rope_scaling": {"type": "yarn", "factor": 4})",
            "rope_theta is 1; YaRN needs a base above 1, because it divides by its logarithm.");
    refuses(R"("rope_parameters": {"rope_theta": 0.5, "rope_type": "yarn", "factor": 4})",
            "rope_parameters.rope_theta is 0.5; YaRN needs a base above 1, because it divides by its logarithm.");
    refuses(R"("rope_scaling": {"type": "llama3", "factor": 2, "low_freq_factor": 4, "high_freq_factor": 1,
                                "original_max_position_embeddings": 8})",
            "rope_scaling.high_freq_factor is 1; it must be at least low_freq_factor (4).");
    const std::string lists = R"("type": "longrope", "short_factor": [1, 2], "long_factor": [1, 2])";
    refuses(R"("head_dim": 4, "original_max_position_embeddings": 1, "rope_scaling": {)" + lists + "}",
            "original_max_position_embeddings is 1; it must be from 2 to 2^40.");
    refuses(R"("head_dim": 4, "rope_scaling": {"original_max_position_embeddings": 1, )" + lists + "}",
            "rope_scaling.original_max_position_embeddings is 1; it must be from 2 to 2^40.");
    refuses(R"("head_dim": 4, "max_position_embeddings": 1, "rope_scaling": {)" + lists + "}",
            "max_position_embeddings is 1; it must be from 2 to 2^40.");
    refuses(R"("rotary_dim": 2, "rope_scaling": {"type": "dynamic", "factor": 2})",
            "rope_scaling.type is \"dynamic\": rotary_dim (or head_dim, for which a rotary_dim of 0 stands) is 2; this "
            "schedule needs at least 4, because it divides by "
            "rotary_dim - 2.");
    refuses(R"("head_dim": 6, "rope_parameters": {"rope_type": "axial"})",
            "rope_parameters.rope_type is \"axial\": schedule.axes is 2; it must divide the number of pairs (3).");
    // A factor may be the ratio of two lengths, where they are there.
    const std::string two_lengths = R"("original_max_position_embeddings": 1024, "type": "yarn")";
    const auto text = [](const std::string& scaling, const std::string& more) {
        return R"({"model_type": "llama", "num_hidden_layers": 2, "rope_theta": 5, "num_attention_heads": 8,
                   "head_dim": 64, )" +
               more + "\"rope_scaling\": {" + scaling + "}}";
    };
    const std::string length = R"("max_position_embeddings": 4096, )";
    const ModelConfig ratio = rope::read_hf_config(text(two_lengths + R"(, "factor": null)", length));
    CHECK(
        rope::frequencies(config_of(ratio)).attention_factor ==
        rope::frequencies(config_of(read("\"rope_scaling\": {" + two_lengths + ", \"factor\": 4}"))).attention_factor);
    refuses_text(text(two_lengths + R"(, "factor": null)", ""),
                 "max_position_embeddings is missing; rope_type yarn without a factor needs it.");
    refuses_text(text(two_lengths, length), "rope_scaling.factor is missing; rope_type yarn needs it.");
    refuses_text(text(R"("factor": null, "type": "yarn")", length),
                 "rope_scaling.factor is null; rope_type yarn needs it.");
    refuses_text(text(R"("factor": 4, "type": "yarn")", ""),
                 "max_position_embeddings is missing; rope_type yarn needs it.");
    refuses_text(text(lists + R"(, "original_max_position_embeddings": 9)", R"("rotary_dim": 4, )"),
                 "max_position_embeddings is missing; rope_type longrope without a factor needs it.");
    refuses_text(text(R"("llama_4_scaling_beta": 1)", ""),
                 "max_position_embeddings is missing; llama_4_scaling_beta needs it.");
    for (const std::string key : {"factor", "alpha", "low_freq_factor", "high_freq_factor"})
        refuses("\"rope_scaling\": {\"" + key + "\": 2}", "rope_scaling.rope_type is missing; " + key + " needs it.");
    // The same ratio makes DeepSeek's softmax scale.
    const ModelConfig deepseek = rope::read_hf_config(text(
        R"("original_max_position_embeddings": 1024, "type": "deepseek_yarn", "factor": null, "mscale_all_dim": 1)",
        length));
    CHECK(deepseek.softmax_scale_factor ==
          read(R"("rope_scaling": {"type": "deepseek_yarn", "factor": 4, "mscale_all_dim": 1})").softmax_scale_factor);
    CHECK(deepseek.softmax_scale_factor > 1.29);
}
