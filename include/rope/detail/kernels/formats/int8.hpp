// SPDX-License-Identifier: MIT
// Codes -127 .. 127, and a scale for each head.

ROPE_DETAIL_BEGIN
namespace ROPE_ISA {

struct Int8 : Format {
    static constexpr const char* kName = "int8";
    static constexpr Index kFeatures = 1, kBytes = 1;
    static constexpr ElementType kCode = ElementType::i8, kScale = ElementType::f32, kZero = kNoElements;

    template <bool is_held>
    struct Product {
        FloatVector inverse;
        ROPE_INLINE Ints of(FloatVector x) const noexcept {
            const Ints bits = rounded_bits((x * inverse).in_register());
            return is_held ? held_to_127(bits - all_ints(kRounderBits)) : bits;
        }
    };
    /// For heads so small that 1 / scale overflows. The scale then has few bits, so a quotient may be beyond 127.
    struct Quotient {
        FloatVector scale;
        ROPE_INLINE Ints of(FloatVector x) const noexcept {
            return held_to_127(rounded_bits(x.divided_by(scale)) - all_ints(kRounderBits));
        }
    };
    struct Number {
        FloatVector scale;
        ROPE_INLINE FloatVector of(Ints byte) const noexcept {
            return FloatVector{as_floats((byte ^ all_ints(128)) - all_ints(128))} * scale;
        }
    };

    ROPE_NOINLINE static void write(const float* x, Index count, const FormatRow& to) noexcept {
        const std::uint32_t most = largest_absolute(x, count);
        const float scale = nearest_quotient(bit_cast<float>(most), 127.0f);
        *static_cast<float*>(to.scale) = scale;
        const float inverse = usable_inverse(most, scale);
        if (inverse == 0.0f) {
            if (scale > 0.0f && most < 0x7f800000u)
                write_bytes(x, count, Quotient{FloatVector::all(scale)}, to.codes);
            else
                std::memset(to.codes, 0, static_cast<std::size_t>(count));
        } else if (fits_127(most, inverse)) {
            write_bytes(x, count, Product<false>{FloatVector::all(inverse)}, to.codes);
        } else {
            write_bytes(x, count, Product<true>{FloatVector::all(inverse)}, to.codes);
        }
    }
    ROPE_NOINLINE static void read(const FormatRow& from, float* x, Index count) noexcept {
        read_bytes(from.codes, count, Number{FloatVector::all(*static_cast<const float*>(from.scale))}, x);
    }
};

}  // namespace ROPE_ISA
ROPE_DETAIL_END
