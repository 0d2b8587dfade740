// SPDX-License-Identifier: MIT
// Tensors whose features are no neighbours (column-major buffers, where tokens or heads are, and others where nothing
// is), and tensors that are too large for the caches, are visited in ways of their own; their results have the same
// bits all the same, and what lies between their elements is left alone.
#include <rope/core.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <random>
#include <type_traits>
#include <vector>

#include "support/catch.hpp"
#include "support/data.hpp"
#include "support/exact/exact.hpp"
#include "support/isas.hpp"
#include "support/jobs.hpp"
#include "support/strided.hpp"

using rope::bfloat16;
using rope::half;
using rope::Index;
using rope::Layout;
using support::first_difference;
using support::MemoryOrder;
using support::Operation;
using support::size;
using support::StridedTensor;

namespace {

constexpr int kBatch = 0, kSeq = 1, kHead = 2, kFeature = 3;

/// Orders of the axes, the innermost last.
std::vector<MemoryOrder> telling_orders() {
    std::vector<MemoryOrder> list;
    for (const std::array<int, 4> axes : {std::array<int, 4>{kBatch, kHead, kFeature, kSeq},  // tokens are neighbours
                                          {kFeature, kHead, kBatch, kSeq},
                                          {kHead, kBatch, kFeature, kSeq},
                                          {kBatch, kSeq, kFeature, kHead},  // heads are neighbours
                                          {kFeature, kSeq, kBatch, kHead},
                                          {kFeature, kSeq, kHead, kBatch},  // batch entries are neighbours
                                          {kFeature, kHead, kSeq, kBatch},  // as Eigen's own tensors
                                          {kBatch, kFeature, kHead, kSeq},  // the tokens of all heads are neighbours
                                          {kSeq, kBatch, kHead, kFeature}}) {
        MemoryOrder order;
        order.outer_to_inner = axes;
        list.push_back(order);
        order.gap = 3;
        list.push_back(order);
        order.backwards = {true, false, true, true};
        list.push_back(order);
        order.backwards = {false, true, false, false};
        list.push_back(order);
        order.backwards = {};
        order.inner_stride = 2;
        list.push_back(order);
    }
    return list;
}

rope::Config config_of(Index pairs, Index before, Index after) {
    rope::Config config;
    config.head_dim = before + 2 * pairs + after;
    config.rotary_dim = 2 * pairs;
    config.rotary_offset = before;
    config.base = 100.0;
    config.attention_factor = 1.25;
    return config;
}

template <class T>
rope::TensorView<T> contiguous(std::vector<T>& x, const std::array<Index, 4>& e) {
    return rope::view(x.data(), e[0], e[1], e[2], e[3]);
}

template <class In, class Out>
void check_strides() {
    using T = support::TableOf<In>;
    constexpr Index pairs_of[] = {1, 2, 3, 5, 9, 33, 40};  // tiles have 32
    const std::vector<MemoryOrder> orders = telling_orders();
    std::mt19937_64 engine(7);
    unsigned round = 0;
    for (Index seq = 1; seq <= 40; ++seq) {
        const Index pairs = pairs_of[seq % 7];
        const rope::CosSinCache<T> cache(config_of(pairs, seq % 3 == 0 ? 0 : 3, seq % 2 == 0 ? 0 : 5), 60);
        const Index batch = 1 + seq % 3, heads = 1 + seq / 2 % 5, d = cache.head_dim();
        const std::array<Index, 4> extents = {batch, seq, heads, d};
        const std::vector<Index> starts = {19, 0, 7};
        const rope::Positions positions =
            rope::Positions(rope::Positions::Kind::start_per_entry, starts.data(), batch, 1);

        for (const Layout layout : {Layout::interleaved, Layout::half_split}) {
            std::vector<In> x(size(batch * seq * heads * d));
            support::fill_with_telling_numbers(contiguous(x, extents), layout, cache, positions, ++round);
            const Operation operation = round % 5 == 0 ? Operation::inverse : Operation::apply;
            std::vector<Out> expected[2] = {std::vector<Out>(x.size()), std::vector<Out>(x.size())};
            for (const bool fma : {false, true})
                support::turn_exactly(fma, operation, layout, contiguous(x, extents),
                                      contiguous(expected[fma], extents), cache, positions);
            support::for_each_isa([&](const char* isa) {
                const std::vector<Out>& want = expected[rope::detail::active_isa_has_fma()];
                for (std::size_t i = round % 3; i < orders.size(); i += 3) {
                    const MemoryOrder& order = orders[i];
                    CAPTURE(isa, seq, batch, heads, pairs, layout, i);
                    StridedTensor<In> in(extents, order);
                    StridedTensor<Out> out(extents, order), plain(extents, MemoryOrder());
                    in.set(x);
                    support::turn_copy(operation, layout, in.view(), out.view(), cache, positions);
                    REQUIRE(first_difference(out.elements(), want) == -1);
                    REQUIRE(out.fence_is_intact());
                    if (round % 2 == 0) {
                        support::turn_copy(operation, layout, in.view(), plain.view(), cache, positions);
                    } else {
                        StridedTensor<In> plain_in(extents, MemoryOrder());
                        plain_in.set(x);
                        support::turn_copy(operation, layout, plain_in.view(), out.view(), cache, positions);
                        plain.set(out.elements());
                    }
                    REQUIRE(first_difference(plain.elements(), want) == -1);
                    REQUIRE(support::same_bits(in.elements(), x));  // reading does not write
                    if constexpr (std::is_same_v<In, Out>) {
                        support::turn(operation, layout, in.view(), cache, positions);
                        REQUIRE(first_difference(in.elements(), want) == -1);
                        REQUIRE(in.fence_is_intact());
                    }
                    if (operation != Operation::apply) continue;
                    StridedTensor<In> again(extents, order);
                    StridedTensor<Out> cut(extents, order);
                    again.set(x);
                    const auto run = [&](const auto& job) { support::run_in_pieces(job, 6, engine); };
                    if (layout == Layout::interleaved)
                        support::with_job_out_of_place<Layout::interleaved>(again.view(), cut.view(), cache, positions,
                                                                            run);
                    else
                        support::with_job_out_of_place<Layout::half_split>(again.view(), cut.view(), cache, positions,
                                                                           run);
                    REQUIRE(first_difference(cut.elements(), want) == -1);
                    REQUIRE(cut.fence_is_intact());
                    if constexpr (std::is_same_v<In, Out>) {
                        if (layout == Layout::interleaved)
                            support::with_job_in_place<Layout::interleaved>(again.view(), cache, positions, run);
                        else
                            support::with_job_in_place<Layout::half_split>(again.view(), cache, positions, run);
                        REQUIRE(first_difference(again.elements(), want) == -1);
                        REQUIRE(again.fence_is_intact());
                    }
                }
            });
        }
    }
}

/// More pairs than the cosines and sines that are written for an inverse at once.
template <class In, class Out>
void check_many_pairs() {
    using T = support::TableOf<In>;
    MemoryOrder spaced;
    spaced.inner_stride = 2;
    const MemoryOrder plain;
    for (const Index pairs : {1024, 1025, 1500, 2049}) {
        const rope::CosSinCache<T> cache(config_of(pairs, 3, 5), 8);
        const std::array<Index, 4> extents = {1, 2, 2, cache.head_dim()};
        const std::vector<In> x = support::normal<In>(4 * cache.head_dim(), 4);
        for (const Layout layout : {Layout::interleaved, Layout::half_split}) {
            std::vector<In> from = x;
            std::vector<Out> expected[2] = {std::vector<Out>(x.size()), std::vector<Out>(x.size())};
            for (const bool fma : {false, true})
                support::turn_exactly(fma, Operation::inverse, layout, contiguous(from, extents),
                                      contiguous(expected[fma], extents), cache, rope::start_at(3));
            support::for_each_isa([&](const char* isa) {
                const std::vector<Out>& want = expected[rope::detail::active_isa_has_fma()];
                for (const bool in_is_spaced : {false, true})
                    for (const bool out_is_spaced : {false, true}) {
                        CAPTURE(isa, pairs, layout, in_is_spaced, out_is_spaced);
                        StridedTensor<In> in(extents, in_is_spaced ? spaced : plain);
                        StridedTensor<Out> out(extents, out_is_spaced ? spaced : plain);
                        in.set(x);
                        support::turn_copy(Operation::inverse, layout, in.view(), out.view(), cache, rope::start_at(3));
                        REQUIRE(first_difference(out.elements(), want) == -1);
                        REQUIRE(out.fence_is_intact());
                        if constexpr (std::is_same_v<In, Out>) {
                            support::turn(Operation::inverse, layout, in.view(), cache, rope::start_at(3));
                            REQUIRE(first_difference(in.elements(), want) == -1);
                            REQUIRE(in.fence_is_intact());
                        }
                    }
            });
        }
    }
}

/// The same data turned by one large call and, token after token, by small ones. Behind the 35 pairs are `after`
/// features that are not; the output begins `shift` elements into its memory.
template <class In, class Out, class MakeIn, class MakeOut>
void check_large(Layout layout, Index batch, const MakeIn& view_in, const MakeOut& view_out, Index after = 5,
                 std::size_t shift = 0) {
    const Index heads = 5, d = 73 + after;
    const Index seq = rope::detail::kCachedBytes<false> / (batch * heads * d * static_cast<Index>(sizeof(Out))) + 9;
    const rope::CosSinCache<support::TableOf<In>> cache(config_of(35, 3, after), seq);
    std::vector<In> x(size(batch * seq * heads * d));
    for (std::size_t i = 0; i < x.size(); ++i)
        x[i] = support::from_double<In>(static_cast<double>(static_cast<std::uint32_t>(i) * 2654435761u) * 0x1p-32);
    support::for_each_isa([&](const char* isa) {
        CAPTURE(isa, layout, batch);
        std::vector<In> a = x, b = x;
        std::vector<Out> y(x.size() + shift + 1), z = y;
        const auto in_a = view_in(a.data(), batch, seq, heads, d), in_b = view_in(b.data(), batch, seq, heads, d);
        const auto out_y = view_out(y.data() + shift, batch, seq, heads, d);
        const auto out_z = view_out(z.data() + shift, batch, seq, heads, d);
        const auto in_small_calls = [&](auto&& call) {
            for (Index s = 0; s < seq; s += 5)
                for (Index e = 0; e < batch; ++e)
                    call(rope::start_at(s),
                         [&](const auto& v) { return v.slice_tokens(s, s + 5 < seq ? 5 : seq - s).slice_batch(e, 1); });
        };
        for (const Operation operation : {Operation::inverse, Operation::apply}) {
            support::turn_copy(operation, layout, in_a, out_y, cache, rope::start_at(0));
            in_small_calls([&](const rope::Positions& start, auto&& part) {
                support::turn_copy(operation, layout, part(in_b), part(out_z), cache, start);
            });
            REQUIRE(support::same_bits(y, z));
        }
        REQUIRE(support::same_bits(a, x));
        if constexpr (std::is_same_v<In, Out>) {
            rope::apply(layout, in_a, cache);
            in_small_calls(
                [&](const rope::Positions& start, auto&& part) { rope::apply(layout, part(in_b), cache, start); });
            REQUIRE(support::same_bits(a, b));
        }
    });
}

struct InOrder {
    template <class T>
    rope::TensorView<T> operator()(T* p, Index batch, Index seq, Index heads, Index d) const {
        return rope::view(p, batch, seq, heads, d);
    }
};
struct HeadsFirst {
    template <class T>
    rope::TensorView<T> operator()(T* p, Index batch, Index seq, Index heads, Index d) const {
        return rope::view_heads_first(p, batch, heads, seq, d);
    }
};
struct TokensFirst {  // [seq, batch, heads, head_dim]
    template <class T>
    rope::TensorView<T> operator()(T* p, Index batch, Index seq, Index heads, Index d) const {
        return {p, batch, seq, heads, d, heads * d, batch * heads * d, d, 1};
    }
};
struct ColumnMajor {
    template <class T>
    rope::TensorView<T> operator()(T* p, Index batch, Index seq, Index heads, Index d) const {
        return {p, batch, seq, heads, d, 1, batch, batch * seq, batch * seq * heads};
    }
};

}  // namespace

