// SPDX-License-Identifier: MIT
// expect: An executor is a callable, [](rope::Index count, auto&& f) { ... }
#include <rope/heads.hpp>

void user(rope::TensorView<float> x, const rope::CosSinCache<float>& cache) {
    rope::pass<rope::Layout::half_split>(4, cache, rope::heads(x).rotate());
}
