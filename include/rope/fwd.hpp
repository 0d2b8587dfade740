// SPDX-License-Identifier: MIT
// Declarations of every class that a program can name, for headers that hand them on by reference or pointer:
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

namespace rope {
inline namespace ROPE_VERSION_NAMESPACE {

enum class StatusCode : unsigned char;
class Status;
using CheckResult = Status;
class IsaNames;
template <class T>
class List;

// Frequencies.
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
struct Config;
struct HeadSlice;
struct Frequencies;

// Positions.
class Positions;
class PositionsArgument;
class AxisPositions;
struct AxisMap;
enum class LeftOver : unsigned char;
struct GridOrder;
struct PromptSpan;
struct PromptPositions;

// Rows of cos and sin. T is float or double.
template <class T>
class CosSinRows;
template <class T = float>
class CosSinCache;
template <class T = float>
class CompactCosSinCache;
template <class T = float>
class Rows;
template <class T = float>
class Moves;
template <class T = float>
class WrappedRows;
template <class Number>
struct CosSinView;

// Views.
template <class T>
struct TensorView;
struct HeadRows;

// Models.
enum class NormKind : unsigned char;
enum class NormWeight : unsigned char;
struct HeadNorm;
struct HeadSteps;
enum class LayerType : unsigned char;
struct HeadCounts;
struct AttentionTemperature;
struct ModelConfig;
struct TableOptions;
struct GgufTensors;
template <class T = float>
class RotaryEmbedding;
template <class T = float>
class RotaryStep;

// The additive encodings.
enum class SinusoidalVariant : unsigned char;
template <class T>
class AdditiveEmbedding;
template <class T = float>
class SinusoidalEmbedding;
template <class T = float>
class LearnedEmbedding;

namespace reference {
struct CosSin;
struct PairIndex;
}  // namespace reference
// NOLINTBEGIN(bugprone-forward-declaration-namespace): other namespaces have classes of these names
namespace testing {
struct Model;
struct Options;
struct Place;
struct Measurement;
struct Report;
}  // namespace testing
// NOLINTEND(bugprone-forward-declaration-namespace)

}  // namespace ROPE_VERSION_NAMESPACE
}  // namespace rope

#include "detail/base/restore_macros.hpp"
