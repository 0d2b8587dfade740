// SPDX-License-Identifier: MIT
// Properties of a model type, for the table of models.hpp, and of an architecture, for the table of GGUF.
#pragma once

#include <cstdint>

#include "../../../head_steps.hpp"
#include "../../../types.hpp"
#include "../../../version.hpp"
#include "../axis_schemes.hpp"

ROPE_DETAIL_BEGIN

using Traits = std::uint64_t;

/// Peculiarities of a model's layers, as bits. Bits of one file format begin at kFirstOwnTrait.
inline constexpr Traits kNoRopeOnFullLayers =
    1;  ///< layers with full attention are not rotated (GGUF: where others slide)
inline constexpr Traits kEveryFourthNoRope =
    2;  ///< layers 3, 7, 11, ... are not rotated, unless the file says otherwise
inline constexpr Traits kAlibiWithFortyLayers = 4;  ///< the larger of two models has ALiBi
inline constexpr Traits kScalingOnFullOnly = 8;     ///< layers that slide have no scaling
inline constexpr Traits kLastIsFull = 16;           ///< the last layer is full in any pattern
inline constexpr Traits kFirstIsFull = 32;          ///< the first layer is full in any pattern
inline constexpr Traits kPatternFromTheEnd = 64;    ///< the pattern ends with the last layer
inline constexpr Traits kReordersFeatures =
    128;                                    ///< the published code rotates in the other layout than the weights have
inline constexpr Traits kRestIsFull = 256;  ///< layers at the end that fill no period of the pattern are full
inline constexpr Traits kFirstOwnTrait = 512;

/// Peculiarities of a model type, as bits beside the traits of its layers.
inline constexpr Traits kNoRope = kFirstOwnTrait;  ///< no layer is rotated, regardless of keys
inline constexpr Traits kFixedTheta =
    kFirstOwnTrait << 1;  ///< files have no key for the base or the rotated part, which is no reason to warn
inline constexpr Traits kDeepSeekYarn = kFirstOwnTrait << 2;          ///< "yarn" has DeepSeek's magnitude
inline constexpr Traits kYarnWithoutMagnitude = kFirstOwnTrait << 3;  ///< "yarn" has magnitude 1 unless a key says it
inline constexpr Traits kAllRotateWithoutWindow = kFirstOwnTrait
                                                  << 4;  ///< kNoRopeOnFullLayers, unless sliding_window is null
inline constexpr Traits kLlama4 = kFirstOwnTrait << 5;   ///< layers without RoPE have a temperature, others see chunks
inline constexpr Traits kSlidesEverywhere = kFirstOwnTrait << 6;  ///< a sliding_window applies to every layer
inline constexpr Traits kSlidesIfAsked = kFirstOwnTrait
                                         << 7;  ///< use_sliding_window: layers from max_window_layers on slide
inline constexpr Traits kMultiQuery = kFirstOwnTrait << 8;     ///< "multi_query" is true where it is missing
inline constexpr Traits kTrailingSlice = kFirstOwnTrait << 9;  ///< rotates the last features of a head, not the first
inline constexpr Traits kReversed = kFirstOwnTrait << 10;      ///< rotates every pair by minus the angle
inline constexpr Traits kLearnedLogScale = kFirstOwnTrait << 11;  ///< frequencies have factors in the weights
inline constexpr Traits kDensePrefixRotates = kFirstOwnTrait
                                              << 12;  ///< layers with a dense MLP are rotated, sliding or not
inline constexpr Traits kRopeIfTheta =
    kFirstOwnTrait << 13;  ///< rope_parameters without a base, and none beside them: no layer is rotated
inline constexpr Traits kKeysAreValues = kFirstOwnTrait << 14;  ///< one tensor serves as keys and values
inline constexpr Traits kValuesFromKeysIfAsked =
    kFirstOwnTrait << 15;  ///< attention_k_eq_v: full layers make values with the projection of keys
inline constexpr Traits kValuesFromKeys = kFirstOwnTrait << 16;  ///< full layers always do
inline constexpr Traits kRotatesValues = kFirstOwnTrait << 18;   ///< v is rotated, too
inline constexpr Traits kNormIfRotated = kFirstOwnTrait << 19;  ///< layers that are not rotated have no norm of q and k
inline constexpr Traits kHalfHeadScale = kFirstOwnTrait << 20;  ///< the softmax scale is 1 / sqrt(head_dim / 2)
inline constexpr Traits kNeedsLayerTypes = kFirstOwnTrait << 21;   ///< some key must say which layers attend
inline constexpr Traits kBaseInAttnConfig = kFirstOwnTrait << 23;  ///< attn_config.rope_theta
inline constexpr Traits kFixedLayout = kFirstOwnTrait << 24;       ///< rope_interleave is not read
inline constexpr Traits kLastIsAlwaysFull = kFirstOwnTrait << 25;  ///< even if layer_types says otherwise
inline constexpr Traits kReadsPartial = kFirstOwnTrait << 26;  ///< partial_rotary_factor counts, though 1 by default
inline constexpr Traits kThetaListIsSwitch =
    kFirstOwnTrait << 27;  ///< layer_rope_theta: 0 is no RoPE, other numbers mean the base of all layers
