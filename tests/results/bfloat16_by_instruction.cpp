// SPDX-License-Identifier: MIT
// Machines with an instruction for it round to bfloat16 by that, others by integers: the bits are the same. The
// instruction takes subnormals for zeros, so one of them is put at each place of a vector, among numbers that it rounds.
#include <rope/core.hpp>
#include <rope/heads.hpp>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "support/catch.hpp"
#include "support/isas.hpp"

using rope::bfloat16;
using rope::Index;

namespace {

/// f(name) for each set; "emulated" stands for AVX-512 with the instruction, then without.
template <class F>
void for_each_rounding(F&& f) {
    support::for_each_isa([&](const std::string& name) {
        f(name);
#if defined(ROPE_EMULATED)
        if (name == "emulated") {
            rope::detail::emulated::has_conversion = false;
            f(name + " without the instruction");
            rope::detail::emulated::has_conversion = true;
        }
#endif
    });
}

float float_of(std::uint32_t bits) {
    float x = 0.0f;
    std::memcpy(&x, &bits, sizeof(x));
    return x;
}
/// How many differ in their bits; NaNs need not be the same.
Index differences(const std::vector<bfloat16>& x, const std::vector<bfloat16>& y) {
    Index count = 0;
    for (std::size_t i = 0; i < x.size(); ++i)
        if (x[i].bits != y[i].bits && !(std::isnan(rope::to_float(x[i])) && std::isnan(rope::to_float(y[i])))) ++count;
    return count;
}

constexpr std::uint32_t kTelling[] = {0x00000001, 0x80000001, 0x007fffff, 0x807fffff, 0x00010000, 0x807f8000,
                                      0x00000000, 0x80000000, 0x00800000, 0x00808000, 0x00818000, 0x7f7fffff,
                                      0xff7f8000, 0x7f800000, 0xff800000, 0x7f800001, 0xffbfffff, 0x7fc01234};

/// Floats of which every second is halfway between two bfloat16.
std::vector<float> normal_numbers(Index count, unsigned seed) {
    std::mt19937 random(seed);
    std::vector<float> x;
    for (Index i = 0; i < count; ++i) {
        const std::uint32_t bits =
            0x30000000u + static_cast<std::uint32_t>(random() % 0x20000000u + (random() % 2 << 31));
        x.push_back(float_of(i % 2 == 0 ? bits : (bits & 0xffff0000) | 0x8000));
    }
    return x;
}

constexpr Index kDim = 192;

/// A table whose first row turns by nothing and makes a number m times as large.
const rope::CosSinCache<float>& table() {
    static const auto made = [] {
        rope::Config config;
        config.head_dim = kDim;
        config.attention_factor = 1.2345;
        return rope::CosSinCache<float>(config, 4);
    }();
    return made;
}

/// Rotates heads of one token, and says the bits of the result.
template <rope::Layout layout>
void check_rotation(const std::vector<bfloat16>& x, Index heads, Index position) {
    const rope::CosSinCache<float>& rows = table();
    constexpr bool is_half_split = layout == rope::Layout::half_split;
    std::vector<bfloat16> y = x, expected = x;
    rope::apply<layout>(rope::view(y.data(), 1, heads, kDim), rows, rope::start_at(position));
    for (Index h = 0; h < heads; ++h)
        for (Index i = 0; i < kDim / 2; ++i) {
            const auto a = static_cast<std::size_t>(h * kDim + (is_half_split ? i : 2 * i));
            const std::size_t b = a + static_cast<std::size_t>(is_half_split ? kDim / 2 : 1);
            const float c = rows.cos_row(position)[i], s = rows.sin_row(position)[i];
            const float of_a = rope::to_float(x[a]), of_b = rope::to_float(x[b]);
            expected[a] = rope::to_bfloat16(std::fma(of_a, c, -(of_b * s)));
            expected[b] = rope::to_bfloat16(std::fma(of_b, c, of_a * s));
        }
    CHECK(differences(y, expected) == 0);
}

}  // namespace

TEST_CASE("Floats are written as bfloat16 with the same bits by every instruction set") {
    for_each_rounding([&](const std::string& name) {
        CAPTURE(name);
        for (const std::uint32_t telling : kTelling)
            for (Index place = 0; place < kDim; place += telling == kTelling[0] ? 1 : 7) {
                std::vector<float> x = normal_numbers(kDim, static_cast<unsigned>(place));
                x[static_cast<std::size_t>(place)] = float_of(telling);
                std::vector<bfloat16> y(x.size()), expected;
                for (const float one : x) expected.push_back(rope::to_bfloat16(one));
                rope::pass<rope::Layout::half_split>(
                    table(), rope::start_at(0),
                    rope::heads(rope::view(x.data(), 1, 1, kDim)).to(rope::view(y.data(), 1, 1, kDim)));
                CHECK(std::memcmp(y.data(), expected.data(), y.size() * sizeof(bfloat16)) == 0);
            }
    });
}

TEST_CASE("bfloat16 is rotated to the same bits by every instruction set with fma") {
    for_each_rounding([&](const std::string& name) {
        if (!rope::detail::active_isa_has_fma()) return;
        CAPTURE(name);
        for (const std::uint32_t telling : kTelling)
            for (Index place = 0; place < kDim; place += telling == kTelling[0] ? 1 : 7) {
                const Index heads = 1 + place % 3;
                std::vector<bfloat16> x;
                for (const float one : normal_numbers(heads * kDim, static_cast<unsigned>(place)))
                    x.push_back(rope::to_bfloat16(one));
                x[static_cast<std::size_t>((heads - 1) * kDim + place)] = {static_cast<std::uint16_t>(telling >> 16)};
                for (const Index position : {Index{0}, Index{3}}) {
                    check_rotation<rope::Layout::half_split>(x, heads, position);
                    check_rotation<rope::Layout::interleaved>(x, heads, position);
                }
            }
    });
}
