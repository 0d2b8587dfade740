// SPDX-License-Identifier: MIT
// Rotates contiguous features by vectors, for rotate_kernels.hpp. No include guard: see isa_list.hpp.

#include "features.hpp"

ROPE_DETAIL_BEGIN
namespace ROPE_ISA {

template <class V>
ROPE_INLINE Pair<V> rotated(Pair<V> x, Pair<V> by) noexcept {
    return {fms(x.a, by.a, x.b * by.b), fma(x.b, by.a, x.a * by.b)};
}

// ---- One pair, where no vector fits ----

template <class T>
ROPE_INLINE Pair<T> rotated(Pair<T> x, T c, T s) noexcept {
    return {fma(x.a, c, -(x.b * s)), fma(x.b, c, x.a * s)};
}

/// Rotates pair i of one head, whose features lie at i * step and at i * step + distance.
template <class In, class Out, class T>
ROPE_INLINE void rotate_pair(const In* x, PairShape x_shape, Out* y, PairShape y_shape, const Row<T>& row,
                             Index i) noexcept {
    const Pair<T> pair = {Element<T, In>::load(x + i * x_shape.step),
                          Element<T, In>::load(x + i * x_shape.step + x_shape.distance)};
    const Pair<T> result = rotated(pair, row.cos[i], row.sin[i]);
    Element<T, Out>::store(y + i * y_shape.step, result.a);
    Element<T, Out>::store(y + i * y_shape.step + y_shape.distance, result.b);
}

/// An instruction set with a fallback rotates whole blocks only: it has no split rows to combine and no masked tail.
#if defined(ROPE_FALLBACK_ISA)
inline constexpr bool kHasWholeBlocksOnly = true;
#else
inline constexpr bool kHasWholeBlocksOnly = false;
#endif

// ---- Blocks: kPairs pairs of a head at once. prepare loads cos and sin into registers, rotate applies them to one
//      head. The block of pair i begins at feature i * kStep / kPairs of its head. Register blocking: kUnroll blocks
//      are rotated together, or kUnrollAcrossHeads if several heads share them. ----

/// With 32 registers, as many doubles as floats are rotated together, and half-split blocks load the first features of
/// all blocks before the second ones, in the order of memory: hardware prefetch follows consecutive lines.
/// benchmarks/tuning.md has the measurements.
template <class T>
inline constexpr int kDoublesOverHeads = kHas32Registers && sizeof(T) == 8 ? 2 : 1;

/// Loads cos and sin of consecutive pairs from pair i on. A split row is combined here: for one head that costs less
/// than to write it first and read it. For several heads it has been written first.
template <class V, class T>
ROPE_INLINE Pair<V> load_cos_sin(const Row<T>& row, Index i) noexcept {
    const Pair<V> of_row = {V::load(row.cos + i), V::load(row.sin + i)};
    if constexpr (!kHasWholeBlocksOnly)
        if (row.fine != nullptr)
            return rotated(of_row,
                           {V::load(row.fine + i).in_register(), V::load(row.fine + row.pairs + i).in_register()});
    return of_row;
}

/// (x[i], x[i + distance]). V is a Vector, or EvenOdd if input and output are bfloat16.
template <class V, class T>
struct HalfSplitBlock {
    static constexpr Index kPairs = V::kWidth;
    static constexpr Index kStep = kPairs;
    static constexpr int kUnroll = 4 * Vector<T>::kWidth / V::kWidth;
    static constexpr int kUnrollAcrossHeads = kUnroll * kDoublesOverHeads<T>;
    Pair<V> cos_sin;

    ROPE_INLINE void prepare(const Row<T>& row, Index i) noexcept { cos_sin = load_cos_sin<V>(row, i); }
    using Result = Pair<V>;
    template <class X>
    ROPE_INLINE Result rotate(X x, Index distance) const noexcept {
        return rotated({load_features<V>(x), load_features<V>(x + distance)}, cos_sin);
    }
    template <class Y, class Lanes>
    ROPE_INLINE static void store_first(const Result& r, Y y, Lanes lanes) noexcept {
        store(r.a, y, lanes);
    }
    template <class Y, class Lanes>
    ROPE_INLINE static void store_second(const Result& r, Y y, Index distance, Lanes lanes) noexcept {
        store(r.b, y + distance, lanes);
    }
};

/// (x[2i], x[2i + 1]), contiguous in memory: the common part of the two blocks below.
template <class Result_, class T>
struct AdjacentBlock {
    using V = Vector<T>;
    using Result = Result_;
    static constexpr Index kPairs = Result::kWidth / 2;
    static constexpr Index kStep = Result::kWidth;
    static constexpr int kUnroll = 4;
    static constexpr int kUnrollAcrossHeads = kUnroll;
    Pair<V> cos_sin;

