// SPDX-License-Identifier: MIT
// 2^20 elements of every type in every layout, turned: their bits have the SHA-256 that is stored here, one for
// instruction sets with fma and one for those without, on every machine and by every compiler. A change of this file is a
// change of what users get, and belongs into the release notes.
#pragma once

#include <rope/core.hpp>

#include <array>
#include <string>
#include <vector>

#include "sha256.hpp"
#include "workload.hpp"

namespace support {

inline constexpr const char* kBitsWithFma = "7ef260082914dd4434252a33310556549029d6a0834113e1c493b8b9545e26fd";
inline constexpr const char* kBitsWithout = "7b70b7179bc4cf38624a6e5cf69b17e6f4dcf268fe48cf44f275cfac19d991ed";

/// The hash grows by one type in both layouts, and is returned.
template <class T, class Table>
std::string add_turned(Sha256& sha) {
    constexpr rope::Index seq = 512, heads = 16, dim = 128, first = 1000003;
    rope::Config config;
    config.head_dim = dim;
    config.rotary_dim = 118;  // with a remainder of every vector width
    config.rotary_offset = 6;
    config.attention_factor = 1.25;
    const rope::CosSinCache<Table> cache(config, seq, first);
    const std::vector<T> numbers = workload_numbers<T>(seq * heads * dim);
    for (const rope::Layout layout : {rope::Layout::interleaved, rope::Layout::half_split}) {
        std::vector<T> x = numbers;
        rope::apply(layout, rope::view(x.data(), seq, heads, dim), cache, rope::start_at(first));
        for_each_byte(x.data(), x.size(), [&](unsigned char byte) { sha.add(byte); });
    }
    return sha.text();
}

/// The hash of the instruction set in use after floats, doubles, halves and bfloat16s; the last one is that of all, and
/// must be kBitsWithFma or kBitsWithout.
inline std::array<std::string, 4> hashes_of_bits() {
    Sha256 sha;
    std::array<std::string, 4> after;
    after[0] = add_turned<float, float>(sha);
    after[1] = add_turned<double, double>(sha);
    after[2] = add_turned<rope::half, float>(sha);
    after[3] = add_turned<rope::bfloat16, float>(sha);
    return after;
}

}  // namespace support
