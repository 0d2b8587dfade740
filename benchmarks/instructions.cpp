// SPDX-License-Identifier: MIT
// Work whose instructions are counted by instructions.cmake: a name of it, how many times, the path of a config.json.
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include <rope/core.hpp>
#include <rope/hf_config.hpp>

int main(int count, char** arguments) {
    if (count != 4) return 1;
    const std::string work = arguments[1];
    std::ifstream file(arguments[3]);
    const std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());

    const rope::CosSinCache<float> cache(rope::Config{128}, 64);
    const rope::Index seq = work == "16_tokens" ? 16 : 1;
    std::vector<float> q(16 * 32 * 128, 1.0f), k(16 * 8 * 128, 1.0f);
    const auto q_view = rope::view(q.data(), seq, 32, 128), k_view = rope::view(k.data(), seq, 8, 128);
    const std::vector<int> ids = {7};

    constexpr rope::Layout layout = rope::Layout::half_split;
    for (int i = std::atoi(arguments[2]); i > 0; --i) {
        if (work == "read") {
            if (rope::read_hf_config(text).layers() != 32) return 1;
        } else if (work == "one_id") {
            rope::apply<layout>(q_view, k_view, cache, ids);
        } else if (work == "inverse") {
            rope::apply_inverse<layout>(q_view, k_view, cache, rope::start_at(7));
        } else {
            rope::apply<layout>(q_view, k_view, cache, rope::start_at(7));
        }
    }
    std::printf("%g\n", static_cast<double>(q[0]));
}
