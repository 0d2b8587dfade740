// SPDX-License-Identifier: MIT
// Nothing before or after a tensor, a table or a list of positions is read: each lies at a page that may not be
// touched, with its end and then with its beginning, for every set, type, layout and number of pairs. Nothing between
// the elements of a tensor is written: every byte of its buffer that is no element keeps its value.
#include <rope/rope.hpp>

#include <rope/detail/kernels/add.hpp>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <vector>

#include "support/catch.hpp"
#include "support/data.hpp"
#include "support/exact/exact.hpp"
#include "support/guarded.hpp"
#include "support/isas.hpp"
#include "support/jobs.hpp"

using rope::bfloat16;
using rope::half;
using rope::Index;
using rope::Layout;
using support::Guard;
using support::GuardedMemory;
using support::Operation;
using support::size;

namespace {

constexpr Guard kGuards[] = {Guard::before, Guard::after};
constexpr Layout kLayouts[] = {Layout::interleaved, Layout::half_split};
constexpr Index kMaxPairs = 4 * 16 + 3;  // 16: floats in the widest vector of any set

template <class T>
rope::CosSinCache<T> cache_of(Index pairs, Index before, Index after) {
    rope::Config config;
    config.head_dim = before + 2 * pairs + after;
    config.rotary_dim = 2 * pairs;
    config.rotary_offset = before;
    config.attention_factor = 1.25;
    return rope::CosSinCache<T>(config, 20);
}

/// How a [2, 3, heads, d] tensor lies: strides, and the offset of element (0, 0, 0, 0).
struct Place {
    const char* name;
    Index batch, seq, head, feature, offset;
};
constexpr Index kBatch = 2, kSeq = 3;
std::vector<Place> places(Index heads, Index d) {
    const Index n = kBatch * kSeq * heads * d;
    return {{"contiguous", kSeq * heads * d, heads * d, d, 1, 0},
            {"heads first", heads * kSeq * d, d, kSeq * d, 1, 0},
            {"tokens are neighbours", heads * d * kSeq, 1, d * kSeq, kSeq, 0},
            {"heads are neighbours", kSeq * d * heads, d * heads, 1, heads, 0},
            {"batch entries are neighbours", 1, kBatch * heads * d, kBatch * d, kBatch, 0},
            {"backwards", -kSeq * heads * d, -heads * d, -d, -1, n - 1},
            {"heads backwards", kSeq * heads * d, heads * d, -d, 1, (heads - 1) * d},
            {"tokens are neighbours, backwards", heads * d * kSeq, -1, d * kSeq, kSeq, kSeq - 1}};
}
template <class T>
rope::TensorView<T> view_at(T* data, const Place& p, Index heads, Index d) {
    return {data + p.offset, kBatch, kSeq, heads, d, p.batch, p.seq, p.head, p.feature};
}

/// Calls with every operand at a guard. What they compute is compared with calls on ordinary memory.
template <class In, class Out, class T = support::TableOf<In>>
void check_guards() {
    const std::size_t room = size(kBatch * kSeq * 3 * (2 * kMaxPairs + 12)) * sizeof(T);
    GuardedMemory x_memory(room), y_memory(room), k_memory(room), id_memory(4096), table_memory(1 << 16);
    const std::vector<std::int16_t> ids = {5, 0, 19, 7, 7, 1};
    unsigned round = 0;
    for (Index pairs = 1; pairs <= kMaxPairs; ++pairs) {
        const Index before = round % 3 == 1 ? 5 : 0, after = round % 4 > 1 ? 6 : 0, heads = 1 + round % 3;
        ++round;
        const rope::CosSinCache<T> cache = cache_of<T>(pairs, before, after);
        const std::vector<T> table(cache.data(), cache.data() + 20 * 2 * pairs);
        const Index d = cache.head_dim();
        const std::vector<In> x = support::normal<In>(kBatch * kSeq * heads * d, round);
        const std::vector<Out> blank(x.size());
        for (const Guard guard : kGuards) {
            const rope::Positions positions(rope::Positions::Kind::ids, id_memory.put(ids, guard), 6, 1);
            for (const Place& place : places(heads, d))
                support::for_each_isa([&](const char* isa) {
                    for (const Layout layout : kLayouts) {
                        CAPTURE(isa, pairs, heads, before, after, layout, place.name, guard == Guard::after);
                        std::vector<In> a = x, b = x;
                        std::vector<Out> want = blank;
                        const auto v = [&](auto* p) { return view_at(p, place, heads, d); };
                        rope::apply_copy(layout, v(a.data()), v(want.data()), cache, ids);
                        In* const in = x_memory.put(x, guard);
                        Out* const out = y_memory.put(blank, guard);
                        rope::apply_copy(layout, v(in), v(out), cache, positions);
                        REQUIRE(std::memcmp(out, want.data(), want.size() * sizeof(Out)) == 0);
                        REQUIRE(std::memcmp(in, x.data(), x.size() * sizeof(In)) == 0);

                        // The table as well: a job of which the table is elsewhere.
                        const auto run = [&](auto job) {
                            job.task.rotation.source.cos = table_memory.put(table, guard);
                            job.task.rotation.source.sin = job.task.rotation.source.cos + pairs;
                            job.kernel(job.task, 0, job.pieces);
                        };
                        y_memory.put(blank, guard);
                        if (layout == Layout::interleaved)
                            support::with_job_out_of_place<Layout::interleaved>(v(in), v(out), cache, positions, run);
                        else
                            support::with_job_out_of_place<Layout::half_split>(v(in), v(out), cache, positions, run);
                        REQUIRE(std::memcmp(out, want.data(), want.size() * sizeof(Out)) == 0);

                        if constexpr (std::is_same_v<In, Out>) {
                            In* const k = k_memory.put(x, guard);
                            rope::apply(layout, v(a.data()), v(b.data()), cache, ids);
                            rope::apply(layout, v(in), v(k), cache, positions);
                            REQUIRE(std::memcmp(in, a.data(), a.size() * sizeof(In)) == 0);
                            REQUIRE(std::memcmp(k, a.data(), a.size() * sizeof(In)) == 0);
                            REQUIRE(support::same_bits(a, b));
                        }
                    }
                });
        }
    }
}

}  // namespace

