// SPDX-License-Identifier: MIT
// Numbers and shapes that many tests share.
#pragma once

#include <rope/core.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <random>
#include <type_traits>
#include <vector>

namespace support {

using rope::Index;

inline std::size_t size(Index n) { return static_cast<std::size_t>(n); }

/// The library's own conversions, for any element type.
template <class T>
double to_double(T x) {
    using Storage = typename rope::ElementTraits<T>::storage;
    using Compute = std::conditional_t<std::is_same_v<Storage, double>, double, float>;
    Storage bits;
    std::memcpy(&bits, &x, sizeof(x));
    return static_cast<double>(rope::detail::Element<Compute, Storage>::load(&bits));
}
template <class T>
T from_double(double x) {
    using Storage = typename rope::ElementTraits<T>::storage;
    using Compute = std::conditional_t<std::is_same_v<Storage, double>, double, float>;
    Storage bits;
    rope::detail::Element<Compute, Storage>::store(&bits, static_cast<Compute>(x));
    T result;
    std::memcpy(static_cast<void*>(&result), &bits, sizeof(result));
    return result;
}

/// n numbers from the standard normal distribution, the same for the same seed.
template <class T>
std::vector<T> normal(Index n, unsigned seed) {
    std::mt19937_64 engine(seed);
    std::normal_distribution<double> distribution;
    std::vector<T> values(size(n));
    for (T& value : values) value = from_double<T>(distribution(engine));
    return values;
}

template <class T>
bool same_bits(const std::vector<T>& a, const std::vector<T>& b) {
    return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0);
}

/// The table type that serves elements of type T.
template <class T>
using TableOf = std::conditional_t<std::is_same_v<T, double>, double, float>;

}  // namespace support
