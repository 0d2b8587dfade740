// SPDX-License-Identifier: MIT
// ggml's blocks of codes of 4 bits that stand for numbers of a table: block_iq4_nl and block_mxfp4.

ROPE_DETAIL_BEGIN
namespace ROPE_ISA {

/// Numbers of a table, times a scale.
struct NumberInTable {
    const signed char* table;  // of 16
    FloatVector scale;
    ROPE_INLINE FloatVector of(Ints code) const noexcept {
        return FloatVector{as_floats(looked_up(table, code))} * scale;
    }
};
/// Vectors of a block.
using BlockInts = Ints[32 / kLanes];
/// How many of some integers, in order, are below x, for each number of a block. They are read from memory: as constants of
/// the code, each would take three instructions.
template <std::size_t count>
ROPE_INLINE void count_below(const BlockInts& x, const std::int32_t (&integers)[count], BlockInts& found) noexcept {
    const std::int32_t* const from = integers + hide_from_optimizer(Index(0));
    ROPE_UNROLL
    for (Index k = 0; k < 32 / kLanes; ++k) found[k] = all_ints(0);
    ROPE_UNROLL
    for (std::size_t i = 0; i < count; ++i) {
        const Ints integer = all_ints(from[i]);
        ROPE_UNROLL
        for (Index k = 0; k < 32 / kLanes; ++k) found[k] = found[k] - is_above(x[k], integer);
    }
}
/// The codes of a block, the upper 16 in the upper halves of bytes.
ROPE_INLINE void store_block(const BlockInts& codes, unsigned char* to) noexcept {
    ROPE_UNROLL
    for (Index k = 0; k < 16 / kLanes; ++k)
        store_codes(to + k * kLanes, codes[k] | shifted_left<4>(codes[k + 16 / kLanes]));
}

/// A half, the scale, which is the one of least squared error, weighted by squares, for the codes of largest / -127.
struct Iq4_nl : GgmlFormat<Iq4_nl, 18> {
    static constexpr const char* kName = "iq4_nl";
    static constexpr signed char kTable[16] = {-127, -104, -83, -65, -49, -35, -22, -10,
                                               1,    13,   25,  38,  53,  69,  89,  113};
    /// The middles of neighbours in the table, -115.5 to 101, as ordered integers. Each is one less, because a number in the
    /// middle takes the upper neighbour and count_below counts smaller integers.
    static constexpr std::int32_t kBetween[15] = {~0x42e70001, ~0x42bb0001, ~0x42940001, ~0x42640001, ~0x42280001,
                                                  ~0x41e40001, ~0x41800001, ~0x40900001, 0x40dfffff,  0x4197ffff,
                                                  0x41fbffff,  0x4235ffff,  0x4273ffff,  0x429dffff,  0x42c9ffff};

    /// The sums of two lists, each from the first to the last, as ggml adds.
    ROPE_INLINE static void add_up(const float (&a)[32], const float (&b)[32], float& of_a, float& of_b) noexcept {
        of_a = of_b = 0.0f;
        for (Index i = 0; i < 32; i += 8) {
            ROPE_UNROLL
            for (Index k = 0; k < 8; ++k) {
                of_a = hide_from_optimizer(of_a + a[i + k]);
                of_b = hide_from_optimizer(of_b + b[i + k]);
            }
        }
    }
    ROPE_INLINE static void write_block(const float* x, unsigned char* block) noexcept {
        const std::uint32_t first = first_of_largest(x), most = first & 0x7fffffffu;
        float d = most < 0x7f800000u ? 0.0f : bit_cast<float>(0x7fc00000u);
        if (most < bit_cast<std::uint32_t>(1e-15f) || most >= 0x7f800000u) {
            std::memset(block + 2, 0x88, 16);
        } else {
            const float inverse = nearest_quotient(1.0f, nearest_quotient(bit_cast<float>(first), -127.0f));
            const FloatVector all = FloatVector::all(inverse);
            float products[32], squares[32];  // terms of two sums: of number * weight * x and of number^2 * weight
            BlockInts scaled, codes;
            for (Index k = 0; k < 32 / kLanes; ++k)
                scaled[k] = ordered((FloatVector::load(x + k * kLanes) * all).in_register().ints());
            count_below(scaled, kBetween, codes);
            store_block(codes, block + 2);
            ROPE_UNROLL
            for (Index k = 0; k < 32 / kLanes; ++k) {
                const FloatVector number = {as_floats(looked_up(kTable, codes[k]))};
                const FloatVector of_x = FloatVector::load(x + k * kLanes);
                const FloatVector weighted = ((of_x * of_x).in_register() * number).in_register();
                (weighted * of_x).store(products + k * kLanes);
                (weighted * number).store(squares + k * kLanes);
            }
            float of_products, of_squares;
            add_up(products, squares, of_products, of_squares);
            if (of_squares > 0.0f) d = nearest_quotient(of_products, of_squares);
        }
        put_half(block, d);
    }
    ROPE_INLINE static void read_block(const unsigned char* block, float* x) noexcept {
        read_halves<4>(block + 2, NumberInTable{kTable, FloatVector::all(get_half(block))}, x);
    }
};

/// The scale is a byte, its exponent, which is two less than the one of the largest absolute value. A code stands for the
/// nearest number of the table; of two as near, it is the one closer to 0.
struct GgmlMxfp4 : GgmlFormat<GgmlMxfp4, 17> {
    static constexpr const char* kName = "mxfp4";
    static constexpr signed char kTwice[16] = {0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12};
    /// The floats in the middle between two absolute values; above one, the larger is the nearest.
    static constexpr std::int32_t kMiddles[7] = {0x3e800000, 0x3f400000, 0x3fa00000, 0x3fe00000,
                                                 0x40200000, 0x40600000, 0x40a00000};

