// SPDX-License-Identifier: MIT
// expect: deleted
#include <rope/rope.hpp>

void user(rope::Moves<float>& moves, unsigned dropped) { moves.build(-dropped); }
