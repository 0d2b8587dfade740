// SPDX-License-Identifier: MIT
// expect: write rope::start_at(n) for n, n+1, n+2, ..., or {n}.
#include <rope/rope.hpp>

void user(float* q, const rope::CosSinCache<float>& cache) {
    rope::apply<rope::Layout::half_split>(rope::view(q, 1, 1, 8), cache, 5);
}
