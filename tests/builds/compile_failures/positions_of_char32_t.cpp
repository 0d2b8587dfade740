// SPDX-License-Identifier: MIT
// expect: (not of bool, characters or fractions)
#include <rope/rope.hpp>

#include <string>

void user(float* q, const std::u32string& positions, const rope::CosSinCache<float>& cache) {
    rope::apply<rope::Layout::half_split>(rope::view(q, 1, 1, 8), cache, positions);
}
