// SPDX-License-Identifier: MIT
// expect: rope::view does not own data: this matrix is a temporary and would be gone.
#include <rope/rope.hpp>

// A Ref to const copies where the strides do not fit: here it would have, and the view would read what is freed.
void user(const Eigen::MatrixXf& k) { (void)rope::view(Eigen::Ref<const Eigen::MatrixXf>(k.transpose()), 1); }
