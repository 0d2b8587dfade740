// SPDX-License-Identifier: MIT
// Faults that a config.json has led readers to, one test each: what is no JSON, where the language model is described,
// and which files are of a model without rotary embeddings, or of one that nobody knows.
#include <rope/core.hpp>
#include <rope/hf_config.hpp>

#include <rope/detail/angles/config_checks.hpp>

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "support/catch.hpp"
#include "support/exact/mpfr.hpp"
#include "support/readers/hf_files.hpp"
#include "support/readers/hf_models.hpp"

namespace {

using rope::Index;
using rope::Layout;
using rope::ModelConfig;
using support::config_of;
using support::half_split;
using support::has_frequencies_of;
using support::is_close;
using support::Json;
using support::magnitude;
using support::magnitude_of_yarn;
using support::only;
using support::read;
using support::Real;
using support::refused;
using support::warns_of;

/// A Llama as text, with something after its keys.
std::string llama_with(const std::string& more) {
    std::string text = config_of("llama").dump();
    text.back() = ',';
    return text + more + "}";
}
ModelConfig read_text(const std::string& text) { return rope::read_hf_config(text); }
std::string refused_text(const std::string& text) {
    return support::refusal([&] { (void)read_text(text); }).message;
}
std::string refused_with_layout(const Json& j) {
    return support::refusal([&] { (void)rope::read_hf_config(j.dump(), Layout::half_split); }).message;
}
/// The warnings of a model that is otherwise read as a Llama of the same numbers.
std::vector<std::string> warnings_beside(const Json& more) { return read(config_of("llama", more)).warnings; }

}  // namespace

// ---- Infinity and NaN, which Python writes ----

TEST_CASE("Infinity, -Infinity and NaN, where they do not matter, are read over (Bamba's time_step_limit)") {
    for (const char* more : {R"("time_step_limit":[0.0,Infinity])", R"("a":-Infinity)", R"("a":NaN,"b":[NaN,Infinity])",
                             R"("time_step_limit":[0.0,{"__float__":"Infinity"}])"}) {
        INFO(more);
        CHECK(only(read_text(llama_with(more))).base == 1e4);
        CHECK(read_text(llama_with(more)).warnings.empty());
    }
}

TEST_CASE("Infinity and NaN, where they matter, are refused under their names") {
    CHECK(refused_text(llama_with(R"("rope_scaling":{"rope_type":"linear","factor":Infinity})")) ==
          "rope_scaling.factor is Infinity; it must be a number from 2^-32 to 2^32.");
    CHECK(refused_text(llama_with(R"("rope_scaling":{"rope_type":"linear","factor":NaN})")) ==
          "rope_scaling.factor is NaN; it must be a number from 2^-32 to 2^32.");
    Json j = config_of("llama");
    j.erase("rope_theta");
    std::string text = j.dump();
    text.back() = ',';
    CHECK(refused_text(text + R"("rope_theta":Infinity})") ==
          "rope_theta is Infinity; it must be a number above 0 and at most 2^1000.");
    CHECK(refused_text(text + R"("rope_theta":-Infinity})") ==
          "rope_theta is -Infinity; it must be a number above 0 and at most 2^1000.");
    CHECK(refused_text(text + R"("rope_theta":{"__float__":"Infinity"}})") ==
          "rope_theta is Infinity; it must be a number above 0 and at most 2^1000.");
    for (const char* odd : {R"({"__float__":"a\nb"})", R"({"__float__":NaN})", R"({"__float__":{"__float__":"NaN"}})"})
        CHECK(refused_text(text + "\"rope_theta\":" + odd + "}") ==
              "rope_theta is an object; it must be a number above 0 and at most 2^1000.");
}

TEST_CASE("Infinity and NaN are no objects") {
    CHECK(refused_text(llama_with(R"("rope_scaling":Infinity)")) == "rope_scaling is Infinity; it must be an object.");
    CHECK(refused_text(llama_with(R"("attn_config":NaN)")) == "attn_config is NaN; it must be an object.");
    CHECK(refused_text(R"({"model_type":"llava","text_config":NaN})") == "text_config is NaN; it must be an object.");
    CHECK(refused_text("NaN") == "json_text is NaN; it must be an object.");
}

