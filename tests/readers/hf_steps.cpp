// SPDX-License-Identifier: MIT
// The steps on q, k and v other than the rotation, from config.json: norms of heads, factors, the softmax's scale,
// whose keys are read. One test for each way in which models differ; expected is what transformers 5.24 does.
#include <rope/core.hpp>

#include <rope/detail/readers/hf/model_names.hpp>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "support/catch.hpp"
#include "support/exact/mpfr.hpp"
#include "support/readers/head_steps.hpp"
#include "support/readers/hf_files.hpp"
#include "support/readers/hf_models.hpp"

namespace {

using rope::HeadNorm;
using rope::HeadStepKind;
using rope::HeadSteps;
using rope::Index;
using rope::ModelConfig;
using rope::NormKind;
using rope::NormRounding;
using rope::NormWeight;
using support::config_of;
using support::gemma4;
using support::is_close;
using support::Json;
using support::norm;
using support::order_of;
using support::published;
using support::read;
using support::Real;
using support::refused;

bool is_norm(const HeadNorm& got, NormKind kind, NormWeight weight, double eps) {
    return got.kind == kind && got.weight == weight && got.eps == eps;
}
bool has_no_norm(const HeadSteps& s) {
    return rope::norm_of(s.q) == nullptr && rope::norm_of(s.k) == nullptr && rope::norm_of(s.v) == nullptr;
}
HeadSteps steps(const Json& j, Index layer = 0) {
    const ModelConfig m = read(j);
    REQUIRE(m.steps.size() == support::size(m.layers()));
    return m.steps[support::size(layer)];
}

}  // namespace

TEST_CASE("steps: Qwen3 norms each head before it turns, with one weight, and rounds twice") {
    const HeadSteps s = steps(config_of("qwen3", 2, {{"rms_norm_eps", 1e-5}}), 1);
    CHECK((order_of(s.q) == "nr" && order_of(s.k) == "nr"));
    for (const HeadNorm& of : {norm(s.q), norm(s.k)}) {
        CHECK(is_norm(of, NormKind::rms, NormWeight::head_dim, 1e-5));
        CHECK(of.rounding == NormRounding::normalised);
        CHECK_FALSE((of.adds_one || of.has_bias));
    }
    CHECK((order_of(s.v).empty() && order_of(s.output).empty()));
    CHECK(is_close(s.softmax_scale, pow(Real(128.0), Real(-0.5))));
    CHECK(s.keys_of_layer == 1);
    CHECK(norm(steps(config_of("qwen3", 1)).q).eps == 1e-6);
    CHECK(has_no_norm(steps(config_of("llama", 1, {{"rms_norm_eps", 1e-5}}))));
}

TEST_CASE("steps: the weights of Gemma 3's norms have 1 added, and its softmax a scale of its own") {
    const Json j = config_of("gemma3_text", 6);
    CHECK((norm(steps(j).q).adds_one && norm(steps(j).k).adds_one));
    CHECK(norm(steps(j).q).rounding == NormRounding::none);
    CHECK(steps(j).softmax_scale == 0.0625);  // 256^-0.5, though heads have 128 features
    CHECK(is_close(steps(config_of("gemma3_text", 6, {{"query_pre_attn_scalar", 168}})).softmax_scale,
                   pow(Real(168.0), Real(-0.5))));
    CHECK(steps(config_of("granite", 1, {{"attention_multiplier", 0.0078125}})).softmax_scale == 0.0078125);
}

TEST_CASE("steps: OLMo 2 norms all heads of a token at once") {
    for (const char* type : {"olmo2", "olmoe", "minimax_m2"}) {
        const HeadSteps s = steps(config_of(type, 1, {{"rms_norm_eps", 1e-4}}));
        CHECK(is_norm(norm(s.q), NormKind::rms, NormWeight::all_heads, 1e-4));
        CHECK(is_norm(norm(s.k), NormKind::rms, NormWeight::all_heads, 1e-4));
        CHECK((norm(s.q).rounding == NormRounding::normalised) == (std::string(type) != "olmo2"));
    }
}

TEST_CASE("steps: Llama 4 norms after the rotation, without a weight, and only where it rotates") {
    const Json j = config_of("llama4_text", 4);
    CHECK(is_norm(norm(steps(j, 2).q), NormKind::rms, NormWeight::none, 1e-5));
    CHECK((order_of(steps(j, 2).q) == "rn" && order_of(steps(j, 2).k) == "rn"));
    CHECK(read(j).layer(3) == nullptr);
    CHECK((order_of(steps(j, 3).q) == "t" && order_of(steps(j, 3).k).empty()));
    CHECK(has_no_norm(steps(config_of("llama4_text", 4, {{"use_qk_norm", false}}), 2)));
}

