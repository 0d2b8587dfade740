// SPDX-License-Identifier: MIT
// Calls of the most usual kind are recognised before anything else looks at them. Nothing that the checks refuse is
// taken for one, and decoding and short prompts are.
#include <rope/core.hpp>

#include <array>
#include <cstdint>
#include <vector>

#include "support/catch.hpp"
#include "support/data.hpp"
#include "support/drawn_views.hpp"

using rope::Index;
using rope::Positions;
using rope::detail::AnyView;
using rope::detail::are_one_view;
using rope::detail::are_plain_together;
using rope::detail::Capabilities;
using rope::detail::CheckedTensor;
using rope::detail::is_plain_call;
using rope::detail::PlainCall;
using support::address;
using support::Draw;

namespace {

/// A table that has no rows: those of plain calls are looked at, not read.
class NoRows : public rope::CosSinRows<float> {
 public:
    NoRows(const rope::detail::TableShape& shape, bool is_compact) {
        this->source_.cos = this->source_.sin = &number_;
        this->source_.fine = is_compact ? &number_ : nullptr;
        this->source_.first = shape.first_position;
        this->count_ = shape.max_positions;
        this->batch_ = shape.batch;
        this->pairs_ = shape.head_dim / 2;
        this->head_dim_ = shape.head_dim;
        if ((shape.unsupported & rope::detail::kInterleaved) != 0) this->layout_ = rope::Layout::half_split;
        if ((shape.unsupported & rope::detail::kHalfSplit) != 0) this->layout_ = rope::Layout::interleaved;
    }

 private:
    float number_ = 1.0f;
};

template <class X>
rope::TensorView<X> typed(const AnyView& v) {
    return {v.elements<X>(), v.extents[0], v.extents[1], v.extents[2], v.extents[3],
            v.strides[0],    v.strides[1], v.strides[2], v.strides[3]};
}

}  // namespace

