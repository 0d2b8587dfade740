// SPDX-License-Identifier: MIT
// Destinations of a path: views, pages of a cache, and cache formats.
#pragma once

#include <type_traits>

#include "errors.hpp"
#include "tensor_view.hpp"
#include "types.hpp"

#include "detail/base/hide_macros.hpp"

#include "detail/base/containers.hpp"
#include "detail/paths/heads_in_memory.hpp"
#include "detail/views/buffers.hpp"

ROPE_BEGIN

/// Pages of a cache, and for each token of a call the slot that it goes to: page slot / page_size, place
/// slot % page_size. The element of feature i of head h in that place is
/// data[page * page_stride + place * place_stride + h * head_stride + i * feature_stride].
///
/// Made by paged and paged_heads_first; the strides may be changed by hand. Owns nothing: memory and slots must live as
/// long as it is used. A ring buffer of n places is one page of n, with slots position % n.
///
/// Slots are integers of any type, batch * seq of them, entry after entry. -1, which needs a signed type, skips a token:
/// it is written nowhere, but has a position like the others (0, say). Slots of a call should differ: of equal ones any
/// may be written last, and a path that reads and writes the same pages refuses them (see heads).
template <class T>
struct Paged {
    T* data = nullptr;
    Index pages = 0, page_size = 0, heads = 0, head_dim = 0;
    Index page_stride = 0, place_stride = 0, head_stride = 0, feature_stride = 1;
    detail::NumberList slot_list = {};
    Index slot_count = 0;

    /// The same pages with the slots of another step: a contiguous container, or `count` integers.
    template <class Slots>
    ROPE_ABI Paged with_slots(const Slots& list ROPE_LIFETIMEBOUND) const noexcept {
        return with_slots(list.data(), static_cast<Index>(list.size()), detail::inner_stride(list));
    }
    template <class Slot>
    ROPE_ABI Paged with_slots(const Slot* first, Index count, Index stride = 1) const noexcept;
    /// Features first .. first + count - 1 of every head: rows of a latent and a rotated part are two destinations.
    /// Throws std::invalid_argument if there are no such features.
    ROPE_ABI Paged slice_features(Index first, Index count) const {
        return detail::slice(*this, "features", &Paged::head_dim, feature_stride, first, count);
    }
};

/// A contiguous [pages, page_size, heads, head_dim] cache ("NHD"), and a contiguous container of slots. Slots
/// left out are given by with_slots before each pass.
template <class T, class Slots = detail::NoSlots>
ROPE_ABI inline Paged<T> paged(T* data, Index pages, Index page_size, Index heads, Index head_dim,
                               const Slots& slot_list ROPE_LIFETIMEBOUND = {}) noexcept;
/// A contiguous [pages, heads, page_size, head_dim] cache ("HND").
template <class T, class Slots = detail::NoSlots>
ROPE_ABI inline Paged<T> paged_heads_first(T* data, Index pages, Index heads, Index page_size, Index head_dim,
                                           const Slots& slot_list ROPE_LIFETIMEBOUND = {}) noexcept;

/// The same with a contiguous container in place of the pointer, which must have the cache's size, or they throw
/// std::invalid_argument.
template <class C, class Slots = detail::NoSlots, detail::IfOwner<C> = 0>
ROPE_ABI inline auto paged(C& container ROPE_LIFETIMEBOUND, Index pages, Index page_size, Index heads, Index head_dim,
                           const Slots& slot_list ROPE_LIFETIMEBOUND = {});
/// The same for [pages, heads, page_size, head_dim].
template <class C, class Slots = detail::NoSlots, detail::IfOwner<C> = 0>
ROPE_ABI inline auto paged_heads_first(C& container ROPE_LIFETIMEBOUND, Index pages, Index heads, Index page_size,
                                       Index head_dim, const Slots& slot_list ROPE_LIFETIMEBOUND = {});

