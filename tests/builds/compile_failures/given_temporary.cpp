// SPDX-License-Identifier: MIT
// expect: rope::given: this container is a temporary and would be gone. Give it a name.
#include <rope/rope.hpp>

std::vector<float> scales();

rope::Destination user(const rope::TensorView<signed char>& codes) { return rope::int8(codes, rope::given(scales())); }
