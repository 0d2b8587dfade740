// SPDX-License-Identifier: MIT
// expect: This argument is no tensor that rope knows
#include <rope/rope.hpp>

void user(Eigen::MatrixXf& q, const rope::CosSinCache<float>& cache) {
    rope::apply<rope::Layout::half_split>(q + q, cache);
}
