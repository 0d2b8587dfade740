// SPDX-License-Identifier: MIT
// expect: rope::view needs a matrix that lies in memory, not an expression: evaluate it first.
#include <rope/rope.hpp>

void user(Eigen::MatrixXf& q, const rope::CosSinCache<float>& cache) {
    rope::apply<rope::Layout::half_split>(rope::view(q + q, 1), cache);
}
