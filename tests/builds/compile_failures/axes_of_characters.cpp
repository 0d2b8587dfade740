// SPDX-License-Identifier: MIT
// expect: integers of up to 64 bits (not bool or characters), float or double
#include <rope/rope.hpp>

#include <string>

void user(const std::u32string& numbers) { (void)rope::AxisPositions(numbers, 2); }
