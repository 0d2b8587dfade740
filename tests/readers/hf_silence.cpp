// SPDX-License-Identifier: MIT
// Keys that change what a model computes and that no reader may pass over in silence; names of model types that few
// programs know.
#include <rope/core.hpp>
#include <rope/heads.hpp>
#include <rope/recipe.hpp>

#include <rope/detail/readers/hf/names.hpp>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "support/catch.hpp"
#include "support/readers/head_steps.hpp"
#include "support/readers/hf_files.hpp"
#include "support/readers/hf_models.hpp"

namespace {

using rope::Index;
using rope::Layout;
using rope::ModelConfig;
using rope::NormKind;
using support::config_of;
using support::Json;
using support::only;
using support::read;
using support::refused;
using support::warns_of;

using Warnings = std::vector<std::string>;

Warnings warnings(const char* type, const Json& more) { return read(config_of(type, 1, more)).warnings; }

}  // namespace

TEST_CASE("keys of another way to encode positions are warnings by name") {
    const auto not_understood = [](const std::string& key) {
        return Warnings{key + " is not understood, and was not used."};
    };
    CHECK(warnings("llama", {{"use_rope", false}}) == not_understood("use_rope"));
    CHECK(warnings("llama", {{"xpos", true}}) == not_understood("xpos"));
    CHECK(warnings("llama", {{"use_xpos", true}}) == not_understood("use_xpos"));
    CHECK(warnings("llama", {{"use_dynamic_ntk", true}}) == not_understood("use_dynamic_ntk"));
    CHECK(warnings("qwen2", {{"dual_chunk_attention_config", {{"chunk_size", 262144}, {"local_size", 8192}}}}) ==
          not_understood("dual_chunk_attention_config"));
    // What is switched off needs no word.
    for (const char* key : {"use_xpos", "xpos", "use_sliding_window", "use_mrope", "use_alibi", "use_logn_attn"})
        CHECK(warnings("llama", {{key, false}}).empty());
}

TEST_CASE("the kind of position encoding has many names, and ALiBi by any of them is no RoPE") {
    for (const char* key : {"position_embedding", "position_embedding_type", "position_embeddings_type",
                            "position_encoding", "position_encoding_type", "pos_emb_type", "positional_embedding",
                            "positional_encoding_type", "pos_embed", "pe_type"}) {
        CHECK(refused(config_of("llama", 1, {{key, "alibi"}})) ==
              std::string(key) + " is \"alibi\": none of this model's layers is rotated.");
        CHECK(warnings("llama", {{key, "rope"}}).empty());
        CHECK(warnings("llama", {{key, "spiral"}}) ==
              Warnings{std::string(key) + " is \"spiral\", which is not understood, and was not used."});
    }
    CHECK(refused(config_of("neobert", 1, {{"rope", false}})) ==
          "rope is false: none of this model's layers is rotated.");
}

TEST_CASE("is_neox_style is the layout of an unknown type, and a warning where it contradicts a known one") {
    for (const bool is_neox : {true, false}) {
        const Json j = config_of("brand_new", 1, {{"is_neox_style", is_neox}});
        CHECK(only(read(j)).layout == (is_neox ? Layout::half_split : Layout::interleaved));
        CHECK_FALSE(warns_of(read(j), "is_neox_style"));
        CHECK(only(read(config_of("llama", 1, {{"is_neox_style", is_neox}}))).layout == Layout::half_split);
    }
    CHECK(warnings("llama", {{"is_neox_style", true}}).empty());
    CHECK(warnings("llama", {{"is_neox_style", false}}) ==
          Warnings{"is_neox_style was not used: the code of model_type \"llama\" does not read it."});
}

TEST_CASE("keys of an indexer are one warning") {
    const Json j = {
        {"index_head_dim", 128}, {"index_topk", 2048}, {"indexer_rope_interleave", true}, {"qk_rope_head_dim", 64}};
    CHECK(
        warnings("longcat_flash", j) ==
        Warnings{"Keys of the indexer were not used (index_head_dim, index_topk, indexer_rope_interleave): its heads, "
                 "their norm and their rotation are not described here, and must be computed as in the model's code."});
}

