// SPDX-License-Identifier: MIT
// expect: this container is a temporary and would be gone. Give it a name.
#include <rope/rope.hpp>

std::vector<float> made();

void user() { (void)rope::embedding_view(made(), 1, 1, 8); }
