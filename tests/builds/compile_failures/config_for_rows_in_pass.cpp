// SPDX-License-Identifier: MIT
// expect: In this order it takes an executor, or none
#include <rope/heads.hpp>

void user(rope::TensorView<float> x, const rope::Config& config) {
    rope::pass<rope::Layout::half_split>(config, rope::start_at(0), rope::heads(x).rotate());
}
