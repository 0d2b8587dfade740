// SPDX-License-Identifier: MIT
// Scales and zeros made of the smallest and the largest number of a head, or of each group of its features.

ROPE_DETAIL_BEGIN
namespace ROPE_ISA {

/// Bits of floats as integers of the same order, in which -0 is -1; and back.
ROPE_INLINE Ints ordered(Ints bits) noexcept { return bits ^ (shifted_right<31>(bits) & all_ints(INT32_MAX)); }
ROPE_INLINE std::int32_t ordered_bits(std::int32_t bits) noexcept { return bits < 0 ? bits ^ INT32_MAX : bits; }

/// The smallest and the largest of the numbers so far, as ordered integers.
struct OrderedRange {
    Ints least, most;

    ROPE_INLINE void add(FloatVector numbers) noexcept {
        const Ints bits = ordered(numbers.ints());
        least = smaller(least, bits);
        most = larger(most, bits);
    }
};
/// The smallest and the largest number; of zeros of both signs the first. False if one is infinite or a NaN.
ROPE_INLINE bool find_range(const float* x, Index count, float& low, float& high) noexcept {
    const Ints first = ordered(FloatVector::all(x[0]).ints());
    OrderedRange range = {first, first};
    Index i = 0;
    for (; i + 4 * kLanes <= count; i += 4 * kLanes) {
        range.add(FloatVector::load(x + i));
        range.add(FloatVector::load(x + i + kLanes));
        range.add(FloatVector::load(x + i + 2 * kLanes));
        range.add(FloatVector::load(x + i + 3 * kLanes));
    }
    for (; i + kLanes <= count; i += kLanes) range.add(FloatVector::load(x + i));
    if (i < count) range.add(load_last(x + i, count - i));
    constexpr std::int32_t infinity = 0x7f800000;
    const std::int32_t above = largest_of(range.most), below = -1 - largest_of(range.least ^ all_ints(-1));
    low = bit_cast<float>(ordered_bits(below));
    high = bit_cast<float>(ordered_bits(above));
    if (below == 0 || below == -1)
        for (Index k = count - 1; k >= 0; --k)
            if ((bit_cast<std::uint32_t>(x[k]) & 0x7fffffffu) == 0) low = x[k];
    return below > -1 - infinity && above < infinity;  // ordered() makes -1 - infinity of the negative infinity
}

/// Scales of ranges for codes of so many levels, computed in double: a range may be larger than any float, and its scale is
/// not.
template <class V = Vector<double>>
ROPE_INLINE void scale_ranges(const Batch& lows, const Batch& highs, Index count, double levels,
                              Batch& scales) noexcept {
    for (Index i = 0; i < count; i += V::kWidth)
        (V::load(highs + i) - V::load(lows + i)).in_register().divided_by(V::all(levels)).store(scales + i);
}
/// The zero point for which the number `low` has the code `least`: least - low / scale, rounded once.
inline float zero_of(float low, float scale, std::int32_t least) noexcept {
    return static_cast<float>(hide_from_optimizer(quotient(-static_cast<double>(low), static_cast<double>(scale)) +
                                                  static_cast<double>(least)));
}
/// Makes scales and zeros of groups, for codes least .. most, and stores them.
ROPE_INLINE void make_ranges(const Groups& g, Index width, const FormatRow& to, std::int32_t least, std::int32_t most,
                             Batch& scales, Batch& zeros) noexcept {
    const ZeroUse use = to.zeros.use;
    Batch highs;
    fill(zeros, g.count, 0.0f);
    fill(highs, g.count, 0.0f);
    for (Index i = 0; i < g.count; ++i) {
        const bool is_finite_group = find_range(g.x[i], width, zeros[i], highs[i]);
        if (!is_finite_group) zeros[i] = highs[i] = bit_cast<float>(0x7fc00000u);
        if (use == ZeroUse::whole_code && is_finite_group) {  // the range has a 0
            zeros[i] = zeros[i] < 0.0f ? zeros[i] : 0.0f;
            highs[i] = highs[i] > 0.0f ? highs[i] : 0.0f;
        }
    }
    scale_ranges(zeros, highs, g.count, static_cast<double>(most - least), scales);
    store_numbers(to.scales.type, g.scales, g.count, scales);
    if (use == ZeroUse::code) {
        bool is_zero = false;  // as it was stored
        for (Index i = 0; i < g.count; ++i) {
            is_zero = is_zero || scales[i] == 0.0f;
            scales[i] = scales[i] == 0.0f ? 1e-4f : scales[i];
        }
        if (is_zero) store_numbers(to.scales.type, g.scales, g.count, scales);
        for (Index i = 0; i < g.count; ++i) zeros[i] = zero_of(zeros[i], scales[i], least);
    }
    for (Index i = 0; use == ZeroUse::whole_code && i < g.count; ++i)
        zeros[i] = static_cast<float>(nearest_code(-zeros[i], scales[i], static_cast<float>(least), use, least, most));
    store_numbers(to.zeros.type, g.zeros, g.count, zeros);
}

}  // namespace ROPE_ISA
ROPE_DETAIL_END
