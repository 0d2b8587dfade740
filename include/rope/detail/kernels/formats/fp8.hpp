// SPDX-License-Identifier: MIT
// 8-bit floats, by one factor for the tensor or by a scale for each head.

ROPE_DETAIL_BEGIN
namespace ROPE_ISA {

/// Rounds to nearest, ties to even. Absolute values above `most`, infinity included, become `most`.
template <int mantissa, int bias>
inline std::uint32_t float8_absolute(std::uint32_t absolute, std::uint32_t most) noexcept {
    absolute = absolute < most ? absolute : most;
    constexpr std::uint32_t dropped = 23 - mantissa, smallest = static_cast<std::uint32_t>(128 - bias) << 23;
    const std::uint32_t normal = (absolute - (static_cast<std::uint32_t>(127 - bias) << 23) +
                                  ((1u << (dropped - 1)) - 1) + (absolute >> dropped & 1u)) >>
                                 dropped;
    // The sum rounds: its last bit is the smallest subnormal.
    constexpr std::uint32_t aligner = static_cast<std::uint32_t>(127 + 24 - bias - mantissa) << 23;
    const std::uint32_t subnormal =
        bit_cast<std::uint32_t>(bit_cast<float>(absolute) + bit_cast<float>(aligner)) - aligner;
    return absolute < smallest ? subnormal : normal;
}
/// The code of x with its sign; `most` are the bits of the largest number.
template <int mantissa, int bias>
inline unsigned char float8_from(float x, std::uint32_t most) noexcept {
    const std::uint32_t bits = bit_cast<std::uint32_t>(x), absolute = bits & 0x7fffffffu;
    const std::uint32_t code = absolute > 0x7f800000u ? 0x7fu : float8_absolute<mantissa, bias>(absolute, most);
    return static_cast<unsigned char>(code | (bits >> 31) << 7);
}
/// 4 bits of exponent and 3 of mantissa, without infinity: OCP's E4M3.
struct E4m3 {
    static constexpr const char* kName = "fp8_e4m3";
    static unsigned char from(float x) noexcept { return float8_from<3, 7>(x, 0x43e00000u); }
    static float to_float(unsigned char code) noexcept {
        const std::uint32_t absolute = code & 0x7fu;
        const float normal = bit_cast<float>((absolute << 20) + (120u << 23));
        const float x = absolute == 0x7f ? bit_cast<float>(0x7fc00000u)
                        : absolute < 8   ? static_cast<float>(absolute) * 0x1p-9f
                                         : normal;
        return bit_cast<float>(bit_cast<std::uint32_t>(x) | static_cast<std::uint32_t>(code >> 7) << 31);
    }
};
/// 5 bits of exponent and 2 of mantissa: the upper byte of a half.
struct E5m2 {
    static constexpr const char* kName = "fp8_e5m2";
    static unsigned char from(float x) noexcept { return float8_from<2, 15>(x, 0x47600000u); }
    static float to_float(unsigned char code) noexcept {
        return float_from(half{static_cast<std::uint16_t>(code << 8)});
    }
};

/// 2^(byte - 127), as OCP's E8M0 has it: 0 is 2^-127, and 255 a NaN.
inline float power_of_two(unsigned char byte) noexcept {
    const auto bits = static_cast<std::uint32_t>(byte);
    return bit_cast<float>(bits == 0 ? 0x00400000u : bits == 255 ? 0x7fc00000u : bits << 23);
}

/// Codes of x / scale.
template <class Float8>
ROPE_NOINLINE void write_quotients(const float* x, Index count, float scale, unsigned char* codes) noexcept {
    float quotients[kPiece];
    for (Index i = 0; i < count; i += kPiece) {
        const Index here = count - i < kPiece ? count - i : kPiece;
        quotients_of(x + i, 0.0, static_cast<double>(scale), quotients, here);
        ROPE_INDEPENDENT_ITERATIONS
        for (Index k = 0; k < here; ++k) codes[i + k] = Float8::from(quotients[k]);
    }
}
/// Codes of x / scale; all 0 without a scale.
ROPE_NOINLINE void write_e4m3(const float* x, Index count, float scale, unsigned char* codes) noexcept {
    if (scale != 0.0f) return write_quotients<E4m3>(x, count, scale, codes);
    for (Index i = 0; i < count; ++i) codes[i] = 0;
}
inline void read_e4m3(const unsigned char* codes, float scale, float* x, Index count) noexcept {
    for (Index i = 0; i < count; ++i) x[i] = nearest_product(E4m3::to_float(codes[i]), scale);
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
        const float factor = to.factor;
        if (to.divides) return write_quotients<Float8>(x, count, factor, to.codes);
        ROPE_INDEPENDENT_ITERATIONS
        for (Index i = 0; i < count; ++i) to.codes[i] = Float8::from(nearest_product(x[i], factor));
    }
    static void read(const FormatRow& from, float* x, Index count) noexcept {
        for (Index i = 0; i < count; ++i) {
            const float value = Float8::to_float(from.codes[i]);
            x[i] = from.divides ? nearest_product(value, from.factor) : nearest_quotient(value, from.factor);
        }
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