TEST_CASE("the words Infinity and NaN in a string are a string's, whatever is quoted before them") {
    for (const char* more :
         {R"("a":"Infinity")", R"("a":"no NaN, no -Infinity","b":Infinity)", R"("a":"\\","b":Infinity)",
          R"("a":"say \"NaN\"")", R"("a":"\"","b":Infinity)", R"("a \" b":"Infinity","b":-Infinity)"}) {
        INFO(more);
        CHECK(refused_text(llama_with(more)) == "(accepted)");
    }
    CHECK(refused(config_of("llama", {{"rope_theta", "Infinity"}})) ==
          "rope_theta is \"Infinity\"; it must be a number above 0 and at most 2^1000.");
}

TEST_CASE("where a text goes wrong is counted in the text that was given, before and after an Infinity") {
    const std::string good = R"({"a":Infinity,"b":[NaN,-Infinity],)";
    CHECK(refused_text(good + "}").find("it goes wrong at byte " + std::to_string(good.size() + 1) + ",") !=
          std::string::npos);
    CHECK(refused_text(R"({"a":Infinit})").find("it goes wrong at byte 6,") != std::string::npos);
    for (const char* key : {"NaN", "Infinity", "-Infinity"})  // keys are strings
        CHECK(refused_text("{" + std::string(key) + " : 1}").find("it goes wrong at byte ") != std::string::npos);
    CHECK(refused_text(R"({"a":- Infinity})").find("json_text is not JSON") == 0);
}

// ---- where the language model is ----

TEST_CASE("the language model may be nested under many names, and ModelConfig::path says where it was found") {
    const Json inner = config_of("llama");
    const auto found = [](const Json& j) {
        const ModelConfig got = read(j);
        return got.model_type == "llama" && only(got).base == 1e4 && got.layers() == 4 ? got.path : "elsewhere";
    };
    CHECK(found(inner) == "");
    for (const char* key : {"text_config", "llm_config", "language_config", "thinker_config", "decoder_config",
                            "decoder", "vlm_config"}) {
        CHECK(found({{"model_type", "any"}, {key, inner}}) == key);
        CHECK(found({{"model_type", "any"}, {"vision_config", {{"rope_theta", 5.0}}}, {key, inner}}) == key);
    }
    CHECK(found({{"thinker_config", {{"text_config", inner}}}, {"talker_config", {{"rope_theta", 5.0}}}}) ==
          "thinker_config.text_config");
    CHECK(found({{"vlm_config", {{"text_config", inner}}}}) == "vlm_config.text_config");
}

TEST_CASE("decoder, decoder_config and vlm_config beside a model's own layers are something else") {
    for (const char* key : {"decoder_config", "decoder", "vlm_config"}) {
        INFO(key);
        const ModelConfig got = read(config_of("llama", {{key, config_of("llama", {{"rope_theta", 5.0}})}}));
        CHECK(got.path.empty());
        CHECK(only(got).base == 1e4);
    }
    CHECK(only(read(config_of("llama", {{"decoder", "wordpiece"}}))).base == 1e4);
}

TEST_CASE("a nested model's errors and warnings have its path") {
    const Json bad = config_of("llama", {{"rope_theta", -1.0}});
    CHECK(refused({{"thinker_config", {{"text_config", bad}}}}).find("thinker_config.text_config.rope_theta is -1") ==
          0);
    const Json odd = config_of("llama", {{"rope_odd", 1}});
    CHECK(
        warns_of(read({{"vlm_config", {{"text_config", odd}}}}), "vlm_config.text_config.rope_odd is not understood"));
}

// ---- keys that are read, and keys that are not ----

