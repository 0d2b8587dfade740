// SPDX-License-Identifier: MIT
// Functions of a program's own that take the library's classes, one for each class of <rope/fwd.hpp>, in each unit.
#pragma once

#include <rope/fwd.hpp>

#define ROPE_TEST_CLASSES(X)                   \
    X(rope::Layout)                            \
    X(rope::half)                              \
    X(rope::bfloat16)                          \
    X(rope::ToFloat)                           \
    X(rope::StatusCode)                        \
    X(rope::Status)                            \
    X(rope::IsaNames)                          \
    X(rope::List<double>)                      \
    X(rope::schedule::Ntk)                     \
    X(rope::schedule::DynamicNtk)              \
    X(rope::schedule::FactorSource)            \
    X(rope::schedule::YarnMagnitude)           \
    X(rope::schedule::Yarn)                    \
    X(rope::schedule::Llama3)                  \
    X(rope::schedule::LongRope)                \
    X(rope::schedule::Proportional)            \
    X(rope::schedule::Axial)                   \
    X(rope::schedule::Xpos)                    \
    X(rope::schedule::FreqFactors)             \
    X(rope::schedule::Custom)                  \
    X(rope::Schedule)                          \
    X(rope::Config)                            \
    X(rope::HeadSlice)                         \
    X(rope::Frequencies)                       \
    X(rope::PositionsArgument)                 \
    X(rope::Positions)                         \
    X(rope::AxisPositions)                     \
    X(rope::AxisMap)                           \
    X(rope::LeftOver)                          \
    X(rope::GridOrder)                         \
    X(rope::PromptSpan)                        \
    X(rope::NextSpan)                          \
    X(rope::PromptOptions)                     \
    X(rope::BasicPromptPositions<rope::Index>) \
    X(rope::BasicPromptPositions<double>)      \
    X(rope::CosSinRows<double>)                \
    X(rope::CosSinCache<>)                     \
    X(rope::CompactCosSinCache<>)              \
    X(rope::Rows<>)                            \
    X(rope::Moves<>)                           \
    X(rope::WrappedRows<>)                     \
    X(rope::CosSinView<float>)                 \
    X(rope::TensorView<float>)                 \
    X(rope::HeadRows)                          \
    X(rope::NormKind)                          \
    X(rope::NormWeight)                        \
    X(rope::HeadNorm)                          \
    X(rope::HeadStepKind)                      \
    X(rope::HeadStep)                          \
    X(rope::HeadSteps)                         \
    X(rope::LayerType)                         \
    X(rope::HeadCounts)                        \
    X(rope::AttentionTemperature)              \
    X(rope::ModelConfig)                       \
    X(rope::TableOptions)                      \
    X(rope::GgufTensors)                       \
    X(rope::RotaryEmbedding<>)                 \
    X(rope::RotaryStep<>)                      \
    X(rope::StepNumbers)                       \
    X(rope::NormSpan)                          \
    X(rope::NormRounding)                      \
    X(rope::NormOptions)                       \
    X(rope::RotateRounding)                    \
    X(rope::Path)                              \
    X(rope::Paged<float>)                      \
    X(rope::Destination)                       \
    X(rope::ScaleUse)                          \
    X(rope::Part)                              \
    X(rope::AtEverySize<int>)                  \
    X(rope::NoThrow<int>)                      \
    X(rope::HeadWeights)                       \
    X(rope::RecipeRounding)                    \
    X(rope::RecipeOptions)                     \
    X(rope::SinusoidalVariant)                 \
    X(rope::AdditiveEmbedding<float>)          \
    X(rope::SinusoidalEmbedding<>)             \
    X(rope::LearnedEmbedding<>)                \
    X(rope::reference::CosSin)                 \
    X(rope::reference::PairIndex)              \
    X(rope::testing::Model)                    \
    X(rope::testing::Options)                  \
    X(rope::testing::Place)                    \
    X(rope::testing::Measurement)              \
    X(rope::testing::Report)

#define ROPE_TEST_TAKE(Class) const void* take(const Class& x);
#define ROPE_TEST_TAKES(unit)         \
    namespace unit {                  \
    ROPE_TEST_CLASSES(ROPE_TEST_TAKE) \
    int call_all();                   \
    }
ROPE_TEST_TAKES(plain)
ROPE_TEST_TAKES(avx2)
ROPE_TEST_TAKES(native)
ROPE_TEST_TAKES(v2)
ROPE_TEST_TAKES(noexcept_unit)
