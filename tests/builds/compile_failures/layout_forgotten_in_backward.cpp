// SPDX-License-Identifier: MIT
// expect: This function needs the layout, which no tensor knows
#include <rope/gradients.hpp>

void user(rope::TensorView<float> x, const rope::CosSinCache<float>& cache) {
    rope::pass_backward(cache, rope::heads(x).rms_norm(1e-6).rotate(), x, x);
}