    template <class Y, class Lanes>
    ROPE_INLINE static void store_first(const Result& r, Y y, Lanes lanes) noexcept {
        store(r, y, lanes.twice());
    }
    template <class Y, class Lanes>
    ROPE_INLINE static void store_second(const Result&, Y, Index, Lanes) noexcept {}
};

/// x * (c0, c0, c1, c1, ...) -+ swapped x * (s0, s0, s1, s1, ...)
template <class T>
struct InterleavedBlock : AdjacentBlock<Vector<T>, T> {
    using V = Vector<T>;
    // With AVX2, a fourth of cos and sin then stays in memory.
    static constexpr int kUnrollAcrossHeads = 8 * kDoublesOverHeads<T>;

    ROPE_INLINE void prepare(const Row<T>& row, Index i) noexcept {
        this->cos_sin = {V::load_dup(row.cos + i), V::load_dup(row.sin + i)};
        if constexpr (!kHasWholeBlocksOnly)
            if (row.fine != nullptr)
                this->cos_sin =
                    rotated(this->cos_sin, {V::load_dup(row.fine + i), V::load_dup(row.fine + row.pairs + i)});
    }
    template <class X>
    ROPE_INLINE V rotate(X x, Index) const noexcept {
        const V v = load_features<V>(x);
        return fmaddsub(v, this->cos_sin.a, v.swap_adjacent() * this->cos_sin.b);
    }
};

/// Interleaved bfloat16: even elements are a, odd elements are b.
template <class Rounding, class T>
struct EvenOddInterleavedBlock : AdjacentBlock<EvenOdd<Rounding>, T> {
    using V = Vector<T>;

