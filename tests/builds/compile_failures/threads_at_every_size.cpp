// SPDX-License-Identifier: MIT
// expect: An executor is a callable, [](rope::Index count, auto&& f) { ... }
#include <rope/part.hpp>

void user() { rope::at_every_size(4); }
