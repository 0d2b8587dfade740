// SPDX-License-Identifier: MIT
// expect: double data needs a table of double
#include <rope/rope.hpp>

void user(double* q, const rope::CosSinCache<float>& cache) {
    rope::apply<rope::Layout::half_split>(rope::view(q, 1, 1, 8), cache);
}
