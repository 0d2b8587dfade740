// SPDX-License-Identifier: MIT
// Parts of ggml's blocks of 32 features: numbers in half, codes of 4 bits, and the fifth bits of codes.

ROPE_DETAIL_BEGIN
namespace ROPE_ISA {

/// Blocks of so many bytes, which Block writes and reads one by one.
template <class Block, Index bytes>
struct GgmlFormat : ByHead<GgmlFormat<Block, bytes>> {
    static constexpr Index kFeatures = 32, kBytes = bytes;
    static constexpr ElementType kCode = ElementType::u8;

    ROPE_INLINE static void write(const float* x, Index count, const FormatRow& to) noexcept {
        unsigned char* block = to.codes;
        for (Index i = 0; i < count; i += kFeatures, block += bytes) Block::write_block(x + i, block);
    }
    ROPE_INLINE static void read(const FormatRow& from, float* x, Index count) noexcept {
        const unsigned char* block = from.codes;
        for (Index i = 0; i < count; i += kFeatures, block += bytes) Block::read_block(block, x + i);
    }
};

template <class V = FloatVector>
ROPE_INLINE void put_half(unsigned char* to, float x) noexcept {
    half h[V::kWidth];
    if constexpr (V::kWidth == 1)
        h[0] = half_from(x);
    else
        V::all(x).store(h);
    std::memcpy(to, h, sizeof(half));
}
ROPE_INLINE float get_half(const unsigned char* from) noexcept {
    half h;
    std::memcpy(&h, from, sizeof(h));
    return float_from(h);
}

/// Writes 32 codes of 4 or 5 bits. The lower half of byte i holds 4 bits of code i, the upper half 4 bits of code 16 + i.
/// Codes of 5 bits have 4 bytes before these: bit i of the 4 bytes is the fifth bit of code i.
template <Index bits, class Code>
ROPE_INLINE void write_halves(const float* x, const Code& code, unsigned char* to) noexcept {
    std::uint32_t high = 0;
    unsigned char* const codes = to + (bits == 5 ? 4 : 0);
    for (Index k = 0; k < 16; k += kLanes) {
        const Ints lower = code.of(FloatVector::load(x + k)), upper = code.of(FloatVector::load(x + k + 16));
        store_codes(codes + k, (bits == 5 ? lower & all_ints(15) : lower) | shifted_left<4>(upper));
        if constexpr (bits == 5)
            high |= signs_of(shifted_left<27>(lower)) << k | signs_of(shifted_left<27>(upper)) << (k + 16);
    }
    for (int k = 0; k < 4 && bits == 5; ++k) to[k] = static_cast<unsigned char>(high >> 8 * k & 255);
}
inline constexpr std::int32_t kBitOfLane[16] = {1,      1 << 1, 1 << 2,  1 << 3,  1 << 4,  1 << 5,  1 << 6,  1 << 7,
                                                1 << 8, 1 << 9, 1 << 10, 1 << 11, 1 << 12, 1 << 13, 1 << 14, 1 << 15};
/// 16 where a lane's bit is set.
ROPE_INLINE Ints fifth_bits(std::uint32_t high) noexcept {
    Ints of_lane;
    std::memcpy(&of_lane, kBitOfLane, sizeof(of_lane));
    return is_above(all_ints(static_cast<std::int32_t>(high & 0xffff)) & of_lane, all_ints(0)) & all_ints(16);
}
template <Index bits, class Code>
ROPE_INLINE void read_halves(const unsigned char* from, const Code& code, float* x) noexcept {
    std::uint32_t high = 0;
    for (int k = 0; k < 4 && bits == 5; ++k) high |= static_cast<std::uint32_t>(from[k]) << 8 * k;
    const unsigned char* const codes = from + (bits == 5 ? 4 : 0);
    for (Index k = 0; k < 16; k += kLanes) {
        const Ints bytes = load_codes(codes + k);
        Ints lower = bytes & all_ints(15), upper = shifted_right<4>(bytes);
        if constexpr (bits == 5) {
            lower = lower | fifth_bits(high >> k);
            upper = upper | fifth_bits(high >> (k + 16));
        }
        code.of(lower).store(x + k);
        code.of(upper).store(x + k + 16);
    }
}

/// Bits of the first number of the largest absolute value in a block, with its sign; 0 in a block of zeros.
ROPE_INLINE std::uint32_t first_of_largest(const float* x) noexcept {
    Ints most_above = all_ints(INT32_MIN), most_below = most_above;  // of numbers above 0, and of absolute values below
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

}  // namespace ROPE_ISA
ROPE_DETAIL_END
