// SPDX-License-Identifier: MIT
// The program of the other folders, by the headers themselves: they print what this prints, bit for bit.
#include <rope/core.hpp>

#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <stdexcept>
#include <vector>

namespace {

constexpr rope::Index kTokens = 2, kHeadDim = 64;

/// Prints the bits of the first eight numbers of the last head, and a checksum of all: FNV-1a over words of 32 bits.
void show(const char* what, const std::vector<float>& x) {
    std::vector<std::uint32_t> words(x.size());
    std::memcpy(words.data(), x.data(), x.size() * sizeof(float));
    std::uint32_t sum = 2166136261u;
    for (const std::uint32_t word : words) sum = (sum ^ word) * 16777619u;
    std::printf("%-14s", what);
    for (std::size_t i = words.size() - kHeadDim; i < words.size() - kHeadDim + 8; ++i)
        std::printf(" %08" PRIx32, words[i]);
    std::printf(" sum %08" PRIx32 "\n", sum);
}

}  // namespace

int main() {
    rope::Config config;  // Llama 3.2 1B
    config.head_dim = kHeadDim;
    config.base = 500000.0;
    config.schedule = rope::schedule::Llama3{32.0, 1.0, 4.0, 8192};
    const rope::CosSinCache<float> table(config, 131072);

    std::vector<float> q(kTokens * 2 * kHeadDim), k(kTokens * 1 * kHeadDim);  // [tokens, heads, head_dim]
    for (std::size_t i = 0; i < q.size(); ++i) q[i] = (static_cast<float>(i) - 100.0f) / 8.0f;
    for (std::size_t i = 0; i < k.size(); ++i) k[i] = (50.0f - static_cast<float>(i)) / 8.0f;
    const auto rotate = [&](const rope::Positions& positions) {
        rope::apply<rope::Layout::half_split>(rope::view(q.data(), kTokens, 2, kHeadDim),
                                              rope::view(k.data(), kTokens, 1, kHeadDim), table, positions);
    };

    rotate(rope::start_at(100000));  // at positions 100000 and 100001
    show("q from 100000:", q);
    show("k from 100000:", k);
    const std::vector<std::int64_t> ids = {7, 131071};
    rotate(ids);
    show("q by ids:", q);
    show("k by ids:", k);
    try {
        rotate(rope::start_at(131071));
    } catch (const std::out_of_range& error) {
        std::printf("refused: %s\n", error.what());
    }
    show("q as it was:", q);
}
