// SPDX-License-Identifier: MIT
// dequantise reads every code of a format as the number that it stands for, with the bits of the formula.
#include <rope/heads.hpp>

#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "paths/float8.hpp"
#include "support/catch.hpp"
#include "support/data.hpp"
#include "support/guarded.hpp"
#include "support/isas.hpp"

using rope::Index;
using support::E4m3;
using support::E5m2;
using support::size;

namespace {

/// Reads heads of all codes and of a few, which end where memory ends, and compares with number(code, scale, zero).
template <class Make, class Number>
void check_reading(const char* what, Index features_of_byte, const Make& make, const Number& number) {
    support::GuardedMemory memory(256), results(2048);
    for (const Index byte_count : {256, 250, 3})
        for (const float scale : {0.37f, -1.0f, 1e-30f, 0x1.fffffep119f}) {
            std::vector<unsigned char> all(size(byte_count));
            for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<unsigned char>(i * 7);
            unsigned char* const bytes = memory.put(all, support::Guard::after);
            const Index head_dim = byte_count * features_of_byte;
            float* const back = results.put(std::vector<float>(size(head_dim)), support::Guard::after);
            float scales = scale, zeros = 0.3f;
            rope::dequantise(make(rope::view(bytes, 1, 1, byte_count), &scales, &zeros),
                             rope::view(back, 1, 1, head_dim));
            int wrong = 0;
            for (Index i = 0; i < head_dim; ++i) {
                const int byte = bytes[i / features_of_byte];
                const float expected = number(features_of_byte == 1 ? byte : byte >> i % 2 * 4 & 15, scale, zeros);
                const bool is_same = std::memcmp(&expected, &back[i], sizeof(float)) == 0;
                wrong += std::isnan(expected) ? !std::isnan(back[i]) : !is_same;
            }
            INFO(what << ", head_dim " << head_dim << ", scale " << scale);
            CHECK(wrong == 0);
        }
}

}  // namespace

TEST_CASE("every code is read as the number that it stands for, by every set") {
    const auto one = [](float* x) { return rope::view(x, 1, 1, 1); };
    const auto float8 = [](int code, double scale, auto format, int first_nan, int infinity) {
        const int absolute = code & 0x7f;
        if (absolute >= first_nan) return std::numeric_limits<float>::quiet_NaN();
        const double number = absolute == infinity ? std::numeric_limits<double>::infinity() : format.number(absolute);
        return static_cast<float>((code > 127 ? -number : number) * scale);
    };
    support::for_each_isa([&](const char* name) {
        INFO(name);
        check_reading(
            "int8", 1,
            [&](auto codes, float* scale, float*) {
                auto* const bytes = reinterpret_cast<signed char*>(codes.data);
                return rope::int8(rope::view(bytes, 1, 1, codes.head_dim), one(scale));
            },
            [](int code, float scale, float) { return static_cast<float>(code < 128 ? code : code - 256) * scale; });
        const auto of_range = [](int code, float scale, float zero) {
            return std::fma(static_cast<float>(code), scale, zero);
        };
        check_reading(
            "uint8", 1,
            [&](auto codes, float* scale, float* zero) { return rope::uint8(codes, one(scale), one(zero)); }, of_range);
        check_reading(
            "uint4", 2,
            [&](auto codes, float* scale, float* zero) { return rope::uint4(codes, one(scale), one(zero)); }, of_range);
        check_reading(
            "fp8_e4m3 by head", 1, [&](auto codes, float* scale, float*) { return rope::fp8_e4m3(codes, one(scale)); },
            [&](int code, float scale, float) { return float8(code, static_cast<double>(scale), E4m3(), 0x7f, -1); });
        for (const auto use : {rope::ScaleUse::multiplies, rope::ScaleUse::divides}) {
            const double scale = use == rope::ScaleUse::divides ? 0.25 : 4.0;
            check_reading(
                "fp8_e5m2", 1, [&](auto codes, float*, float*) { return rope::fp8_e5m2(codes, 0.25f, use); },
                [&](int code, float, float) { return float8(code, scale, E5m2(), 0x7d, 0x7c); });
        }
    });
}
