// SPDX-License-Identifier: MIT
// HeadSteps: the steps of a model on its heads beside the rotation, between the QKV projection and attention.
#pragma once

#include "types.hpp"
#include "version.hpp"

ROPE_BEGIN

/// A norm. x: one head, or all heads of a token (NormWeight::all_heads); w, b: weight and bias.
enum class NormKind : unsigned char {
    none,
    rms,        ///< x / sqrt(mean(x^2) + eps) * w
    l2,         ///< x / sqrt(sum(x^2) + eps) * w
    layer_norm  ///< (x - mean(x)) / sqrt(variance(x) + eps) * w + b
};

/// The shape of a norm's weight, which also defines the features that are normed together.
enum class NormWeight : unsigned char {
    none,              ///< no weight: over a head
    head_dim,          ///< [head_dim], the same for all heads: over a head
    heads_x_head_dim,  ///< [heads, head_dim]: over a head
    all_heads          ///< [heads * head_dim]: over all heads of a token, before they are split
};

/// Where a norm rounds to the type of the path's source, beside the rounding at the destination. Float and
/// double are not rounded. n is x * r, or (x - mean) * r; r = 1 / sqrt(...).
enum class NormRounding : unsigned char {
    none,        ///< nowhere: x * r * w in float
    normalised,  ///< n, then n * w: Llama's RMSNorm
    root         ///< r; without a weight also n: the norm of DeepSeek-V4's queries
};

/// Where the rotation rounds to the type of the path's source, beside the rounding at the destination.
enum class RotateRounding : unsigned char {
    none,  ///< nowhere: tables and arithmetic in float
    rows,  ///< cos and sin; arithmetic in float
    all    ///< cos and sin, both products and their sum
};

/// A norm that stands beside the rotation. It is computed over the features that `weight` says, each head for itself
/// unless they are all_heads.
struct HeadNorm {
    ROPE_CROSSES_AGGREGATE(HeadNorm)
    NormKind kind = NormKind::none;
    NormWeight weight = NormWeight::head_dim;
    /// Whether 1 is added to the weight, which is then stored around 0. (Files in GGUF have it added already.)
    bool adds_one = false;
    /// Whether a bias is added after the weight: b of NormKind::layer_norm.
    bool has_bias = false;
    /// Whether heads are rotated first.
    bool is_after_rotation = false;
    /// Where the published code rounds to the data's type, before it rounds the result.
    NormRounding rounding = NormRounding::none;
    /// Added to the mean or sum of squares, or to the variance, so that a head of zeros divides by no zero.
    double eps = 0.0;
};

/// The steps of one layer. In multi-head latent attention only the parts that rotate are described; norms of the
/// latents they are projected from are not. Gates, sinks and soft caps are not described here.
struct HeadSteps {
    ROPE_CROSSES_AGGREGATE(HeadSteps)
    HeadNorm q, k, v;
    /// Heads are multiplied by these; 1: they are not.
    double q_factor = 1.0, k_factor = 1.0, v_factor = 1.0;
    /// Whether q_factor and k_factor come after the rotation. (Either way, they come after a norm that is before it.)
    bool factors_follow_rotation = false;
    /// The factor on the products of q and k before the softmax, with ModelConfig::softmax_scale_factor and without
    /// q_factor and k_factor.
    double softmax_scale = 0.0;
    /// q, k and v are clamped to -clip .. clip, after their norms and before the rotation; 0: they are not.
    double clip = 0.0;
    /// Whether q, k or v have further steps that are not described here: factors that the model learned, convolutions.
    bool has_other_steps = false;
    /// Where the published code rounds to the data's type while it rotates; in most models everywhere.
    RotateRounding rotate_rounding = RotateRounding::all;
    /// Whether values are rotated, too.
    bool rotates_values = false;
    /// Values are made from the projected keys, before their norm and rotation; then v's norm follows (Gemma 4).
    bool values_from_key_projection = false;
    /// Whether the rotated keys are the values: one tensor serves as both (DeepSeek-V4).
    bool keys_are_values = false;
    /// The layer whose keys and values this layer reads: its own number, unless it reuses another layer's; -1: another
    /// model's (drafters such as Gemma 4's assistant).
    Index keys_of_layer = 0;
};

ROPE_END