inline constexpr Traits kRopeByEntry =
    kFirstOwnTrait << 22;  ///< kinds of layers without an entry have no RoPE; without entries, full layers have none

inline constexpr Traits kScalesByQueryRank = kFirstOwnTrait
                                             << 29;  ///< q is multiplied by sqrt(hidden_size / q_lora_rank)
inline constexpr Traits kSlidesUnlessToldNot = kFirstOwnTrait << 30;  ///< use_sliding_window false: no layer slides
inline constexpr Traits kRotatesInFloat = kFirstOwnTrait << 31;  ///< the published code rounds nothing in the rotation
inline constexpr Traits kRotatesByRoundedRows = kFirstOwnTrait << 32;  ///< it rounds cos and sin, nothing else
inline constexpr Traits kHasOtherSteps = kFirstOwnTrait << 33;  ///< q, k or v have steps that HeadSteps cannot describe
inline constexpr Traits kMixedNtk = kFirstOwnTrait << 34;       ///< "ntk" has the formula of GTE
inline constexpr Traits kLinearRotates = kFirstOwnTrait << 35;  ///< linear_rope: layers of linear attention are rotated
inline constexpr Traits kValueEmbeddings =
    kFirstOwnTrait << 36;  ///< the first and the last full layer add a learned embedding of the token to v
inline constexpr Traits kClips = kFirstOwnTrait << 37;            ///< clip_qkv is read
inline constexpr Traits kReadsParamsJson = kFirstOwnTrait << 39;  ///< the file is a params.json of Mistral or Llama
inline constexpr Traits kRopeTypeBeside = kFirstOwnTrait << 38;   ///< rope_type stands beside rope_theta

/// A number that a key says, and its default.
struct KeyedNumber {
    const char* key = nullptr;
    double value = 1.0;
};

/// A model type. Numbers are defaults of missing keys.
struct HfModel {
    const char* types = "";  ///< all types with these properties, with spaces between
    double theta = 10000.0;
    double local_theta = 0.0;     ///< of sliding layers, which then have no scaling; 0: the same theta
    double partial = 1.0;         ///< rotated part of a head
    Index rotary_dim = 0;         ///< the same, as a count
    Index latent_dim = 0;         ///< qk_rope_head_dim of multi-head latent attention
    const char* parameters = "";  ///< rope_parameters, as JSON, where they differ by layer or have a schedule
    const char* pattern = "";     ///< see layer_of_pattern
    Index head_dim = 0;           ///< 0: hidden_size / num_attention_heads
    Index global_head_dim = 0;    ///< of full layers; 0: head_dim
    Index linear_head_dim = 128;  ///< of layers of linear attention beside latent ones
    Index layers = 0, hidden = 0, q_heads = 0;  ///< 0: the file must say it
    Index kv_heads = 0;                         ///< 0: as many as q_heads
    Index max_positions = 0;                    ///< 0: unknown
    const char* length_key = nullptr;           ///< a key for it that means something else to most types
    Index shared_layers = 0;                    ///< num_kv_shared_layers
    double log_coefficient = 0.1;
    const AxisScheme* mrope = nullptr;  ///< null: the keys decide
    Index sections[3] = {};
    const char* rope_key = nullptr;    ///< a key that must have rope_value for any layer to be rotated
    const char* rope_value = nullptr;  ///< null: true
    HeadNorm norm = {};                ///< of q and k
    const char* norm_key = nullptr;    ///< the key that switches it
    bool norm_is_default = true;       ///< if that key is missing
    const char* eps_key = "rms_norm_eps";
    HeadNorm v_norm = {};
    /// The order of steps: n is a norm (k: but not of q), c the clamp, f a factor, r the rotation, t the temperature.
    const char* order = "ncfrt";
    KeyedNumber scale = {nullptr, 0.0};  ///< of the softmax; value 0: 1 / sqrt(head_dim)
    bool scale_is_inverse_root = false;  ///< 1 / sqrt(scale) is meant
    KeyedNumber q_factor = {}, k_factor = {}, v_factor = {};
    double clip = 0.0;  ///< q, k and v are clamped to -clip .. clip; 0: they are not
    Traits traits = 0;
    Layout layout = Layout::half_split;

