// SPDX-License-Identifier: MIT
// expect: its count no int, which would narrow 64 bits
#include <rope/core.hpp>

void user(rope::TensorView<float> x, const rope::CosSinCache<float>& cache) {
    rope::apply<rope::Layout::half_split>(x, cache, rope::start_at(0), [](int count, auto f) { f(0, count); });
}
