// SPDX-License-Identifier: MIT
// expect from clang: -Werror,-Wdangling
#include <rope/rope.hpp>

float user(const rope::Config& config) {
    const float* const row = rope::CosSinCache<float>(config, 8).cos_row(3);
    return row[0];
}
