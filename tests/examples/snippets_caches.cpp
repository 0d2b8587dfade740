// SPDX-License-Identifier: MIT
// The code on the pages about passes, pages, formats and keys that move: see snippets.hpp.
#include <rope/rope.hpp>

#include <cmath>
#include <cstdint>
#include <vector>

#include "examples/snippets.hpp"

TEST_CASE("everything around the rotation") {
    const Index n = 7, seq = 3, pages = 2;
    const float scale = 0.0883883f;
    const rope::CosSinCache<float> cache(rope::Config{128}, 64);
    const std::vector<int> slots = {17, -1, 4};
    const std::vector<float> q_weight = normal<float>(128, 1), k_weight = normal<float>(128, 2);
    const std::vector<float> of_q = normal<float>(seq * 8 * 128, 3), of_k = normal<float>(seq * 8 * 128, 4);
    std::vector<float> rotated(of_q.size());
    std::vector<rope::bfloat16> of_keys(size(pages * 16 * 8 * 128)), of_values(of_keys.size());
    rope::bfloat16 *const keys = of_keys.data(), *const values = of_values.data();
    const auto q = rope::view(of_q, seq, 8, 128), k = rope::view(of_k, seq, 8, 128), v = k;
    const auto q_out = rope::view(rotated, seq, 8, 128);
    {
#include "pass_1.inc"
    }
    const auto normed = [](std::vector<float> x, const std::vector<float>& w) {
        for (std::size_t at = 0; at < x.size(); at += 128) {
            double squares = 0;
            for (std::size_t i = at; i < at + 128; ++i) squares += double(x[i]) * double(x[i]);
            const double root = 1 / std::sqrt(squares / 128 + 1e-6);
            for (std::size_t i = at; i < at + 128; ++i)
                x[i] = static_cast<float>(double(x[i]) * root * double(w[i - at]));
        }
        return x;
    };
    std::vector<float> q_want = normed(of_q, q_weight), k_want = normed(of_k, k_weight);
    rope::apply<rope::Layout::half_split>(rope::view(q_want, seq, 8, 128), rope::view(k_want, seq, 8, 128), cache,
                                          rope::start_at(n));
    for (float& x : q_want) x *= scale;
    CHECK(distance(rotated, q_want) < 1e-6);
    const auto token = [](const auto& x, Index at) {
        return std::vector<typename std::decay_t<decltype(x)>::value_type>(x.begin() + at * 1024,
                                                                           x.begin() + (at + 1) * 1024);
    };
    CHECK(distance(token(of_keys, 17), token(k_want, 0)) < 4e-3);
    CHECK(distance(token(of_keys, 4), token(k_want, 2)) < 4e-3);
    CHECK(distance(token(of_values, 17), token(of_k, 0)) < 4e-3);

    // The other formats.
    std::vector<std::int8_t> of_codes(of_keys.size());
    std::vector<float> of_scales(size(pages * 16 * 8));
    std::vector<std::uint8_t> of_blocks(size(pages * 16 * 8 * 136));
    std::int8_t* const codes = of_codes.data();
    float* const scales = of_scales.data();
    std::uint8_t* const blocks = of_blocks.data();
    const auto run = [&](const rope::Path& path) {
        rope::pass<rope::Layout::half_split>(cache, rope::start_at(n), path);
    };
    {
#include "formats_1.inc"
        run(of_int8);
        run(of_q8_0);
    }
    std::vector<float> k_rotated = of_k;
    rope::apply<rope::Layout::half_split>(rope::view(k_rotated, seq, 8, 128), cache, rope::start_at(n));
    std::vector<float> read(1024);
    const std::vector<int> slot = {4};
    {
        std::vector<float> group_scales(size(seq * 8 * 4)), all(k_rotated.size());
        const std::vector<float> head_scales(8, 0.05f), channels(128, 0.05f);
        std::vector<std::uint8_t> of_nibbles(size(seq * 8 * 64)), of_powers(size(seq * 8 * 4)),
            of_small(size(seq * 8 * 8));
        std::vector<float> of_zeros(size(seq * 8));
        std::uint8_t *const nibbles = of_nibbles.data(), *const powers = of_powers.data();
        std::uint8_t* const small_floats = of_small.data();
        float* const zeros = of_zeros.data();
        const float largest = 6.0f;
#include "formats_2.inc"
        for (const rope::Destination& to : {of_mxfp4, of_nvfp4, with_minima}) {
            run(rope::heads(rope::view(of_k, seq, 8, 128)).rotate().to(to));
            rope::dequantise(to, rope::view(all, seq, 8, 128));
            CHECK(distance(all, k_rotated) < 1.0);
        }
        for (const rope::Destination& to : {of_heads, of_groups, of_tensor, of_kv_heads, of_channels}) {
            run(rope::heads(rope::view(of_k, seq, 8, 128)).rotate().to(to));
            rope::dequantise(to, rope::view(all, seq, 8, 128));
            CHECK(distance(all, k_rotated) < 3e-2);
        }
        run(rope::heads(rope::view(of_k, seq, 8, 128))
                .rotate()
                .to(rope::int8(rope::paged(codes, pages, 16, 8, 128, slots),
                               rope::paged(scales, pages, 16, 8, 1, slots))));
    }
    rope::dequantise(
        rope::int8(rope::paged(codes, pages, 16, 8, 128, slot), rope::paged(scales, pages, 16, 8, 1, slot)),
        rope::view(read, 1, 8, 128));
    CHECK(distance(read, token(k_rotated, 2)) < 5e-3);
    rope::dequantise(rope::q8_0(rope::paged(blocks, pages, 16, 8, 136, slot)), rope::view(read, 1, 8, 128));
    CHECK(distance(read, token(k_rotated, 2)) < 5e-3);
}

