// SPDX-License-Identifier: MIT
// Blocks of any bytes are read as the numbers of their definitions, bit for bit: ggml's, 4-bit floats and int4.
#include <rope/heads.hpp>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "support/catch.hpp"
#include "support/data.hpp"
#include "support/isas.hpp"
#include "support/rounded.hpp"

using rope::Index;
using support::size;

namespace {

constexpr Index kHeads = 500;
constexpr int kTable[16] = {-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113};
constexpr float kE2m1[8] = {0.0f, 0.5f, 1.0f, 1.5f, 2.0f, 3.0f, 4.0f, 6.0f};

float half_at(const unsigned char* p) {
    std::uint16_t bits;
    std::memcpy(&bits, p, 2);
    return static_cast<float>(support::number_of(support::kHalf, bits, 16));
}
/// Code i of 32 whose first 16 stand in the lower halves of bytes.
int nibble(const unsigned char* codes, int i) { return codes[i % 16] >> (i / 16 * 4) & 15; }
int of_5_bits(const unsigned char* high, int i) { return nibble(high + 4, i) + (high[i / 8] >> i % 8 & 1) * 16; }
float e2m1(int code) { return code < 8 ? kE2m1[code] : -kE2m1[code - 8]; }

/// Reads heads of one block of 32 features; number(block, i) is feature i.
template <class Make, class Number>
void check(const char* what, Index bytes, Index halves, const Make& make, const Number& number) {
    std::mt19937 engine(3);
    std::vector<unsigned char> blocks(size(kHeads * bytes));
    for (unsigned char& byte : blocks) byte = static_cast<unsigned char>(engine() & 255);
    for (Index h = 0; h < kHeads; ++h)  // numbers in half are finite
        for (Index k = 0; k < halves; ++k) {
            const auto bits = static_cast<std::uint16_t>(engine() & 0xbbff);
            std::memcpy(&blocks[size(h * bytes + 2 * k)], &bits, 2);
        }
    support::for_each_isa([&](const char* name) {
        CAPTURE(what, name);
        std::vector<float> back(size(kHeads * 32));
        rope::dequantise(make(rope::view(blocks.data(), 1, kHeads, bytes)), rope::view(back.data(), 1, kHeads, 32));
        int wrong = 0;
        for (Index h = 0; h < kHeads; ++h)
            for (int i = 0; i < 32; ++i) {
                const float expected = number(blocks.data() + h * bytes, i), got = back[size(h * 32 + i)];
                const bool is_same = std::memcmp(&expected, &got, sizeof(float)) == 0;
                wrong += is_same || (std::isnan(expected) && std::isnan(got)) ? 0 : 1;
            }
        CHECK(wrong == 0);
    });
}

}  // namespace

TEST_CASE("ggml's blocks are read by its formulas") {
    using support::rounded_product;
    using support::rounded_sum;
    using Byte = unsigned char;
    const auto of_range = [](float code, const Byte* b) {
        return rounded_sum(rounded_product(code, half_at(b)), half_at(b + 2));
    };
    check(
        "q4_0", 18, 1, [](auto v) { return rope::q4_0(v); },
        [](const Byte* b, int i) { return static_cast<float>(nibble(b + 2, i) - 8) * half_at(b); });
    check(
        "q5_0", 22, 1, [](auto v) { return rope::q5_0(v); },
        [](const Byte* b, int i) { return static_cast<float>(of_5_bits(b + 2, i) - 16) * half_at(b); });
    check(
        "q4_1", 20, 2, [](auto v) { return rope::q4_1(v); },
        [&](const Byte* b, int i) { return of_range(static_cast<float>(nibble(b + 4, i)), b); });
    check(
        "q5_1", 24, 2, [](auto v) { return rope::q5_1(v); },
        [&](const Byte* b, int i) { return of_range(static_cast<float>(of_5_bits(b + 4, i)), b); });
    check(
        "iq4_nl", 18, 1, [](auto v) { return rope::iq4_nl(v); },
        [](const Byte* b, int i) { return static_cast<float>(kTable[nibble(b + 2, i)]) * half_at(b); });
    check(
        "mxfp4", 17, 0, [](auto v) { return rope::mxfp4(v); },
        [](const Byte* b, int i) {
            if (b[0] == 255) return std::numeric_limits<float>::quiet_NaN();
            return e2m1(nibble(b + 1, i)) * 2.0f * std::ldexp(1.0f, b[0] - 128) + 0.0f;  // no zero below 0
        });
}

