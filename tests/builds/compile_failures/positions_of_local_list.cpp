// SPDX-License-Identifier: MIT
// expect: rope::Positions does not own its list, and this one is a temporary
#include <rope/rope.hpp>

rope::Positions user() {
    const std::vector<int> local = {5, 0, 7};
    return local;
}
