// SPDX-License-Identifier: MIT
// expect from clang: -Werror,-Wdangling
#include <rope/rope.hpp>

char user(float* q, const rope::CosSinCache<float>& cache) {
    const char* const text = rope::check(rope::view(q, 1, 1, 8), cache).message();
    return text[0];
}
