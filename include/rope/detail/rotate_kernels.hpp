// SPDX-License-Identifier: MIT
// The kernels of a rotation, written once for every instruction set. No include guard: see isa_list.hpp.

#include "rotate_blocks.hpp"

namespace rope {
inline namespace ROPE_VERSION_NAMESPACE {
namespace detail {
namespace ROPE_ISA {

// ---- Features that are no neighbours, where tokens or heads are: kLanes of them at once ----

/// `count` neighbours x[k], each turned with the one at x[x_distance + k] by its own cos and sin.
template <class In, class Out, class T>
ROPE_INLINE void turn_each(const In* x, Index x_distance, Out* y, Index y_distance, const T* cos, const T* sin,
                           Index count) noexcept {
    Index lane = 0;
    if constexpr (Vector<T>::kWidth > 1) {
        using V = Vector<T>;
        for (; lane + V::kWidth <= count; lane += V::kWidth) {
            const Pair<V> result = turned(Pair<V>{V::load(x + lane), V::load(x + x_distance + lane)},
                                          Pair<V>{V::load(cos + lane), V::load(sin + lane)});
            result.a.store(y + lane);
            result.b.store(y + y_distance + lane);
        }
    }
    for (Index k = lane; k < count; ++k) {
        const Pair<T> pair = {Element<T, In>::load(x + k), Element<T, In>::load(x + x_distance + k)};
        const Pair<T> result = turned(pair, cos[k], sin[k]);
        Element<T, Out>::store(y + k, result.a);
        Element<T, Out>::store(y + y_distance + k, result.b);
    }
}

/// `lanes` tokens or heads that are neighbours in memory, and `count` pairs of them with x at the first pair's a.
template <class In, class Out, class T>
ROPE_INLINE void turn_lanes(const In* x, PairShape x_shape, Out* y, PairShape y_shape, const Tile<T>& tile, Index lanes,
                            Index count) noexcept {
    for (Index i = 0; i < count; ++i, x += x_shape.step, y += y_shape.step)
        turn_each(x, x_shape.distance, y, y_shape.distance, tile.cos[i], tile.sin[i], lanes);
}

// ---- Features that do not turn, out of place ----

template <class In, class Out, class T>
ROPE_INLINE void copy_features(const In* x, Index x_stride, Out* y, Index y_stride, Index count) noexcept {
    Index i = 0;
    if constexpr (std::is_same_v<In, Out>) {  // as bits
        if (x_stride == 1 && y_stride == 1) {
            if (count > 0) std::memcpy(y, x, static_cast<std::size_t>(count) * sizeof(In));
            return;
        }
        for (; i < count; ++i) std::memcpy(y + i * y_stride, x + i * x_stride, sizeof(In));
    } else {
        if constexpr (Vector<T>::kWidth > 1)
            if (x_stride == 1 && y_stride == 1)
                for (; i + Vector<T>::kWidth <= count; i += Vector<T>::kWidth) Vector<T>::load(x + i).store(y + i);
        for (; i < count; ++i) Element<T, Out>::store(y + i * y_stride, Element<T, In>::load(x + i * x_stride));
    }
}

// ---- The walk ----

/// A line of the cache, as a number: what lies ahead may be outside the tensor, where no pointer may point.
template <bool to_write>
ROPE_INLINE void prefetch_line(std::uintptr_t address) noexcept {
    __builtin_prefetch(reinterpret_cast<const void*>(address), to_write);  // NOLINT(performance-no-int-to-ptr)
}

/// What lies ahead of p[0] .. p[count - 1]: to read if T is const, as tables are that threads share, else to write.
template <class T>
ROPE_INLINE void prefetch(T* p, Index count) noexcept {
    constexpr bool to_write = !std::is_const_v<T>;
    std::uintptr_t ahead = reinterpret_cast<std::uintptr_t>(p) + kPrefetchDistance;
    const std::uintptr_t end = ahead + static_cast<std::uintptr_t>(count) * sizeof(T);
    for (; ahead + 192 < end; ahead += 256) {  // by four, because it may stand beside very little work
        prefetch_line<to_write>(ahead);
        prefetch_line<to_write>(ahead + 64);
        prefetch_line<to_write>(ahead + 128);
        prefetch_line<to_write>(ahead + 192);
    }
    for (; ahead < end; ahead += 64) prefetch_line<to_write>(ahead);
}

// The ways below are functions of their own, so that each has the registers to itself. What their loops need of the
// task is copied, because a compiler must think that a store of a vector could change it.

template <class T>
ROPE_INLINE T* start_of(const TensorView<T>& v, const Part& part) noexcept {
    return v.data + part.b * v.batch_stride + part.s * v.seq_stride + part.first * v.head_stride;
}

/// Steps from token to token and from head to head; zero where there is but one, whose stride may be anything.
template <class T>
ROPE_INLINE Index token_step(const TensorView<T>& v, const Part& part) noexcept {
    return part.tokens == 1 ? 0 : part.along_batch ? v.batch_stride : v.seq_stride;
}
template <class T>
ROPE_INLINE Index head_step(const TensorView<T>& v, Index heads) noexcept {
    return heads == 1 ? 0 : v.head_stride;
}

/// The row of token t of a part, as the table has it.
template <class In, class Out, class T>
ROPE_INLINE Row<T> row_of(const RotateTask<In, Out, T>& task, const Part& part, Index t) noexcept {
    const RowSource<T>& rows = task.rows;
    const Index b = part.along_batch ? part.b + t : part.b;
    const Index s = part.along_batch ? part.s : part.s + t;
    const Index k = task.positions.at(b, s, task.in.seq) - rows.first + b * rows.entry;
    const Index coarse = k >> rows.fine_bits;
    const T* fine = rows.fine;
    if (fine != nullptr) fine += (k - (coarse << rows.fine_bits)) * rows.stride;
    const T* const cos = rows.cos + coarse * rows.stride;
    const T* const sin = rows.sin + coarse * rows.stride;
    return {cos, sin, fine, task.pairs, task.cos_scale, task.sin_scale, task.sin_scale != T(1)};
}

/// Pairs begin .. begin + count - 1 of a row that is one of two.
template <class T>
ROPE_NOINLINE void join_row(const Row<T>& row, Index begin, Index count, T* to) noexcept {
    const T* const fine = row.fine + begin;
    turn_each(row.cos + begin, row.sin - row.cos, to + begin, row.pairs, fine, fine + row.pairs, count);
}

/// The row of token t of a part in one piece: `room` takes pairs begin .. begin + count - 1 of one that is joined.
template <class In, class Out, class T>
ROPE_INLINE Row<T> whole_row_of(const RotateTask<In, Out, T>& task, const Part& part, Index t, T* room, Index begin,
                                Index count) noexcept {
    Row<T> row = row_of(task, part, t);
    if (row.fine == nullptr) return row;
    join_row(row, begin, count, room);
    row.cos = room;
    row.sin = room + row.pairs;
    row.fine = nullptr;
    return row;
}

/// Features that do not turn of some heads of one token, out of place.
template <class In, class Out, class T>
ROPE_NOINLINE void copy_rest(const RotateTask<In, Out, T>& task, const In* x, Out* y, Index heads) noexcept {
    const TensorView<const In>& in = task.in;
    const TensorView<Out>& out = task.out;
    const Index end = task.rotary_offset + 2 * task.pairs;
    const Index x_head = head_step(in, heads), y_head = head_step(out, heads);
    for (Index h = 0; h < heads; ++h, x += x_head, y += y_head) {
        copy_features<In, Out, T>(x, in.feature_stride, y, out.feature_stride, task.rotary_offset);
        copy_features<In, Out, T>(x + end * in.feature_stride, in.feature_stride, y + end * out.feature_stride,
                                  out.feature_stride, in.head_dim - end);
    }
}

// 1. Features are neighbours, and there is at least one block of pairs. What streams from memory is asked for ahead,
//    farther than a machine foresees.

/// Tokens of one head each, which share nothing: a row is read where it is used, and may be joined there.
template <class Block, class In, class Out, class T>
ROPE_NOINLINE void turn_single_heads(const RotateTask<In, Out, T>& task, const Part& part) noexcept {
    const In* x = start_of(task.in, part);
    Out* y = start_of(task.out, part);
    const Index x_token = token_step(task.in, part), y_token = token_step(task.out, part);
    const Index offset = task.rotary_offset, pairs = task.pairs, head_dim = task.in.head_dim, tokens = part.tokens;
    const bool in_place = task.in_place, streams = task.order.single_heads_stream;
    for (Index t = 0; t < tokens; ++t, x += x_token, y += y_token) {
        const Row<T> row = row_of(task, part, t);
        if (streams) {
            prefetch(y, head_dim);
            if (row.fine == nullptr) {
                prefetch(row.cos, pairs);
                prefetch(row.sin, pairs);
            }
        }
        turn_heads<Block>(Heads<In, Out>{x + offset, 0, y + offset, 0, 1}, row, pairs);
        if (!in_place) copy_rest(task, x, y, 1);
    }
}

/// Tokens of any number of heads, which share a row.
template <class Block, class In, class Out, class T>
ROPE_NOINLINE void turn_by_blocks(const RotateTask<In, Out, T>& task, const Part& part, T* room) noexcept {
    if (part.heads == 1) return turn_single_heads<Block>(task, part);
    const In* x = start_of(task.in, part);
    Out* y = start_of(task.out, part);
    const Index x_token = token_step(task.in, part), y_token = token_step(task.out, part);
    const Index offset = task.rotary_offset, pairs = task.pairs, head_dim = task.in.head_dim;
    const Index count = part.heads, tokens = part.tokens;
    const Index at_once = task.order.heads_at_once < count ? task.order.heads_at_once : count;
    const bool in_place = task.in_place, streams = task.order.heads_at_once != kAllHeads;
    Heads<In, Out> heads = {x, task.in.head_stride, y, task.out.head_stride, at_once};
    for (Index t = 0; t < tokens; ++t, x += x_token, y += y_token) {
        const Row<T> row = whole_row_of(task, part, t, room, 0, pairs);
        heads.x = x + offset;
        heads.y = y + offset;
        for (Index h = 0; h < count; h += at_once) {
            heads.count = count - h < at_once ? count - h : at_once;
            if (streams)
                for (Index k = 0; k < heads.count; ++k) prefetch(heads.y + k * heads.y_stride, head_dim);
            turn_heads<Block>(heads, row, pairs);
            heads.x += at_once * heads.x_stride;
            heads.y += at_once * heads.y_stride;
        }
        if (!in_place) copy_rest(task, x, y, count);
    }
}

template <class In, class Out, class T>
ROPE_INLINE void turn_contiguous_pairs(const In* x, Out* y, PairShape shape, const Row<T>& row, Index pairs) noexcept {
    if (shape.step == 1) {
        const PairShape constant = {1, shape.distance};
        ROPE_INDEPENDENT_ITERATIONS
        for (Index i = 0; i < pairs; ++i) turn_pair(x, constant, y, constant, row, i);
    } else {
        const PairShape constant = {2, 1};
        ROPE_INDEPENDENT_ITERATIONS
        for (Index i = 0; i < pairs; ++i) turn_pair(x, constant, y, constant, row, i);
    }
}

/// 2. Anything: pair by pair.
template <class In, class Out, class T>
ROPE_NOINLINE void turn_by_pairs(const RotateTask<In, Out, T>& task, const Part& part, T* room) noexcept {
    const TensorView<const In> in = task.in;
    const TensorView<Out> out = task.out;
    const In* x = start_of(in, part);
    Out* y = start_of(out, part);
    const Index x_token = token_step(in, part), y_token = token_step(out, part);
    const Index pairs = task.pairs;
    const Index x_head = head_step(in, part.heads), y_head = head_step(out, part.heads);
    const PairShape x_shape = task.shape * in.feature_stride;
    const PairShape y_shape = task.shape * out.feature_stride;
    [[maybe_unused]] const bool is_contiguous = in.feature_stride == 1 && out.feature_stride == 1;
    for (Index t = 0; t < part.tokens; ++t, x += x_token, y += y_token) {
        const Row<T> row = whole_row_of(task, part, t, room, 0, pairs);
        const In* from = x + task.rotary_offset * in.feature_stride;
        Out* to = y + task.rotary_offset * out.feature_stride;
        for (Index h = 0; h < part.heads; ++h, from += x_head, to += y_head) {
            if constexpr (Vector<T>::kWidth == 1) {
                if (is_contiguous) {  // constant steps, for the compiler to vectorise
                    turn_contiguous_pairs(from, to, task.shape, row, pairs);
                    continue;
                }
            }
            for (Index i = 0; i < pairs; ++i) turn_pair(from, x_shape, to, y_shape, row, i);
        }
        if (!task.in_place) copy_rest(task, x, y, part.heads);
    }
}

/// 3. Tokens or heads are neighbours: at most kLanes tokens, and one if it is the heads.
template <class In, class Out, class T>
ROPE_NOINLINE void turn_neighbours(const RotateTask<In, Out, T>& task, const Part& part, T* room) noexcept {
    const TensorView<const In> in = task.in;
    const TensorView<Out> out = task.out;
    const In* const x = start_of(in, part);
    Out* const y = start_of(out, part);
    const Index count = part.heads;
    const bool along_heads = task.order.lanes == kHeadAxis;
    const Index lanes = along_heads ? (count < kLanes ? count : kLanes) : part.tokens;  // of the tile
    const Index heads_at_once = along_heads ? lanes : 1;
    const PairShape x_shape = task.shape * in.feature_stride;
    const PairShape y_shape = task.shape * out.feature_stride;

    Tile<T> tile;
    for (Index i = 0; i < task.pairs; i += kTilePairs) {
        const Index pairs = task.pairs - i < kTilePairs ? task.pairs - i : kTilePairs;
        Row<T> row = {};
        for (Index lane = 0; lane < lanes; ++lane) {
            if (lane == 0 || !along_heads) row = whole_row_of(task, part, lane, room, i, pairs);
            for (Index k = 0; k < pairs; ++k) {
                tile.cos[k][lane] = row.cos[i + k] * row.cos_scale;
                tile.sin[k][lane] = row.sin[i + k] * row.sin_scale;
            }
        }
        const Index feature = task.rotary_offset + i * task.shape.step;
        for (Index h = 0; h < count; h += heads_at_once) {
            const Index here = along_heads && count - h < lanes ? count - h : lanes;
            turn_lanes(x + h * in.head_stride + feature * in.feature_stride, x_shape,
                       y + h * out.head_stride + feature * out.feature_stride, y_shape, tile, here, pairs);
        }
    }
    if (task.in_place) return;
    for (Index i = 0; i < in.head_dim; ++i) {
        if (i == task.rotary_offset) i += 2 * task.pairs;
        if (i == in.head_dim) break;
        for (Index h = 0; h < count; h += heads_at_once) {
            const Index here = along_heads && count - h < lanes ? count - h : lanes;
            copy_features<In, Out, T>(x + h * in.head_stride + i * in.feature_stride, 1,
                                      y + h * out.head_stride + i * out.feature_stride, 1, here);
        }
    }
}

/// Only what turns contiguous features by vectors depends on the layout; the rest exists once for both.
template <Layout layout, class In, class Out, class T>
ROPE_ABI void rotate(const RotateTask<In, Out, T>& task, Index begin, Index end) noexcept {
    TurnPart<In, Out, T> turn = &turn_by_pairs<In, Out, T>;
    if constexpr (Vector<T>::kWidth > 1) {
        using Wide = typename BlockFor<layout, true, In, Out, T>::type;
        using Plain = typename BlockFor<layout, false, In, Out, T>::type;
        const bool is_contiguous = task.in.feature_stride == 1 && task.out.feature_stride == 1;
        if (is_contiguous && (kHasMasks || task.pairs >= Wide::kPairs)) {
            turn = &turn_by_blocks<Wide, In, Out, T>;
        } else if constexpr (Plain::kPairs < Wide::kPairs) {
            if (is_contiguous && task.pairs >= Plain::kPairs) turn = &turn_by_blocks<Plain, In, Out, T>;
        }
    }
    walk_heads(task, begin, end, turn, &turn_neighbours<In, Out, T>);
}

}  // namespace ROPE_ISA
}  // namespace detail
}  // namespace ROPE_VERSION_NAMESPACE
}  // namespace rope
