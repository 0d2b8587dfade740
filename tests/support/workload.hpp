// SPDX-License-Identifier: MIT
// A fixed workload, and the hash of its bits. They do not change with compiler, flags, instruction set or machine, but
// for one thing: whether the set has fused multiply-add.
#pragma once

#include <rope/core.hpp>

#include <cstdint>
#include <type_traits>
#include <vector>

namespace support {

/// Small integers times a power of two, the same on every machine.
template <class T>
std::vector<T> workload_numbers(std::size_t count) {
    std::vector<T> list(count);
    std::uint64_t state = 1;
    for (T& x : list) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        const double value = static_cast<double>(static_cast<std::int64_t>(state >> 40) - (1 << 23)) * 0x1p-21;
        using Storage = typename rope::ElementTraits<T>::storage;
        if constexpr (sizeof(T) == 8) {
            x = value;
        } else {
            rope::detail::Element<float, Storage>::store(&x, static_cast<float>(value));
        }
    }
    return list;
}

/// add(byte) for the bytes of every element, the lowest first, whatever their order in memory.
template <class T, class F>
void for_each_byte(const T* list, std::size_t count, F&& add) {
    using Bits = std::conditional_t<sizeof(T) == 8, std::uint64_t,
                                    std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint16_t>>;
    for (std::size_t i = 0; i < count; ++i) {
        const Bits bits = rope::detail::bit_cast<Bits>(list[i]);
        for (std::size_t k = 0; k < sizeof(T); ++k) add(static_cast<unsigned char>(bits >> 8 * k));
    }
}

template <class T>
std::uint64_t hash(std::uint64_t h, const T* list, std::size_t count) {
    for_each_byte(list, count, [&](unsigned char byte) { h = (h ^ byte) * 1099511628211u; });
    return h;
}

/// The hash of a table and of what apply, its inverse and its transpose make of numbers, in both layouts.
template <class T, class Table>
std::uint64_t workload_hash() {
    rope::Config config;
    config.head_dim = 80;
    config.rotary_dim = 70;  // with a remainder of every vector width
    config.rotary_offset = 5;
    config.attention_factor = 1.25;
    const rope::CosSinCache<Table> cache(config, 600, 100000);
    std::uint64_t h = hash(14695981039346656037u, cache.cos_row(100000), cache.bytes() / sizeof(Table));
    for (const rope::Layout layout : {rope::Layout::interleaved, rope::Layout::half_split}) {
        std::vector<T> x = workload_numbers<T>(600 * 3 * 80);
        const auto v = rope::view(x.data(), 600, 3, 80);
        rope::apply(layout, v, cache, rope::start_at(100000));
        h = hash(h, x.data(), x.size());
        rope::apply_inverse(layout, v.slice_tokens(0, 77), cache, rope::start_at(100300));
        rope::apply_transpose(layout, v.slice_heads(1, 1), cache, rope::start_at(100000));
        h = hash(h, x.data(), x.size());
    }
    return h;
}

}  // namespace support
