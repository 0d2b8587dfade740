// SPDX-License-Identifier: MIT
// What a call must give bit for bit: the formula of apply.hpp, one element at a time, every rounding spelled out. The
// only thing it shares with the kernels is the rounding of one number to 16 bits, which sixteen_bit_types tests.
#pragma once

#include <rope/core.hpp>

#include <cmath>
#include <cstring>
#include <random>
#include <type_traits>
#include <vector>

#include "../data.hpp"
#include "../rounded.hpp"
#include "oracle.hpp"

namespace support {

/// One element in the table's type, and back with one rounding.
template <class T, class X>
T loaded(const X& x) {
    return rope::detail::Element<T, X>::load(&x);
}
template <class X, class T>
void stored(X& to, T x) {
    rope::detail::Element<T, X>::store(&to, x);
}

/// out = in turned. In place where both are the same view.
template <class In, class Out, class T>
void turn_exactly(bool fma, Operation operation, rope::Layout layout, const rope::TensorView<In>& in,
                  const rope::TensorView<Out>& out, const rope::CosSinCache<T>& cache,
                  const rope::Positions& positions) {
    using X = std::remove_const_t<In>;
    const double m = cache.attention_factor();
    const T scale = operation == Operation::inverse ? static_cast<T>(1.0 / (m * m)) : T(1);
    const T sin_scale = operation == Operation::apply ? scale : -scale;
    const Index pairs = cache.pairs(), begin = cache.rotary_offset(), end = begin + 2 * pairs;
    const bool interleaved = layout == rope::Layout::interleaved;
    for (Index b = 0; b < in.batch; ++b)
        for (Index s = 0; s < in.seq; ++s) {
            const Index position = positions.at(b, s, in.seq);
            const T* const cos = cache.cos_row(position);
            const T* const sin = cache.sin_row(position);
            for (Index h = 0; h < in.heads; ++h) {
                for (Index i = 0; i < pairs; ++i) {
                    const Index at_a = begin + (interleaved ? 2 * i : i);
                    const Index at_b = begin + (interleaved ? 2 * i + 1 : i + pairs);
                    const T x = loaded<T, X>(in(b, s, h, at_a));
                    const T y = loaded<T, X>(in(b, s, h, at_b));
                    const T c = rounded_product(cos[i], scale);
                    const T sn = rounded_product(sin[i], sin_scale);
                    stored(out(b, s, h, at_a), product_and_sum(fma, x, c, -rounded_product(y, sn)));
                    stored(out(b, s, h, at_b), product_and_sum(fma, y, c, rounded_product(x, sn)));
                }
                for (Index j = 0; j < in.head_dim; ++j) {
                    if (j >= begin && j < end) continue;
                    if constexpr (std::is_same_v<X, Out>) {
                        std::memmove(&out(b, s, h, j), &in(b, s, h, j), sizeof(Out));
                    } else {
                        stored(out(b, s, h, j), loaded<T, X>(in(b, s, h, j)));
                    }
                }
            }
        }
}

/// The library's call for the same.
template <class T, class X>
void turn(Operation operation, rope::Layout layout, const rope::TensorView<X>& x, const rope::CosSinCache<T>& cache,
          const rope::Positions& positions) {
    switch (operation) {
        case Operation::apply: return rope::apply(layout, x, cache, positions);
        case Operation::inverse: return rope::apply_inverse(layout, x, cache, positions);
        case Operation::transpose: return rope::apply_transpose(layout, x, cache, positions);
    }
}
template <class T, class X, class Y>
void turn_copy(Operation operation, rope::Layout layout, const rope::TensorView<X>& in, const rope::TensorView<Y>& out,
               const rope::CosSinCache<T>& cache, const rope::Positions& positions) {
    switch (operation) {
        case Operation::apply: return rope::apply_copy(layout, in, out, cache, positions);
        case Operation::inverse: return rope::apply_inverse_copy(layout, in, out, cache, positions);
        case Operation::transpose: return rope::apply_transpose_copy(layout, in, out, cache, positions);
    }
}

// ---- comparing ----

template <class X>
bool is_nan(const X& x) {
    if constexpr (sizeof(X) == 8) {
        return (rope::detail::bit_cast<std::uint64_t>(x) << 1) > 0xffe0000000000000u;
    } else if constexpr (sizeof(X) == 4) {
        return (rope::detail::bit_cast<std::uint32_t>(x) & 0x7fffffffu) > 0x7f800000u;
    } else {
        return (x.bits & 0x7fffu) > (std::is_same_v<X, rope::half> ? 0x7c00u : 0x7f80u);
    }
}

/// The first place where two lists differ in more than the bits of a NaN, or -1.
template <class X>
Index first_difference(const std::vector<X>& a, const std::vector<X>& b) {
    if (a.size() != b.size()) return 0;
    if (same_bits(a, b)) return -1;
    for (std::size_t i = 0; i < a.size(); ++i)
        if (std::memcmp(&a[i], &b[i], sizeof(X)) != 0 && !(is_nan(a[i]) && is_nan(b[i]))) return static_cast<Index>(i);
    return -1;
}

// ---- numbers of which a kernel might get one wrong ----

/// Infinity and NaN of any element type, and the smallest subnormal and the largest number.
template <class X>
X from_bits(std::uint64_t bits) {
    X x;
    if constexpr (sizeof(X) == 8) {
        std::memcpy(static_cast<void*>(&x), &bits, sizeof(X));
    } else if constexpr (sizeof(X) == 4) {
        const std::uint32_t narrow = static_cast<std::uint32_t>(bits);
        std::memcpy(static_cast<void*>(&x), &narrow, sizeof(X));
    } else {
        x.bits = static_cast<std::uint16_t>(bits);
    }
    return x;
}
template <class X>
constexpr std::uint64_t kInfinityBits = sizeof(X) == 8                  ? 0x7ff0000000000000u
                                        : sizeof(X) == 4                ? 0x7f800000u
                                        : std::is_same_v<X, rope::half> ? 0x7c00u
                                                                        : 0x7f80u;
template <class X>
constexpr std::uint64_t kSignBit = std::uint64_t(1) << (8 * sizeof(X) - 1);

/// One number: mostly ordinary, else subnormal, tiny, huge, a zero of either sign, infinite or NaN.
template <class X>
X telling_number(std::mt19937_64& engine) {
    const std::uint64_t random = engine();
    const std::uint64_t sign = random >> 63 != 0 ? kSignBit<X> : 0;
    const std::uint64_t infinity = kInfinityBits<X>;
    const std::uint64_t bits = random >> 8;
    switch (random % 32) {
        case 0: return from_bits<X>(sign);
        case 1: return from_bits<X>(sign | infinity);
        case 2: return from_bits<X>(sign | infinity | (bits % infinity % (kSignBit<X> - infinity)) | 1);  // any NaN
        case 3:
        case 4: return from_bits<X>(sign | bits % (kSignBit<X> - infinity));  // subnormal
        case 5:
            return from_bits<X>(sign | (infinity - 1 - bits % (kSignBit<X> - infinity)));  // within 2 of the largest
        case 6:
        case 7: return from_bits<X>(sign | bits % infinity);  // any exponent
        default: return from_double<X>(std::normal_distribution<double>()(engine));
    }
}

/// Such numbers, a quarter of the pairs such that one of the products nearly cancels the other.
template <class X, class T>
void fill_with_telling_numbers(const rope::TensorView<X>& x, rope::Layout layout, const rope::CosSinCache<T>& cache,
                               const rope::Positions& positions, unsigned seed) {
    std::mt19937_64 engine(seed);
    const Index pairs = cache.pairs(), begin = cache.rotary_offset();
    for (Index b = 0; b < x.batch; ++b)
        for (Index s = 0; s < x.seq; ++s)
            for (Index h = 0; h < x.heads; ++h) {
                for (Index j = 0; j < x.head_dim; ++j) x(b, s, h, j) = telling_number<X>(engine);
                const Index position = positions.at(b, s, x.seq);
                for (Index i = 0; i < pairs; ++i) {
                    if (engine() % 4 != 0) continue;
                    const bool interleaved = layout == rope::Layout::interleaved;
                    X& a = x(b, s, h, begin + (interleaved ? 2 * i : i));
                    X& partner = x(b, s, h, begin + (interleaved ? 2 * i + 1 : i + pairs));
                    const double c = static_cast<double>(cache.cos_row(position)[i]);
                    const double sn = static_cast<double>(cache.sin_row(position)[i]);
                    if (sn != 0.0) partner = from_double<X>(to_double(a) * c / sn);
                }
            }
}

}  // namespace support
