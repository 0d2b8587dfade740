// SPDX-License-Identifier: MIT
// Codes of as many numbers below 0 as above it, by scales made of the largest absolute values.

ROPE_DETAIL_BEGIN
namespace ROPE_ISA {

template <Index bits>
struct Symmetric {
    static constexpr std::int32_t kMost = (1 << (bits - 1)) - 1;

    template <bool is_held>
    struct Product {
        FloatVector inverse;
        ROPE_INLINE Ints of(FloatVector x, Index) const noexcept {
            const Ints code = rounded_bits((x * inverse).in_register());
            return is_held ? held_to<kMost>(code - all_ints(kRounderBits)) : code;
        }
    };
    /// For groups so small that 1 / scale overflows. The scale then has few bits, so a quotient may be beyond kMost.
    struct Quotient {
        FloatVector scale;
        ROPE_INLINE Ints of(FloatVector x, Index) const noexcept {
            return held_to<kMost>(rounded_bits(x.divided_by(scale)) - all_ints(kRounderBits));
        }
    };

    /// Scales and 1 / scale. False unless all are usual: finite and above 0, and products with numbers become codes
    /// without being held. (Rounding is monotonic. In another rounding mode than to nearest a product may be too large.)
    ROPE_INLINE static bool make_scales(const Batch& largest, Index count, Batch& scales, Batch& inverses) noexcept {
        Ints unusual = all_ints(0);
        const Ints most = all_ints(kMost), finite = all_ints(0x7f7fffff);
        for (Index i = 0; i < count; i += kLanes) {
            const FloatVector x = FloatVector::load(largest + i);
            const FloatVector scale = x.divided_by(FloatVector::all(static_cast<float>(kMost)));
            const FloatVector inverse = FloatVector::all(1.0f).divided_by(scale);
            scale.store(scales + i);
            inverse.store(inverses + i);
            const FloatVector below = FloatVector::from(x.ints() | all_ints(INT32_MIN));
            const Ints above = rounded_bits((x * inverse).in_register()) - all_ints(kRounderBits);
            const Ints under = all_ints(kRounderBits) - rounded_bits((below * inverse).in_register());
            unusual = unusual | is_above(larger(above, under), most) | is_above(absolute_bits(inverse), finite) |
                      is_above(x.ints(), finite);
        }
        return signs_of(unusual) == 0;
    }
    /// Groups of which any is unusual.
    ROPE_NOINLINE static void write_unusual(const Groups& g, Index width, const Batch& largest,
                                            const Batch& scales) noexcept {
        for (Index i = 0; i < g.count; ++i) {
            const float scale = scales[i], inverse = usable_inverse(bit_cast<std::uint32_t>(largest[i]), scale);
            if (inverse != 0.0f)
                write_codes<bits>(g.x[i], width, Product<true>{FloatVector::all(inverse)}, g.codes[i]);
            else if (scale > 0.0f && bit_cast<std::uint32_t>(scale) < 0x7f800000u)
                write_codes<bits>(g.x[i], width, Quotient{FloatVector::all(scale)}, g.codes[i]);
            else
                std::memset(g.codes[i], 0, static_cast<std::size_t>(bytes_of_features<bits>(width)));
        }
    }

    ROPE_NOINLINE static void write(GroupsOfHeads groups, ElementType type) noexcept {
        const Index width = groups.width();
        Groups g;
        while (groups.next(g)) {
            Batch largest, scales, inverses;
            fill(largest, g.count, 1.0f);
            for (Index i = 0; i < g.count; ++i) largest[i] = bit_cast<float>(largest_absolute(g.x[i], width));
            const bool are_usual = make_scales(largest, g.count, scales, inverses);
            store_numbers(type, g.scales, g.count, scales);
            if (are_usual && type == ElementType::f32)
                for (Index i = 0; i < g.count; ++i)
                    write_codes<bits>(g.x[i], width, Product<false>{FloatVector::all(inverses[i])}, g.codes[i]);
            else
                write_unusual(g, width, largest, scales);
        }
    }
};

}  // namespace ROPE_ISA
ROPE_DETAIL_END
