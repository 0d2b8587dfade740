// SPDX-License-Identifier: MIT
// The names of detail/simd/avx512/registers.hpp in plain C++: lane by lane, and bit by bit of a mask. Memory of lanes
// outside a mask is not touched.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>

/// Calls, not copies of their loops: kernels of many operations would take compilers minutes, with sanitizers above all.
#define ROPE_OUT_OF_LINE __attribute__((noinline)) inline

ROPE_DETAIL_BEGIN
namespace emulated {

template <class E, std::size_t kLanes>
struct Register {
    E lane[kLanes];
};
using Floats = Register<float, 16>;
using Doubles = Register<double, 8>;
using Words = Register<std::uint32_t, 16>;  // or 32 of 16 bits
using Shorts = Register<std::uint16_t, 16>;
using Ints = Register<std::int32_t, 16>;
using Mask8 = std::uint8_t;
using Mask16 = std::uint16_t;
using Mask32 = std::uint32_t;

inline constexpr Mask8 kAll8 = 0xff;
inline constexpr Mask16 kAll16 = 0xffff;

template <class Mask>
ROPE_OUT_OF_LINE bool has(Mask m, int i) noexcept {
    return (m >> i & 1) != 0;
}

// ---- load and store ----

template <class R, class E>
ROPE_OUT_OF_LINE R load_lanes(const E* p, int count) noexcept {
    E lanes[32] = {};
    for (int i = 0; i < count; ++i) std::memcpy(lanes + i, p + i, sizeof(E));
    R result;
    std::memcpy(&result, lanes, sizeof(R));
    return result;
}
template <class R, class E, class Mask>
ROPE_OUT_OF_LINE void store_lanes(E* p, const R& x, Mask m, int count) noexcept {
    E lanes[32];
    std::memcpy(lanes, &x, sizeof(R));
    for (int i = 0; i < count; ++i)
        if (has(m, i)) std::memcpy(p + i, lanes + i, sizeof(E));
}

ROPE_OUT_OF_LINE Floats load_floats(const float* p) noexcept { return load_lanes<Floats>(p, 16); }
ROPE_OUT_OF_LINE Floats load_lower(const float* p) noexcept { return load_lanes<Floats>(p, 8); }
ROPE_OUT_OF_LINE Doubles load_doubles(const double* p) noexcept { return load_lanes<Doubles>(p, 8); }
ROPE_OUT_OF_LINE Doubles load_doubles(const float* p) noexcept {
    Doubles r;
    for (int i = 0; i < 8; ++i) r.lane[i] = static_cast<double>(p[i]);
    return r;
}
ROPE_OUT_OF_LINE Doubles load_lower(const double* p) noexcept { return load_lanes<Doubles>(p, 4); }
ROPE_OUT_OF_LINE Words load_words(const void* p) noexcept {
    return load_lanes<Words>(static_cast<const std::uint16_t*>(p), 32);
}
ROPE_OUT_OF_LINE Shorts load_shorts(const void* p) noexcept {
    return load_lanes<Shorts>(static_cast<const std::uint16_t*>(p), 16);
}
ROPE_OUT_OF_LINE void store(float* p, Floats x, Mask16 m = kAll16) noexcept { store_lanes(p, x, m, 16); }
ROPE_OUT_OF_LINE void store(double* p, Doubles x, Mask8 m = kAll8) noexcept { store_lanes(p, x, m, 8); }
ROPE_OUT_OF_LINE void store_words(void* p, Words x) noexcept {
    store_lanes(static_cast<std::uint16_t*>(p), x, ~Mask32(0), 32);
}
ROPE_OUT_OF_LINE void store_shorts(void* p, Shorts x, Mask16 m = kAll16) noexcept {
    store_lanes(static_cast<std::uint16_t*>(p), x, m, 16);
}
ROPE_OUT_OF_LINE void store_as_floats(float* p, Doubles x) noexcept {
    for (int i = 0; i < 8; ++i) p[i] = static_cast<float>(x.lane[i]);
}

/// x, rounded: no compiler fuses it with a following operation.
ROPE_OUT_OF_LINE Floats in_register(Floats x) noexcept {
    for (float& lane : x.lane) lane = hide_from_optimizer(lane);
    return x;
}
ROPE_OUT_OF_LINE Doubles in_register(Doubles x) noexcept {
    for (double& lane : x.lane) lane = hide_from_optimizer(lane);
    return x;
}
ROPE_OUT_OF_LINE Words in_register(Words x) noexcept { return x; }
/// Nothing: this set has no registers.
template <class R>
void in_registers(R&, R&) noexcept {}

// ---- floats and doubles ----

ROPE_INLINE float fma(float a, float b, float c) noexcept { return __builtin_fmaf(a, b, c); }
ROPE_INLINE double fma(double a, double b, double c) noexcept { return __builtin_fma(a, b, c); }

ROPE_OUT_OF_LINE Floats all(float x) noexcept {
    Floats r;
    for (float& lane : r.lane) lane = x;
    return r;
}
ROPE_OUT_OF_LINE Doubles all(double x) noexcept {
    Doubles r;
    for (double& lane : r.lane) lane = x;
    return r;
}
template <class E, std::size_t n>
ROPE_OUT_OF_LINE Register<E, n> operator+(Register<E, n> a, const Register<E, n>& b) noexcept {
    for (std::size_t i = 0; i < n; ++i) a.lane[i] += b.lane[i];
    return a;
}
template <class E, std::size_t n>
ROPE_OUT_OF_LINE Register<E, n> operator-(Register<E, n> a, const Register<E, n>& b) noexcept {
    for (std::size_t i = 0; i < n; ++i) a.lane[i] -= b.lane[i];
    return a;
}
template <class E, std::size_t n>
ROPE_OUT_OF_LINE Register<E, n> operator*(Register<E, n> a, const Register<E, n>& b) noexcept {
    for (std::size_t i = 0; i < n; ++i) a.lane[i] *= b.lane[i];
    return a;
}
/// By way of doubles, as g++ estimates quotients of floats with -ffast-math.
ROPE_OUT_OF_LINE Floats divided(Floats a, const Floats& b) noexcept {
    for (int i = 0; i < 16; ++i)
        a.lane[i] = static_cast<float>(static_cast<double>(a.lane[i]) / static_cast<double>(b.lane[i]));
    return a;
}
template <class E, std::size_t n>
ROPE_OUT_OF_LINE Register<E, n> operator/(Register<E, n> a, const Register<E, n>& b) noexcept {
    for (std::size_t i = 0; i < n; ++i) a.lane[i] /= b.lane[i];
    return a;
}
template <class E, std::size_t n>
ROPE_OUT_OF_LINE Register<E, n> fma(Register<E, n> a, const Register<E, n>& b, const Register<E, n>& c) noexcept {
    for (std::size_t i = 0; i < n; ++i) a.lane[i] = fma(a.lane[i], b.lane[i], c.lane[i]);
    return a;
}
template <class E, std::size_t n>
ROPE_OUT_OF_LINE Register<E, n> fms(Register<E, n> a, const Register<E, n>& b, const Register<E, n>& c) noexcept {
    for (std::size_t i = 0; i < n; ++i) a.lane[i] = fma(a.lane[i], b.lane[i], -c.lane[i]);
    return a;
}
template <class E, std::size_t n>
ROPE_OUT_OF_LINE Register<E, n> fmaddsub(Register<E, n> a, const Register<E, n>& b, const Register<E, n>& c) noexcept {
    for (std::size_t i = 0; i < n; ++i) a.lane[i] = fma(a.lane[i], b.lane[i], i % 2 == 0 ? -c.lane[i] : c.lane[i]);
    return a;
}
template <class E, std::size_t n>
ROPE_OUT_OF_LINE Register<E, n> swap_adjacent(const Register<E, n>& x) noexcept {
    Register<E, n> r;
    for (std::size_t i = 0; i < n; ++i) r.lane[i] = x.lane[i ^ 1];
    return r;
}
ROPE_OUT_OF_LINE Doubles dup_lower(const Doubles& x) noexcept {
    Doubles r;
    for (int i = 0; i < 8; ++i) r.lane[i] = x.lane[i / 2];
    return r;
}
ROPE_OUT_OF_LINE Doubles square_root(Doubles x) noexcept {
    for (double& lane : x.lane) lane = std::sqrt(lane);
    return x;
}
ROPE_OUT_OF_LINE Doubles sums_of(const Doubles (&x)[8]) noexcept {
    Doubles r;
    for (int k = 0; k < 8; ++k) {
        Doubles one = x[k];
        for (int half_of = 4; half_of > 0; half_of /= 2)
            for (int i = 0; i < half_of; ++i) one.lane[i] = hide_from_optimizer(one.lane[i] + one.lane[i + half_of]);
        r.lane[k] = one.lane[0];
    }
    return r;
}
ROPE_OUT_OF_LINE void split_even_odd(Doubles& a, Doubles& b) noexcept {
    const Doubles first = a, second = b;
    for (int i = 0; i < 8; ++i) {
        a.lane[i] = i < 4 ? first.lane[2 * i] : second.lane[2 * i - 8];
        b.lane[i] = i < 4 ? first.lane[2 * i + 1] : second.lane[2 * i - 7];
    }
}
ROPE_OUT_OF_LINE Floats permute(const Floats& x, const Words& order) noexcept {
    Floats r;
    for (int i = 0; i < 16; ++i) r.lane[i] = x.lane[order.lane[i] % 16];
    return r;
}
ROPE_OUT_OF_LINE Floats permute(const Floats& a, const Floats& b, const Words& order) noexcept {
    Floats r;
    for (int i = 0; i < 16; ++i)
        r.lane[i] = order.lane[i] % 32 < 16 ? a.lane[order.lane[i] % 16] : b.lane[order.lane[i] % 16];
    return r;
}
ROPE_OUT_OF_LINE Floats from_half(const Shorts& x) noexcept {
    Floats r;
    for (int i = 0; i < 16; ++i) r.lane[i] = float_from(half{x.lane[i]});
    return r;
}
ROPE_OUT_OF_LINE Shorts to_half(const Floats& x) noexcept {
    Shorts r;
    for (int i = 0; i < 16; ++i) r.lane[i] = half_from(x.lane[i]).bits;
    return r;
}

// ---- words ----

ROPE_OUT_OF_LINE Words words(const Floats& x) noexcept { return bit_cast<Words>(x); }
ROPE_OUT_OF_LINE Floats floats(const Words& x) noexcept { return bit_cast<Floats>(x); }
ROPE_OUT_OF_LINE Words all_words(unsigned x) noexcept {
    Words r;
    for (std::uint32_t& lane : r.lane) lane = x;
    return r;
}
ROPE_OUT_OF_LINE Words load_order(const int* p) noexcept { return load_lanes<Words>(p, 16); }
ROPE_OUT_OF_LINE Words add(const Words& a, const Words& b) noexcept { return a + b; }
template <class E, std::size_t n>
ROPE_OUT_OF_LINE Register<E, n> operator&(Register<E, n> a, const Register<E, n>& b) noexcept {
    for (std::size_t i = 0; i < n; ++i) a.lane[i] &= b.lane[i];
    return a;
}
template <class E, std::size_t n>
ROPE_OUT_OF_LINE Register<E, n> operator|(Register<E, n> a, const Register<E, n>& b) noexcept {
    for (std::size_t i = 0; i < n; ++i) a.lane[i] |= b.lane[i];
    return a;
}
ROPE_OUT_OF_LINE Words shift_left_16(Words x) noexcept {
    for (std::uint32_t& lane : x.lane) lane <<= 16;
    return x;
}
ROPE_OUT_OF_LINE Words shift_right_16(Words x) noexcept {
    for (std::uint32_t& lane : x.lane) lane >>= 16;
    return x;
}
ROPE_OUT_OF_LINE Mask16 is_greater(const Words& a, const Words& b) noexcept {
    Mask16 m = 0;
    for (int i = 0; i < 16; ++i)
        if (static_cast<std::int32_t>(a.lane[i]) > static_cast<std::int32_t>(b.lane[i]))
            m = static_cast<Mask16>(m | 1u << i);
    return m;
}
ROPE_OUT_OF_LINE Words blend(Mask16 m, Words a, const Words& b) noexcept {
    for (int i = 0; i < 16; ++i)
        if (has(m, i)) a.lane[i] = b.lane[i];
    return a;
}
ROPE_OUT_OF_LINE Words blend_16(Mask32 m, Words a, const Words& b) noexcept {
    for (int i = 0; i < 32; ++i) {
        const std::uint32_t part = i % 2 == 0 ? 0x0000ffff : 0xffff0000;
        if (has(m, i)) a.lane[i / 2] = (a.lane[i / 2] & ~part) | (b.lane[i / 2] & part);
    }
    return a;
}
ROPE_OUT_OF_LINE Words widen(const Shorts& x) noexcept {
    Words r;
    for (int i = 0; i < 16; ++i) r.lane[i] = x.lane[i];
    return r;
}
ROPE_OUT_OF_LINE Shorts narrow(const Words& x) noexcept {
    Shorts r;
    for (int i = 0; i < 16; ++i) r.lane[i] = static_cast<std::uint16_t>(x.lane[i]);
    return r;
}

// ---- floats to bfloat16 ----

/// Whether this set has the conversion: tests try both.
inline std::atomic<bool> has_conversion{true};
ROPE_OUT_OF_LINE bool has_bfloat16_conversion() noexcept { return has_conversion.load(std::memory_order_relaxed); }
ROPE_OUT_OF_LINE bool is_subnormal(std::uint32_t bits) noexcept {
    return (bits & 0x7f800000) == 0 && (bits & 0x7fffffff) != 0;
}
ROPE_OUT_OF_LINE bool convert_loses(const Floats& a, const Floats& b) noexcept {
    for (int i = 0; i < 16; ++i)
        if (is_subnormal(words(a).lane[i]) || is_subnormal(words(b).lane[i])) return true;
    return false;
}
/// As the instruction does: to nearest, ties to even; of a subnormal the sign, of a NaN the upper bits, and quiet.
ROPE_OUT_OF_LINE std::uint32_t converted(std::uint32_t bits) noexcept {
    if (is_subnormal(bits)) return bits >> 31 << 15;
    if ((bits & 0x7fffffff) > 0x7f800000) return bits >> 16 | 0x40;
    return (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
}
ROPE_OUT_OF_LINE Words convert_two(const Floats& lower, const Floats& upper) noexcept {
    std::uint16_t shorts[32];
    for (int i = 0; i < 16; ++i) {
        shorts[i] = static_cast<std::uint16_t>(converted(words(lower).lane[i]));
        shorts[i + 16] = static_cast<std::uint16_t>(converted(words(upper).lane[i]));
    }
    return load_words(shorts);
}
ROPE_OUT_OF_LINE Words permute_16(const Words& x, const Words& order) noexcept {
    const auto from = bit_cast<Register<std::uint16_t, 32>>(x), by = bit_cast<Register<std::uint16_t, 32>>(order);
    Register<std::uint16_t, 32> r;
    for (int i = 0; i < 32; ++i) r.lane[i] = from.lane[by.lane[i] % 32];
    return bit_cast<Words>(r);
}

// ---- integers of 32 bits ----

ROPE_OUT_OF_LINE Ints operator^(Ints a, const Ints& b) noexcept {
    for (int i = 0; i < 16; ++i) a.lane[i] ^= b.lane[i];
    return a;
}
ROPE_OUT_OF_LINE Ints all_ints(std::int32_t x) noexcept {
    Ints r;
    for (std::int32_t& lane : r.lane) lane = x;
    return r;
}
ROPE_OUT_OF_LINE Ints is_above(Ints a, const Ints& b) noexcept {
    for (int i = 0; i < 16; ++i) a.lane[i] = a.lane[i] > b.lane[i] ? -1 : 0;
    return a;
}
ROPE_OUT_OF_LINE Ints chosen(Ints mask, const Ints& a, const Ints& b) noexcept {
    for (int i = 0; i < 16; ++i) mask.lane[i] = (mask.lane[i] & a.lane[i]) | (~mask.lane[i] & b.lane[i]);
    return mask;
}
template <int bits>
ROPE_OUT_OF_LINE Ints shifted_right(Ints x) noexcept {
    for (std::int32_t& lane : x.lane) lane >>= bits;
    return x;
}
template <int bits>
ROPE_OUT_OF_LINE Ints shifted_left(Ints x) noexcept {
    for (std::int32_t& lane : x.lane) lane <<= bits;
    return x;
}
ROPE_OUT_OF_LINE Ints truncated(const Floats& x) noexcept {
    Ints r;
    for (int i = 0; i < 16; ++i) r.lane[i] = static_cast<std::int32_t>(x.lane[i]);
    return r;
}
ROPE_OUT_OF_LINE Floats as_floats(const Ints& x) noexcept {
    Floats r;
    for (int i = 0; i < 16; ++i) r.lane[i] = static_cast<float>(x.lane[i]);
    return r;
}
ROPE_OUT_OF_LINE Ints load_codes(const unsigned char* p) noexcept {
    Ints r;
    for (int i = 0; i < 16; ++i) r.lane[i] = p[i];
    return r;
}
ROPE_OUT_OF_LINE void store_codes(unsigned char* p, const Ints& x) noexcept {
    for (int i = 0; i < 16; ++i) p[i] = static_cast<unsigned char>(x.lane[i] & 0xff);
}

}  // namespace emulated
ROPE_DETAIL_END

#undef ROPE_OUT_OF_LINE

#include <rope/detail/simd/avx512/lanes.hpp>

#include <rope/detail/simd/vectors.hpp>
