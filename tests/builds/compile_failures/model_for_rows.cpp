// SPDX-License-Identifier: MIT
// expect: a RotaryEmbedding has them in table(layer)
#include <rope/model_config.hpp>

void user(rope::TensorView<float> x, const rope::ModelConfig& model) {
    rope::apply<rope::Layout::half_split>(x, x, model);
}
