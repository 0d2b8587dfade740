// SPDX-License-Identifier: MIT
// expect: positions, or AxisPositions and their AxisMap
#include <rope/write_rows.hpp>

void user(float* to, const rope::Config& config) { rope::write_rows(config, rope::start_at(0), 4, 1, to); }
