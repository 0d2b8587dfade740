// SPDX-License-Identifier: MIT
// The formats of a cache while the caller has set another rounding mode than to nearest: every number is read back as one
// beside it, and none changes its sign.
#include <rope/apply.hpp>
#include <rope/heads.hpp>

#include <algorithm>
#include <cfenv>
#include <cmath>
#include <cstring>
#include <random>
#include <vector>

#include "support/catch.hpp"
#include "support/data.hpp"
#include "support/isas.hpp"

using rope::Index;
using support::size;

namespace {

constexpr Index kHeads = 300, kDim = 64;

/// Heads of which each has its largest number once, of either sign; some of equal numbers, some of very small ones.
std::vector<float> drawn() {
    std::mt19937 engine(20261127);
    std::normal_distribution<float> normal;
    std::vector<float> x(size(kHeads * kDim));
    for (Index h = 0; h < kHeads; ++h) {
        const float unit = h % 10 == 9 ? 1e-40f : std::ldexp(1.0f, static_cast<int>(engine() % 16) - 4);
        for (Index i = 0; i < kDim; ++i) x[size(h * kDim + i)] = h % 7 == 3 ? unit : unit * normal(engine);
        x[size(h * kDim + h % kDim)] = (h % 2 == 0 ? 6.0f : -6.0f) * unit * (1.0f + std::fabs(normal(engine)));
    }
    return x;
}

/// The codes of x, written while `mode` is set, as numbers.
std::vector<float> read_back(int mode, const std::vector<float>& x, const rope::Destination& to) {
    rope::Config config;
    config.head_dim = kDim;
    const rope::CosSinCache<float> table(config, 4);
    const rope::Path path = rope::heads(rope::view(x.data(), 1, 1, kHeads, kDim)).to(to);
    std::fesetround(mode);
    rope::pass<rope::Layout::half_split>(table, rope::start_at(0), path);
    std::fesetround(FE_TONEAREST);
    std::vector<float> back(x.size());
    rope::dequantise(to, rope::view(back.data(), 1, 1, kHeads, kDim));
    return back;
}

/// The largest magnitude of `count` numbers.
float largest(const float* x, Index count) {
    float most = 0.0f;
    for (Index i = 0; i < count; ++i) most = std::max(most, std::fabs(x[i]));
    return most;
}

}  // namespace

TEST_CASE("in every rounding mode a code stands for a number beside its own") {
    const std::vector<float> x = drawn();
    std::vector<unsigned char> codes(size(kHeads * kDim * 2));
    std::vector<signed char> signed_codes(size(kHeads * kDim));
    std::vector<float> scales(size(kHeads)), zeros(size(kHeads));
    const auto view = [&](Index width) { return rope::view(codes.data(), 1, 1, kHeads, width); };
    const auto scale = rope::view(scales.data(), 1, 1, kHeads, 1), zero = rope::view(zeros.data(), 1, 1, kHeads, 1);
    /// levels: steps from 0 to the largest number of `block`; 0: relative to the number itself.
    struct Case {
        const char* name;
        rope::Destination to;
        Index block;
        float levels, relative;
    };
    const Case cases[] = {
        {"int8", rope::int8(rope::view(signed_codes.data(), 1, 1, kHeads, kDim), scale), kDim, 127.0f, 0.0f},
        {"uint8", rope::uint8(view(kDim), scale, zero), kDim, 127.0f, 0.0f},  // a range of twice the largest
        {"uint4", rope::uint4(view(kDim / 2), scale, zero), kDim, 7.5f, 0.0f},
        {"q8_0", rope::q8_0(view(kDim / 32 * 34)), 32, 127.0f, 0.0f},
        {"q4_0", rope::q4_0(view(kDim / 32 * 18)), 32, 8.0f, 0.0f},
        {"fp8_e4m3", rope::fp8_e4m3(view(kDim), 1.0f), kDim, 0.0f, 0.125f},
        {"fp8_e5m2", rope::fp8_e5m2(view(kDim), 1.0f, rope::ScaleUse::divides), kDim, 0.0f, 0.25f},
        {"fp8_e4m3 by head", rope::fp8_e4m3(view(kDim), scale), kDim, 448.0f * 64.0f, 0.125f}};
    support::for_each_isa([&](const char* isa) {
        for (const int mode : {FE_TONEAREST, FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO})
            for (const Case& c : cases) {
                CAPTURE(isa, c.name, mode);
                const std::vector<float> back = read_back(mode, x, c.to);
                for (Index i = 0; i < kHeads * kDim; ++i) {
                    const float number = x[size(i)], most = largest(x.data() + i / c.block * c.block, c.block);
                    if (most < 1e-35f && c.levels > 0.0f) {  // scales are rounded to few bits or to 0
                        REQUIRE(std::fabs(back[size(i)]) <= 2.0f * most);
                        continue;
                    }
                    // A code and a bit, for the scale is rounded, too; the scales of q8_0 and q4_0 are halves.
                    const float of_block = c.levels > 0.0f ? 1.1f * most / c.levels + 1e-7f : 0.02f;
                    const float bound = of_block + c.relative * std::fabs(number) * 1.001f;
                    CAPTURE(i, number, back[size(i)]);
                    if (c.levels == 0.0f && std::fabs(number) > 448.0f) {  // saturates
                        REQUIRE(number * back[size(i)] > 0.0f);
                        continue;
                    }
                    REQUIRE(std::fabs(number - back[size(i)]) <= bound);
                }
                for (const signed char code : signed_codes) REQUIRE(code >= -127);
            }
    });
}

TEST_CASE("a block of zeros in q4_0 has the bits of ggml, whatever their signs") {
    // ggml: max = 0.0f is never replaced, as amax < |v| is false; d = max / -8 is -0.
    support::for_each_isa([](const char* isa) {
        CAPTURE(isa);
        for (const Index negative : {Index(-1), Index(0), Index(5), Index(31)}) {
            std::vector<float> x(32, 0.0f);
            if (negative >= 0) x[size(negative)] = -0.0f;
            unsigned char block[18];
            rope::Config config;
            config.head_dim = 32;
            const rope::CosSinCache<float> table(config, 4);
            rope::pass<rope::Layout::half_split>(
                table, rope::start_at(0),
                rope::heads(rope::view(x.data(), 1, 1, 32)).to(rope::q4_0(rope::view(block, 1, 1, 18))));
            rope::half d;
            std::memcpy(&d, block, 2);
            CAPTURE(negative);
            CHECK(d.bits == 0x8000);
            for (int i = 2; i < 18; ++i) CHECK(block[i] == 0x88);
        }
    });
}
