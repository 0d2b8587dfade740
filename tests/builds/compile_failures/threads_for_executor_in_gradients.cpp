// SPDX-License-Identifier: MIT
// expect: An executor is a callable, [](rope::Index count, auto&& f) { ... }
#include <rope/gradients.hpp>

void user(rope::TensorView<double> rows, rope::TensorView<double> to) { rope::add_row_sums(rows, to, 4); }
