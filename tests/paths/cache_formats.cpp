// SPDX-License-Identifier: MIT
// Codes of cache formats against formulas of their own: ggml's reference code, the nearest of all 8-bit floats, and the
// definitions in destinations.hpp.
#include <rope/apply.hpp>
#include <rope/heads.hpp>

#include <rope/detail/kernels/formats.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "paths/float8.hpp"
#include "support/catch.hpp"
#include "support/data.hpp"
#include "support/drawn_blocks.hpp"
#include "support/isas.hpp"

using rope::Index;
using support::E4m3;
using support::E5m2;
using support::size;

namespace {

constexpr auto kLayout = rope::Layout::half_split;
constexpr float kInfinity = std::numeric_limits<float>::infinity();

const rope::CosSinCache<float>& table() {
    static const rope::CosSinCache<float> cache = [] {
        rope::Config config;
        config.head_dim = 64;
        return rope::CosSinCache<float>(config, 8192);
    }();
    return cache;
}

/// Writes heads of 64 numbers in a format.
void write(const std::vector<float>& x, const rope::Destination& to) {
    const Index heads = static_cast<Index>(x.size()) / 64;
    rope::pass<kLayout>(table(), rope::start_at(0), rope::heads(rope::view(x.data(), 1, heads, 64)).to(to));
}

/// The nearest number that a code stands for, ties to the even code; beyond the largest, that.
template <class Float8>
unsigned char nearest_code(float x, int codes) {
    if (std::isnan(x)) return static_cast<unsigned char>(0x7f | (std::signbit(x) ? 0x80 : 0));
    int best = 0;
    double distance = std::numeric_limits<double>::infinity();
    for (int code = 0; code < codes; ++code) {
        const double value = Float8::number(code);
        const double here = std::fabs(std::min(std::fabs(static_cast<double>(x)), 1e6) - value);
        if (here < distance || (here == distance && code % 2 == 0)) {
            best = code;
            distance = here;
        }
    }
    return static_cast<unsigned char>(best | (std::signbit(x) ? 0x80 : 0));
}

}  // namespace

TEST_CASE("blocks too small for a reciprocal are zeros, and an infinity or a NaN stays in its block") {
    std::vector<float> x(128, 1e-42f);
    x[64] = kInfinity;
    x[100] = std::numeric_limits<float>::quiet_NaN();
    x[101] = 5.0f;
    std::vector<unsigned char> q8(4 * 34), q4(4 * 18);
    std::vector<float> from8(128), from4(128);
    const auto blocks8 = rope::q8_0(rope::view(q8.data(), 1, 2, 68)),
               blocks4 = rope::q4_0(rope::view(q4.data(), 1, 2, 36));
    write(x, blocks8);
    write(x, blocks4);
    rope::dequantise(blocks8, rope::view(from8.data(), 1, 2, 64));
    rope::dequantise(blocks4, rope::view(from4.data(), 1, 2, 64));
    for (std::size_t i = 0; i < 64; ++i) {
        CHECK(from8[i] == 0.0f);
        CHECK(from4[i] == 0.0f);
        CHECK(std::isnan(from8[64 + i]));
        CHECK(std::isnan(from4[64 + i]));
    }
}

TEST_CASE("8-bit floats are the nearest there are, ties to even; the largest holds, and NaN stays") {
    std::vector<float> x = {0.0f,      -0.0f,      448.0f,   449.0f,   464.0f, -1e30f,
                            kInfinity, -kInfinity, 57344.0f, 61440.0f, 1e-9f,  std::numeric_limits<float>::quiet_NaN()};
    for (int code = 0; code < 127; ++code)
        for (const double number : {E4m3::number(code), E5m2::number(std::min(code, 0x7b))}) {
            const float v = static_cast<float>(number),
                        next = static_cast<float>(E4m3::number(std::min(code + 1, 126)));
            for (const float y :
                 {v, (v + next) / 2, std::nextafter((v + next) / 2, 0.0f), std::nextafter(v, kInfinity)}) {
                x.push_back(y);
                x.push_back(-y);
            }
        }
    std::mt19937 engine(1);
    while (x.size() % 64 != 0 || x.size() < 20000)
        x.push_back(std::ldexp(std::normal_distribution<float>()(engine), static_cast<int>(engine() % 40) - 22));
    const Index heads = static_cast<Index>(x.size()) / 64;
    support::for_each_isa([&](const char* name) {
        INFO(name);
        std::vector<unsigned char> e4(x.size()), e5(x.size());
        write(x, rope::fp8_e4m3(rope::view(e4.data(), 1, heads, 64)));
        write(x, rope::fp8_e5m2(rope::view(e5.data(), 1, heads, 64)));
        std::size_t different = 0;
        for (std::size_t i = 0; i < x.size(); ++i)
            different += static_cast<std::size_t>(e4[i] != nearest_code<E4m3>(x[i], 127)) +
                         static_cast<std::size_t>(e5[i] != nearest_code<E5m2>(x[i], 0x7c));
        CHECK(different == 0);
    });
}

