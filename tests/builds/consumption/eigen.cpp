// SPDX-License-Identifier: MIT
// A user's program that has.
#include <rope/rope.hpp>

#include <cstdio>

int main() {
    const rope::CosSinCache<float> cache(rope::Config{64}, 128);
    Eigen::MatrixXf q = Eigen::MatrixXf::Ones(4, 2 * 64);
    rope::apply<rope::Layout::half_split>(rope::view(q, 2), cache);
    std::printf("rope %s: %s\n", ROPE_VERSION_STRING, q(0, 0) == 1.0f && q(3, 0) != 1.0f ? "ok" : "wrong");
}
