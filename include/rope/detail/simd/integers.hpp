// SPDX-License-Identifier: MIT
// Integers of 32 bits, and sums and products of vectors, for `portable` and for the sets with registers. Codes of cache formats
// are computed in Ints, a vector type of the compiler's with as many integers as a register has floats; in `portable` it
// is one number. No include guard: see vectors.hpp, which includes this file.
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
    if constexpr (sizeof(I) == sizeof(std::uint32_t)) return static_cast<I>(static_cast<std::uint32_t>(x) << bits);
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
/// The largest of the first numbers of a vector, which take so many bytes.
template <std::size_t bytes = sizeof(Ints)>
ROPE_INLINE std::int32_t largest_of(Ints x) noexcept {
    if constexpr (bytes == sizeof(std::int32_t)) {
        std::int32_t first;
        std::memcpy(&first, &x, sizeof(first));
        return first;
    } else {
        Floats even = floats_of(x), odd = even;
        split_even_odd(even, odd);
        return largest_of<bytes / 2>(larger(ints_of(even), ints_of(odd)));
    }
}

/// Bit i is the sign of number i.
template <class I>
ROPE_INLINE std::uint32_t signs_of(I x) noexcept {
    constexpr std::size_t count = sizeof(I) / 4;
    std::uint32_t numbers[count], signs = 0;
    std::memcpy(numbers, &x, sizeof(x));
    for (std::size_t i = 0; i < count; ++i) signs |= numbers[i] >> 31 << i;
    return signs;
}
/// The numbers of a table of 16 at some places.
template <class I>
ROPE_INLINE I looked_up(const signed char* table, I places) noexcept {
    constexpr std::size_t count = sizeof(I) / 4;
    std::int32_t numbers[count];
    std::memcpy(numbers, &places, sizeof(places));
    for (std::size_t i = 0; i < count; ++i) numbers[i] = std::int32_t{table[numbers[i]]};
    std::memcpy(&places, numbers, sizeof(places));
    return places;
}
/// The numbers of a table of 8 at places of which the lowest 3 bits count.
template <class I, class F = Floats>
ROPE_INLINE F looked_up(const float* table, I places) noexcept {
    constexpr std::size_t count = sizeof(I) / 4;
    std::int32_t at[count];
    float numbers[count];
    std::memcpy(at, &places, sizeof(places));
    for (std::size_t i = 0; i < count; ++i) numbers[i] = table[at[i] & 7];
    F result;
    std::memcpy(&result, numbers, sizeof(result));
    return result;
}

/// Bytes as signed numbers.
template <class I = Ints>
ROPE_INLINE I load_signed_codes(const unsigned char* p) noexcept {
    return (load_codes(p) ^ all_ints(0x80)) - all_ints(0x80);
}
/// Codes of four vectors.
template <class I>
ROPE_INLINE void store_codes(unsigned char* p, I a, I b, I c, I d) noexcept {
    constexpr std::size_t bytes = sizeof(I), n = bytes / 4;
    store_codes(p, a);
    store_codes(p + n, b);
    store_codes(p + 2 * n, c);
    store_codes(p + 3 * n, d);
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

/// The bits of absolute values. As integers they have the order of the values, with NaNs above infinity.
template <class T>
ROPE_INLINE Ints absolute_bits(Vector<T> x) noexcept {
    return x.ints() & all_ints(0x7fffffff);
}

}  // namespace ROPE_ISA
ROPE_DETAIL_END
