// SPDX-License-Identifier: MIT
// Definitions of destinations.hpp.
#pragma once

#include <type_traits>

#include "../../destinations.hpp"
#include "../../errors.hpp"
#include "../../types.hpp"
#include "../kernels/formats.hpp"
#include "../kernels/steps.hpp"
#include "../views/view_checks.hpp"
#include "accept_memory.hpp"
#include "heads_in_memory.hpp"
#include "paged.hpp"
#include "steps.hpp"

ROPE_DETAIL_BEGIN

/// `codes` in a format of the list, with the views of the scales and zeros that belong to them, if any.
template <class Format>
inline Destination with_format(const Destination& codes, const Destination* scales = nullptr,
                               const Destination* zeros = nullptr, float factor = 1.0f,
                               ScaleUse use = ScaleUse::multiplies) noexcept {
    StoredHeads d = PathAccess::data(codes);
    for (const Destination* part : {&codes, scales, zeros})
        if (part != nullptr && PathAccess::data(*part).format != nullptr) d.has_two_formats = true;
    static_assert(Formats::has<Format>, "This type must stand in the list.");
    if constexpr (Formats::has<Format>) d.format = &kFormat<Format>;
    if (scales != nullptr) d.scales = PathAccess::data(*scales).codes;
    if (zeros != nullptr) d.zeros = PathAccess::data(*zeros).codes;
    d.factor = factor;
    d.use = use;
    return PathAccess::make<Destination>(d);
}

// ---- A path that begins in a cache ----

/// Sets batch and seq of a path that begins in pages. They are 1 and the number of slots, or those of the view that the
/// path writes, if that view has as many tokens.
inline void set_tokens(PathData& path) noexcept {
    const HeadsInMemory &from = path.cache.codes, &to = path.destination.codes;
    if (!begins_in_cache(path) || !from.is_paged) return;
    Index* const extents = path.source.extents;
    extents[0] = 1;
    extents[1] = from.slot_count;
    if (!has_destination(path) || to.is_paged || clamped_product(to.extents[0], to.extents[1]) != from.slot_count)
        return;
    extents[0] = to.extents[0];
    extents[1] = to.extents[1];
}
inline void begin_in(const StoredHeads& cache, PathData& path) noexcept {
    const HeadsInMemory& codes = cache.codes;
    const CacheFormat& format = format_of(cache);
    const bool has_codes = format.code != kNoElements;
    path.cache = cache;
    HeadsInMemory& heads = path.source = codes;
    heads.data = nullptr;
    heads.is_paged = false;
    if (has_codes) {
        heads.type = ElementType::f32;
        heads.element_size = sizeof(float);
        const Index blocks = codes.extents[3] / format.bytes;
        heads.extents[3] = blocks < 0 ? blocks : clamped_product(blocks, format.features);
    }
    for (Index& stride : heads.strides) stride = 0;
    set_tokens(path);
}

// ---- Places ----

inline bool is_skipped(const HeadsInMemory& m, Index b, Index s, Index seq) noexcept {
    return m.is_paged && m.slot_list[b * seq + s] < 0;
}
/// The offset of head h of a token that is not skipped, in elements.
inline Index offset_in(const HeadsInMemory& m, Index b, Index s, Index seq, Index h) noexcept {
    if (!m.is_paged) return m.offset_of(b, s, h);
    const Index slot = m.slot_list[b * seq + s];
    return m.offset_of(slot / m.extents[1], slot % m.extents[1], h);
}

// ---- Checks ----

