// SPDX-License-Identifier: MIT
// A call is cut into no more runs of tokens than its memory and its rows ask for: what is done once for each run would
// else be done once for each token. And it is turned by what is made for memory of its size.
#include <rope/compact_cos_sin_cache.hpp>
#include <rope/core.hpp>

#include <cstddef>
#include <numeric>
#include <vector>

#include "support/catch.hpp"
#include "support/data.hpp"
#include "support/jobs.hpp"

using rope::Index;
using rope::Layout;
using support::size;

namespace {

using Run = rope::detail::TokenRun<float, float, float>;

std::vector<Index> runs;  // the tokens of each
Index heads_left;         // of the last one that has several heads to a token
Index tokens_asking;

void note_run(const Run& run) noexcept { runs.push_back(run.tokens); }
/// Heads of one token, whose shape is that of their run.
void note_heads(const float*, float*, const float*, const float*, const rope::detail::HeadsShape& shape,
                Index heads) noexcept {
    if (heads_left == 0) {
        const Run& run = *reinterpret_cast<const Run*>(reinterpret_cast<const char*>(&shape) - offsetof(Run, shape));
        runs.push_back(run.tokens);
        heads_left = run.tokens * run.heads;
    }
    heads_left -= heads;
}
void note_heads_asking(const float* x, float* y, const float* cos, const float* sin,
                       const rope::detail::HeadsShape& shape, Index heads) noexcept {
    ++tokens_asking;
    note_heads(x, y, cos, sin, shape, heads);
}
void no_rows(const rope::detail::Row<float>&, Index, float, float, float*, float*) noexcept {}

/// The runs of heads begin .. end - 1 of a job; end -1 is the last.
template <class Task>
std::vector<Index> runs_of(const rope::detail::Job<Task>& job, Index begin = 0, Index end = -1,
                           bool has_asking = true) {
    const rope::detail::RotateKernels<float, float, float> kernels = {
        &note_heads, has_asking ? &note_heads_asking : nullptr, &note_run, nullptr, &no_rows, nullptr};
    const Task& t = job.task;
    const Task task = {t.in,        t.out,       t.rows,   t.pairs, t.rotary_offset, t.positions,
                       t.cos_scale, t.sin_scale, t.layout, t.order, kernels};
    runs.clear();
    heads_left = tokens_asking = 0;
    job.kernel(task, begin, end < 0 ? job.heads : end);
    CHECK(heads_left == 0);
    return runs;
}
using Runs = std::vector<Index>;

rope::Config config_of(Index head_dim, Index rotary_dim = 0) {
    rope::Config config;
    config.head_dim = head_dim;
    config.rotary_dim = rotary_dim;
    return config;
}

/// The runs of a call on [batch, seq, heads, head_dim].
struct Call {
    Index batch, seq, heads;

    Runs with(const rope::CosSinRows<float>& table, rope::PositionsArgument&& positions = {}, Index begin = 0,
              Index end = -1) const {
        std::vector<float> x(size(batch * seq * heads * table.head_dim()));
        Runs found;
        support::with_job_in_place<Layout::half_split>(rope::view(x.data(), batch, seq, heads, table.head_dim()), table,
                                                       positions,
                                                       [&](const auto& job) { found = runs_of(job, begin, end); });
        return found;
    }
};

}  // namespace

TEST_CASE("tokens whose rows lie at equal steps are one run") {
    const rope::CosSinCache<float> table(config_of(16), 1000);
    std::vector<int> up(1000), down(1000), same(1000, 7);
    std::iota(up.begin(), up.end(), 0);
    std::iota(down.rbegin(), down.rend(), 0);
    for (const Index heads : {1, 3}) {
        CAPTURE(heads);
        CHECK(Call{1, 1000, heads}.with(table) == Runs{1000});
        CHECK(Call{1, 500, heads}.with(table, rope::start_at(300)) == Runs{500});
        CHECK(Call{1, 1000, heads}.with(table, up) == Runs{1000});
        CHECK(Call{1, 1000, heads}.with(table, down) == Runs{1000});
        CHECK(Call{1, 1000, heads}.with(table, same) == Runs{1000});
        CHECK(Call{1, 6, heads}.with(table, {5, 6, 7, 3, 5, 7}) == Runs{3, 3});
        CHECK(Call{2, 10, heads}.with(table, rope::start_at(std::vector<int>{3, 500})) == Runs{10, 10});
        CHECK(Call{64, 1, heads}.with(table, rope::start_at(9)) == Runs{64});
        CHECK(Call{4, 1, heads}.with(table, rope::start_at(std::vector<int>{3, 5, 7, 100})) == Runs{3, 1});
    }
}

