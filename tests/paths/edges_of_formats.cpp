// SPDX-License-Identifier: MIT
// What formats make of NaNs, infinities, zeros, the smallest numbers and those beyond their range: the table of
// guide/formats.md, cell by cell.
#include <rope/heads.hpp>

#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "support/catch.hpp"
#include "support/data.hpp"
#include "support/isas.hpp"

using rope::Index;

namespace {

constexpr Index kDim = 64;
constexpr float kInfinity = std::numeric_limits<float>::infinity(), kNaN = std::numeric_limits<float>::quiet_NaN();

/// One head in any format. Formats with groups have two of 32 features, ggml's have two blocks.
struct Memory {
    std::vector<signed char> codes = std::vector<signed char>(kDim);
    std::vector<unsigned char> bytes = std::vector<unsigned char>(2 * kDim), powers = std::vector<unsigned char>(4);
    std::vector<float> scales = std::vector<float>(4), zeros = scales;

    template <class T>
    static rope::TensorView<T> view(std::vector<T>& memory, Index width) {
        return rope::view(memory.data(), 1, 1, width);
    }
    rope::TensorView<signed char> of_signed() { return view(codes, kDim); }
    rope::TensorView<unsigned char> of_bytes(Index width) { return view(bytes, width); }
    std::vector<float> read(const std::vector<float>& x, const rope::Destination& to) {
        std::vector<float> back(x.size());
        rope::pass(rope::heads(rope::view(x.data(), 1, 1, kDim)).to(to));
        rope::dequantise(to, view(back, kDim));
        return back;
    }
};
using Make = std::function<rope::Destination(Memory&)>;
struct Case {
    const char* name;
    Make make;
    bool is_float = false;    // of numbers with a sign of their own
    bool has_minima = false;  // a minimum, or a zero, that no code of 0 stands for
};
std::vector<Case> with_made_scales() {
    return {
        {"int8", [](Memory& m) { return rope::int8(m.of_signed(), m.view(m.scales, 2)); }},
        {"int4", [](Memory& m) { return rope::int4(m.of_bytes(kDim / 2), m.view(m.scales, 2)); }},
        {"uint8", [](Memory& m) { return rope::uint8(m.of_bytes(kDim), m.view(m.scales, 2), m.view(m.zeros, 2)); }},
        {"uint4", [](Memory& m) { return rope::uint4(m.of_bytes(kDim / 2), m.view(m.scales, 2), m.view(m.zeros, 2)); }},
        {"uint8, codes as zeros",
         [](Memory& m) { return rope::uint8(m.of_bytes(kDim), m.view(m.scales, 2), m.view(m.powers, 2)); }},
        {"uint8, zero points",
         [](Memory& m) {
             return rope::uint8(m.of_bytes(kDim), m.view(m.scales, 2), rope::zero_points(m.view(m.zeros, 2)));
         }},
        {"fp8_e4m3", [](Memory& m) { return rope::fp8_e4m3(m.of_bytes(kDim), m.view(m.scales, 2)); }, true},
        {"fp8_e4m3 by powers", [](Memory& m) { return rope::fp8_e4m3(m.of_bytes(kDim), m.view(m.powers, 2)); }, true},
        {"mxfp4", [](Memory& m) { return rope::mxfp4(m.of_bytes(kDim / 2), m.view(m.powers, 2)); }, true},
        {"nvfp4", [](Memory& m) { return rope::nvfp4(m.of_bytes(kDim / 2), m.view(m.powers, 4), 0.01f); }, true},
        {"q8_0", [](Memory& m) { return rope::q8_0(m.of_bytes(68)); }},
        {"q4_0", [](Memory& m) { return rope::q4_0(m.of_bytes(36)); }},
        {"q4_1", [](Memory& m) { return rope::q4_1(m.of_bytes(40)); }},
        {"q5_0", [](Memory& m) { return rope::q5_0(m.of_bytes(44)); }},
        {"q5_1", [](Memory& m) { return rope::q5_1(m.of_bytes(48)); }},
        {"iq4_nl", [](Memory& m) { return rope::iq4_nl(m.of_bytes(36)); }},
        {"ggml's mxfp4", [](Memory& m) { return rope::mxfp4(m.of_bytes(34)); }},
    };
}
std::vector<Case> with_given_scales() {
    return {
        {"int8", [](Memory& m) { return rope::int8(m.of_signed(), 0.5f); }},
        {"int4", [](Memory& m) { return rope::int4(m.of_bytes(kDim / 2), 0.5f); }},
        {"uint8", [](Memory& m) { return rope::uint8(m.of_bytes(kDim), 0.5f, 100); }},
        {"uint4", [](Memory& m) { return rope::uint4(m.of_bytes(kDim / 2), 0.5f, -2.0f); }, false, true},
        {"fp8_e4m3", [](Memory& m) { return rope::fp8_e4m3(m.of_bytes(kDim), rope::given(0.5f)); }, true},
        {"fp8_e4m3 by a factor", [](Memory& m) { return rope::fp8_e4m3(m.of_bytes(kDim), 2.0f); }, true},
        {"fp8_e5m2 by a factor", [](Memory& m) { return rope::fp8_e5m2(m.of_bytes(kDim), 2.0f); }, true},
    };
}
/// A group of 0.25, 0.5, ..., 8 and one of the same below 0.
std::vector<float> numbers() {
    std::vector<float> x(kDim);
    for (std::size_t i = 0; i < kDim; ++i) x[i] = static_cast<float>(i % 32 + 1) * (i < 32 ? 0.25f : -0.25f);
    return x;
}

}  // namespace

