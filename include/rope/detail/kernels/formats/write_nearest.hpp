// SPDX-License-Identifier: MIT
// The nearest codes of a head, by scales and zeros that are given or made.

ROPE_DETAIL_BEGIN
namespace ROPE_ISA {

/// Codes least .. most, which are no parameters of the template, so that signed and other codes share its loops.
template <Index bits>
struct Nearest {
    std::int32_t least, most;

    template <class Scales, class Zeros>
    ROPE_INLINE NearestCode<Scales, Zeros> code_of(Scales scale, Zeros low, Zeros rounder, Ints worst) const noexcept {
        return {scale, low, rounder, all_ints(kRounderBits + least), all_ints(kRounderBits + most), worst};
    }
    /// By one scale and one zero, or, with steps of 1, by one for each number.
    ROPE_NOINLINE void write_by_doubles(const float* x, Index count, const float* scales, Index scale_step,
                                        const float* zeros, Index zero_step, ZeroUse use,
                                        unsigned char* codes) const noexcept {
        for (Index i = 0; i < count; ++i) {
            const std::int32_t code =
                nearest_code(x[i], scales[i * scale_step], zeros[i * zero_step], use, least, most);
            unsigned char& byte = codes[bytes_of_features<bits>(i)];
            if (bits == 8)
                byte = static_cast<unsigned char>(code & 0xff);
            else
                byte = static_cast<unsigned char>(i % 2 == 0 ? code & 15 : byte | (code & 15) << 4);
        }
    }

    ROPE_NOINLINE void write(GroupsOfHeads groups, const FormatRow& to) const noexcept {
        const Index width = groups.width();
        const bool has_zeros = to.zeros.type != kNoElements;
        const ZeroUse use = has_zeros ? to.zeros.use : ZeroUse::whole_code;
        Groups g;
        while (groups.next(g)) {
            Batch scales, zeros;
            if (!to.scales.is_given) {
                make_ranges(g, width, to, least, most, scales, zeros);
            } else {
                load_numbers(to.scales.type, g.scales, g.count, scales);
                fill(zeros, g.count, 0.0f);
                if (has_zeros) load_numbers(to.zeros.type, g.zeros, g.count, zeros);
            }
            Ints worst = all_ints(0);
            for (Index i = 0; i < g.count; ++i) {
                float low, rounder;
                place_zero(use, scales[i], zeros[i], least, low, rounder);
                NearestCode<Same> code = code_of(Same{FloatVector::all(scales[i])}, Same{FloatVector::all(low)},
                                                 Same{FloatVector::all(rounder)}, worst);
                write_codes<bits>(g.x[i], width, code, g.codes[i]);
                worst = code.worst;
            }
            if (largest_of(worst) > NearestCode<Same>::kLimit)
                for (Index i = 0; i < g.count; ++i)
                    write_by_doubles(g.x[i], width, scales + i, 0, zeros + i, 0, use, g.codes[i]);
        }
    }
    template <class Zeros>
    ROPE_INLINE bool write_piece(const float* x, Index count, const float* scales, Zeros low, Zeros rounder,
                                 unsigned char* codes) const noexcept {
        NearestCode<Each, Zeros> code = code_of(Each{scales}, low, rounder, all_ints(0));
        write_codes<bits>(x, count, code, codes);
        return largest_of(code.worst) <= code.kLimit;
    }
    /// One head, by a scale for each feature.
    ROPE_NOINLINE void write_by_feature(const float* x, Index head_dim, const FormatRow& to) const noexcept {
        const bool has_zeros = to.zeros.type != kNoElements;
        const ZeroUse use = has_zeros ? to.zeros.use : ZeroUse::whole_code;
        const Same no_zero = {FloatVector::all(0.0f)}, no_code = {FloatVector::all(kRounder)};
        float room[kPiece], more_room[kPiece], lows[kPiece], rounders[kPiece];
        for (Index first = 0; first < head_dim; first += kPiece, x += kPiece) {
            const Index here = head_dim - first < kPiece ? head_dim - first : kPiece;
            const float* const scales = spread(to.scales, head_dim, first, here, room);
            unsigned char* const codes = to.codes + bytes_of_features<bits>(first);
            if (!has_zeros) {
                const float zero = 0.0f;
                if (!write_piece(x, here, scales, no_zero, no_code, codes))
                    write_by_doubles(x, here, scales, 1, &zero, 0, use, codes);
                continue;
            }
            const float* const zeros = spread(to.zeros, head_dim, first, here, more_room);
            for (Index i = 0; i < kPiece; ++i)
                place_zero(use, i < here ? scales[i] : 1.0f, i < here ? zeros[i] : 0.0f, least, lows[i], rounders[i]);
            if (!write_piece(x, here, scales, Each{lows}, Each{rounders}, codes))
                write_by_doubles(x, here, scales, 1, zeros, 1, use, codes);
        }
    }
};

}  // namespace ROPE_ISA
ROPE_DETAIL_END
