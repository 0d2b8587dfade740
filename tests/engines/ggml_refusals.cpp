// SPDX-License-Identifier: MIT
// <rope/ggml.hpp>: every refusal, by its sentence; nothing is written.
#include <rope/ggml.hpp>
#include <rope/heads.hpp>

#include <cstdint>
#include <string>
#include <vector>

#include "engines/ggml_tensors.hpp"
#include "support/catch.hpp"
#include "support/data.hpp"
#include "support/refusal.hpp"

using namespace engines;
using support::invalid;
using support::out_of_range;

TEST_CASE("refusals of parameters") {
    const float nan = static_cast<float>(support::nan_value());
    std::vector<std::int32_t> at(1);
    const auto said = [&](ggml::RopeParams p, auto change) {
        change(p);
        return invalid([&] { ggml::table(p, p.mode == vision ? 128 : 64, list_of(Type::i32, at)); });
    };
    const ggml::RopeParams p = params(64, neox), axes = params(64, mrope, {16, 8, 8, 0});
    CHECK(said(p, [](auto& x) { x.mode = 1; }) ==
          "mode is 1; it must be 0 (normal), 2 (NeoX), 8 (mrope), 24 (vision) or 40 (imrope).");
    CHECK(said(p, [](auto& x) { x.mode = 10; }) ==
          "mode is 10; it must be 0 (normal), 2 (NeoX), 8 (mrope), 24 (vision) or 40 (imrope).");
    CHECK(said(p, [](auto& x) { x.n_dims = 0; }) == "n_dims is 0 and n_offs 0; they must be even, at least 2 and 0.");
    CHECK(said(p, [](auto& x) { x.n_dims = 63; }) == "n_dims is 63 and n_offs 0; they must be even, at least 2 and 0.");
    CHECK(said(p, [](auto& x) { x.n_offs = -2; }) ==
          "n_dims is 64 and n_offs -2; they must be even, at least 2 and 0.");
    CHECK(said(p, [](auto& x) { x.n_offs = 3; }) == "n_dims is 64 and n_offs 3; they must be even, at least 2 and 0.");
    CHECK(said(axes, [](auto& x) { x.mode = vision, x.n_offs = 2; }) ==
          "n_dims is 64 and n_offs 2, in mode 24; 128 features of heads of 128 cannot rotate there.");
    CHECK(said(p, [](auto& x) { x.freq_base = 0.0f; }) ==
          "freq_base is 0, freq_scale 1, ext_factor 0; they must be finite, and freq_base above 0.");
    CHECK(said(p, [&](auto& x) { x.freq_scale = nan; }) ==
          "freq_base is 10000, freq_scale nan, ext_factor 0; they must be finite, and freq_base above 0.");
    CHECK(said(p, [&](auto& x) { x.ext_factor = nan; }) ==
          "freq_base is 10000, freq_scale 1, ext_factor nan; they must be finite, and freq_base above 0.");
    CHECK(said(axes, [](auto& x) { x.sections[1] = -1; }) ==
          "sections are 16, -1, 8, 0; they must be from 0 to 1048576, and one of the first three above 0.");
    CHECK(said(params(64, imrope, {0, 0, 0, 5}), [](auto&) {}) ==
          "sections are 0, 0, 0, 5; they must be from 0 to 1048576, and one of the first three above 0.");
    CHECK(said(p, [](auto& x) { x.attn_factor = 0.0f; }) ==
          "attn_factor is 0; times 1, which ext_factor and freq_scale make, it must be from 2^-32 to 2^32.");
    CHECK(said(p, [](auto& x) { x.ext_factor = 0.5f, x.freq_scale = 0.0f; }) ==
          "ext_factor is 0.5; with it n_ctx_orig (0) must be at least 0, freq_base (10000) not 1, freq_scale (0) above "
          "0, "
          "and the betas (1, 1) finite and at least 0, above 0 if n_ctx_orig is 0.");
    const auto is_refused = [&](auto change) {
        const std::string sentence = said(p, [&](auto& x) { x.ext_factor = 1.0f, change(x); });
        return sentence.find("ext_factor is 1; with it n_ctx_orig") == 0;
    };
    CHECK(is_refused([](auto& x) { x.beta_slow = 0.0f; }));
    CHECK(is_refused([](auto& x) { x.beta_fast = -1.0f; }));
    CHECK(is_refused([&](auto& x) { x.beta_fast = nan; }));
    CHECK(is_refused([](auto& x) { x.n_ctx_orig = -1; }));
    CHECK(is_refused([](auto& x) { x.freq_base = 1.0f; }));
    ggml::RopeParams still = p;  // nothing rotates
    still.freq_scale = 0.0f;
    CHECK(ggml::table(still, 64, list_of(Type::i32, at)).attention_factor() == 1.0);
    std::vector<float> factors(32, 1.0f);
    factors[7] = 0.0f;
    const auto said_of_factors = [&](Type type) {
        return invalid([&] { ggml::table(p, 64, list_of(Type::i32, at), list_of(type, factors)); });
    };
    CHECK(said_of_factors(Type::f32) == "freq_factors[7] is 0; it must be finite and not 0.");
    CHECK(said_of_factors(Type::f16) ==
          "freq_factors has type 1, shape [32, 1, 1, 1] and nb[0] = 4; it must be a list of at least 32 numbers "
          "of type 0 (F32), without gaps.");
    factors.resize(31);
    CHECK(said_of_factors(Type::f32) ==
          "freq_factors has type 0, shape [31, 1, 1, 1] and nb[0] = 4; it must be a list of at least 32 numbers "
          "of type 0 (F32), without gaps.");
}

