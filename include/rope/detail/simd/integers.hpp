// SPDX-License-Identifier: MIT
// What `portable` and the sets with registers share: integers of 32 bits, and sums and products of vectors. Codes of cache
// formats are computed in Ints, a vector type of the compiler's with as many integers as a register has floats; in
// `portable` it is one number. No include guard: see vectors.hpp, which includes this file.
//
// Functions are templates where the `emulated` set, whose registers have few operators, has one of its own: compilers
// prefer that.

ROPE_DETAIL_BEGIN
namespace ROPE_ISA {

ROPE_INLINE Ints ints_of(Floats x) noexcept {
    Ints r;
    std::memcpy(&r, &x, sizeof(r));
    return r;
}
ROPE_INLINE Floats floats_of(Ints x) noexcept {
    Floats r;
    std::memcpy(&r, &x, sizeof(r));
    return r;
}
template <class Lane>
ROPE_INLINE Ints all_ints(Lane x) noexcept {
    return Ints{} + x;
}
/// A mask: all bits where a > b, as signed numbers.
template <class I>
ROPE_INLINE I is_above(I a, I b) noexcept {
    return a > b;
}
/// a where the mask has ones, else b.
template <class I>
ROPE_INLINE I chosen(I mask, I a, I b) noexcept {
    return mask ? a : b;
}
/// Copies of the sign come in.
template <int bits, class I>
ROPE_INLINE I shifted_right(I x) noexcept {
    return x >> bits;
}
template <int bits, class I>
ROPE_INLINE I shifted_left(I x) noexcept {
    return x << bits;
}
template <class I>
ROPE_INLINE I larger(I a, I b) noexcept {
    return chosen(is_above(a, b), a, b);
}
template <class I>
ROPE_INLINE I smaller(I a, I b) noexcept {
    return chosen(is_above(a, b), b, a);
}
/// The largest number of a vector.
ROPE_INLINE std::int32_t largest_of(Ints x) noexcept {
    constexpr std::size_t bytes = sizeof(x);
    std::int32_t all[bytes / 4];
    std::memcpy(all, &x, sizeof(x));
    std::int32_t most = all[0];
    for (const std::int32_t one : all) most = one > most ? one : most;
    return most;
}

// ---- Vectors of every set, lane by lane ----

template <class T>
struct Vector;
template <class T>
ROPE_INLINE Vector<T> operator+(Vector<T> a, Vector<T> b) noexcept {
    return {a.v + b.v};
}
template <class T>
ROPE_INLINE Vector<T> operator-(Vector<T> a, Vector<T> b) noexcept {
    return {a.v - b.v};
}
template <class T>
ROPE_INLINE Vector<T> operator*(Vector<T> a, Vector<T> b) noexcept {
    return {a.v * b.v};
}

}  // namespace ROPE_ISA
ROPE_DETAIL_END
