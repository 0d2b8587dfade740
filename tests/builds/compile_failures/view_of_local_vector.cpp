// SPDX-License-Identifier: MIT
// expect from clang: -Werror,-Wreturn-stack-address
#include <rope/rope.hpp>

rope::TensorView<float> user() {
    std::vector<float> local(8);
    return rope::view(local, 1, 1, 8);
}
