// SPDX-License-Identifier: MIT
// ggml's block_q4_0: a half, the scale, and 16 bytes with features 0 .. 15 in their lower halves and 16 .. 31 in their upper
// ones.

ROPE_DETAIL_BEGIN
namespace ROPE_ISA {

struct Q4_0 : GgmlFormat<Q4_0, 18> {
    static constexpr const char* kName = "q4_0";

    /// Bits of the first number of the largest absolute value, with its sign; 0 in a block of zeros.
    ROPE_INLINE static std::uint32_t first_of_largest(const float* x) noexcept {
        Ints most_above = all_ints(INT32_MIN),
             most_below = most_above;  // of numbers above 0, and of absolute values below
        for (Index k = 0; k < 32; k += kLanes) {
            const Ints bits = FloatVector::load(x + k).ints();
            most_above = larger(most_above, bits);
            most_below = larger(most_below, bits ^ all_ints(INT32_MIN));
        }
        const std::int32_t above = largest_of(most_above), below = largest_of(most_below);
        const std::uint32_t most = static_cast<std::uint32_t>(above > below ? above : below);
        if (most == 0 || above > below) return most;
        if (above < below) return most | 0x80000000u;
        Index k = 0;
        while ((bit_cast<std::uint32_t>(x[k]) & 0x7fffffffu) != most) ++k;
        return bit_cast<std::uint32_t>(x[k]);
    }
    ROPE_INLINE static Ints code_of(FloatVector x, FloatVector inverse) noexcept {
        const FloatVector sum = (x * inverse).in_register() + FloatVector::all(8.5f);
        return smaller(truncated(sum.in_register().v), all_ints(15));
    }

    ROPE_INLINE static half write_codes(const float* x, unsigned char* codes) noexcept {
        const std::uint32_t first = first_of_largest(x);
        const float d = nearest_quotient(bit_cast<float>(first), -8.0f);
        const float inverse = usable_inverse(first & 0x7fffffffu, d);
        if (inverse == 0.0f) {
            std::memset(codes, 0x88, 16);
        } else {
            const FloatVector all = FloatVector::all(inverse);
            for (Index k = 0; k < 16; k += kLanes) {
                const Ints low = code_of(FloatVector::load(x + k), all);
                const Ints high = code_of(FloatVector::load(x + k + 16), all);
                store_codes(codes + k, low | shifted_left<4>(high));
            }
        }
        return half_from(d);
    }
    ROPE_INLINE static void read_codes(const unsigned char* codes, float scale, float* x) noexcept {
        const FloatVector all = FloatVector::all(scale);
        for (Index k = 0; k < 16; k += kLanes) {
            const Ints bytes = load_codes(codes + k);
            (FloatVector{as_floats((bytes & all_ints(15)) - all_ints(8))} * all).store(x + k);
            (FloatVector{as_floats(shifted_right<4>(bytes) - all_ints(8))} * all).store(x + k + 16);
        }
    }
};

}  // namespace ROPE_ISA
ROPE_DETAIL_END
