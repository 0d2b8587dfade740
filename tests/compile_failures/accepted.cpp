// SPDX-License-Identifier: MIT
// expect nothing: this one compiles, so that the others fail for their own reason.
#include <rope/rope.hpp>

void user(float* q, const rope::CosSinCache<float>& cache) {
    rope::apply<rope::Layout::half_split>(rope::view(q, 1, 1, 8), cache, rope::start_at(5));
}
