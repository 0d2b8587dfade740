// SPDX-License-Identifier: MIT
// A program for separate compilation: what it prints depends on the tables, the call and the pass of <rope/src.hpp>.
#include <rope/core.hpp>
#include <rope/heads.hpp>

#include <cstdio>
#include <vector>

int main() {
    const rope::CosSinCache<float> cache(rope::Config{8}, 16);
    std::vector<float> x = {1, 2, 3, 4, 5, 6, 7, 8};
    const auto v = rope::view(x.data(), 1, 1, 8);
    rope::apply<rope::Layout::half_split>(v, cache, rope::start_at(3));
    rope::pass<rope::Layout::half_split>(cache, rope::start_at(2), rope::heads(v).rms_norm(1e-6).rotate());
    double sum = 0.0;
    for (std::size_t i = 0; i < x.size(); ++i) sum += static_cast<double>(i + 1) * static_cast<double>(x[i]);
    const rope::Status refused = rope::check(rope::view(x.data(), 1, 2, 4), cache);
    std::printf("%.6f %s\n", sum, refused.message());
}
