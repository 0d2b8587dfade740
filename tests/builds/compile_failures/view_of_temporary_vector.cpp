// SPDX-License-Identifier: MIT
// expect: this container is a temporary and would be gone. Give it a name.
#include <rope/rope.hpp>

std::vector<float> made();

void user(const rope::CosSinCache<float>& cache) {
    rope::apply<rope::Layout::half_split>(rope::view(made(), 1, 1, 8), cache);
}
