// SPDX-License-Identifier: MIT
// ggml's block_q4_0: a half, the scale, and 16 bytes with features 0 .. 15 in their lower halves and 16 .. 31 in their upper
// ones.

ROPE_DETAIL_BEGIN
namespace ROPE_ISA {

struct Q4_0 : Format {
    static constexpr const char* kName = "q4_0";
    static constexpr Index kFeatures = 32, kBytes = 18;
    static constexpr ElementType kCode = ElementType::u8, kScale = kNoElements, kZero = kNoElements;

    ROPE_NOINLINE static void write(const float* x, Index count, const FormatRow& to) noexcept {
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
    static void read(const FormatRow& from, float* x, Index count) noexcept {
        const unsigned char* codes = from.codes;
        half d = {};
        for (Index i = 0; i < count; i += 32, codes += 18) {
            std::memcpy(&d, codes, 2);
            for (Index k = 0; k < 32; ++k)
                x[i + k] = static_cast<float>((codes[2 + k % 16] >> (k / 16 * 4) & 15) - 8) * float_from(d);
        }
    }
};

}  // namespace ROPE_ISA
ROPE_DETAIL_END
