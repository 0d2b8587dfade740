// SPDX-License-Identifier: MIT
// expect: The float32 chain makes a float table.
#include <rope/rope.hpp>

void user() { (void)rope::CosSinCache<double>::float32_chain(rope::Config{8}, 4); }
