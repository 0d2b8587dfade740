// SPDX-License-Identifier: MIT
// expect: rope::AxisPositions does not own its numbers, and this list is a temporary
#include <rope/rope.hpp>

void user(rope::Rows<float>& rows) {
    const rope::AxisPositions p(rope::image_grid(4, 4), 2);
    rows.build(p, 16);
}
