// SPDX-License-Identifier: MIT
// What a rotation does to vectors: some of their lanes stored, two of them as one, pairs of them turned. No
// include guard: see isa_list.hpp.

namespace rope {
inline namespace ROPE_VERSION_NAMESPACE {
namespace detail {
namespace ROPE_ISA {

template <class V>
ROPE_INLINE Pair<V> turned(Pair<V> x, Pair<V> by) noexcept {
    return {multiply_subtract(x.a, by.a, x.b * by.b), multiply_add(x.b, by.a, x.a * by.b)};
}

// Which lanes of a vector are stored: all, or all but the first.
struct ROPE_ABI All {
    ROPE_INLINE All twice() const noexcept { return {}; }
};
struct ROPE_ABI Kept {
    Index count;
    ROPE_INLINE Kept twice() const noexcept { return {2 * count}; }
};

template <class V, class P>
ROPE_INLINE void put(V v, P* p, All) noexcept {
    v.store(p);
}
template <class V, class P>
ROPE_INLINE void put(V v, P* p, Kept kept) noexcept {
    v.store_after(p, kept.count);
}

/// Two vectors, as one. What uses a result waits for both of it, so that compilers keep the order that is written here:
/// each operation on the first, then on the second, then the next operation. On a Zen 3 that takes 0.95 of what g++'s
/// own order takes. (Each has a name first, because arguments are evaluated in any order.)
template <class T>
struct ROPE_ABI Two {
    using V = Vector<T>;
    V first, second;

    template <class P>
    ROPE_INLINE static Two load(const P* p) noexcept {
        V x = V::load(p), y = V::load(p + V::kWidth);
        hold(x, y);
        return {x, y};
    }
    template <class P>
    ROPE_INLINE void store(P* p) const noexcept {
        first.store(p);
        second.store(p + V::kWidth);
    }
    ROPE_INLINE Two swapped() const noexcept {
        V x = first.swapped(), y = second.swapped();
        hold(x, y);
        return {x, y};
    }
};
template <class T>
ROPE_INLINE Two<T> operator*(Two<T> a, Two<T> b) noexcept {
    Vector<T> x = a.first * b.first, y = a.second * b.second;
    hold(x, y);
    return {x, y};
}
template <class T>
ROPE_INLINE Two<T> multiply_add(Two<T> a, Two<T> b, Two<T> c) noexcept {
    Vector<T> x = multiply_add(a.first, b.first, c.first), y = multiply_add(a.second, b.second, c.second);
    hold(x, y);
    return {x, y};
}
template <class T>
ROPE_INLINE Two<T> multiply_subtract(Two<T> a, Two<T> b, Two<T> c) noexcept {
    Vector<T> x = multiply_subtract(a.first, b.first, c.first), y = multiply_subtract(a.second, b.second, c.second);
    hold(x, y);
    return {x, y};
}
template <class T>
ROPE_INLINE Two<T> multiply_subtract_add(Two<T> a, Two<T> b, Two<T> c) noexcept {
    Vector<T> x = multiply_subtract_add(a.first, b.first, c.first);
    Vector<T> y = multiply_subtract_add(a.second, b.second, c.second);
    hold(x, y);
    return {x, y};
}

// Two vectors of bfloat16, as one: what is done to a vector is done to both.
template <class X>
ROPE_INLINE EvenOdd<X> operator*(EvenOdd<X> a, EvenOdd<X> b) noexcept {
    return {a.even * b.even, a.odd * b.odd};
}
template <class X>
ROPE_INLINE EvenOdd<X> multiply_add(EvenOdd<X> a, EvenOdd<X> b, EvenOdd<X> c) noexcept {
    return {multiply_add(a.even, b.even, c.even), multiply_add(a.odd, b.odd, c.odd)};
}
template <class X>
ROPE_INLINE EvenOdd<X> multiply_subtract(EvenOdd<X> a, EvenOdd<X> b, EvenOdd<X> c) noexcept {
    return {multiply_subtract(a.even, b.even, c.even), multiply_subtract(a.odd, b.odd, c.odd)};
}

}  // namespace ROPE_ISA
}  // namespace detail
}  // namespace ROPE_VERSION_NAMESPACE
}  // namespace rope
