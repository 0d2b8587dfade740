// SPDX-License-Identifier: MIT
// expect: This function needs the layout, which no tensor knows
#include <rope/reposition.hpp>

void user(rope::TensorView<float> x, const rope::Moves<float>& moves) { rope::reposition(x, moves); }
