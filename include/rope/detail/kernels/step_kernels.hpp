// SPDX-License-Identifier: MIT
// The kernels of the steps of a path, written once for every instruction set. No include guard: see isa_list.hpp.
//
// x may be y. Each kernel has one rounding per loop and result, or hides what it has rounded, so that no compiler fuses
// two operations into one or changes the order of sums: the bits are the same in all sets, with fma and without, and
// with -ffast-math. Comparisons for which a NaN or the sign of a zero matters are made on bits.

ROPE_DETAIL_BEGIN
namespace ROPE_ISA {

// ---- Between memory and the type of the computation ----

template <class T>
void load_elements(const void* x, ElementType type, Index stride, T* y, Index count) noexcept {
    if constexpr (sizeof(T) == 8) {
        convert<T>(static_cast<const double*>(x), stride, y, 1, count);
    } else {
        if (type == ElementType::f16) return convert<T>(static_cast<const half*>(x), stride, y, 1, count);
        if (type == ElementType::bf16) return convert<T>(static_cast<const bfloat16*>(x), stride, y, 1, count);
        convert<T>(static_cast<const float*>(x), stride, y, 1, count);
    }
}
template <class T>
void store_elements(const T* x, void* y, ElementType type, Index stride, Index count) noexcept {
    if constexpr (sizeof(T) == 8) {
        convert<T>(x, 1, static_cast<double*>(y), stride, count);
    } else {
        if (type == ElementType::f16) return convert<T>(x, 1, static_cast<half*>(y), stride, count);
        if (type == ElementType::bf16) return convert<T>(x, 1, static_cast<bfloat16*>(y), stride, count);
        convert<T>(x, 1, static_cast<float*>(y), stride, count);
    }
}

// ---- Sums, in double: kSums partial sums of every kSums-th number, then sums by halves ----

/// The sum of `count` partial sums, a power of two.
template <Index count>
ROPE_INLINE double sum_by_halves(const double* sums) noexcept {
    if constexpr (count == 1) {
        return *sums;
    } else {
        double sums_of_two[static_cast<std::size_t>(count / 2)];
        ROPE_UNROLL
        for (Index k = 0; k < count / 2; ++k) sums_of_two[k] = hide_from_optimizer(sums[k] + sums[k + count / 2]);
        return sum_by_halves<count / 2>(sums_of_two);
    }
}

/// value, or value^2, added to a partial sum. The square of a float is exact, so that an fma has the same bits.
template <bool of_squares, bool is_exact, class V>
ROPE_INLINE V accumulated(V sum, V value) noexcept {
    sum = sum.in_register();  // after the numbers before this one, whatever the flags
    if constexpr (!of_squares)
        return sum + value;
    else if constexpr (is_exact)
        return fma(value, value, sum);
    else
        return sum + product(value, value);
}

/// x less the shift, rounded to double.
template <bool is_shifted, class T>
ROPE_INLINE double shifted(T x, double shift) noexcept {
    return is_shifted ? hide_from_optimizer(static_cast<double>(x) - shift) : static_cast<double>(x);
}
/// Adds kSums numbers, or their squares, to as many partial sums; the shift, whose negative `minus` is, is taken from each.
template <bool of_squares, bool is_exact, bool is_shifted, class V, class X>
ROPE_INLINE void accumulate(V* sum, const X* x, V minus) noexcept {
    ROPE_UNROLL
    for (Index k = 0; k < kSums / V::kWidth; ++k) {
        V value = V::load(x + k * V::kWidth);
        if constexpr (is_shifted) value = (value + minus).in_register();
        sum[k] = accumulated<of_squares, is_exact>(sum[k], value);
    }
}
/// Sums of x - shift, or of its squares, as a vector: its lanes, added by halves, are the sum of the head. Each round of the
/// loop takes steps * kSums numbers, which must divide `count` if there are several steps.
template <bool of_squares, bool is_shifted, int steps, class V, class T>
ROPE_INLINE V lane_sums(const T* x, double shift, Index count) noexcept {
    constexpr bool is_exact = sizeof(T) == 4 && !is_shifted;
    constexpr Index n = kSums / V::kWidth;
    const V minus = V::all(-shift);
    V sum[static_cast<std::size_t>(n)];
    ROPE_UNROLL
    for (Index k = 0; k < n; ++k) sum[k] = V::all(0.0);
    Index i = 0;
    for (; i + steps * kSums <= count; i += steps * kSums) {
        ROPE_UNROLL
        for (int k = 0; k < steps; ++k) accumulate<of_squares, is_exact, is_shifted>(sum, x + i + k * kSums, minus);
    }
    if (steps == 1 && i < count) {
        double last[kSums] = {};
        for (Index k = 0; i + k < count; ++k) last[k] = shifted<is_shifted>(x[i + k], shift);
        accumulate<of_squares, is_exact, false>(sum, static_cast<const double*>(last), minus);
    }
    ROPE_UNROLL
    for (Index k = 0; k < n; ++k) sum[k] = sum[k].in_register();
    ROPE_UNROLL
    for (Index half_of = n / 2; half_of > 0; half_of /= 2)
        for (Index k = 0; k < half_of; ++k) sum[k] = (sum[k] + sum[k + half_of]).in_register();
    return sum[0];
}
/// lane_sums of each head, as many heads at a time as a vector has lanes, which are added together.
template <bool of_squares, bool is_shifted, int steps, class V, class T>
ROPE_INLINE void sums_by_vectors(const T* x, Index stride, Index heads, Index count, const double* shifts,
                                 double* sums) noexcept {
    decltype(V::v) of_heads[static_cast<std::size_t>(V::kWidth)];
    for (Index h = 0; h < heads; h += V::kWidth) {
        for (Index k = 0; k < V::kWidth; ++k, x += stride) {
            if (h + k < heads)
                of_heads[k] = lane_sums<of_squares, is_shifted, steps, V>(x, is_shifted ? shifts[h + k] : 0.0, count).v;
            else
                of_heads[k] = V::all(0.0).v;
        }
        const V all = {sums_of(of_heads)};
        if (h + V::kWidth <= heads) {
            all.store(sums + h);
        } else {
            double last[static_cast<std::size_t>(V::kWidth)];
            all.store(last);
            std::memcpy(sums + h, last, static_cast<std::size_t>(heads - h) * sizeof(double));
        }
    }
}
/// The sum of x - shift of the head, or of its squares, for each head; `shifts` is null without. Double is double; as a
/// parameter, so that a set without vectors does not compile those.
template <bool of_squares, bool is_shifted, class T, class Double = double>
ROPE_NOINLINE void sums_of_heads(const T* x, Index stride, Index heads, Index count, const double* shifts,
                                 double* sums) noexcept {
    using V = Vector<Double>;
    if constexpr (V::kWidth > 1) {
        if (count % (4 * kSums) == 0)
            sums_by_vectors<of_squares, is_shifted, 4, V>(x, stride, heads, count, shifts, sums);
        else
            sums_by_vectors<of_squares, is_shifted, 1, V>(x, stride, heads, count, shifts, sums);
    } else {
        for (Index h = 0; h < heads; ++h, x += stride) {
            double partial[kSums] = {};
            for (Index i = 0; i < count; ++i) {
                const double value = shifted<is_shifted>(x[i], is_shifted ? shifts[h] : 0.0);
                double& sum = partial[i % kSums];
                sum = hide_from_optimizer(sum + (of_squares ? product(value, value) : value));
            }
            sums[h] = sum_by_halves<kSums>(partial);
        }
    }
}
template <class T>
void sums(const T* x, Index stride, Index heads, Index count, double* sums_of_all) noexcept {
    sums_of_heads<false, false>(x, stride, heads, count, nullptr, sums_of_all);
}
template <class T>
void sums_of_squares(const T* x, Index stride, Index heads, Index count, const double* shifts,
                     double* sums_of_all) noexcept {
    if (shifts == nullptr)
        sums_of_heads<true, false>(x, stride, heads, count, shifts, sums_of_all);
    else
        sums_of_heads<true, true>(x, stride, heads, count, shifts, sums_of_all);
}
/// 1 / sqrt(squares / divisor + eps) of as many heads as a vector has lanes.
template <class V>
ROPE_INLINE V reciprocal_root(V squares, double divisor, double eps) noexcept {
    const V sum = (squares.divided_by(V::all(divisor)) + V::all(eps)).in_register();
    return V::all(1.0).divided_by({square_root(sum.v)});
}
template <class T>
ROPE_NOINLINE void reciprocal_roots(const double* squares, Index heads, double divisor, double eps, T* roots) noexcept {
    using V = Vector<double>;
    Index h = 0;
    for (; h + V::kWidth <= heads; h += V::kWidth) reciprocal_root(V::load(squares + h), divisor, eps).store(roots + h);
    if (h >= heads) return;
    double last[static_cast<std::size_t>(V::kWidth)];
    for (double& one : last) one = 1.0;  // whose root raises no exception
    T last_roots[static_cast<std::size_t>(V::kWidth)];
    std::memcpy(last, squares + h, static_cast<std::size_t>(heads - h) * sizeof(double));
    reciprocal_root(V::load(last), divisor, eps).store(last_roots);
    std::memcpy(roots + h, last_roots, static_cast<std::size_t>(heads - h) * sizeof(T));
}

// ---- One operation ----

/// y = x * w, or x * factor without w.
template <class T>
void multiply(const T* x, T* y, T factor, const T* w, Index count) noexcept {
    Index i = 0;
    if constexpr (Vector<T>::kWidth > 1) {
        using V = Vector<T>;
        if (w == nullptr) {
            ROPE_UNROLL_4
            for (; i + V::kWidth <= count; i += V::kWidth) (V::load(x + i) * V::all(factor)).store(y + i);
        } else {
            for (; i + V::kWidth <= count; i += V::kWidth) (V::load(x + i) * V::load(w + i)).store(y + i);
        }
    }
    for (; i < count; ++i) y[i] = x[i] * (w == nullptr ? factor : w[i]);
}
/// y = x + b, or x + summand without b.
template <class T>
void add(const T* x, T* y, T summand, const T* b, Index count) noexcept {
    Index i = 0;
    if constexpr (Vector<T>::kWidth > 1) {
        using V = Vector<T>;
        if (b == nullptr)
            for (; i + V::kWidth <= count; i += V::kWidth) (V::load(x + i) + V::all(summand)).store(y + i);
        else
            for (; i + V::kWidth <= count; i += V::kWidth) (V::load(x + i) + V::load(b + i)).store(y + i);
    }
    for (; i < count; ++i) y[i] = x[i] + (b == nullptr ? summand : b[i]);
}
/// y = (x * factor) * w, rounded after each product, for heads with a factor each.
template <class T>
void multiply_twice(const T* x, Index x_stride, T* y, Index y_stride, Index heads, Index count, const T* factors,
                    const T* w) noexcept {
    for (Index h = 0; h < heads; ++h, x += x_stride, y += y_stride) {
        const T factor = factors[h];
        Index i = 0;
        if constexpr (Vector<T>::kWidth > 1) {
            using V = Vector<T>;
            const V all = V::all(factor);
            ROPE_UNROLL_4
            for (; i + V::kWidth <= count; i += V::kWidth)
                ((V::load(x + i) * all).in_register() * V::load(w + i)).store(y + i);
        }
        for (; i < count; ++i) {
            y[i] = x[i] * factor;
            compiler_fence();
            y[i] = y[i] * w[i];
        }
    }
}
/// Whether rotate_normed has a block of pairs that fits.
template <Layout layout, class T>
ROPE_INLINE bool has_block_for(Index pairs) noexcept {
    if constexpr (Vector<T>::kWidth > 1) {
        constexpr Index block = BlockFor<layout, false, T, T, T>::type::kPairs;
        return pairs >= block && (!kHasWholeBlocksOnly || pairs % block == 0);
    } else {
        return false;
    }
}
template <class T>
bool can_rotate_normed(Layout layout, Index pairs) noexcept {
    return layout == Layout::half_split ? has_block_for<Layout::half_split, T>(pairs)
                                        : has_block_for<Layout::interleaved, T>(pairs);
}
template <Layout layout, class T, class Y>
ROPE_NOINLINE void rotate_normed_to(const NormedFeatures<T>& x, Y y, const Row<T>& row, const HeadsShape& shape,
                                    Index heads) noexcept {
    using Block = typename BlockFor<layout, false, T, T, T>::type;
    // Weights take the registers of further blocks.
    rotate_heads<Block, Block::kUnroll>(
        Heads<NormedFeatures<T>, Y>{x, shape.x_head_stride, y, shape.y_head_stride, heads}, row, shape.pairs,
        shape.x_pair.distance);
}
template <class T, class Y>
void rotate_normed_of(Layout layout, const NormedFeatures<T>& x, Y y, const Row<T>& row, const HeadsShape& shape,
                      Index heads) noexcept {
    if (layout == Layout::half_split)
        rotate_normed_to<Layout::half_split>(x, y, row, shape, heads);
    else
        rotate_normed_to<Layout::interleaved>(x, y, row, shape, heads);
}
/// multiply_twice, the rotation of contiguous pairs and, if there is one, a factor.
template <class T>
void rotate_normed(Layout layout, const T* x, const T* w, const T* roots, T* y, const T* factor, const Row<T>& row,
                   const HeadsShape& shape, Index heads) noexcept {
    if constexpr (Vector<T>::kWidth > 1) {
        const NormedFeatures<T> from = {x, w, roots, roots[0]};
        if (factor == nullptr)
            rotate_normed_of(layout, from, y, row, shape, heads);
        else
            rotate_normed_of(layout, from, FactoredFeatures<T>{y, *factor}, row, shape, heads);
    }
}
/// y = x, held within -limit .. limit. A NaN stays.
template <class T>
ROPE_NOINLINE void clamp(const T* x, T* y, T limit, Index count) noexcept {
    using Bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
    constexpr Bits without_sign = ~Bits(0) >> 1;
    constexpr int mantissa = sizeof(T) == 4 ? 23 : 52;
    constexpr Bits infinity = without_sign >> mantissa << mantissa;
    const Bits most = bit_cast<Bits>(limit) & without_sign;
    Index i = 0;
    if constexpr (Vector<T>::kWidth > 1) {
        using V = Vector<T>;
        const V limits = V::all(bit_cast<T>(most));
        for (; i + V::kWidth <= count; i += V::kWidth) V::load(x + i).clamped(limits).store(y + i);
    }
    for (; i < count; ++i) {
        Bits bits = bit_cast<Bits>(x[i]);
        const Bits of_x = bits & without_sign;
        if (of_x > most && of_x <= infinity) bits = (bits ^ of_x) | most;
        y[i] = bit_cast<T>(bits);
    }
}
/// Rounds to a narrower type, and back; nothing where the type is T.
template <class T>
void round_elements(T* x, ElementType type, Index count) noexcept {
    if constexpr (sizeof(T) == 4) {
        if (type == ElementType::f32) return;
        bfloat16 narrow[64];
        for (Index i = 0; i < count; i += 64) {
            const Index here = count - i < 64 ? count - i : 64;
            store_elements(x + i, narrow, type, 1, here);
            load_elements(static_cast<const void*>(narrow), type, 1, x + i, here);
        }
    }
}

// ---- Hadamard transforms: numbers whose indices differ in one bit become their sum and their difference, bit after bit

/// Numbers that are `distance` apart.
template <class T>
ROPE_INLINE void add_and_subtract(T* x, Index distance, Index count) noexcept {
    using V = Vector<T>;
    for (T* const end = x + count; x < end; x += 2 * distance) {
        T* const y = x + distance;
        Index k = 0;
        if constexpr (V::kWidth > 1)
            for (; k + V::kWidth <= distance; k += V::kWidth) {
                const V a = V::load(x + k), b = V::load(y + k);
                (a + b).store(x + k);
                (a - b).store(y + k);
            }
        for (; k < distance; ++k) {
            const T a = x[k], b = y[k];
            x[k] = a + b;
            y[k] = a - b;
        }
    }
}
/// The numbers of two vectors, whose indices are rotated by a bit in each step: even ones to the first vector.
template <class T>
ROPE_INLINE void transform_two_vectors(T* x, Index block) noexcept {
    using V = Vector<T>;
    V a = V::load(x), b = V::load(x + V::kWidth);
    ROPE_UNROLL
    for (Index distance = 1; distance < 2 * V::kWidth; distance *= 2) {
        split_even_odd(a.v, b.v);
        if (distance >= block) continue;
        const V sum = a + b;
        b = a - b;
        a = sum;
    }
    a.store(x);
    b.store(x + V::kWidth);
}
/// Blocks of a power of two, without the factor.
template <class T>
ROPE_NOINLINE void hadamard(T* x, Index block, Index count) noexcept {
    Index distance = 1;
    if constexpr (Vector<T>::kWidth > 1) {
        constexpr Index two = 2 * Vector<T>::kWidth;
        const Index whole = count / two * two;
        for (Index i = 0; i < whole; i += two) transform_two_vectors(x + i, block);
        for (; distance < block && distance < two; distance *= 2) add_and_subtract(x + whole, distance, count - whole);
    }
    for (; distance < block; distance *= 2) add_and_subtract(x, distance, count);
}

template <class T>
inline constexpr StepKernels<T> kStepKernels = {&load_elements<T>,
                                                &store_elements<T>,
                                                &sums<T>,
                                                &sums_of_squares<T>,
                                                &reciprocal_roots<T>,
                                                &can_rotate_normed<T>,
                                                &rotate_normed<T>,
                                                &multiply<T>,
                                                &multiply_twice<T>,
                                                &add<T>,
                                                &clamp<T>,
                                                &round_elements<T>,
                                                &hadamard<T>};

}  // namespace ROPE_ISA
ROPE_DETAIL_END
