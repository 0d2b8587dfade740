// SPDX-License-Identifier: MIT
// Numbers for cache formats.
#pragma once

#include <rope/types.hpp>

#include <cmath>
#include <random>
#include <vector>

#include "data.hpp"

namespace support {

/// Blocks of 32 numbers of every magnitude, and in some blocks ties, zeros and numbers that are equal but for their sign.
inline std::vector<float> drawn_blocks(rope::Index blocks, unsigned seed) {
    std::mt19937 engine(seed);
    std::normal_distribution<float> normal;
    std::vector<float> x(size(blocks * 32));
    for (rope::Index b = 0; b < blocks; ++b) {
        const auto kind = static_cast<unsigned>(engine() % 11);
        const float unit = std::ldexp(1.0f, static_cast<int>(engine() % 60) - 40);
        for (rope::Index i = 0; i < 32; ++i) {
            float& value = x[size(b * 32 + i)];
            if (kind < 4) value = normal(engine) * unit;
            if (kind == 4) value = static_cast<float>(static_cast<int>(engine() % 509) - 254) * 0.5f * unit;  // ties
            if (kind == 5) value = (engine() % 2 == 0 ? unit : -unit) * static_cast<float>(engine() % 3);
            if (kind == 6) value = engine() % 4 == 0 ? -127.0f * unit : 0.5f * unit;
            if (kind == 7) value = i == static_cast<rope::Index>(engine() % 32) ? unit * 127.0f : 0.0f;
            if (kind == 8) value = static_cast<float>(static_cast<int>(engine() % 49) - 24) * 0.125f * unit;
            if (kind == 9) value = normal(engine);
            if (kind == 10) value = (normal(engine) + (b % 2 == 0 ? 30.0f : -5000.0f)) * unit;  // far from 0
        }
    }
    return x;
}

}  // namespace support