TEST_CASE("a scale is multiplied by or divided by, as it is said") {
    const std::vector<float> x = support::normal<float>(64, 2);
    std::vector<unsigned char> codes(64);
    std::vector<float> back(64);
    for (const auto use : {rope::ScaleUse::multiplies, rope::ScaleUse::divides}) {
        const auto to = rope::fp8_e4m3(rope::view(codes.data(), 1, 1, 64), 3.0f, use);
        write(x, to);
        rope::dequantise(to, rope::view(back.data(), 1, 1, 64));
        for (std::size_t i = 0; i < 64; ++i) {
            const float scaled = use == rope::ScaleUse::multiplies ? x[i] * 3.0f : x[i] / 3.0f;
            CHECK(codes[i] == nearest_code<E4m3>(scaled, 127));
            CHECK(std::fabs(back[i] - x[i]) <= std::fabs(x[i]) / 16 + 0.01f);
        }
    }
}

TEST_CASE("a range beyond the largest float is read back") {
    std::vector<float> x(64, 3e38f), back(64), scale(1), zero(1);
    x[5] = -3e38f;
    std::vector<unsigned char> codes(64);
    const auto to = rope::uint8(rope::view(codes.data(), 1, 1, 64), rope::view(scale.data(), 1, 1, 1),
                                rope::view(zero.data(), 1, 1, 1));
    write(x, to);
    rope::dequantise(to, rope::view(back.data(), 1, 1, 64));
    for (std::size_t i = 0; i < 64; ++i) CHECK(std::fabs(back[i] / x[i] - 1.0f) < 1e-5f);
}

