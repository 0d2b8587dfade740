// SPDX-License-Identifier: MIT
// The kernels of cache formats, written once for every instruction set: plain loops. No include guard: see isa_list.hpp.
//
// A product is written to memory before it is rounded to a code, or a compiler could fuse the two.

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
ROPE_NOINLINE void scaled(const float* x, float* y, float factor, Index count) noexcept {
    if (factor == 0.0f) {
        for (Index i = 0; i < count; ++i) y[i] = 0.0f;
    } else {
        ROPE_INDEPENDENT_ITERATIONS
        for (Index i = 0; i < count; ++i) y[i] = x[i] * factor;
    }
    compiler_fence();
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
    float products[kPiece];
    for (Index i = 0; i < count; i += kPiece) {
        const Index here = count - i < kPiece ? count - i : kPiece;
        scaled(x + i, products, inverse, here);
        for (Index k = 0; k < here; ++k) to.codes[i + k] = static_cast<unsigned char>(nearest_even(products[k]));
    }
}
/// Codes from 0 to `levels`, of the range from the smallest to the largest number.
ROPE_NOINLINE void find_range(const float* x, Index count, float& low, float& high) noexcept {
    low = high = x[0];
    for (Index i = 1; i < count; ++i) {
        low = x[i] < low ? x[i] : low;
        high = x[i] > high ? x[i] : high;
    }
}
ROPE_NOINLINE void write_range(const float* x, Index count, const FormatRow& to, Index levels) noexcept {
    float low = x[0], high = x[0];
    double quotients[kPiece];
    find_range(x, count, low, high);
    const bool is_finite_head = largest_magnitude(x, count) < 0x7f800000u;
    // In double: the range may be larger than any float, and the scale is not.
    const double range = static_cast<double>(high) - static_cast<double>(low);
    const float scale = static_cast<float>(hide_from_optimizer(range / static_cast<double>(levels)));
    *to.scale = is_finite_head ? scale : bit_cast<float>(0x7fc00000u);
    *to.zero = low;
    const bool has_codes = is_finite_head && scale > 0.0f;
    for (Index i = 0; i < count; i += kPiece) {
        const Index here = count - i < kPiece ? count - i : kPiece;
        for (Index k = 0; k < here; ++k)
            quotients[k] = has_codes
                               ? (static_cast<double>(x[i + k]) - static_cast<double>(low)) / static_cast<double>(scale)
                               : 0.0;
        compiler_fence();
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
        scaled(x + i, products, usable_inverse(most, d), 32);
        for (Index k = 0; k < 32; ++k) codes[2 + k] = static_cast<unsigned char>(nearest_away(products[k]));
    }
}
/// ggml's block_q4_0: a half, and 16 bytes with features 0 .. 15 in their lower halves and 16 .. 31 in their upper ones.
ROPE_NOINLINE void write_q4_0(const float* x, Index count, const FormatRow& to) noexcept {
    unsigned char* codes = to.codes;
    float products[32];
    for (Index i = 0; i < count; i += 32, codes += 18) {
        const std::uint32_t most = largest_magnitude(x + i, 32);
        float first = 0.0f;  // the first number of that magnitude, with its sign
        for (Index k = 31; k >= 0; --k)
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

template <class Float8>
ROPE_NOINLINE void write_fp8(const float* x, Index count, const FormatRow& to) noexcept {
    const float factor = to.factor;
    if (to.divides) {
        ROPE_INDEPENDENT_ITERATIONS
        for (Index i = 0; i < count; ++i) to.codes[i] = Float8::from(nearest_quotient(x[i], factor));
    } else {
        ROPE_INDEPENDENT_ITERATIONS
        for (Index i = 0; i < count; ++i) to.codes[i] = Float8::from(nearest_product(x[i], factor));
    }
}

// ---- The same by a scale for each head ----

/// Codes of x / scale; all 0 without a scale.
ROPE_NOINLINE void write_e4m3(const float* x, Index count, float scale, unsigned char* codes) noexcept {
    if (scale == 0.0f) {
        for (Index i = 0; i < count; ++i) codes[i] = 0;
        return;
    }
    ROPE_INDEPENDENT_ITERATIONS
    for (Index i = 0; i < count; ++i) codes[i] = E4m3::from(nearest_quotient(x[i], scale));
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
