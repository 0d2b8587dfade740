// SPDX-License-Identifier: MIT
// expect from clang: -Werror,-Wreturn-stack-address
#include <rope/rope.hpp>

rope::Positions user() {
    const std::vector<int> local = {5, 0, 7};
    return rope::start_at(local);
}
