// SPDX-License-Identifier: MIT
// Codes from 0 on, of 8 or 4 bits, of the range from the smallest to the largest number of a head; its scale, its zero.

ROPE_DETAIL_BEGIN
namespace ROPE_ISA {

/// Bits of floats as integers of the same order, in which -0 is -1; and back.
ROPE_INLINE Ints ordered(Ints bits) noexcept { return bits ^ (shifted_right<31>(bits) & all_ints(INT32_MAX)); }
ROPE_INLINE std::int32_t ordered_bits(std::int32_t bits) noexcept { return bits < 0 ? bits ^ INT32_MAX : bits; }

/// The smallest and the largest number; of zeros of both signs the first. False if one is infinite or a NaN.
ROPE_NOINLINE bool find_range(const float* x, Index count, float& low, float& high) noexcept {
    Ints most = ordered(FloatVector::all(x[0]).ints()), least = most;
    const Index whole = count / kLanes * kLanes;
    for (Index i = 0; i < count; i += kLanes) {
        const Ints numbers = ordered((i < whole ? FloatVector::load(x + i) : load_last(x + i, count - i)).ints());
        most = larger(most, numbers);
        least = smaller(least, numbers);
    }
    constexpr std::int32_t infinity = 0x7f800000;
    const std::int32_t above = largest_of(most), below = -1 - largest_of(least ^ all_ints(-1));
    low = bit_cast<float>(ordered_bits(below));
    high = bit_cast<float>(ordered_bits(above));
    for (Index i = count - 1; (below == 0 || below == -1) && i >= 0; --i)
        if ((bit_cast<std::uint32_t>(x[i]) & 0x7fffffffu) == 0) low = x[i];
    return below > -1 - infinity && above < infinity;  // -1 - infinity is that of the negative infinity
}

/// to[i] = (x[i] - low) / scale, computed in double, as the nearest whole number, ties to even.
template <class Double = double>
ROPE_INLINE void whole_quotients(const float* x, double low, double scale, float* to, Index count) noexcept {
    using V = Vector<Double>;
    const V rounder = V::all(6755399441055744.0);  // 1.5 * 2^52: sums have no fraction
    ROPE_UNROLL_4
    for (Index i = 0; i < count; i += V::kWidth) {
        const V quotient = (V::load(x + i) - V::all(low)).divided_by(V::all(scale));
        ((quotient + rounder).in_register() - rounder).store(to + i);
    }
}

template <Index bits>
struct Range : Format {
    static constexpr Index kFeatures = 8 / bits, kBytes = 1;
    static constexpr ElementType kCode = ElementType::u8, kScale = ElementType::f32, kZero = ElementType::f32;
    static constexpr std::int32_t kLevels = (1 << bits) - 1;

    ROPE_INLINE static Ints code_of(FloatVector whole) noexcept {
        return smaller(truncated(whole.v), all_ints(kLevels));
    }
    /// Bytes of whole vectors of numbers.
    ROPE_INLINE static void write_wholes(const float* wholes, Index count, unsigned char* to) noexcept {
        if constexpr (kFeatures == 1) {
            for (Index k = 0; k < count; k += kLanes) store_codes(to + k, code_of(FloatVector::load(wholes + k)));
        } else {  // the first of two is in the lower half
            for (Index k = 0; k < count; k += 2 * kLanes) {
                FloatVector even = FloatVector::load(wholes + k), odd = FloatVector::load(wholes + k + kLanes);
                split_even_odd(even.v, odd.v);
                store_codes(to + k / 2, code_of(even) | shifted_left<4>(code_of(odd)));
            }
        }
    }
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
        float wholes[kPiece];
        const double from = static_cast<double>(low), by = static_cast<double>(scale);
        Index i = 0;
        for (; i + kPiece <= count; i += kPiece) {
            whole_quotients(x + i, from, by, wholes, kPiece);
            write_wholes(wholes, kPiece, to.codes + i / kFeatures);
        }
        if (i >= count) return;
        float last[kPiece];
        unsigned char bytes[static_cast<std::size_t>(kPiece / kFeatures)];
        for (float& one : last) one = low;
        std::memcpy(last, x + i, static_cast<std::size_t>(count - i) * sizeof(float));
        whole_quotients(last, from, by, wholes, kPiece);
        write_wholes(wholes, kPiece, bytes);
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
            const unsigned char* codes = from.codes + i / kFeatures;
            here = kFeatures == 1 ? count : count - i < kPiece ? count - i : kPiece;
            for (Index k = 0; k < here && kFeatures > 1; ++k)
                piece[k] = static_cast<unsigned char>(codes[k / kFeatures] >> (k % kFeatures * bits) & kLevels);
            if (kFeatures > 1) codes = piece;
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
