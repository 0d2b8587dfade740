// SPDX-License-Identifier: MIT
// What GGUF files leave to the code of each architecture: which features form a pair, and which layers are like which.
#pragma once

#include <string_view>

#include "../../../types.hpp"
#include "../../../version.hpp"
#include "../layer_rules.hpp"

namespace rope {
inline namespace ROPE_VERSION_NAMESPACE {
namespace detail {
namespace gguf {  // names of its own, beside those of the other reader

/// ggml's kinds of RoPE.
enum class Rope : unsigned char {
    none,   ///< no layer is rotated
    norm,   ///< (x[2i], x[2i+1])
    neox,   ///< (x[i], x[i + rotary_dim/2])
    mrope,  ///< the pairs of neox, several axes one after the other
    imrope  ///< the pairs of neox, several axes taking turns
};

/// Peculiarities of an architecture, as bits beside those of its layers.
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
    kFirstOwnTrait << 6;  ///< several axes if there are sections (it sees), then the pairs of neox
inline constexpr Traits kFinetunedIsSwitch = kFirstOwnTrait << 7;  ///< rope.scaling.finetuned false: no RoPE
inline constexpr Traits kNeedsWindow = kFirstOwnTrait << 8;        ///< attention.sliding_window must be there
inline constexpr Traits kSlidesAnyway = kFirstOwnTrait
                                        << 9;  ///< a missing attention.sliding_window does not mean that none slides
inline constexpr Traits kNeedsPattern = kFirstOwnTrait << 10;  ///< attention.sliding_window_pattern must be there
/// What turns is a tensor of its own, with one key head for all query heads.
inline constexpr Traits kLatentAttention = kFirstOwnTrait << 12;
inline constexpr Traits kCompresses = kFirstOwnTrait
                                      << 11;  ///< DeepSeek-V4: the last features turn, by layers' compress ratios

struct ROPE_ABI Architecture {
    const char* name;
    Rope rope;
    Traits traits = 0;
    const char* pattern = "";   ///< see layer_of_pattern; sliding layers slide unless a key says otherwise
    double sliding_base = 0.0;  ///< rope.freq_base_swa, where no key says it; 0: rope.freq_base
};

/// Source: llama.cpp, in its state of 2026: llama_model_rope_type and the reading of hyperparameters in
/// src/llama-model.cpp and src/models, the conversions for the permuted rows. Two entries differ, because they tell of
/// the models and not of what llama.cpp can run: gptj, which it lists as having no RoPE, and starcoder and bert, which
/// it lists among others although their positions are learned. gpt-oss's "truncate": false is in its config.json.
inline constexpr Architecture kArchitectures[] = {
    // x[2i], x[2i+1]
    {"arcee", Rope::norm, kRowsPermuted},
    {"arctic", Rope::norm, kRowsPermuted},
    {"baichuan", Rope::norm, kRowsPermuted | kAlibiWithFortyLayers},
    {"bailingmoe", Rope::norm, kRowsPermuted},
    {"chameleon", Rope::norm, kRowsPermuted},
    {"chatglm", Rope::norm},
    {"cohere2", Rope::norm, kNoRopeOnFullLayers | kNeedsWindow, "sssf"},
    {"command-r", Rope::norm},
    {"deci", Rope::norm, kRowsPermuted},
    {"deepseek", Rope::norm, kRowsPermuted},
    {"deepseek2", Rope::norm, kLatentAttention | kYarnScalesSoftmax | kMscaleIsAllDim | kReordersFeatures},
    {"deepseek32", Rope::norm, kLatentAttention | kYarnScalesSoftmax | kReordersFeatures},
    {"ernie4_5", Rope::norm},
    {"ernie4_5-moe", Rope::norm},
    {"glm-dsa", Rope::norm, kLatentAttention | kYarnScalesSoftmax},
    {"glm4", Rope::norm, kOptionalSections},
    {"gptj", Rope::norm},
    {"granite", Rope::norm, kRowsPermuted | kFinetunedIsSwitch},
    {"granitehybrid", Rope::norm, kRowsPermuted | kFinetunedIsSwitch},
    {"granitemoe", Rope::norm, kRowsPermuted | kFinetunedIsSwitch},
    {"internlm2", Rope::norm, kRowsPermuted},
    {"llada", Rope::norm, kRowsPermuted},
    {"llama", Rope::norm, kRowsPermuted},
    {"llama-embed", Rope::norm, kRowsPermuted},
    {"llama4", Rope::norm, kNoRopeOnFullLayers | kSlidesAnyway, "cccf"},
    {"minicpm", Rope::norm, kRowsPermuted},
    {"mistral3", Rope::norm, kRowsPermuted | kPlainLogMultiplier},
    {"mistral4", Rope::norm, kLatentAttention | kYarnScalesSoftmax},
    {"neo-bert", Rope::norm},
    {"olmo", Rope::norm, kRowsPermuted},
    {"plm", Rope::norm, kLatentAttention | kReordersFeatures},
    {"smollm3", Rope::norm, kRowsPermuted | kEveryFourthNoRope},
    {"xverse", Rope::norm, kRowsPermuted},
    // x[i], x[i + rotary_dim / 2]
    {"afmoe", Rope::neox, kEveryFourthNoRope, "sssf"},
    {"apertus", Rope::neox},
    {"bailingmoe2", Rope::neox},
    {"bitnet", Rope::neox},
    {"codeshell", Rope::neox},
    {"cogvlm", Rope::neox},
    {"dbrx", Rope::neox},
    {"dots1", Rope::neox},
    {"dream", Rope::neox},
    {"eurobert", Rope::neox},
    {"exaone", Rope::neox},
    {"exaone-moe", Rope::neox, kNoRopeOnFullLayers | kNeedsWindow, "sssf"},
    {"exaone4", Rope::neox, kNoRopeOnFullLayers, "sssf"},
    {"falcon", Rope::neox},
    {"falcon-h1", Rope::neox},
    {"gemma", Rope::neox},
    {"gemma-embedding", Rope::neox, kNeedsWindow | kScalingOnFullOnly, "sssssf", 10000.0},
    {"gemma2", Rope::neox, kSlidesAnyway, "sf"},
    {"gemma3", Rope::neox, kScalingOnFullOnly, "sssssf", 10000.0},
    {"gemma3n", Rope::neox, kNeedsWindow | kScalingOnFullOnly, "ssssf", 10000.0},
    {"gemma4", Rope::neox, kNeedsWindow | kNeedsPattern | kScalingOnFullOnly, "", 10000.0},
    {"glm4moe", Rope::neox, kOptionalSections},
    {"gpt-oss", Rope::neox, kNeedsWindow | kYarnIsNotTruncated, "sf"},
    {"gptneox", Rope::neox},
    {"grok", Rope::neox, kBetaFastEight},
    {"grovemoe", Rope::neox},
    {"hunyuan-dense", Rope::neox},
    {"hunyuan-moe", Rope::neox},
    {"hunyuan_vl", Rope::neox, kOptionalSections},
    {"jais2", Rope::neox},
    {"jina-bert-v3", Rope::neox},
    {"lfm2", Rope::neox},
    {"lfm2moe", Rope::neox},
    {"llada-moe", Rope::neox},
    {"mellum", Rope::neox, kScalingOnFullOnly, "sssf"},
    {"mimo2", Rope::neox, kNeedsWindow | kNeedsPattern | kScalingOnFullOnly, "", 10000.0},
    {"minicpm3", Rope::neox, kLatentAttention},
    {"minimax-m2", Rope::neox},
    {"modern-bert", Rope::neox, kScalingOnFullOnly, "fss", 10000.0},
    {"nemotron", Rope::neox},
    {"nomic-bert", Rope::neox},
    {"nomic-bert-moe", Rope::neox},
    {"olmo2", Rope::neox, kScalingOnFullOnly, "sssf"},
    {"olmoe", Rope::neox},
    {"openelm", Rope::neox},
    {"orion", Rope::neox},
    {"pangu-embedded", Rope::neox},
    {"phi2", Rope::neox},
    {"phi3", Rope::neox},
    {"phimoe", Rope::neox},
    {"plamo", Rope::neox},
    {"plamo2", Rope::neox},
    {"plamo3", Rope::neox, kScalingOnFullOnly, "sssssssf", 10000.0},
    {"qwen", Rope::neox},
    {"qwen2", Rope::neox},
    {"qwen2moe", Rope::neox},
    {"qwen3", Rope::neox},
    {"qwen3moe", Rope::neox},
    {"qwen3next", Rope::neox, 0, "---f"},
    {"rnd1", Rope::neox},
    {"seed_oss", Rope::neox},
    {"smallthinker", Rope::neox, kNoRopeOnFullLayers, "fsss"},
    {"stablelm", Rope::neox},
    {"starcoder2", Rope::neox},
    // several axes
    {"paddleocr", Rope::mrope},
    {"qwen2vl", Rope::mrope},
    {"qwen35", Rope::imrope, 0, "---f"},
    {"qwen35moe", Rope::imrope, 0, "---f"},
    {"qwen3vl", Rope::imrope},
    {"qwen3vlmoe", Rope::imrope},
    // no RoPE
    {"arwkv7", Rope::none},
    {"bert", Rope::none},
    {"bloom", Rope::none},
    {"gpt2", Rope::none},
    {"jais", Rope::none},
    {"jamba", Rope::none},
    {"jina-bert-v2", Rope::none},
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
};

/// nullptr: an architecture that is not in the list.
ROPE_COLD const Architecture* find_architecture(std::string_view name) noexcept {
    for (const Architecture& architecture : kArchitectures)
        if (name == architecture.name) return &architecture;
    return nullptr;
}

}  // namespace gguf
}  // namespace detail
}  // namespace ROPE_VERSION_NAMESPACE
}  // namespace rope
