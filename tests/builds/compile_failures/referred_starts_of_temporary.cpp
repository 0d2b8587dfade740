// SPDX-License-Identifier: MIT
// expect: deleted
#include <rope/rope.hpp>

std::vector<int> made();

void user() { const rope::Positions& p = rope::start_at(made()); }
