// SPDX-License-Identifier: MIT
// Before the checks that know what to say, it is seen whether a call is a plain one, and if not, it is put to a quick
// test. Neither accepts what the checks refuse. The first accepts decoding and short prompts, the other what else calls
// look like, so that none of these pays for more.
#include <rope/core.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <random>
#include <vector>

#include "support/catch.hpp"

using rope::Index;
using rope::Positions;
using rope::detail::AnyView;
using rope::detail::CheckedTensor;
using rope::detail::Uses;

namespace {

constexpr Index kMost = std::numeric_limits<Index>::max();

/// Nothing is read or written there.
void* address(std::uintptr_t at) { return rope::detail::bit_cast<void*>(at); }

class Draw {
 public:
    bool one_in(Index n) { return below(n) == 0; }
    Index below(Index n) { return static_cast<Index>(engine_() % static_cast<std::uint64_t>(n)); }
    Index of(std::initializer_list<Index> list) { return list.begin()[below(static_cast<Index>(list.size()))]; }
    /// A number that no tensor should have.
    Index hostile() {
        const Index power = Index(1) << below(63);
        return of(
            {0, -1, -3, kMost, -kMost - 1, kMost - 1, kMost / 2, kMost / 2 + 1, power, power - 1, power + 1, -power});
    }

    void type_of(AnyView& v) {
        const Index type = below(4);
        v.element_size = type == 0 ? 8 : type == 1 ? 4 : 2;
        v.type = type == 0   ? &rope::detail::kTypeTag<double>
                 : type == 1 ? &rope::detail::kTypeTag<float>
                 : type == 2 ? &rope::detail::kTypeTag<rope::half>
                             : &rope::detail::kTypeTag<rope::bfloat16>;
    }

    /// Axes in any order, each just beyond what the smaller ones reach, and then, maybe, something wrong.
    AnyView view(const std::array<Index, 4>& extents, void* data) {
        AnyView v = {};
        v.name = "x";
        v.data = data;
        type_of(v);
        std::array<std::size_t, 4> order = {3, 2, 1, 0};
        const Index usual = below(6);
        if (usual == 1) order = {3, 1, 2, 0};
        if (usual == 2) order = {3, 2, 0, 1};
        if (usual == 3) order = {1, 3, 2, 0};
        if (usual == 4) order = {0, 1, 2, 3};
        if (usual == 5) std::shuffle(order.begin(), order.end(), engine_);
        Index reach = 0;
        for (const std::size_t axis : order) {
            v.extents[axis] = extents[axis];
            v.strides[axis] = reach + 1 + of({0, 0, 1, 20});
            if (reach < 1000 && one_in(3)) v.strides[axis] *= of({2, 3, 4, Index(1) << 22, Index(1) << 40});
            const Index large = Index(1) << 30;
            if (v.strides[axis] < large && extents[axis] > 0 && extents[axis] < large)
                reach += v.strides[axis] * (extents[axis] - 1);
        }
        if (one_in(3)) {
            Index& stride = v.strides[below(4)];
            const Index mistake = below(4);
            if (mistake == 0) stride -= 1;
            if (mistake == 1) stride = -stride;
            if (mistake == 2) stride = 0;
            if (mistake == 3) stride = hostile();
        }
        if (one_in(40)) v.extents[below(4)] = hostile();
        if (one_in(200)) v.data = nullptr;
        return v;
    }

    /// Somewhere about `v`: where it is, where it or one of its axes ends, or anywhere at all.
    void* place_near(const AnyView& v, const AnyView& other) {
        if (one_in(20)) return address(engine_());
        if (one_in(20)) return address(static_cast<std::uintptr_t>(hostile()));
        std::uintptr_t at = reinterpret_cast<std::uintptr_t>(v.data);
        const auto step = [&](const AnyView& from, std::uint64_t sign) {
            const std::size_t fewest = one_in(4) ? 0 : one_in(3) ? 1 : 2;
            std::uint64_t elements = 1;
            for (std::size_t axis = fewest; axis < 4; ++axis)
                elements += static_cast<std::uint64_t>(from.strides[axis]) *
                            (static_cast<std::uint64_t>(from.extents[axis]) - 1);
            at += sign * elements * static_cast<std::uint64_t>(from.element_size);
        };
        if (one_in(2)) {
            step(v, 1);
        } else if (one_in(2)) {
            step(other, ~std::uint64_t(0));
        }
        if (one_in(2))
            at += static_cast<std::uint64_t>(of({-1, 1})) * static_cast<std::uint64_t>(of({1, 2, 4, 8, 64, 4096}));
        return address(at);
    }

