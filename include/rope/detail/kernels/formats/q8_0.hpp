// SPDX-License-Identifier: MIT
// ggml's block_q8_0: a half, the scale, and 32 codes.

ROPE_DETAIL_BEGIN
namespace ROPE_ISA {

struct Q8_0 : GgmlFormat<Q8_0, 34> {
    static constexpr const char* kName = "q8_0";

    /// The nearest whole numbers, ties away from zero, as roundf has them: to 0.5 - 2^-25 more, without the fraction.
    template <bool is_held>
    struct Product {
        FloatVector inverse;
        ROPE_INLINE Ints of(FloatVector x, Index) const noexcept {
            const FloatVector product = (x * inverse).in_register();
            const Ints nearly_half = (product.ints() & all_ints(INT32_MIN)) | all_ints(0x3effffff);
            const Ints code = truncated((product + FloatVector::from(nearly_half)).in_register().v);
            return is_held ? held_to<127>(code) : code;
        }
    };

    ROPE_INLINE static void write_block(const float* x, unsigned char* block) noexcept {
        const std::uint32_t most = largest_absolute(x, 32);
        const float d = nearest_quotient(bit_cast<float>(most), 127.0f), inverse = usable_inverse(most, d);
        unsigned char* const codes = block + 2;
        put_half(block, d);
        if (inverse == 0.0f)
            std::memset(codes, 0, 32);
        else if (fits<127>(most, inverse))
            write_bytes(x, 32, Product<false>{FloatVector::all(inverse)}, codes);
        else
            write_bytes(x, 32, Product<true>{FloatVector::all(inverse)}, codes);
    }
    ROPE_INLINE static void read_block(const unsigned char* block, float* x) noexcept {
        const Same scale = {FloatVector::all(get_half(block))}, zero = {FloatVector::all(0.0f)};
        read_bytes<true>(block + 2, 32, WholeNumber<0, Same>{scale, zero}, x);
    }
};

}  // namespace ROPE_ISA
ROPE_DETAIL_END