/// Where heads go, and in which format: Path::to writes it, dequantise reads it. A view or pages of float, half,
/// bfloat16 or double convert to one; the functions below make other formats. The codes of a head must be contiguous.
class Destination {
 public:
    template <class T>
    ROPE_ABI Destination(const TensorView<T>& v) noexcept {  // NOLINT(google-explicit-constructor)
        data_.codes = detail::in_memory(v);                  // which has no scales and no zeros, and clears none
        check_elements<T>();
    }
    template <class T>
    ROPE_ABI Destination(const Paged<T>& p) noexcept;  // NOLINT(google-explicit-constructor)
    /// A tensor of another library, for which ViewTraits makes a view.
    template <class Tensor, std::enable_if_t<detail::has_view_traits<ViewTraits<Tensor>>, int> = 0>
    ROPE_ABI Destination(Tensor& x)  // NOLINT(google-explicit-constructor)
        : Destination(std::decay_t<decltype(ViewTraits<Tensor>::view(x))>(ViewTraits<Tensor>::view(x))) {}
    ROPE_CROSSES(Destination)

 private:
    friend struct detail::PathAccess;
    friend class QuantParameter;
    template <class T>
    static void check_elements() noexcept;

    ROPE_ABI explicit Destination(const detail::StoredHeads& data) noexcept : data_(data) {}
    detail::StoredHeads data_;
};

/// Scales or zeros of a format. A number, and everything that `given` makes, is given: a path reads it. A view or pages are
/// made: a path that writes codes makes them of its numbers, and stores them beside the codes. When codes are read, there is
/// no difference.
///
/// Made ones have the tokens and heads of the codes, pages the slots of the codes. Their head_dim is the number of groups of
/// adjacent features with one each: 1, or another divisor of the head's. Given ones may also have an extent of 1 along batch,
/// seq or heads, where one serves all, and the head_dim of the heads: one for each channel. Scales are float, half or bfloat16.
/// Made ones are rounded to nearest, and codes belong to the rounded ones. A single number that is given is finite, and, as a
/// scale, above 0; a whole zero is a code. Given ones in memory are not checked: where a scale is 0, infinite or a NaN, whole
/// numbers become the code of 0.
class QuantParameter {
 public:
    template <class T>
    ROPE_ABI QuantParameter(const TensorView<T>& v) noexcept  // NOLINT(google-explicit-constructor)
        : QuantParameter(Destination(v)) {}
    template <class T>
    ROPE_ABI QuantParameter(const Paged<T>& p) noexcept  // NOLINT(google-explicit-constructor)
        : QuantParameter(Destination(p)) {}
    /// A view or pages.
    ROPE_ABI QuantParameter(const Destination& made) noexcept;  // NOLINT(google-explicit-constructor)
    /// Given, one for all. An integer, as a zero, is the code that stands for 0.
    template <class Number, std::enable_if_t<std::is_arithmetic_v<Number>, int> = 0>
    ROPE_ABI QuantParameter(Number number) noexcept;  // NOLINT(google-explicit-constructor)
    ROPE_CROSSES(QuantParameter)

 private:
    friend struct detail::PathAccess;

    ROPE_ABI explicit QuantParameter(const detail::ParameterData& data) noexcept : data_(data) {}
    detail::ParameterData data_;
};

/// Numbers that are given: one; a view, such as [1, 1, heads, 1] or [1, 1, heads, head_dim]; or a contiguous container of
/// one for each channel, the same in all heads. They must live as long as they are used.
template <class Number, std::enable_if_t<std::is_arithmetic_v<Number>, int> = 0>
ROPE_ABI inline QuantParameter given(Number number) noexcept;
template <class T>
ROPE_ABI inline QuantParameter given(const TensorView<T>& v) noexcept;
template <class C, detail::IfParameterList<C> = 0>
ROPE_ABI inline QuantParameter given(const C& list ROPE_LIFETIMEBOUND) noexcept;
/// Refuses a container that would be gone.
template <class C, detail::IfParameterList<C> = 0, detail::IfOwner<C> = 0>
ROPE_ABI inline QuantParameter given(const C&& list) noexcept;

