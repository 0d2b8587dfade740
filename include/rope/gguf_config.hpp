// SPDX-License-Identifier: MIT
// The metadata of a GGUF file read into a ModelConfig. The caller opens the file: an engine has a parser, and this
// needs a function that finds a key, and up to three small tensors.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "model_config.hpp"
#include "types.hpp"

#include "detail/base/hide_macros.hpp"

ROPE_BEGIN

/// One value of a GGUF file: its integers of all widths as one of 64 bits, both kinds of floats as double, arrays of
/// integers or bools as integers, arrays of floats as double. (An array of strings is none of these; no key that is
/// asked for has one.)
using GgufValue = std::variant<bool, std::int64_t, std::uint64_t, double, std::string, std::vector<std::int64_t>,
                               std::vector<double>>;

/// Finds the value of a key, "llama.block_count" for example; std::nullopt when the file does not have it. Called at
/// most once for a key. Its exceptions pass through.
using GgufLookup = std::function<std::optional<GgufValue>(std::string_view key)>;

/// Tensors of a GGUF file that belong to its rotary embedding, one number per pair. Empty: not in the file.
struct GgufTensors {
    ROPE_CROSSES_AGGREGATE(GgufTensors)
    std::vector<float> rope_freqs;  ///< rope_freqs.weight, which divides angles (Llama 3.1, Gemma 4)
    std::vector<float> rope_factors_long, rope_factors_short;  ///< rope_factors_long.weight and short (LongRoPE)
};

/// Reads a model's layers, heads and rotary embeddings.
///
///     rope::ModelConfig model = rope::read_gguf_config(
///         [&](std::string_view key) -> std::optional<rope::GgufValue> { return file.find(key); },
///         {file.floats("rope_freqs.weight"), {}, {}});
///
/// Layout. GGUF does not store it: it follows from general.architecture (detail/readers/gguf/architectures.hpp has the
/// list and its source). An architecture that is not in the list is an error, unless `layout` is given; its layers are
/// then as the keys say, with a warning. A given layout beats the list's.
///
/// Keys. Each one but general.architecture has the architecture and a dot before it, "llama.block_count". Of an
/// architecture without RoPE only layers and heads are read.
///
///     key                                        missing means
///     general.architecture, block_count          an error
///     context_length                             unknown
///     embedding_length, attention.key_length     an error if both are missing
///     attention.head_count                       an error (not without RoPE)
///     attention.head_count_kv                    head_count; 0: a layer without attention
///     attention.sliding_window                   as the architecture has it, or an error; 0: no layer slides
///     attention.sliding_window_pattern           the same; every so many layers one is full, or a bool per layer
///     attention.rope_pattern                     as the architecture has it; whether each layer is rotated
///     attention.compress_rope_freq_base          160000, and a warning (DeepSeek-V4)
///     rope.dimension_count                       all of a head
///     rope.freq_base                             10000, and a warning
///     rope.scaling.original_context_length       context_length, and a warning
///     rope.scaling.yarn_beta_fast, yarn_beta_slow, yarn_ext_factor    32, 1, 1 (also when it is negative)
///
/// Without a default of their own: attention.key_length_swa, key_length_mla, value_length (checked, not used),
/// recurrent_layers, temperature_scale, temperature_length, compress_ratios; rope.dimension_count_swa,
/// dimension_sections, freq_base_swa, scale_linear (the older name of scaling.factor); rope.scaling.type, factor,
/// attn_factor, finetuned, alpha, yarn_attn_factor, yarn_log_multiplier; full_attention_interval, nextn_predict_layers,
/// leading_dense_block_count (Cohere 2 MoE), hyper_connection.count (DFlash).
///
/// ModelConfig::steps. The list names a Hugging Face type with the same norms for most architectures; for the others
/// steps is empty. Keys, all optional: attention.layer_norm_rms_epsilon or layer_norm_epsilon (missing: the type's),
/// attention.scale (of the softmax; missing or 0: 1 / sqrt of the features that q and k are multiplied over, or the
/// type's), attention.value_scale, attention.clamp_kqv, attention.shared_kv_layers (so many of the last layers reuse
/// keys and values of the last layer of their kind before them), expert_count (Llama 4).
///
/// Scaling. rope.scaling.type none and linear (also when missing) become Config::interpolation_factor and
/// Config::attention_factor, with schedule::FreqFactors if there is rope_freqs: angles are divided by both. yarn
/// becomes schedule::Yarn with the magnitude that ggml's callers arrange for, which is the models' own:
/// g(factor, mscale) / g(factor, mscale_all_dim) where yarn_log_multiplier gives mscale_all_dim, else g(factor, 1).
/// attn_factor multiplies it. yarn_attn_factor is the whole magnitude, in place of all these, as llama.cpp's conversion
/// writes the attention_factor of a config.json there, with a warning where it differs from what llama.cpp takes: its
/// loader does not read the key. (The conversion also writes a config.json's attn_factor there, which would multiply: a
/// number whose product with YaRN's own magnitude is 1 is read so, and the magnitude is 1.) DeepSeek's factor of the
/// softmax, g(factor, mscale_all_dim)^2, is ModelConfig::softmax_scale_factor. longrope (also when the type is missing
/// but its tensors are there) becomes schedule::LongRope, whose magnitude is attn_factor. rope_freqs together with yarn
/// or longrope is an error. rope.scaling.alpha becomes schedule::Ntk.
///
/// Multi-head latent attention: head_dim is rope.dimension_count, and heads are {q, 1, q}. DeepSeek-V4: the last
/// rope.dimension_count features of a head rotate; layers with a compress ratio have compress_rope_freq_base and the
/// scaling, with magnitude 1; the others slide, and have freq_base and no scaling.
///
/// Strict like read_hf_config: a missing key that is needed, a value of the wrong type or out of range, an array of the
/// wrong length is an error that names the key and its value. Defaults that were taken for want of a key, and keys that
/// are there and not used, are sentences in ModelConfig::warnings. But keys cannot be enumerated: there is no warning
/// for keys that this function does not know.
///
/// Throws std::invalid_argument. Allocates.
ROPE_IS_COLD ROPE_API ModelConfig read_gguf_config(const GgufLookup& get, const GgufTensors& tensors = {},
                                                   std::optional<Layout> layout = std::nullopt);

ROPE_END

#if ROPE_HAS_DEFINITIONS
#    include "detail/readers/gguf/reader.hpp"
#endif

#include "detail/base/restore_macros.hpp"
