// SPDX-License-Identifier: MIT
// The vocabulary: Index, Layout, and the element types a tensor may hold.
#pragma once

#include <cstddef>
#include <cstdint>

#include "version.hpp"

ROPE_BEGIN

/// Every extent, stride and position. Signed, so that differences of positions and negative positions are ordinary
/// numbers. 64 bits on every machine: on one with pointers of 32 bits, too, positions go to 2^62, and a shape that its
/// memory cannot hold is refused by a sentence, like any other.
using Index = std::int64_t;

namespace detail {
inline namespace ROPE_DETAIL_NAMESPACE {

/// No extent and no position is larger. (Not numeric_limits: windows.h has a macro max.)
inline constexpr Index kMaxIndex = INT64_MAX;
/// Whether an Index can be larger than any difference of pointers.
inline constexpr bool kPointersAreShort = sizeof(std::ptrdiff_t) < sizeof(Index);
/// No tensor and no table has more bytes: the largest difference of pointers, and at most half of the largest Index, so
/// that the sum of two does not overflow. 2^62 - 1, or 2^31 - 1 where pointers have 32 bits.
inline constexpr Index kMemoryBytes = kPointersAreShort ? PTRDIFF_MAX : kMaxIndex / 2;

}  // namespace ROPE_DETAIL_NAMESPACE
}  // namespace detail

/// Which two features of the rotated slice x[0 .. rotary_dim) form pair i, for i = 0 .. rotary_dim/2 - 1.
///
/// A model's weights are trained for one of the two, and the wrong one gives fluent nonsense, not an error. The
/// choice is not stored in most model files:
///   interleaved   the original Llama, GPT-J, GLM, Mesh Transformer; GGUF's NORM architectures
///   half_split    GPT-NeoX, and Hugging Face's Llama, Qwen, Gemma, Phi; GGUF's NEOX architectures
enum class Layout : unsigned char {
    interleaved,  ///< pair i is (x[2i], x[2i+1]): "rotate_every_two"
    half_split    ///< pair i is (x[i], x[i + rotary_dim/2]): "rotate_half"
};

/// IEEE 754 binary16, as stored in memory. It has no arithmetic: data in half precision is computed in float and
/// rounded once, to nearest even, at the store. NaN stays NaN; absolute values from 65520 on become infinity.
struct ROPE_VISIBLE half {
    std::uint16_t bits;
};

/// bfloat16, the upper 16 bits of a float, as stored in memory. Rounded once, to nearest even; NaN stays NaN.
struct ROPE_VISIBLE bfloat16 {
    std::uint16_t bits;
};

/// rope::to_float(x) is the number that x stands for, exactly. An object, no function: a program's own to_float of these
/// types stays the one that it calls.
struct ToFloat {
    ROPE_ABI float operator()(half x) const noexcept;
    ROPE_ABI float operator()(bfloat16 x) const noexcept;
};
inline constexpr ToFloat to_float = {};
/// The nearest number to x, of two equally near ones the even one, as every store of the library rounds: absolute values
/// from 65520 on become infinity; a NaN stays a NaN, quiet, with its sign and the upper bits of its payload. (A double
/// is rounded to float first.) In the default rounding mode.
ROPE_ABI inline half to_half(float x) noexcept;
/// The same for bfloat16, which has the range of float: only numbers that round beyond it become infinity.
ROPE_ABI inline bfloat16 to_bfloat16(float x) noexcept;

/// Tells the library how the elements of type T lie in memory. Elements are float, double, rope::half, rope::bfloat16,
/// and the compiler's own 16-bit types, where it has them: _Float16 and __bf16, which are std::float16_t and
/// std::bfloat16_t. Specialise it for your own 16-bit types; `storage` is rope::half or rope::bfloat16, and T must have
/// the same size and the same bits:
///
///     template <> struct rope::ElementTraits<my::fp16> { using storage = rope::half; };
///
/// <rope/eigen.hpp> does so for Eigen::half and Eigen::bfloat16.
template <class T>
struct ElementTraits {
    using storage = void;  // not an element type
};
/// 16-bit integers that hold the bits of half or bfloat16, as numbers: rope::view(rope::as_half(ptr), seq, heads,
/// head_dim). The library reads and writes such elements as bytes, so the memory may be of either type.
ROPE_ABI inline half* as_half(std::uint16_t* bits) noexcept { return reinterpret_cast<half*>(bits); }
/// For memory that is only read.
ROPE_ABI inline const half* as_half(const std::uint16_t* bits) noexcept { return reinterpret_cast<const half*>(bits); }
/// The same for bits of bfloat16.
ROPE_ABI inline bfloat16* as_bfloat16(std::uint16_t* bits) noexcept { return reinterpret_cast<bfloat16*>(bits); }
ROPE_ABI inline const bfloat16* as_bfloat16(const std::uint16_t* bits) noexcept {
    return reinterpret_cast<const bfloat16*>(bits);
}

ROPE_END

#include "detail/base/element_types.hpp"
#include "detail/base/sixteen_bits.hpp"
