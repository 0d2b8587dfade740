// SPDX-License-Identifier: MIT
// expect: rows may be left out with the layout
#include <rope/heads.hpp>

void user(rope::TensorView<float> x) { rope::pass<rope::Layout::half_split>(rope::heads(x).multiply(0.5)); }