TEST_CASE("attn_factor multiplies the magnitude, and says that transformers leaves it out") {
    Json j = config_of(
        "llama",
        {{"rope_scaling", {{"rope_type", "yarn"}, {"factor", 4.0}, {"original_max_position_embeddings", 4096}}}});
    for (const double factor : {0.5, 2.0}) {
        j["rope_scaling"]["attn_factor"] = factor;
        CHECK(is_close(magnitude(j), magnitude_of_yarn(4.0) * Real(factor)));
        CHECK(read(j).warnings.size() == 1);
        CHECK(warns_of(read(j), "rope_scaling.attn_factor multiplies the magnitude"));
        CHECK(warns_of(read(j), "transformers leaves it out"));
    }
    j["rope_scaling"]["attn_factor"] = 1.0;
    CHECK(is_close(magnitude(j), magnitude_of_yarn(4.0)));
    CHECK(read(j).warnings.empty());
}

TEST_CASE("an extrapolation_factor is a part: outside 0 to 1 it is refused") {
    Json j = config_of(
        "llama",
        {{"rope_scaling", {{"rope_type", "yarn"}, {"factor", 4.0}, {"original_max_position_embeddings", 4096}}}});
    for (const double factor : {1.5, -0.5, 1.0000001}) {
        j["rope_scaling"]["extrapolation_factor"] = factor;
        CHECK(refused(j) ==
              "rope_scaling.extrapolation_factor is " + Json(factor).dump() + "; it must be a number from 0 to 1.");
    }
    rope::schedule::Yarn expected = support::yarn(4.0, 4096);
    for (const double factor : {0.0, 0.5, 1.0}) {
        j["rope_scaling"]["extrapolation_factor"] = factor;
        expected.extrapolation_factor = factor;
        CHECK(has_frequencies_of(only(read(j)), half_split(128, 1e4, expected)));
    }
}

TEST_CASE("keys that say what is usual are no reason to warn") {
    CHECK(warnings_beside({{"use_mrope", false}}).empty());
    CHECK(warnings_beside({{"use_rotary_pos_emb", true}}).empty());
    CHECK(warnings_beside({{"use_sliding_window", false}, {"sliding_windows", Json::array()}}).empty());
    CHECK(warnings_beside({{"rope_scaling", {{"rope_type", "linear"}, {"factor", 2.0}, {"interleaved", false}}}})
              .empty());
    // And those that say something else are.
    CHECK(warnings_beside({{"use_mrope", true}}).size() == 1);
    CHECK(refused(config_of("llama", {{"use_rotary_pos_emb", false}})) ==
          "use_rotary_pos_emb is false: none of this model's layers is rotated.");
}

TEST_CASE("keys about layers that are not read are named, whatever they say") {
    for (const char* type : {"llama", "brand_new"}) {
        const ModelConfig got = read(config_of(type, {{"attn_layer_foo", 1},
                                                      {"swa_foo", 2.5},
                                                      {"hybrid_foo", "LLLG"},
                                                      {"kda_foo", {1, 2}},
                                                      {"sliding_foo", {{"a", 1}}},
                                                      {"compress_ratio", 4},
                                                      {"foo", 1},
                                                      {"mlp_layer_types", {"dense", "sparse"}},
                                                      {"moe_hybrid", 1}}));
        for (const char* key :
             {"attn_layer_foo", "swa_foo", "hybrid_foo", "kda_foo", "sliding_foo", "compress_ratio"}) {
            INFO(type << ", " << key);
            CHECK(warns_of(got, std::string(key) + " is not understood, and was not used"));
        }
        CHECK(got.warnings.size() == (std::string(type) == "llama" ? 6 : 8));
    }
}

// ---- models without rotary embeddings, and those that nobody knows ----

TEST_CASE("GPT-2, BERT, BLOOM and MPT have none, and a layout does not give them one") {
    const Json gpt2 = {{"model_type", "gpt2"}, {"n_embd", 768}, {"n_head", 12}, {"n_layer", 12}, {"n_ctx", 1024}};
    const Json bert = {{"model_type", "bert"},
                       {"hidden_size", 768},
                       {"num_attention_heads", 12},
                       {"num_hidden_layers", 12},
                       {"position_embedding_type", "absolute"}};
    const Json bloom = {{"model_type", "bloom"}, {"hidden_size", 1024}, {"n_layer", 24}, {"n_head", 16}};
    const Json mpt = {{"model_type", "mpt"},
                      {"d_model", 4096},
                      {"n_heads", 32},
                      {"n_layers", 32},
                      {"attn_config", {{"alibi", true}, {"rope", false}}}};
    for (const Json& j : {gpt2, bert, bloom, mpt}) {
        const std::string sentence = "model_type " + j["model_type"].dump() +
                                     " is not known to have a rotary embedding, and no key of the file speaks of one.";
        CHECK(refused(j) == sentence);
        CHECK(refused_with_layout(j) == sentence);
    }
}

