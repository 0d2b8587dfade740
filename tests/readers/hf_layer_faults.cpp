// SPDX-License-Identifier: MIT
// Faults that a config.json has led readers to, one test each: which layers attend, to what, which of them turn, with
// how many heads. Expected is what transformers 5.24 does.
#include <rope/core.hpp>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "support/catch.hpp"
#include "support/readers/hf_files.hpp"
#include "support/readers/hf_models.hpp"

namespace {

using rope::Index;
using rope::LayerType;
using rope::ModelConfig;
using support::config_of;
using support::gemma4;
using support::half_split;
using support::has_frequencies_of;
using support::Json;
using support::only;
using support::read;
using support::refused;
using support::without;

/// A letter per layer: full, sliding, chunked, sparse (i), compressed (z), linear with RoPE (l), cross (x) and none
/// (-); capital where it is not rotated.
std::string letters(const ModelConfig& m) {
    std::string all;
    for (Index i = 0; i < m.layers(); ++i) {
        const char letter = "fscizlx-"[static_cast<int>(m.layer_types[support::size(i)])];
        const bool is_capital = m.layer(i) == nullptr && letter != '-';
        all += is_capital ? static_cast<char>(letter - 'a' + 'A') : letter;
    }
    return all;
}
std::string letters(const Json& j) { return letters(read(j)); }
const std::string kNoneRotates = ": none of this model's layers is rotated.";

}  // namespace

// ---- what layers are called ----

TEST_CASE("every name that files have for a layer is known, and a name that none has is refused") {
    const std::vector<std::pair<std::string, const char*>> names = {
        {"f", "full_attention attention global_attention hybrid"},
        {"s", "sliding_attention local_attention window_attention hybrid_sliding reference_sliding_attention"},
        {"c", "chunked_attention"},
        {"i", "indexed_attention sparse_attention deepseek_sparse_attention qwen_sparse_attention minimax_m3_sparse"},
        {"z", "compressed_sparse_attention heavily_compressed_attention"},
        {"X", "cross_attention"},
        {"-", "linear_attention mamba mamba2 conv recurrent moe mlp"}};
    std::size_t count = 0;
    for (const auto& entry : names) {
        const std::string all = entry.second;
        for (std::size_t begin = 0; begin < all.size(); ++count) {
            const std::size_t end = std::min(all.find(' ', begin), all.size());
            const std::string name = all.substr(begin, end - begin);
            INFO(name);
            CHECK(letters(config_of("llama", 2, {{"layer_types", {"full_attention", name}}})) == "f" + entry.first);
            begin = end + 1;
        }
    }
    CHECK(count == 25);
    CHECK(refused(config_of("llama", 2, {{"layer_types", {"full_attention", "odd_attention"}}}))
              .find("layer_types[1] is \"odd_attention\"; it must be one of full_attention") == 0);
    CHECK(refused(config_of("llama", 2, {{"layer_types", {"full_attention", ""}}})).find("layer_types[1] is \"\"") ==
          0);
}

TEST_CASE("a list may have entries for layers that predict further tokens, and no others") {
    const auto types = [](int n) { return Json(std::vector<std::string>(static_cast<std::size_t>(n), "attention")); };
    Json j = config_of("llama", 3, {{"num_nextn_predict_layers", 2}});
    for (const int n : {3, 5}) {
        j["layer_types"] = types(n);
        CHECK(letters(j) == "fff");
    }
    for (const int n : {2, 4, 6}) {
        j["layer_types"] = types(n);
        CHECK(refused(j) == "layer_types has " + std::to_string(n) + " entries; it must have one per layer (3).");
    }
    j["layer_types"] = types(5);
    j.erase("num_nextn_predict_layers");
    CHECK(refused(j) == "layer_types has 5 entries; it must have one per layer (3).");
}

// ---- layers that do not turn ----