TEST_CASE("a cut call has a run more for each token that is cut, and for what is before and after") {
    const rope::CosSinCache<float> table(config_of(128), 5000);
    for (const Index seq : {100, 1000, 5000}) {  // in L2, from L3, and streaming
        const Call call = {1, seq, 8};
        CAPTURE(seq);
        CHECK(call.with(table) == Runs{seq});
        CHECK(call.with(table, {}, 80, 480) == Runs{50});
        CHECK(call.with(table, {}, 83, 485) == Runs{1, 49, 1});
    }
}

TEST_CASE("what is larger than L2, and not much, is turned by the kernel that asks for memory, if there is one") {
    const rope::CosSinCache<float> table(config_of(128), 2100);
    const Index token = 8 * 128 * static_cast<Index>(sizeof(float));  // bytes
    const Index l2 = rope::detail::kMinPrefetchNearBytes / token, l3 = rope::detail::kMaxPrefetchNearBytes / token;
    std::vector<float> x(size((l3 + 2) * 8 * 128)), y(x.size());
    const auto in_place = [&](Index tokens, bool has_asking) {
        support::with_job_in_place<Layout::half_split>(rope::view(x.data(), 2, tokens / 2, 8, 128), table, {},
                                                       [&](const auto& job) { runs_of(job, 0, -1, has_asking); });
        return tokens_asking;
    };
    const auto elsewhere = [&](Index tokens) {
        support::with_job_out_of_place<Layout::half_split>(rope::view(x.data(), 2, tokens / 2, 8, 128),
                                                           rope::view(y.data(), 2, tokens / 2, 8, 128), table, {},
                                                           [&](const auto& job) { runs_of(job); });
        return tokens_asking;
    };
    for (const Index tokens : {l2 + 2, l2 + 100, l3}) {
        CAPTURE(tokens);
        CHECK(in_place(tokens, true) == tokens);
        CHECK(in_place(tokens, false) == 0);
    }
    CHECK(in_place(l2, true) == 0);
    CHECK(in_place(2, true) == 0);
    CHECK(in_place(l3 + 2, true) == 0);
    // As much memory is touched by half as much.
    CHECK(elsewhere(l2 / 2) == 0);
    CHECK(elsewhere(l2 / 2 + 2) == l2 / 2 + 2);
    CHECK(elsewhere(l3 / 2) == l3 / 2);
    CHECK(elsewhere(l3 / 2 + 2) == 0);
    // Heads that do not follow one another, and heads with more than what turns.
    const auto asking_in = [&](const auto& view, const rope::CosSinCache<float>& by) {
        support::with_job_in_place<Layout::half_split>(view, by, {}, [&](const auto& job) { runs_of(job); });
        return tokens_asking;
    };
    CHECK(asking_in(rope::view(x.data(), l3, 8, 128), table) == l3);
    CHECK(asking_in(rope::view_heads_first(x.data(), 1, 8, l3, 128), table) == 0);
    CHECK(asking_in(rope::view(x.data(), l3, 4, 256), rope::CosSinCache<float>(config_of(256, 128), 2100)) == 0);
}

TEST_CASE("rows of two are one run within a coarse row, or as many as are written at once") {
    const rope::CompactCosSinCache<float> table(config_of(16), 1000);
    const Index block = Index(1) << rope::detail::RowsAccess::source(table).fine_bits;
    REQUIRE((block > 4 && block < 500));
    std::vector<int> up(1000), down(1000);
    std::iota(up.begin(), up.end(), 0);
    std::iota(down.rbegin(), down.rend(), 0);
    Runs whole(size(1000 / block), block), backwards = whole;
    if (1000 % block != 0) {
        whole.push_back(1000 % block);
        backwards.insert(backwards.begin(), 1000 % block);
    }
    CHECK(Call{1, 1000, 1}.with(table) == whole);
    CHECK(Call{1, 1000, 1}.with(table, up) == whole);
    CHECK(Call{1, 1000, 1}.with(table, down) == backwards);
    CHECK(Call{1, 1000, 3}.with(table) == Runs{128, 128, 128, 128, 128, 128, 128, 104});  // 1024 pairs at once
}

TEST_CASE("what passes by is copied soon after its token was turned") {
    const rope::CosSinCache<float> table(config_of(64, 32), 1000);
    for (const Index heads : {1, 4, 100}) {
        std::vector<float> x(size(50 * heads * 64)), y(x.size());
        const auto in = rope::view(x.data(), 50, heads, 64), out = rope::view(y.data(), 50, heads, 64);
        Runs found;
        support::with_job_out_of_place<Layout::half_split>(in, out, table, rope::start_at(0),
                                                           [&](const auto& job) { found = runs_of(job); });
        const Index most = heads == 1 ? 50 : heads == 4 ? 16 : 1;  // 16 KiB
        CAPTURE(heads);
        CHECK(std::accumulate(found.begin(), found.end(), Index(0)) == 50);
        CHECK(found.front() == most);
    }
}
