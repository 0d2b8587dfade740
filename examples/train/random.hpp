// SPDX-License-Identifier: MIT
// Random numbers as functions of their place, so that no state of a generator has to be kept in a checkpoint.
#pragma once

#include <cmath>
#include <cstdint>

namespace train {

/// SplitMix64's finaliser: two different pairs have unrelated results.
inline std::uint64_t mix(std::uint64_t seed, std::uint64_t place) {
    std::uint64_t x = seed * 0xD1342543DE82EF95u + place * 0x9E3779B97F4A7C15u + 0x2545F4914F6CDD1Du;
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
    return x ^ (x >> 31);
}

/// A number of the normal distribution, by the method of Box and Muller.
inline double normal(std::uint64_t seed, std::uint64_t place) {
    const double u = (static_cast<double>(mix(seed, 2 * place) >> 11) + 0.5) / 9007199254740992.0;
    const double v = static_cast<double>(mix(seed, 2 * place + 1) >> 11) / 9007199254740992.0;
    return std::sqrt(-2.0 * std::log(u)) * std::cos(6.283185307179586 * v);
}

}  // namespace train
