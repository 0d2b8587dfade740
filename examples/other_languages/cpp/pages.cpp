// SPDX-License-Identifier: MIT
// The pass of c/pages.c by the headers themselves.
#include <rope/heads.hpp>

#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <vector>

namespace {
constexpr rope::Index kTokens = 2, kHeadDim = 64, kPages = 2, kPageSize = 16;
}  // namespace

int main() {
    rope::Config config;
    config.head_dim = kHeadDim;
    const rope::CosSinCache<float> table(config, 4096);

    std::vector<rope::bfloat16> k(kTokens * kHeadDim);
    for (std::size_t i = 0; i < k.size(); ++i) k[i] = rope::to_bfloat16((static_cast<float>(i) - 50.0f) / 8.0f);
    const std::vector<float> weight(kHeadDim, 1.5f);

    std::vector<std::int8_t> codes(kPages * kPageSize * kHeadDim);
    std::vector<float> scales(kPages * kPageSize);
    const std::vector<std::int32_t> slots = {3, 17}, ids = {41, 42};  // page 0, place 3, and page 1, place 1
    rope::pass<rope::Layout::half_split>(table, ids,
                                         rope::heads(rope::view(k.data(), kTokens, 1, kHeadDim))
                                             .rms_norm(weight, 1e-6)
                                             .rotate()
                                             .to(rope::int8(rope::paged(codes, kPages, kPageSize, 1, kHeadDim, slots),
                                                            rope::paged(scales, kPages, kPageSize, 1, 1, slots))));
    for (const std::int32_t slot : slots) {
        const auto s = static_cast<std::size_t>(slot);
        std::uint32_t scale = 0;
        std::memcpy(&scale, &scales[s], sizeof(scale));
        std::printf("slot %2" PRId32 ": scale %08" PRIx32 ", codes", slot, scale);
        for (std::size_t i = 0; i < 16; ++i) std::printf(" %d", codes[s * kHeadDim + i]);
        std::printf("\n");
    }
}
