// SPDX-License-Identifier: MIT
// Whatever is done with a compact table, of whatever type, layout, order of memory and positions, in every instruction
// set, has the bits that a plain table of its joined rows gives, and so the error that the header states; and no number
// beside its two kinds of rows is read.
#include <rope/compact_cos_sin_cache.hpp>
#include <rope/core.hpp>

#include <rapidcheck.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <random>
#include <type_traits>
#include <vector>

#include "support/catch.hpp"
#include "support/data.hpp"
#include "support/exact/compact.hpp"
#include "support/exact/oracle.hpp"
#include "support/guarded.hpp"
#include "support/isas.hpp"
#include "support/jobs.hpp"
#include "support/strided.hpp"

using rope::CompactCosSinCache;
using rope::Config;
using rope::CosSinCache;
using rope::Index;
using rope::Layout;
using support::Expanded;
using support::Operation;
using support::size;

namespace {

Config config_of(Index head_dim, double base = 1e4, double m = 1.0) {
    Config config;
    config.head_dim = head_dim;
    config.base = base;
    config.attention_factor = m;
    return config;
}

template <class T, class X>
void call(Operation operation, Layout layout, const rope::TensorView<X>& x, const rope::CosSinRows<T>& rows,
          const rope::Positions& positions) {
    switch (operation) {
        case Operation::apply: return rope::apply(layout, x, rows, positions);
        case Operation::inverse: return rope::apply_inverse(layout, x, rows, positions);
        case Operation::transpose: return rope::apply_transpose(layout, x, rows, positions);
    }
}
template <class T, class X, class Y>
void call_copy(Operation operation, Layout layout, const rope::TensorView<X>& in, const rope::TensorView<Y>& out,
               const rope::CosSinRows<T>& rows, const rope::Positions& positions) {
    switch (operation) {
        case Operation::apply: return rope::apply_copy(layout, in, out, rows, positions);
        case Operation::inverse: return rope::apply_inverse_copy(layout, in, out, rows, positions);
        case Operation::transpose: return rope::apply_transpose_copy(layout, in, out, rows, positions);
    }
}

constexpr Operation kOperations[] = {Operation::apply, Operation::inverse, Operation::transpose};
constexpr Layout kLayouts[] = {Layout::interleaved, Layout::half_split};

/// One call of each kind with the compact table and with the plain one of its rows.
template <class In, class Out, class T>
bool has_bits_of_plain_table(const CompactCosSinCache<T>& table, const Expanded<T>& plain, Operation operation,
                             Layout layout, std::array<Index, 3> extents, const support::MemoryOrder& order,
                             const rope::Positions& positions, unsigned seed) {
    const std::array<Index, 4> all = {extents[0], extents[1], extents[2], table.head_dim()};
    const std::vector<In> x = support::normal<In>(all[0] * all[1] * all[2] * all[3], seed);
    support::StridedTensor<In> in(all, order), same(all, order);
    support::StridedTensor<Out> out(all, order), want(all, order);
    in.set(x);
    same.set(x);
    call_copy(operation, layout, in.view(), out.view(), table, positions);
    call_copy(operation, layout, in.view(), want.view(), plain, positions);
    bool ok = support::same_bits(out.elements(), want.elements()) && support::same_bits(in.elements(), x) &&
              out.fence_is_intact();
    if constexpr (std::is_same_v<In, Out>) {
        call(operation, layout, in.view(), table, positions);
        call(operation, layout, same.view(), plain, positions);
        ok = ok && support::same_bits(in.elements(), same.elements()) && in.fence_is_intact();
    }
    return ok;
}

}  // namespace

