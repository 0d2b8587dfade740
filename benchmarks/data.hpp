// SPDX-License-Identifier: MIT
// What the contests work on, and the least that work in place can cost.
#pragma once

#include <rope/core.hpp>
#include <rope/isa.hpp>

#include <benchmark/benchmark.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <initializer_list>
#include <new>
#include <random>
#include <string>
#include <type_traits>

#if defined(__linux__)
#    include <sys/mman.h>
#endif

#define ROPE_FOR_EACH_ISA "scale_kernels.hpp"
#include <rope/detail/simd/isa_list.hpp>

namespace bench {

using rope::Index;

/// The type of the table for elements of type X, in which is computed.
template <class X>
using TableType = std::conditional_t<std::is_same_v<X, double>, double, float>;

template <class X>
constexpr const char* type_name() {
    if constexpr (std::is_same_v<X, float>) return "float";
    if constexpr (std::is_same_v<X, double>) return "double";
    if constexpr (std::is_same_v<X, rope::half>) return "half";
    if constexpr (std::is_same_v<X, rope::bfloat16>) return "bfloat16";
}

inline std::string shape_name(std::initializer_list<Index> extents) {
    std::string name;
    for (const Index extent : extents) name += (name.empty() ? "[" : ", ") + std::to_string(extent);
    return name + "]";
}

inline rope::Config config_of(Index head_dim, double base = 10000.0) {
    rope::Config config;
    config.head_dim = head_dim;
    config.base = base;
    return config;
}

/// Random numbers in [-1, 1]. Contests put them back before every repetition: numbers that are turned or added to some
/// millions of times must not become subnormal or infinite, or the times would lie.
template <class X>
void fill(X* x, Index count) {
    using T = TableType<X>;
    static const auto numbers = [] {
        std::array<X, 4096> block;
        std::minstd_rand engine(1);
        std::uniform_real_distribution<T> number(T(-1), T(1));
        for (X& value : block) rope::detail::Element<T, X>::store(&value, number(engine));
        return block;
    }();
    constexpr Index block = static_cast<Index>(numbers.size());
    for (Index i = 0; i < count; i += block) std::copy_n(numbers.data(), std::min(block, count - i), x + i);
}

/// Memory whose pages exist and are large where the system has such. Which small pages a buffer is given is chance, and
/// some choices meet in the same lines of L2: the same call on 512 KiB then took 1.1 or 1.35 times as long, by the
/// process.
template <class X>
class Buffer {
 public:
    explicit Buffer(Index count)
        : data_(static_cast<X*>(::operator new(static_cast<std::size_t>(count) * sizeof(X), kAlignment))) {
#if defined(MADV_HUGEPAGE)
        madvise(data_, static_cast<std::size_t>(count) * sizeof(X), MADV_HUGEPAGE);  // a wish; may be refused
#endif
        fill(data_, count);
    }
    ~Buffer() { ::operator delete(data_, kAlignment); }
    Buffer(const Buffer&) = delete;
    Buffer& operator=(const Buffer&) = delete;
    X* data() const { return data_; }

 private:
    static constexpr std::align_val_t kAlignment{std::size_t(2) << 20};
    X* data_;
};

/// Multiplies by one, which the compiler does not know: the least that a change in place can cost, with the instruction
/// set that the library uses at the moment.
template <class X>
void scale(X* x, Index count) {
    TableType<X> one = 1;
    benchmark::DoNotOptimize(one);
    const rope::detail::IsaId isa = rope::detail::chosen_isa.load(std::memory_order_relaxed);
#define ROPE_ISA_ENTRY(name, ...) \
    if (isa == rope::detail::name::kIsaId) return name::scale(x, count, one);
#include <rope/detail/simd/isa_list.hpp>
}

/// Rounds per repetition of a contest on so many bytes: as many as move `total` of them, from 1 to `most`.
inline int rounds_for(Index bytes, Index total, int most) {
    return static_cast<int>(std::clamp(total / bytes, Index(1), static_cast<Index>(most)));
}

}  // namespace bench