TEST_CASE("pages") {
    const Index seq = 3, heads = 4, kv_heads = 2, head_dim = 64, pages = 3, page_size = 8, length = 2;
    const float scale = 0.125f;
    const rope::CosSinCache<float> cache(rope::Config{head_dim}, 64);
    std::vector<rope::bfloat16> keys(size(pages * page_size * kv_heads * head_dim)), values(keys.size());
    const int positions[] = {5, 6, 40}, slots[] = {8, 9, -1}, slots_of_sequence[] = {8, 9};
    std::vector<float> of_q = normal<float>(seq * heads * head_dim, 1),
                       of_k = normal<float>(seq * kv_heads * head_dim, 2);
    const std::vector<float> of_v = normal<float>(seq * kv_heads * head_dim, 3);
    std::vector<float> q_want = of_q, k_want = of_k, of_sequence(size(length * kv_heads * head_dim));
    float *const q = of_q.data(), *const k = of_k.data(), *const k_of_sequence = of_sequence.data();
    const float* const v = of_v.data();
    {
#include "pages_1.inc"
    } rope::apply<rope::Layout::half_split>(rope::view(q_want, seq, heads, head_dim),
                                            rope::view(k_want, seq, kv_heads, head_dim), cache,
                                            rope::ids(positions, seq));
    for (float& x : q_want) x *= scale;
    CHECK(same_bits(of_q, q_want));
    k_want.resize(of_sequence.size());
    CHECK(distance(of_sequence, k_want) < 4e-3);
    CHECK(support::to_double(values[size(9 * kv_heads * head_dim)]) ==
          Approx(double(of_v[size(kv_heads * head_dim)])).epsilon(4e-3));
    const std::vector<float> k_before = of_k;
    std::vector<rope::half> of_parts(keys.size()), turned(keys.size());
    rope::half *const old_keys = of_parts.data(), *const old_values = turned.data();
    {
#include "pages_2.inc"
    } std::vector<float>
        k_rotated = k_before;
    rope::apply<rope::Layout::half_split>(rope::view(k_rotated, seq, kv_heads, head_dim), cache,
                                          rope::ids(positions, seq));
    for (Index t = 0; t < 2; ++t)  // slots 8 and 9: places 0 and 1 of page 1
        for (Index h = 0; h < kv_heads; ++h)
            for (Index i = 0; i < head_dim; ++i) {
                const Index in_keys = (((kv_heads + h) * head_dim / 8 + i / 8) * page_size + t) * 8 + i % 8;
                const Index in_values = ((kv_heads + h) * head_dim + i) * page_size + t;
                const std::size_t at = size((t * kv_heads + h) * head_dim + i);
                CHECK(support::to_double(of_parts[size(in_keys)]) == Approx(double(k_rotated[at])).margin(2e-3));
                CHECK(support::to_double(turned[size(in_values)]) == Approx(double(of_v[at])).margin(2e-3));
            }
}

