// SPDX-License-Identifier: MIT
// The names in config.json files: kinds of layers, names of one key, keys about RoPE.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string_view>

#include "../../../model_config.hpp"
#include "../fields.hpp"
#include "model_names.hpp"

ROPE_DETAIL_BEGIN

/// The names of layers in files.
struct LayerName {
    const char* name;
    LayerType type;
};
inline constexpr LayerName kLayerNames[] = {
    {"full_attention", LayerType::full_attention},
    {"sliding_attention", LayerType::sliding_attention},
    {"chunked_attention", LayerType::chunked_attention},
    {"attention", LayerType::full_attention},
    {"global_attention", LayerType::full_attention},
    {"hybrid", LayerType::full_attention},
    {"local_attention", LayerType::sliding_attention},
    {"window_attention", LayerType::sliding_attention},
    {"hybrid_sliding", LayerType::sliding_attention},
    {"reference_sliding_attention", LayerType::sliding_attention},
    {"indexed_attention", LayerType::sparse_attention},
    {"sparse_attention", LayerType::sparse_attention},
    {"deepseek_sparse_attention", LayerType::sparse_attention},
    {"qwen_sparse_attention", LayerType::sparse_attention},
    {"minimax_m3_sparse", LayerType::sparse_attention},
    {"compressed_sparse_attention", LayerType::compressed_attention},
    {"heavily_compressed_attention", LayerType::compressed_attention},
    {"cross_attention", LayerType::cross_attention},
    {"linear_attention", LayerType::no_attention},
    {"mamba", LayerType::no_attention},
    {"mamba2", LayerType::no_attention},
    {"conv", LayerType::no_attention},
    {"recurrent", LayerType::no_attention},
    {"moe", LayerType::no_attention},
    {"mlp", LayerType::no_attention},
};
/// Most words differ from a text in the first letter, which takes less than to measure them.
inline bool begins_with(std::string_view text, const char* word) noexcept {
    std::size_t i = 0;
    while (i < text.size() && word[i] != '\0' && text[i] == word[i]) ++i;
    return word[i] == '\0';
}
/// nullptr for an unknown name.
ROPE_COLD const LayerName* find_layer_name(std::string_view name) noexcept {
    for (const LayerName& known : kLayerNames)
        if (begins_with(name, known.name) && name == known.name) return &known;
    return nullptr;
}
ROPE_COLD const char* usual_name(LayerType type) noexcept {
    for (const LayerName& known : kLayerNames)
        if (type == known.type) return known.name;
    return "";
}

/// A key that says the kind of each layer. The first one in a file is used.
struct LayerKey {
    enum class Form : unsigned char {
        names,    ///< one per layer
        codes,    ///< 0 or another number per layer
        numbers,  ///< numbers of the layers called `other`; the first layer has the number `first`
        windows,  ///< null or a window per layer, repeated (Mistral's params.json)
        letters,  ///< one per layer, as Nemotron-H has them: M is a Mamba layer, * attention, E experts, - an MLP
        blocks    ///< an object per layer, as Nemotron-NAS has them: some have no attention
    };
    const char* key;
    Form form = Form::names;
    const char* zero = "";    ///< the name for code 0, or of layers that are not in the list of numbers
    const char* other = "";   ///< the name for other codes, or of layers that are
    const char* inside = "";  ///< an object that the key is in
    Index first = 0;
    bool repeats = false;
};
inline constexpr LayerKey kLayerKeys[] = {
    {"layer_types"},
    {"layers_block_type"},
    {"block_types", LayerKey::Form::names, "", "", "", 0, true},
    {"hybrid_override_pattern", LayerKey::Form::letters},
    {"hybrid_layer_pattern", LayerKey::Form::codes, "full_attention", "sliding_attention"},
    {"attn_type_list", LayerKey::Form::codes, "linear_attention", "full_attention"},
    {"sparse_attention_freq", LayerKey::Form::codes, "full_attention", "minimax_m3_sparse", "sparse_attention_config"},
    {"compress_ratios", LayerKey::Form::codes, "sliding_attention", "compressed_sparse_attention"},
    {"full_attn_layers", LayerKey::Form::numbers, "linear_attention", "full_attention", "linear_attn_config", 1},
    {"full_attn_idxs", LayerKey::Form::numbers, "conv", "full_attention"},
    {"attn_layer_indices", LayerKey::Form::numbers, "mamba", "full_attention"},
    {"hybrid_layer_ids", LayerKey::Form::numbers, "mamba", "full_attention"},
    {"block_configs", LayerKey::Form::blocks},
    {"sliding_window", LayerKey::Form::windows, "full_attention", "sliding_attention"},
    {"swa_layers", LayerKey::Form::numbers, "full_attention", "sliding_attention"},
};