TEMPLATE_TEST_CASE("rotations, one type", "", float, double, half, bfloat16) { check_guards<TestType, TestType>(); }

TEST_CASE("rotations, from one type to another") {
    SECTION("float to half") { check_guards<float, half>(); }
    SECTION("float to bfloat16") { check_guards<float, bfloat16>(); }
    SECTION("half to float") { check_guards<half, float>(); }
    SECTION("bfloat16 to half") { check_guards<bfloat16, half>(); }
}

TEMPLATE_TEST_CASE("many neighbours, and heads that stream", "", float, double, half, bfloat16) {
    using T = support::TableOf<TestType>;
    constexpr Index kMost = rope::detail::kLanes + 3;
    GuardedMemory memory(size(2 * kMost * 16) * sizeof(T));
    for (Index count = 1; count <= kMost; ++count)
        for (const Index pairs : {1, 3, 8}) {
            const Index d = 2 * pairs;
            const rope::CosSinCache<T> cache = [&] {
                rope::Config config;
                config.head_dim = d;
                return rope::CosSinCache<T>(config, kMost);
            }();
            const std::vector<TestType> x = support::normal<TestType>(2 * count * d, static_cast<unsigned>(count));
            for (int way = 0; way < 5; ++way)
                for (const Guard guard : kGuards)
                    support::for_each_isa([&](const char* isa) {
                        CAPTURE(isa, count, pairs, way, guard == Guard::after);
                        const auto view_of = [&](TestType* p) {
                            using View = rope::TensorView<TestType>;
                            return way == 0   ? View{p, 1, count, 2, d, 0, 1, d * count, count}
                                   : way == 1 ? View{p, 1, count, 2, d, 0, 1, count, 2 * count}
                                   : way == 2 ? View{p, 1, 2, count, d, 0, d * count, 1, count}
                                   : way == 3 ? View{p, count, 1, 2, d, 1, 0, d * count, count}
                                              : rope::view(p, 2, count, d);
                        };
                        std::vector<TestType> want = x;
                        rope::apply<Layout::half_split>(view_of(want.data()), cache);
                        TestType* const in = memory.put(x, guard);
                        support::with_job_in_place<Layout::half_split>(view_of(in), cache, {}, [&](auto job) {
                            job.task.order.heads_at_once = 4;
                            job.kernel(job.task, 0, job.pieces);
                        });
                        REQUIRE(std::memcmp(in, want.data(), want.size() * sizeof(TestType)) == 0);
                    });
        }
}

