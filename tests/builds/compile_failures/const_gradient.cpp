// SPDX-License-Identifier: MIT
// expect: This tensor is written, so its elements must not be const.
#include <rope/gradients.hpp>

void user(const float* x, const rope::CosSinCache<float>& cache) {
    const auto v = rope::view(x, 1, 1, 8);
    rope::pass_backward<rope::Layout::half_split>(cache, {5}, rope::heads(v).rms_norm(1e-6).rotate(), v, v);
}
