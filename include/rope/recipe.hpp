// SPDX-License-Identifier: MIT
// query_path, key_path, value_path, output_path: what a model does to its heads beside attention, as paths of a pass.
#pragma once

#include "errors.hpp"
#include "heads.hpp"
#include "model_config.hpp"
#include "positions.hpp"
#include "tensor_view.hpp"
#include "types.hpp"

#include "detail/base/hide_macros.hpp"

ROPE_BEGIN

/// The numbers of a layer that no configuration has: weights and biases of the norms beside its rotation, and the
/// attention temperatures of a step's tokens. Numbers that the layer does not have stay empty.
///
/// A weight or bias is a pointer, a container or a view, of [head_dim] numbers or, where NormWeight says
/// heads_x_head_dim or all_heads, of [heads, head_dim], one head after the other; heads are those of the path. Weights
/// from GGUF have 1 added already, and HeadNorm::adds_one of a model from GGUF is false.
///
/// q_squares and k_squares are for a rank that has only some heads of a model whose norm is over all heads of a token:
/// the sum over all ranks of what sum_squares makes of q and k. The weights are then those of the rank's heads.
///
/// `temperatures` has one number for each token, [batch, seq]: see fill_temperatures. Only queries of layers that have
/// an attention temperature read it, so that one list may stand in the weights of all layers.
struct HeadWeights {
    ROPE_CROSSES_AGGREGATE(HeadWeights)
    StepNumbers q_norm, q_norm_bias;
    StepNumbers k_norm, k_norm_bias;
    StepNumbers v_norm, v_norm_bias;
    StepNumbers temperatures;
    TensorView<const double> q_squares = {}, k_squares = {};
};

/// Where the paths of a recipe round, beside the rounding at their destination.
enum class RecipeRounding : unsigned char {
    once,         ///< nowhere: everything in float, which is nearest to the exact result
    as_published  ///< where the published code does: after each operation, and within norms and rotations
};

struct RecipeOptions {
    ROPE_CROSSES_AGGREGATE(RecipeOptions)
    RecipeRounding rounding = RecipeRounding::once;
    /// Whether q and k are left in the layout in which the published code leaves them, where that is not the weights'
    /// (ModelConfig::reference_uses_other_layout). Scores are the same, and a path that keeps the layout need not move
    /// any feature: this is for keys that such code reads or has written. If it is set for k, it must be for q.
    bool in_published_order = false;
    /// Whether each token stands at one position on all axes of the model, as text does. Only then may a path of a model
    /// with several axes (M-RoPE) be rotated by a table by position; else the pass refuses it, as the tokens of an image
    /// would get positions of text.
    bool axes_are_alike = false;
};

// A recipe takes the beginning of a path, rope::heads(x) or one with steps on it, adds the steps of the layer in the
// order of HeadSteps, and returns it. More steps and a destination may follow:
//
//     const rope::ModelConfig& model = rotary.model();               // rope::RotaryEmbedding<float> rotary
//     const auto table = rotary.table(layer);                        // in a layer without RoPE: of any other layer
//     rope::pass<rope::Layout::half_split>(
//         table->q, rope::start_at(n),
//         rope::query_path(model, layer, rope::heads(q), weights).multiply(scale).to(q_out),
//         rope::key_path(model, layer, rope::heads(k), weights).to(rope::paged(keys, pages, 16, 8, 128, slots)),
//         rope::value_path(model, layer, rope::heads(v), weights).to(rope::paged(values, pages, 16, 8, 128, slots)));
//
// The layout of the pass is that of the weights, model.layer(layer)->layout. The recipe owns nothing: what `weights` refers
// to must live until the pass. It does not allocate.
//
// With RecipeRounding::as_published the results are those of the published code in the type of the source, but for the
// order of a norm's sums, and for fused multiply-add where the rotation is in float.
//
// Multi-head latent attention. q and k are the parts that rotate (qk_rope_head_dim features); norms of latents are the
// engine's own: rope::heads(latent).rms_norm(...). Factors and temperature of q are for the whole of its heads:
// rope::heads(q_nope).multiply(q_factor).multiply(temperatures). xPos has a table for q and one for k: two passes.
//
// Images and video. Tokens of a model with several axes of positions have the rows of a RotaryStep, which is built for all
// layers at once; row s is that of token s. (rotary.table is for text, whose tokens stand at one position on all axes: set
// axes_are_alike to use it.)
//
//     step.build(rope::AxisPositions(prompt.positions, 3), prompt.tokens);    // rope::RotaryStep<float> step(rotary)
//     rope::pass<rope::Layout::half_split>(step.rows(layer)->q, rope::start_at(0), ...);    // the same paths
//
// Errors. std::out_of_range for a layer that the model does not have. std::invalid_argument if check_recipe refuses
// the layer; for a weight, a bias or temperatures that the layer needs and `weights` lacks, or that have another shape;
// for a weight or a bias that the layer does not have; for a second norm in a list of steps, and one of the output; for a
// norm over all heads of a token when the path has only some of them, and no squares; and as the functions say. A path
// with more than kMaxSteps steps, which no published model needs, is refused by the pass.

