// SPDX-License-Identifier: MIT
// x[i] *= factor in place, once per instruction set. No include guard: see rope/detail/simd/isa_list.hpp.

namespace bench {
namespace ROPE_ISA {

/// As fast as this set can: four vectors at a time, bfloat16 split into even and odd places as the library does. count
/// is a multiple of 64.
template <class X, class T>
ROPE_KERNEL void scale(X* x, rope::Index count, T factor) noexcept {
    using V = rope::detail::ROPE_ISA::Vector<T>;
    if constexpr (V::kWidth == 1) {
        using E = rope::detail::Element<T, X>;
        constexpr rope::Index block = 32;  // a constant, because g++ vectorises nothing else at -O2
        for (X* const end = x + count; x != end; x += block)
            for (rope::Index k = 0; k < block; ++k) E::store(x + k, E::load(x + k) * factor);
    } else if constexpr (std::is_same_v<X, rope::bfloat16>) {
        using Rounding =  // by way of X, as the portable set has no such vectors
            std::conditional_t<std::is_same_v<X, rope::bfloat16>, rope::detail::ROPE_ISA::ByIntegers, void>;
        using Two = rope::detail::ROPE_ISA::EvenOdd<Rounding>;
        constexpr rope::Index width = Two::kWidth;
        const V f = V::all(factor);
        for (X* const end = x + count; x != end; x += 4 * width) {
            const Two a = Two::load(x);
            const Two b = Two::load(x + width);
            const Two c = Two::load(x + 2 * width);
            const Two d = Two::load(x + 3 * width);
            Two{a.even * f, a.odd * f}.store(x);
            Two{b.even * f, b.odd * f}.store(x + width);
            Two{c.even * f, c.odd * f}.store(x + 2 * width);
            Two{d.even * f, d.odd * f}.store(x + 3 * width);
        }
    } else {
        constexpr rope::Index width = V::kWidth;
        const V f = V::all(factor);
        for (X* const end = x + count; x != end; x += 4 * width) {
            const V a = V::load(x) * f;
            const V b = V::load(x + width) * f;
            const V c = V::load(x + 2 * width) * f;
            const V d = V::load(x + 3 * width) * f;
            a.store(x);
            b.store(x + width);
            c.store(x + 2 * width);
            d.store(x + 3 * width);
        }
    }
}

}  // namespace ROPE_ISA
}  // namespace bench