    ROPE_INLINE void prepare(const Row<T>& row, Index i) noexcept {
        const Pair<V> of_row = load_cos_sin<V>(row, i);
        this->cos_sin = {of_row.a.truncate_nans(), of_row.b.truncate_nans()};
    }
    template <class X>
    ROPE_INLINE EvenOdd<Rounding> rotate(X x, Index) const noexcept {
        const auto v = load_features<EvenOdd<Rounding>>(x);
        const Pair<V> result = rotated({v.even, v.odd}, this->cos_sin);
        return {result.a, result.b};
    }
};

/// Prepares two consecutive blocks.
template <class Block, class T>
ROPE_INLINE void prepare_two(Block& first, Block& second, const Row<T>& row, Index i) noexcept {
    first.prepare(row, i);
    second.prepare(row, i + Block::kPairs);
}
/// A split row is combined before its entries are duplicated. Entries of other rows are duplicated as they are loaded,
/// from which tokens of one head gain.
template <class T>
ROPE_INLINE void prepare_two(InterleavedBlock<T>& first, InterleavedBlock<T>& second, const Row<T>& row,
                             Index i) noexcept {
    if constexpr (!kHasWholeBlocksOnly)
        if (row.fine != nullptr) {
            const Pair<Vector<T>> both = load_cos_sin<Vector<T>>(row, i);
            first.cos_sin = {both.a.dup_lower(), both.b.dup_lower()};
            second.cos_sin = {both.a.dup_upper(), both.b.dup_upper()};
            return;
        }
    first.prepare(row, i);
    second.prepare(row, i + InterleavedBlock<T>::kPairs);
}

/// Rotates the features of one head in two consecutive blocks. Adjacent vectors are stored together, because machines
/// that can store twice in a cycle do so when both stores go to the same cache line.
template <class Block, class X, class Y>
ROPE_INLINE void rotate_two(const Block& first, const Block& second, X x, Y y, Index distance) noexcept {
    const typename Block::Result a = first.rotate(x, distance);
    const typename Block::Result b = second.rotate(x + Block::kStep, distance);
    Block::store_first(a, y, WholeVector());
    Block::store_first(b, y + Block::kStep, WholeVector());
    Block::store_second(a, y, distance, WholeVector());
    Block::store_second(b, y + Block::kStep, distance, WholeVector());
}
template <class T, class X, class Y>
ROPE_INLINE void rotate_two(const HalfSplitBlock<Vector<T>, T>& first, const HalfSplitBlock<Vector<T>, T>& second, X x,
                            Y y, Index distance) noexcept {
    const VectorPair<T> cos = {first.cos_sin.a, second.cos_sin.a}, sin = {first.cos_sin.b, second.cos_sin.b};
    const VectorPair<T> a = load_two<T>(x), b = load_two<T>(x + distance);
    const Pair<VectorPair<T>> result = rotated(Pair<VectorPair<T>>{a, b}, Pair<VectorPair<T>>{cos, sin});
    store(result.a.first, y, WholeVector());
    store(result.a.second, y + Vector<T>::kWidth, WholeVector());
    store(result.b.first, y + distance, WholeVector());
    store(result.b.second, y + distance + Vector<T>::kWidth, WholeVector());
}
template <class T, class X, class Y>
ROPE_INLINE void rotate_two(const InterleavedBlock<T>& first, const InterleavedBlock<T>& second, X x, Y y,
                            Index) noexcept {
    const VectorPair<T> cos = {first.cos_sin.a, second.cos_sin.a}, sin = {first.cos_sin.b, second.cos_sin.b};
    const VectorPair<T> v = load_two<T>(x);
    const VectorPair<T> result = fmaddsub(v, cos, v.swap_adjacent() * sin);
    store(result.first, y, WholeVector());
    store(result.second, y + Vector<T>::kWidth, WholeVector());
}

template <class In, class Out>
inline constexpr bool kIsBfloat16 = std::is_same_v<In, bfloat16>&& std::is_same_v<Out, bfloat16>;

/// The block for given types. `wide` is false for heads with fewer pairs than the widest block has.
template <Layout layout, bool wide, class In, class Out, class T, class Rounding = ByIntegers>
struct BlockFor {
    static constexpr bool is_half_split = layout == Layout::half_split;
    using Plain = std::conditional_t<is_half_split, HalfSplitBlock<Vector<T>, T>, InterleavedBlock<T>>;
    using Split =
        std::conditional_t<is_half_split, HalfSplitBlock<EvenOdd<Rounding>, T>, EvenOddInterleavedBlock<Rounding, T>>;
    using type = std::conditional_t<kIsBfloat16<In, Out> && wide, Split, Plain>;
};

/// n consecutive blocks, rotated two at a time. Recursion instead of an array, so that every compiler keeps them in
/// registers.
template <class Block, int n>
struct Unrolled {
    Block first, second;
    Unrolled<Block, n - 2> rest;

    template <class T>
    ROPE_INLINE void prepare(const Row<T>& row, Index i) noexcept {
        prepare_two(first, second, row, i);
        rest.prepare(row, i + 2 * Block::kPairs);
    }
    template <class X, class Y>
    ROPE_INLINE void rotate(X x, Y y, Index distance) const noexcept {
        rotate_two(first, second, x, y, distance);
        rest.rotate(x + 2 * Block::kStep, y + 2 * Block::kStep, distance);
    }
};
template <class Block>
struct Unrolled<Block, 0> {
    template <class T>
    ROPE_INLINE void prepare(const Row<T>&, Index) noexcept {}
    template <class X, class Y>
    ROPE_INLINE void rotate(X, Y, Index) const noexcept {}
};

/// Rotates one block whose first features are loaded; x points to the second ones.
template <class T, class X, class Y>
ROPE_INLINE void rotate_second(const HalfSplitBlock<Vector<T>, T>& block, Vector<T> first, X x, Y y,
                               Index distance) noexcept {
    const Pair<Vector<T>> result = rotated({first, load_features<Vector<T>>(x)}, block.cos_sin);
    store(result.a, y, WholeVector());
    store(result.b, y + distance, WholeVector());
    compiler_fence();
}

/// The first features of n half-split blocks of one head.
template <class T, int n>
struct FirstFeatures {
    VectorPair<T> two;
    FirstFeatures<T, n - 2> rest;