/// Keys for the period of a pattern of layers.
inline constexpr Keys kPatternKeys = {"sliding_window_pattern", "_sliding_window_pattern", "global_attn_every_n_layers",
                                      "full_attention_interval", "layer_group_size"};

// Names of one key, in order of precedence.
inline constexpr Keys kLayerCountKeys = {"num_hidden_layers", "n_layer", "n_layers", "num_layers",
                                         "decoder_num_hidden_layers"};
inline constexpr Keys kLengthKeys = {
    "max_position_embeddings", "n_positions",         "max_seq_len",           "seq_length", "n_ctx",
    "model_max_length",        "max_sequence_length", "max_position_embedding"};
inline constexpr Keys kHiddenKeys = {"hidden_size", "n_embd", "d_model", "dim"};
inline constexpr Keys kHeadDimKeys = {"head_dim", "attention_head_dim", "kv_channels"};
inline constexpr Keys kQueryKeys = {"num_attention_heads", "n_head", "n_heads", "decoder_num_attention_heads"};
inline constexpr Keys kKeyKeys = {"num_key_value_heads",
                                  "num_kv_heads",
                                  "n_head_kv",
                                  "multi_query_group_num",
                                  "num_attention_groups",
                                  "num_query_groups",
                                  "decoder_num_key_value_heads",
                                  "n_kv_heads"};
inline constexpr Keys kPartKeys = {"partial_rotary_factor", "rotary_pct", "rope_pct", "rotary_emb_fraction"};

inline constexpr Keys kRopeTypeKeys = {"rope_type", "type"};
/// Keys of a rotary embedding beside rope_parameters.
inline constexpr Keys kRotaryKeys = {
    "rope_theta",         "rotary_emb_base",   "rope_ratio",          "rope_local_base_freq",
    "local_rope_theta",   "global_rope_theta", "rotary_dim",          "partial_rotary_factor",
    "rotary_pct",         "rope_pct",          "rotary_emb_fraction", "swa_rope_theta",
    "compress_rope_theta"};
/// Keys for the base of some kind of layers beside rope_parameters.
inline constexpr Keys kSlidingThetaKeys = {"rope_local_base_freq", "local_rope_theta", "swa_rope_theta"},
                      kCompressedThetaKeys = {"compress_rope_theta"}, kFullThetaKeys = {"global_rope_theta"};
/// Keys that need no warning: they repeat usual values.
inline constexpr Keys kHarmlessKeys = {"compress_rates",  "sliding_window_size", "sliding_windows",
                                       "rope_interleave", "original_rope",       "swa_v_head_dim"};
/// Keys that need no warning where they are false: they switch off a thing that no layer has then.
inline constexpr Keys kHarmlessIfFalse = {"use_sliding_window",
                                          "use_mrope",
                                          "use_alibi",
                                          "use_nope",
                                          "use_yarn",
                                          "use_xpos",
                                          "xpos",
                                          "use_dynamic_ntk",
                                          "use_logn_attn",
                                          "logn_attention_scale",
                                          "logn_attention_clip1",
                                          "use_swa",
                                          "use_hybrid_attention",
                                          "use_video_rope",
                                          "use_scaled_rope",
                                          "use_mla_nope",
                                          "alibi_scaling"};
/// Keys that need no warning where they are true: they switch on a thing that changes no result, or is usual.
inline constexpr Keys kHarmlessIfTrue = {"scale_attn_weights", "apply_query_key_layer_scaling"};
/// Names of the kind of position encoding, in order of precedence.
inline constexpr Keys kPositionKindKeys = {"position_embeddings_type",
                                           "position_embedding_type",
                                           "position_embedding",
                                           "position_encoding_type",
                                           "position_encoding",
                                           "pos_emb_type",
                                           "positional_encoding",
                                           "positional_embedding",
                                           "positional_encoding_type",
                                           "positional_embedding_type",
                                           "pos_embed",
                                           "pos_embed_type",
                                           "pe_type"};
/// Objects that hold the language model. Names in the second list may mean something else: they count where no
/// num_hidden_layers is beside them.
inline constexpr Keys kLanguageModelKeys = {"text_config", "llm_config", "language_config", "thinker_config",
                                            "talker_config"},
                      kPerhapsLanguageModelKeys = {"decoder_config", "decoder", "vlm_config"};

