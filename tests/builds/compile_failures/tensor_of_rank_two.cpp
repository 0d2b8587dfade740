// SPDX-License-Identifier: MIT
// expect: rope takes Eigen tensors of rank 3 [seq, heads, head_dim] or 4 [batch, seq, heads, head_dim].
#include <rope/rope.hpp>

void user(Eigen::Tensor<float, 2>& q, const rope::CosSinCache<float>& cache) {
    rope::apply<rope::Layout::half_split>(q, cache);
}
