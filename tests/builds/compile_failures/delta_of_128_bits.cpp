// SPDX-License-Identifier: MIT
// expect: delta must be a signed integer of up to 64 bits
#include <rope/rope.hpp>

void user(rope::Moves<float>& moves, __int128 delta) { moves.build(delta); }