TEST_CASE("steps of other model types are warnings, unless their value says what the code does anyway") {
    const auto not_read = [](const std::string& key, const std::string& type) {
        return Warnings{key + " was not used: the code of model_type \"" + type + "\" does not read it."};
    };
    CHECK(warnings("llama", {{"use_qk_norm", true}}) == not_read("use_qk_norm", "llama"));
    CHECK(warnings("llama", {{"clip_qkv", 8.0}}) == not_read("clip_qkv", "llama"));
    CHECK(warnings("llama", {{"attention_multiplier", 0.5}}) == not_read("attention_multiplier", "llama"));
    CHECK(warnings("llama", {{"key_multiplier", 0.5}}) == not_read("key_multiplier", "llama"));
    CHECK(support::order_of(read(config_of("llama", 1, {{"clip_qkv", 8.0}})).steps[0].q) == "r");
    CHECK(support::order_of(read(config_of("olmo", 1, {{"clip_qkv", 8.0}})).steps[0].q) == "cr");
    // The norm of Qwen3 cannot be switched off.
    CHECK(warnings("qwen3", {{"use_qk_norm", false}}) == not_read("use_qk_norm", "qwen3"));
    CHECK(warnings("qwen3", {{"use_qk_norm", true}}).empty());
    CHECK(warnings("llama", {{"use_qk_norm", false}, {"clip_qkv", nullptr}, {"key_multiplier", 1.0}}).empty());
}

TEST_CASE("a step by any name is a warning: whose numbers they are, and what is done with them") {
    const auto not_read = [](const std::string& key) {
        return Warnings{key + " was not used: the code of model_type \"llama\" does not read it."};
    };
    for (const char* key :
         {"use_qk_layernorm", "qk_layer_norm", "use_qknorm", "use_k_norm", "attention_qk_norm", "qk_rmsnorm",
          "use_qk_l2_norm", "normalize_qk", "q_norm", "use_value_residual", "use_value_embedding", "value_embeddings",
          "use_qkv_conv", "query_key_norm", "attention_layer_norm", "use_sqrt_attn_scaling"}) {
        CHECK(warnings("llama", {{key, true}}) == not_read(key));
        CHECK(warnings("llama", {{key, false}}).empty());
    }
    for (const char* key : {"attn_clip_qkv", "qkv_clip", "attention_scale", "softmax_scale", "attn_scale",
                            "query_scale", "scaling", "mup_attn_multiplier", "qk_l2_clip_threshold"}) {
        CHECK(warnings("llama", {{key, 0.5}}) == not_read(key));
        CHECK(warnings("llama", {{key, nullptr}}).empty());
    }
    CHECK(warnings("llama", {{"attn_config", {{"qk_ln", true}, {"clip_qkv", 8}, {"softmax_scale", 0.1}, {"a", 1}}}}) ==
          Warnings{not_read("attn_config.clip_qkv")[0], not_read("attn_config.qk_ln")[0],
                   not_read("attn_config.softmax_scale")[0]});
    CHECK(warnings("llama", {{"softmax_scale", 1.0}}) == not_read("softmax_scale"));  // not 1 / sqrt(head_dim)
    CHECK(warnings("llama", {{"query_scale", 1.0}}).empty());
    // A code with such a norm in any case; what GPT-J's files say of the usual scale; a norm of other things.
    CHECK(warnings("minimax_m2", {{"qk_norm_type", "per_layer"}, {"use_qk_norm", true}}).empty());
    CHECK(warnings("llama", {{"scale_attn_weights", true}}).empty());
    CHECK(warnings("llama", {{"scale_attn_weights", false}}) == not_read("scale_attn_weights"));
    for (const char* key : {"attention_output_norm", "attn_norm_eps", "embedding_multiplier", "residual_multiplier",
                            "logits_scaling", "attention_bias", "value_head_dim", "mlp_clip"})
        CHECK(warnings("llama", {{key, 0.5}}).empty());
}