TEST_CASE("made scales: a NaN or an infinity makes its group NaNs, and no other") {
    support::for_each_isa([](const char* isa) {
        for (const Case& c : with_made_scales())
            for (const float bad : {kNaN, -kNaN, kInfinity, -kInfinity}) {
                CAPTURE(isa, c.name, bad);
                Memory memory;
                std::vector<float> x = numbers();
                x[37] = bad;
                const std::vector<float> back = memory.read(x, c.make(memory));
                const std::size_t group = std::string(c.name) == "nvfp4" ? 16 : 32;
                int wrong = 0;
                for (std::size_t i = 0; i < kDim; ++i)
                    wrong += std::isnan(back[i]) == (i >= 32 && i < 32 + group) ? 0 : 1;
                CHECK(wrong == 0);
            }
    });
}

TEST_CASE("made scales: zeros are zeros, and the smallest numbers are not far from them") {
    support::for_each_isa([](const char* isa) {
        for (const Case& c : with_made_scales()) {
            CAPTURE(isa, c.name);
            for (const float zero : {0.0f, -0.0f}) {
                Memory memory;
                const std::vector<float> back = memory.read(std::vector<float>(kDim, zero), c.make(memory));
                int wrong = 0;
                for (const float number : back) wrong += number == 0.0f ? 0 : 1;
                CHECK(wrong == 0);
            }
            Memory memory;
            std::vector<float> x(kDim, 1e-42f);
            x[3] = -1e-42f;
            const std::vector<float> back = memory.read(x, c.make(memory));
            int wrong = 0;
            for (std::size_t i = 0; i < kDim; ++i) wrong += std::fabs(back[i] - x[i]) <= 1.1e-42f ? 0 : 1;
            CHECK(wrong == 0);
        }
    });
}

