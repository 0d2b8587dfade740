// SPDX-License-Identifier: MIT
// expect: build(old_positions, new_positions, seq)
#include <rope/rope.hpp>

#include <vector>

void user(rope::Moves<float>& moves, const std::vector<int>& ids) { moves.build(ids, ids); }
