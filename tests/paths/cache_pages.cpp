// SPDX-License-Identifier: MIT
// Caches in pages: codes, scales and features of other types that share rows or lie behind them, and slots of each step.
#include <rope/apply.hpp>
#include <rope/heads.hpp>

#include <cmath>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include "support/catch.hpp"
#include "support/data.hpp"
#include "support/isas.hpp"

using rope::Index;
using support::size;

namespace {

constexpr auto kLayout = rope::Layout::half_split;

const rope::CosSinCache<float>& table() {
    static const rope::CosSinCache<float> cache = [] {
        rope::Config config;
        config.head_dim = 64;
        return rope::CosSinCache<float>(config, 16);
    }();
    return cache;
}

}  // namespace

TEST_CASE("the same pages take other slots in each step, and codes in const memory can be read") {
    std::vector<signed char> codes(6 * 2 * 64);
    std::vector<float> scales(6 * 2);
    const std::vector<int> none;
    const auto pages = rope::paged(codes.data(), 2, 3, 2, 64, none);
    const auto places = rope::paged(scales.data(), 2, 3, 2, 1, none);
    const std::vector<float> x = support::normal<float>(2 * 2 * 64, 4);
    const std::vector<int> of_step = {5, 1};
    const rope::Destination to = rope::int8(pages.with_slots(of_step), places.with_slots(of_step));
    rope::pass<kLayout>(table(), rope::start_at(0), rope::heads(rope::view(x.data(), 2, 2, 64)).to(to));
    const std::vector<signed char> kept = codes;
    const std::vector<float> kept_scales = scales;
    const long long of_reader[] = {1, 99, 5, 99};  // every second one
    const auto read = [&](const auto& memory, Index width) {
        return rope::paged(memory.data(), 2, 3, 2, width, of_step).with_slots(of_reader, 2, 2);
    };
    std::vector<float> y(x.size());
    rope::dequantise(rope::int8(read(kept, 64), read(kept_scales, 1)), rope::view(y.data(), 2, 2, 64));
    for (std::size_t i = 0; i < y.size(); ++i) {
        const float scale = kept_scales[i < 128 ? 2 + i / 64 : 10 + (i - 128) / 64];  // token 1 is in slot 1
        REQUIRE(std::fabs(y[i] - x[(i + 128) % 256]) <= 0.5001f * scale);
    }
}

TEST_CASE("rows of codes, scales and features one after the other are pages with the strides of the row") {
    // 512 codes in four groups, a float for each, 64 features in bfloat16: 656 bytes.
    constexpr Index row = 656, pages = 3, page_size = 4;
    std::vector<unsigned char> memory(size(pages * page_size * row), 7);
    const std::vector<int> slots = {9, -1, 0};
    const auto at = [&](auto type, Index offset, Index heads, Index width) {
        using T = decltype(type);
        const Index unit = static_cast<Index>(sizeof(T));
        auto p = rope::paged(static_cast<T*>(static_cast<void*>(memory.data() + offset)), pages, page_size, heads,
                             width, slots);
        p.page_stride = page_size * row / unit;
        p.place_stride = row / unit;
        return p;
    };
    const std::vector<float> latent = support::normal<float>(3 * 512, 8), key = support::normal<float>(3 * 64, 9);
    const rope::Destination codes = rope::fp8_e4m3(at(static_cast<unsigned char>(0), 0, 4, 128), at(0.0f, 512, 4, 1));
    rope::pass<kLayout>(table(), rope::start_at(5), rope::heads(rope::view(latent.data(), 3, 4, 128)).to(codes),
                        rope::heads(rope::view(key.data(), 3, 1, 64)).rotate().to(at(rope::bfloat16(), 528, 1, 64)));
    std::vector<float> back(latent.size()), rotated = key, key_back(key.size());
    rope::apply<kLayout>(rope::view(rotated.data(), 3, 1, 64), table(), rope::start_at(5));
    rope::dequantise(codes, rope::view(back.data(), 3, 4, 128));
    rope::dequantise(at(rope::bfloat16(), 528, 1, 64), rope::view(key_back.data(), 3, 1, 64));
    for (std::size_t t = 0; t < 3; ++t) {
        for (std::size_t i = t * 512; i < t * 512 + 512; ++i)
            REQUIRE(std::fabs(back[i] - (t == 1 ? 0.0f : latent[i])) <= std::fabs(latent[i]) / 16 + 1e-3f);
        for (std::size_t i = t * 64; i < t * 64 + 64; ++i)
            REQUIRE(std::fabs(key_back[i] - (t == 1 ? 0.0f : rotated[i])) <= std::fabs(rotated[i]) / 256);
    }
    for (Index place = 0; place < pages * page_size; ++place)
        if (place != 9 && place != 0)
            for (Index i = 0; i < row; ++i) REQUIRE(memory[size(place * row + i)] == 7);
}

