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

/// `codes` in a format of the list, with the scales and zeros that belong to them, if any.
template <class Format>
inline Destination with_format(const Destination& codes, const QuantParameter* scales = nullptr,
                               const QuantParameter* zeros = nullptr, float factor = 1.0f,
                               ScaleUse use = ScaleUse::multiplies) noexcept {
    StoredHeads d = PathAccess::data(codes);
    if (d.format != nullptr) d.has_two_formats = true;
    static_assert(Formats::has<Format>, "This type must stand in the list.");
    if constexpr (Formats::has<Format>) d.format = &kFormat<Format>;
    d.scales.numbers.type = d.zeros.numbers.type = kNoElements;
    if (scales != nullptr) d.scales = PathAccess::data(*scales);
    if (zeros != nullptr) d.zeros = PathAccess::data(*zeros);
    for (const ParameterData* p : {&d.scales, &d.zeros})
        if (is_somewhere(*p) && p->has_format) d.has_two_formats = true;
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

inline constexpr const char kScalesAre[] = "scales", kZerosAre[] = "zeros";

/// Requires scales or zeros that a format with heads of head_dim numbers can have.
ROPE_COLD Status check_parameter(const char* name, const char* kind, const ParameterData& p, const StoredHeads& d,
                                 Index batch, Index seq, Index heads, Index head_dim) noexcept {
    const CacheFormat& format = format_of(d);
    const HeadsInMemory& m = p.numbers;
    const Index count = m.extents[3];
    if (!has_right_count(p, format, head_dim)) {
        if (p.is_list)
            return invalid(
                "{} has given {} in a container of {}; it must have one for each feature ({}). For heads or groups "
                "give a view.",
                {name, kind, count, head_dim});
        if (format.group > 0)
            return invalid("{} has {} {} for a head of {} features; {} has one for {} features.",
                           {name, count, kind, head_dim, format.name, format.group});
        return invalid("{} has {} {} for a head of {} features; each must be for as many of them as the others{}.",
                       {name, count, kind, head_dim, format.features > 1 ? ", an even number" : ""});
    }
    if (p.is_number) return Status();
    if (!p.is_given)
        return check_part(name, kind == kScalesAre ? " in its scales" : " in its zeros", m, batch, seq, heads, count);
    const Index needed[] = {batch, seq, heads};
    for (int axis = 0; axis < 3; ++axis)
        if (m.extents[axis] != 1 && m.extents[axis] != needed[axis])
            return invalid("{} has given {} with an extent of {} along {}; it must be 1 or that of the heads ({}).",
                           {name, kind, m.extents[axis], kAxisNames[axis], needed[axis]});
    return check_extents(named(m, kind));
}
/// Requires types of scales and zeros that the format can have, and what a single number must be.
ROPE_COLD Status check_parameter_types(const char* name, const StoredHeads& d) noexcept {
    const CacheFormat& format = format_of(d);
    const ParameterData &scales = d.scales, &zeros = d.zeros;
    if (format.scales == ScalesBeside::bytes && scales.is_given)
        return invalid("{} has given scales; those of {} that are bytes must be made.", {name, format.name});
    const ElementType of_scales = scales.numbers.type, of_zeros = zeros.numbers.type;
    if (format.scales == ScalesBeside::bytes ? of_scales != ElementType::u8 : !is_number_beside(of_scales))
        return invalid(
            "{} has scales that are not {}.",
            {name, format.scales == ScalesBeside::bytes ? "unsigned char, the only type that the format has"
                                                        : "float, half or bfloat16; they must be one of these"});
    if (scales.use == ZeroUse::code)
        return invalid("{} has rope::zero_points where its scales stand; these are for zeros.", {name});
    if (scales.is_number && !is_positive(static_cast<double>(scales.number)))
        return invalid("{} has scale {}; it must be finite and above 0.", {name, static_cast<double>(scales.number)});
    if (!is_somewhere(zeros)) return Status();
    if (zeros.is_given != scales.is_given)
        return invalid(
            "{} has {} and {}; both must be made, or both given.",
            {name, scales.is_given ? "given scales" : "made scales", zeros.is_given ? "given zeros" : "made zeros"});
    if (!zeros.is_number && !is_number_beside(of_zeros) && of_zeros != format.zero_code)
        return invalid("{} has zeros that are not float, half, bfloat16 or {} char; they must be one of these.",
                       {name, format.zero_code == ElementType::i8 ? "signed" : "unsigned"});
    if (zeros.is_number && zeros.use == ZeroUse::whole_code &&
        !(zeros.number >= static_cast<float>(format.least) && zeros.number <= static_cast<float>(format.most)))
        return invalid("{} has zero {}; as a code of {} it must be from {} to {}.",
                       {name, static_cast<double>(zeros.number), format.name, format.least, format.most});
    if (zeros.is_number && !is_finite(static_cast<double>(zeros.number)))
        return invalid("{} has zero {}; it must be finite.", {name, static_cast<double>(zeros.number)});
    return Status();
}
/// Requires as many zeros as scales, and for pages the slots of the codes.
ROPE_COLD Status check_parameters(const char* name, const StoredHeads& d, Index batch, Index seq, Index heads,
                                  Index head_dim) noexcept {
    if (format_of(d).scales == ScalesBeside::none) return Status();
    if (const Status s = check_parameter_types(name, d); !s.ok()) return s;
    const ParameterData &scales = d.scales, &zeros = d.zeros;
    if (const Status s = check_parameter(name, kScalesAre, scales, d, batch, seq, heads, head_dim); !s.ok()) return s;
    if (is_somewhere(zeros)) {
        if (const Status s = check_parameter(name, kZerosAre, zeros, d, batch, seq, heads, head_dim); !s.ok()) return s;
        const Index of_scales = scales.numbers.extents[3], of_zeros = zeros.numbers.extents[3];
        if (of_scales != of_zeros && (!zeros.is_given || (of_scales != 1 && of_zeros != 1)))
            return invalid("{} has {} {scale|scales} and {} {zero|zeros} for a head; they must be as many.",
                           {name, of_scales, of_zeros});
    }
    const HeadsInMemory& codes = d.codes;
    for (const ParameterData* p : {&scales, &zeros})
        for (Index t = 0; is_written(*p) && p->numbers.is_paged && t < clamped_product(batch, seq); ++t) {
            const Index slot = p->numbers.slot_list[t];
            if (codes.is_paged && slot != codes.slot_list[t])
                return invalid(
                    "{} has slot {} for the codes of token {} and slot {} beside them; they must be the same.",
                    {name, codes.slot_list[t], t, slot});
            if (!codes.is_paged && slot < 0)
                return invalid("{} skips token {} beside its codes, and not in them.", {name, t});
        }
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
    if (const Status s = check_parameters(name, d, batch, seq, heads, head_dim); !s.ok()) return s;
    if (is_positive(static_cast<double>(d.factor))) return Status();
    return invalid("{} has scale {}; it must be finite and above 0.", {name, static_cast<double>(d.factor)});
}

/// Heads h and on of a token in one part; `bytes` is from each to the next.
ROPE_INLINE unsigned char* place_of(const HeadsInMemory& m, Index b, Index s, Index seq, Index h,
                                    Index& bytes) noexcept {
    bytes = m.strides[2] * m.element_size;
    return static_cast<unsigned char*>(m.at(offset_in(m, b, s, seq, h)));
}
/// The scales or zeros of head h of a token. Sets `bytes` to the distance from those of one head to those of the next.
ROPE_INLINE NumbersBeside numbers_beside(const ParameterData& p, Index b, Index s, Index seq, Index h,
                                         Index& bytes) noexcept {
    const HeadsInMemory& m = p.numbers;
    NumbersBeside n = {nullptr, m.extents[3], m.strides[3] * m.element_size, m.type, p.is_given, p.use};
    bytes = 0;
    n.data = p.is_number ? reinterpret_cast<unsigned char*>(const_cast<float*>(&p.number))
                         : place_of(m, b, s, seq, h, bytes);
    return n;
}
/// The heads of a token from head h on. `codes` is the destination's memory or, in place, the source's.
inline FormatHeads format_token(const StoredHeads& d, const HeadsInMemory& codes, Index b, Index s, Index seq,
                                Index h) noexcept {
    FormatHeads token;
    token.row.factor = d.factor;
    token.row.divides = d.use == ScaleUse::divides;
    token.row.codes = place_of(codes, b, s, seq, h, token.codes);
    token.row.scales = token.row.zeros = {nullptr, 1, 0, kNoElements, false, ZeroUse::minimum};
    token.scales = token.zeros = 0;
    if (format_of(d).scales == ScalesBeside::none) return token;
    token.row.scales = numbers_beside(d.scales, b, s, seq, h, token.scales);
    if (is_somewhere(d.zeros)) token.row.zeros = numbers_beside(d.zeros, b, s, seq, h, token.zeros);
    return token;
}

/// The parts of a destination that a path writes: codes, scales and zeros.
inline const HeadsInMemory* part_of(const StoredHeads& d, int part) noexcept {
    if (part == 0) return &d.codes;
    if (format_of(d).scales == ScalesBeside::none) return nullptr;
    const ParameterData& p = part == 1 ? d.scales : d.zeros;
    return is_written(p) ? &p.numbers : nullptr;
}
/// Given scales (0) or zeros (1) in memory, or null.
inline const HeadsInMemory* given_part_of(const StoredHeads& d, int part) noexcept {
    if (!is_somewhere(d) || format_of(d).scales == ScalesBeside::none) return nullptr;
    const ParameterData& p = part == 0 ? d.scales : d.zeros;
    return is_somewhere(p) && p.is_given && !p.is_number ? &p.numbers : nullptr;
}
ROPE_DETAIL_END

#if ROPE_HAS_DEFINITIONS
ROPE_BEGIN

ROPE_API Destination int8(const Destination& codes, const QuantParameter& scales) noexcept {
    return detail::with_format<detail::portable::Int8>(codes, &scales);
}
ROPE_API Destination int8(const Destination& codes, const QuantParameter& scales,
                          const QuantParameter& zeros) noexcept {
    return detail::with_format<detail::portable::Int8>(codes, &scales, &zeros);
}
ROPE_API Destination uint8(const Destination& codes, const QuantParameter& scales,
                           const QuantParameter& zeros) noexcept {
    return detail::with_format<detail::portable::Uint8>(codes, &scales, &zeros);
}
ROPE_API Destination int4(const Destination& codes, const QuantParameter& scales) noexcept {
    return detail::with_format<detail::portable::Int4>(codes, &scales);
}
ROPE_API Destination int4(const Destination& codes, const QuantParameter& scales,
                          const QuantParameter& zeros) noexcept {
    return detail::with_format<detail::portable::Int4>(codes, &scales, &zeros);
}
ROPE_API Destination uint4(const Destination& codes, const QuantParameter& scales,
                           const QuantParameter& zeros) noexcept {
    return detail::with_format<detail::portable::Uint4>(codes, &scales, &zeros);
}
ROPE_API Destination fp8_e4m3(const Destination& codes, float scale, ScaleUse use) noexcept {
    return detail::with_format<detail::portable::Fp8<detail::portable::E4m3>>(codes, nullptr, nullptr, scale, use);
}
ROPE_API Destination fp8_e5m2(const Destination& codes, float scale, ScaleUse use) noexcept {
    return detail::with_format<detail::portable::Fp8<detail::portable::E5m2>>(codes, nullptr, nullptr, scale, use);
}
ROPE_API Destination fp8_e4m3(const Destination& codes, const QuantParameter& scales) noexcept {
    const bool are_powers = detail::PathAccess::data(scales).numbers.type == detail::ElementType::u8;
    return are_powers ? detail::with_format<detail::portable::Fp8E4m3ByPower>(codes, &scales)
                      : detail::with_format<detail::portable::Fp8E4m3ByHead>(codes, &scales);
}
ROPE_API Destination mxfp4(const Destination& codes, const QuantParameter& scales) noexcept {
    return detail::with_format<detail::portable::Mxfp4>(codes, &scales);
}
ROPE_API Destination nvfp4(const Destination& codes, const QuantParameter& scales, float tensor) noexcept {
    return detail::with_format<detail::portable::Nvfp4>(codes, &scales, nullptr, tensor);
}
ROPE_API Destination q8_0(const Destination& blocks) noexcept {
    return detail::with_format<detail::portable::Q8_0>(blocks);
}
ROPE_API Destination q4_0(const Destination& blocks) noexcept {
    return detail::with_format<detail::portable::Q4_0>(blocks);
}
ROPE_API Destination q4_1(const Destination& blocks) noexcept {
    return detail::with_format<detail::portable::Q4_1>(blocks);
}
ROPE_API Destination q5_0(const Destination& blocks) noexcept {
    return detail::with_format<detail::portable::Q5_0>(blocks);
}
ROPE_API Destination q5_1(const Destination& blocks) noexcept {
    return detail::with_format<detail::portable::Q5_1>(blocks);
}
ROPE_API Destination iq4_nl(const Destination& blocks) noexcept {
    return detail::with_format<detail::portable::Iq4_nl>(blocks);
}
ROPE_API Destination mxfp4(const Destination& blocks) noexcept {
    return detail::with_format<detail::portable::GgmlMxfp4>(blocks);
}

ROPE_END
#endif
