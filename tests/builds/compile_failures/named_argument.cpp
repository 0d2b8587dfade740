// SPDX-License-Identifier: MIT
// expect: a variable of them is a rope::Positions, no PositionsArgument
#include <rope/rope.hpp>

void user(float* q, const rope::CosSinCache<float>& cache) {
    const rope::PositionsArgument p = {5, 0, 7};
    rope::apply<rope::Layout::half_split>(rope::view(q, 1, 1, 8), cache, p);
}
