// SPDX-License-Identifier: MIT
// expect: This function needs the layout, which no tensor knows
#include <rope/heads.hpp>

void user(rope::TensorView<float> x, const rope::CosSinCache<float>& cache) {
    rope::pass(cache, rope::start_at(0), rope::heads(x).rotate());
}