TEST_CASE("refusals of tensors and positions; nothing is written") {
    const Shape shape = {{64, 2, 3, 1}, params(64, neox)};
    Buffer<float> src(shape.ne, 0, 1), dst(shape.ne, 0, 2);
    const std::vector<float> before = dst.numbers;
    std::vector<std::int32_t> positions = {1, 2, 3};
    const ggml::Tensor ids = list_of(Type::i32, positions);
    struct Call {
        ggml::RopeParams params;
        ggml::Tensor src, dst, positions;
    };
    const auto said = [&](auto change) {
        Call c = {shape.params, src.t, dst.t, ids};
        change(c);
        const std::string thrown =
            support::refusal([&] { ggml::rope(c.params, c.src, c.dst, c.positions, {}, true); }).message;
        const rope::Status s =
            ggml::rope(c.params, c.src, c.dst, c.positions, {}, true, rope::no_throw(rope::part(0, 2)));
        CHECK(s.message() == thrown);
        return thrown;
    };
    CHECK(said([](Call& c) { c.params.mode = 3; }) ==
          "mode is 3; it must be 0 (normal), 2 (NeoX), 8 (mrope), 24 (vision) or 40 (imrope).");
    CHECK(said([](Call& c) { c.src.type = 30; }) ==
          "src.type is 30 and dst.type 0; they must be 0 (F32) or 1 (F16), the same.");
    CHECK(said([](Call& c) { c.dst.ne[1] = 3; }) == "dst.ne[1] is 3; it must be that of src, 2.");
    CHECK(said([](Call& c) { c.src.nb[1] = 258; }) ==
          "src.ne[1] is 2 and its nb 258; they must be at least 0, nb a multiple of 4 (bytes of an element).");
    CHECK(said([](Call& c) { c.dst.data = nullptr; }) ==
          "dst.data is null or begins at no multiple of 4, the bytes of an element.");
    CHECK(said([](Call& c) { c.src.data = static_cast<char*>(c.src.data) + 2; }) ==
          "src.data is null or begins at no multiple of 4, the bytes of an element.");
    CHECK(said([](Call& c) { c.params.n_offs = 2; }) ==
          "n_dims is 64 and n_offs 2, in mode 2; 64 features of heads of 64 cannot rotate there.");
    CHECK(said([](Call& c) {
              c.params = params(30, vision, {15, 15, 0, 0});
          }) == "n_dims is 30 and n_offs 0, in mode 24; 60 features of heads of 64 cannot rotate there.");
    const std::string gaps = "3 numbers of type 26 (I32), without gaps.";
    CHECK(said([](Call& c) { c.positions.type = 27; }) ==
          "positions has type 27, shape [3, 1, 1, 1] and nb[0] = 4; it must be a list of " + gaps);
    CHECK(said([](Call& c) { c.positions.ne[0] = 2; }) ==
          "positions has type 26, shape [2, 1, 1, 1] and nb[0] = 4; it must be a list of " + gaps);
    CHECK(said([](Call& c) { c.positions.ne[0] = 4; }) ==
          "positions has type 26, shape [4, 1, 1, 1] and nb[0] = 4; it must be a list of " + gaps);
    CHECK(said([](Call& c) { c.positions.nb[0] = 8; }) ==
          "positions has type 26, shape [3, 1, 1, 1] and nb[0] = 8; it must be a list of " + gaps);
    CHECK(said([](Call& c) {
              c.params = params(64, mrope, {16, 8, 8, 0});
          }) ==
          "positions has type 26, shape [3, 1, 1, 1] and nb[0] = 4; it must be a list of 12 numbers of type "
          "26 (I32), without gaps.");
    CHECK(said([](Call& c) { c.dst.data = static_cast<float*>(c.src.data) + 64; }) ==
          "in and out are different views that may share elements; they must be the same view (pointer, type, extents "
          "and "
          "strides) or be shown to share none by their strides.");
    for (std::vector<std::int32_t> list : {std::vector<std::int32_t>{0, -1, 2}, {1, 524288, 2}})
        CHECK(out_of_range([&] { ggml::table(shape.params, 64, list_of(Type::i32, list)); }) ==
              "positions are on 1 axis, negative or far, in mode 2; a table has one axis, from 0 on, and at most 128 "
              "MiB: call rows.");
    CHECK(invalid([&] { ggml::rows(shape.params, 64, ids, {}, nullptr); }) == "memory is a null pointer.");
    std::vector<std::int32_t> twelve(12, 1);
    const Made wide = contiguous(Type::f32, {5000, 1, 3, 1}, 4, nullptr);
    std::vector<float> many(15000);
    ggml::Tensor x = ggml::tensor(&wide);
    x.data = many.data();
    CHECK(invalid([&] {
              ggml::rope(params(5000, mrope, {16, 8, 8, 0}), x, x, list_of(Type::i32, twelve), {}, true);
          }) == "n_dims is 5000; with several axes or negative positions at most 4096 features of a head rotate.");
    CHECK(support::same_bits(dst.numbers, before));
}

