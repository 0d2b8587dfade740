// SPDX-License-Identifier: MIT
// What Hugging Face configurations leave to the code of each model type.
#pragma once

#include <cstring>

#include "../types.hpp"
#include "../version.hpp"

namespace rope {
inline namespace ROPE_VERSION_NAMESPACE {
namespace detail {

/// Peculiarities of a model type, as bits.
enum HfTrait : unsigned {
    kFixedTheta = 1,              ///< no key says the base or the part that turns, and that is no oversight
    kDeepSeekYarn = 2,            ///< "yarn" has DeepSeek's magnitude
    kNoRopeOnFullLayers = 4,      ///< only layers with a sliding window are rotated, unless sliding_window is null
    kReordersFeatures = 8,        ///< the published code rotates in the other layout than the weights have
    kLlama4 = 16,                 ///< layers without RoPE have a temperature, the others attend in chunks
    kEveryFourthNoRope = 32,      ///< unless no_rope_layers or no_rope_layer_interval say otherwise
    kSlidesEverywhere = 64,       ///< a sliding_window is that of every layer
    kSlidesIfAsked = 128,         ///< use_sliding_window: layers from max_window_layers on slide
    kScalingOnFullOnly = 256,     ///< sliding layers have the same base, and no scaling
    kMultiQuery = 512,            ///< "multi_query" is true where it is missing
    kAlibiWithFortyLayers = 1024  ///< the larger of its two models has no RoPE
};

/// The numbers are what a missing key means.
struct ROPE_ABI HfModel {
    const char* type = "";
    double theta = 10000.0;
    double local_theta = 0.0;   ///< of sliding layers, which then have no scaling; 0: that of the others
    double partial = 1.0;       ///< rotated part of a head
    Index rotary_dim = 0;       ///< the same, as a count
    Index pattern = 0;          ///< every pattern-th layer is full, the others slide (or have no attention)
    Index head_dim = 0;         ///< 0: hidden_size / num_attention_heads
    Index global_head_dim = 0;  ///< of full layers; 0: head_dim
    Index q_heads = 0;          ///< 0: must be said
    Index kv_heads = 0;         ///< 0: as many as q_heads
    Index max_positions = 0;    ///< 0: unknown
    double log_coefficient = 0.1;
    unsigned traits = 0;
    Layout layout = Layout::half_split;

    // This model type, and one thing more.
    ROPE_ABI constexpr HfModel with_theta(double value, double local = 0.0) const noexcept {
        HfModel m = *this;
        m.theta = value;
        m.local_theta = local;
        return m;
    }
    ROPE_ABI constexpr HfModel with_partial(double value) const noexcept {
        HfModel m = *this;
        m.partial = value;
        return m;
    }
    ROPE_ABI constexpr HfModel with_rotary_dim(Index value) const noexcept {
        HfModel m = *this;
        m.rotary_dim = value;
        return m;
    }
    ROPE_ABI constexpr HfModel with_pattern(Index value) const noexcept {
        HfModel m = *this;
        m.pattern = value;
        return m;
    }
    ROPE_ABI constexpr HfModel with_head_dim(Index value, Index of_full_layers = 0) const noexcept {
        HfModel m = *this;
        m.head_dim = value;
        m.global_head_dim = of_full_layers;
        return m;
    }
    ROPE_ABI constexpr HfModel with_heads(Index q, Index kv) const noexcept {
        HfModel m = *this;
        m.q_heads = q;
        m.kv_heads = kv;
        return m;
    }
    ROPE_ABI constexpr HfModel with_max_positions(Index value) const noexcept {
        HfModel m = *this;
        m.max_positions = value;
        return m;
    }
    ROPE_ABI constexpr HfModel with_log_coefficient(double value) const noexcept {
        HfModel m = *this;
        m.log_coefficient = value;
        return m;
    }
    ROPE_ABI constexpr HfModel with(unsigned more_traits) const noexcept {
        HfModel m = *this;
        m.traits |= more_traits;
        return m;
    }
};

/// x[2i] turns with x[2i+1].
ROPE_ABI constexpr HfModel interleaved_model(const char* type) noexcept {
    HfModel m;
    m.type = type;
    m.layout = Layout::interleaved;
    return m;
}
/// x[i] turns with x[i + rotary_dim / 2].
ROPE_ABI constexpr HfModel half_split_model(const char* type) noexcept {
    HfModel m;
    m.type = type;
    return m;
}

/// Source: the configuration and modeling files of transformers for each type, and those that models bring along.
inline constexpr HfModel kHfModels[] = {
    interleaved_model("chatglm").with_partial(0.5).with(kFixedTheta),
    interleaved_model("codegen").with_rotary_dim(64).with(kFixedTheta),
    interleaved_model("cohere"),
    interleaved_model("cohere2").with_pattern(4).with(kNoRopeOnFullLayers),
    interleaved_model("deepseek_v2").with(kDeepSeekYarn),
    interleaved_model("deepseek_v3").with(kDeepSeekYarn | kReordersFeatures),
    interleaved_model("deepseek_v32").with(kDeepSeekYarn | kReordersFeatures),
    interleaved_model("ernie4_5").with_theta(500000.0).with_head_dim(128),
    interleaved_model("ernie4_5_moe").with_theta(500000.0),
    interleaved_model("glm").with_partial(0.5).with_head_dim(128),
    interleaved_model("glm4").with_partial(0.5).with_head_dim(128),
    interleaved_model("glm4v_text").with_partial(0.5),
    interleaved_model("gptj").with_rotary_dim(64).with(kFixedTheta),
    interleaved_model("helium").with_theta(100000.0).with_head_dim(128),
    interleaved_model("kimi_k2").with(kDeepSeekYarn | kReordersFeatures),
    interleaved_model("llama4_text").with_theta(500000.0).with_head_dim(128).with(kLlama4 | kEveryFourthNoRope),
    interleaved_model("longcat_flash").with_theta(10000000.0).with(kDeepSeekYarn | kReordersFeatures),

    half_split_model("apertus").with_theta(12000000.0),
    half_split_model("arcee"),
    half_split_model("baichuan").with(kAlibiWithFortyLayers),
    half_split_model("bitnet").with_theta(500000.0),
    half_split_model("deepseek"),
    half_split_model("dots1"),
    half_split_model("exaone"),
    half_split_model("exaone4").with_pattern(4).with(kNoRopeOnFullLayers),
    half_split_model("exaone4_5_text").with_pattern(4).with(kNoRopeOnFullLayers),
    half_split_model("falcon").with_max_positions(2048).with(kMultiQuery),
    half_split_model("gemma").with_head_dim(256),
    half_split_model("gemma2").with_pattern(2).with_head_dim(256),
    half_split_model("gemma3_text")
        .with_theta(1000000.0, 10000.0)
        .with_pattern(6)
        .with_head_dim(256)
        .with_heads(8, 4)
        .with_max_positions(131072),
    half_split_model("gemma3n_text").with_theta(1000000.0, 10000.0).with_pattern(5).with_head_dim(256),
    half_split_model("gemma4_text").with_theta(1000000.0, 10000.0).with_pattern(6).with_head_dim(256, 512),
    half_split_model("gemma4_unified_text").with_theta(1000000.0, 10000.0).with_pattern(6).with_head_dim(256, 512),
    half_split_model("glm4_moe").with_partial(0.5),
    half_split_model("gpt_neox").with_partial(0.25),
    half_split_model("gpt_neox_japanese"),
    half_split_model("gpt_oss").with_theta(150000.0).with_pattern(2).with_head_dim(64),
    half_split_model("granite"),
    half_split_model("granitemoe"),
    half_split_model("hunyuan_v1_dense"),
    half_split_model("hunyuan_v1_moe"),
    half_split_model("hunyuan_vl_text"),
    half_split_model("internlm2"),
    half_split_model("internlm3").with_head_dim(128),
    half_split_model("jetmoe"),
    half_split_model("lfm2").with_theta(1000000.0),
    half_split_model("llama"),
    half_split_model("minimax_m2").with_theta(5000000.0).with_head_dim(128),
    half_split_model("ministral").with(kSlidesEverywhere),
    half_split_model("ministral3").with_theta(1000000.0).with_head_dim(128).with(kSlidesEverywhere),
    half_split_model("mistral").with(kSlidesEverywhere),
    half_split_model("mistral3").with(kSlidesEverywhere),
    half_split_model("mixtral").with_theta(1000000.0).with(kSlidesEverywhere),
    half_split_model("modernbert").with_theta(160000.0, 10000.0).with_pattern(3),
    half_split_model("nemotron").with_partial(0.5),
    half_split_model("olmo"),
    half_split_model("olmo2"),
    half_split_model("olmo3").with_theta(500000.0).with_pattern(4).with(kScalingOnFullOnly),
    half_split_model("olmoe"),
    half_split_model("persimmon").with_theta(25000.0).with_partial(0.5),
    half_split_model("phi").with_partial(0.5),
    half_split_model("phi3").with(kSlidesEverywhere),
    half_split_model("phi4_multimodal").with(kSlidesEverywhere),
    half_split_model("phimoe").with_theta(1000000.0).with(kSlidesEverywhere),
    half_split_model("qwen2").with(kSlidesIfAsked),
    half_split_model("qwen2_5_vl").with_theta(1000000.0).with(kSlidesIfAsked),
    half_split_model("qwen2_5_vl_text").with_theta(1000000.0).with(kSlidesIfAsked),
    half_split_model("qwen2_moe"),
    half_split_model("qwen2_vl").with_theta(1000000.0).with(kSlidesIfAsked),
    half_split_model("qwen2_vl_text").with_theta(1000000.0).with(kSlidesIfAsked),
    half_split_model("qwen3").with_head_dim(128).with(kSlidesIfAsked),
    half_split_model("qwen3_5").with_theta(10000000.0).with_partial(0.25).with_head_dim(256),
    half_split_model("qwen3_5_moe").with_theta(10000000.0).with_partial(0.25).with_head_dim(256),
    half_split_model("qwen3_5_moe_text").with_theta(10000000.0).with_partial(0.25).with_head_dim(256),
    half_split_model("qwen3_5_text").with_theta(10000000.0).with_partial(0.25).with_head_dim(256),
    half_split_model("qwen3_moe").with(kSlidesIfAsked),
    half_split_model("qwen3_next").with_partial(0.25).with_pattern(4).with_head_dim(256),
    half_split_model("qwen3_omni_moe_text").with_theta(1000000.0),
    half_split_model("qwen3_vl_moe_text").with_theta(5000000.0),
    half_split_model("qwen3_vl_text").with_theta(5000000.0).with_head_dim(128),
    half_split_model("seed_oss").with_head_dim(128),
    half_split_model("smollm3").with_theta(2000000.0).with(kEveryFourthNoRope),
    half_split_model("stablelm").with_partial(0.25),
    half_split_model("starcoder2").with(kSlidesEverywhere),
    half_split_model("telechat3").with_log_coefficient(0.07),
};

/// nullptr: a type that is not in the list.
ROPE_COLD const HfModel* find_hf_model(const char* type) noexcept {
    for (const HfModel& model : kHfModels)
        if (std::strcmp(model.type, type) == 0) return &model;
    return nullptr;
}

}  // namespace detail
}  // namespace ROPE_VERSION_NAMESPACE
}  // namespace rope
