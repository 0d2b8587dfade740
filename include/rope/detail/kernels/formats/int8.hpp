// SPDX-License-Identifier: MIT
// Codes -127 .. 127, and a scale for each head.

ROPE_DETAIL_BEGIN
namespace ROPE_ISA {

struct Int8 : Format {
    static constexpr const char* kName = "int8";
    static constexpr Index kFeatures = 1, kBytes = 1;
    static constexpr ElementType kCode = ElementType::i8, kScale = ElementType::f32, kZero = kNoElements;

    ROPE_NOINLINE static void write(const float* x, Index count, const FormatRow& to) noexcept {
        const std::uint32_t most = largest_absolute(x, count);
        const float scale = nearest_quotient(bit_cast<float>(most), 127.0f);
        *static_cast<float*>(to.scale) = scale;
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
    static void read(const FormatRow& from, float* x, Index count) noexcept {
        const float scale = *static_cast<const float*>(from.scale);
        for (Index i = 0; i < count; ++i) x[i] = static_cast<float>(static_cast<signed char>(from.codes[i])) * scale;
    }
};

}  // namespace ROPE_ISA
ROPE_DETAIL_END