TEST_CASE("steps: HunYuan norms after the rotation, with a weight") {
    const HeadSteps s = steps(config_of("hunyuan_v1_dense", 1));
    CHECK(is_norm(norm(s.q), NormKind::rms, NormWeight::head_dim, 1e-5));
    CHECK((order_of(s.q) == "rn" && order_of(s.k) == "rn" && norm(s.q).rounding == NormRounding::normalised));
}

TEST_CASE("steps: Command R+ has a weight per head, if use_qk_norm says so") {
    const HeadSteps s = steps(config_of("cohere", 1, {{"use_qk_norm", true}, {"layer_norm_eps", 1e-6}}));
    CHECK(is_norm(norm(s.q), NormKind::layer_norm, NormWeight::heads_x_head_dim, 1e-6));
    CHECK_FALSE(norm(s.q).has_bias);
    CHECK(has_no_norm(steps(config_of("cohere", 1))));
}

TEST_CASE("steps: a norm's eps stands under the key of the type") {
    const auto of_q = [](const Json& j) { return norm(steps(j).q); };
    const Json lfm2 = {{"full_attn_idxs", Json::array({0})}, {"norm_eps", 1e-4}, {"rms_norm_eps", 1e-3}};
    CHECK(of_q(config_of("lfm2", 1, lfm2)).eps == 1e-4);
    CHECK(of_q(config_of("stablelm", 1, {{"qk_layernorm", true}, {"layer_norm_eps", 1e-4}})).eps == 1e-4);
    CHECK(of_q(config_of("dory", 1, {{"rms_norm_eps", 1e-3}})).eps == 1e-6);  // its code has a number of its own
    CHECK(of_q(config_of("dory", 1)).kind == NormKind::l2);
    CHECK(refused(config_of("qwen3", 1, {{"rms_norm_eps", -1.0}})) ==
          "rms_norm_eps is -1; it must be a number from 0 to 1.");
}

TEST_CASE("steps: Gemma 4 norms values, too, and leaves the softmax's scale to its norms") {
    const HeadSteps s = steps(gemma4(6, {{"rms_norm_eps", 1e-5}}));
    CHECK(is_norm(norm(s.q), NormKind::rms, NormWeight::head_dim, 1e-5));
    CHECK(is_norm(norm(s.v), NormKind::rms, NormWeight::none, 1e-5));
    CHECK_FALSE(norm(s.q).adds_one);
    CHECK((order_of(s.q) == "nr" && order_of(s.v) == "n" && s.softmax_scale == 1.0));
}

TEST_CASE("steps: with attention_k_eq_v the values of Gemma 4's full layers come from the projection of the keys") {
    const auto shared = [](bool is) {
        return gemma4(6, {{"attention_k_eq_v", is}, {"num_global_key_value_heads", 1}, {"global_head_dim", 512}});
    };
    for (Index i = 0; i < 6; ++i) CHECK(steps(shared(true), i).values_from_key_projection == (i == 5));
    for (Index i = 0; i < 6; ++i) CHECK_FALSE(steps(shared(false), i).values_from_key_projection);
    CHECK(read(shared(true)).heads[5].k == 1);
    CHECK(read(shared(false)).heads[5].k == 2);
    CHECK_FALSE(steps(shared(true), 5).keys_are_values);
}

TEST_CASE("steps: the last layers of Gemma 4 read the keys of the last one of their kind that has any") {
    const ModelConfig got = read(gemma4(12, {{"num_kv_shared_layers", 4}}));
    const std::vector<Index> expected = {0, 1, 2, 3, 4, 5, 6, 7, 7, 7, 7, 5};
    for (Index i = 0; i < 12; ++i) CHECK(got.steps[support::size(i)].keys_of_layer == expected[support::size(i)]);
    for (Index i = 0; i < 12; ++i) CHECK(steps(gemma4(12, {{"num_kv_shared_layers", 0}}), i).keys_of_layer == i);
}

