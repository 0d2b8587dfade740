// SPDX-License-Identifier: MIT
// expect: Elements must be float, double, rope::half or rope::bfloat16
#include <rope/rope.hpp>

void user(int* q, const rope::CosSinCache<float>& cache) {
    rope::apply<rope::Layout::half_split>(rope::view(q, 1, 1, 8), cache);
}
