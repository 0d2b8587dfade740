// SPDX-License-Identifier: MIT
// expect: rope::no_throw() is for operations that can return a Status and nothing else
#include <rope/rope.hpp>

void user(const rope::TensorView<float>& k, const rope::Config& config) {
    rope::reposition<rope::Layout::half_split>(k, config, -3, rope::no_throw());
}
