// SPDX-License-Identifier: MIT
// Usual calls are accepted before anything else looks at them. Nothing that the full checks refuse is accepted, and
// decoding, batches of single tokens and short prompts are.
#include <rope/core.hpp>

#include <rope/detail/call/run.hpp>

#include <array>
#include <cstdint>
#include <vector>

#include "support/catch.hpp"
#include "support/data.hpp"
#include "support/drawn_views.hpp"

using rope::Index;
using rope::Positions;
using rope::detail::accept;
using rope::detail::Accepted;
using rope::detail::AnyView;
using rope::detail::are_accepted_together;
using rope::detail::are_one_view;
using rope::detail::Capabilities;
using rope::detail::Direction;
using support::address;
using support::Draw;
using support::typed;

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

using Call = Accepted<float, float>;

constexpr rope::Layout kHalf = rope::Layout::half_split;
/// The most bytes of a call that an executor never gets.
constexpr Index kMostBytes = rope::detail::kSplitBytes - 1;

/// Whether the rows of an accepted call are those of its positions, all in the table.
bool has_right_rows(const Call& call, const rope::TensorView<float>& x, const Positions& positions,
                    const rope::detail::TableShape& shape) {
    for (Index t = 0; t < call.slab.tokens; ++t) {
        const Index b = x.batch == 1 ? 0 : t, s = x.batch == 1 ? t : 0;
        const Index row = call.slab.rows[t];
        if (row < 0 || row >= shape.max_positions || row != positions.at(b, s, x.seq) - shape.first_position)
            return false;
    }
    return true;
}

/// Whether a slab's input or output is the view.
bool is_view(const float* data, Index token, Index head, const Call& call, const rope::TensorView<float>& x) {
    const bool is_batch = x.batch != 1;
    return call.slab.tokens == (is_batch ? x.batch : x.seq) && (!is_batch || x.seq == 1) &&
           call.slab.heads == x.heads && data == x.data && x.feature_stride == 1 &&
           (call.slab.tokens == 1 || token == (is_batch ? x.batch_stride : x.seq_stride)) &&
           (x.heads == 1 || head == x.head_stride);
}

}  // namespace

