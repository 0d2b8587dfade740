// SPDX-License-Identifier: MIT
// Memory of a paged cache in each format there is.
#pragma once

#include <rope/heads.hpp>

#include <cstring>
#include <vector>

namespace support {

using rope::Index;

enum class Kind { f32, f16, bf16, int8, uint8, uint4, e4m3, e5m2, by_head, by_power, q8_0, q4_0 };
inline constexpr Kind kKinds[] = {Kind::f32,  Kind::f16,  Kind::bf16,    Kind::int8,     Kind::uint8, Kind::uint4,
                                  Kind::e4m3, Kind::e5m2, Kind::by_head, Kind::by_power, Kind::q8_0,  Kind::q4_0};

/// The shape of its pages.
inline constexpr Index kPages = 3, kPageSize = 4, kCacheHeads = 3, kCacheDim = 64;

/// Memory of a cache in one format.
struct Store {
    Kind kind;
    bool is_heads_first;
    std::vector<float> codes = std::vector<float>(kPages * kPageSize * kCacheHeads * kCacheDim);  // room for any format
    std::vector<float> scales = std::vector<float>(kPages * kPageSize * kCacheHeads), zeros = scales;
    std::vector<unsigned char> powers = std::vector<unsigned char>(kPages * kPageSize * kCacheHeads);

    template <class X, class Y>
    rope::Paged<X> pages(std::vector<Y>& memory, Index width, const std::vector<int>& slots) {
        X* const x = reinterpret_cast<X*>(memory.data());
        return is_heads_first ? rope::paged_heads_first(x, kPages, kCacheHeads, kPageSize, width, slots)
                              : rope::paged(x, kPages, kPageSize, kCacheHeads, width, slots);
    }
    rope::Destination at(const std::vector<int>& slots) {
        const auto bytes = [&](Index width) { return pages<unsigned char>(codes, width, slots); };
        const auto scale = pages<float>(scales, 1, slots), zero = pages<float>(zeros, 1, slots);
        switch (kind) {
            case Kind::f32: return pages<float>(codes, kCacheDim, slots);
            case Kind::f16: return pages<rope::half>(codes, kCacheDim, slots);
            case Kind::bf16: return pages<rope::bfloat16>(codes, kCacheDim, slots);
            case Kind::int8: return rope::int8(pages<signed char>(codes, kCacheDim, slots), scale);
            case Kind::uint8: return rope::uint8(bytes(kCacheDim), scale, zero);
            case Kind::uint4: return rope::uint4(bytes(kCacheDim / 2), scale, zero);
            case Kind::e4m3: return rope::fp8_e4m3(bytes(kCacheDim), 0.25f);
            case Kind::e5m2: return rope::fp8_e5m2(bytes(kCacheDim), 0.25f, rope::ScaleUse::divides);
            case Kind::by_head: return rope::fp8_e4m3(bytes(kCacheDim), scale);
            case Kind::by_power: return rope::fp8_e4m3(bytes(kCacheDim), pages<unsigned char>(powers, 1, slots));
            case Kind::q8_0: return rope::q8_0(bytes(kCacheDim / 32 * 34));
            case Kind::q4_0: break;
        }
        return rope::q4_0(bytes(kCacheDim / 32 * 18));
    }
    friend bool operator==(const Store& a, const Store& b) {
        return std::memcmp(a.codes.data(), b.codes.data(), a.codes.size() * sizeof(float)) == 0 &&
               a.scales == b.scales && a.zeros == b.zeros && a.powers == b.powers;
    }
};

}  // namespace support
