// SPDX-License-Identifier: MIT
// The kernel of gradients, written once for every instruction set. No include guard: see isa_list.hpp.

ROPE_DETAIL_BEGIN
namespace ROPE_ISA {

/// sums[i] += y[i] * g[i]; if `is_crossed`, g is that of the other feature of an interleaved pair, and count is even.
/// A product of floats is exact in double, and one of doubles is rounded first, so the bits are the same in all sets.
/// Double is double; as a parameter, so that a set without vectors does not compile those.
template <bool is_crossed, class T, class Double = double>
ROPE_NOINLINE void add_products(const T* y, const T* g, Index count, double* sums) noexcept {
    Index i = 0;
    if constexpr (Vector<Double>::kWidth > 1) {
        using V = Vector<Double>;
        for (; i + V::kWidth <= count; i += V::kWidth) {
            V by = V::load(g + i);
            if constexpr (is_crossed) by = by.swap_adjacent();
            if constexpr (sizeof(T) == 4)
                fma(V::load(y + i), by, V::load(sums + i)).store(sums + i);
            else
                (V::load(sums + i) + product(V::load(y + i), by)).store(sums + i);
        }
    }
    for (; i < count; ++i)
        sums[i] += product(static_cast<double>(y[i]), static_cast<double>(g[is_crossed ? i ^ 1 : i]));
}

template <class T>
inline constexpr GradientKernels<T> kGradientKernels = {&add_products<false, T>, &add_products<true, T>};

}  // namespace ROPE_ISA
ROPE_DETAIL_END
