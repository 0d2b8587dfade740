// SPDX-License-Identifier: MIT
// expect: rope::Positions does not own its list, and this one is a temporary
#include <rope/rope.hpp>

std::vector<int> made();

void user() { const rope::Positions p = made(); }