    /// The exponent of a number above 0. ggml takes it from a logarithm in float, which rounds up to the next whole number
    /// for the largest few floats below a power of two.
    ROPE_INLINE static std::int32_t exponent_of(std::uint32_t bits) noexcept {
        const std::int32_t exponent = static_cast<std::int32_t>(bits >> 23) - 127;
        const std::int32_t next = exponent + 1, distance = next < 0 ? -next : next;
        if (distance < 2 || exponent == -127) return exponent;
        const std::uint32_t below = 0x800000u - (bits & 0x7fffffu);  // in steps of 2^-24 of that power
        std::uint32_t spacing = 1;                                   // of floats at `distance`, over 2^-23
        for (std::int32_t d = next < 0 ? distance : distance - 1; d > 1; d >>= 1) spacing *= 2;
        return below <= 64 && below * 47274u < spacing * 32768u ? next : exponent;  // 47274 / 32768: 1 / ln(2)
    }
    ROPE_INLINE static void write_block(const float* x, unsigned char* block) noexcept {
        const std::uint32_t most = largest_absolute(x, 32);
        const std::int32_t of_most = exponent_of(most) - 2 + 127, exponent = of_most > 0 ? of_most : 0;
        const bool is_finite_block = most < 0x7f800000u;
        block[0] = static_cast<unsigned char>(is_finite_block ? exponent & 0xff : 255);
        if (!is_finite_block) return void(std::memset(block + 1, 0x77, 16));  // which ggml reads as infinities
        const FloatVector inverse = FloatVector::all(bit_cast<float>(static_cast<std::uint32_t>(254 - exponent) << 23));
        BlockInts bits, absolute, codes;
        ROPE_UNROLL
        for (Index k = 0; k < 32 / kLanes; ++k) {
            bits[k] = (FloatVector::load(x + k * kLanes) * inverse).in_register().ints();
            absolute[k] = bits[k] & all_ints(INT32_MAX);
        }
        count_below(absolute, kMiddles, codes);
        ROPE_UNROLL
        for (Index k = 0; k < 32 / kLanes; ++k)
            codes[k] = codes[k] | (is_above(codes[k], all_ints(0)) & shifted_right<28>(bits[k]) & all_ints(8));
        store_block(codes, block + 1);
    }
    ROPE_INLINE static void read_block(const unsigned char* block, float* x) noexcept {
        const unsigned char e = block[0];
        const std::uint32_t half_scale = e < 2     ? 0x00200000u << e
                                         : e < 255 ? static_cast<std::uint32_t>(e - 1) << 23
                                                   : 0x7fc00000u;
        read_halves<4>(block + 1, NumberInTable{kTwice, FloatVector::all(bit_cast<float>(half_scale))}, x);
    }
};

}  // namespace ROPE_ISA
ROPE_DETAIL_END
