// SPDX-License-Identifier: MIT
// expect: rope::ids takes a pointer to integers of up to 64 bits
#include <rope/rope.hpp>

void user(const char16_t* text) { (void)rope::ids(text, 4); }
