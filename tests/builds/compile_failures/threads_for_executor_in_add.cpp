// SPDX-License-Identifier: MIT
// expect: An executor is a callable, [](rope::Index count, auto&& f) { ... }
#include <rope/additive.hpp>

void user(rope::TensorView<float> x, const rope::SinusoidalEmbedding<float>& table) {
    table.add(x, rope::start_at(0), 4);
}
