// SPDX-License-Identifier: MIT
// <rope/ggml.hpp>: norm, rotation and two cache writes, as Qwen3 has them, are one operator with the bits of separate calls, in every cache
// type, mode and number of threads.
#include <rope/ggml.hpp>
#include <rope/heads.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <thread>
#include <vector>

#include "engines/ggml_tensors.hpp"
#include "support/catch.hpp"
#include "support/data.hpp"

using namespace engines;

namespace {

struct Prologue {
    static constexpr Index kTokens = 7, kHeads = 4, kKeyHeads = 2, kDim = 64, kRows = 20;
    Mode mode = neox;
    int type = 1;
    std::size_t row_bytes = 0, block_bytes = 0;
    bool has_wide_ids = true;

    std::vector<float> q = support::normal<float>(kTokens * kHeads * kDim, 1),
                       k = support::normal<float>(kTokens * kKeyHeads * kDim, 2),
                       v = support::normal<float>(kTokens * kKeyHeads * kDim, 3), out = std::vector<float>(q.size()),
                       q_norm = support::normal<float>(kDim, 4), k_norm = support::normal<float>(kDim, 5);
    std::vector<std::int32_t> positions, narrow = {5, 0, 19, 3, -1, 2, 11};
    std::vector<std::int64_t> wide = {5, 0, 19, 3, -1, 2, 11};
    std::vector<unsigned char> keys, values;
    std::vector<float> memory = std::vector<float>(kTokens * kDim);
    ggml::RopeParams p;

    Prologue(Mode m, int cache_type, std::size_t block, std::size_t of_block, bool is_wide)
        : mode(m),
          type(cache_type),
          row_bytes(kKeyHeads * kDim / of_block * block),
          block_bytes(block),
          has_wide_ids(is_wide),
          positions(size(kTokens * (m == neox ? 1 : 4))),
          keys(kRows * row_bytes, 170),
          values(keys),
          p(params(kDim, m, {10, 11, 11, 0})) {
        for (std::size_t i = 0; i < positions.size(); ++i) positions[i] = static_cast<std::int32_t>(100 + 3 * i % 17);
    }
    static ggml::Tensor heads_of(std::vector<float>& x, Index heads) {
        const Made t = contiguous(Type::f32, {kDim, heads, kTokens, 1}, 4, x.data());
        return ggml::tensor(&t);
    }
    ggml::Tensor cache_of(std::vector<unsigned char>& bytes) const {
        return {
            type, {kKeyHeads * kDim, kRows, 1, 1}, {block_bytes, row_bytes, bytes.size(), bytes.size()}, bytes.data()};
    }
    ggml::Tensor row_ids() { return has_wide_ids ? list_of(Type::i64, wide) : list_of(Type::i32, narrow); }

