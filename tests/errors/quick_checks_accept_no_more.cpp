// SPDX-License-Identifier: MIT
// Before the checks that know what to say, a call that is no plain one is put to a quick test. That test accepts
// nothing that the checks refuse, and it does accept what such calls look like, so that these never pay for more.
#include <rope/core.hpp>

#include <array>
#include <cstdint>
#include <utility>
#include <vector>

#include "support/catch.hpp"
#include "support/drawn_views.hpp"

using rope::Index;
using rope::Positions;
using rope::detail::AnyView;
using rope::detail::Capabilities;
using rope::detail::CheckedTensor;
using support::address;
using support::Draw;

namespace {

/// What apply_inverse<Layout::half_split> does with a table.
constexpr Capabilities kUses =
    rope::detail::capabilities_of<rope::Layout::half_split>(rope::detail::Direction::inverse);

template <class T>
bool is_fine(const Positions& positions, const rope::TensorView<T>& x, const rope::CosSinCache<float>& cache) {
    return is_plainly_fine(positions, kUses, rope::detail::in_place("x", x, cache).erased().checked());
}
template <class Q, class K>
bool is_fine(const Positions& positions, const rope::TensorView<Q>& q, const rope::TensorView<K>& k,
             const rope::CosSinCache<float>& q_cache, const rope::CosSinCache<float>& k_cache) {
    return is_plainly_fine(positions, kUses, rope::detail::in_place("q", q, q_cache).erased().checked(),
                           rope::detail::in_place("k", k, k_cache).erased().checked());
}
template <class In, class Out>
bool is_fine_copy(const Positions& positions, const rope::TensorView<In>& in, const rope::TensorView<Out>& out,
                  const rope::CosSinCache<float>& cache) {
    return is_plainly_fine(positions, kUses, rope::detail::out_of_place(in, out, cache).erased().checked());
}

}  // namespace

TEST_CASE("what the quick test accepts, the checks accept") {
    Draw draw;
    constexpr int kRounds = 400000;
    int quick = 0, in_full = 0, together = 0, apart_in_a_row = 0;
    for (int round = 0; round < kRounds; ++round) {
        const std::array<Index, 4> extents = draw.extents();
        void* const place = address(std::uintptr_t(1) << (draw.one_in(9) ? 63 : 40));
        const auto source_of = [&](const AnyView& out) {
            std::array<Index, 4> shape = {out.extents[0], out.extents[1], out.extents[2], out.extents[3]};
            if (draw.one_in(20)) shape[static_cast<std::size_t>(draw.below(4))] ^= 1;
            AnyView in = draw.one_in(4) ? out : draw.beside(out, shape);
            if (draw.one_in(4)) draw.type_of(in);
            return in;
        };
        const auto tensor = [&](const AnyView& in, const AnyView& out) -> CheckedTensor {
            const rope::detail::TableShape table = draw.table(out.extents[3]);
            if (!draw.one_in(3)) return {out, out, table, nullptr};
            return {in, out, table, &rope::detail::kDisjointTests};
        };
        const AnyView first = draw.view(extents, place);
        std::array<Index, 4> other = extents;
        other[2] = 1 + draw.below(3);
        if (draw.one_in(20)) other[static_cast<std::size_t>(draw.below(3))] += 1;
        const AnyView second = draw.beside(first, other);
        const AnyView sources[] = {source_of(first), source_of(second)};
        const CheckedTensor tensors[] = {tensor(sources[0], first), tensor(sources[1], second)};
        std::vector<Index> list;
        const Positions positions =
            draw.positions(tensors[draw.below(2)].table, first.extents[0], first.extents[1], list);

        const Capabilities uses = static_cast<Capabilities>(draw.of({1, 2, 5, 6}));
        const bool one_quick = is_plainly_fine(positions, uses, tensors[0]);
        const bool one = check_call(positions, uses, tensors[0]).ok();
        const bool both_quick = is_plainly_fine(positions, uses, tensors[0], tensors[1]);
        const bool both = check_call(positions, uses, tensors[0], tensors[1]).ok();
        const bool apart_quick =
            is_plain(first) && is_plain(tensors[1].out) && rope::detail::is_plainly_disjoint(first, tensors[1].out);
        const bool apart = apart_quick && rope::detail::is_disjoint(first, tensors[1].out);
        if (one_quick > one || both_quick > both || apart_quick > apart) {
            CAPTURE(round, one_quick, one, both_quick, both, apart_quick, apart);
            FAIL("the quick test accepts what the checks refuse");
        }
        quick += one_quick;
        in_full += one;
        together += both_quick;
        // Disjoint although the spans meet.
        const Index bytes = first.element_size;
        apart_in_a_row +=
            apart_quick && first.extents[1] > 1 && first.data != nullptr &&
            first.strides[1] == tensors[1].out.strides[1] &&
            reinterpret_cast<std::uintptr_t>(tensors[1].out.data) - reinterpret_cast<std::uintptr_t>(first.data) <
                static_cast<std::uintptr_t>(first.strides[1] * bytes);
    }
    CAPTURE(quick, in_full, together, apart_in_a_row);
    // The draws are neither all right nor all wrong.
    CHECK(quick > kRounds / 20);
    CHECK(in_full > quick);
    CHECK(in_full < kRounds / 2);
    CHECK(together > kRounds / 200);
    CHECK(apart_in_a_row > kRounds / 2000);
}

