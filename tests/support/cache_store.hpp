// SPDX-License-Identifier: MIT
// Memory of a paged cache in each format there is.
#pragma once

#include <rope/heads.hpp>

#include <cstring>
#include <vector>

namespace support {

using rope::Index;

enum class Kind {
    f32,
    f16,
    bf16,
    int8,
    int8_groups,    // of 16 features, scales in half
    int8_given,     // one scale for the tensor
    int8_channels,  // one for each feature
    int8_zeros,     // whole ones, in groups of 32
    uint8,
    uint8_points,  // zeros that are codes and not whole
    int4,
    uint4,
    uint4_given,  // scales for each head, a zero for the tensor
    e4m3,
    e5m2,
    by_head,
    by_power,
    by_groups,  // powers, in groups of 32
    mxfp4,
    nvfp4,
    q8_0,
    q4_0,
    q4_1,
    q5_0,
    q5_1,
    iq4_nl,
    ggml_mxfp4,
    count
};
inline std::vector<Kind> all_kinds() {
    std::vector<Kind> kinds;
    for (int i = 0; i < static_cast<int>(Kind::count); ++i) kinds.push_back(static_cast<Kind>(i));
    return kinds;
}
inline const std::vector<Kind> kKinds = all_kinds();

/// The shape of its pages.
inline constexpr Index kPages = 3, kPageSize = 4, kCacheHeads = 3, kCacheDim = 64;

/// Memory of a cache in one format.
struct Store {
    Kind kind;
    bool is_heads_first;
    std::vector<float> codes = std::vector<float>(kPages * kPageSize * kCacheHeads * kCacheDim);  // room for any format
    std::vector<float> scales = std::vector<float>(kPages * kPageSize * kCacheHeads * 4), zeros = scales;
    std::vector<unsigned char> powers = std::vector<unsigned char>(kPages * kPageSize * kCacheHeads * 4);
    std::vector<float> channel_scales = std::vector<float>(kCacheDim, 0.045f);
    std::vector<float> head_scales = std::vector<float>(kCacheHeads, 0.7f);

    template <class X, class Y>
    rope::Paged<X> pages(std::vector<Y>& memory, Index width, const std::vector<int>& slots) {
        X* const x = reinterpret_cast<X*>(memory.data());
        return is_heads_first ? rope::paged_heads_first(x, kPages, kCacheHeads, kPageSize, width, slots)
                              : rope::paged(x, kPages, kPageSize, kCacheHeads, width, slots);
    }
    rope::Destination at(const std::vector<int>& slots) {
        const auto bytes = [&](Index width) { return pages<unsigned char>(codes, width, slots); };
        const auto scale = pages<float>(scales, 1, slots), zero = pages<float>(zeros, 1, slots);
        const auto blocks = [&](Index of_32) { return bytes(kCacheDim / 32 * of_32); };
        const auto powers_of = [&](Index groups) { return pages<unsigned char>(powers, groups, slots); };
        const auto codes8 = pages<signed char>(codes, kCacheDim, slots);
        switch (kind) {
            case Kind::f32: return pages<float>(codes, kCacheDim, slots);
            case Kind::f16: return pages<rope::half>(codes, kCacheDim, slots);
            case Kind::bf16: return pages<rope::bfloat16>(codes, kCacheDim, slots);
            case Kind::int8: return rope::int8(codes8, scale);
            case Kind::int8_groups: return rope::int8(codes8, pages<rope::half>(scales, 4, slots));
            case Kind::int8_given: return rope::int8(codes8, 0.05f);
            case Kind::int8_channels: return rope::int8(codes8, rope::given(channel_scales));
            case Kind::int8_zeros:
                return rope::int8(codes8, pages<float>(scales, 2, slots), pages<signed char>(powers, 2, slots));
            case Kind::uint8: return rope::uint8(bytes(kCacheDim), scale, zero);
            case Kind::uint8_points: return rope::uint8(bytes(kCacheDim), scale, rope::zero_points(zero));
            case Kind::int4: return rope::int4(bytes(kCacheDim / 2), scale);
            case Kind::uint4: return rope::uint4(bytes(kCacheDim / 2), scale, zero);
            case Kind::uint4_given:
                return rope::uint4(bytes(kCacheDim / 2), rope::given(rope::view(head_scales.data(), 1, kCacheHeads, 1)),
                                   -5.2f);
            case Kind::e4m3: return rope::fp8_e4m3(bytes(kCacheDim), 0.25f);
            case Kind::e5m2: return rope::fp8_e5m2(bytes(kCacheDim), 0.25f, rope::ScaleUse::divides);
            case Kind::by_head: return rope::fp8_e4m3(bytes(kCacheDim), scale);
            case Kind::by_power: return rope::fp8_e4m3(bytes(kCacheDim), powers_of(1));
            case Kind::by_groups: return rope::fp8_e4m3(bytes(kCacheDim), powers_of(2));
            case Kind::mxfp4: return rope::mxfp4(bytes(kCacheDim / 2), powers_of(2));
            case Kind::nvfp4: return rope::nvfp4(bytes(kCacheDim / 2), powers_of(4), 0.001f);
            case Kind::q8_0: return rope::q8_0(blocks(34));
            case Kind::q4_0: return rope::q4_0(blocks(18));
            case Kind::q4_1: return rope::q4_1(blocks(20));
            case Kind::q5_0: return rope::q5_0(blocks(22));
            case Kind::q5_1: return rope::q5_1(blocks(24));
            case Kind::iq4_nl: return rope::iq4_nl(blocks(18));
            case Kind::ggml_mxfp4:
            case Kind::count: break;
        }
        return rope::mxfp4(blocks(17));
    }
    friend bool operator==(const Store& a, const Store& b) {
        return std::memcmp(a.codes.data(), b.codes.data(), a.codes.size() * sizeof(float)) == 0 &&
               a.scales == b.scales && a.zeros == b.zeros && a.powers == b.powers;
    }
};

}  // namespace support