TEST_CASE("codes of half a byte are read with the scales beside them") {
    using Byte = unsigned char;
    std::vector<Byte> powers(size(kHeads)), small(size(kHeads * 2));
    std::vector<float> scales = support::normal<float>(kHeads * 4, 5);
    for (std::size_t i = 0; i < powers.size(); ++i) powers[i] = static_cast<Byte>(i % 256);
    for (std::size_t i = 0; i < small.size(); ++i) small[i] = static_cast<Byte>(i % 0x7f);
    Index h = 0;  // blocks come head after head, feature after feature
    const auto code = [](const Byte* b, int i) { return b[i / 2] >> i % 2 * 4 & 15; };
    const auto head = [&](int i) { return i == 31 ? h++ % kHeads : h % kHeads; };
    check(
        "mxfp4", 16, 0, [&](auto v) { return rope::mxfp4(v, rope::view(powers.data(), 1, kHeads, 1)); },
        [&](const Byte* b, int i) {
            const int power = powers[size(head(i))];
            return power == 255 ? std::numeric_limits<float>::quiet_NaN() : std::ldexp(e2m1(code(b, i)), power - 127);
        });
    check(
        "nvfp4", 16, 0, [&](auto v) { return rope::nvfp4(v, rope::view(small.data(), 1, kHeads, 2), 0.3f); },
        [&](const Byte* b, int i) {
            const int byte = small[size(head(i) * 2 + i / 16)];
            const double scale = byte < 8 ? std::ldexp(byte, -9) : std::ldexp(8 + byte % 8, byte / 8 - 10);
            return e2m1(code(b, i)) * support::rounded_product(static_cast<float>(scale), 0.3f);
        });
    check(
        "int4", 16, 0, [&](auto v) { return rope::int4(v, rope::view(scales.data(), 1, kHeads, 4)); },
        [&](const Byte* b, int i) {
            const int n = code(b, i);
            return static_cast<float>(n < 8 ? n : n - 16) * scales[size(head(i) * 4 + i / 8)];
        });
}

TEST_CASE("numbers far from 0 are read back within half a step, whatever zeros are and codes have signs") {
    using Byte = unsigned char;
    constexpr Index dim = 64, groups = 2;
    std::vector<float> x = support::normal<float>(kHeads * dim, 6);
    for (std::size_t i = 0; i < x.size(); ++i)
        x[i] += i / size(dim) % 3 == 0 ? 40.0f : i / size(dim) % 3 == 1 ? -7.0f : 0.0f;
    support::for_each_isa([&](const char* isa) {
        std::vector<Byte> codes(x.size()), plain(x.size());
        std::vector<signed char> signed_codes(x.size());
        std::vector<float> scales(size(kHeads * groups)), zeros(scales), back(x.size());
        const auto heads_of = [](auto& memory) {
            return rope::view(memory.data(), 1, kHeads, static_cast<Index>(memory.size()) / kHeads);
        };
        const auto nibbles = rope::view(codes.data(), 1, kHeads, dim / 2);
        const auto check_steps = [&](const char* what, const rope::Destination& to) {
            CAPTURE(isa, what);
            rope::pass(rope::heads(heads_of(x)).to(to));
            rope::dequantise(to, heads_of(back));
            Index wrong = 0;
            for (std::size_t i = 0; i < x.size(); ++i) {
                const float step = scales[i / size(dim / groups)];
                wrong += !(std::fabs(back[i] - x[i]) <= 0.501f * step + 1e-5f * std::fabs(x[i]));
            }
            CHECK(wrong == 0);
        };
        check_steps("uint8", rope::uint8(heads_of(plain), heads_of(scales), heads_of(zeros)));
        const std::vector<float> minima = zeros;
        check_steps("int8", rope::int8(heads_of(signed_codes), heads_of(scales), heads_of(zeros)));
        CHECK(zeros == minima);
        Index other = 0;  // the codes of uint8, less 128
        for (std::size_t i = 0; i < x.size(); ++i) other += plain[i] - 128 != signed_codes[i];
        CHECK(other == 0);
        check_steps("int8, zero points",
                    rope::int8(heads_of(signed_codes), heads_of(scales), rope::zero_points(heads_of(zeros))));
        check_steps("uint8, zero points",
                    rope::uint8(heads_of(codes), heads_of(scales), rope::zero_points(heads_of(zeros))));
        check_steps("int4", rope::int4(nibbles, heads_of(scales), heads_of(zeros)));
        check_steps("int4, zero points", rope::int4(nibbles, heads_of(scales), rope::zero_points(heads_of(zeros))));
        check_steps("uint4", rope::uint4(nibbles, heads_of(scales), heads_of(zeros)));
    });
}

TEST_CASE("codes of 8 bits are read with scales and zeros of any fraction") {
    std::vector<signed char> codes(256);
    for (int i = 0; i < 256; ++i) codes[size(i)] = static_cast<signed char>(i - 128);
    std::vector<float> back(256);
    const auto of = [](auto& memory) { return rope::view(memory.data(), 1, 1, 256); };
    for (const float zero : {1e-7f, -13.8306456f, 0.3f, 77.25f, -5000.5f})
        support::for_each_isa([&](const char* isa) {
            CAPTURE(isa, zero);
            const float scale = 1.28144026f;
            rope::dequantise(rope::int8(of(codes), scale, rope::zero_points(zero)), of(back));
            Index wrong = 0;
            for (int i = 0; i < 256; ++i)
                wrong += back[size(i)] !=
                         support::rounded_product(support::rounded_sum(static_cast<float>(i - 128), -zero), scale);
            CHECK(wrong == 0);
        });
}
