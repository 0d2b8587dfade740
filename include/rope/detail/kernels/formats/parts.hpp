// SPDX-License-Identifier: MIT
// Loops that several formats are made of, in vectors of floats and of integers as long.

ROPE_DETAIL_BEGIN
namespace ROPE_ISA {

using FloatVector = Vector<float>;
inline constexpr Index kLanes = FloatVector::kWidth;

/// Numbers of a head that are processed together where codes are split or scales differ: whole vectors of every set.
inline constexpr Index kPiece = 64;

/// The last numbers of a head, fewer than a vector, with copies of the first of them behind.
ROPE_INLINE FloatVector load_last(const float* x, Index count) noexcept {
    float all[kLanes];
    for (float& one : all) one = x[0];
    std::memcpy(all, x, static_cast<std::size_t>(count) * sizeof(float));
    return FloatVector::load(all);
}

/// write_heads and read_heads for a format F whose functions write and read take one head. F is inlined into the loop, so the
/// compiler computes once whatever is the same for all heads.
template <class F>
struct ByHead : Format {
    static void write_heads(const float* x, Index stride, Index heads, Index count, FormatHeads& to) noexcept {
        FormatHeads here = to;
        for (Index h = 0; h < heads; ++h, x += stride, here.step_on(1)) F::write(x, count, here.row);
        to.step_on(heads);
    }
    static void read_heads(FormatHeads& from, float* x, Index stride, Index heads, Index count) noexcept {
        FormatHeads here = from;
        for (Index h = 0; h < heads; ++h, x += stride, here.step_on(1)) F::read(here.row, x, count);
        from.step_on(heads);
    }
};

// In what follows, Code::of(a vector, the place of its first number in the head) is a code, or a number.

/// Writes codes of a byte each.
template <class Code>
ROPE_INLINE void write_bytes(const float* x, Index count, Code&& code, unsigned char* to) noexcept {
    Index i = 0;
    for (; i + 4 * kLanes <= count; i += 4 * kLanes) {
        const Ints first = code.of(FloatVector::load(x + i), i);
        const Ints second = code.of(FloatVector::load(x + i + kLanes), i + kLanes);
        const Ints third = code.of(FloatVector::load(x + i + 2 * kLanes), i + 2 * kLanes);
        const Ints last = code.of(FloatVector::load(x + i + 3 * kLanes), i + 3 * kLanes);
        store_codes(to + i, first, second, third, last);
    }
    for (; i + kLanes <= count; i += kLanes) store_codes(to + i, code.of(FloatVector::load(x + i), i));
    if (i >= count) return;
    unsigned char last[kLanes];
    store_codes(last, code.of(load_last(x + i, count - i), i));
    std::memcpy(to + i, last, static_cast<std::size_t>(count - i));
}
/// Bytes, as numbers from 0 to 255 or from -128 to 127.
template <bool are_signed>
ROPE_INLINE Ints loaded(const unsigned char* p) noexcept {
    if constexpr (are_signed)
        return load_signed_codes(p);
    else
        return load_codes(p);
}
/// Reads codes of a byte each.
template <bool are_signed = false, class Code>
ROPE_INLINE void read_bytes(const unsigned char* from, Index count, const Code& code, float* x) noexcept {
    Index i = 0;
    for (; i + 4 * kLanes <= count; i += 4 * kLanes) {
        code.of(loaded<are_signed>(from + i), i).store(x + i);
        code.of(loaded<are_signed>(from + i + kLanes), i + kLanes).store(x + i + kLanes);
        code.of(loaded<are_signed>(from + i + 2 * kLanes), i + 2 * kLanes).store(x + i + 2 * kLanes);
        code.of(loaded<are_signed>(from + i + 3 * kLanes), i + 3 * kLanes).store(x + i + 3 * kLanes);
    }
    for (; i + kLanes <= count; i += kLanes) code.of(loaded<are_signed>(from + i), i).store(x + i);
    if (i >= count) return;
    unsigned char last[kLanes] = {};
    float numbers[kLanes];
    std::memcpy(last, from + i, static_cast<std::size_t>(count - i));
    code.of(loaded<are_signed>(last), i).store(numbers);
    std::memcpy(x + i, numbers, static_cast<std::size_t>(count - i) * sizeof(float));
}

/// Codes of adjacent numbers, two in the lowest byte of each, the first in its lower half.
ROPE_INLINE Ints nibbles_of(Ints first, Ints second) noexcept {
    Floats even = floats_of(first), odd = floats_of(second);
    split_even_odd(even, odd);
    return (ints_of(even) & all_ints(15)) | shifted_left<4>(ints_of(odd));
}
template <class Code>
ROPE_INLINE Ints nibbles_of(const float* x, Index i, Code& code) noexcept {
    const Ints first = code.of(FloatVector::load(x), i), second = code.of(FloatVector::load(x + kLanes), i + kLanes);
    return nibbles_of(first, second);
}
/// The lower halves of bytes of eight vectors, two in a byte.
template <class I>
ROPE_INLINE void store_nibbles(unsigned char* p, const I (&codes)[8]) noexcept {
    store_codes(p, nibbles_of(codes[0], codes[1]), nibbles_of(codes[2], codes[3]), nibbles_of(codes[4], codes[5]),
                nibbles_of(codes[6], codes[7]));
}
template <class Code>
ROPE_INLINE Ints code_at(const float* x, Index i, Code& code) noexcept {
    return code.of(FloatVector::load(x + i), i);
}
/// Writes codes of half a byte each.
template <class Code>
ROPE_INLINE void write_nibbles(const float* x, Index count, Code&& code, unsigned char* to) noexcept {
    constexpr Index n = 2 * kLanes;
    Index i = 0;
    for (; i + 4 * n <= count; i += 4 * n) {
        const Ints codes[8] = {code_at(x, i, code),         code_at(x, i + kLanes, code),
                               code_at(x, i + n, code),     code_at(x, i + n + kLanes, code),
                               code_at(x, i + 2 * n, code), code_at(x, i + 2 * n + kLanes, code),
                               code_at(x, i + 3 * n, code), code_at(x, i + 3 * n + kLanes, code)};
        store_nibbles(to + i / 2, codes);
    }
    for (; i + n <= count; i += n) store_codes(to + i / 2, nibbles_of(x + i, i, code));
    if (i >= count) return;
    float last[static_cast<std::size_t>(n)];
    unsigned char bytes[kLanes];
    for (float& one : last) one = x[i];
    std::memcpy(last, x + i, static_cast<std::size_t>(count - i) * sizeof(float));
    store_codes(bytes, nibbles_of(last, i, code));
    std::memcpy(to + i / 2, bytes, static_cast<std::size_t>((count - i) / 2));
}
/// The lower and the upper half of each byte as a byte of its own, in this order. I is Ints; as a parameter, so that a set
/// without vectors does not compile those.
template <class I = Ints>
ROPE_INLINE void split_bytes(const unsigned char* from, Index count, unsigned char* to) noexcept {
    Index i = 0;
    if constexpr (kLanes > 1)
        for (; i + kLanes <= count; i += kLanes) {
            const I both = load_codes(from + i);
            store_lower_shorts(to + 2 * i, (both & all_ints(0x0f)) | shifted_left<4>(both & all_ints(0xf0)));
        }
    for (; i < count; ++i) {
        to[2 * i] = from[i] & 0x0f;
        to[2 * i + 1] = from[i] >> 4;
    }
}
/// Writes or reads codes of so many bits.
template <Index bits, class Code>
ROPE_INLINE void write_codes(const float* x, Index count, Code&& code, unsigned char* to) noexcept {
    if constexpr (bits == 8)
        write_bytes(x, count, code, to);
    else
        write_nibbles(x, count, code, to);
}
/// Where codes have half a byte, places are counted within pieces of kPiece.
template <Index bits, bool are_signed_bytes = false, class Code>
ROPE_INLINE void read_codes(const unsigned char* from, Index count, const Code& code, float* x) noexcept {
    if constexpr (bits == 8) return read_bytes<are_signed_bytes>(from, count, code, x);
    unsigned char piece[kPiece];
    for (Index i = 0, here; i < count; i += here) {
        here = count - i < kPiece ? count - i : kPiece;
        split_bytes(from + i / 2, here / 2, piece);
        read_bytes(piece, here, code, x + i);
    }
}
/// Features that take so many bytes.
template <Index bits>
constexpr Index bytes_of_features(Index count) noexcept {
    return bits == 8 ? count : count / 2;
}

/// The largest absolute value, as bits. A NaN has larger bits than infinity, so a NaN is found, too.
ROPE_INLINE std::uint32_t largest_absolute(const float* x, Index count) noexcept {
    Ints most = all_ints(0);
    Index i = 0;
    for (; i + 4 * kLanes <= count; i += 4 * kLanes)
        most = larger(larger(larger(most, absolute_bits(FloatVector::load(x + i))),
                             larger(absolute_bits(FloatVector::load(x + i + kLanes)),
                                    absolute_bits(FloatVector::load(x + i + 2 * kLanes)))),
                      absolute_bits(FloatVector::load(x + i + 3 * kLanes)));
    for (; i + kLanes <= count; i += kLanes) most = larger(most, absolute_bits(FloatVector::load(x + i)));
    if (i < count) most = larger(most, absolute_bits(load_last(x + i, count - i)));
    return static_cast<std::uint32_t>(largest_of(most));
}

/// Added to a number below 2^22, it leaves no fraction: the nearest whole number, ties to even, whose lowest byte is that
/// of the sum.
inline constexpr float kRounder = 12582912.0f;
inline constexpr std::int32_t kRounderBits = 0x4b400000;
ROPE_INLINE Ints rounded_bits(FloatVector x) noexcept { return (x + FloatVector::all(kRounder)).ints(); }

/// The nearest whole number, ties to even. |x| is below 2^22.
ROPE_INLINE std::int32_t nearest_even(float x) noexcept { return bit_cast<std::int32_t>(x + kRounder) - kRounderBits; }

template <std::int32_t most>
ROPE_INLINE Ints held_to(Ints x) noexcept {
    return larger(smaller(x, all_ints(most)), all_ints(-most));
}

/// 1 / scale; 0, which makes all codes 0, where it has no use: of zeros, of numbers so small that it overflows, and
/// beside an infinity or a NaN, which the scale then is.
ROPE_INLINE float usable_inverse(std::uint32_t most, float scale) noexcept {
    if (most >= 0x7f800000u || scale == 0.0f) return 0.0f;
    const float inverse = nearest_quotient(1.0f, scale);
    return (bit_cast<std::uint32_t>(inverse) & 0x7fffffffu) < 0x7f800000u ? inverse : 0.0f;
}

/// Whether products of `inverse` and absolute values up to `largest` become codes -most .. most. (Rounding is monotonic.)
/// Otherwise the caller has set another rounding mode than to nearest, and held_to is needed.
template <std::int32_t most>
ROPE_INLINE bool fits(std::uint32_t largest, float inverse) noexcept {
    const float least =
        hide_from_optimizer(bit_cast<float>(largest | 0x80000000u));  // its product has a rounding of its own
    return nearest_even(hide_from_optimizer(bit_cast<float>(largest) * inverse)) <= most &&
           nearest_even(hide_from_optimizer(least * inverse)) >= -most;
}

}  // namespace ROPE_ISA
ROPE_DETAIL_END
