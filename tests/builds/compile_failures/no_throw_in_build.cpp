// SPDX-License-Identifier: MIT
// expect: rope::no_throw() is for operations that can return a Status and nothing else
#include <rope/rope.hpp>

void user(rope::Rows<float>& rows) { rows.build(rope::start_at(0), 4, 1, rope::no_throw()); }
