// SPDX-License-Identifier: MIT
// expect: rope::start_at takes an integer of up to 64 bits
#include <rope/rope.hpp>

void user(const std::vector<__int128>& starts) { (void)rope::start_at(starts); }
