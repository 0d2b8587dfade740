// SPDX-License-Identifier: MIT
// Loops that several formats are made of.

ROPE_DETAIL_BEGIN
namespace ROPE_ISA {

/// The most numbers that are computed before their codes are written.
inline constexpr Index kPiece = 64;

/// The largest absolute value, as bits. A NaN has larger bits than infinity, so a NaN is found, too.
ROPE_NOINLINE std::uint32_t largest_absolute(const float* x, Index count) noexcept {
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
/// Added to a number below 2^22, it leaves no fraction.
inline constexpr float kRounder = 12582912.0f;

/// The nearest whole number, ties to even. |x| is below 2^22.
ROPE_INLINE std::int32_t nearest_even(float x) noexcept {
    return bit_cast<std::int32_t>(x + kRounder) - bit_cast<std::int32_t>(kRounder);
}
/// x is from 0 to 2^31.
ROPE_INLINE std::int32_t nearest_even(double x) noexcept {
    constexpr double rounder = 6755399441055744.0;  // 1.5 * 2^52: sums have no fraction
    return static_cast<std::int32_t>(bit_cast<std::int64_t>(x + rounder) - bit_cast<std::int64_t>(rounder));
}
/// 1 / scale; 0, which makes all codes 0, where it has no use: of zeros, of numbers so small that it overflows, and
/// beside an infinity or a NaN, which the scale then is.
ROPE_INLINE float usable_inverse(std::uint32_t most, float scale) noexcept {
    if (most >= 0x7f800000u || scale == 0.0f) return 0.0f;
    const float inverse = nearest_quotient(1.0f, scale);
    return (bit_cast<std::uint32_t>(inverse) & 0x7fffffffu) < 0x7f800000u ? inverse : 0.0f;
}

/// Whether products of `inverse` and absolute values up to `most` become codes -127 .. 127. (Rounding is monotonic.)
/// Otherwise the caller has set another rounding mode than to nearest, and limit_to_127 is needed.
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

/// ggml's blocks of 32 features: a half, the scale, and codes. A Block writes and reads one of them.
template <class Block, Index bytes>
struct GgmlFormat : Format {
    static constexpr Index kFeatures = 32, kBytes = bytes;
    static constexpr ElementType kCode = ElementType::u8, kScale = kNoElements, kZero = kNoElements;

    ROPE_NOINLINE static void write(const float* x, Index count, const FormatRow& to) noexcept {
        unsigned char* block = to.codes;
        for (Index i = 0; i < count; i += kFeatures, block += bytes) {
            const half scale = Block::write_codes(x + i, block + sizeof(half));
            std::memcpy(block, &scale, sizeof(half));
        }
    }
    static void read(const FormatRow& from, float* x, Index count) noexcept {
        const unsigned char* block = from.codes;
        half scale = {};
        for (Index i = 0; i < count; i += kFeatures, block += bytes) {
            std::memcpy(&scale, block, sizeof(half));
            for (Index k = 0; k < kFeatures; ++k)
                x[i + k] = static_cast<float>(Block::code(block + sizeof(half), k)) * float_from(scale);
        }
    }
};

}  // namespace ROPE_ISA
ROPE_DETAIL_END
