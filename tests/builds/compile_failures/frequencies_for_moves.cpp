// SPDX-License-Identifier: MIT
// expect: Config (no table, and no Frequencies)
#include <rope/reposition.hpp>

void user(rope::TensorView<float> x, const rope::Frequencies& frequencies) {
    rope::reposition<rope::Layout::half_split>(x, frequencies, 5);
}
