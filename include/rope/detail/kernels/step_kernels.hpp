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

/// The sum of x - shift, or of its squares. Double is double; as a parameter, so that a set without vectors does not
/// compile those.
template <bool of_squares, bool is_shifted, class T, class Double = double>
ROPE_NOINLINE double sum_of(const T* x, double shift, Index count) noexcept {
    constexpr bool is_exact = sizeof(T) == 4 && !is_shifted;
    double sums[kSums];
    Index i = 0;
    if constexpr (Vector<Double>::kWidth > 1) {
        using V = Vector<Double>;
        constexpr Index n = kSums / V::kWidth;
        const V minus = V::all(-shift);
        V sum[static_cast<std::size_t>(n)];
        ROPE_UNROLL
        for (Index k = 0; k < n; ++k) sum[k] = V::all(0.0);
        for (; i + kSums <= count; i += kSums) {
            ROPE_UNROLL
            for (Index k = 0; k < n; ++k) {
                V value = V::load(x + i + k * V::kWidth);
                if constexpr (is_shifted) value = (value + minus).in_register();
                sum[k] = accumulated<of_squares, is_exact>(sum[k], value);
            }
        }
        ROPE_UNROLL
        for (Index k = 0; k < n; ++k) sum[k] = sum[k].in_register();
        if (i == count) {
            ROPE_UNROLL
            for (Index half_of = n / 2; half_of > 0; half_of /= 2)
                for (Index k = 0; k < half_of; ++k) sum[k] = (sum[k] + sum[k + half_of]).in_register();
            sum[0].store(sums);
            return sum_by_halves<V::kWidth>(sums);
        }
        for (Index k = 0; k < n; ++k) sum[k].store(sums + k * V::kWidth);
    } else {
        for (double& sum : sums) sum = 0.0;
    }
    for (; i < count; ++i) {
        double value = static_cast<double>(x[i]);
        if constexpr (is_shifted) value = hide_from_optimizer(value - shift);
        double& sum = sums[i % kSums];
        sum = hide_from_optimizer(sum + (of_squares ? product(value, value) : value));
    }
    return sum_by_halves<kSums>(sums);
}
template <class T>
void sums(const T* x, Index stride, Index heads, Index count, double* sums_of_heads) noexcept {
    for (Index h = 0; h < heads; ++h, x += stride) sums_of_heads[h] = sum_of<false, false>(x, 0.0, count);
}
template <class T>
void sums_of_squares(const T* x, Index stride, Index heads, Index count, const double* shifts,
                     double* sums_of_heads) noexcept {
    for (Index h = 0; h < heads; ++h, x += stride) {
        if (shifts == nullptr || shifts[h] == 0.0)
            sums_of_heads[h] = sum_of<true, false>(x, 0.0, count);
        else
            sums_of_heads[h] = sum_of<true, true>(x, shifts[h], count);
    }
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
inline constexpr StepKernels<T> kStepKernels = {&load_elements<T>,  &store_elements<T>, &sums<T>, &sums_of_squares<T>,
                                                &multiply<T>,       &multiply_twice<T>, &add<T>,  &clamp<T>,
                                                &round_elements<T>, &hadamard<T>};

}  // namespace ROPE_ISA
ROPE_DETAIL_END
