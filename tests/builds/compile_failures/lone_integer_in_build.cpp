// SPDX-License-Identifier: MIT
// expect: write rope::start_at(n) for n, n+1, n+2, ..., or {n}.
#include <rope/rope.hpp>

void user(rope::Rows<float>& rows) { rows.build(5, 4); }
