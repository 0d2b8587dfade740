// SPDX-License-Identifier: MIT
// expect: deleted
#include <rope/rope.hpp>

void user(float* q, const rope::CosSinCache<float>& cache) {
    rope::apply<rope::Layout::half_split>(rope::view(q, 1, 1, 8), cache, 5);
}
