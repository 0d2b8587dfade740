// SPDX-License-Identifier: MIT
// 8-bit floats, by one factor for the tensor or by scales beside the codes.

ROPE_DETAIL_BEGIN
namespace ROPE_ISA {

/// 2^exponent as the bits of a float.
constexpr std::int32_t bits_of_power(int exponent) noexcept { return (127 + exponent) << 23; }

/// Floats of so many bits: a sign, an exponent with this bias, a mantissa. Codes from `special` on, without the sign, are
/// infinite or NaNs; `most` are the bits of the largest number as a float.
template <int bits, int mantissa, int bias, std::int32_t special, std::int32_t most>
struct SmallFloat {
    static constexpr int kDropped = 23 - mantissa;
    static constexpr std::int32_t kSign = 1 << (bits - 1);
    /// Rounds to nearest, ties to even. Absolute values above `most`, infinity included, become it.
    ROPE_INLINE static Ints code_of(FloatVector x) noexcept {
        const Ints all = x.ints(), absolute = all & all_ints(INT32_MAX), finite = smaller(absolute, all_ints(most));
        const Ints last = shifted_right<kDropped>(finite) & all_ints(1);
        const Ints normal =
            shifted_right<kDropped>(finite + last + all_ints((1 << (kDropped - 1)) - 1 - bits_of_power(-bias)));
        // The sum rounds: its last bit is the smallest subnormal.
        constexpr std::int32_t aligner = bits_of_power(24 - bias - mantissa);
        const FloatVector sum = FloatVector::from(finite) + FloatVector::from(all_ints(aligner));
        const Ints subnormal = sum.ints() - all_ints(aligner);
        Ints number = chosen(is_above(all_ints(bits_of_power(1 - bias)), finite), subnormal, normal);
        if (special < kSign)  // there are NaNs
            number = chosen(is_above(absolute, all_ints(0x7f800000)), all_ints(kSign - 1), number);
        return number | (shifted_right<32 - bits>(all) & all_ints(kSign));
    }
    ROPE_INLINE static FloatVector number_of(Ints code) noexcept {
        const Ints absolute = code & all_ints(kSign - 1), shifted = shifted_left<kDropped>(absolute);
        const Ints normal = shifted + all_ints(bits_of_power(-bias));
        const FloatVector smallest = FloatVector::from(all_ints(bits_of_power(1 - bias - mantissa)));
        const Ints subnormal = (FloatVector{as_floats(absolute)} * smallest).ints();
        Ints number = chosen(is_above(all_ints(1 << mantissa), absolute), subnormal, normal);
        if (special < kSign) {
            const Ints others = special == 0x7f ? all_ints(0x7fc00000) : shifted | all_ints(0x7f800000);
            number = chosen(is_above(absolute, all_ints(special - 1)), others, number);
        }
        return FloatVector::from(number | shifted_left<32 - bits>(code & all_ints(kSign)));
    }
};
/// 4 bits of exponent and 3 of mantissa, without infinity: OCP's E4M3.
struct E4m3 : SmallFloat<8, 3, 7, 0x7f, 0x43e00000> {
    static constexpr const char* kName = "fp8_e4m3";
};
/// 5 bits of exponent and 2 of mantissa: the upper byte of a half.
struct E5m2 : SmallFloat<8, 2, 15, 0x7c, 0x47600000> {
    static constexpr const char* kName = "fp8_e5m2";
};

/// 2^(byte - 127), as OCP's E8M0 has it: 0 is 2^-127, and 255 a NaN.
inline float power_of_two(unsigned char byte) noexcept {
    const auto bits = static_cast<std::uint32_t>(byte);
    return bit_cast<float>(bits == 0 ? 0x00400000u : bits == 255 ? 0x7fc00000u : bits << 23);
}

/// Codes of numbers times a factor, rounded, and numbers of codes times it.
template <class Float, class Numbers = Same>
struct FloatProduct {
    Numbers factor;
    ROPE_INLINE Ints of(FloatVector x, Index i) const noexcept {
        return Float::code_of((x * factor.at(i)).in_register());
    }
    ROPE_INLINE FloatVector of(Ints code, Index i) const noexcept { return Float::number_of(code) * factor.at(i); }
};
/// The same, divided by it.
template <class Float, class Numbers = Same>
struct FloatQuotient {
    Numbers by;
    ROPE_INLINE Ints of(FloatVector x, Index i) const noexcept { return Float::code_of(x.divided_by(by.at(i))); }
    ROPE_INLINE FloatVector of(Ints code, Index i) const noexcept {
        return Float::number_of(code).divided_by(by.at(i));
    }
};

template <class F>
struct CodesOfBytes : ByHead<F> {
    static constexpr Index kFeatures = 1, kBytes = 1;
    static constexpr ElementType kCode = ElementType::u8;
};

/// By a factor of the tensor.
template <class Float8>
struct Fp8 : CodesOfBytes<Fp8<Float8>> {
    static constexpr const char* kName = Float8::kName;

