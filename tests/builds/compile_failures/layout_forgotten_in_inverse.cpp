// SPDX-License-Identifier: MIT
// expect: This function needs the layout, which no tensor knows
#include <rope/core.hpp>

void user(rope::TensorView<float> x, const rope::CosSinCache<float>& cache) {
    rope::apply_inverse(x, cache, {5, 0, 7});
}
