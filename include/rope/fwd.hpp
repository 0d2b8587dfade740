// SPDX-License-Identifier: MIT
// Declarations of every class that a program can name, for headers that hand them on by reference or pointer. Each
// group names the header that completes it.
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
// program, with any flags; only schedule::Default, which is empty, belongs to the translation units with the same -m
// flags.
#pragma once

#include "types.hpp"

#include "detail/base/hide_macros.hpp"

ROPE_BEGIN

// The answer of every check, and how it reaches the caller: <rope/errors.hpp>.
enum class StatusCode : unsigned char;
class Status;
using CheckResult = Status;
template <class Executor>
class NoThrow;
// The names of instruction sets: <rope/isa.hpp>.
class IsaNames;
// A std::vector of numbers: <rope/list.hpp>.
template <class T>
class List;

// How frequencies are made: <rope/schedule.hpp>.
namespace schedule {
struct ROPE_ABI Default;
struct Ntk;
struct DynamicNtk;
enum class FactorSource : unsigned char;
enum class YarnMagnitude : unsigned char;
struct Yarn;
struct Llama3;
struct LongRope;
struct Proportional;
struct Axial;
struct Xpos;
struct FreqFactors;
struct Custom;
}  // namespace schedule
class Schedule;
// One rotary embedding, as a model's configuration has it, and the slice of a head that rotates: <rope/config.hpp>.
struct Config;
struct HeadSlice;
// How fast each pair rotates: <rope/frequencies.hpp>.
struct Frequencies;

// Where each token stands: <rope/positions.hpp>; on several axes: <rope/axis_positions.hpp>.
class Positions;
class PositionsArgument;
class AxisPositions;
// The axis that each pair follows: <rope/axis_map.hpp>.
struct AxisMap;
enum class LeftOver : unsigned char;
// The parts of images and prompts: <rope/position_builders.hpp>.
struct GridOrder;
struct PromptSpan;
enum class NextSpan : unsigned char;
struct PromptOptions;
template <class Number>
struct BasicPromptPositions;
using PromptPositions = BasicPromptPositions<Index>;

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
// Made by other programs: <rope/wrapped_rows.hpp>.
template <class T = float>
class WrappedRows;
template <class Number>
struct CosSinView;

// Heads in memory: <rope/tensor_view.hpp>; rows of weights: <rope/weights.hpp>.
template <class T>
struct TensorView;
struct HeadRows;

// The steps of a model beside the rotation: <rope/head_steps.hpp>.
enum class NormKind : unsigned char;
enum class NormWeight : unsigned char;
enum class NormRounding : unsigned char;
enum class RotateRounding : unsigned char;
struct HeadNorm;
struct HeadSteps;
// A model, layer by layer: <rope/model_config.hpp>; from GGUF metadata: <rope/gguf_config.hpp>.
enum class LayerType : unsigned char;
struct HeadCounts;
struct AttentionTemperature;
struct ModelConfig;
struct GgufTensors;
// The rotation of all layers of a model, and of one step: <rope/rotary_embedding.hpp>.
struct TableOptions;
template <class T = float>
class RotaryEmbedding;
template <class T = float>
class RotaryStep;

// Steps on heads in one pass: <rope/heads.hpp>; where they go: <rope/destinations.hpp>; executors: <rope/part.hpp>.
class StepNumbers;
enum class NormSpan : unsigned char;
struct NormOptions;
class Path;
template <class T>
struct Paged;
class Destination;
enum class ScaleUse : unsigned char;
class Part;
template <class Executor>
class AtEverySize;
// The steps of a model as paths: <rope/recipe.hpp>.
struct HeadWeights;
enum class RecipeRounding : unsigned char;
struct RecipeOptions;

// The additive encodings: <rope/additive.hpp>.
enum class SinusoidalVariant : unsigned char;
template <class T>
class AdditiveEmbedding;
template <class T = float>
class SinusoidalEmbedding;
template <class T = float>
class LearnedEmbedding;

// The slow and obvious rotation: <rope/reference.hpp>.
namespace reference {
struct CosSin;
struct PairIndex;
}  // namespace reference
// Checks of any rotating function: <rope/testing.hpp>.
// NOLINTBEGIN(bugprone-forward-declaration-namespace): other namespaces have classes of these names
namespace testing {
struct Model;
struct Options;
struct Place;
struct Measurement;
struct Report;
}  // namespace testing
// NOLINTEND(bugprone-forward-declaration-namespace)

ROPE_END

#include "detail/base/restore_macros.hpp"