TEST_CASE("a latent in fp8 beside rotated features in bfloat16") {
    const Index n = 4, seq = 3, pages = 1;
    const rope::CosSinCache<float> cache(rope::Config{64}, 16);
    const std::vector<int> slots = {5, -1, 63};
    const std::vector<float> of_latent = normal<float>(seq * 512, 1), of_rope = normal<float>(seq * 64, 2);
    std::vector<std::uint8_t> of_codes(size(pages * 64 * 512));
    std::vector<float> of_scales(size(pages * 64 * 4));
    std::vector<rope::bfloat16> of_rotated(size(pages * 64 * 64));
    const float *const latent = of_latent.data(), *const k_rope = of_rope.data();
    std::uint8_t* const codes = of_codes.data();
    float* const scales = of_scales.data();
    rope::bfloat16* const rotated = of_rotated.data();
    {
#include "formats_3.inc"
    }
    const std::vector<int> slot = {63};
    std::vector<float> read(512);
    rope::dequantise(
        rope::fp8_e4m3(rope::paged(codes, pages, 64, 4, 128, slot), rope::paged(scales, pages, 64, 4, 1, slot)),
        rope::view(read, 1, 4, 128));
    CHECK(distance(read, std::vector<float>(of_latent.end() - 512, of_latent.end())) < 0.04);
    std::vector<float> want(of_rope.end() - 64, of_rope.end());
    rope::apply<rope::Layout::interleaved>(rope::view(want, 1, 1, 64), cache, rope::start_at(n + 2));
    CHECK(distance(std::vector<rope::bfloat16>(of_rotated.end() - 64, of_rotated.end()), want) < 4e-3);
}

TEST_CASE("cached keys move: plain, in many layers, in pages, in codes") {
    constexpr int pages = 4, kept = 40;
    rope::Config config;
    config.head_dim = 64;
    const rope::CosSinCache<float> cache(config, 256);
    const std::vector<float> numbers = normal<float>(kept * 2 * 64, 1);
    std::vector<int> old_ids(kept), new_ids(kept);
    for (int i = 0; i < kept; ++i) {
        old_ids[size(i)] = i < 4 ? i : i + 100;
        new_ids[size(i)] = i;
    }
    const auto rotated = [&](const std::vector<int>& positions) {
        std::vector<float> x = numbers;
        rope::apply<rope::Layout::half_split>(rope::view(x, kept, 2, 64), cache, positions);
        return x;
    };
    const std::vector<float> want = rotated(new_ids);
    std::vector<float> of_k = rotated(old_ids), of_layer = of_k;
    {
        float* const k = of_k.data();
#include "moving_keys_1.inc"
        CHECK(distance(of_k, want) < 1e-6);
    }
    {
        const std::vector<float*> key_layers = {of_layer.data()};
#include "moving_keys_2.inc"
        CHECK(distance(of_layer, want) < 1e-6);
        std::vector<int> slots(kept);
        for (int i = 0; i < kept; ++i) slots[size(i)] = (i * 7) % (pages * 16);
        std::vector<float> of_pages(size(pages * 16 * 2 * 64));
        float* const memory = of_pages.data();
        const auto as_pages = [&] { return rope::paged(memory, pages, 16, 2, 64, slots); };
        const std::vector<float> in_order = rotated(old_ids);
        rope::pass<rope::Layout::half_split>(cache, rope::heads(rope::view(in_order, kept, 2, 64)).to(as_pages()));
#include "moving_keys_3.inc"
        std::vector<float> read(want.size());
        rope::dequantise(as_pages(), rope::view(read, kept, 2, 64));
        CHECK(distance(read, want) < 1e-6);
    }
    {
        const rope::Config config{128};
        const rope::CosSinCache<float> cache(config, 256);
        rope::Moves<float> moves(config);
        const std::vector<float> of_keys = normal<float>(kept * 2 * 128, 3);
        const auto keys = rope::view(of_keys, kept, 2, 128);
        std::vector<std::uint8_t> blocks(kept * 2 * 136);
        std::vector<float> read(of_keys.size()), want(of_keys);
        rope::pass<rope::Layout::half_split>(
            cache, old_ids, rope::heads(keys).rotate().hadamard(64).to(rope::q8_0(rope::view(blocks, kept, 2, 136))));
#include "moving_keys_4.inc"
        rope::dequantise(cached, rope::view(read, kept, 2, 128));
        rope::pass<rope::Layout::half_split>(cache, new_ids,
                                             rope::heads(rope::view(want, kept, 2, 128)).rotate().hadamard(64));
        CHECK(distance(read, want) < 2e-2);
    }
    {
        std::vector<int> slots(kept), slots_behind, now = old_ids;
        for (int i = 0; i < kept; ++i) slots[size(i)] = (i * 7) % (pages * 16);
        for (int i = kept / 2; i < kept; ++i) {
            slots_behind.push_back(slots[size(i)]);
            now[size(i)] -= 100;
        }
        std::vector<float> of_pages(size(pages * 16 * 2 * 64)), read(want.size());
        float *const memory = of_pages.data(), *const as_read = read.data();
        const std::vector<float> in_order = rotated(old_ids);
        rope::Moves<float> moves(config);
        rope::pass(rope::heads(rope::view(in_order, kept, 2, 64)).to(rope::paged(memory, pages, 16, 2, 64, slots)));
#include "moving_keys_5.inc"
        CHECK(distance(read, rotated(now)) < 1e-6);
    }
}