TEST_CASE("int8, uint8 and uint4 are the nearest codes of their definition, and are read back") {
    const Index heads = 3000;
    std::vector<float> x = support::drawn_blocks(heads * 2, 77);
    std::fill(x.begin(), x.begin() + 64, 0.0f);         // a head of zeros
    std::fill(x.begin() + 64, x.begin() + 128, -2.5f);  // of one number
    const auto v = [&](auto* p, Index width) { return rope::view(p, 1, heads, width); };
    support::for_each_isa([&](const char* name) {
        INFO(name);
        std::vector<signed char> i8(x.size());
        std::vector<unsigned char> u8(x.size()), u4(x.size() / 2);
        std::vector<float> s1(size(heads)), s2 = s1, s3 = s1, z2 = s1, z3 = s1, back(x.size());
        write(x, rope::int8(v(i8.data(), 64), v(s1.data(), 1)));
        write(x, rope::uint8(v(u8.data(), 64), v(s2.data(), 1), v(z2.data(), 1)));
        write(x, rope::uint4(v(u4.data(), 32), v(s3.data(), 1), v(z3.data(), 1)));
        std::size_t wrong = 0;
        for (Index h = 0; h < heads; ++h) {
            const float* const head = x.data() + h * 64;
            double most = 0.0, low = static_cast<double>(head[0]), high = low;
            for (int i = 0; i < 64; ++i) {
                most = std::max(most, std::fabs(static_cast<double>(head[i])));
                low = std::min(low, static_cast<double>(head[i]));
                high = std::max(high, static_cast<double>(head[i]));
            }
            wrong += s1[size(h)] != static_cast<float>(most / 127.0);
            wrong += z2[size(h)] != static_cast<float>(low) || z3[size(h)] != static_cast<float>(low);
            wrong += s2[size(h)] != static_cast<float>((high - low) / 255.0);
            const double steps[3] = {static_cast<double>(s1[size(h)]), static_cast<double>(s2[size(h)]),
                                     static_cast<double>(s3[size(h)])};
            for (int i = 0; i < 64; ++i) {
                const double value = static_cast<double>(head[i]);
                const std::size_t at = size(h * 64 + i);
                const int nibble = u4[at / 2] >> (i % 2 * 4) & 15;
                const double read[3] = {i8[at] * steps[0], low + u8[at] * steps[1], low + nibble * steps[2]};
                // Half a step, and what float's rounding of x - zero and of the quotient can shift beyond it.
                for (int k = 0; k < 3; ++k)
                    wrong += std::fabs(read[k] - value) > steps[k] * 0.5001 + std::fabs(value) * 0x1p-22;
                wrong += steps[0] == 0.0 && i8[at] != 0;
                wrong += steps[1] == 0.0 && (u8[at] != 0 || nibble != 0);
            }
        }
        CHECK(wrong == 0);
        rope::dequantise(rope::uint4(v(u4.data(), 32), v(s3.data(), 1), v(z3.data(), 1)), v(back.data(), 64));
        for (std::size_t i = 0; i < x.size(); i += 997)
            CHECK(back[i] == std::fma(static_cast<float>(u4[i / 2] >> (i % 2 * 4) & 15), s3[i / 64], z3[i / 64]));
    });
}

TEST_CASE("8-bit floats by a scale for each head, a float or a power of two") {
    const Index heads = 2000;
    std::vector<float> x = support::drawn_blocks(heads * 2, 5);
    std::fill(x.begin(), x.begin() + 64, 0.0f);
    std::fill(x.begin() + 64, x.begin() + 128, 1e-44f);  // over 448 it is 0
    x[128 + 7] = kInfinity;
    x[192 + 7] = std::numeric_limits<float>::quiet_NaN();
    support::for_each_isa([&](const char* name) {
        INFO(name);
        std::vector<unsigned char> codes(x.size()), by_power(x.size()), powers(size(heads));
        std::vector<float> scales(size(heads)), back(x.size()), back_by_power(x.size());
        const auto view = [&](auto& v, Index width) { return rope::view(v.data(), 1, heads, width); };
        const rope::Destination to = rope::fp8_e4m3(view(codes, 64), view(scales, 1));
        const rope::Destination to_powers = rope::fp8_e4m3(view(by_power, 64), view(powers, 1));
        write(x, to);
        write(x, to_powers);
        rope::dequantise(to, view(back, 64));
        rope::dequantise(to_powers, view(back_by_power, 64));
        std::size_t wrong = 0;
        for (std::size_t h = 0; h < size(heads); ++h) {
            float most = 0.0f;
            for (std::size_t i = 0; i < 64; ++i) most = std::max(most, std::fabs(x[h * 64 + i]));
            const float scale = most / 448.0f;
            const float power = std::exp2(std::ceil(std::log2(std::max(scale, 1e-4f))));
            const bool is_finite_head = h != 2 && h != 3;
            wrong += is_finite_head && scales[h] != scale ? 1u : 0u;
            wrong += (is_finite_head ? std::log2(power) + 127.0f : 255.0f) != powers[h] ? 1u : 0u;
            for (std::size_t i = h * 64; i < h * 64 + 64; ++i) {
                const unsigned char want = scale == 0.0f || !is_finite_head ? 0 : nearest_code<E4m3>(x[i] / scale, 127);
                const unsigned char want_power = !is_finite_head ? 0 : nearest_code<E4m3>(x[i] / power, 127);
                wrong += codes[i] != want || by_power[i] != want_power ? 1u : 0u;
                if (!is_finite_head) {
                    wrong += std::isnan(back[i]) && std::isnan(back_by_power[i]) ? 0u : 1u;
                } else {
                    wrong += std::fabs(back[i] - x[i]) <= std::fabs(x[i]) / 16 + scale * 0.002f + 1e-43f ? 0u : 1u;
                    wrong += std::fabs(back_by_power[i] - x[i]) <= std::fabs(x[i]) / 16 + power * 0.002f ? 0u : 1u;
                }
            }
        }
        CHECK(wrong == 0);
    });
}

