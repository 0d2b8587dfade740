// SPDX-License-Identifier: MIT
// expect: build(deltas, seq), or two lists
#include <rope/rope.hpp>

#include <vector>

void user(rope::Moves<float>& moves, const std::vector<int>& deltas) { moves.build(deltas); }