/// One part of a destination (codes, scales or zeros) for `batch` and `seq`, with `heads` heads of `width` numbers.
ROPE_COLD Status check_part(const char* name, const char* part, const HeadsInMemory& m, Index batch, Index seq,
                            Index heads, Index width) noexcept {
    const AnyView v = named(m, name);
    const char* const* const axes = m.is_paged ? kPagesNames.extents : kAxisNames;
    if (const Status s = check_extents(v, axes); !s.ok()) return s;
    const bool fits = m.extents[2] == heads && m.extents[3] == width &&
                      (m.is_paged || (m.extents[0] == batch && m.extents[1] == seq));
    if (!fits && m.is_paged)
        return invalid("{} has pages with heads {} and head_dim {}{}; these must be {} and {}.",
                       {name, m.extents[2], m.extents[3], part, heads, width});
    if (!fits)
        return invalid("{} is [{}, {}, {}, {}]{}; it must be [{}, {}, {}, {}].",
                       {name, m.extents[0], m.extents[1], m.extents[2], m.extents[3], part, batch, seq, heads, width});
    if (const Status s = check_no_self_overlap(v, axes); !s.ok()) return s;
    if (!m.is_paged) return Status();
    const Index tokens = clamped_product(batch, seq), places = clamped_product(m.extents[0], m.extents[1]);
    if (m.slot_count == 0 && tokens > 0)
        return invalid("{} has pages without slots{}; give those of the step, one for each token ({}), by with_slots.",
                       {name, part, tokens});
    if (m.slot_count != tokens)
        return invalid("{} has {} {slot|slots}{}; there must be one for each token ({}).",
                       {name, m.slot_count, part, tokens});
    if (tokens == 0) return Status();
    if (m.slot_list.data() == nullptr) return invalid("{} has a null pointer for slots{}.", {name, part});
    if (const Status s = check_extents(m.view_of_slots()); !s.ok()) return s;
    const Index outside = m.slot_list.find_outside(tokens, -1, places - 1);
    if (outside < tokens)
        return out_of_range(
            "{} has slot {} for token {}{}; in {} {page|pages} of {} slots are from 0 to {}, and -1 skips a token.",
            {name, m.slot_list[outside], outside, part, m.extents[0], m.extents[1], places - 1});
    return Status();
}

/// Whether a destination can hold [batch, seq, heads, head_dim] numbers.
ROPE_COLD Status check_destination(const char* name, const StoredHeads& d, Index batch, Index seq, Index heads,
                                   Index head_dim) noexcept {
    const CacheFormat& format = format_of(d);
    const HeadsInMemory& codes = d.codes;
    if (d.has_two_formats)
        return invalid("{} has a format of what has a format already; codes, scales and zeros are views or pages.",
                       {name});
    if (d.use > ScaleUse::divides)
        return invalid("{} has use number {} of ScaleUse; there are 2.", {name, static_cast<int>(d.use)});
    const bool has_bytes = codes.type >= ElementType::i8, has_codes = format.code != kNoElements;
    if (has_bytes != has_codes)
        return has_codes
                   ? invalid("{} has elements of more than a byte; the codes of {} are bytes.", {name, format.name})
                   : invalid("{} has elements of a byte; a format such as rope::int8 says what they mean.", {name});
    if (has_codes && codes.type != format.code)
        return invalid("{} has codes of {} char; those of {} are {} char.",
                       {name, codes.type == ElementType::i8 ? "signed" : "unsigned", format.name,
                        codes.type == ElementType::i8 ? "unsigned" : "signed"});
    if (head_dim % format.features != 0)
        return invalid(
            "{} has format {}, whose blocks have {} {feature|features}; head_dim is {}, which they must divide.",
            {name, format.name, format.features, head_dim});
    if (has_codes && codes.strides[3] != 1 && codes.extents[3] > 1)
        return invalid("{} has codes with a feature stride of {}; it must be 1.", {name, codes.strides[3]});
    const Index width = has_codes ? head_dim / format.features * format.bytes : head_dim;
    if (const Status s = check_part(name, "", codes, batch, seq, heads, width); !s.ok()) return s;
    const HeadsInMemory &scales = d.scales, &zeros = d.zeros;
    const bool has_scale = format.scale != kNoElements, has_zero = format.zero != kNoElements;
    if (has_scale && scales.type != format.scale)
        return invalid("{} has scales that are not {}.", {name, format.scales_are});
    if (has_zero && zeros.type != format.zero) return invalid("{} has zeros that are not float; they must be.", {name});
    if (has_scale)
        if (const Status s = check_part(name, " in its scales", scales, batch, seq, heads, 1); !s.ok()) return s;
    if (has_zero)
        if (const Status s = check_part(name, " in its zeros", zeros, batch, seq, heads, 1); !s.ok()) return s;
    for (const HeadsInMemory* beside : {has_scale ? &scales : nullptr, has_zero ? &zeros : nullptr})
        for (Index t = 0; beside != nullptr && beside->is_paged && t < clamped_product(batch, seq); ++t) {
            const Index slot = beside->slot_list[t];
            if (codes.is_paged && slot != codes.slot_list[t])
                return invalid(
                    "{} has slot {} for the codes of token {} and slot {} beside them; they must be the same.",
                    {name, codes.slot_list[t], t, slot});
            if (!codes.is_paged && slot < 0)
                return invalid("{} skips token {} beside its codes, and not in them.", {name, t});
        }
    if (is_positive(static_cast<double>(d.factor))) return Status();
    return invalid("{} has scale {}; it must be finite and above 0.", {name, static_cast<double>(d.factor)});
}

