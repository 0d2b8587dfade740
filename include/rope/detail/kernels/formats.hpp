// SPDX-License-Identifier: MIT
// Cache formats: codes of a head in memory.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>

#include "../../types.hpp"
#include "../base/arithmetic.hpp"
#include "../base/bits.hpp"
#include "../base/type_list.hpp"
#include "../simd/isa_choice.hpp"
#include "../views/any_view.hpp"
#include "steps.hpp"

ROPE_LOOPS_BEGIN

ROPE_DETAIL_BEGIN

/// Where a head lies.
struct FormatRow {
    unsigned char* codes;
    void *scale, *zero;  // of the types that the format says
    float factor;        // of 8-bit floats
    bool divides;        // by the factor; else multiplies
};
using WriteFormat = void(const float* x, Index count, const FormatRow& to) noexcept;
using ReadFormat = void(const FormatRow& from, float* x, Index count) noexcept;

/// The base of every format. Each is a struct of static members in a file of formats/, compiled once for each instruction
/// set; the function that makes a Destination of it stands in ../paths/destinations.hpp.
struct Format {
    /// The end of the sentence about scales of another type.
    static constexpr const char* kScalesAre = "float; they must be";
    // Each also has:
    //     static constexpr const char* kName              for sentences
    //     static constexpr Index kFeatures, kBytes        a block of so many features takes so many bytes
    //     static constexpr ElementType kCode              i8 or u8
    //     static constexpr ElementType kScale, kZero      f32, u8 or kNoElements: one beside the codes of each head
    //     static void write(const float* x, Index count, const FormatRow& to) noexcept       a head
    //     static void read(const FormatRow& from, float* x, Index count) noexcept            the same back
};

/// No format: the kernels of steps load and store plain elements.
struct Elements : Format {
    static constexpr const char* kName = "elements";
    static constexpr Index kFeatures = 1, kBytes = 0;
    static constexpr ElementType kCode = kNoElements, kScale = kNoElements, kZero = kNoElements;
    static constexpr WriteFormat* write = nullptr;
    static constexpr ReadFormat* read = nullptr;
};

/// A format as data, and its functions in each instruction set.
struct CacheFormat {
    int number;  // its place in the list
    const char* name;
    Index features, bytes;
    ElementType code, scale, zero;
    const char* scales_are;
    WriteFormat* (*write)(IsaId isa) noexcept;
    ReadFormat* (*read)(IsaId isa) noexcept;
};

ROPE_DETAIL_END

#define ROPE_FOR_EACH_ISA "../../kernels/formats/list.hpp"
#include "../simd/isa_list.hpp"

ROPE_LOOPS_END

ROPE_DETAIL_BEGIN

using Formats = portable::Formats;

template <int number>
WriteFormat* write_of(IsaId isa) noexcept {
#define ROPE_ISA_CHOICE(set) set::Formats::At<number>::write
#include "../simd/isa_list.hpp"
}
template <int number>
ReadFormat* read_of(IsaId isa) noexcept {
#define ROPE_ISA_CHOICE(set) set::Formats::At<number>::read
#include "../simd/isa_list.hpp"
}
/// Formats that a translation unit does not name are not compiled in it.
template <class F>
inline constexpr CacheFormat kFormat = {Formats::number_of<F>(),
                                        F::kName,
                                        F::kFeatures,
                                        F::kBytes,
                                        F::kCode,
                                        F::kScale,
                                        F::kZero,
                                        F::kScalesAre,
                                        &write_of<Formats::number_of<F>()>,
                                        &read_of<Formats::number_of<F>()>};

ROPE_DETAIL_END