    /// One thread's share of the operator.
    template <class Rows>
    void pass(const Rows& rows, const rope::Positions& at, Index ith, Index nth) {
        rope::pass(ggml::layout(p), rope::part(ith, nth), rows, at,
                   rope::heads(ggml::heads(heads_of(q, kHeads)))
                       .rms_norm(q_norm, 1e-6)
                       .rotate()
                       .to(ggml::heads(heads_of(out, kHeads))),
                   rope::heads(ggml::heads(heads_of(k, kKeyHeads)))
                       .rms_norm(k_norm, 1e-6)
                       .rotate()
                       .to(ggml::cache(cache_of(keys), kDim, row_ids())),
                   rope::heads(ggml::heads(heads_of(v, kKeyHeads))).to(ggml::cache(cache_of(values), kDim, row_ids())));
    }
    void run(Index nth) {
        const ggml::Tensor ids = list_of(Type::i32, positions);
        std::vector<std::thread> threads;
        if (mode != neox)  // rows first, and behind them a barrier
            for (Index i = 0; i < nth; ++i)
                threads.emplace_back([&, i] { ggml::rows(p, kDim, ids, {}, memory.data(), rope::part(i, nth)); });
        for (std::thread& t : threads) t.join();
        threads.clear();
        for (Index i = 0; i < nth; ++i)
            threads.emplace_back([&, i] {
                if (mode == neox) return pass(ggml::table(p, kDim, ids), rope::ids(positions.data(), kTokens), i, nth);
                const Index pairs = kDim / 2;
                pass(rope::WrappedRows<float>({memory.data(), memory.data() + pairs, kTokens, pairs, 1, kDim}), {}, i,
                     nth);
            });
        for (std::thread& t : threads) t.join();
    }
    /// The same as separate calls, and the operator in place of the rotation.
    void run_apart() {
        const auto norm = [](std::vector<float>& x, Index heads, const std::vector<float>& w) {
            rope::pass(rope::heads(rope::view(x.data(), kTokens, heads, kDim)).rms_norm(w, 1e-6));
        };
        const auto rotate = [&](std::vector<float>& x, Index heads) {
            ggml::rope(p, heads_of(x, heads), heads_of(x, heads), list_of(Type::i32, positions), {}, true);
        };
        norm(q, kHeads, q_norm);
        norm(k, kKeyHeads, k_norm);
        rotate(q, kHeads);
        rotate(k, kKeyHeads);
        out = q;
        for (Index t = 0; t < kTokens; ++t) {
            if (wide[size(t)] < 0) continue;
            for (auto* const x : {&k, &v}) {
                auto& cache = x == &k ? keys : values;
                ggml::Tensor row = cache_of(cache);
                row = {type,
                       {kDim, kKeyHeads, 1, 1},
                       {block_bytes, row_bytes / kKeyHeads, row_bytes, row_bytes},
                       cache.data() + size(wide[size(t)]) * row_bytes};
                rope::pass(
                    rope::heads(rope::view(x->data() + t * kKeyHeads * kDim, 1, kKeyHeads, kDim)).to(ggml::heads(row)));
            }
        }
    }
};

}  // namespace

TEST_CASE("the prologue of Qwen3 as one operator has the bits of separate calls") {
    struct Cache {
        int type;
        std::size_t block, numbers;
    };
    for (const Cache& c : {Cache{0, 4, 1},
                           {1, 2, 1},
                           {30, 2, 1},
                           {2, 18, 32},
                           {3, 20, 32},
                           {6, 22, 32},
                           {7, 24, 32},
                           {8, 34, 32},
                           {20, 18, 32},
                           {39, 17, 32}})
        for (const Mode mode : {neox, imrope}) {
            CAPTURE(c.type, mode);
            Prologue apart(mode, c.type, c.block, c.numbers, true);
            const std::vector<unsigned char> empty = apart.keys;
            apart.run_apart();
            REQUIRE_FALSE(apart.keys == empty);
            for (const Index nth : {Index(1), Index(2), Index(3), Index(5)}) {
                Prologue one(mode, c.type, c.block, c.numbers, nth % 2 == 0);
                one.run(nth);
                CHECK(support::same_bits(one.out, apart.out));
                CHECK(one.keys == apart.keys);
                CHECK(one.values == apart.values);
            }
        }
}

TEST_CASE("row ids with gaps between them") {
    std::vector<std::int64_t> wide = {5, 9, 0, 9, 19, 9};
    std::vector<std::int32_t> narrow = {5, 9, 9, 9, 0, 9, 9, 9, 19, 9, 9, 9};
    const std::vector<float> x = support::normal<float>(3 * 64, 1);
    for (const bool is_wide : {false, true}) {
        std::vector<float> cache(20 * 64, 7.0f), want = cache;
        ggml::Tensor ids = is_wide ? list_of(Type::i64, wide) : list_of(Type::i32, narrow);
        ids.ne[0] = 3;
        ids.nb[0] = 16;
        const ggml::Tensor rows = {0, {64, 20, 1, 1}, {4, 256, 5120, 5120}, cache.data()};
        rope::pass(rope::heads(rope::view(x.data(), 3, 1, 64)).to(ggml::cache(rows, 64, ids)));
        for (Index t = 0; t < 3; ++t) std::copy_n(x.begin() + t * 64, 64, want.begin() + wide[size(2 * t)] * 64);
        CHECK(cache == want);
    }
}