TEST_CASE("keys that only the code of other types reads are as good as missing, and warnings") {
    const auto not_read = [](const std::string& key) {
        return Warnings{key + " was not used: the code of model_type \"llama\" does not read it."};
    };
    const Json grouped = {{"num_key_value_heads", 2}};
    const auto with = [&](const char* key, const Json& value) {
        Json j = config_of("llama", 4, grouped);
        j[key] = value;
        return read(j);
    };
    const ModelConfig usual = read(config_of("llama", 4, grouped));
    const std::vector<std::pair<const char*, Json>> keys = {{"multi_query", true},
                                                            {"rotary_value", true},
                                                            {"rope_ratio", 500},
                                                            {"rotary_scaling_factor", 4},
                                                            {"num_kv_shared_layers", 2},
                                                            {"kv_source_layers", {0, 0, 0, 0}},
                                                            {"no_rope_layers", {0, 1, 1, 1}},
                                                            {"no_rope_layer_interval", 2},
                                                            {"global_head_dim", 64},
                                                            {"num_global_key_value_heads", 1}};
    for (const auto& [key, value] : keys) {
        INFO(key);
        const ModelConfig m = with(key, value);
        CHECK(Warnings(m.warnings.begin(), m.warnings.end()) == not_read(key));
        CHECK(with(key, nullptr).warnings.empty());
        CHECK(only(m).base == only(usual).base);
        CHECK(only(m).schedule.index() == only(usual).schedule.index());
        for (const Index i : {0, 1, 2, 3}) {
            CHECK(m.layer(i) != nullptr);
            CHECK((m.heads[support::size(i)].k == 2 && m.layer(i)->head_dim == 128));
            CHECK((m.steps[support::size(i)].keys_of_layer == i &&
                   support::order_of(m.steps[support::size(i)].v).empty()));
        }
    }
}

TEST_CASE("keys of some types name each line of types by its first name") {
    for (const rope::detail::OwnKey& own : rope::detail::kOwnKeys)
        for (std::string types = own.types; !types.empty();) {
            const std::string one = types.substr(0, types.find(' '));
            INFO(own.key << ": " << one);
            const rope::detail::HfModel* const known = rope::detail::find_hf_model(one);
            REQUIRE(known != nullptr);
            CHECK(std::string(known->types).find(one) == 0);
            types.erase(0, one.size() + 1);
        }
}

TEST_CASE("a norm that is off in this file is not said to be there by another key, nor is one of another kind") {
    const auto not_read = [](const std::string& key, const std::string& type) {
        return Warnings{key + " was not used: the code of model_type \"" + type + "\" does not read it."};
    };
    CHECK(warnings("glm4_moe", {{"qk_norm", true}, {"partial_rotary_factor", 0.5}}) == not_read("qk_norm", "glm4_moe"));
    CHECK(warnings("glm4_moe", {{"qk_norm", true}, {"use_qk_norm", true}, {"partial_rotary_factor", 0.5}}).empty());
    CHECK(warnings("bailing_moe", {{"norm_softmax", false}}).empty());
    CHECK(warnings("qwen3", {{"qk_norm_type", "l2"}}) == not_read("qk_norm_type", "qwen3"));
    CHECK(warnings("qwen3", {{"v_norm", true}}) == not_read("v_norm", "qwen3"));
    CHECK(warnings("hunyuan", {{"use_cla", true}, {"cla_share_factor", 2}}) == not_read("use_cla", "hunyuan"));
    CHECK(warnings("hunyuan", {{"use_cla", false}, {"cla_share_factor", 2}}).empty());
    for (const char* key : {"use_kq_norm", "kq_layernorm", "normalize_queries", "qk_normalization", "clip_kqv"})
        CHECK(warnings("llama", {{key, true}}) == not_read(key, "llama"));
    for (const char* key : {"softmax_temperature", "attention_temperature"})
        CHECK(warnings("llama", {{key, 0.5}}) == not_read(key, "llama"));
    CHECK(warnings("llama", {{"attention_config", {{"qk_norm", true}}}}) ==
          not_read("attention_config.qk_norm", "llama"));
    // Factors of the residual stream, and switches that are off within an object.
    for (const char* key : {"layernorm_full_attention_alpha", "full_attn_beta_factor", "full_attn_mod"})
        CHECK(warnings("llama", {{key, 1.5}}).empty());
    CHECK(warnings("minicpm", {{"sparse_config", {{"use_nope", false}, {"topk", 64}}}}).empty());
    CHECK(warnings("minicpm", {{"sparse_config", {{"use_nope", true}}}}) ==
          Warnings{"sparse_config.use_nope is not understood, and was not used."});
}

