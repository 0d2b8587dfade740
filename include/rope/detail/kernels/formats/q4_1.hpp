// SPDX-License-Identifier: MIT
// ggml's block_q4_1 and block_q5_1: two halves, the scale and the smallest number, and codes of 4 or 5 bits.

ROPE_DETAIL_BEGIN
namespace ROPE_ISA {

template <Index bits, Index bytes>
struct OfRange : GgmlFormat<OfRange<bits, bytes>, bytes> {
    static constexpr std::int32_t kMost = (1 << bits) - 1;

    struct Code {
        FloatVector low, inverse;
        ROPE_INLINE Ints of(FloatVector x) const noexcept {
            const FloatVector product = ((x - low).in_register() * inverse).in_register();
            return smaller(truncated((product + FloatVector::all(0.5f)).in_register().v), all_ints(kMost));
        }
    };
    struct Number {
        FloatVector scale, low;
        ROPE_INLINE FloatVector of(Ints code) const noexcept {
            return (FloatVector{as_floats(code)} * scale).in_register() + low;
        }
    };
    ROPE_INLINE static void write_block(const float* x, unsigned char* block) noexcept {
        float low, high;
        const bool is_finite_block = find_range(x, 32, low, high);
        if (!is_finite_block) low = bit_cast<float>(0x7fc00000u);
        const float range = hide_from_optimizer(high - low);
        const float d = is_finite_block ? nearest_quotient(range, static_cast<float>(kMost)) : low;
        const float inverse = usable_inverse(bit_cast<std::uint32_t>(range) & 0x7fffffffu, d);
        put_half(block, d);
        put_half(block + 2, low);
        // Without an inverse all codes are 0.
        const float none[32] = {};
        const bool has_codes = inverse != 0.0f;
        write_halves<bits>(has_codes ? x : none,
                           Code{FloatVector::all(has_codes ? low : 0.0f), FloatVector::all(inverse)}, block + 4);
    }
    ROPE_INLINE static void read_block(const unsigned char* block, float* x) noexcept {
        read_halves<bits>(block + 4, Number{FloatVector::all(get_half(block)), FloatVector::all(get_half(block + 2))},
                          x);
    }
};
struct Q4_1 : OfRange<4, 20> {
    static constexpr const char* kName = "q4_1";
};
struct Q5_1 : OfRange<5, 24> {
    static constexpr const char* kName = "q5_1";
};

}  // namespace ROPE_ISA
ROPE_DETAIL_END