TEMPLATE_TEST_CASE("every call has the bits of a plain table of the joined rows", "", float, double, rope::half,
                   rope::bfloat16) {
    using T = support::TableOf<TestType>;
    struct Slice {
        Index head_dim, rotary_dim, rotary_offset;
    };
    std::vector<support::MemoryOrder> orders = support::memory_orders();
    unsigned round = 0;
    for (const Slice s : {Slice{2, 2, 0}, Slice{6, 6, 0}, Slice{23, 14, 5}, Slice{64, 64, 0}, Slice{74, 66, 8},
                          Slice{96, 48, 0}, Slice{138, 130, 3}})
        for (const double m : {1.0, 1.25}) {
            Config config = config_of(s.head_dim, 100.0, m);
            config.rotary_dim = s.rotary_dim;
            config.rotary_offset = s.rotary_offset;
            const CompactCosSinCache<T> table(config, 700, -90);
            support::for_each_isa([&](const char* isa) {
                const Expanded<T> plain(table, rope::detail::active_isa_has_fma());
                for (std::size_t i = round % 3; i < orders.size(); i += 3) {
                    ++round;
                    std::mt19937_64 random(round);
                    const Index heads = random() % 3 == 0 ? 1 : 1 + round / 2 % 19;
                    const std::array<Index, 3> extents = {1 + round % 3, 1 + round % 37, heads};
                    std::vector<int> ids(size(extents[0] * extents[1]));
                    for (int& id : ids) id = static_cast<int>(random() % 700) - 90;
                    const std::vector<Index> starts = {560, -90, 3};
                    const rope::Positions positions =
                        round % 4 == 0 ? rope::start_at(-90 + Index(random() % 600))
                        : round % 4 == 1
                            ? rope::Positions(rope::Positions::Kind::start_per_entry, starts.data(), extents[0], 1)
                        : round % 4 == 2 ? rope::ids(ids.data(), extents[1])
                                         : rope::ids(ids.data(), extents[0] * extents[1]);
                    const Operation operation = kOperations[round % 3];
                    const Layout layout = kLayouts[round / 3 % 2];
                    CAPTURE(isa, s.head_dim, m, i, round);
                    REQUIRE(has_bits_of_plain_table<TestType, TestType>(table, plain, operation, layout, extents,
                                                                        orders[i], positions, round));
                    if constexpr (std::is_same_v<TestType, float>) {
                        REQUIRE(has_bits_of_plain_table<float, rope::bfloat16>(table, plain, operation, layout, extents,
                                                                               orders[i], positions, round));
                        REQUIRE(has_bits_of_plain_table<rope::half, float>(table, plain, operation, layout, extents,
                                                                           orders[i], positions, round));
                    }
                }
            });
        }
}

TEST_CASE("any call has the bits of a plain table of the joined rows") {
    const std::vector<support::MemoryOrder> orders = support::memory_orders();
    const auto from = [](Index low, Index high) { return *rc::gen::inRange<Index>(low, high + 1); };
    const bool ok = rc::check("any extents, order, table and start", [&] {
        const Index pairs = from(1, 70), count = from(1, 3000), first = from(-4000, 4000);
        const Index before = from(0, 3), head_dim = before + 2 * pairs + from(0, 3);
        rope::Frequencies f = rope::frequencies(config_of(2 * pairs, 1000.0));
        f.attention_factor = from(0, 1) == 0 ? 1.0 : 1.7;
        const CompactCosSinCache<float> table(f, count, {head_dim, before}, first);
        const rope::IsaNames isas = rope::available_isas();
        const char* const isa = isas[from(0, isas.size() - 1)];
        const support::ForcedIsa forced(isa);
        const Expanded<float> plain(table, rope::detail::active_isa_has_fma());
        const Index seq = from(1, std::min<Index>(count, 50)), start = from(first, first + count - seq);
        RC_ASSERT((has_bits_of_plain_table<float, float>(
            table, plain, *rc::gen::elementOf(std::vector<Operation>(std::begin(kOperations), std::end(kOperations))),
            *rc::gen::elementOf(std::vector<Layout>(std::begin(kLayouts), std::end(kLayouts))),
            {from(1, 3), seq, from(1, 20)}, *rc::gen::elementOf(orders), rope::start_at(start), 1)));
    });
    CHECK(ok);
}