TEMPLATE_TEST_CASE("any strides and any cut, one type", "", float, double, half, bfloat16) {
    check_strides<TestType, TestType>();
}

TEST_CASE("any strides and any cut, from one type to another") {
    SECTION("float to half") { check_strides<float, half>(); }
    SECTION("bfloat16 to float") { check_strides<bfloat16, float>(); }
}

TEST_CASE("heads of thousands of features, undone") {
    SECTION("float") { check_many_pairs<float, float>(); }
    SECTION("double") { check_many_pairs<double, double>(); }
    SECTION("bfloat16") { check_many_pairs<bfloat16, bfloat16>(); }
    SECTION("float to half") { check_many_pairs<float, half>(); }
}

TEST_CASE("calls larger than the caches") {
    const Layout interleaved = Layout::interleaved, half_split = Layout::half_split;
    SECTION("contiguous") { check_large<float, float>(half_split, 2, InOrder(), InOrder()); }
    // Heads of a multiple of 16 bytes go past the caches, but not to other addresses.
    SECTION("whole vectors") { check_large<float, float>(half_split, 2, InOrder(), InOrder(), 7); }
    SECTION("whole vectors, elsewhere") { check_large<float, float>(half_split, 2, InOrder(), InOrder(), 7, 1); }
    SECTION("whole vectors of another type") { check_large<float, half>(interleaved, 2, InOrder(), HeadsFirst(), 7); }
    SECTION("whole vectors of double") { check_large<double, double>(interleaved, 1, HeadsFirst(), InOrder(), 7); }
    SECTION("heads first") { check_large<float, float>(half_split, 2, HeadsFirst(), HeadsFirst()); }
    SECTION("tokens first") { check_large<float, float>(interleaved, 2, TokensFirst(), TokensFirst()); }
    SECTION("column-major") { check_large<float, float>(half_split, 1, ColumnMajor(), ColumnMajor()); }
    SECTION("the batch inside") { check_large<float, float>(half_split, 3, ColumnMajor(), ColumnMajor()); }
    SECTION("bfloat16") { check_large<bfloat16, bfloat16>(interleaved, 1, HeadsFirst(), HeadsFirst()); }
    SECTION("another type and order") { check_large<float, half>(interleaved, 2, HeadsFirst(), TokensFirst()); }
    SECTION("from column-major") { check_large<half, float>(half_split, 1, ColumnMajor(), InOrder()); }
}

