// SPDX-License-Identifier: MIT
// Usual memory of a pass, recognised at once: views, lists of slots, destinations.
#pragma once

#include <cstdint>

#include "../../types.hpp"
#include "../base/arithmetic.hpp"
#include "../call/accept.hpp"
#include "../kernels/formats.hpp"
#include "heads_in_memory.hpp"

ROPE_DETAIL_BEGIN

/// The memory of all views of a pass.
class PassMemory {
 public:
    ROPE_INLINE void add(const Extent& memory, bool is_written) noexcept {
        if (written_ + read_ == kMost || memory.begin >= memory.end)
            is_complete_ = false;
        else
            all_[is_written ? written_++ : kMost - ++read_] = memory;
    }
    /// Whether no view reaches into one that is written.
    bool are_apart() const noexcept {
        for (int i = 0; i < written_; ++i) {
            for (int k = i + 1; k < written_; ++k)
                if (!detail::are_apart(all_[i], all_[k])) return false;
            for (int k = kMost - read_; k < kMost; ++k)
                if (!detail::are_apart(all_[i], all_[k])) return false;
        }
        return is_complete_;
    }

 private:
    static constexpr int kMost = 48;
    Extent all_[kMost];  // those that are written from the beginning on, the others from the end
    int written_ = 0, read_ = 0;
    bool is_complete_ = true;
};

/// The elements that a view spans. 0 if it is unusual: empty, large, or with strides that are negative or so small that
/// elements share an address; heads and tokens may be in either order.
ROPE_INLINE Index usual_span(const AnyView& v) noexcept {
    const auto last = [&](int axis) { return static_cast<Index>(bits_of(v.extents[axis]) - 1); };  // of any extent
    const Index batch = last(0), seq = last(1), heads = last(2), features = last(3);
    const Index* const stride = v.strides;
    if (v.data == nullptr || (bits_of(batch) | bits_of(seq) | bits_of(heads) | bits_of(features)) >> 20 != 0 ||
        (bits_of(stride[0]) | bits_of(stride[1]) | bits_of(stride[2]) | bits_of(stride[3])) >> 34 != 0)
        return 0;
    const Index of_head = features * stride[3], of_heads = heads * stride[2], of_seq = seq * stride[1];
    const Index of_entry = of_head + of_heads + of_seq, span = of_entry + batch * stride[0] + 1;
    const bool is_seq_first = (heads == 0 || stride[2] > of_head) && (seq == 0 || stride[1] > of_head + of_heads);
    const bool is_nested =
        is_seq_first || ((seq == 0 || stride[1] > of_head) && (heads == 0 || stride[2] > of_head + of_seq));
    if (!is_nested || (features > 0 && stride[3] == 0) || (batch > 0 && stride[0] <= of_entry)) return 0;
    return span * v.element_size <= kMemoryBytes ? span : 0;
}

ROPE_INLINE Extent memory_of(const void* data, Index elements, Index element_size) noexcept {
    const std::uint64_t begin = reinterpret_cast<std::uintptr_t>(data);
    return {begin, begin + bits_of(elements * element_size)};
}
ROPE_INLINE bool accept_view(const AnyView& v, bool is_written, PassMemory& memory) noexcept {
    const Index span = usual_span(v);
    memory.add(memory_of(v.data, span, v.element_size), is_written);
    return span > 0;
}
/// The memory of a list of `count` positions or slots.
ROPE_INLINE bool accept_list(const void* data, Index count, Index stride, Index element_size,
                             PassMemory& memory) noexcept {
    if (stride < 1 || !are_counts(stride, count)) return false;
    memory.add(memory_of(data, (count - 1) * stride + 1, element_size), false);
    return true;
}

/// A slot below 2^15 that stands for two tokens, by a map of places; or -1.
ROPE_NOINLINE Index find_equal_slot(const HeadsInMemory& m, Index tokens) noexcept {
    if (!m.is_paged) return -1;
    Index last = -1, i = 0;
    for (; i < tokens; ++i) {
        const Index slot = m.slot_list[i];
        if (slot < 0) continue;
        if (slot <= last) break;
        last = slot;
    }
    if (i == tokens) return -1;  // in order
    constexpr Index kMost = 1 << 15;
    std::uint64_t taken[kMost / 64] = {};
    for (i = 0; i < tokens; ++i) {
        const Index slot = m.slot_list[i];
        if (slot < 0 || slot >= kMost) continue;
        std::uint64_t& word = taken[slot / 64];
        const std::uint64_t bit = std::uint64_t(1) << slot % 64;
        if ((word & bit) != 0) return slot;
        word |= bit;
    }
    return -1;
}