TEST_CASE("codes of uint8 are the nearest to the quotient in double") {
    const Index heads = 20000;
    const std::vector<float> x = support::normal<float>(heads * 64, 21);
    std::vector<unsigned char> codes(x.size());
    std::vector<float> scales(size(heads)), zeros(size(heads));
    const auto of = [&](auto& v, Index width) { return rope::view(v.data(), 1, heads, width); };
    write(x, rope::uint8(of(codes, 64), of(scales, 1), of(zeros, 1)));
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
        const double zero = static_cast<double>(zeros[i / 64]), scale = static_cast<double>(scales[i / 64]);
        wrong += std::min(255.0, std::nearbyint((static_cast<double>(x[i]) - zero) / scale)) != codes[i];
    }
    CHECK(wrong == 0);
}

TEST_CASE("the smallest numbers of all: codes of int8 end at 127") {
    for (const float unit : {0x1p-149f, 0x1p-148f, 0x1p-140f})
        for (const float times : {1.0f, 63.0f, 64.0f, 190.0f, 300.0f, 381.0f, 1000.0f}) {
            std::vector<float> x(64, times * unit), scale(1), back(64);
            x[3] = -x[3];
            std::vector<signed char> codes(64);
            const auto to = rope::int8(rope::view(codes.data(), 1, 1, 64), rope::view(scale.data(), 1, 1, 1));
            write(x, to);
            rope::dequantise(to, rope::view(back.data(), 1, 1, 64));
            INFO(times << " * " << unit);
            CHECK(codes[3] == -codes[0]);
            CHECK((codes[0] > 0 || scale[0] == 0.0f));
            CHECK(std::fabs(back[0] - x[0]) <= x[0]);
        }
}

TEST_CASE("of zeros of both signs the first is the smallest number, in every set") {
    support::for_each_isa([](const char* name) {
        for (const float first : {0.0f, -0.0f})
            for (const std::size_t at : {0u, 5u, 62u}) {
                std::vector<float> x(64, 1.0f), scale(1), zero(1);
                x[at] = first;
                x[63] = -first;
                std::vector<unsigned char> codes(64);
                const auto of = [](auto& v, Index width) { return rope::view(v.data(), 1, 1, width); };
                write(x, rope::uint8(of(codes, 64), of(scale, 1), of(zero, 1)));
                INFO(name << ", " << first << " at " << at);
                CHECK(std::memcmp(&zero[0], &x[at], sizeof(float)) == 0);
            }
    });
}

TEST_CASE("heads of the smallest normal numbers keep their codes") {
    std::vector<float> x(64, 3e-37f), scale(1), zero(1);
    x[3] = -3e-37f;
    std::vector<signed char> codes(64);
    std::vector<unsigned char> levels(64);
    const auto of = [](auto& v, Index width) { return rope::view(v.data(), 1, 1, width); };
    write(x, rope::int8(of(codes, 64), of(scale, 1)));
    CHECK(codes[0] == 127);
    CHECK(codes[3] == -127);
    write(x, rope::uint8(of(levels, 64), of(scale, 1), of(zero, 1)));
    CHECK(levels[0] == 255);
    CHECK(levels[3] == 0);
}

TEST_CASE("a scale that is a power of two, at the end of float") {
    const float unit = 0x1p120f;
    for (const float times : {240.0f, 255.9f}) {
        std::vector<float> x(64, times * unit), back(64);
        std::vector<unsigned char> codes(64), powers(1);
        const auto of = [](auto& v, Index width) { return rope::view(v.data(), 1, 1, width); };
        const auto to = rope::fp8_e4m3(of(codes, 64), of(powers, 1));
        write(x, to);
        rope::dequantise(to, of(back, 64));
        CHECK(back[0] == (times == 240.0f ? x[0] : kInfinity));
    }
}