/// Zeros of float, half or bfloat16 as the codes that stand for 0, which need not be whole numbers (OpenVINO has such). By
/// themselves they are minima.
ROPE_ABI inline QuantParameter zero_points(const QuantParameter& zeros) noexcept;

/// How a scale is applied before a number is rounded to an 8-bit float: FlashInfer multiplies by it, vLLM divides.
enum class ScaleUse : unsigned char { multiplies, divides };

// Below, codes are a view or pages of bytes, with the tokens and heads of the numbers. A head of zeros is read as zeros. Where
// scales are made, a group with an infinity or a NaN is read as NaNs. Numbers are rounded to the nearest code in the default
// rounding mode. In another mode (fesetround) a code may be one too large or too small; it is never out of range. Codes of 4 bits are two in a byte, the first in its lower half: head_dim / 2 bytes, groups of an even
// number of features. There is no format with a codebook made of data (TurboQuant), with 3 bits, with scales for several
// tokens, or with the first of two codes in the upper half (OpenVINO's u4).

/// Codes -127 .. 127 by made scales, max |x| / 127: x times 1 / scale, each rounded to float, then to the nearest integer,
/// ties to even, so a code may be the second nearest to x / scale. Where max |x| is below 2e-41, or scales are half or
/// bfloat16, codes are held within -127 .. 127; below 2e-41 the scale has few bits, and a number may be read back with an
/// error as large as itself. By given scales: codes -128 .. 127, the nearest to x / scale computed in double, ties to even.
/// Codes are signed char.
ROPE_API Destination int8(const Destination& codes, const QuantParameter& scales) noexcept;
/// The same with zeros, as uint8 has them, with -128 in place of code 0 and 127 in place of 255; whole zeros are signed char.
ROPE_API Destination int8(const Destination& codes, const QuantParameter& scales, const QuantParameter& zeros) noexcept;
/// Codes 0 .. 255 of x = code * scale + zero or of x = (code - zero) * scale, by what zeros are:
///   float, half, bfloat16   minima: the numbers of code 0. Code: the nearest to (x - zero) / scale computed in double, ties
///                           to even. Made: zero = min x, scale = (max x - min x) / 255 (lmdeploy)
///   unsigned char, or int   the code that stands for 0. Code: zero more than the nearest to x / scale computed in double,
///                           ties to even. Made: of the range of x and 0; scale = range / 255, zero the nearest to
///                           -min / scale (ONNX, ExecuTorch)
///   zero_points(...)        the same, and not whole. Code: the nearest to x / scale + zero computed in double, ties to even.
///                           Made: scale = (max x - min x) / 255, or 1e-4 where that, in its type, is 0;
///                           zero = -min x / scale and, of signed codes, the least code (OpenVINO)
/// Codes are held within 0 .. 255; by given scales, a NaN becomes the code of 0, or of the minimum. Codes are unsigned char.
ROPE_API Destination uint8(const Destination& codes, const QuantParameter& scales,
                           const QuantParameter& zeros) noexcept;
/// As int8, with codes -7 .. 7 by made scales (max |x| / 7) and -8 .. 7 by given ones. Bytes are unsigned char.
ROPE_API Destination int4(const Destination& codes, const QuantParameter& scales) noexcept;
/// As int8 with zeros, with codes -8 .. 7 and 15 in place of 255. Bytes are unsigned char, whole zeros signed char.
ROPE_API Destination int4(const Destination& codes, const QuantParameter& scales, const QuantParameter& zeros) noexcept;
/// As uint8, with codes 0 .. 15 and 15 in place of 255.
ROPE_API Destination uint4(const Destination& codes, const QuantParameter& scales,
                           const QuantParameter& zeros) noexcept;

/// 8-bit floats of x times or over a scale of the whole tensor, above 0: OCP's E4M3 (largest 448, no infinity) and E5M2
/// (largest 57344). To nearest, ties to even; larger numbers and infinities become the largest code, NaN stays.
ROPE_API Destination fp8_e4m3(const Destination& codes, float scale = 1.0f,
                              ScaleUse use = ScaleUse::multiplies) noexcept;