TEST_CASE("in whatever order the heads are visited") {
    using rope::detail::Axis;
    const Index batch = 2, seq = 3, heads = 4;
    std::mt19937_64 engine(1);
    for (Index pairs = 1; pairs <= 40; ++pairs) {
        const rope::CosSinCache<float> cache(config_of(pairs, 2, 1), 20);
        const Index d = cache.head_dim();
        const auto x = support::normal<bfloat16>(batch * seq * heads * d, 8);
        support::for_each_isa([&](const char* isa) {
            auto want = x;
            rope::apply<Layout::half_split>(rope::view(want.data(), batch, seq, heads, d), cache);
            std::array<Axis, 3> axes = {rope::detail::kBatchAxis, rope::detail::kSeqAxis, rope::detail::kHeadAxis};
            do {
                for (const Index at_once : {Index(1), Index(2), Index(4), rope::detail::kAllHeads}) {
                    auto y = x;
                    const auto v = rope::view(y.data(), batch, seq, heads, d);
                    support::with_job_in_place<Layout::half_split>(v, cache, {}, [&](auto job) {
                        job.task.order.outer = axes[0];
                        job.task.order.middle = axes[1];
                        job.task.order.inner = axes[2];
                        job.task.order.heads_at_once = at_once;
                        job.kernel(job.task, 0, job.pieces);
                        CAPTURE(isa, pairs, axes[0], axes[1], axes[2], at_once);
                        REQUIRE(support::same_bits(y, want));
                        std::copy(x.begin(), x.end(), y.begin());
                        support::run_in_pieces(job, 5, engine);
                        REQUIRE(support::same_bits(y, want));
                    });
                }
            } while (std::next_permutation(axes.begin(), axes.end()));
        });
    }
}
