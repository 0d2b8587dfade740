// SPDX-License-Identifier: MIT
// What every unit of the test offers the others: its results, and the library's types made and used.
#pragma once

#include <memory>
#include <string>

#include <rope/rope.hpp>

#ifdef ROPE_OTHER_VERSION
#    define ROPE_TEST_UNIT(name)    \
        namespace name {            \
        std::string results();      \
        std::string more_results(); \
        }
#else
#    define ROPE_TEST_UNIT(name)                                                                                \
        namespace name {                                                                                        \
        std::string results();                                                                                  \
        std::string more_results();                                                                             \
        rope::CosSinCache<float> cache();                                                                       \
        rope::CompactCosSinCache<float> compact();                                                              \
        rope::RotaryEmbedding<float> rotary();                                                                  \
        std::unique_ptr<rope::Rows<float>> rows();                                                              \
        std::unique_ptr<rope::Moves<float>> moves();                                                            \
        rope::SinusoidalEmbedding<float> sinusoidal();                                                          \
        rope::ModelConfig model();                                                                              \
        std::string read(rope::ModelConfig model);                                                              \
        std::string use(const rope::CosSinCache<float>& cache, rope::CompactCosSinCache<float> compact,         \
                        rope::RotaryEmbedding<float> rotary, std::unique_ptr<rope::Rows<float>> rows,           \
                        std::unique_ptr<rope::Moves<float>> moves, rope::SinusoidalEmbedding<float> sinusoidal, \
                        rope::Positions positions);                                                             \
        }
#endif
ROPE_TEST_UNIT(base)
ROPE_TEST_UNIT(v3)
ROPE_TEST_UNIT(v4)
ROPE_TEST_UNIT(other)