    template <class X>
    ROPE_INLINE void load(X x) noexcept {
        two = load_two<T>(x);
        rest.load(x + 2 * Vector<T>::kWidth);
    }
    template <class X, class Y>
    ROPE_INLINE void rotate(const Unrolled<HalfSplitBlock<Vector<T>, T>, n>& by, X x, Y y,
                            Index distance) const noexcept {
        rotate_second(by.first, two.first, x + distance, y, distance);
        rotate_second(by.second, two.second, x + distance + Vector<T>::kWidth, y + Vector<T>::kWidth, distance);
        rest.rotate(by.rest, x + 2 * Vector<T>::kWidth, y + 2 * Vector<T>::kWidth, distance);
    }
};
template <class T>
struct FirstFeatures<T, 0> {
    template <class X>
    ROPE_INLINE void load(X) noexcept {}
    template <class X, class Y>
    ROPE_INLINE void rotate(const Unrolled<HalfSplitBlock<Vector<T>, T>, 0>&, X, Y, Index) const noexcept {}
};

/// Heads of one token, whose rotated slices begin at x and y. (Kernels step on after the last head, but read nothing
/// there.)
template <class X, class Y>
struct Heads {
    X x;
    Index x_stride;
    Y y;
    Index y_stride;
    Index count;
};

/// Rotates one block of every head from pair i on, and stores the given lanes.
template <class Block, class Lanes, class X, class Y, class T>
ROPE_INLINE void rotate_block(const Heads<X, Y>& heads, const Row<T>& row, Index i, Index distance,
                              Lanes lanes) noexcept {
    Block block;
    block.prepare(row, i);
    X x = heads.x + i * (Block::kStep / Block::kPairs);
    Y y = heads.y + i * (Block::kStep / Block::kPairs);
    for (Index h = 0; h < heads.count; ++h) {
        const typename Block::Result result = block.rotate(x, distance);
        Block::store_first(result, y, lanes);
        Block::store_second(result, y, distance, lanes);
        x = next_head(x, heads.x_stride);
        y += heads.y_stride;
    }
}

/// Rotates n blocks of every head from pair i on.
template <class Block, int n, class X, class Y, class T>
ROPE_INLINE void rotate_blocks(const Heads<X, Y>& heads, const Row<T>& row, Index i, Index distance) noexcept {
    Unrolled<Block, n> blocks;
    blocks.prepare(row, i);
    if constexpr (kHas32Registers) compiler_fence();
    X x = heads.x + i * (Block::kStep / Block::kPairs);
    Y y = heads.y + i * (Block::kStep / Block::kPairs);
    for (Index h = 0; h < heads.count; ++h) {
        if constexpr (kHas32Registers && std::is_same_v<Block, HalfSplitBlock<Vector<T>, T>>) {
            // clang would count down to zero, and cores predict the end of such a loop less well.
            h = hide_from_optimizer(h);
            FirstFeatures<T, n> first;
            first.load(x);
            compiler_fence();
            first.rotate(blocks, x, y, distance);
        } else {
            blocks.rotate(x, y, distance);
        }
        x = next_head(x, heads.x_stride);
        y += heads.y_stride;
    }
}

/// Rotates `pairs` pairs of the heads; the features of a pair lie at `distance`. Masked tail: the last block
/// overlaps the one before it and stores only new lanes, so there must be at least one block of pairs; with a fallback
/// instruction set, whole blocks.
template <class Block, int kMost = Block::kUnrollAcrossHeads, class X, class Y, class T>
ROPE_INLINE void rotate_heads(const Heads<X, Y>& heads, const Row<T>& row, Index pairs, Index distance) noexcept {
    constexpr int kUnroll = Block::kUnroll;
    Index i = 0;
    if constexpr (kMost > kUnroll)
        for (; heads.count > 1 && i + kMost * Block::kPairs <= pairs; i += kMost * Block::kPairs)
            rotate_blocks<Block, kMost>(heads, row, i, distance);
    constexpr int kHalf = kMost / 2;
    if constexpr (kHalf > kUnroll)
        for (; heads.count > 1 && i + kHalf * Block::kPairs <= pairs; i += kHalf * Block::kPairs)
            rotate_blocks<Block, kHalf>(heads, row, i, distance);
    for (; i + kUnroll * Block::kPairs <= pairs; i += kUnroll * Block::kPairs)
        rotate_blocks<Block, kUnroll>(heads, row, i, distance);
    for (; i + Block::kPairs <= pairs; i += Block::kPairs) rotate_block<Block>(heads, row, i, distance, WholeVector());
    if constexpr (!kHasWholeBlocksOnly) {
        if (i == pairs) return;
        const Index begin = pairs - Block::kPairs;
        rotate_block<Block>(heads, row, begin, distance, SkipFirst{i - begin});
    }
}

}  // namespace ROPE_ISA
ROPE_DETAIL_END
