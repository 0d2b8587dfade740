// SPDX-License-Identifier: MIT
// rope: rotary position embedding on the CPU.
//
//     #include <rope/rope.hpp>
//     #include <vector>
//
//     int main() {
//         rope::Config config;
//         config.head_dim = 128;
//         config.base = 500000.0;                              // the model's rope_theta
//         const rope::CosSinCache<float> cache(config, 8192);  // once per model
//
//         std::vector<float> q(512 * 32 * 128, 1.0f), k(512 * 8 * 128, 1.0f);  // [seq, heads, head_dim]
//         rope::apply<rope::Layout::half_split>(rope::view(q.data(), 512, 32, 128),
//                                               rope::view(k.data(), 512, 8, 128),
//                                               cache, rope::start_at(100));  // in place, at positions 100, 101, ...
//     }
//
// This header is everything for tensors in memory and in Eigen. <rope/engine.hpp> is the same without Eigen, whose Core takes
// longer to compile than all of that; <rope/core.hpp> is only the rotation. Both need only the standard library. Not
// included here: <rope/hf_config.hpp> and <rope/gguf_config.hpp>, which read a model's own configuration,
// <rope/gradients.hpp>, which is for training, and <rope/testing.hpp>, which checks any rotating function, for your own
// unit tests.
#pragma once

#include "eigen.hpp"
#include "engine.hpp"
#include "reference.hpp"
