// SPDX-License-Identifier: MIT
// Operations of ../vectors.hpp that take several instructions of AVX-512: masks and orders of lanes, written in the
// names of registers.hpp. No include guard: registers.hpp and tests/support/emulated_registers.hpp both include this
// file, so that machines without AVX-512 test it.

ROPE_DETAIL_BEGIN
namespace ROPE_ISA {

inline constexpr bool kHas32Registers = true;

// ---- masks: all lanes but the first n ----

ROPE_INLINE Mask8 after_8(Index n) noexcept { return static_cast<Mask8>(~0u << n); }
ROPE_INLINE Mask16 after_16(Index n) noexcept { return static_cast<Mask16>(~0u << n); }

ROPE_INLINE void store_skipping_first(float* p, Floats x, Index kept) noexcept { store(p, x, after_16(kept)); }
ROPE_INLINE void store_skipping_first(double* p, Doubles x, Index kept) noexcept { store(p, x, after_8(kept)); }
ROPE_INLINE void store_shorts_skipping_first(void* p, Shorts x, Index kept) noexcept {
    store_shorts(p, x, after_16(kept));
}

// ---- orders of lanes: the lanes of a second register have the numbers 16 to 31 ----

inline constexpr int kLowerTwice[16] = {0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7};
inline constexpr int kEven[16] = {0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30};
inline constexpr int kOdd[16] = {1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31};

ROPE_INLINE Floats load_dup(const float* p) noexcept { return permute(load_lower(p), load_order(kLowerTwice)); }
ROPE_INLINE Doubles load_dup(const double* p) noexcept { return dup_lower(load_lower(p)); }
ROPE_INLINE void split_even_odd(Floats& a, Floats& b) noexcept {
    const Floats even = permute(a, b, load_order(kEven));
    b = permute(a, b, load_order(kOdd));
    a = even;
}

// ---- words and shorts ----

ROPE_INLINE Words as_upper_halves(Shorts x) noexcept { return shift_left_16(widen(x)); }
ROPE_INLINE Shorts upper_halves(Words x) noexcept { return narrow(shift_right_16(x)); }
ROPE_INLINE Words interleave_upper_halves(Words even, Words odd) noexcept {
    return blend_16(0xaaaaaaaa, shift_right_16(even), odd);
}
/// As 16 words: lane i of 16 bits and lane 16 + i are a word.
inline constexpr int kInterleaved[16] = {0x100000, 0x110001, 0x120002, 0x130003, 0x140004, 0x150005,
                                         0x160006, 0x170007, 0x180008, 0x190009, 0x1a000a, 0x1b000b,
                                         0x1c000c, 0x1d000d, 0x1e000e, 0x1f000f};
ROPE_INLINE Words convert_and_interleave(Floats even, Floats odd) noexcept {
    return permute_16(convert_two(even, odd), load_order(kInterleaved));
}

}  // namespace ROPE_ISA
ROPE_DETAIL_END