TEST_CASE("steps: kv_source_layers names the layer whose keys are read, which is none that comes later") {
    const Json latent = {{"qk_rope_head_dim", 64}, {"qk_nope_head_dim", 64}, {"kv_source_layers", {0, 1, 1, 3}}};
    const Json j = config_of("mistral_large4_text", 4, latent);
    const std::vector<Index> expected = {0, 1, 1, 3};
    for (Index i = 0; i < 4; ++i) CHECK(steps(j, i).keys_of_layer == expected[support::size(i)]);
    Json later = j;
    later["kv_source_layers"] = {0, 2, 1, 3};
    CHECK(refused(later) == "kv_source_layers[1] is 2; it must be the number of this layer or of one before it.");
}

TEST_CASE("steps: factors on values, keys and both, and the clip") {
    const auto factor = [](const auto& list) { return support::step(list, HeadStepKind::factor).number; };
    const auto clip = [](const Json& j) {
        const HeadSteps s = steps(j);
        CHECK((order_of(s.q) == "cr" && order_of(s.k) == "cr" && order_of(s.v) == "c"));
        return s.v[0].number;
    };
    CHECK(factor(steps(config_of("mimo_v2_flash", 6, {{"attention_value_scale", 0.5}})).v) == 0.5);
    CHECK(factor(steps(config_of("mimo_v2_flash", 6)).v) == 0.707);
    CHECK(factor(steps(config_of("falcon_h1", 1, {{"key_multiplier", 0.0625}})).k) == 0.0625);
    CHECK(order_of(steps(config_of("falcon_h1", 1, {{"key_multiplier", 0.0625}})).k) == "fr");
    CHECK(order_of(steps(config_of("falcon_h1", 1)).k) == "r");
    const HeadSteps filter = steps(config_of("openai_privacy_filter", 1, {{"head_dim", 64}}));
    CHECK((order_of(filter.q) == "rf" && order_of(filter.k) == "rf" && filter.softmax_scale == 1.0));
    CHECK((factor(filter.q) == factor(filter.k) && is_close(factor(filter.q), pow(Real(64.0), Real(-0.25)))));
    CHECK(clip(config_of("dbrx", 1, {{"attn_config", {{"clip_qkv", 8}, {"rope_theta", 1e4}}}})) == 8.0);
    CHECK(clip(config_of("olmo", 1, {{"clip_qkv", 6.5}})) == 6.5);
    CHECK(order_of(steps(config_of("roformer", 1, {{"rotary_value", true}})).v) == "r");
    CHECK(order_of(steps(config_of("roformer", 1)).v).empty());
}

TEST_CASE("steps: each list is in the order of the model's code") {
    const auto q = [](const char* type, const Json& more = Json::object()) {
        return order_of(steps(config_of(type, 4, more)).q);
    };
    CHECK(q("olmoe", {{"clip_qkv", 0.75}}) == "ncr");
    CHECK(q("olmo", {{"clip_qkv", 0.75}}) == "cr");
    CHECK(q("hunyuan_v1_moe") == "rn");
    CHECK(q("nanochat") == "rn");
    CHECK(q("params_of_llama4", {{"use_qk_norm", true}, {"dim", 1024}, {"n_heads", 8}, {"n_layers", 4}}) == "rn");
    CHECK(q("openai_privacy_filter") == "rf");
    CHECK(q("muse_spark", {{"qk_scale_factor", 2.0}}) == "nfr");
    const Json temperature = {{"rope_type", "default"},
                              {"rope_theta", 1e6},
                              {"llama_4_scaling_beta", 0.1},
                              {"original_max_position_embeddings", 4096}};
    const HeadSteps s = steps(config_of("ministral3", 1, {{"rope_parameters", temperature}}));
    CHECK((order_of(s.q) == "rt" && order_of(s.k) == "r"));
    for (const rope::detail::HfModel& type : rope::detail::kHfModels) {
        std::string order = type.order;
        CAPTURE(type.types, order);
        std::sort(order.begin(), order.end());
        CHECK((order == "cfnrt" || order == "cfkrt"));
    }
}

TEST_CASE("steps: the softmax of latent attention is scaled by the whole head, and by YaRN's magnitude twice") {
    const Json latent = {{"qk_rope_head_dim", 64}, {"qk_nope_head_dim", 128}};
    CHECK(is_close(steps(config_of("deepseek_v3", 1, latent)).softmax_scale, pow(Real(192.0), Real(-0.5))));
    const ModelConfig v3 = published("DeepSeek-V3");
    const Real g = support::magnitude_of_yarn(40.0);
    REQUIRE(v3.steps.size() == 61);
    CHECK(is_close(v3.steps[60].softmax_scale, pow(Real(192.0), Real(-0.5)) * g * g));
}

