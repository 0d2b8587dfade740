// SPDX-License-Identifier: MIT
// Every public header that needs the standard library alone (headers.hpp, made by leg.cmake), a table, an apply and a pass
// with norm, rotation, bfloat16 and a cache of 8 bits: what a leg compiles whose programs nothing here runs.
#include "headers.hpp"

#include <cstdint>
#include <cstdio>
#include <vector>

int main() {
    constexpr rope::Index seq = 3, heads = 8, dim = 128;
    rope::Config config;
    config.head_dim = dim;
    const rope::CosSinCache<float> cache(config, 64);
    std::vector<float> q(seq * heads * dim, 1.0f), w(dim, 1.0f), scales(seq * heads);
    std::vector<rope::bfloat16> k(seq * heads * dim);
    std::vector<std::int8_t> codes(seq * heads * dim);
    rope::apply<rope::Layout::interleaved>(rope::view(q.data(), seq, heads, dim), cache, rope::start_at(5));
    rope::apply<rope::Layout::half_split>(rope::view(k.data(), seq, heads, dim), cache, rope::start_at(5));
    const auto cached = rope::int8(rope::view(codes.data(), seq, heads, dim), rope::view(scales.data(), seq, heads, 1));
    rope::pass<rope::Layout::half_split>(
        cache, rope::start_at(5),
        rope::heads(rope::view(q.data(), seq, heads, dim)).rms_norm(w.data(), 1e-6).rotate().to(cached));
    std::printf("%s %d\n", rope::active_isa(), codes[0]);
}
