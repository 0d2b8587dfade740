// SPDX-License-Identifier: MIT
// expect: This tensor is written, so its elements must not be const.
#include <rope/rope.hpp>

void user(const Eigen::Tensor<float, 3>& q, const rope::CosSinCache<float>& cache) {
    rope::apply<rope::Layout::half_split>(q, cache);
}
