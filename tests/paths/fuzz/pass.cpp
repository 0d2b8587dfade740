// SPDX-License-Identifier: MIT
// Bytes as a call of pass: whatever they are, the call is refused with the sentence of check_pass and writes nothing, or it
// writes the bits of its reference to the elements of its destinations, and nothing else.
#include <rope/core.hpp>
#include <rope/heads.hpp>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

#include "../../readers/fuzz/properties.hpp"
#include "../../support/reference/path.hpp"
#include "input.hpp"

namespace {

using fuzz::Bytes;
using fuzz::require;
using rope::Index;
using rope::Layout;
using rope::detail::CacheFormat;
using rope::detail::HeadsInMemory;
using rope::detail::PathAccess;

/// Cuts a call into pieces, in an order that the input decides.
struct Cut {
    Index at;
    bool is_backwards;
    template <class F>
    void operator()(Index count, const F& f) const {
        const Index cut = count > 0 ? at % (count + 1) : 0;
        if (is_backwards) f(cut, count);
        f(Index(0), cut);
        if (!is_backwards) f(cut, count);
    }
};

/// f(path...) with one to three paths.
template <class F>
auto with_paths(const std::vector<rope::Path>& p, const F& f) {
    return p.size() == 1 ? f(p[0]) : p.size() == 2 ? f(p[0], p[1]) : f(p[0], p[1], p[2]);
}

bool is_large(const std::vector<rope::Path>& paths) {
    for (const rope::Path& p : paths) {
        const Index* const e = PathAccess::data(p).source.extents;
        Index count = 1;
        for (int axis = 0; axis < 4; ++axis) count = rope::detail::clamped_product(count, e[axis]);
        if (count > 1 << 13 || rope::detail::clamped_product(e[0], rope::detail::clamped_product(e[1], e[2])) > 1 << 10)
            return true;
    }
    return false;
}

/// f(part, address, bytes) for all numbers and codes of heads that a path writes.
template <class F>
void for_each_written(const rope::Path& path, const F& f) {
    const rope::detail::PathData& p = PathAccess::data(path);
    if (rope::detail::is_empty(p.source)) return;
    for (int part = 0; part < 3; ++part) {
        const HeadsInMemory* const m = rope::detail::written_part(p, part);
        for (Index b = 0; m != nullptr && b < p.source.extents[0]; ++b)
            for (Index s = 0; s < p.source.extents[1]; ++s)
                for (Index h = 0; h < p.source.extents[2]; ++h) {
                    if (rope::detail::is_skipped(*m, b, s, p.source.extents[1]) ||
                        rope::detail::is_skipped(rope::detail::read_heads(p), b, s, p.source.extents[1]))
                        continue;
                    const Index at = rope::detail::offset_in(*m, b, s, p.source.extents[1], h);
                    for (Index i = 0; i < m->extents[3]; ++i) f(*m, i, m->at(at + i * m->strides[3]), m->element_size);
                }
    }
}
bool has_equal_slots(const rope::Path& path) {
    const rope::detail::PathData& p = PathAccess::data(path);
    for (int part = 0; part < 3; ++part) {
        const HeadsInMemory* const m = rope::detail::written_part(p, part);
        for (Index i = 0; m != nullptr && m->is_paged && i < m->slot_count; ++i)
            for (Index k = 0; k < i; ++k)
                if (m->slot_list[i] >= 0 && m->slot_list[i] == m->slot_list[k]) return true;
    }
    return false;
}

bool is_nan_half(const unsigned char* p) {
    std::uint16_t bits;
    std::memcpy(&bits, p, 2);
    return (bits & 0x7fffu) > 0x7c00u;
}
/// Whether numbers or codes are the same, or both a NaN.
bool is_same(const CacheFormat& format, const HeadsInMemory& m, Index feature, const unsigned char* a,
             const unsigned char* b) {
    using rope::detail::ElementType;
    const Index size = m.element_size;
    if (std::memcmp(a, b, static_cast<std::size_t>(size)) == 0) return true;
    double x[2] = {};
    for (int i = 0; i < 2; ++i) {
        const unsigned char* const p = i == 0 ? a : b;
        const bool is_fp8 = std::strncmp(format.name, "fp8", 3) == 0;
        const Index bytes = format.bytes;
        if (m.type == ElementType::f64)
            x[i] = support::load<double>(p, m.type);
        else if (m.type < ElementType::i8)
            x[i] = static_cast<double>(support::load<float>(p, m.type));
        else if (is_fp8 && (*p & 0x7f) == 0x7f)
            x[i] = std::numeric_limits<double>::quiet_NaN();
        else if (format.features == 32 && feature % bytes < (bytes == 20 || bytes == 24 ? 4 : 2) &&
                 is_nan_half(p - feature % bytes % 2))
            x[i] = std::numeric_limits<double>::quiet_NaN();
    }
    return std::isnan(x[0]) && std::isnan(x[1]);
}

/// Writes a destination, and reads it back into memory of its own.
void read_back(const rope::Path& path) {
    const rope::detail::PathData& p = PathAccess::data(path);
    const rope::detail::StoredHeads& d = rope::detail::written_store(p);
    if (!rope::detail::is_somewhere(d) || d.codes.type == rope::detail::ElementType::f64) return;
    const Index *const e = p.source.extents, width = rope::detail::written_features(p);
    std::vector<float> numbers(static_cast<std::size_t>(rope::detail::count_heads(p.source) * width));
    rope::dequantise(PathAccess::make<rope::Destination>(d), rope::view(numbers.data(), e[0], e[1], e[2], width));
}

template <Layout layout, class T, class In>
void run(Bytes& bytes, In& in, const rope::CosSinRows<T>& rows) {
    const rope::Positions& where = in.where();
    const Index way = bytes.below(4), at = bytes.next();
    const rope::Status status =
        with_paths(in.paths, [&](const auto&... p) { return rope::check_pass<layout>(rows, where, p...); });
    if (!status.ok()) fuzz::check_sentence(status.message());
    if (!in.memory.is_usable || is_large(in.paths)) return;
    const auto pass = [&](const auto&... p) {
        if (way == 0) rope::pass<layout>(rows, where, p...);
        if (way == 1) rope::pass<layout>(rope::at_every_size(Cut{at, bytes.one_in(2)}), rows, where, p...);
        if (way == 2)
            for (Index i = at % 5; i >= 0; --i) rope::pass<layout>(rope::part(i, at % 5 + 1), rows, where, p...);
        if (way == 3) rope::pass(layout, rows, where, p...);
    };
    try {
        with_paths(in.paths, pass);
    } catch (const std::logic_error& e) {
        require(!status.ok() && std::string(e.what()) == status.message(),
                "a refusal is that of check_pass:", e.what());
        require(in.memory.is_unchanged(), "a refused call writes nothing:", e.what());
        return;
    }
    require(status.ok(), "what check_pass refuses is refused:", status.message());
    bool is_ordered = true;
    for (const rope::Path& p : in.paths) {
        is_ordered = is_ordered && !has_equal_slots(p);
        for_each_written(p, [&](const HeadsInMemory&, Index, const void* q, Index size) { in.memory.mark(q, size); });
        read_back(p);
    }
    require(in.memory.is_right(), "only elements of destinations are written");
    if (!is_ordered || in.is_beyond_reference(rows)) return;
    const auto ours = in.memory.copy();
    in.memory.restore();
    for (const rope::Path& p : in.paths) support::reference_pass<T>(layout, rows, where, p);
    for (const rope::Path& p : in.paths)
        for_each_written(p, [&](const HeadsInMemory& m, Index i, const void* q, Index) {
            const CacheFormat& format = rope::detail::format_of(rope::detail::written_store(PathAccess::data(p)));
            require(is_same(format, m, i, in.memory.in(ours, q), static_cast<const unsigned char*>(q)),
                    "pass has the bits of its reference");
        });
}

template <class X>
void run_type(Bytes& bytes) {
    fuzz::Input<X> in(bytes);
    const rope::CosSinRows<typename fuzz::Input<X>::T>& rows = in.rows();
    if (bytes.one_in(2))
        run<Layout::interleaved>(bytes, in, rows);
    else
        run<Layout::half_split>(bytes, in, rows);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    Bytes bytes(data, size);
    static const auto isas = rope::available_isas();
    const Index isa = bytes.below(static_cast<Index>(isas.size()));
    rope::force_isa(isas.begin()[isa]);
    switch (bytes.below(4)) {
        case 0: run_type<float>(bytes); break;
        case 1: run_type<rope::half>(bytes); break;
        case 2: run_type<rope::bfloat16>(bytes); break;
        default: run_type<double>(bytes); break;
    }
    return 0;
}
