// SPDX-License-Identifier: MIT
// expect: shared_table<float>(rope::frequencies(config), positions)
#include <rope/rope.hpp>

#include <vector>

void user(const rope::Config& config) { (void)rope::shared_table<float>(config, 64); }