TEST_CASE("layers that see everything are not rotated in models whose others slide") {
    CHECK(letters(config_of("afmoe", 13)) == "sssFsssFsssFs");
    CHECK(letters(config_of("exaone_moe", 13, {{"sliding_window", 4096}})) == "sssFsssFsssFs");
    CHECK(letters(config_of("kolibri1", 13, {{"sliding_window", 513}})) == "ssssFssssFsss");
    CHECK(letters(config_of("flint", 13)) == "FFsssFsssFssF");
    CHECK(letters(config_of("lara_mini", 13)) == "-s-Fs-s-Fs-s-");
    CHECK(letters(config_of("cohere2_moe", 13)) == "sssFsssFsssFs");
}

TEST_CASE("but they are where there is no window (EXAONE), or where the list says so") {
    CHECK(read(config_of("exaone_moe", 8, {{"sliding_window", nullptr}})).layer(3) != nullptr);
    CHECK(read(config_of("kolibri1", 8, {{"sliding_window", nullptr}})).layer(4) != nullptr);
    CHECK(letters(config_of("afmoe", 3,
                            {{"layer_types", {"full_attention", "sliding_attention", "full_attention"}}})) == "FsF");
}

TEST_CASE("cohere2_moe: layers with a dense MLP are rotated, sliding or not") {
    const Json dense = {
        {"mlp_layer_types", {"dense", "dense", "dense", "dense", "sparse", "sparse", "sparse", "sparse"}}};
    CHECK(letters(config_of("cohere2_moe", 8, dense)) == "sssfsssF");
    Json j = config_of("cohere2_moe", 8, dense);
    j["prefix_dense_sliding_window_pattern"] = 2;
    CHECK(letters(j) == "sssFsssF");
}

TEST_CASE("sliding_window_pattern 0: no layer slides") {
    CHECK(letters(config_of("gemma3_text", 6, {{"sliding_window_pattern", 0}})) == "ffffff");
    CHECK(letters(config_of("gemma3_text", 6, {{"sliding_window_pattern", 3}})) == "ssfssf");
    CHECK(letters(config_of("gemma3_text", 6, {{"sliding_window_pattern", 1}})) == "ffffff");
}

// ---- layers that do not attend ----

TEST_CASE("models whose layers attend without rotation are refused (Nemotron-H, Jamba, Kimi Linear)") {
    Json nemotron = without(config_of("nemotron_h", 4, {{"hybrid_override_pattern", "M*E-"}}), "rope_theta");
    Json jamba = without(config_of("jamba", 8, {{"attn_layer_period", 4}, {"attn_layer_offset", 1}}), "rope_theta");
    Json kimi = config_of("kimi_linear", 4, {{"linear_attn_config", {{"full_attn_layers", Json::array({4})}}}});
    for (const Json& j : {nemotron, jamba, kimi}) {
        CHECK(refused(j) == "model_type " + j["model_type"].dump() + " has no rotary embedding" + kNoneRotates);
        Json more = j;  // keys that other models have are relics there
        more["rope_theta"] = 10000;
        more["partial_rotary_factor"] = 0.5;
        CHECK(refused(more) == refused(j));
    }
}

TEST_CASE("the same keys of models that nobody knows say which layers attend") {
    CHECK(letters(config_of("brand_new", 4, {{"hybrid_override_pattern", "M*E-"}})) == "-f--");
    CHECK(letters(config_of("brand_new", 8, {{"attn_layer_period", 4}, {"attn_layer_offset", 1}})) == "-f---f--");
    CHECK(letters(config_of("brand_new", 4, {{"linear_attn_config", {{"full_attn_layers", Json::array({4})}}}})) ==
          "---f");
    CHECK(refused(config_of("brand_new", 4, {{"hybrid_override_pattern", "M*EX"}})) ==
          "hybrid_override_pattern is \"M*EX\"; it must be made of the letters M, *, E and -.");
    CHECK(refused(config_of("brand_new", 4, {{"hybrid_override_pattern", "M*E"}})) ==
          "hybrid_override_pattern has 3 entries; it must have one per layer (4).");
}