TEST_CASE("what is taken for a plain call, the checks accept, and the run is within the view") {
    Draw draw;
    constexpr int kRounds = 400000;
    int plain = 0, in_full = 0, together = 0, as_one = 0;
    for (int round = 0; round < kRounds; ++round) {
        std::array<Index, 4> extents = draw.extents();
        if (!draw.one_in(8)) extents[0] = 1;
        AnyView first = draw.view(extents, address(std::uintptr_t(1) << (draw.one_in(9) ? 63 : 40)));
        std::array<Index, 4> other = extents;
        other[2] = 1 + draw.below(3);
        if (draw.one_in(20)) other[static_cast<std::size_t>(draw.below(3))] += 1;
        AnyView second = draw.beside(first, other);
        if (draw.one_in(3))
            second.data = address(reinterpret_cast<std::uintptr_t>(first.data) +
                                  (draw.one_in(2) ? 16384 : ~std::uintptr_t(16383)));
        if (draw.one_in(3)) {  // behind the heads of the first
            const auto distance = static_cast<std::uintptr_t>(first.extents[2]) *
                                  static_cast<std::uintptr_t>(first.strides[2]) * sizeof(float);
            second.data = address(reinterpret_cast<std::uintptr_t>(first.data) + distance);
            for (int axis = 0; axis < 4; ++axis) second.strides[axis] = first.strides[axis];
            if (draw.one_in(6)) second.strides[draw.below(4)] ^= 1;
            if (draw.one_in(6)) second.extents[draw.below(4)] ^= draw.of({1, 2, 4});
        }
        for (AnyView* v : {&first, &second}) {
            v->element_size = sizeof(float);
            v->type = &rope::detail::kTypeTag<float>;
            if (!draw.one_in(8)) v->strides[3] = 1;
        }
        rope::detail::TableShape shape = draw.table(first.extents[3]);
        if (!draw.one_in(8)) shape.batch = 0;
        if (shape.head_dim < 0 || shape.head_dim > Index(1) << 20) shape.head_dim = 2;
        const NoRows table(shape, draw.one_in(8));
        std::vector<Index> list;
        const Positions positions = draw.positions(shape, first.extents[0], first.extents[1], list);
        const rope::Layout layout = draw.one_in(2) ? rope::Layout::half_split : rope::Layout::interleaved;
        const Capabilities uses =
            layout == rope::Layout::half_split ? rope::detail::kHalfSplit : rope::detail::kInterleaved;

        const rope::TensorView<float> x = typed<float>(first), y = typed<float>(second);
        PlainCall<float, float> call, call_2;
        const bool one_plain = is_plain_call<float>(x, layout, table, positions, call);
        const bool both_plain =
            one_plain && is_plain_call<float>(y, layout, table, positions, call_2) && are_plain_together(call, call_2);
        rope::TensorView<float> view_of_both;
        PlainCall<float, float> call_on_both;
        const bool one_view_plain = are_one_view(x, y, view_of_both) &&
                                    is_plain_call<float>(view_of_both, layout, table, positions, call_on_both);
        const auto erased = rope::detail::in_place("x", x, table).erased();
        const auto erased_2 = rope::detail::in_place("y", y, table).erased();
        const CheckedTensor tensors[] = {erased.checked(), erased_2.checked()};
        const bool one = check_call(positions, uses, tensors[0]).ok();
        const bool both = check_call(positions, uses, tensors[0], tensors[1]).ok();
        if (one_plain > one || both_plain > both || one_view_plain > both) {
            CAPTURE(round, one_plain, one, both_plain, one_view_plain, both);
            FAIL("what the checks refuse is taken for a plain call");
        }
        if (one_view_plain) {
            const rope::TensorView<float>& v = view_of_both;
            const auto at_k = reinterpret_cast<std::uintptr_t>(v.data) +
                              static_cast<std::uintptr_t>(x.heads * v.head_stride) * sizeof(float);
            if (v.data != x.data || at_k != reinterpret_cast<std::uintptr_t>(y.data) || v.heads != x.heads + y.heads ||
                v.seq != x.seq || v.head_dim != x.head_dim || x.seq != y.seq ||
                (x.heads > 1 && v.head_stride != x.head_stride) || (y.heads > 1 && v.head_stride != y.head_stride) ||
                (v.seq > 1 && (v.seq_stride != x.seq_stride || v.seq_stride != y.seq_stride)))
                FAIL("the view of both is not the two views");
        }
        as_one += one_view_plain;
        plain += one_plain;
        together += both_plain;
        in_full += one;
        if (!one_plain) continue;
        const Index far = (call.tokens - 1) * call.token + (call.heads - 1) * call.shape.y_head_stride;
        const auto end = static_cast<std::uintptr_t>(far + x.head_dim) * sizeof(float);
        if (call.tokens != x.seq || call.heads != x.heads || call.x != x.data || x.batch != 1 ||
            x.feature_stride != 1 || (x.seq > 1 && call.token != x.seq_stride) ||
            (x.heads > 1 && call.shape.y_head_stride != x.head_stride) ||
            call.shape.x_head_stride != call.shape.y_head_stride || call.end - call.begin != end)
            FAIL("the call is not the view");
    }
    CAPTURE(plain, in_full, together, as_one);
    CHECK(plain > kRounds / 50);
    CHECK(in_full > plain);
    CHECK(in_full < kRounds - kRounds / 4);
    CHECK(together > kRounds / 1000);
    CHECK(as_one > kRounds / 1000);
}

