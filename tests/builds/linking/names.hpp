// SPDX-License-Identifier: MIT
// Functions of a program's own that take the library's classes, in each unit: those of <rope/fwd.hpp>, and all others,
// which only a unit with whole classes has.
#pragma once

#include <rope/fwd.hpp>
#ifdef ROPE_TEST_WHOLE
#    include <rope/ggml.hpp>
#    include <rope/gguf_config.hpp>
#    include <rope/rope.hpp>
#    include <rope/testing.hpp>
#endif

#define ROPE_TEST_HANDED_ON(X)        \
    X(rope::Layout)                   \
    X(rope::half)                     \
    X(rope::bfloat16)                 \
    X(rope::Status)                   \
    X(rope::Schedule)                 \
    X(rope::Config)                   \
    X(rope::HeadSlice)                \
    X(rope::Frequencies)              \
    X(rope::Positions)                \
    X(rope::AxisPositions)            \
    X(rope::AxisMap)                  \
    X(rope::CosSinRows<double>)       \
    X(rope::CosSinCache<>)            \
    X(rope::CompactCosSinCache<>)     \
    X(rope::Rows<>)                   \
    X(rope::Moves<>)                  \
    X(rope::AngleRows<>)              \
    X(rope::WrappedRows<>)            \
    X(rope::TensorView<float>)        \
    X(rope::HeadSteps)                \
    X(rope::ModelConfig)              \
    X(rope::RotaryEmbedding<>)        \
    X(rope::RotaryStep<>)             \
    X(rope::Path)                     \
    X(rope::Destination)              \
    X(rope::QuantParameter)           \
    X(rope::HeadWeights)              \
    X(rope::AdditiveEmbedding<float>) \
    X(rope::SinusoidalEmbedding<>)    \
    X(rope::LearnedEmbedding<>)
#define ROPE_TEST_OTHERS(X)                    \
    X(rope::ToFloat)                           \
    X(rope::StatusCode)                        \
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
    X(rope::PositionsArgument)                 \
    X(rope::LeftOver)                          \
    X(rope::GridOrder)                         \
    X(rope::PromptSpan)                        \
    X(rope::NextSpan)                          \
    X(rope::PromptOptions)                     \
    X(rope::BasicPromptPositions<rope::Index>) \
    X(rope::BasicPromptPositions<double>)      \
    X(rope::CosSinView<float>)                 \
    X(rope::HeadRows)                          \
    X(rope::AngleSum)                          \
    X(rope::UnderHadamard)                     \
    X(rope::KeyPositions)                      \
    X(rope::NormKind)                          \
    X(rope::NormWeight)                        \
    X(rope::HeadNorm)                          \
    X(rope::HeadStepKind)                      \
    X(rope::HeadStep)                          \
    X(rope::LayerType)                         \
    X(rope::HeadCounts)                        \
    X(rope::Indexer)                           \
    X(rope::AttentionTemperature)              \
    X(rope::TableOptions)                      \
    X(rope::GgufTensors)                       \
    X(rope::StepNumbers)                       \
    X(rope::NormSpan)                          \
    X(rope::NormRounding)                      \
    X(rope::NormOptions)                       \
    X(rope::RotateRounding)                    \
    X(rope::Paged<float>)                      \
    X(rope::ScaleUse)                          \
    X(rope::Part)                              \
    X(rope::AtEverySize<int>)                  \
    X(rope::NoThrow<int>)                      \
    X(rope::RecipeRounding)                    \
    X(rope::RecipeOptions)                     \
    X(rope::SinusoidalVariant)                 \
    X(rope::reference::CosSin)                 \
    X(rope::reference::PairIndex)              \
    X(rope::testing::Model)                    \
    X(rope::testing::Options)                  \
    X(rope::testing::Place)                    \
    X(rope::testing::Measurement)              \
    X(rope::testing::Report)                   \
    X(rope::ggml::RopeParams)                  \
    X(rope::ggml::Tensor)

#define ROPE_TEST_TAKE(Class) const void* take(const Class& x);
#define ROPE_TEST_TAKES(unit)           \
    namespace unit {                    \
    ROPE_TEST_HANDED_ON(ROPE_TEST_TAKE) \
    int call_all();                     \
    }
ROPE_TEST_TAKES(plain)
ROPE_TEST_TAKES(avx2)
ROPE_TEST_TAKES(native)
ROPE_TEST_TAKES(v2)
ROPE_TEST_TAKES(noexcept_unit)
#ifdef ROPE_TEST_WHOLE
namespace plain {
ROPE_TEST_OTHERS(ROPE_TEST_TAKE)
}
namespace avx2 {
ROPE_TEST_OTHERS(ROPE_TEST_TAKE)
}
#endif