    std::array<Index, 4> extents() {
        std::array<Index, 4> e{};
        for (Index& extent : e) extent = one_in(3) ? 1 : 1 + below(5);
        if (one_in(10))
            e[static_cast<std::size_t>(below(4))] =
                of({0, 128, 4096, Index(1) << 22, (Index(1) << 22) + 1, Index(1) << 31});
        return e;
    }

    /// A second view of these extents: anywhere about the first, or beside it in the rows of one buffer.
    AnyView beside(const AnyView& v, const std::array<Index, 4>& extents) {
        AnyView other = view(extents, v.data);
        if (one_in(3)) {
            other = v;
            std::copy(extents.begin(), extents.end(), other.extents);
            if (one_in(8)) other.strides[below(4)] = hostile();
        }
        other.data = place_near(v, other);
        return other;
    }

    rope::detail::TableShape table(Index head_dim) {
        const Index most = one_in(8) ? Index(1) << 62 : 1 + below(12);
        Index first = one_in(2) ? 0 : of({-3, 3, -(Index(1) << 62)});
        if (one_in(8)) first = (Index(1) << 62) - most;
        const Uses refused = static_cast<Uses>(one_in(8) ? below(8) : 0);
        return {one_in(20) ? head_dim ^ 1 : head_dim, first, most, "cache", refused, one_in(4) ? below(5) : 0};
    }

    Positions positions(const rope::detail::TableShape& table, Index batch, Index seq, std::vector<Index>& list) {
        const Index last = table.first_position + table.max_positions - 1;
        const auto near = [&]() -> Index {
            if (one_in(20)) return hostile();
            if (one_in(2)) return table.first_position + below(3) - (one_in(3) ? 1 : 0);
            return last - below(3) + (one_in(3) ? 1 : 0) - (one_in(2) && seq > 0 && seq < 100 ? seq - 1 : 0);
        };
        if (one_in(2)) return rope::start_at(near());
        const bool starts = one_in(2);
        Index count = starts ? batch : one_in(2) ? seq : rope::detail::clamped_product(batch, seq);
        if (count < 0 || count > 10000) count = 0;
        if (one_in(10)) count += of({-1, 1});
        list.assign(static_cast<std::size_t>(std::max<Index>(count, 0)), table.first_position);
        for (Index& position : list)
            if (one_in(4)) position = near();
        const Index* const data = one_in(20) ? nullptr : list.data();
        return Positions(starts ? Positions::Kind::start_per_entry : Positions::Kind::ids, data, count, 1);
    }