inline bool is_among(Keys keys, std::string_view key) noexcept {
    for (const char* const one : keys)
        if (begins_with(key, one) && key == one) return true;
    return false;
}
/// Whether one of these begins a word of the key. ("rope" is in "properties", but begins no word.)
inline bool has_word(std::string_view key, Keys words) noexcept {
    for (std::size_t at = 0; at < key.size(); ++at) {
        if (at != 0 && key[at - 1] >= 'a' && key[at - 1] <= 'z') continue;
        const std::string_view rest = key.substr(at);
        for (const char* const word : words)
            if (begins_with(rest, word)) return true;
    }
    return false;
}
ROPE_COLD bool concerns_rope(std::string_view key) noexcept {
    return has_word(key, {"rope", "mrope", "xdrope", "longrope", "nope", "rotary", "yarn", "alibi", "ntk", "logn",
                          "mscale", "xpos", "neox", "dual_chunk", "attn_temperature", "self_extend", "grp_attn"}) ||
           is_among(kPositionKindKeys, key);
}
/// A key is about a step on q, k or v if it has, in any order, a word for an owner and one for a norm or another step,
/// and no word of other things, such as a norm after attention.
inline constexpr Keys kStepOwners = {"q",      "k",     "v",       "qk",     "kq",   "qkv",
                                     "kqv",    "query", "queries", "key",    "keys", "value",
                                     "values", "qnorm", "knorm",   "qknorm", "attn", "attention"},
                      kNorms = {"norm", "norms", "normalize", "normalization", "layernorm", "layernorms", "rmsnorm",
                                "ln",   "l2",    "l2norm",    "qnorm",         "knorm",     "qknorm"},
                      kOtherSteps = {"clip",        "clamp",    "scale",     "scaling",    "scalar", "multiplier",
                                     "temperature", "residual", "embedding", "embeddings", "conv"},
                      kNoSteps = {"in", "out", "output", "init", "loss", "eps", "fp32", "lora", "alpha", "beta"};
/// Values of a norm's key that name the kind of norm which the code of the model has.
inline constexpr Keys kUsualNorms = {"per_head", "per_layer", "qwen3", "rms", "rmsnorm", "rms_norm"};
/// Whether one of these is a whole word of the key, which has underscores between its words.
inline bool has_whole_word(std::string_view key, Keys words) noexcept {
    for (std::size_t begin = 0, end = 0; end < key.size(); begin = end + 1) {
        end = (std::min)(key.find('_', begin), key.size());
        if (is_among(words, key.substr(begin, end - begin))) return true;
    }
    return false;
}
ROPE_COLD bool concerns_steps(std::string_view key) noexcept {
    const bool is_of_scores = has_whole_word(key, {"softmax"});
    if (!is_of_scores && !has_whole_word(key, kStepOwners)) return false;  // as most keys
    if (has_whole_word(key, kNoSteps)) return false;
    return has_whole_word(key, kOtherSteps) || (!is_of_scores && has_whole_word(key, kNorms));
}

/// Keys that only the code of some model types reads, each line of kHfModels by its first name. In a file of another type
/// that is known they are as good as missing, with a warning.
struct OwnKey {
    const char *key, *types;
};
inline constexpr const char* kGemma4Types =
    "gemma4_text gemma4_unified_text embedding_gemma2_text diffusion_gemma_text";
inline constexpr OwnKey kOwnKeys[] = {
    {"multi_query", "falcon"},
    {"rotary_value", "roformer"},
    {"rope_ratio", "chatglm"},
    {"rotary_scaling_factor", "nomic_bert"},
    {"num_kv_shared_layers", "gemma3n_text gemma4_text gemma4_unified_text gemma4_assistant diffusion_gemma_text"},
    {"kv_source_layers", "mistral_large4_text"},
    {"no_rope_layers", "llama4_text mistral_large4_text smollm3"},
    {"no_rope_layer_interval", "llama4_text mistral_large4_text smollm3"},
    {"global_head_dim", kGemma4Types},
    {"num_global_key_value_heads", kGemma4Types},
};
/// Whether a key is about which layers attend, or about the tokens that they see.
ROPE_COLD bool concerns_layers(std::string_view key) noexcept {
    for (const char* const other : {"mlp_", "moe_", "mtp_", "add_"})
        if (begins_with(key, other)) return false;
    if (has_whole_word(key, {"alpha", "beta", "mod"})) return false;  // factors of the residual stream; of kernels
    // clang-format off
    return has_word(key, {"layer_types", "layers_block_type", "block_types", "block_configs", "hybrid", "swa_", "sliding",
                          "attn_layer", "attention_layers", "attn_type", "attention_types", "attn_idxs",
                          "full_attention", "full_attn", "attn_every", "global_attn", "global_layers", "ssm_layers",
                          "kda_", "compress_ratio", "compress_rate", "position_encoding_2d", "per_layer_config",
                          "linear_attn"});
    // clang-format on
}

ROPE_DETAIL_END