/// Queries.
ROPE_API Path query_path(const ModelConfig& model, Index layer, const Path& q, const HeadWeights& weights = {},
                         const RecipeOptions& options = {});

/// Keys. Throws std::invalid_argument in a layer that reads the keys of another one: see makes_keys.
ROPE_API Path key_path(const ModelConfig& model, Index layer, const Path& k, const HeadWeights& weights = {},
                       const RecipeOptions& options = {});

/// Values. If HeadSteps::values_from_key_projection is set, `v` is the projected keys, before their norm and rotation:
/// the path of keys then needs a destination of its own. Throws std::invalid_argument in a layer that has no values of
/// its own: see makes_values.
ROPE_API Path value_path(const ModelConfig& model, Index layer, const Path& v, const HeadWeights& weights = {},
                         const RecipeOptions& options = {});

/// The output of attention, [heads, head_dim] as q. Where rotated keys are the values (HeadSteps::keys_are_values) its
/// step is the rotation back, at the positions of the queries; in other layers it has none.
ROPE_API Path output_path(const ModelConfig& model, Index layer, const Path& output,
                          RecipeRounding rounding = RecipeRounding::once);
ROPE_API Path output_path(const ModelConfig& model, Index layer, const Path& output, const RecipeOptions& options);

/// Queries, [indexer->heads, head_dim], and keys, [1, head_dim], of a sparse layer's indexer: its norms, its rotation,
/// and, where ModelConfig::indexer says so, a Hadamard transform. `weights` has the norms of the indexer. Rows are
/// those of a table for indexer->config, in its layout; keys are usually cached in 8 bits:
///
///     const rope::Indexer& indexer = *model.indexer;
///     const rope::CosSinCache<float> index_rows(indexer.config, max_positions);       // once
///     rope::pass(*indexer.config.layout, index_rows, positions,
///                rope::indexer_query_path(model, layer, rope::heads(index_q)).to(q_out),
///                rope::indexer_key_path(model, layer, rope::heads(index_k), weights).to(rope::fp8_e4m3(codes, powers)));
///
/// For a model with several axes of positions rows are Rows(indexer.config, model.axis_map), or, for text, index_rows
/// above, with RecipeOptions::axes_are_alike.
///
/// Throws std::invalid_argument in a layer that is not sparse, and if the model has no known indexer.
ROPE_API Path indexer_query_path(const ModelConfig& model, Index layer, const Path& q, const HeadWeights& weights = {},
                                 const RecipeOptions& options = {});
ROPE_API Path indexer_key_path(const ModelConfig& model, Index layer, const Path& k, const HeadWeights& weights = {},
                               const RecipeOptions& options = {});

/// Whether the layer makes keys, or reads those of another layer or model (HeadSteps::keys_of_layer); whether it makes
/// values beside them: not where the keys are the values. Both throw as check_recipe says.
ROPE_API bool makes_keys(const ModelConfig& model, Index layer);
ROPE_API bool makes_values(const ModelConfig& model, Index layer);

/// Whether the steps of a layer are known, so that an engine can ask before it loads any weight. They are not if
/// ModelConfig::steps is empty (a model type that the readers do not know), in layers that attend to nothing or to
/// another input, and where HeadSteps::has_other_steps is set: such paths are made by hand.
ROPE_API Status check_recipe(const ModelConfig& model, Index layer) noexcept;

/// Writes ModelConfig::attention_temperature at each token's position, 1 if the model has none: once per step, for all
/// layers. `numbers` is rope::view(data, batch, seq, 1, 1) of any element type (double for data in double). Positions
/// are as for apply, from -2^52 to 2^52.
///
/// The number is computed in double and rounded once. Published code computes it in float, where the last bit may
/// differ, and multiplies by that (Llama 4) or rounds it to the type of q first (Ministral, Mistral 4): to get the
/// latter, give a view of that type.
///
/// Throws std::invalid_argument or std::out_of_range, as apply does, and for a view of another shape.
template <class T>
ROPE_ABI inline void fill_temperatures(const ModelConfig& model, PositionsArgument&& positions,
                                       const TensorView<T>& numbers);

ROPE_END

#include "detail/paths/recipe.hpp"

#include "detail/base/restore_macros.hpp"
