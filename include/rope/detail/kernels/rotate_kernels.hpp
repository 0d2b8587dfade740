// SPDX-License-Identifier: MIT
// The kernels of a rotation, written once for every instruction set. No include guard: see isa_list.hpp.

#include "rotate_blocks.hpp"

ROPE_DETAIL_BEGIN
namespace ROPE_ISA {

// Inner loops use copies, because a compiler must assume that the store of a vector changes the originals.

/// Rounds numbers to bfloat16, two vectors at a time: by integers as if none were a NaN, and again if one is. Returns how
/// many.
template <class V, class X>
ROPE_INLINE Index convert_to_bfloat16(const X* x, bfloat16* y, Index count) noexcept {
    constexpr Index two = 2 * V::kWidth;
    Index i = 0;
#if defined(ROPE_BFLOAT16_CONVERSION)
    if (ROPE_BFLOAT16_CONVERSION) {
        for (; i + two <= count; i += two) ByConversion::store(y + i, V::load(x + i).v, V::load(x + i + V::kWidth).v);
        return i;
    }
#endif
    Ints most = all_ints(0);
    for (; i + two <= count; i += two) {
        const V a = V::load(x + i).in_register(), b = V::load(x + i + V::kWidth).in_register();
        most = larger(most, larger(absolute_bits(a), absolute_bits(b)));
        store_upper_halves(y + i, round_upper_half(words(a.v)), round_upper_half(words(b.v)));
    }
    if (largest_of(most) > 0x7f800000)
        for (Index k = 0; k < i; k += two)
            store_upper_halves(y + k, as_bfloat16(V::load(x + k).v), as_bfloat16(V::load(x + k + V::kWidth).v));
    return i;
}
/// Converts elements of one type to another, by way of T.
template <class T, class X, class Y>
ROPE_NOINLINE void convert(const X* x, Index x_stride, Y* y, Index y_stride, Index count) noexcept {
    constexpr Index width = Vector<T>::kWidth;
    Index i = 0;
    if constexpr (width > 1) {
        if constexpr (std::is_same_v<Y, bfloat16>)
            if (x_stride == 1 && y_stride == 1) i = convert_to_bfloat16<Vector<T>>(x, y, count);
        if (x_stride == 1 && y_stride == 1)
            for (; i + width <= count; i += width) Vector<T>::load(x + i).store(y + i);
    }
    for (; i < count; ++i) Element<T, Y>::store(y + i * y_stride, Element<T, X>::load(x + i * x_stride));
}

// ---- Contiguous features, at least one block of pairs ----

/// Rotates heads of one token, which share a row.
template <class Block, class In, class Out, class T>
ROPE_KERNEL void rotate_by_blocks(const In* x, Out* y, const T* cos, const T* sin, const HeadsShape& shape,
                                  Index heads) noexcept {
    rotate_heads<Block>(Heads<const In*, Out*>{x, shape.x_head_stride, y, shape.y_head_stride, heads},
                        Row<T>{cos, sin, nullptr, shape.pairs}, shape.pairs, shape.x_pair.distance);
}

#if defined(ROPE_FALLBACK_ISA)

// ---- With a fallback instruction set: whole blocks, heads that share a row; the fallback does the rest. See
//      ../simd/README.md ----

template <class Block>
inline constexpr Index kGroupPairs = Index{Block::kUnrollAcrossHeads} * Block::kPairs;

/// Rotates heads of one group of blocks, such as 128 features. Addresses are constant but for two pointers, so that
/// none waits for the stack: a core begins the next token while the last one is on its way to memory only if it soon
/// knows the addresses. benchmarks/tuning.md has the measurements.
template <class Block, class In, class Out, class T>
ROPE_KERNEL void rotate_fixed_size(const In* x, Out* y, const T* cos, const T* sin, const HeadsShape& shape,
                                   Index heads) noexcept {
    constexpr Index pairs = kGroupPairs<Block>;
    static_assert(pairs <= kMaxCombinedPairs, "rows that are written first are written whole");
    rotate_blocks<Block, Block::kUnrollAcrossHeads>(
        Heads<const In*, Out*>{x, shape.x_head_stride, y, shape.y_head_stride, heads}, Row<T>{cos, sin, nullptr, pairs},
        0, pairs);
}

template <class Block, class In, class Out, class T>
constexpr RotateKernels<In, Out, T> with_blocks(RotateKernels<In, Out, T> narrower, bool one_group) noexcept {
    narrower.rotate = one_group ? &rotate_fixed_size<Block, In, Out, T> : &rotate_by_blocks<Block, In, Out, T>;
    return narrower;
}
template <Layout layout, class Block, bool one_group, class In, class Out, class T>
inline constexpr RotateKernels<In, Out, T> kByBlocks =
    with_blocks<Block>(ROPE_FALLBACK_ISA::rotate_kernels<layout, In, Out, T>(Block::kPairs, true), one_group);

template <Layout layout, class Block, class In, class Out, class T>
constexpr const RotateKernels<In, Out, T>& kernels_by_blocks(Index pairs) noexcept {
    if (pairs == kGroupPairs<Block>) return kByBlocks<layout, Block, true, In, Out, T>;
    return kByBlocks<layout, Block, false, In, Out, T>;
}
template <Layout layout, class In, class Out, class T>
constexpr const RotateKernels<In, Out, T>& rotate_kernels(Index pairs, bool is_contiguous) noexcept {
    using Block = typename BlockFor<layout, true, In, Out, T>::type;
    if (!is_contiguous || pairs % Block::kPairs != 0)
        return ROPE_FALLBACK_ISA::rotate_kernels<layout, In, Out, T>(pairs, is_contiguous);
#    if defined(ROPE_BFLOAT16_CONVERSION)
    if constexpr (kIsBfloat16<In, Out>)
        if (ROPE_BFLOAT16_CONVERSION)
            return kernels_by_blocks<layout, typename BlockFor<layout, true, In, Out, T, ByConversion>::type, In, Out,
                                     T>(pairs);
#    endif
    return kernels_by_blocks<layout, Block, In, Out, T>(pairs);
}

#else

/// Rotates tokens of one head each. They share no row: each row is loaded where it is used, and combined there if
/// split.
template <class Block, class In, class Out, class T>
ROPE_KERNEL void rotate_one_head_per_token(const TokenRun<In, Out, T>& run) noexcept {
    const In* const x = run.x;
    Out* const y = run.y;
    const Row<T> first = run.row;
    const Index tokens = run.tokens, x_token_stride = run.x_token_stride, y_token_stride = run.y_token_stride,
                row_stride = run.row_stride;
    const Index pairs = run.shape.pairs, distance = run.shape.x_pair.distance;
    const Index prefetch_features = run.prefetch_features, prefetch_pairs = run.prefetch_pairs;
    for (Index t = 0; t < tokens; ++t) {
        Row<T> row = first;
        if (first.fine == nullptr) {
            row.cos += t * row_stride;
            row.sin += t * row_stride;
        } else {
            row.fine += t * row_stride;
        }
        if (prefetch_features > 0) {
            prefetch(y + t * y_token_stride, prefetch_features);
            prefetch(row.cos, prefetch_pairs);
            prefetch(row.sin, prefetch_pairs);
        }
        rotate_heads<Block>(Heads<const In*, Out*>{x + t * x_token_stride, 0, y + t * y_token_stride, 0, 1}, row, pairs,
                            distance);
    }
}

/// Instruction sets without fma, on old machines, have none, so that translation units compile sooner.
template <class Block, class In, class Out, class T>
constexpr auto single_heads() noexcept {
    if constexpr (kHasFma)
        return &rotate_one_head_per_token<Block, In, Out, T>;
    else
        return nullptr;
}

// ---- Any strides: pair by pair ----

/// Rotates pairs in blocks of a constant size: at -O2, g++ vectorises a loop only if it has no tail.
template <class In, class Out, class T>
ROPE_INLINE void rotate_contiguous_pairs(const In* x, Out* y, PairShape shape, const Row<T>& row,
                                         Index pairs) noexcept {
    constexpr Index kBlock = 16;
    Index i = 0;
    for (; i + kBlock <= pairs; i += kBlock) {
        ROPE_INDEPENDENT_ITERATIONS
        for (Index k = 0; k < kBlock; ++k) rotate_pair(x, shape, y, shape, row, i + k);
    }
    for (; i < pairs; ++i) rotate_pair(x, shape, y, shape, row, i);
}

/// Not inlined, as ROPE_LOOPS_BEGIN must enclose its loops.
template <class In, class Out, class T>
ROPE_NOINLINE void rotate_by_pairs(const In* x, Out* y, const T* cos, const T* sin, const HeadsShape& shape,
                                   Index heads) noexcept {
    const HeadsShape of = shape;
    const Row<T> row = {cos, sin, nullptr, of.pairs};
    // Contiguous features are the first ones of consecutive pairs, or the two of one pair.
    [[maybe_unused]] const bool is_contiguous = (of.x_pair.step == 1 || of.x_pair.distance == 1) &&
                                                of.x_pair.step == of.y_pair.step &&
                                                of.x_pair.distance == of.y_pair.distance;
    for (Index h = 0; h < heads; ++h, x += of.x_head_stride, y += of.y_head_stride) {
        if constexpr (Vector<T>::kWidth == 1) {
            if (is_contiguous) {  // constant strides, for the compiler to vectorise
                if (of.x_pair.step == 1)
                    rotate_contiguous_pairs(x, y, {1, of.x_pair.distance}, row, of.pairs);
                else
                    rotate_contiguous_pairs(x, y, {2, 1}, row, of.pairs);
                continue;
            }
        }
        for (Index i = 0; i < of.pairs; ++i) rotate_pair(x, of.x_pair, y, of.y_pair, row, i);
    }
}

/// Without fma, the plain loops give the same bits.
template <class In, class Out, class T>
constexpr auto by_pairs() noexcept {
    if constexpr (kHasFma)
        return &rotate_by_pairs<In, Out, T>;
    else
        return &portable::rotate_by_pairs<In, Out, T>;
}

// ---- Strided features, contiguous tokens or heads: kLanes of them at once ----

/// Contiguous features x[k], each paired with x[x_distance + k] and rotated by its own cos and sin.
template <class In, class Out, class T>
struct ColumnPair {
    using V = Vector<T>;
    const In* x;
    Index x_distance;
    Out* y;
    Index y_distance;
    const T* cos;
    const T* sin;

