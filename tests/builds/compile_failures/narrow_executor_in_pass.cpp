// SPDX-License-Identifier: MIT
// expect: its count no int, which would narrow 64 bits
#include <rope/heads.hpp>

void user(rope::TensorView<float> x, const rope::CosSinCache<float>& cache) {
    const auto executor = [](unsigned count, const auto& f) { f(0, count); };
    rope::pass<rope::Layout::half_split>(executor, cache, rope::heads(x).rotate());
}