TEMPLATE_TEST_CASE("additions", "", float, double, half, bfloat16) {
    using T = support::TableOf<TestType>;
    const Index longest = 2 * kMaxPairs;
    const std::size_t room = size(kBatch * kSeq * longest) * sizeof(T);
    GuardedMemory memory(room), id_memory(4096), table_memory(1 << 16);
    const std::vector<std::uint32_t> ids = {5, 0, 19, 7, 7, 1};
    for (Index d_model = 1; d_model <= longest; ++d_model) {
        const Index heads = d_model % 3 == 0 ? 3 : 1, d = d_model / heads;
        const std::vector<T> weights = support::normal<T>(20 * d_model, 1);
        const rope::LearnedEmbedding<T> embedding(weights.data(), 20, d_model);
        const std::vector<TestType> x =
            support::normal<TestType>(kBatch * kSeq * d_model, static_cast<unsigned>(d_model));
        for (const Guard guard : kGuards) {
            const rope::Positions positions(rope::Positions::Kind::ids, id_memory.put(ids, guard), 6, 1);
            for (const Place& place : places(heads, d))
                support::for_each_isa([&](const char* isa) {
                    CAPTURE(isa, d_model, heads, place.name, guard == Guard::after);
                    std::vector<TestType> want = x;
                    for (Index token = 0; token < kBatch * kSeq; ++token)
                        for (Index i = 0; i < d_model; ++i) {
                            TestType& e =
                                view_at(want.data(), place, heads, d)(token / kSeq, token % kSeq, i / d, i % d);
                            support::stored(e,
                                            support::rounded_sum(support::loaded<T>(e),
                                                                 weights[ids[size(token)] * size(d_model) + size(i)]));
                        }
                    TestType* const p = memory.put(x, guard);
                    embedding.add(view_at(p, place, heads, d), positions);
                    REQUIRE(std::memcmp(p, want.data(), want.size() * sizeof(TestType)) == 0);

                    memory.put(x, guard);
                    const rope::detail::AnyView v = rope::detail::erased("x", view_at(p, place, heads, d));
                    const rope::detail::AddTask<TestType, T> task = {v, table_memory.put(weights, guard), positions,
                                                                     rope::detail::LoopOrder()};
                    rope::detail::add_kernel<TestType, T>(rope::detail::isa_id(isa))(task, 0, kBatch * kSeq * heads);
                    REQUIRE(std::memcmp(p, want.data(), want.size() * sizeof(TestType)) == 0);
                });
        }
    }
}

TEMPLATE_TEST_CASE("what lies between the elements is not written", "", float, double, half, bfloat16) {
    // Two buffers with different bytes outside the view: a byte that is written with anything but its own value shows
    // in one of them at least.
    const Index heads = 2, seq = 3;
    for (Index pairs = 1; pairs <= kMaxPairs; ++pairs)
        for (const Index before : {0, 3}) {
            const auto cache = cache_of<support::TableOf<TestType>>(pairs, before, pairs % 2 == 0 ? 0 : 3);
            const Index d = cache.head_dim(), gap = 1 + pairs % 7;
            const Index head_stride = d + gap, token_stride = heads * head_stride + gap;
            const Index total = gap + seq * token_stride;
            const std::vector<TestType> x = support::normal<TestType>(total, 4);
            support::for_each_isa([&](const char* isa) {
                for (const Layout layout : kLayouts)
                    for (const double canary : {3.0, -5.0}) {
                        std::vector<TestType> y(size(total), support::from_double<TestType>(canary)), z = y, want = y;
                        const auto view = [&](std::vector<TestType>& list) {
                            return rope::TensorView<TestType>{list.data() + gap, 1,           seq, heads, d, 0,
                                                              token_stride,      head_stride, 1};
                        };
                        std::vector<TestType> in = x;
                        for (Index s = 0; s < seq; ++s)
                            for (Index h = 0; h < heads; ++h)
                                for (Index j = 0; j < d; ++j) view(z)(0, s, h, j) = view(in)(0, s, h, j);
                        support::turn_exactly(rope::detail::active_isa_has_fma(), Operation::apply, layout, view(in),
                                              view(want), cache, rope::start_at(2));
                        rope::apply_copy(layout, view(in), view(y), cache, rope::start_at(2));
                        rope::apply(layout, view(z), cache, rope::start_at(2));
                        CAPTURE(isa, pairs, before, layout, gap);
                        REQUIRE(support::same_bits(y, want));
                        REQUIRE(support::same_bits(z, want));
                        REQUIRE(support::same_bits(in, x));
                    }
            });
        }
}
