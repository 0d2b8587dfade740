// SPDX-License-Identifier: MIT
// expect: rope::AxisPositions takes integers of up to 64 bits
#include <rope/rope.hpp>

void user(const __int128* numbers) { (void)rope::AxisPositions(numbers, 2, 4); }
