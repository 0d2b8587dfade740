// SPDX-License-Identifier: MIT
// The code on the pages about other engines: see snippets.hpp. Structs with the members of ggml's stand for it.
#include <rope/ggml.hpp>
#include <rope/heads.hpp>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <vector>

#include "examples/snippets.hpp"

namespace {

struct ggml_tensor {
    int type;
    std::int64_t ne[4];
    std::size_t nb[4];
    std::int32_t op_params[16];
    ggml_tensor* src[10];
    void* data;
};
struct ggml_compute_params {
    int ith, nth;
    void* wdata;
    int* threadpool;
};
void ggml_barrier(int* threadpool) { ++*threadpool; }
#define GGML_ABORT(...) std::abort()

#include "ggml_1.inc"

#include "ggml_2.inc"

#include "ggml_3.inc"

#include "ggml_4.inc"

constexpr int kF32 = 0, kF16 = 1, kI32 = 26, kI64 = 27;
constexpr Index kTokens = 3, kHeads = 4, kDim = 32, kRows = 8;

ggml_tensor tensor_of(int type, std::size_t element, Index ne0, Index ne1, Index ne2, void* data) {
    const std::size_t row = element * size(ne0), plane = row * size(ne1);
    return {type, {ne0, ne1, ne2, 1}, {element, row, plane, plane * size(ne2)}, {}, {}, data};
}
/// op_params of NeoX or mrope, base 10000.
void set_params(ggml_tensor& t, std::int32_t mode) {
    const std::int32_t one = 0x3f800000;
    const std::int32_t raw[16] = {0, kDim, mode, 0, 0, 0x461c4000, one, 0, one, 0, 0, 8, 4, 4, 0, 0};
    std::copy(raw, raw + 16, t.op_params);
}

}  // namespace

TEST_CASE("ggml's operator, and Qwen3's prologue as one") {
    std::vector<float> q = normal<float>(kTokens * kHeads * kDim, 1), k = normal<float>(kTokens * kHeads * kDim, 2),
                       v = normal<float>(kTokens * kHeads * kDim, 3);
    std::vector<float> out(q.size()), weight(size(kDim), 1.0f);
    std::vector<std::int32_t> at = {7, 8, 9, 7, 8, 9, 7, 8, 9, 7, 8, 9};
    rope::Config config;
    config.head_dim = kDim;
    const rope::CosSinCache<float> cache(config, 16);
    std::vector<float> want = q;
    rope::apply<rope::Layout::half_split>(rope::view(want, kTokens, kHeads, kDim), cache, rope::start_at(7));

    ggml_tensor of_q = tensor_of(kF32, 4, kDim, kHeads, kTokens, q.data()),
                positions = tensor_of(kI32, 4, kTokens, 1, 1, at.data());
    ggml_tensor dst = tensor_of(kF32, 4, kDim, kHeads, kTokens, out.data());
    set_params(dst, 2);
    dst.src[0] = &of_q;
    dst.src[1] = &positions;
    for (const int ith : {0, 1}) {
        const ggml_compute_params params = {ith, 2, nullptr, nullptr};
        ggml_compute_forward_rope(&params, &dst);
    }
    CHECK(same_bits(out, want));
    ggml_tensor back = dst, rotated = dst;
    std::vector<float> again(q.size());
    back.data = again.data();
    back.src[0] = &rotated;
    const ggml_compute_params alone = {0, 1, nullptr, nullptr};
    ggml_compute_forward_rope_back(&alone, &back);
    CHECK(distance(again, q) < 1e-6);

    make_table(rope::ggml::rope_params(dst.op_params), kDim, 3000);
    CHECK(rope::ggml::table(rope::ggml::rope_params(dst.op_params), kDim, rope::ggml::tensor(&positions))
              .max_positions() == 3000);

    // The prologue.
    std::vector<std::int64_t> ids = {5, 0, 2};
    std::vector<rope::half> keys(size(kRows * kHeads * kDim)), values(keys.size());
    ggml_tensor of_k = tensor_of(kF32, 4, kDim, kHeads, kTokens, k.data()),
                of_v = tensor_of(kF32, 4, kDim, kHeads, kTokens, v.data());
    ggml_tensor norm = tensor_of(kF32, 4, kDim, 1, 1, weight.data()),
                row_ids = tensor_of(kI64, 8, kTokens, 1, 1, ids.data());
    ggml_tensor of_keys = tensor_of(kF16, 2, kHeads * kDim, kRows, 1, keys.data()),
                of_values = tensor_of(kF16, 2, kHeads * kDim, kRows, 1, values.data());
    ggml_tensor* const args[] = {&of_q, &of_k, &of_v, &positions, &norm, &norm, &of_keys, &of_values, &row_ids};
    std::copy(std::begin(args), std::end(args), dst.src);
    Prologue prologue = {rope::ggml::rope_params(dst.op_params), 1e-6};
    for (const int ith : {0, 1, 2}) qwen3_prologue(&dst, ith, 3, &prologue);
    std::vector<float> normed = q;
    rope::pass<rope::Layout::half_split>(
        cache, rope::start_at(7),
        rope::heads(rope::view(normed, kTokens, kHeads, kDim)).rms_norm(weight, 1e-6).rotate());
    CHECK(same_bits(out, normed));
    for (Index i = 0; i < kHeads * kDim; ++i) {
        CHECK(values[size(5 * kHeads * kDim + i)].bits == rope::to_half(v[size(i)]).bits);
        CHECK(values[size(2 * kHeads * kDim + i)].bits == rope::to_half(v[size(2 * kHeads * kDim + i)]).bits);
    }

    // Several axes, here at the same position.
    ggml_tensor four = tensor_of(kI32, 4, 4 * kTokens, 1, 1, at.data());
    std::vector<float> memory(size(kTokens * kDim));
    int barriers = 0;
    dst.src[1] = &four;
    dst.src[2] = nullptr;
    set_params(dst, 8);
    const ggml_compute_params params = {0, 1, memory.data(), &barriers};
    mrope_prologue(&params, &dst, rope::ggml::rope_params(dst.op_params));
    CHECK(same_bits(out, want));
    CHECK(barriers == 1);
}
