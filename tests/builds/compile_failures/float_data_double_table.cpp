// SPDX-License-Identifier: MIT
// expect: double data needs a table of double
#include <rope/rope.hpp>

void user(float* q, const rope::CosSinCache<double>& cache) {
    rope::apply<rope::Layout::half_split>(rope::view(q, 1, 1, 8), cache);
}