TEMPLATE_TEST_CASE("calls that stream, and calls that are cut anywhere", "", float, double, rope::half,
                   rope::bfloat16) {
    using T = support::TableOf<TestType>;
    const CompactCosSinCache<T> table(config_of(72), 5000);
    std::mt19937_64 random(11);
    for (const Index heads : {1, 2, 5})
        support::for_each_isa([&](const char* isa) {
            const Expanded<T> plain(table, rope::detail::active_isa_has_fma());
            const Index seq = 1100;
            const std::vector<TestType> x = support::normal<TestType>(seq * heads * 72, 1);
            for (const Layout layout : kLayouts) {
                CAPTURE(isa, heads, layout);
                std::vector<TestType> want = x, got = x, cut = x;
                const rope::Positions at = rope::start_at(3900);
                rope::apply(layout, rope::view(want.data(), seq, heads, 72), plain, at);
                const auto run = [&](auto job) {
                    job.task.rotation.heads_at_once = 4;
                    support::run_in_pieces(job, 9, random);
                };
                const auto y = rope::view(cut.data(), seq, heads, 72);
                if (layout == Layout::interleaved)
                    support::with_job_in_place<Layout::interleaved>(y, table, at, run);
                else
                    support::with_job_in_place<Layout::half_split>(y, table, at, run);
                REQUIRE(support::same_bits(cut, want));
                rope::apply(layout, rope::view(got.data(), seq, heads, 72), table, at, [](Index count, auto&& f) {
                    for (Index i = count; i-- > 0;) f(i, i + 1);
                });
                REQUIRE(support::same_bits(got, want));
            }
        });
}

TEMPLATE_TEST_CASE("results are within their bound of the real rotation", "", float, double, rope::half,
                   rope::bfloat16) {
    using T = support::TableOf<TestType>;
    const std::vector<Index> positions = {0, 1, 31, 32, 33, 4095, 1000, -1, -512, -700};
    const Index seq = static_cast<Index>(positions.size()), heads = 3, d = 44;
    double worst = 0.0;
    for (const double m : {1.0, 0.5, 1.25})
        for (const Layout layout : kLayouts)
            for (const Operation operation : kOperations) {
                rope::Frequencies f = rope::frequencies(config_of(40));
                f.attention_factor = m;
                const CompactCosSinCache<T> table(f, 5000, {d, 4}, -700);
                const std::vector<TestType> before = support::normal<TestType>(seq * heads * d, 8);
                support::for_each_class_of_bits([&](const char*) {
                    std::vector<TestType> x = before;
                    call(operation, layout, rope::view(x.data(), seq, heads, d), table, positions);
                    const double entry = support::most_error(m) * support::kCompactUnit<T> *
                                         (operation == Operation::inverse ? 1.0 / m : m);
                    for (Index s = 0; s < seq * heads; ++s) {
                        const auto read = [&](Index j) { return support::to_double(before[size(s * d + j)]); };
                        for (Index j = 0; j < d; ++j) {
                            const support::Expected e = support::expected<TestType>(
                                read, j, layout, f, {d, 4}, positions[size(s / heads)], operation);
                            const Index at = j - 4;
                            const Index partner = layout == Layout::interleaved ? (at ^ 1) : (at + 20) % 40;
                            const double more =
                                at < 0 ? 0.0
                                       : entry * (1 + 0x1p-7) * (std::fabs(read(j)) + std::fabs(read(4 + partner)));
                            const double error = std::fabs(support::to_double(x[size(s * d + j)]) - e.value);
                            const double ratio = error / (e.bound + more + 0x1p-1074);
                            if (!(ratio <= worst)) worst = ratio;
                        }
                    }
                });
            }
    std::printf("largest error of a result over its bound: %.3f\n", worst);
    CHECK(worst <= 1.0);
}