TEST_CASE("accept takes nothing that explain refuses, and a slab is its view and its positions") {
    Draw draw;
    constexpr int kRounds = 400000;
    int accepted = 0, in_full = 0, together = 0, as_one = 0, copies = 0, lists = 0, batches = 0;
    for (int round = 0; round < kRounds; ++round) {
        std::array<Index, 4> extents = draw.extents();
        if (!draw.one_in(4)) extents[static_cast<std::size_t>(draw.below(2))] = 1;
        AnyView first = draw.view(extents, address(std::uintptr_t(1) << (draw.one_in(9) ? 63 : 40)));
        std::array<Index, 4> other = extents;
        if (!draw.one_in(3)) other[2] = 1 + draw.below(3);
        if (draw.one_in(20)) other[static_cast<std::size_t>(draw.below(4))] += 1;
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
            v->type = rope::detail::ElementType::f32;
            if (!draw.one_in(8)) v->strides[3] = 1;
        }
        rope::detail::TableShape shape = draw.table(first.extents[3]);
        if (!draw.one_in(8)) shape.batch = 0;
        if (shape.head_dim < 0 || shape.head_dim > Index(1) << 20) shape.head_dim = 2;
        const NoRows table(shape, draw.one_in(8));
        std::vector<Index> list;
        const Positions positions = draw.positions(shape, first.extents[0], first.extents[1], list);
        const rope::Layout layout = draw.one_in(2) ? kHalf : rope::Layout::interleaved;
        const Direction direction = static_cast<Direction>(draw.below(3));
        const Capabilities uses =
            static_cast<Capabilities>((layout == kHalf ? rope::detail::kHalfSplit : rope::detail::kInterleaved) |
                                      (direction == Direction::inverse ? rope::detail::kInverse : 0));

        const rope::TensorView<float> x = typed<float>(first), y = typed<float>(second);
        const auto in_x = rope::detail::in_place("x", x, table), in_y = rope::detail::in_place("y", y, table);
        const auto copy = rope::detail::out_of_place(x, y, table);
        Call call, call_2, call_on_both, call_copy;
        const bool one = accept(in_x, layout, direction, positions, kMostBytes, call);
        const bool both = one && accept(in_y, layout, direction, positions, kMostBytes, call_2) &&
                          are_accepted_together(call, call_2, kMostBytes) && x.seq == y.seq;
        rope::TensorView<float> view_of_both;
        const bool one_view =
            are_one_view(x, y, view_of_both) && accept(rope::detail::in_place("x", view_of_both, table), layout,
                                                       direction, positions, kMostBytes, call_on_both);
        const bool copied = accept(copy, layout, direction, positions, kMostBytes, call_copy);
        const auto views_x = erased(in_x), views_y = erased(in_y);
        const auto views_copy = erased(copy);
        const auto x_checked = checked(in_x, views_x), y_checked = checked(in_y, views_y);
        const bool one_right = rope::detail::explain(positions, uses, {x_checked}).ok();
        const bool both_right = rope::detail::explain(positions, uses, {x_checked, y_checked}).ok();
        const bool copy_right = rope::detail::explain(positions, uses, {checked(copy, views_copy)}).ok();
        if (one > one_right || both > both_right || one_view > both_right || copied > copy_right) {
            CAPTURE(round, one, one_right, both, one_view, both_right, copied, copy_right);
            FAIL("accept takes a call that explain refuses");
        }
        if (one_view) {
            const rope::TensorView<float>& v = view_of_both;
            const auto at_k = reinterpret_cast<std::uintptr_t>(v.data) +
                              static_cast<std::uintptr_t>(x.heads * v.head_stride) * sizeof(float);
            if (v.data != x.data || at_k != reinterpret_cast<std::uintptr_t>(y.data) || v.heads != x.heads + y.heads ||
                v.batch != x.batch || v.batch != y.batch || v.seq != x.seq || v.head_dim != x.head_dim ||
                x.seq != y.seq || (x.heads > 1 && v.head_stride != x.head_stride) ||
                (y.heads > 1 && v.head_stride != y.head_stride) ||
                (v.seq > 1 && (v.seq_stride != x.seq_stride || v.seq_stride != y.seq_stride)) ||
                (v.batch > 1 && (v.batch_stride != x.batch_stride || v.batch_stride != y.batch_stride)))
                FAIL("the view of both is not the two views");
        }
        as_one += one_view;
        accepted += one;
        together += both;
        in_full += one_right;
        copies += copied;
        lists += one && call.slab.rows.list != nullptr;
        batches += one && x.batch > 1;
        if (copied && (!is_view(call_copy.slab.x, call_copy.slab.x_token_stride, call_copy.slab.shape.x_head_stride,
                                call_copy, x) ||
                       !is_view(call_copy.slab.y, call_copy.slab.y_token_stride, call_copy.slab.shape.y_head_stride,
                                call_copy, y) ||
                       !has_right_rows(call_copy, x, positions, shape)))
            FAIL("the slab of the copy is not its views");
        if (!one) continue;
        const Index far =
            (call.slab.tokens - 1) * call.slab.y_token_stride + (call.slab.heads - 1) * call.slab.shape.y_head_stride;
        const auto end = static_cast<std::uintptr_t>(far + x.head_dim) * sizeof(float);
        if (!is_view(call.slab.x, call.slab.x_token_stride, call.slab.shape.x_head_stride, call, x) ||
            !is_view(call.slab.y, call.slab.y_token_stride, call.slab.shape.y_head_stride, call, x) ||
            call.memory.end - call.memory.begin != end)
            FAIL("the slab is not the view");
        if (!has_right_rows(call, x, positions, shape)) FAIL("the rows are not those of the positions");
    }
    CAPTURE(accepted, in_full, together, as_one, copies, lists, batches);
    CHECK(accepted > kRounds / 50);
    CHECK(in_full > accepted);
    CHECK(in_full < kRounds - kRounds / 4);
    CHECK(together > kRounds / 1000);
    CHECK(as_one > kRounds / 1000);
    CHECK(copies > kRounds / 1000);
    CHECK(lists > kRounds / 1000);
    CHECK(batches > kRounds / 1000);
}

