// SPDX-License-Identifier: MIT
// expect: deleted
#include <rope/rope.hpp>

void user(rope::Moves<float>& moves, __int128 delta) { moves.build(delta); }