TEST_CASE("the quick test accepts what calls look like") {
    constexpr Index kDim = 8;
    const rope::CosSinCache<float> cache(rope::Config{kDim}, 16), late(rope::Config{kDim}, 16, 8);
    std::vector<float> memory(8192), more(8192);
    std::vector<rope::bfloat16> narrow(8192);
    float* const p = memory.data();
    const Positions start = rope::start_at(3);

    for (const Index batch : {1, 3})
        for (const Index seq : {1, 5})
            for (const Index heads : {1, 4}) {
                CAPTURE(batch, seq, heads);
                const auto x = rope::view(p, batch, seq, heads, kDim);
                const auto heads_first = rope::view_heads_first(p, batch, heads, seq, kDim);
                auto seq_first = rope::view(p, seq, batch, heads, kDim);
                std::swap(seq_first.batch, seq_first.seq);
                std::swap(seq_first.batch_stride, seq_first.seq_stride);
                // Eigen's default orders.
                const rope::TensorView<float> columns = {p, batch,      seq, heads, kDim, seq * heads * kDim,
                                                         1, kDim * seq, seq};
                const rope::TensorView<float> reversed = {
                    p, batch, seq, heads, kDim, 1, batch, batch * seq, batch * seq * heads};
                for (const auto& v : {x, heads_first, seq_first, columns, reversed}) {
                    CHECK(is_fine(start, v, cache));
                    // q and k behind one another, in either order, and of two types.
                    auto k = v;
                    k.data += 4096;
                    CHECK(is_fine(start, v, k, cache, cache));
                    CHECK(is_fine(start, k, v, cache, cache));
                    CHECK(is_fine(start, v, rope::view(narrow.data(), batch, seq, 1, kDim), cache, late) == false);
                    CHECK(is_fine(rope::start_at(8), v, rope::view(narrow.data(), batch, seq, 1, kDim), cache, late));
                    // Out of place: elsewhere, in another type, and the same view.
                    CHECK(is_fine_copy(start, v, k, cache));
                    CHECK(is_fine_copy(start, v, v, cache));
                    CHECK(is_fine_copy(start, v, rope::view(narrow.data(), batch, seq, heads, kDim), cache));
                }
                auto broadcast = rope::view(p, batch, seq, heads, kDim);
                broadcast.seq_stride = 0;
                CHECK(is_fine_copy(start, broadcast, rope::view(more.data(), batch, seq, heads, kDim), cache));
                // Back to back, without a byte between.
                const auto next = rope::view(p + batch * seq * heads * kDim, batch, seq, 1, kDim);
                CHECK(is_fine(start, x, next, cache, cache));
                CHECK(is_fine(start, next, x, cache, cache));
                // A part of a cache of keys.
                const auto keys = rope::view_heads_first(p, batch, heads, 32, kDim).slice_tokens(7, seq);
                CHECK(is_fine(start, keys, cache));
                CHECK(is_fine(start, rope::view(more.data(), batch, seq, heads, kDim), keys, cache, cache));
                // Slices of one fused buffer, of the whole of it or of its first tokens, without a byte between.
                for (const Index tokens : {seq, Index(9)}) {
                    const auto fused = rope::view(p, batch, tokens, heads + 4, kDim).slice_tokens(0, seq);
                    const auto q = fused.slice_heads(0, heads), k = fused.slice_heads(heads, 2);
                    const auto v = fused.slice_heads(heads + 2, 2);
                    CHECK(is_fine(start, q, k, cache, cache));
                    CHECK(is_fine(start, k, q, cache, cache));
                    CHECK(is_fine(start, k, v, cache, cache));
                    CHECK(is_fine(start, q, v, cache, cache));
                    CHECK(is_fine_copy(start, k, v, cache));
                    auto seq_first_q = q, seq_first_k = k;
                    std::swap(seq_first_q.batch, seq_first_q.seq);
                    std::swap(seq_first_k.batch, seq_first_k.seq);
                    std::swap(seq_first_q.batch_stride, seq_first_q.seq_stride);
                    std::swap(seq_first_k.batch_stride, seq_first_k.seq_stride);
                    CHECK(is_fine(start, seq_first_q, seq_first_k, cache, cache));
                }
                // As far into the table as the call may go, and one further.
                CHECK(is_fine(rope::start_at(0), x, cache));
                CHECK(is_fine(rope::start_at(16 - seq), x, cache));
                CHECK_FALSE(is_fine(rope::start_at(16 - seq + 1), x, cache));
                CHECK(is_fine(rope::start_at(8), x, late));
                CHECK_FALSE(is_fine(rope::start_at(7), x, late));
                const std::vector<int> starts(static_cast<std::size_t>(batch), static_cast<int>(16 - seq));
                const std::vector<std::uint8_t> shared(static_cast<std::size_t>(seq), 15);
                const std::vector<std::int64_t> each(static_cast<std::size_t>(batch * seq), 15);
                CHECK(is_fine(rope::start_at(starts), x, cache));
                CHECK(is_fine(shared, x, cache));
                CHECK(is_fine(each, x, cache));
                CHECK(is_fine(each, x, x.slice_heads(0, 0), cache, cache) == false);  // nothing to do in k
            }
    // A table that names its layout, where the call has it.
    rope::Config named = {kDim};
    named.layout = rope::Layout::half_split;
    const rope::CosSinCache<float> half_split(named, 16);
    named.layout = rope::Layout::interleaved;
    const rope::CosSinCache<float> interleaved(named, 16);
    const auto x = rope::view(p, 1, 5, 4, kDim);
    const auto y = rope::view(more.data(), 1, 5, 4, kDim);
    CHECK(is_fine(start, x, half_split));
    CHECK_FALSE(is_fine(start, x, interleaved));
    CHECK(is_fine(start, x, y, half_split, cache));
    CHECK_FALSE(is_fine(start, x, y, cache, interleaved));
    CHECK_FALSE(is_fine(start, x, y, interleaved, cache));
    // The largest and the widest.
    CHECK(is_fine(rope::start_at(0), rope::view(p, Index(1) << 22, 1, 2, kDim), cache));
    auto wide = rope::view(p, 2, 1, 2, kDim);
    wide.batch_stride = (Index(1) << 34) - 1;
    CHECK(is_fine(rope::start_at(0), wide, cache));
}