TEST_CASE("keys that rotate when they are read, and several results of one source") {
    const Index length = 3, kv_heads = 2, head_dim = 64, pages = 3, page_size = 8, first = 5;
    const rope::CosSinCache<float> cache(rope::Config{head_dim}, 64);
    const int slots_of_sequence[] = {8, 2, 17};
    std::vector<rope::bfloat16> of_raw(size(pages * page_size * kv_heads * head_dim));
    rope::bfloat16* const raw = of_raw.data();
    const std::vector<float> plain = normal<float>(length * kv_heads * head_dim, 2);
    rope::pass(rope::heads(rope::view(plain, length, kv_heads, head_dim))
                   .to(rope::paged(raw, pages, page_size, kv_heads, head_dim).with_slots(slots_of_sequence, length)));
    const auto rotated_at = [&](const std::vector<int>& at) {
        std::vector<float> x = plain;
        rope::apply<rope::Layout::half_split>(rope::view(x, length, kv_heads, head_dim), cache, at);
        return x;
    };
    std::vector<float> of_sequence(plain.size()), of_near(plain.size()), of_far(plain.size());
    {
        float* const k_of_sequence = of_sequence.data();
#include "rotating_on_reading_1.inc"
        CHECK(distance(of_sequence, rotated_at({5, 6, 7})) < 4e-3);
    }
    const std::vector<int> places = {40, 41, 42}, grouped = {10, 10, 11};
    {
        float *const near = of_near.data(), *const far = of_far.data();
#include "rotating_on_reading_2.inc"
        CHECK(distance(of_near, rotated_at(places)) < 4e-3);
        CHECK(distance(of_far, rotated_at(grouped)) < 4e-3);
    }
}

TEST_CASE("one norm, two formats; parts of a head in different formats") {
    const Index n = 3, seq = 4;
    {
        const rope::CosSinCache<float> cache(rope::Config{128}, 16);
        const std::vector<float> k_weight = normal<float>(128, 3), of_k = normal<float>(seq * 2 * 128, 5);
        std::vector<float> numbers(of_k.size()), read(of_k.size()), scales_of(size(seq * 2));
        std::vector<std::int8_t> codes_of(of_k.size());
        const auto k = rope::view(of_k, seq, 2, 128);
        const auto k_out = rope::view(numbers, seq, 2, 128);
        const auto codes = rope::view(codes_of, seq, 2, 128);
        const auto scales = rope::view(scales_of, seq, 2, 1);
        {
#include "rotating_on_reading_3.inc"
        } rope::dequantise(rope::int8(codes, scales), rope::view(read, seq, 2, 128));
        CHECK(distance(read, numbers) < 5e-3);
        std::vector<float> one = of_k;
        rope::pass<rope::Layout::half_split>(
            cache, rope::start_at(n), rope::heads(rope::view(one, seq, 2, 128)).rms_norm(k_weight, 1e-6).rotate());
        CHECK(same_bits(one, numbers));
    }
    rope::Config config{512};
    config.rotary_dim = 64;
    config.rotary_offset = 448;
    const rope::CosSinCache<float> cache(config, 16);
    const std::vector<float> k_weight = normal<float>(512, 3), of_k = normal<float>(seq * 512, 5);
    std::vector<unsigned char> codes_of(size(seq * 448));
    std::vector<float> scales_of(size(seq)), one = of_k, read(codes_of.size()), tail(size(seq * 64));
    std::vector<rope::bfloat16> rotated_of(tail.size());
    const auto k = rope::view(of_k, seq, 1, 512);
    const auto codes = rope::view(codes_of, seq, 1, 448);
    const auto scales = rope::view(scales_of, seq, 1, 1);
    const auto rotated = rope::view(rotated_of, seq, 1, 64);
    {
#include "rotating_on_reading_4.inc"
    } rope::pass<rope::Layout::interleaved>(cache, rope::start_at(n),
                                            rope::heads(rope::view(one, seq, 1, 512))
                                                .rms_norm(k_weight, 1e-6)
                                                .rotate());
    rope::dequantise(rope::fp8_e4m3(codes, scales), rope::view(read, seq, 1, 448));
    rope::pass(rope::heads(rotated).to(rope::view(tail, seq, 1, 64)));
    std::vector<float> want_latent, want_tail;
    for (Index t = 0; t < seq; ++t)
        for (Index i = 0; i < 512; ++i) (i < 448 ? want_latent : want_tail).push_back(one[size(t * 512 + i)]);
    CHECK(distance(read, want_latent) < 0.06);
    CHECK(distance(tail, want_tail) < 4e-3);
}
