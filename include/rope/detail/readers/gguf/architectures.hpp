// SPDX-License-Identifier: MIT
// Facts that GGUF files leave to the code of each architecture: the features of a pair, and the types of layers.
#pragma once

#include <string_view>

#include "../../../types.hpp"
#include "../../../version.hpp"
#include "../hf/model_type.hpp"

ROPE_DETAIL_BEGIN
namespace gguf {  // names apart from the other reader

/// ggml's kinds of RoPE.
enum class Rope : unsigned char {
    none,   ///< no layer is rotated
    norm,   ///< (x[2i], x[2i+1])
    neox,   ///< (x[i], x[i + rotary_dim/2])
    mrope,  ///< the pairs of neox, several axes one after the other
    imrope  ///< the pairs of neox, several axes interleaved
};
struct RopeKind {
    Layout layout;
    const AxisScheme* axes;  ///< null: positions have one axis
};
constexpr RopeKind kind_of(Rope rope) noexcept {
    switch (rope) {
        case Rope::norm: return {Layout::interleaved, nullptr};
        case Rope::mrope: return {Layout::half_split, &kChunkedAxes};
        case Rope::imrope: return {Layout::half_split, &kFourthAxis};
        case Rope::none:
        case Rope::neox: break;
    }
    return {Layout::half_split, nullptr};
}

/// Peculiarities of an architecture, as bits beside the traits of its layers.
inline constexpr Traits kRowsPermuted =
    kFirstOwnTrait;  ///< the conversion made rows of W_q and W_k interleaved, from half-split
inline constexpr Traits kYarnScalesSoftmax = kFirstOwnTrait
                                             << 1;  ///< DeepSeek: the square of g(factor, mscale_all_dim)
inline constexpr Traits kMscaleIsAllDim =
    kFirstOwnTrait << 2;  ///< mscale is not stored, and is mscale_all_dim (DeepSeek-V2 0.707, V3 1)
inline constexpr Traits kPlainLogMultiplier =
    kFirstOwnTrait << 3;  ///< yarn_log_multiplier is mscale_all_dim itself, not a tenth of it
inline constexpr Traits kYarnIsNotTruncated = kFirstOwnTrait << 4;  ///< "truncate": false, for which GGUF has no key
inline constexpr Traits kBetaFastEight = kFirstOwnTrait << 5;       ///< yarn_beta_fast is 8 unless a key says it
inline constexpr Traits kOptionalSections =
    kFirstOwnTrait << 6;  ///< a file with sections (of a vision model) has several axes, and the pairs of neox
inline constexpr Traits kFinetunedIsSwitch = kFirstOwnTrait << 7;  ///< rope.scaling.finetuned false: no RoPE
inline constexpr Traits kNeedsWindow = kFirstOwnTrait << 8;        ///< attention.sliding_window must be there
inline constexpr Traits kSlidesAnyway = kFirstOwnTrait
                                        << 9;  ///< a missing attention.sliding_window does not mean that none slides
inline constexpr Traits kNeedsPattern = kFirstOwnTrait
                                        << 10;  ///< where layers slide, attention.sliding_window_pattern must be there
inline constexpr Traits kCompresses = kFirstOwnTrait
                                      << 11;  ///< DeepSeek-V4: rotates the last features, by layers' compress ratios
inline constexpr Traits kLatentAttention = kFirstOwnTrait << 12;  ///< rotates a tensor of its own, with one key head
inline constexpr Traits kNeedsList = kFirstOwnTrait << 13;        ///< kNeedsPattern, and it must be a list
inline constexpr Traits kSlidesByList = kNeedsWindow | kNeedsList;
inline constexpr Traits kOneBase = kFirstOwnTrait << 14;            ///< rope.freq_base_swa is not read
inline constexpr Traits kNeedsSlidingBase = kFirstOwnTrait << 15;   ///< rope.freq_base_swa must be there
inline constexpr Traits kDenseLayersRotate = kFirstOwnTrait << 16;  ///< the first layers, leading_dense_block_count
inline constexpr Traits kHalfOnFullLayers = kFirstOwnTrait << 17;   ///< full layers rotate half of rope.dimension_count
inline constexpr Traits kIsDraft = kFirstOwnTrait << 18;            ///< all of its layers predict further tokens
inline constexpr Traits kNormFromForty = kFirstOwnTrait
                                         << 19;  ///< models of 40 layers or more norm q and k; others of 64 or more
inline constexpr Traits kWidthScale = kFirstOwnTrait
                                      << 20;  ///< Gemma 27B: the softmax scale is 1 / sqrt(embedding / heads)
inline constexpr Traits kNeedsRatios = kFirstOwnTrait << 21;  ///< attention.compress_ratios must be there

struct Architecture {
    const char* name;
    Rope rope;
    Traits traits = 0;
    const char* pattern = "";   ///< see layer_of_pattern; used where there is a window, or kSlidesAnyway
    double sliding_base = 0.0;  ///< rope.freq_base_swa, where no key says it; 0: rope.freq_base
    const char* hf_type = "";   ///< a type of hf/models.hpp with the same norms and scale; empty: not known
    const Architecture* with_hyper_connections = nullptr;  ///< the entry used where hyper_connection.count is above 0
};

/// DeepSeek-V4 and drafters made like it.
inline constexpr Traits kLikeDeepSeek4 = kCompresses | kNeedsWindow | kOneBase | kScalingOnFullOnly;
inline constexpr Architecture kDeepSeek4Drafter = {"", Rope::norm, kLikeDeepSeek4, "s", 0.0, "deepseek_v4"};

/// Source: llama.cpp, in its state of 2026: llama_model_rope_type and the reading of hyperparameters in
/// src/llama-model.cpp and src/models, the conversions for the permuted rows. Some entries differ, because this table
/// describes models, not the abilities of llama.cpp: gptj, which it lists as having no RoPE; starcoder and bert, which
/// it lists among others although their positions are learned. dflash, which it lists as mrope, may have one axis: the
/// pairs are the same. gpt-oss's "truncate": false is in its config.json.
inline constexpr Architecture kArchitectures[] = {
    // x[2i], x[2i+1]
    {"arcee", Rope::norm, kRowsPermuted, "", 0.0, "arcee"},
    {"arctic", Rope::norm, kRowsPermuted, "", 0.0, "llama"},
    {"baichuan", Rope::norm, kRowsPermuted | kAlibiWithFortyLayers, "", 0.0, "baichuan"},
    {"bailingmoe", Rope::norm, kRowsPermuted, "", 0.0, "llama"},
    {"bailingmoe3", Rope::norm, kLatentAttention | kReordersFeatures | kOptionalSections, "", 0.0, "bailing_hybrid"},
    {"chameleon", Rope::norm, kRowsPermuted, "", 0.0, "chameleon"},
    {"chatglm", Rope::norm, 0, "", 0.0, "chatglm"},
    {"cohere2", Rope::norm, kNoRopeOnFullLayers | kNeedsWindow, "sssf", 0.0, "cohere2"},
    {"cohere2moe", Rope::norm, kNoRopeOnFullLayers | kNeedsWindow | kNeedsPattern | kOneBase | kDenseLayersRotate,
     "fsss", 0.0, "cohere2_moe"},
    {"command-r", Rope::norm, 0, "", 0.0, "cohere"},
    {"deci", Rope::norm, kRowsPermuted, "", 0.0, "nemotron-nas"},
    {"deepseek", Rope::norm, kRowsPermuted, "", 0.0, "deepseek"},
    {"deepseek2", Rope::norm, kLatentAttention | kYarnScalesSoftmax | kMscaleIsAllDim | kReordersFeatures, "", 0.0,
     "deepseek_v3"},
    {"deepseek2-ocr", Rope::norm, kRowsPermuted, "", 0.0, "deepseek_ocr2_text"},
    {"deepseek32", Rope::norm, kLatentAttention | kYarnScalesSoftmax | kReordersFeatures, "", 0.0, "deepseek_v32"},
    {"deepseek4", Rope::norm, kLikeDeepSeek4 | kNeedsRatios, "s", 0.0, "deepseek_v4"},
    {"dots3note", Rope::norm, kLatentAttention | kReordersFeatures | kSlidesByList | kNeedsSlidingBase},
    {"eagle3", Rope::norm, kRowsPermuted, "", 0.0, "llama"},
    {"ernie4_5", Rope::norm, 0, "", 0.0, "ernie4_5"},
    {"ernie4_5-moe", Rope::norm, 0, "", 0.0, "ernie4_5_moe"},
    {"glm-dsa", Rope::norm, kLatentAttention | kYarnScalesSoftmax | kReordersFeatures, "", 0.0, "glm_moe_dsa"},
    {"glm4", Rope::norm, kOptionalSections, "", 0.0, "glm4"},
    {"gptj", Rope::norm, 0, "", 0.0, "gptj"},
    {"granite", Rope::norm, kRowsPermuted | kFinetunedIsSwitch, "", 0.0, "granite"},
    {"granite_swa", Rope::norm, kRowsPermuted | kSlidesByList | kOneBase, "", 0.0, "granite_swa"},
    {"granitehybrid", Rope::norm, kRowsPermuted | kFinetunedIsSwitch, "", 0.0, "granitemoehybrid"},
    {"granitemoe", Rope::norm, kRowsPermuted | kFinetunedIsSwitch, "", 0.0, "granitemoe"},
    {"graniteswitch", Rope::norm, kRowsPermuted | kFinetunedIsSwitch, "", 0.0, "granite"},
    {"hy_v4", Rope::norm, kLatentAttention, "", 0.0, "hy_v4"},
    {"internlm2", Rope::norm, kRowsPermuted, "", 0.0, "internlm2"},
    {"llada", Rope::norm, kRowsPermuted, "", 0.0, "llama"},
    {"llama", Rope::norm, kRowsPermuted, "", 0.0, "llama"},
    {"llama-embed", Rope::norm, kRowsPermuted, "", 0.0, "llama"},
    {"llama4", Rope::norm, kNoRopeOnFullLayers | kSlidesAnyway, "cccf", 0.0, "llama4"},
    {"maincoder", Rope::norm},
    {"minicpm", Rope::norm, kRowsPermuted, "", 0.0, "minicpm"},
    {"mistral3", Rope::norm, kRowsPermuted | kPlainLogMultiplier, "", 0.0, "ministral3"},
    {"mistral4", Rope::norm, kLatentAttention | kYarnScalesSoftmax | kReordersFeatures, "", 0.0, "mistral4"},
    {"muse-glimmer", Rope::norm,
     kRowsPermuted | kNoRopeOnFullLayers | kSlidesAnyway | kNeedsPattern | kScalingOnFullOnly, "sssf", 0.0,
     "muse_glimmer_assistant"},
    {"nanbeige", Rope::norm, kRowsPermuted, "", 0.0, "llama"},
    {"neo-bert", Rope::norm},
    {"olmo", Rope::norm, kRowsPermuted, "", 0.0, "olmo"},
    {"plm", Rope::norm, kLatentAttention | kReordersFeatures},
    {"pockettts", Rope::norm, 0, "", 0.0, "pocket_tts"},
    {"smollm3", Rope::norm, kRowsPermuted | kEveryFourthNoRope, "", 0.0, "smollm3"},
    {"xverse", Rope::norm, kRowsPermuted, "", 0.0, "xverse"},
    // x[i], x[i + rotary_dim / 2]
    {"afmoe", Rope::neox, kEveryFourthNoRope, "sssf", 0.0, "afmoe"},
    {"apertus", Rope::neox, 0, "", 0.0, "apertus"},
    {"bailingmoe2", Rope::neox},
    {"bitnet", Rope::neox, 0, "", 0.0, "bitnet"},
    {"codeshell", Rope::neox},
    {"cogvlm", Rope::neox},
    {"dbrx", Rope::neox, 0, "", 0.0, "dbrx"},
    {"dflash", Rope::neox, kOptionalSections | kNeedsList | kOneBase, "", 0.0, "qwen3", &kDeepSeek4Drafter},
    {"dots1", Rope::neox, 0, "", 0.0, "dots1"},
    {"dream", Rope::neox, 0, "", 0.0, "qwen2"},
    {"eurobert", Rope::neox, 0, "", 0.0, "eurobert"},
    {"exaone", Rope::neox, 0, "", 0.0, "exaone"},
    {"exaone-moe", Rope::neox, kNoRopeOnFullLayers | kNeedsWindow, "sssf", 0.0, "exaone_moe"},
    {"exaone4", Rope::neox, kNoRopeOnFullLayers, "sssf", 0.0, "exaone4"},
    {"falcon", Rope::neox, 0, "", 0.0, "falcon"},
    {"falcon-h1", Rope::neox, 0, "", 0.0, "falcon_h1"},
    {"gemma", Rope::neox, 0, "", 0.0, "gemma"},
    {"gemma-embedding", Rope::neox, kNeedsWindow | kScalingOnFullOnly, "sssssf", 10000.0, "gemma3_text"},
    {"gemma2", Rope::neox, kSlidesAnyway | kWidthScale, "sf", 0.0, "gemma2"},
    {"gemma3", Rope::neox, kScalingOnFullOnly | kWidthScale, "sssssf", 10000.0, "gemma3_text"},
    {"gemma3n", Rope::neox, kNeedsWindow | kScalingOnFullOnly, "ssssf", 10000.0, "gemma3n_text"},
    {"gemma4", Rope::neox, kSlidesByList | kScalingOnFullOnly, "", 10000.0, "gemma4_text"},
    {"gemma4-assistant", Rope::neox, kSlidesByList | kScalingOnFullOnly | kIsDraft, "", 10000.0, "gemma4_assistant"},
    {"glm4moe", Rope::neox, kOptionalSections, "", 0.0, "glm4_moe"},
    {"gpt-oss", Rope::neox, kNeedsWindow | kYarnIsNotTruncated, "sf", 0.0, "gpt_oss"},
    {"gptneox", Rope::neox, 0, "", 0.0, "gpt_neox"},
    {"grok", Rope::neox, kBetaFastEight},
    {"grovemoe", Rope::neox},
    {"hrm_text", Rope::neox, 0, "", 0.0, "hrm_text"},
    {"hunyuan-dense", Rope::neox, 0, "", 0.0, "hunyuan_v1_dense"},
    {"hunyuan-moe", Rope::neox, 0, "", 0.0, "hunyuan_v1_moe"},
    {"hunyuan_vl", Rope::neox, kOptionalSections, "", 0.0, "hunyuan_vl_text"},
    {"hy_v3", Rope::neox, 0, "", 0.0, "hy_v3"},
    {"jais2", Rope::neox, 0, "", 0.0, "jais2"},
    {"jina-bert-v3", Rope::neox, 0, "", 0.0, "jina_embeddings_v3"},
    {"laguna", Rope::neox, kScalingOnFullOnly | kNeedsSlidingBase, "fsss", 0.0, "laguna"},
    {"lfm2", Rope::neox, 0, "", 0.0, "lfm2"},
    {"lfm2moe", Rope::neox, 0, "", 0.0, "lfm2_moe"},
    {"llada-moe", Rope::neox},
    {"maple", Rope::neox, kNoRopeOnFullLayers | kSlidesByList},
    {"mellum", Rope::neox, kScalingOnFullOnly, "sssf", 0.0, "mellum"},
    {"mimo2", Rope::neox, kSlidesByList | kScalingOnFullOnly, "", 10000.0, "mimo_v2_flash"},
    {"minicpm3", Rope::neox, kLatentAttention, "", 0.0, "minicpm3"},
    {"minimax-01", Rope::neox, 0, "-------f", 0.0, "minimax_text_01"},
    {"minimax-m2", Rope::neox, 0, "", 0.0, "minimax_m2"},
    {"minimax-m3", Rope::neox, 0, "", 0.0, "minimax_m3"},
    {"modern-bert", Rope::neox, kScalingOnFullOnly, "fss", 10000.0, "modernbert"},
    {"nemotron", Rope::neox, 0, "", 0.0, "nemotron"},
    {"nomic-bert", Rope::neox, 0, "", 0.0, "nomic_bert"},
    {"nomic-bert-moe", Rope::neox, 0, "", 0.0, "nomic_bert"},
    {"olmo2", Rope::neox, kScalingOnFullOnly, "sssf", 0.0, "olmo2"},
    {"olmoe", Rope::neox, 0, "", 0.0, "olmoe"},
    {"openelm", Rope::neox},
    {"orion", Rope::neox, 0, "", 0.0, "orion"},
    {"pangu-embedded", Rope::neox},
    {"phi2", Rope::neox, 0, "", 0.0, "phi"},
    {"phi3", Rope::neox, 0, "", 0.0, "phi3"},
    {"phimoe", Rope::neox, 0, "", 0.0, "phimoe"},
    {"plamo", Rope::neox},
    {"plamo2", Rope::neox},
    {"plamo3", Rope::neox, kScalingOnFullOnly, "sssssssf", 10000.0},
    {"qwen", Rope::neox, 0, "", 0.0, "qwen"},
    {"qwen2", Rope::neox, 0, "", 0.0, "qwen2"},
    {"qwen2moe", Rope::neox, 0, "", 0.0, "qwen2_moe"},
    {"qwen3", Rope::neox, 0, "", 0.0, "qwen3"},
    {"qwen3moe", Rope::neox, 0, "", 0.0, "qwen3_moe"},
    {"qwen3next", Rope::neox, 0, "---f", 0.0, "qwen3_next"},
    {"rnd1", Rope::neox},
    {"seed_oss", Rope::neox, 0, "", 0.0, "seed_oss"},
    {"smallthinker", Rope::neox, kNoRopeOnFullLayers, "fsss"},
    {"spark2_5", Rope::neox, kSlidesByList},
    {"stablelm", Rope::neox, kNormFromForty, "", 0.0, "stablelm"},
    {"starcoder2", Rope::neox, 0, "", 0.0, "starcoder2"},
    {"step35", Rope::neox, kSlidesByList | kScalingOnFullOnly | kHalfOnFullLayers, "", 10000.0, "step3p5"},
    {"talkie", Rope::neox},
    // several axes
    {"paddleocr", Rope::mrope, 0, "", 0.0, "paddleocr_vl"},
    {"qwen2vl", Rope::mrope, 0, "", 0.0, "qwen2_vl"},
    {"qwen35", Rope::imrope, 0, "---f", 0.0, "qwen3_5"},
    {"qwen35moe", Rope::imrope, 0, "---f", 0.0, "qwen3_5_moe"},
    {"qwen3tts", Rope::imrope, 0, "", 0.0, "qwen3"},
    {"qwen3vl", Rope::imrope, 0, "", 0.0, "qwen3_vl"},
    {"qwen3vlmoe", Rope::imrope, 0, "", 0.0, "qwen3_vl_moe"},
    {"qwen4exp", Rope::imrope, 0, "---f", 0.0, "qwen4_exp"},
    // no RoPE
    {"arwkv7", Rope::none},
    {"bert", Rope::none},
    {"bloom", Rope::none},
    {"clip", Rope::none},
    {"glm5-next", Rope::none},
    {"gpt2", Rope::none},
    {"jais", Rope::none},
    {"jamba", Rope::none},
    {"jina-bert-v2", Rope::none},
    {"kimi-k3", Rope::none},
    {"kimi-linear", Rope::none},
    {"mamba", Rope::none},
    {"mamba2", Rope::none},
    {"mpt", Rope::none},
    {"nemotron_h", Rope::none},
    {"nemotron_h_moe", Rope::none},
    {"refact", Rope::none},
    {"rwkv6", Rope::none},
    {"rwkv6qwen2", Rope::none},
    {"rwkv7", Rope::none},
    {"starcoder", Rope::none},
    {"t5", Rope::none},
    {"t5encoder", Rope::none},
    {"wavtokenizer-dec", Rope::none},
};

/// nullptr for an architecture that is not in the list.
ROPE_COLD const Architecture* find_architecture(std::string_view name) noexcept {
    for (const Architecture& architecture : kArchitectures)
        if (name == architecture.name) return &architecture;
    return nullptr;
}

}  // namespace gguf
ROPE_DETAIL_END
