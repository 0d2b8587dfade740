// SPDX-License-Identifier: MIT
// expect: rope::view does not own data: this matrix is a temporary and would be gone.
#include <rope/rope.hpp>

void user() { (void)rope::view(Eigen::MatrixXf(2, 8), 1); }
