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

/// Numbers beside the codes of a head, its scales or its zeros: `count` of them, each for as many features of the head.
struct NumbersBeside {
    unsigned char* data;
    Index count, step;  // in bytes from one to the next; set where there are none, too
    ElementType type;   // kNoElements: there are none
    bool is_given;      // by the caller; else they are made of the numbers of the head, and written
    ZeroUse use;        // of zeros
};
/// Where a head lies.
struct FormatRow {
    unsigned char* codes;
    NumbersBeside scales, zeros;
    float factor;  // of the tensor
    bool divides;  // by the factor; else multiplies
};
/// Heads of a token: one of them, and the bytes from each to the next.
struct FormatHeads {
    FormatRow row;
    Index codes, scales, zeros;

    ROPE_INLINE void step_on(Index heads) noexcept {
        row.codes += heads * codes;
        row.scales.data += heads * scales;
        row.zeros.data += heads * zeros;
    }
};
/// Write or read `heads` heads of count numbers, `stride` apart, and step on by as many.
using WriteFormat = void(const float* x, Index stride, Index heads, Index count, FormatHeads& to) noexcept;
using ReadFormat = void(FormatHeads& from, float* x, Index stride, Index heads, Index count) noexcept;

/// The scales beside codes: none; float, half or bfloat16; or a byte each.
enum class ScalesBeside : unsigned char { none, numbers, bytes };

/// The base of every format. Each is a struct of static members in a file of formats/, compiled once for each instruction
/// set; the function that makes a Destination of it stands in ../paths/destinations.hpp.
struct Format {
    static constexpr ScalesBeside kScales = ScalesBeside::none;
    /// The features that share a scale; 0 where the caller chooses.
    static constexpr Index kGroup = 0;
    /// The type of zeros that are codes, and the least and the largest of them.
    static constexpr ElementType kZeroCode = kNoElements;
    static constexpr int kLeast = 0, kMost = 0;
    // Each also has:
    //     static constexpr const char* kName              for sentences
    //     static constexpr Index kFeatures, kBytes        a block of so many features takes so many bytes
    //     static constexpr ElementType kCode              i8 or u8
    //     static WriteFormat write_heads;
    //     static ReadFormat read_heads;
};

/// No format: the kernels of steps load and store plain elements.
struct Elements : Format {
    static constexpr const char* kName = "elements";
    static constexpr Index kFeatures = 1, kBytes = 0;
    static constexpr ElementType kCode = kNoElements;
    static constexpr WriteFormat* write_heads = nullptr;
    static constexpr ReadFormat* read_heads = nullptr;
};

/// A format as data, and its functions in each instruction set.
struct CacheFormat {
    int number;  // its place in the list
    const char* name;
    Index features, bytes;
    ElementType code;
    ScalesBeside scales;
    Index group;
    ElementType zero_code;  // of whole zeros
    int least, most;        // of them
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
#define ROPE_ISA_CHOICE(set) set::Formats::At<number>::write_heads
#include "../simd/isa_list.hpp"
}
template <int number>
ReadFormat* read_of(IsaId isa) noexcept {
#define ROPE_ISA_CHOICE(set) set::Formats::At<number>::read_heads
#include "../simd/isa_list.hpp"
}
/// Formats that a translation unit does not name are not compiled in it.
template <class F>
inline constexpr CacheFormat kFormat = {Formats::number_of<F>(),
                                        F::kName,
                                        F::kFeatures,
                                        F::kBytes,
                                        F::kCode,
                                        F::kScales,
                                        F::kGroup,
                                        F::kZeroCode,
                                        F::kLeast,
                                        F::kMost,
                                        &write_of<Formats::number_of<F>()>,
                                        &read_of<Formats::number_of<F>()>};

ROPE_DETAIL_END
