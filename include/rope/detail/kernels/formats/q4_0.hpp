// SPDX-License-Identifier: MIT
// ggml's block_q4_0 and block_q5_0: a half, the scale, and codes of 4 or 5 bits of which the middle one is 0.

ROPE_DETAIL_BEGIN
namespace ROPE_ISA {

template <Index bits, Index bytes>
struct OfLargest : GgmlFormat<OfLargest<bits, bytes>, bytes> {
    static constexpr std::int32_t kMiddle = 1 << (bits - 1);

    struct Code {
        FloatVector inverse;
        ROPE_INLINE Ints of(FloatVector x) const noexcept {
            const FloatVector sum = (x * inverse).in_register() + FloatVector::all(static_cast<float>(kMiddle) + 0.5f);
            return smaller(truncated(sum.in_register().v), all_ints(2 * kMiddle - 1));
        }
    };
    struct Number {
        FloatVector scale;
        ROPE_INLINE FloatVector of(Ints code) const noexcept {
            return FloatVector{as_floats(code - all_ints(kMiddle))} * scale;
        }
    };
    ROPE_INLINE static void write_block(const float* x, unsigned char* block) noexcept {
        const std::uint32_t first = first_of_largest(x);
        const float d = nearest_quotient(bit_cast<float>(first), -static_cast<float>(kMiddle));
        const float inverse = usable_inverse(first & 0x7fffffffu, d);
        put_half(block, d);
        // Without an inverse all products are 0, and all codes the middle one.
        const float none[32] = {};
        write_halves<bits>(inverse == 0.0f ? none : x, Code{FloatVector::all(inverse)}, block + 2);
    }
    ROPE_INLINE static void read_block(const unsigned char* block, float* x) noexcept {
        read_halves<bits>(block + 2, Number{FloatVector::all(get_half(block))}, x);
    }
};
struct Q4_0 : OfLargest<4, 18> {
    static constexpr const char* kName = "q4_0";
};
struct Q5_0 : OfLargest<5, 22> {
    static constexpr const char* kName = "q5_0";
};

}  // namespace ROPE_ISA
ROPE_DETAIL_END
