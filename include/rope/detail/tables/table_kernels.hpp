// SPDX-License-Identifier: MIT
// The inner loop that fills a float table, compiled once per instruction set. No include guard: see isa_list.hpp.

ROPE_DETAIL_BEGIN
namespace ROPE_ISA {

/// Angle addition by double products that are rounded one by one: fma would make the bits of a table depend on the
/// instruction set.
template <class T, class Work>
void add_angles(const WorkingRow<Work>& a, const WorkingRow<Work>& b, Index pairs, T* cos, T* sin) noexcept {
    Index i = 0;
    if constexpr (Vector<Work>::kWidth > 1) {
        using V = Vector<Work>;
        for (; i + V::kWidth <= pairs; i += V::kWidth) {
            const V a_cos = V::load(a.cos + i);
            const V a_sin = V::load(a.sin + i);
            const V b_cos = V::load(b.cos + i);
            const V b_sin = V::load(b.sin + i);
            (product(a_cos, b_cos) - product(a_sin, b_sin)).store(cos + i);
            (product(a_sin, b_cos) + product(a_cos, b_sin)).store(sin + i);
        }
    }
    for (; i < pairs; ++i) {
        cos[i] = static_cast<T>(product(a.cos[i], b.cos[i]) - product(a.sin[i], b.sin[i]));
        sin[i] = static_cast<T>(product(a.sin[i], b.cos[i]) + product(a.cos[i], b.sin[i]));
    }
}

}  // namespace ROPE_ISA
ROPE_DETAIL_END
