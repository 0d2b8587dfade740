// SPDX-License-Identifier: MIT
// expect: characters or fractions): for a pointer write rope::ids
#include <rope/rope.hpp>

void user(float* q, const rope::CosSinCache<float>& cache) {
    rope::apply<rope::Layout::half_split>(rope::view(q, 1, 1, 8), cache, rope::start_at(12.5));
}
