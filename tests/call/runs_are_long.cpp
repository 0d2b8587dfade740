// SPDX-License-Identifier: MIT
// A call is cut into no more runs of tokens than its memory and its rows ask for: what is done once for each run would
// else be done once for each token. And it is turned by what is made for memory of its size.
#include <rope/compact_cos_sin_cache.hpp>
#include <rope/core.hpp>

#include <rope/detail/kernels/interface.hpp>

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

std::vector<Index> runs;    // the tokens of each
std::vector<Index> groups;  // the heads of each call of a kernel for several heads of a token

void note_run(const Run& run) noexcept { runs.push_back(run.tokens); }
void note_heads(const float*, float*, const float*, const float*, const rope::detail::HeadsShape&,
                Index heads) noexcept {
    groups.push_back(heads);
}
void no_rows(const rope::detail::Row<float>&, Index, float, float, float*, float*) noexcept {}

/// The runs of heads begin .. end - 1 of a job; end -1 is the last.
template <class Task>
std::vector<Index> runs_of(const rope::detail::Job<Task>& job, Index begin = 0, Index end = -1) {
    const rope::detail::RotateKernels<float, float, float> kernels = {&note_heads, &note_run, nullptr, &no_rows,
                                                                      nullptr};
    const Task& t = job.task;
    const auto& r = t.rotation;
    const Task task = {t.in,
                       t.out,
                       {kernels, r.source, r.cos_scale, r.sin_scale, r.heads_at_once, r.x_feature_stride,
                        r.y_feature_stride, r.before, r.after, r.copies, r.bypasses_caches},
                       t.pair,
                       t.pairs,
                       t.rotary_offset,
                       t.positions,
                       t.order};
    runs.clear();
    groups.clear();
    job.kernel(task, begin, end < 0 ? job.pieces : end);
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
    {
        constexpr Index heads = 1;
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

TEST_CASE("a cut call has no more runs than a whole one") {
    const rope::CosSinCache<float> table(config_of(128), 40000);
    for (const Index seq : {1000, 40000}) {  // in L2, and streaming
        const Call call = {1, seq, 1};
        CAPTURE(seq);
        CHECK(call.with(table) == Runs{seq});
        CHECK(call.with(table, {}, 83, 485) == Runs{402});
    }
}

TEST_CASE("heads of a token are rotated together, unless the call streams") {
    const rope::CosSinCache<float> table(config_of(128), 5000);
    for (const Index seq : {100, 1000}) {
        const Call call = {1, seq, 8};
        CHECK(call.with(table).empty());
        CHECK(groups == Runs(size(seq), 8));
        call.with(table, {}, 83, 485);
        CHECK(groups.front() == 5);
        CHECK(groups.back() == 5);
        CHECK(groups.size() == 51);
    }
    Call{1, 5000, 8}.with(table);
    CHECK(groups == Runs(size(5000 * 8), 1));
}

TEST_CASE("rows of two are one run within a coarse row") {
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
}

TEST_CASE("features that are not rotated are copied soon after their token was rotated") {
    const rope::CosSinCache<float> table(config_of(64, 32), 1000);
    std::vector<float> x(size(150 * 64)), y(x.size());
    const auto in = rope::view(x.data(), 150, 1, 64), out = rope::view(y.data(), 150, 1, 64);
    Runs found;
    support::with_job_out_of_place<Layout::half_split>(in, out, table, rope::start_at(0),
                                                       [&](const auto& job) { found = runs_of(job); });
    CHECK(found == Runs{64, 64, 22});  // 16 KiB
}
