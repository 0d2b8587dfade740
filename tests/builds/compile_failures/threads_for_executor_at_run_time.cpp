// SPDX-License-Identifier: MIT
// expect: An executor is a callable, [](rope::Index count, auto&& f) { ... }
#include <rope/core.hpp>

void user(rope::TensorView<float> x, const rope::CosSinCache<float>& cache, rope::Layout layout) {
    rope::apply(layout, x, cache, rope::start_at(0), 4);
}
