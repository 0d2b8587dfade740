// SPDX-License-Identifier: MIT
// An executor is handed units that make up all of the work, each once: whole tokens where there are many, heads where
// there are few; and it is not asked about calls that are over before a thread has begun.
#include <rope/core.hpp>

#include <rope/additive.hpp>

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "support/catch.hpp"
#include "support/data.hpp"
#include "support/jobs.hpp"

using rope::Index;
using rope::Layout;
using support::size;

namespace {

rope::Config config_of(Index head_dim) {
    rope::Config config;
    config.head_dim = head_dim;
    config.attention_factor = 1.25;
    return config;
}

}  // namespace

TEST_CASE("an executor is asked once, from a mebibyte on, and never about less") {
    const Index d = 64, heads = 4, token = d * heads * 4;  // bytes
    const Index tokens = rope::detail::kSplitBytes / token;
    REQUIRE(tokens * token == rope::detail::kSplitBytes);
    const rope::CosSinCache<float> cache(config_of(d), tokens);
    const rope::SinusoidalEmbedding<float> embedding(d * heads, tokens);
    std::vector<float> q(size(tokens * heads * d)), k(q.size());
    int calls = 0;
    const auto counting = [&](Index count, auto&& f) {
        ++calls;
        CHECK(count > 1);
        f(0, count);
    };
    const auto calls_of = [&](auto&& call) {
        calls = 0;
        call();
        return calls;
    };
    const auto q_of = [&](Index n) { return rope::view(q.data(), n, heads, d); };
    const auto k_of = [&](Index n, Index k_heads) { return rope::view(k.data(), n, k_heads, d); };
    constexpr Layout layout = Layout::half_split;
    CHECK(calls_of([&] { rope::apply<layout>(q_of(tokens), cache, {}, counting); }) == 1);
    CHECK(calls_of([&] { rope::apply<layout>(q_of(tokens - 1), cache, {}, counting); }) == 0);
    CHECK(calls_of([&] { rope::apply_transpose<layout>(q_of(1), cache, {}, counting); }) == 0);
    CHECK(calls_of([&] { rope::apply<layout>(q_of(0), cache, {}, counting); }) == 0);
    CHECK(calls_of([&] { rope::apply_copy<layout>(q_of(tokens), k_of(tokens, heads), cache, {}, counting); }) == 1);
    // Two tensors count together.
    CHECK(calls_of([&] { rope::apply<layout>(q_of(tokens / 2), k_of(tokens / 2, 4), cache, {}, counting); }) == 1);
    CHECK(calls_of([&] { rope::apply<layout>(q_of(tokens / 2), k_of(tokens / 2, 3), cache, {}, counting); }) == 0);
    CHECK(calls_of([&] { embedding.add(q_of(tokens), {}, counting); }) == 1);
    CHECK(calls_of([&] { embedding.add(q_of(tokens - 1), {}, counting); }) == 0);
}

TEST_CASE("pieces outside the work change nothing") {
    const Index d = 64, heads = 4, tokens = 2048;
    const rope::CosSinCache<float> cache(config_of(d), tokens);
    const std::vector<float> x = support::normal<float>(tokens * heads * d, 5);
    std::vector<float> q = x, k = x, expected = x;
    const auto view = [&](std::vector<float>& v) { return rope::view(v.data(), tokens, heads, d); };
    rope::apply<Layout::interleaved>(view(expected), cache);
    rope::apply<Layout::interleaved>(view(q), view(k), cache, {}, [](Index count, const auto& f) {
        f(Index(-9), Index(-1));
        f(Index(-3), count / 3);
        f(count / 3, count + 7);
        f(count + 2, count + 9);
    });
    CHECK(support::same_bits(q, expected));
    CHECK(support::same_bits(k, expected));
}

