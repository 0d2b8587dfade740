// SPDX-License-Identifier: MIT
// expect: This function needs the layout, which no tensor knows
#include <rope/heads.hpp>

rope::Status user(rope::TensorView<float> x, const rope::CosSinCache<float>& cache) {
    return rope::check_pass(cache, rope::heads(x).rotate());
}
