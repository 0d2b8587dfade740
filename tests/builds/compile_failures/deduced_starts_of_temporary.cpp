// SPDX-License-Identifier: MIT
// expect: a variable of them is a rope::Positions, no PositionsArgument
#include <rope/rope.hpp>

std::vector<int> made();

void user(float* q, const rope::CosSinCache<float>& cache) {
    const auto p = rope::start_at(made());
    rope::apply<rope::Layout::half_split>(rope::view(q, 1, 1, 8), cache, p);
}
