// SPDX-License-Identifier: MIT
// expect: write rope::ids(ptr, count).
#include <rope/rope.hpp>

void user(float* q, const int* positions, const rope::CosSinCache<float>& cache) {
    rope::apply<rope::Layout::half_split>(rope::view(q, 1, 1, 8), cache, positions);
}
