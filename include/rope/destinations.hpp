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
    template <class T>
    static void check_elements() noexcept;

    ROPE_ABI explicit Destination(const detail::StoredHeads& data) noexcept : data_(data) {}
    detail::StoredHeads data_;
};

/// How a scale is applied before a number is rounded to an 8-bit float: FlashInfer multiplies by it, vLLM divides.
enum class ScaleUse : unsigned char { multiplies, divides };

// In what follows, codes are a view or pages of bytes, and scales and zeros a view or pages of float (or as it is said)
// with the same heads and a head_dim of 1: one number for each head of each token. Pages of all have the same slots.
// A head of zeros is read as zeros. With a scale for each head or block, an infinity or a NaN in it makes all of it be
// read as NaN. Codes are those of rounding to nearest, the mode in which programs begin. While a program has set another
// mode (fesetround), a code may be one too large or too small; it is never out of range.

/// Codes -127 .. 127: x times 1 / scale rounded to float, then to the nearest integer, ties to even. scale = max |x| / 127
/// and 1 / scale are rounded to float, too, so a code may be the second nearest to x / scale. Where max |x| is below
/// 2e-41, the scale is a float with few bits, or 0: codes are then held within -127 .. 127, and what is read back may be
/// wrong by as much as the number. Codes are signed char.
ROPE_API Destination int8(const Destination& codes, const Destination& scales) noexcept;
/// Codes 0 .. 255, the nearest to (x - zero) / scale computed in double, ties to even, with zero = min x and
/// scale = (max x - min x) / 255, both NaN where x has a NaN or an infinity. Codes are unsigned char.
ROPE_API Destination uint8(const Destination& codes, const Destination& scales, const Destination& zeros) noexcept;
/// The same with codes 0 .. 15 and 15 in place of 255, two in a byte, the first in its lower half: head_dim / 2 bytes.
ROPE_API Destination uint4(const Destination& codes, const Destination& scales, const Destination& zeros) noexcept;
/// 8-bit floats of x times or over a scale of the whole tensor, above 0: OCP's E4M3 (largest 448, no infinity) and E5M2
/// (largest 57344). To nearest, ties to even; larger numbers and infinities become the largest code, NaN stays.
ROPE_API Destination fp8_e4m3(const Destination& codes, float scale = 1.0f,
                              ScaleUse use = ScaleUse::multiplies) noexcept;
/// The same in E5M2.
ROPE_API Destination fp8_e5m2(const Destination& codes, float scale = 1.0f,
                              ScaleUse use = ScaleUse::multiplies) noexcept;
/// E4M3 of x / scale, with a scale for each head, beside the codes as above: max |x| / 448 in float, or, if scales are
/// unsigned char, the smallest power of two that is not below that nor below 1e-4, as the byte of its exponent (OCP's
/// E8M0; 255 where a head has no finite scale). A number above 240 * 2^120 may be read as an infinity then.
///
/// Groups of features with a scale each are heads: a latent of 512 in groups of 128 is rope::view(latent, seq, 4, 128).
/// Some caches pack codes, scales and further features of a token into one row of bytes (FlashMLA: 512 codes, 4 floats,
/// 64 bfloat16). Each of these parts is a view, or a Paged whose strides are filled in by hand, that begins at its first
/// byte in the first row and steps from row to row.
ROPE_API Destination fp8_e4m3(const Destination& codes, const Destination& scales) noexcept;
/// ggml's blocks of 32 numbers, with the bits of its reference code: 34 and 18 bytes for 32 features, so that the codes
/// have head_dim / 32 * 34 or 18 unsigned chars in place of head_dim. Blocks so small that ggml's reciprocal overflows,
/// where its result is undefined, are read as zeros.
ROPE_API Destination q8_0(const Destination& blocks) noexcept;
/// Its blocks of 18 bytes: a scale in half and 32 codes of 4 bits.
ROPE_API Destination q4_0(const Destination& blocks) noexcept;

ROPE_END

#include "detail/paths/paged.hpp"
#if ROPE_HAS_DEFINITIONS
#    include "detail/paths/destinations.hpp"
#endif

#include "detail/base/restore_macros.hpp"
