// SPDX-License-Identifier: MIT
// expect: double data needs a table of double
#include <rope/rope.hpp>

void user(float* q, double* out, const rope::CosSinCache<float>& cache) {
    rope::apply_copy<rope::Layout::half_split>(rope::view(q, 1, 1, 8), rope::view(out, 1, 1, 8), cache);
}