TEST_CASE("position embeddings that are switched off, and positions that are grouped, are warnings") {
    const auto not_understood = [](const std::string& key) {
        return Warnings{key + " is not understood, and was not used."};
    };
    for (const char* key : {"use_position_embeddings", "use_pos_emb", "use_positional_encoding"}) {
        CHECK(warnings("llama", {{key, false}}) == not_understood(key));
        CHECK(warnings("llama", {{key, true}}).empty());
    }
    CHECK(warnings("llama", {{"self_extend", true}}) == not_understood("self_extend"));
    CHECK(warnings("llama", {{"grp_attn_n", 4}}) == not_understood("grp_attn_n"));
}

TEST_CASE("openPangu's rope_type needs its sections, of whatever model_type") {
    CHECK(refused(config_of("brand_new", 1, {{"rope_scaling", {{"rope_type", "openpangu"}}}})) ==
          "rope_scaling.mrope_section is missing; rope_type openpangu needs it.");
}

TEST_CASE("rotary_dim counts where partial_rotary_factor does, and not where the code rotates whole heads") {
    for (const Json& part : {Json{{"rotary_dim", 64}}, Json{{"partial_rotary_factor", 0.5}}}) {
        const std::string key = part.begin().key();
        CHECK(only(read(config_of("llama", 1, part))).rotary_dim == 0);
        CHECK(warnings("llama", part) ==
              Warnings{key + " was not used: the code of model_type \"llama\" rotates whole heads."});
        CHECK(only(read(config_of("phi3", 1, part))).rotary_dim == 64);
    }
    CHECK(warnings("llama", {{"rotary_dim", 128}}).empty());
}

TEST_CASE("a key that another one overrules is not called unknown") {
    Json j = config_of("granite_swa", 4, {{"layer_rope_theta", {0, 1e4, 1e4, 1e4}}, {"attention_multiplier", 0.5}});
    j.erase("rope_theta");
    j["rope_parameters"] = {{"rope_type", "default"}, {"rope_theta", 5e5}};
    CHECK(read(j).warnings == Warnings{"rope_parameters.rope_theta was not used: layer_rope_theta is there, too."});
    j.erase("rope_parameters");
    j["rope_theta"] = 5e5;
    CHECK(read(j).warnings == Warnings{"rope_theta was not used: layer_rope_theta is there, too."});
    // Beside entries for kinds of layers, which have their own.
    Json laguna = config_of("laguna", 1, {{"layer_types", {"full_attention"}}});
    laguna.erase("rope_theta");
    laguna["rope_parameters"] = {{"rope_theta", 7.0}, {"full_attention", {{"rope_theta", 5e5}}}};
    CHECK(
        read(laguna).warnings ==
        Warnings{"rope_parameters.rope_theta was not used: rope_parameters.full_attention.rope_theta is there, too."});
}

