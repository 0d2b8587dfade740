// SPDX-License-Identifier: MIT
// Codes from 0 on, of 8 or 4 bits, of the range from the smallest to the largest number of a head; its scale, its zero.

ROPE_DETAIL_BEGIN
namespace ROPE_ISA {

/// Bits of floats as integers of the same order, in which -0 is -1; and back.
ROPE_INLINE Ints ordered(Ints bits) noexcept { return bits ^ (shifted_right<31>(bits) & all_ints(INT32_MAX)); }
ROPE_INLINE std::int32_t ordered_bits(std::int32_t bits) noexcept { return bits < 0 ? bits ^ INT32_MAX : bits; }

/// The smallest and the largest of the numbers so far, as ordered integers.
struct OrderedRange {
    Ints least, most;

    ROPE_INLINE void add(FloatVector numbers) noexcept {
        const Ints bits = ordered(numbers.ints());
        least = smaller(least, bits);
        most = larger(most, bits);
    }
};
/// The smallest and the largest number; of zeros of both signs the first. False if one is infinite or a NaN.
ROPE_NOINLINE bool find_range(const float* x, Index count, float& low, float& high) noexcept {
    const Ints first = ordered(FloatVector::all(x[0]).ints());
    OrderedRange range = {first, first};
    Index i = 0;
    ROPE_UNROLL_4
    for (; i + kLanes <= count; i += kLanes) range.add(FloatVector::load(x + i));
    if (i < count) range.add(load_last(x + i, count - i));
    constexpr std::int32_t infinity = 0x7f800000;
    const std::int32_t above = largest_of(range.most), below = -1 - largest_of(range.least ^ all_ints(-1));
    low = bit_cast<float>(ordered_bits(below));
    high = bit_cast<float>(ordered_bits(above));
    for (Index k = count - 1; (below == 0 || below == -1) && k >= 0; --k)
        if ((bit_cast<std::uint32_t>(x[k]) & 0x7fffffffu) == 0) low = x[k];
    return below > -1 - infinity && above < infinity;  // ordered() makes -1 - infinity of the negative infinity
}

/// (x - low) / scale, computed in double, as the nearest whole number, ties to even, below 2^31: in the lower words of the
/// sums that this returns, which have no fraction.
inline constexpr double kWholeRounder = 6755399441055744.0;  // 1.5 * 2^52
template <class V>
ROPE_INLINE V rounded_quotients(const float* x, double low, double scale) noexcept {
    return ((V::load(x) - V::all(low)).divided_by(V::all(scale)) + V::all(kWholeRounder)).in_register();
}
/// The same numbers. Double is double; as a parameter, so that a set without vectors does not compile those.
template <class Double = double>
ROPE_INLINE Ints whole_quotients(const float* x, double low, double scale) noexcept {
    using V = Vector<Double>;
    const V first = rounded_quotients<V>(x, low, scale);
    if constexpr (V::kWidth > 1) {
        const V second = rounded_quotients<V>(x + V::kWidth, low, scale);
        Floats even, odd;
        std::memcpy(&even, &first, sizeof(even));
        std::memcpy(&odd, &second, sizeof(odd));
        split_even_odd(even, odd);
        return ints_of(even);
    } else {
        return truncated(static_cast<Floats>((first - V::all(kWholeRounder)).v));
    }
}

/// The lower and the upper half of each byte as a byte of its own, in this order. I is Ints, for the reason above.
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

template <Index bits>
struct Range : Format {
    static constexpr Index kFeatures = 8 / bits, kBytes = 1;
    static constexpr ElementType kCode = ElementType::u8, kScale = ElementType::f32, kZero = ElementType::f32;
    static constexpr std::int32_t kLevels = (1 << bits) - 1;

    /// A vector of bytes takes so many numbers.
    static constexpr Index kNumbers = kLanes * kFeatures;

    struct Code {
        double low, scale;

        ROPE_INLINE Ints of_vector(const float* x) const noexcept {
            return smaller(whole_quotients(x, low, scale), all_ints(kLevels));
        }
        ROPE_INLINE Ints of(const float* x) const noexcept {
            const Ints first = of_vector(x);
            if constexpr (kFeatures == 1) return first;
            Floats even = floats_of(first), odd = floats_of(kFeatures == 1 ? first : of_vector(x + kLanes));
            split_even_odd(even, odd);
            return ints_of(even) | shifted_left<4>(ints_of(odd));  // the first of two is in the lower half
        }
    };
    ROPE_NOINLINE static void write(const float* x, Index count, const FormatRow& to) noexcept {
        float low, high;
        const bool is_finite_head = find_range(x, count, low, high);
        // In double: the range may be larger than any float, and the scale is not.
        const double range = hide_from_optimizer(static_cast<double>(high) - static_cast<double>(low));
        const float scale = static_cast<float>(quotient(range, static_cast<double>(kLevels)));
        *static_cast<float*>(to.scale) = is_finite_head ? scale : bit_cast<float>(0x7fc00000u);
        *static_cast<float*>(to.zero) = is_finite_head ? low : bit_cast<float>(0x7fc00000u);
        if (!is_finite_head || !(scale > 0.0f))
            return void(std::memset(to.codes, 0, static_cast<std::size_t>(count / kFeatures)));
        const Code code = {static_cast<double>(low), static_cast<double>(scale)};
        Index i = 0;
        for (; i + 4 * kNumbers <= count; i += 4 * kNumbers)
            store_codes(to.codes + i / kFeatures, code.of(x + i), code.of(x + i + kNumbers),
                        code.of(x + i + 2 * kNumbers), code.of(x + i + 3 * kNumbers));
        for (; i + kNumbers <= count; i += kNumbers) store_codes(to.codes + i / kFeatures, code.of(x + i));
        if (i >= count) return;
        float last[static_cast<std::size_t>(kNumbers)];
        unsigned char bytes[kLanes];
        for (float& one : last) one = low;
        std::memcpy(last, x + i, static_cast<std::size_t>(count - i) * sizeof(float));
        store_codes(bytes, code.of(last));
        std::memcpy(to.codes + i / kFeatures, bytes, static_cast<std::size_t>((count - i) / kFeatures));
    }
    struct Number {
        FloatVector scale, zero;
        ROPE_INLINE FloatVector of(Ints code) const noexcept { return {fma(as_floats(code), scale.v, zero.v)}; }
    };
    ROPE_NOINLINE static void read(const FormatRow& from, float* x, Index count) noexcept {
        const float scale = *static_cast<const float*>(from.scale), zero = *static_cast<const float*>(from.zero);
        unsigned char piece[kPiece];
        for (Index i = 0, here; i < count; i += here) {
            here = kFeatures == 1 ? count : count - i < kPiece ? count - i : kPiece;
            const unsigned char* codes = from.codes + i / kFeatures;
            if constexpr (kFeatures > 1) {
                split_bytes(codes, here / kFeatures, piece);
                codes = piece;
            }
            if constexpr (kHasFma)
                read_bytes(codes, here, Number{FloatVector::all(scale), FloatVector::all(zero)}, x + i);
            else
                for (Index k = 0; k < here; ++k) x[i + k] = fused(static_cast<float>(codes[k]), scale, zero);
        }
    }
};

struct Uint8 : Range<8> {
    static constexpr const char* kName = "uint8";
};
struct Uint4 : Range<4> {
    static constexpr const char* kName = "uint4";
};

}  // namespace ROPE_ISA
ROPE_DETAIL_END