TEST_CASE("decoding and short prompts are accepted") {
    const rope::CosSinCache<float> cache(rope::Config{8}, 64, 4);
    std::vector<float> memory(8192), more(8192);
    const Positions start = rope::start_at(5);
    const auto is_accepted = [&](const rope::TensorView<float>& v, const Positions& positions,
                                 Direction direction = Direction::forward) {
        Call call;
        return accept(rope::detail::in_place("x", v, cache), kHalf, direction, positions, kMostBytes, call);
    };
    const auto is_accepted_copy = [&](const rope::TensorView<float>& in, const rope::TensorView<float>& out) {
        Call call;
        return accept(rope::detail::out_of_place(in, out, cache), kHalf, Direction::forward, start, kMostBytes, call);
    };
    for (const Index seq : {1, 5})
        for (const Index heads : {1, 4}) {
            CAPTURE(seq, heads);
            const auto x = rope::view(memory.data(), seq, heads, 8), y = rope::view(more.data(), seq, heads, 8);
            const auto fused = rope::view(memory.data(), seq, heads + 4, 8);
            CHECK(is_accepted(x, start));
            CHECK(is_accepted(x, start, Direction::inverse));
            CHECK(is_accepted(x, start, Direction::transpose));
            CHECK(is_accepted(fused.slice_heads(2, heads), start));
            CHECK(is_accepted(rope::view_heads_first(memory.data(), 1, heads, 9, 8).slice_tokens(2, seq), start));
            CHECK(is_accepted(x, rope::start_at(4)));
            CHECK(is_accepted(x, rope::start_at(68 - seq)));
            CHECK_FALSE(is_accepted(x, rope::start_at(3)));
            CHECK_FALSE(is_accepted(x, rope::start_at(69 - seq)));
            CHECK(is_accepted(rope::view(memory.data(), 2, seq, heads, 8), start) == (seq == 1));
            CHECK(is_accepted_copy(x, y));
            CHECK(is_accepted_copy(fused.slice_heads(0, heads), y));
            CHECK(is_accepted_copy(x, rope::view(more.data(), seq, heads + 4, 8).slice_heads(4, heads)));
            CHECK_FALSE(is_accepted_copy(x, x));
        }
    // Ids and starts, of any integer type.
    const auto x1 = rope::view(memory.data(), 1, 4, 8), x3 = rope::view(memory.data(), 3, 4, 8);
    const auto b3 = rope::view(memory.data(), 3, 1, 4, 8);
    const std::array<unsigned short, 1> first = {4}, last = {67}, before = {3}, past = {68};
    CHECK(is_accepted(x1, first));
    CHECK(is_accepted(x1, last));
    CHECK_FALSE(is_accepted(x1, before));
    CHECK_FALSE(is_accepted(x1, past));
    CHECK(is_accepted(b3, first));  // shared by the batch
    CHECK_FALSE(is_accepted(x3, first));
    CHECK(is_accepted(x3, rope::start_at(first)));
    CHECK_FALSE(is_accepted(x3, rope::start_at(last)));
    CHECK_FALSE(is_accepted(b3, rope::start_at(first)));
    CHECK_FALSE(is_accepted(x1, rope::ids(static_cast<const int*>(nullptr), 1)));
    const std::array<std::int8_t, 3> three = {67, 4, 67}, one_past = {4, 67, 68};
    const std::array<std::uint64_t, 3> farthest = {5, 6, ~std::uint64_t(0)};
    for (const auto& x : {x3, b3}) {
        CHECK(is_accepted(x, three));
        CHECK_FALSE(is_accepted(x, one_past));
        CHECK_FALSE(is_accepted(x, farthest));
        CHECK_FALSE(is_accepted(x, rope::ids(three.data(), 2)));
    }
    CHECK(is_accepted(b3, rope::start_at(three)));
    CHECK_FALSE(is_accepted(x3, rope::start_at(three)));
    // Larger ones are for the executor.
    CHECK_FALSE(is_accepted(rope::view(memory.data(), 64, 512, 8), rope::start_at(4)));
    CHECK(is_accepted(rope::view(memory.data(), 63, 512, 8), rope::start_at(4)));
    Call q, k;
    const auto half = rope::view(memory.data(), 32, 512, 8);
    REQUIRE(accept(rope::detail::in_place("x", half, cache), kHalf, Direction::forward, start, kMostBytes, q));
    k = q;
    k.memory.begin += 1 << 20;
    k.memory.end += 1 << 20;
    CHECK_FALSE(are_accepted_together(q, k, kMostBytes));
    k.bytes -= 1;
    CHECK(are_accepted_together(q, k, kMostBytes));
    CHECK(are_accepted_together(k, q, kMostBytes));
    CHECK_FALSE(are_accepted_together(k, k, kMostBytes));
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
