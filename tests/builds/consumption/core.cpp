// SPDX-License-Identifier: MIT
// A user's program that has no Eigen.
#include <rope/core.hpp>

#include <cstdio>
#include <vector>

int main() {
    const rope::CosSinCache<float> cache(rope::Config{64}, 128);
    std::vector<float> q(4 * 2 * 64, 1.0f);
    rope::apply<rope::Layout::half_split>(rope::view(q.data(), 4, 2, 64), cache);
    std::printf("rope %s: %s\n", ROPE_VERSION_STRING, q[0] == 1.0f && q[3 * 2 * 64] != 1.0f ? "ok" : "wrong");
}
