// SPDX-License-Identifier: MIT
// A model's config.json, as Hugging Face has it, read into a ModelConfig. Needs nlohmann-json (3.10 or later); nothing
// else in the library does. With ROPE_SEPARATE_COMPILATION only the source file that includes <rope/src.hpp> needs it.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

#include "model_config.hpp"
#include "types.hpp"

#include "detail/base/hide_macros.hpp"

ROPE_BEGIN

/// The largest config.json that is read; models have some ten kilobytes, and two megabytes where they name twenty
/// thousand classes. In memory a text may take 50 times its size.
inline constexpr std::size_t kMaxConfigBytes = std::size_t(4) << 20;
/// The largest depth of nested objects and lists.
inline constexpr std::size_t kMaxConfigDepth = 32;

/// Reads the text of a config.json: old keys (rope_theta, rope_scaling) and new ones (rope_parameters), aliases, lists
/// and entries by layer or kind of layer, a language model nested in text_config, thinker_config, decoder_config or the
/// like (ModelConfig::path says where). Where several keys set one value, lists by layer beat rope_parameters, which
/// beats the keys outside it and the whole of rope_scaling; an outer original_max_position_embeddings beats an inner
/// one. A params.json, which Mistral and Llama publish beside weights in their own form, is read, too (without a
/// model_type, with dim, n_layers and n_heads). Infinity and NaN, which Python writes and JSON does not have, are read
/// where their key does not matter.
///
/// A table of some 390 types has the parts that a file leaves to the code of its model_type (see
/// detail/readers/hf/models.hpp): the layout, layers without RoPE, defaults, axes, and ModelConfig::steps. Numbers of
/// sequences and sequence lengths are the caller's: see frequencies(config, seq_len).
///
/// Strict: a missing key that a rope_type needs, an unknown rope_type or kind of layer, a list of the wrong length, a
/// value of the wrong JSON type or out of range is an error that names the key's path and its value. So is a model none
/// of whose layers is rotated, and a file whose model_type is not known and whose keys do not speak of a rotary
/// embedding (GPT-2, BERT). A key that is null is as good as missing.
///
/// ModelConfig::warnings has a sentence for each key that concerns RoPE or the kinds of layers and is not understood,
/// or loses against another key with another value; for a step that only other model types have (a norm, a clamp, a
/// factor); for a guess (the order of axes of an unknown type); for the keys of an indexer that is not
/// described; and for every default for the base, the part that rotates or a length, but for a key that files of this
/// model_type never have. (The parameters of schedules, such as beta_fast, have the defaults of schedule.hpp without a
/// warning.) A model_type that is not known always leaves a warning, which names the parts that were not checked;
/// Config::layout is then left open, unless `layout`, a key such as rope_interleave or a known class in architectures
/// says it. A given layout beats the one that is known.
///
/// Throws std::invalid_argument, for text that is no JSON, too (a byte order mark, comments and keys that stand twice in
/// an object are none), or that is larger than kMaxConfigBytes (4 MiB) or nested deeper than kMaxConfigDepth (32); for a
/// model of more than 16384 layers, or whose distinct rotary embeddings have more than 2^20 pairs together. Allocates.
ROPE_IS_COLD ROPE_API ModelConfig read_hf_config(std::string_view json_text,
                                                 std::optional<Layout> layout = std::nullopt);

ROPE_END

#if ROPE_HAS_DEFINITIONS
#    include "detail/readers/hf/reader.hpp"
#endif

#include "detail/base/restore_macros.hpp"
