// SPDX-License-Identifier: MIT
// What the files of a unit need alike, for that unit alone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include <rope/config.hpp>

namespace {

using rope::Index;
using rope::Layout;

// Numbers<float> is one for all units, and its functions may be those of the newest machine: a program's own matter,
// so this one keeps its numbers in vectors that are of its unit alone.
template <class T>
struct OfThisUnit : std::allocator<T> {
    template <class U>
    struct rebind {
        using other = OfThisUnit<U>;
    };
};
template <class T>
using Numbers = std::vector<T, OfThisUnit<T>>;

std::uint64_t hash(std::uint64_t h, const void* data, std::size_t bytes) {
    const unsigned char* const p = static_cast<const unsigned char*>(data);
    for (std::size_t i = 0; i < bytes; ++i) h = (h ^ p[i]) * 1099511628211u;
    return h;
}
template <class List>
std::uint64_t hash(std::uint64_t h, const List& list) {
    return hash(h, list.data(), list.size() * sizeof(list[0]));
}

template <class T>
Numbers<T> numbers(Index count) {
    Numbers<T> list(static_cast<std::size_t>(count));
    for (std::size_t i = 0; i < list.size(); ++i) {
        const float x = static_cast<float>(static_cast<int>(i * 37 % 101) - 50) * 0.125f;
        list[i] = static_cast<T>(x);
    }
    return list;
}

constexpr Index kSeq = 40, kHeads = 3, kHeadDim = 24;

rope::Config config_of(rope::Schedule schedule = {}) {
    rope::Config config;
    config.head_dim = kHeadDim;
    config.schedule = std::move(schedule);
    return config;
}

}  // namespace