    // Copies of this model type with one thing more.
    template <class T>
    constexpr HfModel with(T HfModel::*member, T value) const noexcept {
        HfModel m = *this;
        m.*member = value;
        return m;
    }
    constexpr HfModel with(Traits more_traits) const noexcept { return with(&HfModel::traits, traits | more_traits); }
    constexpr HfModel with_theta(double value, double local = 0.0) const noexcept {
        return with(&HfModel::theta, value).with(&HfModel::local_theta, local);
    }
    constexpr HfModel with_partial(double value) const noexcept { return with(&HfModel::partial, value); }
    constexpr HfModel with_rotary_dim(Index value) const noexcept { return with(&HfModel::rotary_dim, value); }
    constexpr HfModel with_latent_dim(Index value) const noexcept { return with(&HfModel::latent_dim, value); }
    constexpr HfModel with_parameters(const char* json) const noexcept { return with(&HfModel::parameters, json); }
    constexpr HfModel with_pattern(const char* value) const noexcept { return with(&HfModel::pattern, value); }
    constexpr HfModel with_head_dim(Index value, Index of_full_layers = 0) const noexcept {
        return with(&HfModel::head_dim, value).with(&HfModel::global_head_dim, of_full_layers);
    }
    constexpr HfModel with_shape(Index layer_count, Index hidden_size, Index q, Index kv) const noexcept {
        HfModel m = *this;
        m.layers = layer_count;
        m.hidden = hidden_size;
        m.q_heads = q;
        m.kv_heads = kv;
        return m;
    }
    constexpr HfModel with_max_positions(Index value) const noexcept { return with(&HfModel::max_positions, value); }
    constexpr HfModel with_shared_layers(Index value) const noexcept { return with(&HfModel::shared_layers, value); }
    constexpr HfModel with_log_coefficient(double value) const noexcept {
        return with(&HfModel::log_coefficient, value);
    }
    constexpr HfModel with_mrope(const AxisScheme& scheme, Index a = 0, Index b = 0, Index c = 0) const noexcept {
        HfModel m = with(&HfModel::mrope, &scheme);
        m.sections[0] = a;
        m.sections[1] = b;
        m.sections[2] = c;
        return m;
    }
    constexpr HfModel rotates_if(const char* key, const char* value = nullptr) const noexcept {
        return with(&HfModel::rope_key, key).with(&HfModel::rope_value, value);
    }
    constexpr HfModel with_norm(HeadNorm of_q_and_k, double eps, const char* key = "rms_norm_eps") const noexcept {
        of_q_and_k.eps = eps;
        return with(&HfModel::norm, of_q_and_k).with(&HfModel::eps_key, key);
    }
    constexpr HfModel norm_if(const char* key, bool is_default) const noexcept {
        return with(&HfModel::norm_key, key).with(&HfModel::norm_is_default, is_default);
    }
    constexpr HfModel with_v_norm(HeadNorm of_v, double eps) const noexcept {
        of_v.eps = eps;
        return with(&HfModel::v_norm, of_v);
    }
    constexpr HfModel with_scale(const char* key, double value, bool is_inverse_root = false) const noexcept {
        return with(&HfModel::scale, {key, value}).with(&HfModel::scale_is_inverse_root, is_inverse_root);
    }
    constexpr HfModel in_order(const char* steps) const noexcept { return with(&HfModel::order, steps); }
    constexpr HfModel with_factors(KeyedNumber q, KeyedNumber k = {}, KeyedNumber v = {}) const noexcept {
        return with(&HfModel::q_factor, q).with(&HfModel::k_factor, k).with(&HfModel::v_factor, v);
    }
};

/// Pairs (x[i], x[i + rotary_dim / 2]).
constexpr HfModel half_split_model(const char* types) noexcept { return HfModel().with(&HfModel::types, types); }
/// Pairs (x[2i], x[2i+1]).
constexpr HfModel interleaved_model(const char* types) noexcept {
    return half_split_model(types).with(&HfModel::layout, Layout::interleaved);
}
/// Multi-head latent attention: interleaved weights, which the published code reorders at each call.
constexpr HfModel latent_model(const char* types) noexcept {
    return interleaved_model(types).with(kDeepSeekYarn | kReordersFeatures);
}

// Norms of q and k, each to the letter of its publication: where it rounds, whether 1 is added.
inline constexpr NormRounding kTwice = NormRounding::normalised;
inline constexpr HeadNorm kRmsTwice = {NormKind::rms, NormWeight::head_dim, false, false, kTwice};
inline constexpr HeadNorm kRms = {NormKind::rms, NormWeight::head_dim};
inline constexpr HeadNorm kRmsPlusOne = {NormKind::rms, NormWeight::head_dim, true};
inline constexpr HeadNorm kRmsWeightless = {NormKind::rms, NormWeight::none};
inline constexpr HeadNorm kRmsAllHeads = {NormKind::rms, NormWeight::all_heads};
inline constexpr HeadNorm kRmsAllHeadsTwice = {NormKind::rms, NormWeight::all_heads, false, false, kTwice};
inline constexpr HeadNorm kL2 = {NormKind::l2, NormWeight::none};
inline constexpr HeadNorm kLayerNorm = {NormKind::layer_norm, NormWeight::head_dim, false, true};
inline constexpr HeadNorm kLayerNormEach = {NormKind::layer_norm, NormWeight::heads_x_head_dim};
inline constexpr HeadNorm kLayerNormEachBias = {NormKind::layer_norm, NormWeight::heads_x_head_dim, false, true,
                                                kTwice};
inline constexpr HeadNorm kLayerNormAllHeads = {NormKind::layer_norm, NormWeight::all_heads};

ROPE_DETAIL_END
