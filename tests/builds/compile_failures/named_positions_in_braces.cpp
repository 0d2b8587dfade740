// SPDX-License-Identifier: MIT
// expect: rope::Positions does not own its list, and this one in braces would be gone
#include <rope/rope.hpp>

void user(rope::Index n) { const rope::Positions p = {n, 0, 7, 9}; }