TEST_CASE("steps: one tensor is keys and values in DeepSeek-V4, and only they have a weight") {
    for (const HeadSteps& s : published("DeepSeek-V4-Flash").steps) {
        CHECK(s.keys_are_values);
        CHECK((order_of(s.q) == "nr" && order_of(s.k) == "nr" && order_of(s.v).empty() && order_of(s.output) == "b"));
        CHECK(is_norm(norm(s.q), NormKind::rms, NormWeight::none, 1e-6));
        CHECK(is_norm(norm(s.k), NormKind::rms, NormWeight::head_dim, 1e-6));
        CHECK(is_close(s.softmax_scale, pow(Real(512.0), Real(-0.5))));
    }
    CHECK_FALSE(published("DeepSeek-V3").steps[0].keys_are_values);
}

TEST_CASE("steps: q of LongCat is multiplied by the root of hidden_size over q_lora_rank") {
    const Json j =
        config_of("longcat_flash", 2, {{"hidden_size", 6144}, {"q_lora_rank", 1536}, {"qk_rope_head_dim", 64}});
    CHECK((order_of(steps(j).q) == "fr" && steps(j).q[0].number == 2.0));
    CHECK(order_of(steps(j).k) == "r");
}

TEST_CASE("steps: of dots3, keys alone have a norm; Zaya's heads have the length sqrt(head_dim)") {
    const HeadSteps s = steps(config_of("dots3_note_text", 3, {{"qk_rope_head_dim", 64}}));
    CHECK((order_of(s.q) == "r" && order_of(s.k) == "nr"));
    CHECK(is_norm(norm(s.k), NormKind::rms, NormWeight::head_dim, 1e-6));
    CHECK(is_norm(norm(steps(config_of("zaya", 2)).q), NormKind::rms, NormWeight::none, 0.0));
}

TEST_CASE("steps: Gemma 3n shares the keys of its last 15 layers, where the file does not say how many") {
    const ModelConfig m = read(config_of("gemma3n_text", 30));
    CHECK(m.steps[14].keys_of_layer == 14);
    CHECK(m.steps[15].keys_of_layer == 13);
    CHECK(m.steps[19].keys_of_layer == 14);
    CHECK(support::warns_of(
        m, "num_kv_shared_layers is missing; 15 was taken, the default of model_type \"gemma3n_text\"."));
}

TEST_CASE("steps: where the published code rounds in the rotation, and in the norm of DeepSeek-V4's queries") {
    using rope::RotateRounding;
    const auto rotation = [](const HeadSteps& s) { return support::step(s.k, HeadStepKind::rotation).rounding; };
    for (const char* type : {"olmo2", "ernie4_5", "deepseek_v2", "llama4_text"})
        CHECK(rotation(steps(config_of(type, 1, {{"qk_rope_head_dim", 64}}))) == RotateRounding::none);
    for (const char* type : {"cohere", "cohere2", "modernbert"})
        CHECK(rotation(steps(config_of(type, 1))) == RotateRounding::rows);
    for (const char* type : {"llama", "qwen3", "gemma3_text", "helium"})
        CHECK(rotation(steps(config_of(type, 1))) == RotateRounding::all);
    const HeadSteps s = published("DeepSeek-V4-Flash").steps[0];
    CHECK((rotation(s) == RotateRounding::rows && s.output[0].rounding == RotateRounding::rows));
    CHECK((norm(s.q).rounding == NormRounding::root && norm(s.k).rounding == NormRounding::none));
}

TEST_CASE("steps: factors that a model learned and convolutions are not described, and that is said") {
    for (const char* type : {"dory", "timesfm2_5", "zaya"}) CHECK(steps(config_of(type, 1)).has_other_steps);
    for (const char* type : {"qwen3", "falcon_h1", "llama"}) CHECK_FALSE(steps(config_of(type, 1)).has_other_steps);
}

TEST_CASE("steps: all layers of a drafter read another model's keys") {
    const ModelConfig m = read(gemma4(6, {{"num_kv_shared_layers", 6}}));
    for (const HeadSteps& s : m.steps) CHECK(s.keys_of_layer == -1);
    CHECK(refused(gemma4(6, {{"num_kv_shared_layers", 7}})) ==
          "num_kv_shared_layers is 7; it must be no more than there are layers.");
    CHECK(refused(config_of("mistral_large4_text", 6,
                            {{"qk_rope_head_dim", 64}, {"qk_nope_head_dim", 64}, {"kv_source_layers", {0}}})) ==
          "kv_source_layers has 1 entries; it must have one per layer (6).");
}