TEST_CASE("calls on whole tensors from a start on are plain ones") {
    const rope::CosSinCache<float> cache(rope::Config{8}, 64, 4);
    std::vector<float> memory(8192);
    const Positions start = rope::start_at(5);
    const auto is_plain = [&](const rope::TensorView<float>& v, const Positions& positions) {
        PlainCall<float, float> call;
        return is_plain_call<float>(v, rope::Layout::half_split, cache, positions, call);
    };
    for (const Index seq : {1, 5})
        for (const Index heads : {1, 4}) {
            const auto x = rope::view(memory.data(), seq, heads, 8);
            const auto fused = rope::view(memory.data(), seq, heads + 4, 8);
            CHECK(is_plain(x, start));
            CHECK(is_plain(fused.slice_heads(2, heads), start));
            CHECK(is_plain(x, rope::start_at(4)));
            CHECK(is_plain(x, rope::start_at(68 - seq)));
            CHECK_FALSE(is_plain(x, rope::start_at(3)));
            CHECK_FALSE(is_plain(x, rope::start_at(69 - seq)));
            CHECK_FALSE(is_plain(rope::view(memory.data(), 2, seq, heads, 8), start));
        }
    // One id of one token, or the start of the one batch entry, is as good as a start, whatever its integer type.
    const auto x1 = rope::view(memory.data(), 1, 4, 8), x5 = rope::view(memory.data(), 5, 4, 8);
    const std::array<unsigned short, 1> first = {4}, last = {67}, before = {3}, past = {68};
    CHECK(is_plain(x1, first));
    CHECK(is_plain(x1, last));
    CHECK_FALSE(is_plain(x1, before));
    CHECK_FALSE(is_plain(x1, past));
    CHECK_FALSE(is_plain(x5, first));
    CHECK(is_plain(x5, rope::start_at(first)));
    CHECK_FALSE(is_plain(x5, rope::start_at(last)));
    CHECK_FALSE(is_plain(x1, rope::ids(static_cast<const int*>(nullptr), 1)));
    const std::array<std::uint64_t, 1> farthest = {~std::uint64_t(0)};
    CHECK_FALSE(is_plain(x1, farthest));
    // Larger ones are for the executor.
    CHECK_FALSE(is_plain(rope::view(memory.data(), 64, 512, 8), rope::start_at(4)));
    CHECK(is_plain(rope::view(memory.data(), 63, 512, 8), rope::start_at(4)));
    PlainCall<float, float> q, k;
    const auto half = rope::view(memory.data(), 32, 512, 8);
    REQUIRE(is_plain_call<float>(half, rope::Layout::half_split, cache, start, q));
    k = q;
    k.begin += 1 << 20;
    k.end += 1 << 20;
    CHECK_FALSE(are_plain_together(q, k));
    k.bytes -= 1;
    CHECK(are_plain_together(q, k));
    CHECK(are_plain_together(k, q));
    CHECK_FALSE(are_plain_together(k, k));
}

TEST_CASE("queries and keys of one buffer are one view, and others are not") {
    std::vector<float> memory(4096);
    float* const p = memory.data();
    rope::TensorView<float> both;
    for (const Index seq : {1, 5}) {
        const auto fused = rope::view(p, seq, 8, 16);
        const auto q = fused.slice_heads(0, 4), k = fused.slice_heads(4, 2), v = fused.slice_heads(6, 2);
        REQUIRE(are_one_view(q, k, both));
        CHECK(both.data == p);
        CHECK(both.heads == 6);
        CHECK(both.seq_stride == 128);
        CHECK(are_one_view(k, v, both));
        CHECK_FALSE(are_one_view(q, v, both));  // a gap
        CHECK_FALSE(are_one_view(k, q, both));
        CHECK_FALSE(are_one_view(q, q, both));
        CHECK_FALSE(are_one_view(q, k.slice_features(0, 8), both));
        CHECK_FALSE(are_one_view(q, k.slice_heads(0, 0), both));
        CHECK_FALSE(are_one_view(q.slice_heads(0, 0), q, both));
        CHECK(are_one_view(q, rope::view(p + 64, seq, 2, 16), both) == (seq == 1));
    }
    std::vector<rope::half> halves(64);
    CHECK_FALSE(are_one_view(rope::view(p, 1, 2, 16), rope::view(halves.data(), 1, 2, 16), both));
}

TEST_CASE("queries and keys of one buffer turn as each of them alone, by one table or by two") {
    const auto table = [](double base) {
        rope::Config config;
        config.head_dim = 8;
        config.base = base;
        return rope::CosSinCache<float>(config, 64);
    };
    const rope::CosSinCache<float> one = table(10000.0), other = table(100.0);
    for (const Index seq : {1, 5})
        for (const auto* const k_table : {&one, &other}) {
            std::vector<float> together(support::size(seq * 9 * 8));
            for (std::size_t i = 0; i < together.size(); ++i) together[i] = 0.01f * static_cast<float>(i + 1);
            std::vector<float> alone = together;
            const auto fused = rope::view(together.data(), seq, 9, 8), expected = rope::view(alone.data(), seq, 9, 8);
            const Positions start = rope::start_at(7);
            rope::apply<rope::Layout::half_split>(fused.slice_heads(0, 5), fused.slice_heads(5, 3), one, *k_table,
                                                  start);
            rope::apply<rope::Layout::half_split>(expected.slice_heads(0, 5), one, start);
            rope::apply<rope::Layout::half_split>(expected.slice_heads(5, 3), *k_table, start);
            CAPTURE(seq, k_table == &one);
            CHECK(together == alone);
        }
}
