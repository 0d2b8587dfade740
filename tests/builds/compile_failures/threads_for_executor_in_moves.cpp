// SPDX-License-Identifier: MIT
// expect: An executor is a callable, [](rope::Index count, auto&& f) { ... }
#include <rope/moves.hpp>

void user(rope::Moves<float>& moves) { moves.build(rope::start_at(0), rope::start_at(4), 4, 1, 4); }
