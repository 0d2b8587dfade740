// SPDX-License-Identifier: MIT
// Declarations of the classes that a program hands from one of its parts to another, for headers that have them by
// reference or pointer. Each group names the header that completes it; all else has its header alone.
//
//     #include <rope/fwd.hpp>
//
//     class Attention {
//      public:
//         explicit Attention(const rope::ModelConfig& model);  // the source file includes <rope/model_config.hpp>
//         void step(const rope::RotaryEmbedding<>& rotary, const rope::TensorView<float>& q);
//     };
//
// Index, Layout, half and bfloat16 are complete types. Each of these names is the same in every translation unit of a
// program, with any flags.
#pragma once

#include "types.hpp"

#include "detail/base/hide_macros.hpp"

ROPE_BEGIN

// The answer of every check: <rope/errors.hpp>.
class Status;

// One rotary embedding and the slice of a head that rotates: <rope/config.hpp>; how its frequencies are made:
// <rope/schedule.hpp>; the frequencies: <rope/frequencies.hpp>.
struct Config;
struct HeadSlice;
class Schedule;
struct Frequencies;

// Where each token stands: <rope/positions.hpp>; on several axes: <rope/axis_positions.hpp>; the axis that each pair
// follows: <rope/axis_map.hpp>.
class Positions;
class AxisPositions;
struct AxisMap;

// Rows of cos and sin. T is float or double. What apply needs to know of all of them: <rope/cos_sin_rows.hpp>.
template <class T>
class CosSinRows;
// By position: <rope/cos_sin_cache.hpp>; for millions of positions: <rope/compact_cos_sin_cache.hpp>.
template <class T = float>
class CosSinCache;
template <class T = float>
class CompactCosSinCache;
// By token, built for each step: <rope/rows.hpp>; from old positions to new ones: <rope/moves.hpp>.
template <class T = float>
class Rows;
template <class T = float>
class Moves;
// Of angles that are data: <rope/angle_rows.hpp>.
template <class T = float>
class AngleRows;
// Made by other programs: <rope/wrapped_rows.hpp>.
template <class T = float>
class WrappedRows;

// Heads in memory: <rope/tensor_view.hpp>.
template <class T>
struct TensorView;

// A model, layer by layer: <rope/model_config.hpp>; the steps of a layer beside the rotation: <rope/head_steps.hpp>; the
// rotation of all layers, and of one step: <rope/rotary_embedding.hpp>.
struct ModelConfig;
struct HeadSteps;
template <class T = float>
class RotaryEmbedding;
template <class T = float>
class RotaryStep;

// Steps on heads in one pass: <rope/heads.hpp>; where they go: <rope/destinations.hpp>; the weights of a model's steps:
// <rope/recipe.hpp>.
class Path;
class Destination;
class QuantParameter;
struct HeadWeights;

// The additive encodings: <rope/additive.hpp>.
template <class T>
class AdditiveEmbedding;
template <class T = float>
class SinusoidalEmbedding;
template <class T = float>
class LearnedEmbedding;

ROPE_END

#include "detail/base/restore_macros.hpp"
