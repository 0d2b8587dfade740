// SPDX-License-Identifier: MIT
// 4-bit floats with a scale for each block of features: OCP's MXFP4, and NVFP4.

ROPE_DETAIL_BEGIN
namespace ROPE_ISA {

/// 2 bits of exponent and 1 of mantissa: OCP's E2M1.
struct E2m1 : SmallFloat<4, 1, 1, 8, 0x40c00000> {
    static constexpr float kNumbers[8] = {0.0f, 0.5f, 1.0f, 1.5f, 2.0f, 3.0f, 4.0f, 6.0f};
    ROPE_INLINE static FloatVector number_of(Ints code) noexcept {
        const Ints sign = shifted_left<28>(code) & all_ints(INT32_MIN);
        return FloatVector::from(ints_of(looked_up(kNumbers, code)) | sign);
    }
};

/// The scale is a power of two, stored as the byte of its exponent (E8M0). The exponent is two less than the one of the
/// largest absolute value.
struct Mxfp4 : ByHead<Mxfp4> {
    static constexpr const char* kName = "mxfp4";
    static constexpr Index kFeatures = 32, kBytes = 16, kGroup = 32;
    static constexpr ElementType kCode = ElementType::u8;
    static constexpr ScalesBeside kScales = ScalesBeside::bytes;

    ROPE_INLINE static void write(const float* x, Index count, const FormatRow& to) noexcept {
        unsigned char *codes = to.codes, *scale = to.scales.data;
        for (Index i = 0; i < count; i += kFeatures, codes += kBytes, scale += to.scales.step) {
            const std::uint32_t most = largest_absolute(x + i, kFeatures), exponent = most >> 23;
            const std::uint32_t power = exponent < 2 ? 0 : exponent == 255 ? 255 : exponent - 2;
            *scale = static_cast<unsigned char>(power);
            const FloatVector inverse = FloatVector::all(bit_cast<float>((254u - power) << 23));
            if (power == 255)
                std::memset(codes, 0, kBytes);
            else
                write_nibbles(x + i, kFeatures, FloatProduct<E2m1>{{inverse}}, codes);
        }
    }
    ROPE_INLINE static void read(const FormatRow& from, float* x, Index count) noexcept {
        const unsigned char *codes = from.codes, *scale = from.scales.data;
        for (Index i = 0; i < count; i += kFeatures, codes += kBytes, scale += from.scales.step)
            read_codes<4>(codes, kFeatures, FloatProduct<E2m1>{{FloatVector::all(power_of_two(*scale))}}, x + i);
    }
};

/// The scale is an E4M3, beside the tensor's own.
struct Nvfp4 : ByHead<Nvfp4> {
    static constexpr const char* kName = "nvfp4";
    static constexpr Index kFeatures = 16, kBytes = 8, kGroup = 16;
    static constexpr ElementType kCode = ElementType::u8;
    static constexpr ScalesBeside kScales = ScalesBeside::bytes;
    static constexpr Index kBlocks = kPiece / kFeatures;  // of a piece

    /// Scales for each feature of a piece.
    ROPE_INLINE static void spread_scales(const float* scales, float (&to)[kPiece]) noexcept {
        ROPE_UNROLL
        for (Index i = 0; i < kPiece; i += kLanes) FloatVector::all(scales[i / kFeatures]).store(to + i);
    }
    /// The codes of scales; scales as they are read, times the tensor's. False if one of the first `count` is 0 or a NaN.
    ROPE_INLINE static bool make_scales(const Batch& most, Index count, FloatVector factor,
                                        unsigned char (&codes)[kBatch], Batch& scales) noexcept {
        const FloatVector six = FloatVector::all(6.0f);
        Ints unusual = all_ints(0);
        for (Index i = 0; i < count; i += kLanes) {
            const FloatVector largest = FloatVector::load(most + i);
            const Ints code = chosen(is_above(largest.ints(), all_ints(0x7f7fffff)), all_ints(0x7f),
                                     E4m3::code_of(largest.divided_by(six).divided_by(factor)));
            const FloatVector scale = (E4m3::number_of(code) * factor).in_register();
            store_codes(codes + i, code);
            scale.store(scales + i);
            unusual = unusual | is_above(scale.ints(), all_ints(0x7f7fffff)) | is_above(all_ints(1), scale.ints());
        }
        return signs_of(unusual) == 0;
    }
    ROPE_INLINE static void write(const float* x, Index count, const FormatRow& to) noexcept {
        const FloatVector factor = FloatVector::all(to.factor);
        unsigned char *codes = to.codes, *scale = to.scales.data;
        for (Index first = 0; first < count; first += kBatch * kFeatures) {
            const Index left = (count - first) / kFeatures, blocks = left < kBatch ? left : kBatch;
            Batch most, scales;
            unsigned char bytes[kBatch];
            fill(most, blocks, 1.0f);
            fill(scales, kBatch, 1.0f);
            for (Index k = 0; k < blocks; ++k)
                most[k] = bit_cast<float>(largest_absolute(x + first + k * kFeatures, kFeatures));
            const bool are_usual = make_scales(most, blocks, factor, bytes, scales);
            for (Index k = 0; k < blocks; ++k, scale += to.scales.step) *scale = bytes[k];
            for (Index k = 0; k < blocks; k += kBlocks) {
                const Index here = blocks - k < kBlocks ? blocks - k : kBlocks;
                float each[kPiece];
                spread_scales(scales + k, each);
                write_nibbles(x + first + k * kFeatures, here * kFeatures, FloatQuotient<E2m1, Each>{{each}},
                              codes + k * kBytes);
            }
            for (Index k = 0; !are_usual && k < blocks; ++k)
                if (bytes[k] == 0 || bytes[k] == 0x7f || scales[k] == 0.0f) std::memset(codes + k * kBytes, 0, kBytes);
            codes += blocks * kBytes;
        }
    }
    ROPE_INLINE static void read(const FormatRow& from, float* x, Index count) noexcept {
        const FloatVector factor = FloatVector::all(from.factor);
        const unsigned char *codes = from.codes, *scale = from.scales.data;
        for (Index first = 0; first < count; first += kBatch * kFeatures) {
            const Index left = (count - first) / kFeatures, blocks = left < kBatch ? left : kBatch;
            unsigned char bytes[kBatch] = {};
            Batch scales;
            fill(scales, kBatch, 0.0f);
            for (Index k = 0; k < blocks; ++k, scale += from.scales.step) bytes[k] = *scale;
            for (Index k = 0; k < blocks; k += kLanes)
                (E4m3::number_of(load_codes(bytes + k)) * factor).store(scales + k);
            for (Index k = 0; k < blocks; k += kBlocks) {
                const Index here = blocks - k < kBlocks ? blocks - k : kBlocks;
                float each[kPiece];
                spread_scales(scales + k, each);
                read_codes<4>(codes + k * kBytes, here * kFeatures, FloatProduct<E2m1, Each>{{each}},
                              x + first + k * kFeatures);
            }
            codes += blocks * kBytes;
        }
    }
};

}  // namespace ROPE_ISA
ROPE_DETAIL_END