TEST_CASE("given scales: numbers beyond the range and infinities are the last code, a NaN is 0 or stays") {
    support::for_each_isa([](const char* isa) {
        for (const Case& c : with_given_scales()) {
            CAPTURE(isa, c.name);
            Memory memory;
            std::vector<float> x = numbers();
            const std::vector<float> plain = memory.read(x, c.make(memory));
            x[1] = kInfinity;
            x[2] = -kInfinity;
            x[3] = 1e30f;
            x[4] = -1e30f;
            x[5] = kNaN;
            x[6] = 0.0f;
            x[7] = -0.0f;
            x[8] = 1e-42f;
            const std::vector<float> back = memory.read(x, c.make(memory));
            CHECK(back[1] == back[3]);
            CHECK(back[2] == back[4]);
            CHECK(back[1] >= 3.5f);
            CHECK(back[1] < 1e6f);
            CHECK(back[2] <= (c.has_minima ? -2.0f : -4.0f));
            CHECK(back[2] > -1e6f);
            if (c.is_float)
                CHECK(std::isnan(back[5]));
            else
                CHECK(back[5] == (c.has_minima ? -2.0f : 0.0f));
            CHECK(back[6] == 0.0f);
            CHECK(back[7] == 0.0f);
            CHECK(std::signbit(back[7]) == c.is_float);
            CHECK(back[8] == 0.0f);
            CHECK(std::memcmp(&back[9], &plain[9], sizeof(float) * (kDim - 9)) == 0);
        }
    });
}

TEST_CASE("given scales of 0, infinities and NaNs make codes of 0") {
    support::for_each_isa([](const char* isa) {
        for (const float bad : {0.0f, -0.0f, kInfinity, kNaN}) {
            CAPTURE(isa, bad);
            Memory memory;
            std::vector<float> channels(kDim, 0.5f), x = numbers();
            channels[7] = bad;
            for (const float head : {0.5f, bad}) {
                const std::vector<float> heads = {head};
                rope::pass(
                    rope::heads(Memory::view(x, kDim)).to(rope::int8(memory.of_signed(), rope::given(channels))));
                CHECK(memory.codes[7] == 0);
                CHECK(memory.codes[8] == 4);  // 2.25 / 0.5, to even
                rope::pass(rope::heads(Memory::view(x, kDim))
                               .to(rope::int8(memory.of_signed(), rope::given(rope::view(heads.data(), 1, 1, 1)))));
                CHECK(memory.codes[8] == (head == 0.5f ? 4 : 0));
            }
        }
    });
}