TEST_CASE("Bamba: attn_layer_indices names the layers that attend, and half of a head turns") {
    Json j = config_of("bamba", 12, {{"attn_layer_indices", {1, 4, 9}}, {"partial_rotary_factor", 0.5}});
    CHECK(letters(j) == "-f--f----f--");
    CHECK(has_frequencies_of(only(read(j)), half_split(128, 1e4, {}, 64)));
    CHECK(read(j).heads[0].q == 0);
    CHECK(read(j).heads[1].q == 8);
    CHECK(refused(without(j, "attn_layer_indices")) == "layer_types is missing; a model of this model_type needs it.");
}

TEST_CASE("Zamba2 turns only if use_mem_rope says so, in the hybrid layers") {
    Json j = config_of("zamba2", 6, {{"hybrid_layer_ids", {1, 4}}, {"use_mem_rope", true}});
    CHECK(letters(j) == "-f--f-");
    j["use_mem_rope"] = false;
    CHECK(refused(j) == "use_mem_rope is false, not true" + kNoneRotates);
    j.erase("use_mem_rope");
    CHECK(refused(j) == "use_mem_rope is missing, not true" + kNoneRotates);
}

TEST_CASE("Recurrent Gemma: block_types repeat") {
    Json j = config_of("recurrent_gemma", 8, {{"block_types", {"recurrent", "recurrent", "attention"}}});
    CHECK(letters(j) == "--f--f--");
    j["block_types"] = {"recurrent", "attention"};
    CHECK(letters(j) == "-f-f-f-f");
    j["block_types"] = Json::array({"recurrent"});
    CHECK(refused(j).find(kNoneRotates) != std::string::npos);
}

TEST_CASE("Granite 4: a null position_embedding_type is no RoPE, rope is") {
    Json j = config_of("granitemoehybrid", 4, {{"layer_types", {"mamba", "attention", "mamba", "attention"}}});
    CHECK(refused(j) == "position_embedding_type is missing, not \"rope\"" + kNoneRotates);
    j["position_embedding_type"] = nullptr;
    CHECK(refused(j) == "position_embedding_type is null, not \"rope\"" + kNoneRotates);
    j["position_embedding_type"] = "nope";
    CHECK(refused(j) == "position_embedding_type is \"nope\", not \"rope\"" + kNoneRotates);
    j["position_embedding_type"] = "rope";
    CHECK(letters(j) == "-f-f");
}

TEST_CASE("Nemotron Super: block_configs says layer by layer whether one attends, and how many heads share a key") {
    const auto block = [](const Json& group, bool no_op, bool linear) {
        return Json{{"attention", {{"n_heads_in_group", group}, {"no_op", no_op}, {"replace_with_linear", linear}}}};
    };
    const Json blocks = {block(4, false, false), block(nullptr, true, false), block(2, false, false),
                         block(nullptr, false, true)};
    const Json j = config_of("nemotron-nas", 4, {{"num_key_value_heads", nullptr}, {"block_configs", blocks}});
    const ModelConfig got = read(j);
    CHECK(letters(got) == "f-f-");
    CHECK((got.heads[0].q == 8 && got.heads[0].k == 2 && got.heads[0].v == 2));
    CHECK((got.heads[2].q == 8 && got.heads[2].k == 4 && got.heads[2].v == 4));
    CHECK((got.heads[1].q == 0 && got.heads[1].k == 0));
    CHECK(refused(without(j, "block_configs")) == "layer_types is missing; a model of this model_type needs it.");
    CHECK(refused(config_of("nemotron-nas", 5, {{"block_configs", blocks}})) ==
          "block_configs has 4 entries; it must have one per layer (5).");
}