TEST_CASE("rows within pages that are not a whole number of rows, and scales behind all rows of a page") {
    constexpr Index row = 576, pages = 3, page_size = 4, page = page_size * row + 64;  // of bytes
    std::vector<unsigned char> memory(size(pages * page), 7);
    const std::vector<int> slots = {11, 0, 5};
    const auto at = [&](auto type, Index offset, Index place, Index heads, Index width) {
        using T = decltype(type);
        const Index unit = static_cast<Index>(sizeof(T));
        auto p = rope::paged(static_cast<T*>(static_cast<void*>(memory.data() + offset)), pages, page_size, heads,
                             width, slots);
        p.page_stride = page / unit;
        p.place_stride = place / unit;
        return p;
    };
    const std::vector<float> latent = support::normal<float>(3 * 448, 8), key = support::normal<float>(3 * 64, 9);
    // 448 codes and 64 bfloat16 in each row, 7 bytes of scales for it behind all rows.
    const rope::Destination codes = rope::fp8_e4m3(at(static_cast<unsigned char>(0), 0, row, 7, 64),
                                                   at(static_cast<unsigned char>(0), page_size * row, 8, 7, 1));
    const rope::Destination narrow = at(rope::bfloat16(), 448, row, 1, 64);
    rope::pass<kLayout>(table(), rope::start_at(5), rope::heads(rope::view(latent.data(), 3, 7, 64)).to(codes),
                        rope::heads(rope::view(key.data(), 3, 1, 64)).to(narrow));
    std::vector<float> back(latent.size()), key_back(key.size());
    rope::dequantise(codes, rope::view(back.data(), 3, 7, 64));
    rope::dequantise(narrow, rope::view(key_back.data(), 3, 1, 64));
    for (std::size_t i = 0; i < back.size(); ++i)
        REQUIRE(std::fabs(back[i] - latent[i]) <= std::fabs(latent[i]) / 16 + 1e-3f);
    for (std::size_t i = 0; i < key.size(); ++i) REQUIRE(std::fabs(key_back[i] - key[i]) <= std::fabs(key[i]) / 256);
    // One feature more, and parts of a row would meet.
    const rope::Status s = rope::check_pass<kLayout>(
        table(), rope::start_at(5), rope::heads(rope::view(latent.data(), 3, 7, 64)).to(codes),
        rope::heads(rope::view(key.data(), 3, 1, 65)).to(at(rope::bfloat16(), 446, row, 1, 65)));
    CHECK(std::string(s.message()).find("may share elements") != std::string::npos);
}

TEST_CASE("a pass rounds to bfloat16 as to_bfloat16 does, with one NaN, infinity or subnormal among other numbers") {
    support::for_each_isa([](const char* name) {
        INFO(name);
        for (const std::uint32_t bits : {0x7f800001u, 0x7fffffffu, 0xff800001u, 0x7f800000u, 0x00000001u})
            for (const Index at : {Index(3), Index(40), Index(63)}) {
                std::vector<float> x = support::normal<float>(64, 7);
                x[size(at)] = rope::detail::bit_cast<float>(bits);
                std::vector<rope::bfloat16> y(64);
                rope::pass<kLayout>(table(),
                                    rope::heads(rope::view(x.data(), 1, 1, 64)).to(rope::view(y.data(), 1, 1, 64)));
                for (std::size_t i = 0; i < 64; ++i) REQUIRE(y[i].bits == rope::to_bfloat16(x[i]).bits);
            }
    });
}

TEST_CASE("codes in pages and scales by token, and the other way round; given numbers follow tokens; in place") {
    constexpr Index seq = 3, heads = 2, dim = 64;
    const std::vector<float> x = support::normal<float>(seq * heads * dim, 8);
    const std::vector<int> slots = {4, 0, 5};
    std::vector<signed char> codes(size(6 * heads * dim)), plain_codes(size(seq * heads * dim));
    std::vector<float> scales(size(6 * heads)), plain_scales(size(seq * heads)), of_tokens = {0.02f, 0.04f, 0.08f};
    std::vector<float> back(x.size()), expected(x.size());
    const auto of = [&](auto& memory, Index width) { return rope::view(memory.data(), seq, heads, width); };
    const auto in_pages = [&](auto& memory, Index width) {
        return rope::paged(memory.data(), 2, 3, heads, width, slots);
    };
    const auto write_and_read = [&](const rope::Destination& to, std::vector<float>& result) {
        rope::pass<kLayout>(table(), rope::start_at(2), rope::heads(of(x, dim)).rotate().to(to));
        rope::dequantise(to, of(result, dim));
    };
    write_and_read(rope::int8(of(plain_codes, dim), of(plain_scales, 1)), expected);
    write_and_read(rope::int8(in_pages(codes, dim), of(plain_scales, 1)), back);
    CHECK(back == expected);
    write_and_read(rope::int8(of(plain_codes, dim), in_pages(scales, 1)), back);
    CHECK(back == expected);

    const auto by_token = rope::given(rope::view(of_tokens.data(), seq, 1, 1));
    write_and_read(rope::int8(of(plain_codes, dim), by_token), expected);
    write_and_read(rope::int8(in_pages(codes, dim), by_token), back);
    CHECK(back == expected);

    // In place is the same codes with the same scales.
    const auto path = [&](const rope::Destination& to) {
        rope::pass(rope::heads(rope::int8(of(plain_codes, dim), by_token)).to(to));
    };
    CHECK_NOTHROW(path(rope::int8(of(plain_codes, dim), by_token)));
    CHECK_THROWS_AS(path(rope::int8(of(plain_codes, dim), of(plain_scales, 1))), std::invalid_argument);
    auto* const bytes = reinterpret_cast<unsigned char*>(plain_codes.data());
    CHECK_THROWS_AS(path(rope::uint8(rope::view(bytes, seq, heads, dim), of(plain_scales, 1), of(scales, 1))),
                    std::invalid_argument);
}
