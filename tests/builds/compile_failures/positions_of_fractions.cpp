// SPDX-License-Identifier: MIT
// expect: or a contiguous container of integers of up to 64 bits
#include <rope/rope.hpp>

void user(float* q, const std::vector<float>& positions, const rope::CosSinCache<float>& cache) {
    rope::apply<rope::Layout::half_split>(rope::view(q, 1, 1, 8), cache, positions);
}
