// SPDX-License-Identifier: MIT
// Codes from 0 on, of 8 or 4 bits, of the range from the smallest to the largest number of a head; its scale, its zero.

ROPE_DETAIL_BEGIN
namespace ROPE_ISA {

/// The smallest and the largest number; of zeros of both signs the first. False if one is infinite or a NaN.
ROPE_NOINLINE bool find_range(const float* x, Index count, float& low, float& high) noexcept {
    constexpr std::int32_t infinity = 0x7f800000;
    std::int32_t least = infinity, most = -infinity;  // bits, which numbers below 0 have negated
    ROPE_INDEPENDENT_ITERATIONS
    for (Index i = 0; i < count; ++i) {
        const std::int32_t bits = bit_cast<std::int32_t>(x[i]), absolute = bits & 0x7fffffff;
        const std::int32_t number = bits < 0 ? -absolute : absolute;
        least = number < least ? number : least;
        most = number > most ? number : most;
    }
    low = bit_cast<float>(least < 0 ? INT32_MIN - least : least);
    high = bit_cast<float>(most < 0 ? INT32_MIN - most : most);
    for (Index i = count - 1; least == 0 && i >= 0; --i)
        if ((bit_cast<std::uint32_t>(x[i]) & 0x7fffffffu) == 0) low = x[i];
    return least > -infinity && most < infinity;
}
template <Index bits>
struct Range : Format {
    static constexpr Index kFeatures = 8 / bits, kBytes = 1;
    static constexpr ElementType kCode = ElementType::u8, kScale = ElementType::f32, kZero = ElementType::f32;
    static constexpr std::int32_t kLevels = (1 << bits) - 1;

    ROPE_NOINLINE static void write(const float* x, Index count, const FormatRow& to) noexcept {
        float low, high;
        double quotients[kPiece];
        const bool is_finite_head = find_range(x, count, low, high);
        // In double: the range may be larger than any float, and the scale is not.
        const double range = hide_from_optimizer(static_cast<double>(high) - static_cast<double>(low));
        const float scale = static_cast<float>(quotient(range, static_cast<double>(kLevels)));
        *static_cast<float*>(to.scale) = is_finite_head ? scale : bit_cast<float>(0x7fc00000u);
        *static_cast<float*>(to.zero) = is_finite_head ? low : bit_cast<float>(0x7fc00000u);
        const bool has_codes = is_finite_head && scale > 0.0f;
        for (Index i = 0; i < count; i += kPiece) {
            const Index here = count - i < kPiece ? count - i : kPiece;
            if (has_codes)
                quotients_of(x + i, static_cast<double>(low), static_cast<double>(scale), quotients, here);
            else
                for (double& of_zeros : quotients) of_zeros = 0.0;
            for (Index k = 0; k < here; ++k) {
                const std::int32_t nearest = nearest_even(quotients[k]);
                const std::int32_t code = nearest < kLevels ? nearest : kLevels;
                unsigned char& byte = to.codes[(i + k) / kFeatures];
                const Index place = (i + k) % kFeatures;  // the first is in the lowest bits
                byte = static_cast<unsigned char>(place == 0 ? code : byte | code << place * bits);
            }
        }
    }
    static void read(const FormatRow& from, float* x, Index count) noexcept {
        const float scale = *static_cast<const float*>(from.scale), zero = *static_cast<const float*>(from.zero);
        for (Index i = 0; i < count; ++i)
            x[i] =
                fused(static_cast<float>(from.codes[i / kFeatures] >> (i % kFeatures * bits) & kLevels), scale, zero);
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
