// SPDX-License-Identifier: MIT
// The bits of blocks of every format against its definition in support/reference/formats.hpp: a million blocks each.
#include <rope/heads.hpp>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "support/catch.hpp"
#include "support/data.hpp"
#include "support/drawn_blocks.hpp"
#include "support/isas.hpp"
#include "support/reference/formats.hpp"

using rope::Index;
using support::Beside;
using support::Codes;
using support::Head;
using support::size;

namespace {

using rope::detail::ElementType;
using rope::detail::ZeroUse;
namespace formats = support::formats;

constexpr Index kHeadDim = 64;

/// Memory of heads in a format, and its definition: the bytes of a head and the numbers beside it.
struct Memory {
    std::vector<unsigned char> codes, scales, zeros;

    Memory(Index heads, Index bytes, Index of_scales, Index of_zeros)
        : codes(size(heads * bytes)), scales(size(heads * of_scales)), zeros(size(heads * of_zeros)) {}
    bool operator==(const Memory& other) const {
        return codes == other.codes && scales == other.scales && zeros == other.zeros;
    }
    template <class T>
    static rope::TensorView<T> view(std::vector<unsigned char>& memory, Index heads) {
        const auto width = static_cast<Index>(memory.size() / sizeof(T)) / heads;
        return rope::view(static_cast<T*>(static_cast<void*>(memory.data())), 1, heads, width);
    }
};

/// The numbers beside head h, which take so many bytes.
Beside numbers_of(std::vector<unsigned char>& memory, Index heads, Index h, ElementType type, ZeroUse use) {
    const std::size_t each = type == ElementType::f32                                ? 4
                             : type == ElementType::f16 || type == ElementType::bf16 ? 2
                                                                                     : 1;
    const std::size_t bytes = memory.size() / size(heads);
    Beside numbers = {{}, type, false, use};
    for (std::size_t i = 0; i < bytes; i += each) numbers.at.push_back(memory.data() + size(h) * bytes + i);
    return numbers;
}

/// Compares blocks in every set. destination(memory, heads); `bytes`: of codes, scales and zeros of a head.
template <class Format, class Make>
void check_blocks(const char* what, const Index (&bytes)[3], ElementType scale, ElementType zero, ZeroUse use,
                  float factor, const Make& destination) {
    support::for_each_isa([&](const char* name) {
        const bool is_quick = std::strcmp(name, "emulated") == 0 || std::strcmp(name, "portable") == 0;
        for (unsigned part = 0; part < (is_quick ? 1u : 12u); ++part) {
            CAPTURE(what, name, part);
            constexpr Index heads = 42000;
            const std::vector<float> x = support::drawn_blocks(heads * 2, part);
            Memory ours(heads, bytes[0], bytes[1], bytes[2]), expected = ours;
            rope::pass(rope::heads(rope::view(x.data(), 1, heads, kHeadDim)).to(destination(ours, heads)));
            for (Index h = 0; h < heads; ++h)
                Codes<Format>::write(
                    Head(x.begin() + h * kHeadDim, x.begin() + (h + 1) * kHeadDim),
                    {expected.codes.data() + h * bytes[0], numbers_of(expected.scales, heads, h, scale, use),
                     numbers_of(expected.zeros, heads, h, zero, use), factor, false});
            CHECK(ours == expected);
        }
    });
}
template <class Format, class Make>
void check_ggml(const char* what, Index bytes, const Make& make) {
    check_blocks<Format>(what, {2 * bytes, 0, 0}, ElementType::f32, ElementType::f32, ZeroUse::minimum, 1.0f,
                         [&](Memory& m, Index heads) { return make(Memory::view<unsigned char>(m.codes, heads)); });
}

}  // namespace

TEST_CASE("ggml's blocks have the bits of its reference code") {
    check_ggml<formats::Q8_0>("q8_0", 34, [](const auto& codes) { return rope::q8_0(codes); });
    check_ggml<formats::Q4_0>("q4_0", 18, [](const auto& codes) { return rope::q4_0(codes); });
    check_ggml<formats::Q4_1>("q4_1", 20, [](const auto& codes) { return rope::q4_1(codes); });
    check_ggml<formats::Q5_0>("q5_0", 22, [](const auto& codes) { return rope::q5_0(codes); });
    check_ggml<formats::Q5_1>("q5_1", 24, [](const auto& codes) { return rope::q5_1(codes); });
    check_ggml<formats::Iq4_nl>("iq4_nl", 18, [](const auto& codes) { return rope::iq4_nl(codes); });
    check_ggml<formats::GgmlMxfp4>("mxfp4", 17, [](const auto& codes) { return rope::mxfp4(codes); });
}

