// SPDX-License-Identifier: MIT
// Loops that several formats are made of, in vectors of floats and of integers as long.

ROPE_DETAIL_BEGIN
namespace ROPE_ISA {

using FloatVector = Vector<float>;
inline constexpr Index kLanes = FloatVector::kWidth;

/// The most codes of half a byte that are split into bytes before they are read: whole vectors of every set.
inline constexpr Index kPiece = 64;

/// The last numbers of a head, fewer than a vector, with copies of the first of them behind.
ROPE_INLINE FloatVector load_last(const float* x, Index count) noexcept {
    float all[kLanes];
    for (float& one : all) one = x[0];
    std::memcpy(all, x, static_cast<std::size_t>(count) * sizeof(float));
    return FloatVector::load(all);
}
/// Writes the bytes Code::of(numbers) of a head.
template <class Code>
ROPE_INLINE void write_bytes(const float* x, Index count, const Code& code, unsigned char* to) noexcept {
    Index i = 0;
    for (; i + 4 * kLanes <= count; i += 4 * kLanes)
        store_codes(to + i, code.of(FloatVector::load(x + i)), code.of(FloatVector::load(x + i + kLanes)),
                    code.of(FloatVector::load(x + i + 2 * kLanes)), code.of(FloatVector::load(x + i + 3 * kLanes)));
    for (; i + kLanes <= count; i += kLanes) store_codes(to + i, code.of(FloatVector::load(x + i)));
    if (i >= count) return;
    unsigned char last[kLanes];
    store_codes(last, code.of(load_last(x + i, count - i)));
    std::memcpy(to + i, last, static_cast<std::size_t>(count - i));
}
/// Reads a head, whose numbers are Code::of(bytes).
template <class Code>
ROPE_INLINE void read_bytes(const unsigned char* from, Index count, const Code& code, float* x) noexcept {
    Index i = 0;
    ROPE_UNROLL_4
    for (; i + kLanes <= count; i += kLanes) code.of(load_codes(from + i)).store(x + i);
    if (i >= count) return;
    unsigned char last[kLanes] = {};
    float numbers[kLanes];
    std::memcpy(last, from + i, static_cast<std::size_t>(count - i));
    code.of(load_codes(last)).store(numbers);
    std::memcpy(x + i, numbers, static_cast<std::size_t>(count - i) * sizeof(float));
}

/// The largest absolute value, as bits. A NaN has larger bits than infinity, so a NaN is found, too.
ROPE_INLINE std::uint32_t largest_absolute(const float* x, Index count) noexcept {
    Ints most = all_ints(0);
    Index i = 0;
    ROPE_UNROLL_4
    for (; i + kLanes <= count; i += kLanes) most = larger(most, absolute_bits(FloatVector::load(x + i)));
    if (i < count) most = larger(most, absolute_bits(load_last(x + i, count - i)));
    return static_cast<std::uint32_t>(largest_of(most));
}

/// Added to a number below 2^22, it leaves no fraction: the nearest whole number, ties to even, whose lowest byte is that
/// of the sum.
inline constexpr float kRounder = 12582912.0f;
inline constexpr std::int32_t kRounderBits = 0x4b400000;
ROPE_INLINE Ints rounded_bits(FloatVector x) noexcept { return (x + FloatVector::all(kRounder)).ints(); }

/// The nearest whole number, ties to even. |x| is below 2^22.
ROPE_INLINE std::int32_t nearest_even(float x) noexcept { return bit_cast<std::int32_t>(x + kRounder) - kRounderBits; }

ROPE_INLINE Ints held_to_127(Ints x) noexcept { return larger(smaller(x, all_ints(127)), all_ints(-127)); }

/// 1 / scale; 0, which makes all codes 0, where it has no use: of zeros, of numbers so small that it overflows, and
/// beside an infinity or a NaN, which the scale then is.
ROPE_INLINE float usable_inverse(std::uint32_t most, float scale) noexcept {
    if (most >= 0x7f800000u || scale == 0.0f) return 0.0f;
    const float inverse = nearest_quotient(1.0f, scale);
    return (bit_cast<std::uint32_t>(inverse) & 0x7fffffffu) < 0x7f800000u ? inverse : 0.0f;
}

/// Whether products of `inverse` and absolute values up to `most` become codes -127 .. 127. (Rounding is monotonic.)
/// Otherwise the caller has set another rounding mode than to nearest, and held_to_127 is needed.
ROPE_INLINE bool fits_127(std::uint32_t most, float inverse) noexcept {
    const float least =
        hide_from_optimizer(bit_cast<float>(most | 0x80000000u));  // its product has a rounding of its own
    return nearest_even(hide_from_optimizer(bit_cast<float>(most) * inverse)) <= 127 &&
           nearest_even(hide_from_optimizer(least * inverse)) >= -127;
}

/// ggml's blocks of 32 features: a half, the scale, and codes. A Block writes and reads one of them.
template <class Block, Index bytes>
struct GgmlFormat : Format {
    static constexpr Index kFeatures = 32, kBytes = bytes;
    static constexpr ElementType kCode = ElementType::u8, kScale = kNoElements, kZero = kNoElements;

    ROPE_NOINLINE static void write(const float* x, Index count, const FormatRow& to) noexcept {
        unsigned char* block = to.codes;
        for (Index i = 0; i < count; i += kFeatures, block += bytes) {
            const half scale = Block::write_codes(x + i, block + sizeof(half));
            std::memcpy(block, &scale, sizeof(half));
        }
    }
    ROPE_NOINLINE static void read(const FormatRow& from, float* x, Index count) noexcept {
        const unsigned char* block = from.codes;
        half scale = {};
        for (Index i = 0; i < count; i += kFeatures, block += bytes) {
            std::memcpy(&scale, block, sizeof(half));
            Block::read_codes(block + sizeof(half), float_from(scale), x + i);
        }
    }
};

}  // namespace ROPE_ISA
ROPE_DETAIL_END
