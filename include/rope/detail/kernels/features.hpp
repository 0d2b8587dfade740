// SPDX-License-Identifier: MIT
// Where the features come from that rotate_blocks.hpp rotates, and where they go: memory, also through a norm that is applied
// as they are loaded and a factor as they are stored. No include guard: see isa_list.hpp.

ROPE_DETAIL_BEGIN
namespace ROPE_ISA {

template <class V, class In>
ROPE_INLINE V load_features(const In* x) noexcept {
    return V::load(x).in_register();
}
template <class T, class In>
ROPE_INLINE VectorPair<T> load_two(const In* x) noexcept {
    return VectorPair<T>::load(x);
}
template <class In>
ROPE_INLINE const In* next_head(const In* x, Index stride) noexcept {
    return x + stride;
}

/// (x * root) * w, rounded after each product, with a root for each head.
template <class T>
struct NormedFeatures {
    const T* x;
    const T* w;
    const T* roots;  // of this head and the next ones
    T root;

    ROPE_INLINE NormedFeatures operator+(Index features) const noexcept {
        return {x + features, w + features, roots, root};
    }
};
template <class V, class T>
ROPE_INLINE V load_features(NormedFeatures<T> of) noexcept {
    return ((V::load(of.x) * V::all(of.root)).in_register() * V::load(of.w)).in_register();
}
template <class T>
ROPE_INLINE VectorPair<T> load_two(NormedFeatures<T> of) noexcept {
    return {load_features<Vector<T>>(of), load_features<Vector<T>>(of + Vector<T>::kWidth)};
}
template <class T>
ROPE_INLINE NormedFeatures<T> next_head(NormedFeatures<T> of, Index stride) noexcept {
    return {of.x + stride, of.w, of.roots + 1, of.roots[1]};
}

// The lanes of a vector that are stored: all, or all but the first `count`.
struct WholeVector {
    ROPE_INLINE WholeVector twice() const noexcept { return {}; }
};
struct SkipFirst {
    Index count;
    ROPE_INLINE SkipFirst twice() const noexcept { return {2 * count}; }
};

template <class V, class P>
ROPE_INLINE void store(V v, P* p, WholeVector) noexcept {
    v.store(p);
}
template <class V, class P>
ROPE_INLINE void store(V v, P* p, SkipFirst kept) noexcept {
    v.store_skipping_first(p, kept.count);
}

/// result * factor, rounded.
template <class T>
struct FactoredFeatures {
    T* y;
    T factor;

    ROPE_INLINE FactoredFeatures operator+(Index features) const noexcept { return {y + features, factor}; }
    ROPE_INLINE FactoredFeatures& operator+=(Index features) noexcept {
        y += features;
        return *this;
    }
};
template <class T, class Lanes>
ROPE_INLINE void store(Vector<T> v, FactoredFeatures<T> to, Lanes lanes) noexcept {
    store(v.in_register() * Vector<T>::all(to.factor), to.y, lanes);
}

}  // namespace ROPE_ISA
ROPE_DETAIL_END