    ROPE_INLINE Pair<V> rotated_from(Index k) const noexcept {
        return rotated(Pair<V>{V::load(x + k), V::load(x + x_distance + k)},
                       Pair<V>{V::load(cos + k), V::load(sin + k)});
    }
    ROPE_INLINE void store_from(Index k, const Pair<V>& result) const noexcept {
        result.a.store(y + k);
        result.b.store(y + y_distance + k);
    }
    ROPE_INLINE void rotate_one(Index k) const noexcept {
        const Pair<T> pair = {Element<T, In>::load(x + k), Element<T, In>::load(x + x_distance + k)};
        const Pair<T> result = rotated(pair, cos[k], sin[k]);
        Element<T, Out>::store(y + k, result.a);
        Element<T, Out>::store(y + y_distance + k, result.b);
    }
};

/// Rotates `count` of them. The last vector may overlap the one before it, so it is loaded before any is stored: in
/// place, common elements would be rotated twice.
template <class In, class Out, class T>
ROPE_INLINE void rotate_each(const ColumnPair<In, Out, T>& of, Index count) noexcept {
    constexpr Index kWidth = Vector<T>::kWidth;
    Index k = 0;
    if constexpr (kWidth > 1) {
        if (count >= kWidth) {
            const Index last = count - kWidth;
            const Pair<Vector<T>> last_result = of.rotated_from(last);
            for (; k < last; k += kWidth) of.store_from(k, of.rotated_from(k));
            return of.store_from(last, last_result);
        }
    }
    for (; k < count; ++k) of.rotate_one(k);
}

template <class In, class Out, class T>
void rotate_columns(const In* x, Out* y, const Tile<T>& tile, const HeadsShape& shape, Index heads,
                    Index lanes) noexcept {
    const HeadsShape of = shape;
    for (Index i = 0; i < of.pairs; ++i)
        for (Index h = 0; h < heads; ++h)
            rotate_each(ColumnPair<In, Out, T>{x + i * of.x_pair.step + h * of.x_head_stride, of.x_pair.distance,
                                               y + i * of.y_pair.step + h * of.y_head_stride, of.y_pair.distance,
                                               tile.cos[i], tile.sin[i]},
                        lanes);
}

// ---- Rows and features ----

template <class T>
void write_row(const Row<T>& row, Index count, T cos_scale, T sin_scale, T* cos, T* sin) noexcept {
    const Row<T> from = row;
    Index i = 0;
    if constexpr (Vector<T>::kWidth > 1) {
        using V = Vector<T>;
        for (; i + V::kWidth <= count; i += V::kWidth) {
            const Pair<V> both = load_cos_sin<V>(from, i);
            (both.a * V::all(cos_scale)).store(cos + i);
            (both.b * V::all(sin_scale)).store(sin + i);
        }
    }
    for (; i < count; ++i) {
        Pair<T> both = {from.cos[i], from.sin[i]};
        if (from.fine != nullptr) both = rotated(both, from.fine[i], from.fine[from.pairs + i]);
        cos[i] = both.a * cos_scale;
        sin[i] = both.b * sin_scale;
    }
}

template <class In, class Out, class T>
constexpr auto copy_features() noexcept {
    if constexpr (std::is_same_v<In, Out>)
        return nullptr;
    else
        return &convert<T, In, Out>;
}

// ---- The kernels of this instruction set ----

// Only the rotation of contiguous features by vectors depends on the layout; the rest exists once for both.

template <class In, class Out, class T>
inline constexpr RotateKernels<In, Out, T> kByPairs = {by_pairs<In, Out, T>(), nullptr, &rotate_columns<In, Out, T>,
                                                       &write_row<T>, copy_features<In, Out, T>()};
template <class Block, class In, class Out, class T>
inline constexpr RotateKernels<In, Out, T> kByBlocks = {&rotate_by_blocks<Block, In, Out, T>,
                                                        single_heads<Block, In, Out, T>(), &rotate_columns<In, Out, T>,
                                                        &write_row<T>, copy_features<In, Out, T>()};

template <Layout layout, class In, class Out, class T>
constexpr const RotateKernels<In, Out, T>& rotate_kernels(Index pairs, bool is_contiguous) noexcept {
    if constexpr (Vector<T>::kWidth > 1) {
        using Wide = typename BlockFor<layout, true, In, Out, T>::type;
        using Plain = typename BlockFor<layout, false, In, Out, T>::type;
#    if defined(ROPE_BFLOAT16_CONVERSION)
        if constexpr (kIsBfloat16<In, Out>)
            if (is_contiguous && pairs >= Wide::kPairs && ROPE_BFLOAT16_CONVERSION)
                return kByBlocks<typename BlockFor<layout, true, In, Out, T, ByConversion>::type, In, Out, T>;
#    endif
        if (is_contiguous && pairs >= Wide::kPairs) return kByBlocks<Wide, In, Out, T>;
        if constexpr (Plain::kPairs < Wide::kPairs)
            if (is_contiguous && pairs >= Plain::kPairs) return kByBlocks<Plain, In, Out, T>;
    }
    return kByPairs<In, Out, T>;
}

#endif

}  // namespace ROPE_ISA
ROPE_DETAIL_END
