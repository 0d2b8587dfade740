// SPDX-License-Identifier: MIT
// 8-bit floats, by one factor for the tensor or by a scale for each head.

ROPE_DETAIL_BEGIN
namespace ROPE_ISA {

/// 2^exponent as the bits of a float.
constexpr std::int32_t bits_of_power(int exponent) noexcept { return (127 + exponent) << 23; }

/// Floats of 8 bits: a sign, an exponent with this bias, a mantissa of so many bits. Codes from `special` on, without the
/// sign, are infinite or NaNs; `most` are the bits of the largest number as a float.
template <int mantissa, int bias, std::int32_t special, std::int32_t most>
struct Float8 {
    static constexpr int kDropped = 23 - mantissa;
    /// Rounds to nearest, ties to even. Absolute values above `most`, infinity included, become it.
    ROPE_INLINE static Ints code_of(FloatVector x) noexcept {
        const Ints bits = x.ints(), absolute = bits & all_ints(INT32_MAX), finite = smaller(absolute, all_ints(most));
        const Ints last = shifted_right<kDropped>(finite) & all_ints(1);
        const Ints normal =
            shifted_right<kDropped>(finite + last + all_ints((1 << (kDropped - 1)) - 1 - bits_of_power(-bias)));
        // The sum rounds: its last bit is the smallest subnormal.
        constexpr std::int32_t aligner = bits_of_power(24 - bias - mantissa);
        const FloatVector sum = FloatVector::from(finite) + FloatVector::from(all_ints(aligner));
        const Ints subnormal = sum.ints() - all_ints(aligner);
        const Ints number = chosen(is_above(all_ints(bits_of_power(1 - bias)), finite), subnormal, normal);
        const Ints code = chosen(is_above(absolute, all_ints(0x7f800000)), all_ints(0x7f), number);
        return code | (shifted_right<24>(bits) & all_ints(0x80));
    }
    ROPE_INLINE static FloatVector number_of(Ints code) noexcept {
        const Ints absolute = code & all_ints(0x7f), shifted = shifted_left<kDropped>(absolute);
        const Ints normal = shifted + all_ints(bits_of_power(-bias));
        const FloatVector smallest = FloatVector::from(all_ints(bits_of_power(1 - bias - mantissa)));
        const Ints subnormal = (FloatVector{as_floats(absolute)} * smallest).ints();
        const Ints finite = chosen(is_above(all_ints(1 << mantissa), absolute), subnormal, normal);
        const Ints others = special == 0x7f ? all_ints(0x7fc00000) : shifted | all_ints(0x7f800000);
        const Ints number = chosen(is_above(absolute, all_ints(special - 1)), others, finite);
        return FloatVector::from(number | shifted_left<24>(code & all_ints(0x80)));
    }
};
/// 4 bits of exponent and 3 of mantissa, without infinity: OCP's E4M3.
struct E4m3 : Float8<3, 7, 0x7f, 0x43e00000> {
    static constexpr const char* kName = "fp8_e4m3";
};
/// 5 bits of exponent and 2 of mantissa: the upper byte of a half.
struct E5m2 : Float8<2, 15, 0x7c, 0x47600000> {
    static constexpr const char* kName = "fp8_e5m2";
};

/// 2^(byte - 127), as OCP's E8M0 has it: 0 is 2^-127, and 255 a NaN.
inline float power_of_two(unsigned char byte) noexcept {
    const auto bits = static_cast<std::uint32_t>(byte);
    return bit_cast<float>(bits == 0 ? 0x00400000u : bits == 255 ? 0x7fc00000u : bits << 23);
}

/// Codes of numbers times a factor, rounded, and numbers of codes times it.
template <class Float8>
struct Float8Product {
    FloatVector factor;
    ROPE_INLINE Ints of(FloatVector x) const noexcept { return Float8::code_of((x * factor).in_register()); }
    ROPE_INLINE FloatVector of(Ints code) const noexcept { return Float8::number_of(code) * factor; }
};
/// The same, divided by it.
template <class Float8>
struct Float8Quotient {
    FloatVector by;
    ROPE_INLINE Ints of(FloatVector x) const noexcept { return Float8::code_of(x.divided_by(by)); }
    ROPE_INLINE FloatVector of(Ints code) const noexcept { return Float8::number_of(code).divided_by(by); }
};

/// Codes of x / scale; all 0 without a scale.
ROPE_NOINLINE void write_e4m3(const float* x, Index count, float scale, unsigned char* codes) noexcept {
    if (scale != 0.0f)
        write_bytes(x, count, Float8Quotient<E4m3>{FloatVector::all(scale)}, codes);
    else
        std::memset(codes, 0, static_cast<std::size_t>(count));
}
ROPE_NOINLINE void read_e4m3(const unsigned char* codes, float scale, float* x, Index count) noexcept {
    read_bytes(codes, count, Float8Product<E4m3>{FloatVector::all(scale)}, x);
}

struct CodesOfBytes : Format {
    static constexpr Index kFeatures = 1, kBytes = 1;
    static constexpr ElementType kCode = ElementType::u8, kZero = kNoElements;
};

/// By a factor of the tensor.
template <class Float8>
struct Fp8 : CodesOfBytes {
    static constexpr const char* kName = Float8::kName;
    static constexpr ElementType kScale = kNoElements;

