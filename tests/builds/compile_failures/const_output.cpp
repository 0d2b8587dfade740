// SPDX-License-Identifier: MIT
// expect: This tensor is written, so its elements must not be const.
#include <rope/rope.hpp>

void user(const float* q, const rope::CosSinCache<float>& cache) {
    rope::apply<rope::Layout::half_split>(rope::view(q, 1, 1, 8), cache);
}