TEST_CASE("q and k in one call, of a compact and of a full table") {
    const CompactCosSinCache<float> compact(config_of(16), 4000);
    const CosSinCache<float> full(config_of(16), 4000);
    const std::vector<float> before = support::normal<float>(33 * 4 * 16, 2);
    std::vector<float> q = before, k = before, q_alone = before, k_alone = before;
    const auto view = [](std::vector<float>& x) { return rope::view(x.data(), 33, 4, 16); };
    rope::apply<Layout::half_split>(view(q), view(k), compact, full, rope::start_at(3000));
    rope::apply<Layout::half_split>(view(q_alone), compact, rope::start_at(3000));
    rope::apply<Layout::half_split>(view(k_alone), full, rope::start_at(3000));
    CHECK(support::same_bits(q, q_alone));
    CHECK(support::same_bits(k, k_alone));
    std::vector<float> q_both = before, k_both = before;
    rope::apply<Layout::half_split>(view(q_both), view(k_both), compact, rope::start_at(3000));
    CHECK(support::same_bits(q_both, q));
    CHECK(support::same_bits(k_both, q));
    rope::apply_inverse<Layout::half_split>(view(q), view(k), compact, full, rope::start_at(3000));
    for (std::size_t i = 0; i < q.size(); ++i) {
        REQUIRE(std::fabs(q[i] - before[i]) <= 4e-6f);
        REQUIRE(std::fabs(k[i] - before[i]) <= 4e-6f);
    }
}

// ---- Memory ----

TEMPLATE_TEST_CASE("nothing beside the two kinds of rows is read", "", float, double, rope::half, rope::bfloat16) {
    using T = support::TableOf<TestType>;
    constexpr Index count = 150, seq = 37;
    support::GuardedMemory coarse_memory(1 << 16), fine_memory(1 << 16), x_memory(1 << 18);
    for (const Index pairs : {1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 32, 33, 40, 65}) {
        const Index d = 2 * pairs;
        const CompactCosSinCache<T> table(config_of(d), count);
        const rope::detail::RowSource<T>& rows = rope::detail::RowsAccess::source(table);
        const Index fine_rows = Index(1) << rows.fine_bits, coarse_rows = (count - 1) / fine_rows + 1;
        const std::vector<TestType> x = support::normal<TestType>(2 * seq * d, 6);
        // One head and two, tokens that are neighbours, and heads that are: each with the last and the first position.
        for (int way = 0; way < 4; ++way)
            for (const support::Guard guard : {support::Guard::before, support::Guard::after})
                for (const Index start : {Index(0), count - seq})
                    support::for_each_isa([&](const char* isa) {
                        CAPTURE(isa, pairs, way, start, guard == support::Guard::after);
                        const auto view = [&](TestType* p) {
                            return way == 0   ? rope::view(p, seq, 1, d)
                                   : way == 1 ? rope::view(p, seq, 2, d)
                                   : way == 2 ? rope::TensorView<TestType>{p, 1, seq, 1, d, 0, 1, 0, seq}
                                              : rope::TensorView<TestType>{p, 1, 1, seq, d, 0, 0, 1, seq};
                        };
                        const auto has_bits = [&](auto layout) {
                            std::vector<TestType> want(x.begin(), x.begin() + (way == 1 ? 2 : 1) * seq * d);
                            const auto in = view(x_memory.put(want, guard));
                            const rope::Positions positions = rope::start_at(start);
                            rope::apply<layout.value>(view(want.data()), table, positions);
                            support::with_job_in_place<layout.value>(in, table, positions, [&](auto job) {
                                auto& source = job.task.rotation.source;
                                source.cos = coarse_memory.put(rows.cos, size(coarse_rows * d), guard);
                                source.sin = source.cos + pairs;
                                source.fine = fine_memory.put(rows.fine, size(fine_rows * d), guard);
                                job.kernel(job.task, 0, job.pieces);
                            });
                            return std::memcmp(in.data, want.data(), want.size() * sizeof(TestType)) == 0;
                        };
                        REQUIRE(has_bits(std::integral_constant<Layout, Layout::half_split>()));
                        REQUIRE(has_bits(std::integral_constant<Layout, Layout::interleaved>()));
                    });
    }
}
