// SPDX-License-Identifier: MIT
// expect: rope::view needs a matrix that lies in memory, not an expression: evaluate it first.
#include <rope/rope.hpp>

void user(Eigen::MatrixXf& q) { (void)rope::view(q + q, 1); }
