// SPDX-License-Identifier: MIT
// HeadSteps: the steps of a model on its heads, between the QKV projection and attention, in their order.
#pragma once

#include <array>

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

/// A norm. It is computed over the features that `weight` says, each head for itself unless they are all_heads.
struct HeadNorm {
    ROPE_CROSSES_AGGREGATE(HeadNorm)
    NormKind kind = NormKind::none;
    NormWeight weight = NormWeight::head_dim;
    bool adds_one = false;  ///< 1 is added to the weight, which is stored around 0. (Files in GGUF have it added.)
    bool has_bias = false;  ///< added after the weight: b of NormKind::layer_norm
    NormRounding rounding = NormRounding::none;  ///< of the published code, before it rounds the result
    double eps = 0.0;  ///< added to the mean or sum of squares, or to the variance: no head is divided by 0
};

/// A step, and the member of HeadStep that it reads.
enum class HeadStepKind : unsigned char {
    none,           ///< no step
    norm,           ///< norm
    clamp,          ///< number: heads are held within -number .. number
    factor,         ///< number: heads are multiplied by it
    rotation,       ///< rounding; by the layer's rotary embedding: a layer without one is not rotated
    rotation_back,  ///< rounding; the same by minus the angle
    temperature     ///< no member: heads are multiplied by ModelConfig::attention_temperature at their positions
};

struct HeadStep {
    ROPE_CROSSES_AGGREGATE(HeadStep)
    HeadStepKind kind = HeadStepKind::none;
    HeadNorm norm = {};
    double number = 1.0;
    RotateRounding rounding = RotateRounding::all;  ///< of the published code; in most models everywhere
};

/// Steps in the order of a model's code. At most one is a norm; those after the last are none.
using HeadStepList = std::array<HeadStep, 6>;

/// The steps of one layer, by default the rotation of q and k; output is that of attention. Of multi-head latent
/// attention only the parts that rotate are described. Norms of its latents, gates, sinks and soft caps are not.
struct HeadSteps {
    ROPE_CROSSES_AGGREGATE(HeadSteps)
    HeadStepList q = {{{HeadStepKind::rotation}}}, k = {{{HeadStepKind::rotation}}}, v = {}, output = {};
    /// The factor on the products of q and k before the softmax, with ModelConfig::softmax_scale_factor and without
    /// the factors of q and k.
    double softmax_scale = 0.0;
    /// Whether q, k or v have further steps that are not described here: factors that the model learned, convolutions.
    bool has_other_steps = false;
    /// Values are made from the projected keys, before their norm and rotation; then v's norm follows (Gemma 4).
    bool values_from_key_projection = false;
    /// Whether the rotated keys are the values: one tensor serves as both (DeepSeek-V4).
    bool keys_are_values = false;
    /// The layer whose keys and values this layer reads: its own number, unless it reuses another layer's; -1: another
    /// model's (drafters such as Gemma 4's assistant).
    Index keys_of_layer = 0;
};

/// The norm in a list of steps, which says the weights that it needs; null if there is none.
ROPE_ABI inline const HeadNorm* norm_of(const HeadStepList& steps) noexcept {
    for (const HeadStep& step : steps)
        if (step.kind == HeadStepKind::norm) return &step.norm;
    return nullptr;
}

ROPE_END