TEST_CASE("refusals of destinations") {
    std::vector<unsigned char> bytes(10000);
    std::vector<std::int32_t> ids = {0, 1};
    const ggml::Tensor rows = {8, {128, 4, 1, 1}, {34, 136, 544, 544}, bytes.data()}, list = list_of(Type::i32, ids);
    const auto said = [&](ggml::Tensor t, Index head_dim, const ggml::Tensor& row_ids) {
        return invalid([&] { ggml::cache(t, head_dim, row_ids); });
    };
    CHECK(said({9, {128, 4, 1, 1}, {36, 144, 576, 576}, bytes.data()}, 64, list) ==
          "rows.type is 9; it must be 0 (F32), 1 (F16), 2 (Q4_0), 3 (Q4_1), 6 (Q5_0), 7 (Q5_1), 8 (Q8_0), 20 (IQ4_NL), "
          "30 (BF16) or 39 (MXFP4).");
    CHECK(said(rows, 48, list) == "rows has the shape [128, 4, 1, 1]; it must be [heads * 48, rows, 1, 1].");
    CHECK(said(rows, 16, list) ==
          "rows.nb[0] is 34, and its heads have 16 features; of type 8 they are whole blocks of 32, of 34 bytes.");
    ggml::Tensor other = list;
    other.type = 0;
    CHECK(said(rows, 64, other) ==
          "row_ids has type 0 and shape [2, 1, 1, 1]; it must be a list of 26 (I32) or 27 (I64).");
    other = list;
    other.ne[1] = 2;
    CHECK(said(rows, 64, other) ==
          "row_ids has type 26 and shape [2, 2, 1, 1]; it must be a list of 26 (I32) or 27 (I64).");
    CHECK(invalid([&] {
              ggml::heads({1, {64, 2, 3, 1}, {2, 129, 256, 768}, bytes.data()});
          }) == "t.ne[1] is 2 and its nb 129; they must be at least 0, nb a multiple of 2 (bytes of an element).");
    ids = {0, 4};
    const std::vector<float> x(256);
    CHECK(out_of_range(
              [&] { rope::pass(rope::heads(rope::view(x.data(), 2, 2, 64)).to(ggml::cache(rows, 64, list))); }) ==
          "destination of path 1 has slot 4 for token 1; in 1 page of 4 slots are from 0 to 3, and -1 skips a token.");
}