TEST_CASE("Llama 3.2 Vision: layers that look at the image are not rotated, and are no layers without attention") {
    const ModelConfig got =
        read({{"model_type", "mllama"},
              {"text_config", config_of("mllama_text_model", 10, {{"cross_attention_layers", {3, 8}}})}});
    CHECK(letters(got) == "fffXffffXf");
    CHECK(got.layer_types[3] == LayerType::cross_attention);
    CHECK(got.heads[3].q == 8);
    CHECK(got.path == "text_config");
    // Those beyond the layers that there are, as in a file that was cut down, say nothing.
    CHECK(letters(config_of("mllama_text_model", 5, {{"cross_attention_layers", {3, 8, 13}}})) == "fffXf");
}

TEST_CASE("Ling 2.5: of each group of layers the last one attends") {
    Json j = config_of("bailing_hybrid", 13, {{"qk_rope_head_dim", 64}, {"qk_nope_head_dim", 128}});
    CHECK(letters(j) == "-----f-----f-");
    j["layer_group_size"] = 3;
    CHECK(letters(j) == "--f--f--f--f-");
    CHECK(read(j).heads[2].k == 1);
    CHECK(read(j).heads[0].k == 0);
}

TEST_CASE("cohere2_moe: the first layers with a dense MLP have a pattern of their own, and are rotated") {
    CHECK(letters(config_of("cohere2_moe", 9, {{"first_k_dense_replace", 2}})) == "ffsssFsss");
    CHECK(letters(config_of("cohere2_moe", 9,
                            {{"first_k_dense_replace", 2}, {"prefix_dense_sliding_window_pattern", 2}})) ==
          "sFsssFsss");
}

TEST_CASE("the pattern of the type: dory; use_sliding_window false: dots3") {
    CHECK(letters(config_of("dory", 5)) == "sssfs");
    const Json dots = {{"qk_rope_head_dim", 64}};
    CHECK(letters(config_of("dots3_note_text", 5, dots)) == "ffsss");
    Json j = config_of("dots3_note_text", 5, dots);
    j["use_sliding_window"] = false;
    CHECK(letters(j) == "fffff");
}

TEST_CASE("an index beyond the layers is said") {
    CHECK(support::warns_of(read(config_of("bamba", 2, {{"attn_layer_indices", {0, 7}}})),
                            "attn_layer_indices names layer 7, which is not there."));
}

// ---- heads ----

TEST_CASE("Gemma 4 as transformers writes it back: per_layer_config has the heads of single layers") {
    Json j =
        gemma4(6, {{"head_dim", 256}, {"per_layer_config", {{"05", {{"head_dim", 512}, {"num_key_value_heads", 1}}}}}});
    const ModelConfig got = read(j);
    CHECK(letters(got) == "sssssf");
    CHECK(got.layer(0)->head_dim == 256);
    CHECK(got.layer(5)->head_dim == 512);
    CHECK((got.heads[4].k == 2 && got.heads[5].k == 1 && got.heads[5].v == 1 && got.heads[5].q == 8));
    CHECK(got.warnings.empty());
    for (const char* key : {"six", "06", "-1", "5.0", ""}) {
        j["per_layer_config"] = {{key, {{"head_dim", 512}}}};
        CHECK(refused(j).find("is not the number of a layer; it must be from 0 to 5.") != std::string::npos);
        CHECK(refused(j).find("per_layer_config.") == 0);
    }
    j["per_layer_config"] = {{"5", {{"head_dim", 0}}}};
    CHECK(refused(j).find("per_layer_config.5.head_dim is 0; it must be") == 0);
}

TEST_CASE("models with an indexer have sparse layers, where the file does not say so") {
    for (const char* type : {"axk2", "deepseek_v32", "glm_moe_dsa", "hy_v4", "hy_v4_vl_text"}) {
        INFO(type);
        CHECK(letters(config_of(type, 3, {{"qk_rope_head_dim", 64}})) == "iii");
    }
    CHECK(letters(config_of("mistral_large4", 5, {{"qk_rope_head_dim", 64}})) == "iiiIi");
}
