// SPDX-License-Identifier: MIT
// ggml's block_q8_0: a half, the scale, and 32 codes.

ROPE_DETAIL_BEGIN
namespace ROPE_ISA {

/// The nearest whole number, ties away from zero, as roundf has it.
ROPE_INLINE std::int32_t nearest_away(float x) noexcept {
    const std::int32_t even = nearest_even(x);
    const float left = x - static_cast<float>(even);  // exact
    return even + ((left == 0.5f) & (x > 0.0f)) - ((left == -0.5f) & (x < 0.0f));
}

struct Q8_0 : Format {
    static constexpr const char* kName = "q8_0";
    static constexpr Index kFeatures = 32, kBytes = 34;
    static constexpr ElementType kCode = ElementType::u8, kScale = kNoElements, kZero = kNoElements;

    ROPE_NOINLINE static void write(const float* x, Index count, const FormatRow& to) noexcept {
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
    static void read(const FormatRow& from, float* x, Index count) noexcept {
        const unsigned char* codes = from.codes;
        half d = {};
        for (Index i = 0; i < count; i += 32, codes += 34) {
            std::memcpy(&d, codes, 2);
            for (Index k = 0; k < 32; ++k)
                x[i + k] = static_cast<float>(static_cast<signed char>(codes[2 + k])) * float_from(d);
        }
    }
};

}  // namespace ROPE_ISA
ROPE_DETAIL_END