TEST_CASE("a switch that is off, or ALiBi, does not speak of rotary embeddings") {
    Json j = config_of("brand_new");
    j.erase("rope_theta");
    for (const Json& more : {Json{{"use_rope", false}}, Json{{"alibi", false}}, Json{{"rope_scaling", nullptr}},
                             Json{{"position_embedding_type", "absolute"}}, Json{{"no_rope_layers", {1, 1, 1, 1}}}}) {
        Json silent = j;
        silent.update(more);
        CHECK(refused(silent).find("and no key of the file speaks of one") != std::string::npos);
    }
    for (const Json& more : {Json{{"use_rope", true}}, Json{{"rotary_dim", 64}},
                             Json{{"rope_parameters", Json::object()}}, Json{{"position_embedding_type", "rope"}}}) {
        Json speaks = j;
        speaks.update(more);
        CHECK(refused(speaks) == "(accepted)");
    }
}

TEST_CASE("what is not checked of a model that nobody knows is said, with a layout given, too") {
    const std::string words =
        "model_type \"brand_new\" is not known, so only its keys were read. Compare with its code";
    for (const std::optional<Layout>& layout : {std::optional<Layout>(), std::optional<Layout>(Layout::interleaved)}) {
        const ModelConfig got = rope::read_hf_config(config_of("brand_new").dump(), layout);
        CHECK(warns_of(got, words));
        CHECK(got.warnings.size() == (layout ? 1 : 2));
        CHECK(only(got).layout == layout);
        CHECK(got.steps.empty());
    }
}

TEST_CASE("an unknown type whose architectures names a known class is taken for it, and says so") {
    const auto named = [](const Json& classes) { return config_of("brand_new", {{"architectures", classes}}); };
    const ModelConfig got = read(named(Json::array({"LlamaForCausalLM"})));
    CHECK(only(got).layout == Layout::half_split);
    CHECK(got.model_type == "brand_new");
    CHECK(got.warnings.size() == 1);
    CHECK(warns_of(got,
                   "model_type \"brand_new\" is not known; the model was taken for \"LlamaForCausalLM\", which "
                   "architectures names."));
    CHECK(only(read(named(Json::array({"CohereForCausalLM"})))).layout == Layout::interleaved);
    // Spelling of the class, as it differs from that of the type: Qwen2_5_VL, GPTNeoX, NanoChat.
    CHECK(read(named(Json::array({"Qwen2_5_VLForConditionalGeneration"}))).axis_map.axis_of ==
          rope::mrope_sections({16, 24, 24}).axis_of);
    CHECK(rope::detail::rotary_dim(only(read(named(Json::array({"GPTNeoXForCausalLM"}))))) == 32);
    CHECK(only(read(named(Json::array({"NanoChatForCausalLM"})))).is_reversed);
    CHECK(only(read(named(Json::array({"Grok1ModelForCausalLM"})))).layout == Layout::half_split);
    // A class that is not known, or several of them, say nothing.
    for (const Json& classes :
         {Json::array({"BrandNewForCausalLM"}), Json::array({"LlamaForCausalLM", "CohereForCausalLM"}), Json::array(),
          Json::array({"Llama"}), Json::array({7})})
        CHECK_FALSE(only(read(named(classes))).layout.has_value());
    // A known type is what it is.
    Json known = config_of("llama", {{"architectures", Json::array({"CohereForCausalLM"})}});
    CHECK(only(read(known)).layout == Layout::half_split);
    CHECK(read(known).warnings.empty());
}