TEST_CASE("a second list of layers that says something else is a warning") {
    const Json names = {"full_attention", "sliding_attention"};
    Json j = config_of("brand_new", 2, {{"layer_types", names}, {"hybrid_layer_pattern", {0, 1}}});
    CHECK_FALSE(warns_of(read(j), "hybrid_layer_pattern"));
    j["hybrid_layer_pattern"] = {1, 0};
    CHECK(warns_of(read(j), "hybrid_layer_pattern was not used: layer_types is there, too."));
    j = config_of("brand_new", 2, {{"layer_types", names}, {"attn_layer_period", 2}});
    CHECK(warns_of(read(j), "attn_layer_period was not used: layer_types is there, too."));
    j = config_of("gemma2", 2, {{"layer_types", names}, {"sliding_window_pattern", 2}});
    CHECK(warns_of(read(j), "sliding_window_pattern was not used: layer_types is there, too."));
    j["layer_types"] = {"sliding_attention", "full_attention"};
    CHECK_FALSE(warns_of(read(j), "sliding_window_pattern"));
    CHECK(read(config_of("step5", 2, {{"use_rope_layers", {true, false}}})).layer(1) == nullptr);
    CHECK(refused(config_of("step5", 2, {{"use_rope_layers", Json::array({true})}})) ==
          "use_rope_layers has 1 entries; it must have one per layer (2).");
    CHECK(refused(config_of("step5", 2, {{"use_rope_layers", {true, "no"}}})) ==
          "use_rope_layers[1] is \"no\"; it must be true or false.");
}

TEST_CASE("NeoMME adds an embedding to v in its first and last full layer, which no recipe can say") {
    const ModelConfig m = read(support::without(config_of("neomme", 12), "rope_theta"));
    for (const Index i : {0, 4, 5, 6, 10, 11}) {
        const bool adds = i == 5 || i == 11;
        CHECK(m.steps[support::size(i)].has_other_steps == adds);
        CHECK(rope::check_recipe(m, i).ok() == !adds);
    }
}

TEST_CASE("types that few programs know: their layout, their norms, what rotates") {
    struct Type {
        const char* name;
        Layout layout;
        NormKind norm;
    };
    const Layout half = Layout::half_split, inter = Layout::interleaved;
    for (const Type& t : {Type{"mimo", half, NormKind::none},
                          {"bailing_moe", half, NormKind::none},
                          {"bailing_moe_v2", half, NormKind::rms},
                          {"qwen3_8", half, NormKind::rms},
                          {"qwen3_8_flash_next", half, NormKind::rms},
                          {"step3_text", half, NormKind::none},
                          {"step4", half, NormKind::rms},
                          {"grok1", half, NormKind::none},
                          {"PanguEmbedded", half, NormKind::none},
                          {"interns1", half, NormKind::rms},
                          {"new", half, NormKind::none},
                          {"neobert", inter, NormKind::none}}) {
        CAPTURE(t.name);
        const ModelConfig m = read(config_of(t.name, 4));
        CHECK_FALSE(warns_of(m, "is not known"));
        CHECK(m.layer(3)->layout == t.layout);
        CHECK(support::norm(m.steps[3].q).kind == t.norm);
    }
    CHECK(read(config_of("minimax_m1", 2, {{"attn_type_list", {0, 1}}, {"rotary_dim", 64}})).layer(1)->rotary_dim ==
          64);
    CHECK(support::order_of(read(config_of("bailing_moe", 1, {{"use_qk_norm", true}})).steps[0].q) == "nr");
    // "max_length" is how much to generate, but for NeoBERT.
    for (const auto& [type, length] : {std::pair{"neobert", 4096}, {"mimo", 0}})
        CHECK(read(support::without(config_of(type, 1, {{"max_length", 4096}}), "max_position_embeddings"))
                  .max_position_embeddings == length);
    // A name for several language models, told apart by a number.
    for (const auto& [version, norm] : {std::pair{2.6, NormKind::none}, {4.5, NormKind::rms}}) {
        const ModelConfig m = read(config_of("minicpmv", 1, {{"version", version}}));
        CHECK_FALSE(warns_of(m, "is not known"));
        CHECK(support::norm(m.steps[0].q).kind == norm);
    }
    // Grok 2 calls itself "git"; its schedule's word stands beside the base.
    Json grok = config_of("git", 1, {{"architectures", Json::array({"Grok1ForCausalLM"})}, {"rope_type", "original"}});
    CHECK(only(read(grok)).layout == Layout::half_split);
    CHECK(read(grok).steps[0].has_other_steps);
    grok["rope_type"] = "yarn_log";
    CHECK(refused(grok) == "rope_type is \"yarn_log\"; it must be \"original\", with which nothing is scaled.");
}
