// SPDX-License-Identifier: MIT
// expect: rope::start_at takes an integer of up to 64 bits
#include <rope/rope.hpp>

void user(__int128 n) { (void)rope::start_at(n); }
