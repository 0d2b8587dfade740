// SPDX-License-Identifier: MIT
// The kernels of cache formats, written once for every instruction set: plain loops. No include guard: see isa_list.hpp.
//
// A product is written to memory before it is rounded to a code, or a compiler could fuse the two. Comparisons for which
// a NaN or the sign of a zero matters are made on bits, or -ffast-math could change their result.

ROPE_DETAIL_BEGIN
namespace ROPE_ISA {

// ---- Parts ----

/// The largest magnitude, as bits. The bits of a NaN are larger than those of infinity, so that a NaN is found, too.
ROPE_NOINLINE std::uint32_t largest_magnitude(const float* x, Index count) noexcept {
    std::uint32_t most = 0;
    ROPE_INDEPENDENT_ITERATIONS
    for (Index i = 0; i < count; ++i) {
        const std::uint32_t bits = bit_cast<std::uint32_t>(x[i]) & 0x7fffffffu;
        most = bits > most ? bits : most;
    }
    return most;
}
/// y = x * factor, written before it is read again; zeros if factor is 0, also of an infinity or a NaN.
template <class T>
ROPE_NOINLINE void scaled(const T* x, T* y, T factor, Index count) noexcept {
    if (factor == T(0)) {
        for (Index i = 0; i < count; ++i) y[i] = T(0);
    } else {
        constexpr Index kWidth = Vector<T>::kWidth;
        const Index whole = kWidth > 1 ? count / kWidth * kWidth : 0;
        if constexpr (kWidth > 1)
            for (Index i = 0; i < whole; i += kWidth) (Vector<T>::load(x + i) * Vector<T>::all(factor)).store(y + i);
        for (Index i = whole; i < count; ++i) y[i] = x[i] * factor;
    }
    compiler_fence();
}
/// to[i] = (x[i] - low) / scale, computed in double.
template <class To, class Double = double>
ROPE_NOINLINE void quotients_of(const float* x, double low, double scale, To* to, Index count) noexcept {
    Index i = 0;
    if constexpr (Vector<Double>::kWidth > 1) {
        using V = Vector<Double>;
        for (; i + V::kWidth <= count; i += V::kWidth)
            (V::load(x + i) - V::all(low)).divided_by(V::all(scale)).store(to + i);
    }
    for (; i < count; ++i) to[i] = static_cast<To>(quotient(static_cast<double>(x[i]) - low, scale));
}
/// The nearest whole number, ties to even. |x| is below 2^22.
ROPE_INLINE std::int32_t nearest_even(float x) noexcept {
    return bit_cast<std::int32_t>(x + kRounder) - bit_cast<std::int32_t>(kRounder);
}
/// x is from 0 to 2^31.
ROPE_INLINE std::int32_t nearest_even(double x) noexcept {
    constexpr double rounder = 6755399441055744.0;  // 1.5 * 2^52: sums have no fraction
    return static_cast<std::int32_t>(bit_cast<std::int64_t>(x + rounder) - bit_cast<std::int64_t>(rounder));
}
/// The nearest whole number, ties away from zero, as roundf has it.
ROPE_INLINE std::int32_t nearest_away(float x) noexcept {
    const std::int32_t even = nearest_even(x);
    const float left = x - static_cast<float>(even);  // exact
    return even + ((left == 0.5f) & (x > 0.0f)) - ((left == -0.5f) & (x < 0.0f));
}

/// Whether products of `inverse` with magnitudes up to `most` become codes -127 .. 127. (Rounding is monotonic.) Otherwise
/// the caller has set another rounding mode than to nearest, and limit_to_127 is needed.
ROPE_INLINE bool fits_127(std::uint32_t most, float inverse) noexcept {
    const float least =
        hide_from_optimizer(bit_cast<float>(most | 0x80000000u));  // its product has a rounding of its own
    return nearest_even(hide_from_optimizer(bit_cast<float>(most) * inverse)) <= 127 &&
           nearest_even(hide_from_optimizer(least * inverse)) >= -127;
}
ROPE_COLD void limit_to_127(float* products, Index count) noexcept {
    for (Index i = 0; i < count; ++i)
        products[i] = products[i] > 127.0f ? 127.0f : products[i] < -127.0f ? -127.0f : products[i];
}

// ---- Formats that scale a head, or a block of it. Each writes codes, and beside them what a reader needs ----

inline constexpr Index kPiece = 64;

ROPE_NOINLINE void write_int8(const float* x, Index count, const FormatRow& to) noexcept {
    const std::uint32_t most = largest_magnitude(x, count);
    const float scale = nearest_quotient(bit_cast<float>(most), 127.0f);
    *to.scale = scale;
    const float inverse = usable_inverse(most, scale);
    if (inverse == 0.0f && scale > 0.0f && most < 0x7f800000u) {  // numbers so small that 1 / scale is none
        for (Index i = 0; i < count; ++i) {  // and the scale so rough that quotients may be beyond 127
            const std::int32_t code = nearest_even(nearest_quotient(x[i], scale));
            to.codes[i] = static_cast<unsigned char>(code > 127 ? 127 : code < -127 ? -127 : code);
        }
        return;
    }
    const bool fits = fits_127(most, inverse);
    float products[kPiece];
    for (Index i = 0; i < count; i += kPiece) {
        const Index here = count - i < kPiece ? count - i : kPiece;
        scaled(x + i, products, inverse, here);
        if (!fits) limit_to_127(products, here);
        for (Index k = 0; k < here; ++k) to.codes[i + k] = static_cast<unsigned char>(nearest_even(products[k]));
    }
}
/// The smallest and the largest number; of zeros of both signs the first. False if one is infinite or a NaN.
ROPE_NOINLINE bool find_range(const float* x, Index count, float& low, float& high) noexcept {
    constexpr std::int32_t infinity = 0x7f800000;
    std::int32_t least = infinity, most = -infinity;  // bits, which numbers below 0 have negated
    ROPE_INDEPENDENT_ITERATIONS
    for (Index i = 0; i < count; ++i) {
        const std::int32_t bits = bit_cast<std::int32_t>(x[i]), magnitude = bits & 0x7fffffff;
        const std::int32_t number = bits < 0 ? -magnitude : magnitude;
        least = number < least ? number : least;
        most = number > most ? number : most;
    }
    low = bit_cast<float>(least < 0 ? INT32_MIN - least : least);
    high = bit_cast<float>(most < 0 ? INT32_MIN - most : most);
    for (Index i = count - 1; least == 0 && i >= 0; --i)
        if ((bit_cast<std::uint32_t>(x[i]) & 0x7fffffffu) == 0) low = x[i];
    return least > -infinity && most < infinity;
}
/// Codes from 0 to `levels`, of the range from the smallest to the largest number.
ROPE_NOINLINE void write_range(const float* x, Index count, const FormatRow& to, Index levels) noexcept {
    float low, high;
    double quotients[kPiece];
    const bool is_finite_head = find_range(x, count, low, high);
    // In double: the range may be larger than any float, and the scale is not.
    const double range = hide_from_optimizer(static_cast<double>(high) - static_cast<double>(low));
    const float scale = static_cast<float>(quotient(range, static_cast<double>(levels)));
    *to.scale = is_finite_head ? scale : bit_cast<float>(0x7fc00000u);
    *to.zero = is_finite_head ? low : bit_cast<float>(0x7fc00000u);
    const bool has_codes = is_finite_head && scale > 0.0f;
    for (Index i = 0; i < count; i += kPiece) {
        const Index here = count - i < kPiece ? count - i : kPiece;
        if (has_codes)
            quotients_of(x + i, static_cast<double>(low), static_cast<double>(scale), quotients, here);
        else
            for (double& of_zeros : quotients) of_zeros = 0.0;
        for (Index k = 0; k < here; ++k) {
            const std::int32_t nearest = nearest_even(quotients[k]);
            const std::int32_t code = nearest < levels ? nearest : static_cast<std::int32_t>(levels);
            if (levels == 255) {
                to.codes[i + k] = static_cast<unsigned char>(code);
            } else {
                unsigned char& both = to.codes[(i + k) / 2];
                both = static_cast<unsigned char>((i + k) % 2 == 0 ? code : both | code << 4);
            }
        }
    }
}
ROPE_NOINLINE void write_uint8(const float* x, Index count, const FormatRow& to) noexcept {
    write_range(x, count, to, 255);
}
ROPE_NOINLINE void write_uint4(const float* x, Index count, const FormatRow& to) noexcept {
    write_range(x, count, to, 15);
}

/// ggml's block_q8_0: a half and 32 codes.
ROPE_NOINLINE void write_q8_0(const float* x, Index count, const FormatRow& to) noexcept {
    unsigned char* codes = to.codes;
    float products[32];
    for (Index i = 0; i < count; i += 32, codes += 34) {
        const std::uint32_t most = largest_magnitude(x + i, 32);
        const float d = nearest_quotient(bit_cast<float>(most), 127.0f);
        const half stored = half_from(d);
        std::memcpy(codes, &stored, 2);
        const float inverse = usable_inverse(most, d);
        scaled(x + i, products, inverse, 32);
        if (!fits_127(most, inverse)) limit_to_127(products, 32);
        for (Index k = 0; k < 32; ++k) codes[2 + k] = static_cast<unsigned char>(nearest_away(products[k]));
    }
}
/// ggml's block_q4_0: a half, and 16 bytes with features 0 .. 15 in their lower halves and 16 .. 31 in their upper ones.
ROPE_NOINLINE void write_q4_0(const float* x, Index count, const FormatRow& to) noexcept {
    unsigned char* codes = to.codes;
    float products[32];
    for (Index i = 0; i < count; i += 32, codes += 18) {
        const std::uint32_t most = largest_magnitude(x + i, 32);
        float first = 0.0f;  // the first number of that magnitude, with its sign; 0 in a block of zeros of any sign
        for (Index k = 31; k >= 0 && most != 0; --k)
            if ((bit_cast<std::uint32_t>(x[i + k]) & 0x7fffffffu) == most) first = x[i + k];
        const float d = nearest_quotient(first, -8.0f);
        const half stored = half_from(d);
        std::memcpy(codes, &stored, 2);
        scaled(x + i, products, usable_inverse(most, d), 32);
        for (Index k = 0; k < 16; ++k) {
            const std::int32_t low = static_cast<std::int32_t>(products[k] + 8.5f);
            const std::int32_t high = static_cast<std::int32_t>(products[k + 16] + 8.5f);
            codes[2 + k] = static_cast<unsigned char>((low < 15 ? low : 15) | (high < 15 ? high : 15) << 4);
        }
    }
}

// ---- 8-bit floats, by one factor for the tensor ----

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
template <class Float8>
ROPE_NOINLINE void write_fp8(const float* x, Index count, const FormatRow& to) noexcept {
    const float factor = to.factor;
    if (to.divides) return write_quotients<Float8>(x, count, factor, to.codes);
    ROPE_INDEPENDENT_ITERATIONS
    for (Index i = 0; i < count; ++i) to.codes[i] = Float8::from(nearest_product(x[i], factor));
}

// ---- The same by a scale for each head ----

/// Codes of x / scale; all 0 without a scale.
ROPE_NOINLINE void write_e4m3(const float* x, Index count, float scale, unsigned char* codes) noexcept {
    if (scale != 0.0f) return write_quotients<E4m3>(x, count, scale, codes);
    for (Index i = 0; i < count; ++i) codes[i] = 0;
}
ROPE_NOINLINE void write_e4m3_by_head(const float* x, Index count, const FormatRow& to) noexcept {
    const std::uint32_t most = largest_magnitude(x, count);
    *to.scale = nearest_quotient(bit_cast<float>(most), 448.0f);
    write_e4m3(x, count, most < 0x7f800000u ? *to.scale : 0.0f, to.codes);
}
/// The smallest power of two that is not below the scale of a head, nor below 1e-4.
ROPE_NOINLINE void write_e4m3_by_power(const float* x, Index count, const FormatRow& to) noexcept {
    const std::uint32_t most = largest_magnitude(x, count);
    const std::uint32_t scale = bit_cast<std::uint32_t>(nearest_quotient(bit_cast<float>(most), 448.0f));
    const std::uint32_t least = bit_cast<std::uint32_t>(1e-4f), bits = scale < least ? least : scale;
    const bool is_finite_head = most < 0x7f800000u;
    *to.power = static_cast<unsigned char>(is_finite_head ? (bits + 0x7fffffu) >> 23 : 255u);
    write_e4m3(x, count, is_finite_head ? power_of_two(*to.power) : 0.0f, to.codes);
}

/// By CacheFormat; null for plain elements.
inline constexpr WriteFormat* kWriteFormat[] = {
    nullptr,          &write_int8,         &write_uint8,         &write_uint4, &write_fp8<E4m3>,
    &write_fp8<E5m2>, &write_e4m3_by_head, &write_e4m3_by_power, &write_q8_0,  &write_q4_0};

}  // namespace ROPE_ISA
ROPE_DETAIL_END
