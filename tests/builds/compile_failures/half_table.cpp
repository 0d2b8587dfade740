// SPDX-License-Identifier: MIT
// expect: A table is float (it serves float, half and bfloat16 data) or double.
#include <rope/rope.hpp>

void user() { rope::CosSinCache<rope::half> cache(rope::Config{8}, 4); }
