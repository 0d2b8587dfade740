// SPDX-License-Identifier: MIT
// Whole numbers of 8 or 4 bits, with scales and, if there are any, zeros beside them.

ROPE_DETAIL_BEGIN
namespace ROPE_ISA {

/// Numbers of codes: (code - zero) * scale. `sign` is the sign's bit of codes that were read without it, or 0.
template <std::int32_t sign, class Numbers>
struct WholeNumber {
    Numbers scale, zero;
    ROPE_INLINE FloatVector of(Ints code, Index i) const noexcept {
        const Ints whole = sign == 0 ? code : (code ^ all_ints(sign)) - all_ints(sign);
        return (FloatVector{as_floats(whole)} - zero.at(i)).in_register() * scale.at(i);
    }
};
/// Numbers of codes: (code - the least code) * scale + minimum, rounded once.
template <std::int32_t sign, class Numbers>
struct NumberAbove {
    Numbers scale, minimum;
    ROPE_INLINE FloatVector of(Ints code, Index i) const noexcept {
        return {fma(as_floats(sign == 0 ? code : code ^ all_ints(sign)), scale.at(i).v, minimum.at(i).v)};
    }
};

template <Index bits, bool is_signed>
struct Integer : Format {
    static constexpr Index kFeatures = 8 / bits, kBytes = 1;
    static constexpr ElementType kCode = bits == 8 && is_signed ? ElementType::i8 : ElementType::u8;
    static constexpr ScalesBeside kScales = ScalesBeside::numbers;
    static constexpr std::int32_t kSign = is_signed ? 1 << (bits - 1) : 0;
    static constexpr ElementType kZeroCode = is_signed ? ElementType::i8 : ElementType::u8;
    static constexpr std::int32_t kSignToAdd = bits == 8 ? 0 : kSign;  // bytes are read with theirs
    static constexpr std::int32_t kLeast = -kSign, kMost = (1 << bits) - 1 - kSign;

    /// Groups that have a scale and a zero each.
    ROPE_INLINE static Index groups_of(const FormatRow& row) noexcept {
        const bool has_more_zeros = row.zeros.type != kNoElements && row.zeros.count > row.scales.count;
        return has_more_zeros ? row.zeros.count : row.scales.count;
    }
    ROPE_INLINE static GroupsOfHeads groups_of(const float* x, Index stride, Index heads, Index count,
                                               const FormatHeads& of) noexcept {
        const Index groups = groups_of(of.row), width = groups == 1 ? count : count / groups;
        return GroupsOfHeads(x, stride, heads, count, groups, bytes_of_features<bits>(width), of);
    }
    static void write_heads(const float* x, Index stride, Index heads, Index count, FormatHeads& to) noexcept {
        const Nearest<bits> nearest = {kLeast, kMost};
        if (!to.row.scales.is_given && to.row.zeros.type == kNoElements)
            Symmetric<bits>::write(groups_of(x, stride, heads, count, to), to.row.scales.type);
        else if (!to.row.scales.is_given || groups_of(to.row) != count)
            nearest.write(groups_of(x, stride, heads, count, to), to.row);
        else
            for (; heads > 0; --heads, x += stride, to.step_on(1)) nearest.write_by_feature(x, count, to.row);
        to.step_on(heads);
    }

    template <class Numbers>
    ROPE_INLINE static void read_run(const unsigned char* codes, Index count, bool are_minima, Numbers scale,
                                     Numbers zero, float* x) noexcept {
        if (are_minima)
            read_codes<bits>(codes, count, NumberAbove<kSign, Numbers>{scale, zero}, x);
        else
            read_codes<bits, is_signed>(codes, count, WholeNumber<kSignToAdd, Numbers>{scale, zero}, x);
    }
    static void read_heads(FormatHeads& from, float* x, Index stride, Index heads, Index count) noexcept {
        const NumbersBeside &scales = from.row.scales, &zeros = from.row.zeros;
        const bool has_zeros = zeros.type != kNoElements, are_minima = has_zeros && zeros.use == ZeroUse::minimum;
        const bool is_by_feature = scales.is_given && groups_of(from.row) == count && count > 1;
        if (is_by_feature || (are_minima && !kHasFma)) {
            for (; heads > 0; --heads, x += stride, from.step_on(1))
                if (are_minima && !kHasFma)
                    read_one_by_one(from.row, x, count);
                else
                    read_by_feature(from.row, x, count, are_minima);
            return;
        }
        GroupsOfHeads groups = groups_of(x, stride, heads, count, from);
        const Index width = groups.width();
        Groups g;
        while (groups.next(g)) {
            Batch scale, zero;
            load_numbers(scales.type, g.scales, g.count, scale);
            fill(zero, g.count, 0.0f);
            if (has_zeros) load_numbers(zeros.type, g.zeros, g.count, zero);
            for (Index i = 0; i < g.count; ++i)
                read_run<Same>(g.codes[i], width, are_minima, {FloatVector::all(scale[i])}, {FloatVector::all(zero[i])},
                               const_cast<float*>(g.x[i]));
        }
        from.step_on(heads);
    }
    /// One head, by a scale for each feature.
    ROPE_NOINLINE static void read_by_feature(const FormatRow& from, float* x, Index count, bool are_minima) noexcept {
        float room[kPiece], more_room[kPiece] = {};
        for (Index first = 0; first < count; first += kPiece) {
            const Index here = count - first < kPiece ? count - first : kPiece;
            const float* const zeros =
                from.zeros.type == kNoElements ? more_room : spread(from.zeros, count, first, here, more_room);
            const float* const scales = spread(from.scales, count, first, here, room);
            read_run<Each>(from.codes + bytes_of_features<bits>(first), here, are_minima, {scales}, {zeros}, x + first);
        }
    }
    /// Where the set has no fma.
    ROPE_NOINLINE static void read_one_by_one(const FormatRow& from, float* x, Index count) noexcept {
        for (Index i = 0; i < count; ++i) {
            const int byte = from.codes[bytes_of_features<bits>(i)];
            const int code = (bits == 8 ? byte : byte >> i % 2 * 4 & 15) ^ kSign;
            x[i] = fused(static_cast<float>(code), number_at(from.scales, i / (count / from.scales.count)),
                         number_at(from.zeros, i / (count / from.zeros.count)));
        }
    }
};

struct Int8 : Integer<8, true> {
    static constexpr const char* kName = "int8";
};
struct Uint8 : Integer<8, false> {
    static constexpr const char* kName = "uint8";
};
struct Int4 : Integer<4, true> {
    static constexpr const char* kName = "int4";
};
struct Uint4 : Integer<4, false> {
    static constexpr const char* kName = "uint4";
};

}  // namespace ROPE_ISA
ROPE_DETAIL_END