namespace {

/// Which heads each unit of a call turns, as numbers (batch * seq + token) * heads + head.
struct Units {
    std::vector<std::vector<Index>> heads;
    Index largest = 0, smallest_but_last = 0;
};
template <class Call>
Units units_of(std::vector<float>& x, Index d, const Call& call) {
    Units units;
    call([&](Index count, auto&& f) {
        for (Index unit = 0; unit < count; ++unit) {
            const std::vector<float> before = x;
            f(unit, unit + 1);
            units.heads.emplace_back();
            for (std::size_t i = 0; i < x.size(); i += size(d))
                if (std::memcmp(&x[i], &before[i], size(d) * sizeof(float)) != 0)
                    units.heads.back().push_back(static_cast<Index>(i) / d);
        }
    });
    for (std::size_t i = 0; i < units.heads.size(); ++i) {
        const Index n = static_cast<Index>(units.heads[i].size());
        units.largest = std::max(units.largest, n);
        if (i + 1 == units.heads.size()) continue;
        units.smallest_but_last = i == 0 ? n : std::min(units.smallest_but_last, n);
    }
    return units;
}

}  // namespace

TEST_CASE("units make up the work, each head once: whole tokens where there are many, heads where there are few") {
    struct Case {
        Index batch, seq, heads, d;
        bool whole_tokens;
    };
    for (const Case c :
         {Case{1, 600, 4, 128, true}, Case{1, 70, 40, 128, true}, Case{2, 300, 9, 64, true}, Case{70, 1, 40, 128, true},
          Case{1, 1, 4096, 128, false}, Case{1, 3, 1000, 128, false}, Case{2, 10, 150, 100, false}}) {
        CAPTURE(c.batch, c.seq, c.heads, c.d);
        const Index heads = c.batch * c.seq * c.heads;
        const rope::CosSinCache<float> cache(config_of(c.d), c.seq + 1);
        const rope::LearnedEmbedding<float> embedding(std::vector<float>(size(c.seq * c.heads * c.d), 1.0f).data(),
                                                      c.seq, c.heads * c.d);
        for (const bool adds : {false, true}) {
            std::vector<float> x(size(heads * c.d), 1.0f);
            const auto v = rope::view(x.data(), c.batch, c.seq, c.heads, c.d);
            const Units units = units_of(x, c.d, [&](auto&& executor) {
                if (adds)
                    embedding.add(v, {}, executor);
                else
                    rope::apply<Layout::half_split>(v, cache, rope::start_at(1), executor);
            });
            std::vector<Index> seen(size(heads), 0);
            for (const auto& unit : units.heads)
                for (const Index head : unit) ++seen[size(head)];
            CHECK(std::count(seen.begin(), seen.end(), 1) == heads);
            CHECK(units.heads.size() >= 32);  // for many cores
            CHECK(units.smallest_but_last * c.d * 4 >= 16000);
            if (!c.whole_tokens) {
                CHECK(units.largest < c.heads);
                continue;
            }
            Index broken = 0;
            for (const auto& unit : units.heads)
                for (std::size_t i = 0; i < unit.size(); ++i)
                    if (unit.size() % size(c.heads) != 0 || unit[i] % c.heads != static_cast<Index>(i) % c.heads)
                        ++broken;
            CHECK(broken == 0);
        }
    }
}

TEST_CASE("where tokens are neighbours in memory, a unit is some tokens of all heads, and as much work") {
    const Index all = 1 << 17, d = 16;  // 64 bytes each
    const rope::CosSinCache<float> cache(config_of(d), 1);
    for (const Index heads : {1, 3, 40})
        for (const bool along_batch : {false, true})
            for (const Index row : {all, Index(5), Index(16), Index(17), Index(31), Index(33)}) {
                CAPTURE(heads, along_batch, row);
                const Index rows = all / row, tokens = rows * row;
                std::vector<float> x(size(tokens * heads * d), 1.0f);
                const std::vector<int> ids(size(tokens), 0);
                rope::TensorView<float> v = {x.data(), rows, row, heads, d, row, 1, tokens, tokens * heads};
                if (along_batch) {
                    std::swap(v.batch, v.seq);
                    std::swap(v.batch_stride, v.seq_stride);
                }
                support::with_job_in_place<Layout::half_split>(v, cache, rope::ids(ids.data(), tokens), [&](auto job) {
                    const Index in_unit = job.per_item, items = rope::detail::count_items(job.pieces, in_unit);
                    CHECK(items >= 32);
                    CHECK(tokens * heads * d * 4 / items >= 16000);
                    CHECK(in_unit % heads == 0);
                    // Rows of a few tokens are not cut, longer ones into pieces for vectors of eight.
                    const Index piece = row <= 16 ? row : row == 17 ? 9 : 16;
                    CHECK(in_unit / heads % piece == 0);
                });
            }
}
