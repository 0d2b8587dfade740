// SPDX-License-Identifier: MIT
// ggml's block_q4_0: a half, the scale, and 16 bytes with features 0 .. 15 in their lower halves and 16 .. 31 in their upper
// ones.

ROPE_DETAIL_BEGIN
namespace ROPE_ISA {

struct Q4_0 : GgmlFormat<Q4_0, 18> {
    static constexpr const char* kName = "q4_0";

    ROPE_INLINE static half write_codes(const float* x, unsigned char* codes) noexcept {
        float products[32];
        const std::uint32_t most = largest_absolute(x, 32);
        float first =
            0.0f;  // the first number of that absolute value, with its sign; 0 in a block of zeros of any sign
        for (Index k = 31; k >= 0 && most != 0; --k)
            if ((bit_cast<std::uint32_t>(x[k]) & 0x7fffffffu) == most) first = x[k];
        const float d = nearest_quotient(first, -8.0f);
        scaled(x, products, usable_inverse(most, d), 32);
        for (Index k = 0; k < 16; ++k) {
            const std::int32_t low = static_cast<std::int32_t>(products[k] + 8.5f);
            const std::int32_t high = static_cast<std::int32_t>(products[k + 16] + 8.5f);
            codes[k] = static_cast<unsigned char>((low < 15 ? low : 15) | (high < 15 ? high : 15) << 4);
        }
        return half_from(d);
    }
    ROPE_INLINE static int code(const unsigned char* codes, Index k) noexcept {
        return (codes[k % 16] >> (k / 16 * 4) & 15) - 8;
    }
};

}  // namespace ROPE_ISA
ROPE_DETAIL_END
