// SPDX-License-Identifier: MIT
// expect: has an apply(layer, q, k, positions)
#include <rope/rotary_embedding.hpp>

void user(rope::TensorView<float> x, const rope::RotaryEmbedding<float>& rotary) {
    rope::apply<rope::Layout::half_split>(x, x, rotary, rope::start_at(0));
}