TEST_CASE("4-bit floats are those of their definitions") {
    using Byte = unsigned char;
    check_blocks<formats::Mxfp4>(
        "mxfp4", {32, 2, 0}, ElementType::u8, ElementType::f32, ZeroUse::minimum, 1.0f, [](Memory& m, Index heads) {
            return rope::mxfp4(Memory::view<Byte>(m.codes, heads), Memory::view<Byte>(m.scales, heads));
        });
    check_blocks<formats::Nvfp4>(
        "nvfp4", {32, 4, 0}, ElementType::u8, ElementType::f32, ZeroUse::minimum, 0.003f, [](Memory& m, Index heads) {
            return rope::nvfp4(Memory::view<Byte>(m.codes, heads), Memory::view<Byte>(m.scales, heads), 0.003f);
        });
}

TEST_CASE("whole numbers with scales of groups are those of their definitions") {
    using Byte = unsigned char;
    using Signed = signed char;
    const auto plain = ZeroUse::minimum;
    check_blocks<formats::Int8>(
        "int8", {64, 16, 0}, ElementType::f32, ElementType::f32, plain, 1.0f, [](Memory& m, Index heads) {
            return rope::int8(Memory::view<Signed>(m.codes, heads), Memory::view<float>(m.scales, heads));
        });
    check_blocks<formats::Int8>(
        "int8, half", {64, 2, 0}, ElementType::f16, ElementType::f32, plain, 1.0f, [](Memory& m, Index heads) {
            return rope::int8(Memory::view<Signed>(m.codes, heads), Memory::view<rope::half>(m.scales, heads));
        });
    check_blocks<formats::Int8>("int8 with codes as zeros", {64, 8, 2}, ElementType::f32, ElementType::i8,
                                ZeroUse::whole_code, 1.0f, [](Memory& m, Index heads) {
                                    return rope::int8(Memory::view<Signed>(m.codes, heads),
                                                      Memory::view<float>(m.scales, heads),
                                                      Memory::view<Signed>(m.zeros, heads));
                                });
    check_blocks<formats::Uint8>(
        "uint8", {64, 4, 4}, ElementType::f32, ElementType::f32, plain, 1.0f, [](Memory& m, Index heads) {
            return rope::uint8(Memory::view<Byte>(m.codes, heads), Memory::view<float>(m.scales, heads),
                               Memory::view<float>(m.zeros, heads));
        });
    check_blocks<formats::Uint8>("uint8, zero points", {64, 8, 8}, ElementType::f32, ElementType::f32, ZeroUse::code,
                                 1.0f, [](Memory& m, Index heads) {
                                     return rope::uint8(Memory::view<Byte>(m.codes, heads),
                                                        Memory::view<float>(m.scales, heads),
                                                        rope::zero_points(Memory::view<float>(m.zeros, heads)));
                                 });
    check_blocks<formats::Uint8>("uint8, zero points in half", {64, 4, 4}, ElementType::f16, ElementType::f16,
                                 ZeroUse::code, 1.0f, [](Memory& m, Index heads) {
                                     return rope::uint8(Memory::view<Byte>(m.codes, heads),
                                                        Memory::view<rope::half>(m.scales, heads),
                                                        rope::zero_points(Memory::view<rope::half>(m.zeros, heads)));
                                 });
    check_blocks<formats::Int8>(
        "int8 with minima", {64, 8, 8}, ElementType::f32, ElementType::f32, plain, 1.0f, [](Memory& m, Index heads) {
            return rope::int8(Memory::view<Signed>(m.codes, heads), Memory::view<float>(m.scales, heads),
                              Memory::view<float>(m.zeros, heads));
        });
    check_blocks<formats::Int4>("int4, zero points", {32, 8, 8}, ElementType::f32, ElementType::f32, ZeroUse::code,
                                1.0f, [](Memory& m, Index heads) {
                                    return rope::int4(Memory::view<Byte>(m.codes, heads),
                                                      Memory::view<float>(m.scales, heads),
                                                      rope::zero_points(Memory::view<float>(m.zeros, heads)));
                                });
    check_blocks<formats::Int4>(
        "int4", {32, 8, 0}, ElementType::bf16, ElementType::f32, plain, 1.0f, [](Memory& m, Index heads) {
            return rope::int4(Memory::view<Byte>(m.codes, heads), Memory::view<rope::bfloat16>(m.scales, heads));
        });
    check_blocks<formats::Uint4>(
        "uint4, half", {32, 4, 4}, ElementType::f16, ElementType::f16, plain, 1.0f, [](Memory& m, Index heads) {
            return rope::uint4(Memory::view<Byte>(m.codes, heads), Memory::view<rope::half>(m.scales, heads),
                               Memory::view<rope::half>(m.zeros, heads));
        });
    check_blocks<formats::Uint4>("uint4 with codes as zeros", {32, 16, 4}, ElementType::f32, ElementType::u8,
                                 ZeroUse::whole_code, 1.0f, [](Memory& m, Index heads) {
                                     return rope::uint4(Memory::view<Byte>(m.codes, heads),
                                                        Memory::view<float>(m.scales, heads),
                                                        Memory::view<Byte>(m.zeros, heads));
                                 });
}