    ROPE_NOINLINE static void write(const float* x, Index count, const FormatRow& to) noexcept {
        const FloatVector factor = FloatVector::all(to.factor);
        if (to.divides)
            write_bytes(x, count, Float8Quotient<Float8>{factor}, to.codes);
        else
            write_bytes(x, count, Float8Product<Float8>{factor}, to.codes);
    }
    ROPE_NOINLINE static void read(const FormatRow& from, float* x, Index count) noexcept {
        const FloatVector factor = FloatVector::all(from.factor);
        if (from.divides)
            read_bytes(from.codes, count, Float8Product<Float8>{factor}, x);
        else
            read_bytes(from.codes, count, Float8Quotient<Float8>{factor}, x);
    }
};

struct Fp8E4m3ByHead : CodesOfBytes {
    static constexpr const char* kName = E4m3::kName;
    static constexpr ElementType kScale = ElementType::f32;
    static constexpr const char* kScalesAre = "float or unsigned char; they must be one of these";

    ROPE_NOINLINE static void write(const float* x, Index count, const FormatRow& to) noexcept {
        const std::uint32_t most = largest_absolute(x, count);
        const float scale = nearest_quotient(bit_cast<float>(most), 448.0f);
        *static_cast<float*>(to.scale) = scale;
        write_e4m3(x, count, most < 0x7f800000u ? scale : 0.0f, to.codes);
    }
    static void read(const FormatRow& from, float* x, Index count) noexcept {
        read_e4m3(from.codes, *static_cast<const float*>(from.scale), x, count);
    }
};

/// The scale is a power of two, stored as its exponent: the smallest that is at least 1e-4 and at least the scale of
/// Fp8E4m3ByHead.
struct Fp8E4m3ByPower : CodesOfBytes {
    static constexpr const char* kName = E4m3::kName;
    static constexpr ElementType kScale = ElementType::u8;

    ROPE_NOINLINE static void write(const float* x, Index count, const FormatRow& to) noexcept {
        const std::uint32_t most = largest_absolute(x, count);
        const std::uint32_t scale = bit_cast<std::uint32_t>(nearest_quotient(bit_cast<float>(most), 448.0f));
        const std::uint32_t least = bit_cast<std::uint32_t>(1e-4f), bits = scale < least ? least : scale;
        const bool is_finite_head = most < 0x7f800000u;
        const unsigned char power = static_cast<unsigned char>(is_finite_head ? (bits + 0x7fffffu) >> 23 : 255u);
        *static_cast<unsigned char*>(to.scale) = power;
        write_e4m3(x, count, is_finite_head ? power_of_two(power) : 0.0f, to.codes);
    }
    static void read(const FormatRow& from, float* x, Index count) noexcept {
        read_e4m3(from.codes, power_of_two(*static_cast<const unsigned char*>(from.scale)), x, count);
    }
};

}  // namespace ROPE_ISA
ROPE_DETAIL_END
