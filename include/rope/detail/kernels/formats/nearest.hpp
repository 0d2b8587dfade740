// SPDX-License-Identifier: MIT
// The whole numbers nearest to (x - minimum) / scale or to x / scale + zero, as codes: by floats, and where these cannot tell,
// by doubles.

ROPE_DETAIL_BEGIN
namespace ROPE_ISA {

/// Added to a number below 2^51, it leaves no fraction: the nearest whole number, ties to even.
inline constexpr double kWholeRounder = 6755399441055744.0;  // 1.5 * 2^52
inline double nearest_whole(double x) noexcept { return hide_from_optimizer(x + kWholeRounder) - kWholeRounder; }

/// The code of one number.
ROPE_NOINLINE std::int32_t nearest_code(float x, float scale, float zero, ZeroUse use, std::int32_t least,
                                        std::int32_t most) noexcept {
    const double low = use == ZeroUse::minimum ? static_cast<double>(zero) : 0.0;
    const double added = static_cast<double>(use == ZeroUse::minimum ? static_cast<float>(least) : zero);
    double code = quotient(hide_from_optimizer(static_cast<double>(x) - low), static_cast<double>(scale));
    constexpr std::uint64_t magnitude = ~std::uint64_t(0) >> 1, infinity = std::uint64_t(0x7ff) << 52;
    const std::uint32_t bits = bit_cast<std::uint32_t>(scale) & 0x7fffffffu;
    if ((bit_cast<std::uint64_t>(code) & magnitude) > infinity || bits == 0 || bits >= 0x7f800000u) code = 0.0;
    constexpr double most_whole = 1125899906842624.0;  // 2^50
    code = use == ZeroUse::code ? hide_from_optimizer(code + added) : code;
    code = nearest_whole(code < -most_whole ? -most_whole : code > most_whole ? most_whole : code);
    if (use != ZeroUse::code) code += added;
    if ((bit_cast<std::uint64_t>(code) & magnitude) > infinity) code = 0.0;  // by a zero that is a NaN
    return code <= static_cast<double>(least)  ? least
           : code >= static_cast<double>(most) ? most
                                               : static_cast<std::int32_t>(code);
}
/// Sets `low`, which is subtracted from numbers before the division, and `rounder`, which is added to quotients: a minimum
/// has the least code.
ROPE_INLINE void place_zero(ZeroUse use, float scale, float zero, std::int32_t least, float& low,
                            float& rounder) noexcept {
    low = zero;
    rounder = kRounder + static_cast<float>(least);
    if (use == ZeroUse::minimum) return;
    low = 0.0f;
    rounder = kRounder;
    if (use == ZeroUse::whole_code)
        rounder = kRounder + zero;
    else  // a large zero is left to doubles
        low = bit_cast<float>((bit_cast<std::uint32_t>(zero) & 0x7fffffffu) <= 0x44800000u
                                  ? bit_cast<std::uint32_t>(-(zero * scale))
                                  : 0x7fc00000u);
}

/// The same in floats, from which the quotient differs by up to 2^-14 where it is a code. `worst` is the largest distance
/// to a code; beyond kLimit, the nearest code may be the next one.
template <class Scales, class Zeros = Scales>
struct NearestCode {
    static constexpr std::int32_t kLimit = 0x3effe000;  // 0.5 - 2^-12

    Scales scale;
    Zeros low, rounder;  // kRounder and the code that stands for 0
    Ints least, most;    // and kRounderBits
    Ints worst;

    ROPE_INLINE Ints of(FloatVector x, Index i) noexcept {
        const FloatVector code = (x - low.at(i)).divided_by(scale.at(i)), whole = rounder.at(i);
        const FloatVector rounded = (code + whole).in_register();
        worst = larger(worst, absolute_bits(code - (rounded - whole).in_register()));
        return smaller(larger(rounded.ints(), least), most);
    }
};

}  // namespace ROPE_ISA
ROPE_DETAIL_END