 private:
    std::mt19937_64 engine_{20261121};
};

/// What apply_inverse<Layout::half_split> does with a table.
constexpr Uses kUses = rope::detail::uses_of<rope::Layout::half_split>(rope::detail::Direction::inverse);

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
            if (!draw.one_in(3)) return {out, out, table, true};
            return {in, out, table, false};
        };
        const AnyView first = draw.view(extents, place);
        std::array<Index, 4> other = extents;
        other[2] = 1 + draw.below(3);
        if (draw.one_in(20)) other[static_cast<std::size_t>(draw.below(3))] += 1;
        const AnyView second = draw.beside(first, other);
        const AnyView sources[] = {source_of(first), source_of(second)};
        const CheckedTensor tensors[] = {tensor(sources[0], first), tensor(sources[1], second)};
        const CheckedTensor* const pointers[] = {&tensors[0], &tensors[1]};
        std::vector<Index> list;
        const Positions positions =
            draw.positions(tensors[draw.below(2)].table, first.extents[0], first.extents[1], list);

        const Uses uses = static_cast<Uses>(draw.of({1, 2, 5, 6}));
        const bool one_quick = is_plainly_fine(positions, uses, tensors[0]);
        const bool one = check_call(pointers, 1, positions, uses).ok();
        const bool both_quick = is_plainly_fine(positions, uses, tensors[0], tensors[1]);
        const bool both = check_call(pointers, 2, positions, uses).ok();
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
        if ((shape.refused & rope::detail::kInterleaved) != 0) this->layout_ = rope::Layout::half_split;
        if ((shape.refused & rope::detail::kHalfSplit) != 0) this->layout_ = rope::Layout::interleaved;
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
    int plain = 0, in_full = 0, together = 0;
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
        const Uses uses = layout == rope::Layout::half_split ? rope::detail::kHalfSplit : rope::detail::kInterleaved;

        const rope::TensorView<float> x = typed<float>(first), y = typed<float>(second);
        rope::detail::PlainCall<float, float> call, call_2;
        const bool one_plain = rope::detail::is_plain_call<float>(x, layout, table, positions, call);
        const bool both_plain = one_plain && x.seq == y.seq &&
                                rope::detail::is_plain_call<float>(y, layout, table, positions, call_2) &&
                                are_plain_together(call, call_2);
        const auto erased = rope::detail::in_place("x", x, table).erased();
        const auto erased_2 = rope::detail::in_place("y", y, table).erased();
        const CheckedTensor tensors[] = {erased.checked(), erased_2.checked()};
        const CheckedTensor* const pointers[] = {&tensors[0], &tensors[1]};
        const bool one = check_call(pointers, 1, positions, uses).ok();
        const bool both = check_call(pointers, 2, positions, uses).ok();
        if (one_plain > one || both_plain > both) {
            CAPTURE(round, one_plain, one, both_plain, both);
            FAIL("what the checks refuse is taken for a plain call");
        }
        plain += one_plain;
        together += both_plain;
        in_full += one;
        if (!one_plain) continue;
        const auto& run = call.run;
        const Index far = (run.tokens - 1) * run.y_token + (run.heads - 1) * run.y_head;
        const auto end = static_cast<std::uintptr_t>(far + x.head_dim) * sizeof(float);
        if (run.tokens != x.seq || run.heads != x.heads || run.x != x.data || run.y != x.data || x.batch != 1 ||
            x.feature_stride != 1 || (x.seq > 1 && run.y_token != x.seq_stride) ||
            (x.heads > 1 && run.y_head != x.head_stride) || run.x_token != run.y_token || run.x_head != run.y_head ||
            call.end - call.begin != end || run.row.fine != nullptr)
            FAIL("the run is not the view");
    }
    CAPTURE(plain, in_full, together);
    CHECK(plain > kRounds / 50);
    CHECK(in_full > plain);
    CHECK(in_full < kRounds - kRounds / 4);
    CHECK(together > kRounds / 1000);
}

TEST_CASE("calls on whole tensors from a start on are plain ones") {
    const rope::CosSinCache<float> cache(rope::Config{8}, 64, 4);
    std::vector<float> memory(8192);
    const Positions start = rope::start_at(5);
    const auto is_plain = [&](const rope::TensorView<float>& v, const Positions& positions) {
        rope::detail::PlainCall<float, float> call;
        return rope::detail::is_plain_call<float>(v, rope::Layout::half_split, cache, positions, call);
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
    // Larger ones are for the executor.
    CHECK_FALSE(is_plain(rope::view(memory.data(), 64, 512, 8), rope::start_at(4)));
    CHECK(is_plain(rope::view(memory.data(), 63, 512, 8), rope::start_at(4)));
    rope::detail::PlainCall<float, float> q, k;
    const auto half = rope::view(memory.data(), 32, 512, 8);
    REQUIRE(rope::detail::is_plain_call<float>(half, rope::Layout::half_split, cache, start, q));
    k = q;
    k.begin += 1 << 20;
    k.end += 1 << 20;
    CHECK_FALSE(rope::detail::are_plain_together(q, k));
    k.bytes -= 1;
    CHECK(rope::detail::are_plain_together(q, k));
    CHECK(rope::detail::are_plain_together(k, q));
    CHECK_FALSE(rope::detail::are_plain_together(k, k));
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