    ROPE_INLINE static void write(const float* x, Index count, const FormatRow& to) noexcept {
        const Same factor = {FloatVector::all(to.factor)};
        if (to.divides)
            write_bytes(x, count, FloatQuotient<Float8>{factor}, to.codes);
        else
            write_bytes(x, count, FloatProduct<Float8>{factor}, to.codes);
    }
    ROPE_INLINE static void read(const FormatRow& from, float* x, Index count) noexcept {
        const Same factor = {FloatVector::all(from.factor)};
        if (from.divides)
            read_bytes(from.codes, count, FloatProduct<Float8>{factor}, x);
        else
            read_bytes(from.codes, count, FloatQuotient<Float8>{factor}, x);
    }
};

/// Makes the scale of the numbers of a group.
struct ScaleOf448 {
    ROPE_INLINE static float make(std::uint32_t most, const NumbersBeside& scales, Index g) noexcept {
        return put_number(scales.data + g * scales.step, scales.type, nearest_quotient(bit_cast<float>(most), 448.0f));
    }
    ROPE_INLINE static float number(const NumbersBeside& scales, Index g) noexcept { return number_at(scales, g); }
};
/// The scale is a power of two, stored as its exponent: the smallest that is at least 1e-4 and at least what ScaleOf448
/// makes.
struct PowerOf448 {
    ROPE_INLINE static float make(std::uint32_t most, const NumbersBeside& scales, Index g) noexcept {
        const std::uint32_t scale = bit_cast<std::uint32_t>(nearest_quotient(bit_cast<float>(most), 448.0f));
        const std::uint32_t least = bit_cast<std::uint32_t>(1e-4f), bits = scale < least ? least : scale;
        const unsigned char power = static_cast<unsigned char>(most < 0x7f800000u ? (bits + 0x7fffffu) >> 23 : 255u);
        scales.data[g * scales.step] = power;
        return power_of_two(power);
    }
    ROPE_INLINE static float number(const NumbersBeside& scales, Index g) noexcept {
        return power_of_two(scales.data[g * scales.step]);
    }
};

/// E4M3 of x / scale.
template <class Scale>
struct Fp8E4m3ByScale : CodesOfBytes<Fp8E4m3ByScale<Scale>> {
    static constexpr const char* kName = E4m3::kName;

    ROPE_INLINE static void write(const float* x, Index count, const FormatRow& to) noexcept {
        const Index groups = to.scales.count, width = groups == 1 ? count : count / groups;
        if (width == 1 && to.scales.is_given) return write_by_feature(x, count, to);
        unsigned char* codes = to.codes;
        for (Index g = 0; g < groups; ++g, x += width, codes += width) {
            const float scale = to.scales.is_given ? Scale::number(to.scales, g)
                                                   : Scale::make(largest_absolute(x, width), to.scales, g);
            const std::uint32_t bits = bit_cast<std::uint32_t>(scale) & 0x7fffffffu;
            if (to.scales.is_given || (bits != 0 && bits < 0x7f800000u))
                write_bytes(x, width, FloatQuotient<E4m3>{{FloatVector::all(scale)}}, codes);
            else
                std::memset(codes, 0, static_cast<std::size_t>(width));
        }
    }
    ROPE_NOINLINE static void write_by_feature(const float* x, Index count, const FormatRow& to) noexcept {
        float room[kPiece];
        for (Index first = 0; first < count; first += kPiece) {
            const Index here = count - first < kPiece ? count - first : kPiece;
            const float* const scales = spread(to.scales, count, first, here, room);
            write_bytes(x + first, here, FloatQuotient<E4m3, Each>{{scales}}, to.codes + first);
        }
    }
    ROPE_INLINE static void read(const FormatRow& from, float* x, Index count) noexcept {
        const Index groups = from.scales.count, width = groups == 1 ? count : count / groups;
        if (width == 1 && from.scales.is_given) return read_by_feature(from, x, count);
        for (Index g = 0; g < groups; ++g)
            read_bytes(from.codes + g * width, width,
                       FloatProduct<E4m3>{{FloatVector::all(Scale::number(from.scales, g))}}, x + g * width);
    }
    ROPE_NOINLINE static void read_by_feature(const FormatRow& from, float* x, Index count) noexcept {
        float room[kPiece];
        for (Index first = 0; first < count; first += kPiece) {
            const Index here = count - first < kPiece ? count - first : kPiece;
            const float* const scales = spread(from.scales, count, first, here, room);
            read_bytes(from.codes + first, here, FloatProduct<E4m3, Each>{{scales}}, x + first);
        }
    }
};
struct Fp8E4m3ByHead : Fp8E4m3ByScale<ScaleOf448> {
    static constexpr ScalesBeside kScales = ScalesBeside::numbers;
};
struct Fp8E4m3ByPower : Fp8E4m3ByScale<PowerOf448> {
    static constexpr ScalesBeside kScales = ScalesBeside::bytes;
};

}  // namespace ROPE_ISA
ROPE_DETAIL_END
