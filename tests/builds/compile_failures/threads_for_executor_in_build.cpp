// SPDX-License-Identifier: MIT
// expect: An executor is a callable, [](rope::Index count, auto&& f) { ... }
#include <rope/rows.hpp>

void user(rope::Rows<float>& rows) { rows.build(rope::start_at(0), 4, 1, 4); }
