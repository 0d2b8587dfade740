// SPDX-License-Identifier: MIT
// expect: build(positions, seq), and then perhaps batch
#include <rope/rope.hpp>

#include <vector>

void user(rope::Rows<float>& rows, const std::vector<int>& ids) { rows.build(ids); }