TEST_CASE("groups keep their error in the range of their scales, and not far beyond") {
    struct Range {
        const char* name;
        Make make;
        float from, to;  // to 0: any
    };
    using M = Memory;
    std::vector<rope::half> halves(4), more_halves(4);
    std::vector<rope::bfloat16> shorts(4);
    const auto half_scales = [&](Index n) { return M::view(halves, n); };
    const auto half_zeros = [&](Index n) { return M::view(more_halves, n); };
    const std::vector<Range> ranges = {
        {"int8", [](M& m) { return rope::int8(m.of_signed(), m.view(m.scales, 2)); }, 1e-42f, 0.0f},
        {"uint8", [](M& m) { return rope::uint8(m.of_bytes(kDim), m.view(m.scales, 2), m.view(m.zeros, 2)); }, 1e-42f,
         0.0f},
        {"uint4", [](M& m) { return rope::uint4(m.of_bytes(32), m.view(m.scales, 2), m.view(m.zeros, 2)); }, 1e-42f,
         0.0f},
        {"fp8", [](M& m) { return rope::fp8_e4m3(m.of_bytes(kDim), m.view(m.scales, 2)); }, 1e-42f, 0.0f},
        {"int8, bfloat16", [&](M& m) { return rope::int8(m.of_signed(), M::view(shorts, 2)); }, 2e-38f, 0.0f},
        {"int8, half", [&](M& m) { return rope::int8(m.of_signed(), half_scales(2)); }, 2e-5f, 8e6f},
        {"int4, half", [&](M& m) { return rope::int4(m.of_bytes(32), half_scales(2)); }, 1e-6f, 4e5f},
        {"fp8, half", [&](M& m) { return rope::fp8_e4m3(m.of_bytes(kDim), half_scales(2)); }, 5e-5f, 2.9e7f},
        {"uint8, half", [&](M& m) { return rope::uint8(m.of_bytes(kDim), half_scales(2), half_zeros(2)); }, 4e-5f,
         65000.0f},
        {"uint4, half", [&](M& m) { return rope::uint4(m.of_bytes(32), half_scales(2), half_zeros(2)); }, 3e-6f,
         65000.0f},
        {"uint8, zero points in half",
         [&](M& m) { return rope::uint8(m.of_bytes(kDim), half_scales(2), rope::zero_points(half_zeros(2))); }, 4e-5f,
         8e6f},
        {"fp8 by powers", [](M& m) { return rope::fp8_e4m3(m.of_bytes(kDim), m.view(m.powers, 2)); }, 1e-6f, 3e38f},
        {"mxfp4", [](M& m) { return rope::mxfp4(m.of_bytes(32), m.view(m.powers, 2)); }, 1e-37f, 3e38f},
        {"nvfp4", [](M& m) { return rope::nvfp4(m.of_bytes(32), m.view(m.powers, 4)); }, 0.02f, 2688.0f},
        {"q8_0", [](M& m) { return rope::q8_0(m.of_bytes(68)); }, 3e-5f, 8e6f},
        {"iq4_nl", [](M& m) { return rope::iq4_nl(m.of_bytes(36)); }, 3e-5f, 8e6f},
        {"q4_0", [](M& m) { return rope::q4_0(m.of_bytes(36)); }, 3e-6f, 5e5f},
        {"q5_0", [](M& m) { return rope::q5_0(m.of_bytes(44)); }, 3e-6f, 5e5f},
        {"q4_1", [](M& m) { return rope::q4_1(m.of_bytes(40)); }, 5e-6f, 65000.0f},
        {"q5_1", [](M& m) { return rope::q5_1(m.of_bytes(48)); }, 5e-6f, 65000.0f},
        {"ggml's mxfp4", [](M& m) { return rope::mxfp4(m.of_bytes(34)); }, 1e-37f, 3e38f},
        {"fp8 by a factor", [](M& m) { return rope::fp8_e4m3(m.of_bytes(kDim), 1.0f); }, 0.006f, 448.0f},
        {"fp8_e5m2 by a factor", [](M& m) { return rope::fp8_e5m2(m.of_bytes(kDim), 1.0f); }, 4e-5f, 57344.0f},
    };
    support::for_each_isa([&](const char* isa) {
        for (const Range& r : ranges) {
            /// Whether numbers up to `largest` are read back within 0.3 of it.
            const auto is_kept = [&](float largest) {
                Memory memory;
                std::vector<float> x(kDim);
                for (std::size_t i = 0; i < kDim; ++i)
                    x[i] = (static_cast<float>(i * 37 % kDim) / 31.5f - 1.0f) * largest;
                const std::vector<float> back = memory.read(x, r.make(memory));
                bool is_near = true;
                for (std::size_t i = 0; i < kDim; ++i) is_near = is_near && std::fabs(back[i] - x[i]) <= 0.3f * largest;
                return is_near;
            };
            const float to = r.to > 0.0f ? r.to : 3.4e38f;
            for (float largest = r.from; largest < to; largest *= 1.7f) {
                CAPTURE(isa, r.name, largest);
                if (!is_kept(largest)) CHECK(false);
            }
            CAPTURE(isa, r.name);
            CHECK(is_kept(to));
            if (r.from > 1e-30f) CHECK(!is_kept(r.from / 50.0f));
            if (r.to > 0.0f && r.to < 1e30f) CHECK(!is_kept(r.to * 2.5f));
        }
    });
}

TEST_CASE("a scale beyond half makes NaNs of its group") {
    Memory memory;
    std::vector<rope::half> scales(2);
    std::vector<float> x = numbers();
    x[40] = 1e9f;
    const std::vector<float> back = memory.read(x, rope::int8(memory.of_signed(), Memory::view(scales, 2)));
    CHECK(std::fabs(back[31] - 8.0f) < 0.01f);
    CHECK(std::isnan(back[32]));
    CHECK((std::isnan(back[40]) || std::isinf(back[40])));
}