/// Where the heads of a token lie: one of them, and the bytes from each to the next.
struct FormatToken {
    FormatRow row;
    Index codes, scale, zero;

    ROPE_INLINE void step_on(Index heads) noexcept {
        row.codes += heads * codes;
        row.scale = static_cast<unsigned char*>(row.scale) + heads * scale;
        row.zero = static_cast<unsigned char*>(row.zero) + heads * zero;
    }
};
/// The heads of a token from head h on. `codes` is the destination's memory or, in place, the source's.
inline FormatToken format_token(const StoredHeads& d, const HeadsInMemory& codes, Index b, Index s, Index seq,
                                Index h) noexcept {
    const CacheFormat& format = format_of(d);
    FormatToken token = {{nullptr, nullptr, nullptr, d.factor, d.use == ScaleUse::divides}, 0, 0, 0};
    const auto place = [&](const HeadsInMemory& m, Index& bytes) {
        bytes = m.strides[2] * m.element_size;
        return m.at(offset_in(m, b, s, seq, h));
    };
    token.row.codes = static_cast<unsigned char*>(place(codes, token.codes));
    if (format.scale != kNoElements) token.row.scale = place(d.scales, token.scale);
    if (format.zero != kNoElements) token.row.zero = place(d.zeros, token.zero);
    return token;
}

/// The parts of a destination that are in use: codes, scales and zeros.
inline const HeadsInMemory* part_of(const StoredHeads& d, int part) noexcept {
    const CacheFormat& format = format_of(d);
    if (part == 0) return &d.codes;
    if (part == 1) return format.scale != kNoElements ? &d.scales : nullptr;
    return format.zero != kNoElements ? &d.zeros : nullptr;
}
ROPE_DETAIL_END

#if ROPE_HAS_DEFINITIONS
ROPE_BEGIN

ROPE_API Destination int8(const Destination& codes, const Destination& scales) noexcept {
    return detail::with_format<detail::portable::Int8>(codes, &scales);
}
ROPE_API Destination uint8(const Destination& codes, const Destination& scales, const Destination& zeros) noexcept {
    return detail::with_format<detail::portable::Uint8>(codes, &scales, &zeros);
}
ROPE_API Destination uint4(const Destination& codes, const Destination& scales, const Destination& zeros) noexcept {
    return detail::with_format<detail::portable::Uint4>(codes, &scales, &zeros);
}
ROPE_API Destination fp8_e4m3(const Destination& codes, float scale, ScaleUse use) noexcept {
    return detail::with_format<detail::portable::Fp8<detail::portable::E4m3>>(codes, nullptr, nullptr, scale, use);
}
ROPE_API Destination fp8_e5m2(const Destination& codes, float scale, ScaleUse use) noexcept {
    return detail::with_format<detail::portable::Fp8<detail::portable::E5m2>>(codes, nullptr, nullptr, scale, use);
}
ROPE_API Destination fp8_e4m3(const Destination& codes, const Destination& scales) noexcept {
    const bool are_powers = detail::PathAccess::data(scales).codes.type == detail::ElementType::u8;
    return are_powers ? detail::with_format<detail::portable::Fp8E4m3ByPower>(codes, &scales)
                      : detail::with_format<detail::portable::Fp8E4m3ByHead>(codes, &scales);
}
ROPE_API Destination q8_0(const Destination& blocks) noexcept {
    return detail::with_format<detail::portable::Q8_0>(blocks);
}
ROPE_API Destination q4_0(const Destination& blocks) noexcept {
    return detail::with_format<detail::portable::Q4_0>(blocks);
}

ROPE_END
#endif
