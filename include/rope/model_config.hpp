// SPDX-License-Identifier: MIT
// ModelConfig: the rotary embedding of a model as its configuration file describes it, layer by layer.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "axis_map.hpp"
#include "config.hpp"
#include "errors.hpp"
#include "head_steps.hpp"
#include "types.hpp"

#include "detail/base/hide_macros.hpp"

ROPE_BEGIN

/// The tokens that a layer attends to.
enum class LayerType : unsigned char {
    full_attention,
    sliding_attention,     ///< a window of past tokens
    chunked_attention,     ///< the tokens of its own chunk
    sparse_attention,      ///< past tokens or blocks that an indexer chooses
    compressed_attention,  ///< a window, and summaries of blocks of past tokens (DeepSeek-V4)
    linear_attention,      ///< a sum over all past tokens (Ring-linear): its queries and keys are rotated, too
    cross_attention,       ///< the tokens of another input, such as an image: nothing there is rotated
    no_attention           ///< linear attention without RoPE, a state space, a convolution: nothing there is rotated
};

/// Query and key and value heads of a layer. Multi-head latent attention has one key head that is rotated.
struct HeadCounts {
    ROPE_CROSSES_AGGREGATE(HeadCounts)
    Index q = 0, k = 0, v = 0;
};

/// The indexer of sparse attention: heads by whose scores a layer chooses the tokens that it attends to (DeepSeek-V3.2's
/// lightning indexer). Its keys, one head for each token, are cached beside those of attention. The layout
/// of their rotation may differ from attention's; many engines get that wrong.
struct Indexer {
    ROPE_CROSSES_AGGREGATE(Indexer)
    Index heads = 0;  ///< of its queries
    /// The indexer's tables are made of this. Only a part of each head rotates.
    Config config;
    HeadStepList q = {}, k = {};
    /// Whether engines transform q and k (Path::hadamard) before they are rounded to fp8 with a power of two for each head.
    /// Scores do not change, so long as both are, or neither.
    bool has_hadamard = false;
};

/// Some models multiply queries by a number that grows slowly with the position p, after the rotation:
/// 1 + scale * ln(1 + floor((p + shift) / period)).
struct AttentionTemperature {
    ROPE_CROSSES_AGGREGATE(AttentionTemperature)
    double scale = 0.0;  ///< 0: the model has none
    double period = 1.0;
    Index shift = 0;
    bool on_layers_with_rope = false;
    bool on_layers_without_rope = false;

    /// The number for a query at `position`; on the layers named above.
    ROPE_API double at(Index position) const noexcept;
};

/// Made by read_hf_config and read_gguf_config, or by hand: configs, with a layout each, and config_of_layer,
/// layer_types and heads with an entry per layer; for a RotaryEmbedding also max_position_embeddings, unless its
/// TableOptions say how many positions there are.
struct ModelConfig {
    ROPE_CROSSES_AGGREGATE(ModelConfig)
    std::string model_type;  ///< "model_type" of Hugging Face, "general.architecture" of GGUF
    /// Where in the file the language model is described, "text_config" for example; empty: the file itself.
    std::string path;
    Index max_position_embeddings = 0;

    /// The distinct rotary embeddings, and which of them each layer has: an index into `configs`, or -1 for none.
    ///
    /// Config::layout is the layout that the weights are stored for, if the model is known. In multi-head latent
    /// attention head_dim is the size of the part that rotates (qk_rope_head_dim), which is a tensor of its own in q
    /// and k.
    List<Config> configs;
    List<Index> config_of_layer;
    List<LayerType> layer_types;
    List<HeadCounts> heads;
    /// The steps on heads in their order, layer by layer, and shared keys. Empty if the reader does not know them.
    List<HeadSteps> steps;

    /// Of the layers of LayerType::sparse_attention. Empty where there are none, or their indexer is not known.
    std::optional<Indexer> indexer;

    /// The axis of each pair (M-RoPE), for Rows and Moves. Without entries, positions have one axis.
    AxisMap axis_map;

    /// A factor on the scores, beside 1 / sqrt(features of a whole query head) (DeepSeek with YaRN).
    double softmax_scale_factor = 1.0;
    AttentionTemperature attention_temperature;
    /// Config::layout fits the weights as they are stored, but the code published on Hugging Face for this model
    /// rotates in the other layout: it reorders features at every call (DeepSeek-V3), or the file's rows were permuted
    /// (llama.cpp's conversion of Llama). Keys from such code are in the other order; see permute_rows.
    bool reference_uses_other_layout = false;

    /// Sentences about keys that were not used, defaults that were taken, and parts that could not be checked.
    std::vector<std::string> warnings;

    /// The number of layers, of all types.
    ROPE_ABI Index layers() const noexcept { return static_cast<Index>(config_of_layer.size()); }

    /// The rotary embedding of layer i, or null where it has none. Throws std::out_of_range when there is no layer i.
    ROPE_API const Config* layer(Index i) const;
};

/// The longest sequence that the model's scaling is made for: the largest of max_position_embeddings, that times the
/// interpolation_factor, and, with YaRN, Llama 3 and LongRoPE, the original length times the factor. 0: not known. At
/// most 2^40.
ROPE_API Index scaled_length(const ModelConfig& model) noexcept;

/// Whether a ModelConfig can be used: its lists belong together, every Config passes check(config), and all of them have
/// at most 2^20 pairs together, so that a file of a few bytes does not cost hours.
ROPE_API Status check(const ModelConfig& model) noexcept;

ROPE_END

#if ROPE_HAS_DEFINITIONS
#    include "detail/angles/model_config.hpp"
#endif

#include "detail/base/restore_macros.hpp"
