// SPDX-License-Identifier: MIT
// expect: This function needs the layout, which no tensor knows
#include <rope/gradients.hpp>

void user(rope::TensorView<float> x, const rope::CosSinCache<float>& cache, rope::TensorView<double> to) {
    rope::add_angle_gradients(x, x, cache, to);
}
