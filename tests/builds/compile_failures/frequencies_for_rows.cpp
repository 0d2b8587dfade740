// SPDX-License-Identifier: MIT
// expect: No function of this name takes these arguments. In this order it takes one tensor, or two
#include <rope/core.hpp>

void user(rope::TensorView<float> x, const rope::Frequencies& frequencies) {
    rope::apply<rope::Layout::half_split>(x, frequencies);
}
