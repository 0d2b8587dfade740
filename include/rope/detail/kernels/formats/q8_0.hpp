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

struct Q8_0 : GgmlFormat<Q8_0, 34> {
    static constexpr const char* kName = "q8_0";

    ROPE_INLINE static half write_codes(const float* x, unsigned char* codes) noexcept {
        float products[32];
        const std::uint32_t most = largest_absolute(x, 32);
        const float d = nearest_quotient(bit_cast<float>(most), 127.0f), inverse = usable_inverse(most, d);
        scaled(x, products, inverse, 32);
        if (!fits_127(most, inverse)) limit_to_127(products, 32);
        for (Index k = 0; k < 32; ++k) codes[k] = static_cast<unsigned char>(nearest_away(products[k]));
        return half_from(d);
    }
    ROPE_INLINE static int code(const unsigned char* codes, Index k) noexcept {
        return static_cast<signed char>(codes[k]);
    }
};

}  // namespace ROPE_ISA
ROPE_DETAIL_END