/// Codes, scales or zeros of a destination or a cache: `width` for each head of x.
ROPE_INLINE bool accept_part(const HeadsInMemory& m, const HeadsInMemory& x, Index width, bool is_written,
                             PassMemory& memory) noexcept {
    if ((is_written && m.is_const) || m.extents[2] != x.extents[2] || m.extents[3] != width ||
        !accept_view(m, is_written, memory))
        return false;
    if (!m.is_paged) return m.extents[0] == x.extents[0] && m.extents[1] == x.extents[1];
    const NumberList& list = m.slot_list;
    const Index tokens = x.extents[0] * x.extents[1];
    return m.slot_count == tokens && list.data() != nullptr &&
           accept_list(list.data(), tokens, list.stride(), list.element_size(), memory) &&
           list.find_outside(tokens, -1, m.extents[0] * m.extents[1] - 1) == tokens;
}
inline const CacheFormat& format_of(const StoredHeads& d) noexcept {
    return d.format == nullptr ? kFormat<Elements> : *d.format;
}
/// Types of scales and zeros, but for bytes.
constexpr bool is_number_beside(ElementType type) noexcept {
    return type == ElementType::f32 || type == ElementType::f16 || type == ElementType::bf16;
}
/// Whether a head of so many features can have that many scales or zeros.
ROPE_INLINE bool has_right_count(const ParameterData& p, const CacheFormat& format, Index head_dim) noexcept {
    const Index count = p.numbers.extents[3];
    if (p.is_number) return true;
    if (p.is_list) return count == head_dim;
    if (count == 1 && format.features == 1 && format.group == 0) return true;
    if (count < 1 || head_dim % count != 0) return false;
    const Index width = head_dim / count;
    if (format.group > 0) return width == format.group;
    return width % format.features == 0 || (p.is_given && width == 1);
}
/// Scales or zeros of head_dim numbers: made ones with the slots of the codes.
ROPE_INLINE bool accept_parameter(const ParameterData& p, const CacheFormat& format, const HeadsInMemory& codes,
                                  const HeadsInMemory& x, Index head_dim, bool is_written,
                                  PassMemory& memory) noexcept {
    const HeadsInMemory& m = p.numbers;
    if (!has_right_count(p, format, head_dim)) return false;
    if (p.is_number) return true;
    if (!p.is_given)
        return m.is_paged == codes.is_paged && m.slot_list.is_same(codes.slot_list) &&
               accept_part(m, x, m.extents[3], is_written, memory);
    for (int axis = 0; axis < 3; ++axis)
        if (m.extents[axis] != 1 && m.extents[axis] != x.extents[axis]) return false;
    return accept_view(m, false, memory);
}
ROPE_INLINE bool accept_parameters(const StoredHeads& d, const CacheFormat& format, const HeadsInMemory& x,
                                   Index head_dim, bool is_written, PassMemory& memory) noexcept {
    const ParameterData &scales = d.scales, &zeros = d.zeros;
    const bool are_bytes = format.scales == ScalesBeside::bytes;
    if (are_bytes ? scales.numbers.type != ElementType::u8 || scales.is_given : !is_number_beside(scales.numbers.type))
        return false;
    if (scales.use == ZeroUse::code) return false;
    if (scales.is_number && !is_positive(static_cast<double>(scales.number))) return false;
    if (!accept_parameter(scales, format, d.codes, x, head_dim, is_written, memory)) return false;
    if (!is_somewhere(zeros)) return true;
    return zeros.is_given == scales.is_given && !zeros.is_number &&
           (is_number_beside(zeros.numbers.type) || zeros.numbers.type == format.zero_code) &&
           zeros.numbers.extents[3] == scales.numbers.extents[3] &&
           accept_parameter(zeros, format, d.codes, x, head_dim, is_written, memory);
}
ROPE_INLINE bool accept_stored(const StoredHeads& d, const HeadsInMemory& x, bool is_double, bool is_written,
                               PassMemory& memory) noexcept {
    const HeadsInMemory& codes = d.codes;
    const Index head_dim = x.extents[3];
    if (d.format == nullptr)
        return !d.has_two_formats && codes.type < ElementType::i8 && (codes.type == ElementType::f64) == is_double &&
               accept_part(codes, x, head_dim, is_written, memory);
    const CacheFormat& format = *d.format;
    return !d.has_two_formats && !is_double && d.use <= ScaleUse::divides && codes.type == format.code &&
           (codes.strides[3] == 1 || codes.extents[3] == 1) && head_dim % format.features == 0 &&
           is_positive(static_cast<double>(d.factor)) &&
           accept_part(codes, x, head_dim / format.features * format.bytes, is_written, memory) &&
           (format.scales == ScalesBeside::none || accept_parameters(d, format, x, head_dim, is_written, memory));
}

ROPE_DETAIL_END