/// The same in E5M2.
ROPE_API Destination fp8_e5m2(const Destination& codes, float scale = 1.0f,
                              ScaleUse use = ScaleUse::multiplies) noexcept;
/// E4M3 of x / scale, with scales beside the codes. Made ones are max |x| / 448 in float, half or bfloat16; or, if they are
/// unsigned char, the smallest power of two that is not below that nor below 1e-4, as the byte of its exponent (OCP's E8M0;
/// 255, its NaN, for a group with an infinity or a NaN). Numbers above 3.1e38 may be read as infinities then. Powers cannot be
/// given.
///
/// Some caches pack codes, scales and further features of a token into one row of bytes (FlashMLA: 512 codes, 4 floats,
/// 64 bfloat16). Each of these parts is a view, or a Paged whose strides are filled in by hand, that begins at its first
/// byte in the first row and steps from row to row.
ROPE_API Destination fp8_e4m3(const Destination& codes, const QuantParameter& scales) noexcept;

/// OCP's MXFP4: E2M1 (0, 0.5, 1, 1.5, 2, 3, 4, 6 and their negatives) of x / scale, to nearest, ties to even; larger numbers
/// become 6. Scales are unsigned char, made for groups of 32 features (head_dim / 32 of them): the byte of an exponent
/// (E8M0), two less than the exponent of max |x|, but at least 2^-127; 255 is a NaN.
ROPE_API Destination mxfp4(const Destination& codes, const QuantParameter& scales) noexcept;
/// NVFP4: E2M1 of x / (scale * tensor), with scales of unsigned char for groups of 16: the E4M3 nearest to
/// max |x| / 6 / tensor, for which an infinity or a NaN is its NaN. Each product and quotient is rounded to float; a group
/// whose scale becomes 0 has codes of 0. `tensor` is finite and above 0.
ROPE_API Destination nvfp4(const Destination& codes, const QuantParameter& scales, float tensor = 1.0f) noexcept;

// ggml's blocks of 32 numbers, with the bits of its reference code, scales and codes together: the codes have head_dim / 32
// times the bytes of a block in place of head_dim. They are unsigned char. Where ggml's result is undefined or loses an
// infinity or a NaN: blocks so small that its reciprocal overflows are read as zeros, blocks with an infinity or a NaN as
// NaN.

/// Blocks of 34 bytes: a scale in half, and 32 codes.
ROPE_API Destination q8_0(const Destination& blocks) noexcept;
/// Blocks of 18 bytes: a scale in half, and 32 codes of 4 bits.
ROPE_API Destination q4_0(const Destination& blocks) noexcept;
/// Blocks of 20 bytes: a scale and a minimum in half, and 32 codes of 4 bits.
ROPE_API Destination q4_1(const Destination& blocks) noexcept;
/// Blocks of 22 bytes: as q4_0, with 5 bits.
ROPE_API Destination q5_0(const Destination& blocks) noexcept;
/// Blocks of 24 bytes: as q4_1, with 5 bits.
ROPE_API Destination q5_1(const Destination& blocks) noexcept;
/// Blocks of 18 bytes: a scale in half, and 32 codes of 4 bits that stand for 16 numbers from -127 to 113.
ROPE_API Destination iq4_nl(const Destination& blocks) noexcept;
/// ggml's mxfp4, blocks of 17 bytes: the byte of an exponent, and 32 codes of E2M1. Of two numbers as near, the smaller is
/// taken. A block below 2^-125, for which ggml's exponent is undefined, has the byte 0.
ROPE_API Destination mxfp4(const Destination& blocks) noexcept;

ROPE_END

#include "detail/paths/paged.hpp"
#include "detail/paths/quant_parameters.hpp"
#if ROPE_HAS_DEFINITIONS
#    include "detail/paths/destinations.hpp"
#endif

#include "detail/base/restore_macros.hpp"
