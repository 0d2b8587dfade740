// SPDX-License-Identifier: MIT
// A path as plain loops over the whole tensor, one operation after the other, by the formulas of <rope/heads.hpp>: what pass
// computes, bit for bit. Of the library it takes the path as data, and the rows of tokens from write_rows.
#pragma once

#include <rope/heads.hpp>
#include <rope/isa.hpp>
#include <rope/write_rows.hpp>

#include <rope/detail/paths/stages.hpp>

#include <type_traits>
#include <vector>

#include "../rounded.hpp"
#include "formats.hpp"
#include "steps.hpp"

namespace support {

/// One path, without checks: it must be one that check_pass accepts.
template <class T>
class ReferencePath {
 public:
    ReferencePath(rope::Layout layout, const rope::CosSinRows<T>& rows, const rope::Positions& positions,
                  const rope::Path& path)
        : layout_(layout),
          path_(rope::detail::PathAccess::data(path)),
          rows_(path_.rows == nullptr ? rows : *static_cast<const rope::CosSinRows<T>*>(path_.rows)),
          positions_(path_.rows == nullptr ? positions : path_.positions) {}

    void run() {
        const HeadsInMemory& source = path_.source;
        for (const Index extent : source.extents)
            if (extent == 0) return;
        Numbers<T> all = {source.extents, source.type, {}};
        if (path_.cache.format == nullptr) {
            const HeadsInMemory& from = rope::detail::read_heads(path_);
            all.for_each([&](Index b, Index s, Index h, Index i) {
                const void* const at = place(from, b, s, h, i);
                all.x.push_back(at == nullptr ? T(0) : load<T>(at, from.type));
            });
        } else {  // codes_are_read says that dequantise reads the numbers of the formulas
            std::vector<float> x(static_cast<std::size_t>(source.extents[0] * source.extents[1] * source.extents[2] *
                                                          source.extents[3]));
            rope::dequantise(
                rope::detail::PathAccess::make<rope::Destination>(path_.cache),
                rope::view(x.data(), source.extents[0], source.extents[1], source.extents[2], source.extents[3]));
            all.x.assign(x.begin(), x.end());
        }
        for (int i = 0; i < path_.count; ++i)
            rope::detail::Stages::visit(path_.steps[i].kind, [&](auto stage) {
                if constexpr (std::is_same_v<decltype(stage), rope::detail::RotateStage>)
                    define(stage, all, path_.steps[i], rotation());
                else
                    define(stage, all, path_.steps[i]);
            });
        write(all);
    }

 private:
    Rotation<T> rotation() const {
        const Index* const e = path_.source.extents;
        Rotation<T> r = {layout_, rows_.pairs(), rows_.rotary_offset(), rows_.attention_factor(), {}};
        r.rows.resize(static_cast<std::size_t>(e[0] * e[1] * 2 * r.pairs));
        rope::write_rows(rows_, positions_, e[1], e[0], r.rows.data());
        return r;
    }
    /// Feature i of head h of a token, in a view or in pages; null where the token is skipped.
    void* place(const HeadsInMemory& m, Index b, Index s, Index h, Index i) const {
        if (!m.is_paged) return address(m, b, s, h, i);
        const Index slot = m.slot_list[b * path_.source.extents[1] + s];
        return slot < 0 ? nullptr : address(m, slot / m.extents[1], slot % m.extents[1], h, i);
    }
    Beside numbers_beside(const rope::detail::ParameterData& p, rope::detail::ScalesBeside kind, Index b, Index s,
                          Index h) const {
        Beside numbers = {{}, p.numbers.type, p.is_given, p.use};
        if (kind == rope::detail::ScalesBeside::none || !rope::detail::is_somewhere(p)) return numbers;
        if (p.is_number) numbers.type = rope::detail::ElementType::f32;
        for (Index i = 0; i < p.numbers.extents[3]; ++i) {
            void* const at = p.is_number ? const_cast<float*>(&p.number) : place(p.numbers, b, s, h, i);
            numbers.at.push_back(static_cast<unsigned char*>(at));
        }
        return numbers;
    }
    void write(const Numbers<T>& all) const {
        const rope::detail::StoredHeads& d = rope::detail::written_store(path_);
        const HeadsInMemory &in = rope::detail::read_heads(path_), &out = rope::detail::written_heads(path_);
        const Index* const e = path_.source.extents;
        const Index first = path_.is_sliced ? path_.first_feature : 0, width = rope::detail::written_features(path_);
        for (Index b = 0; b < e[0]; ++b)
            for (Index s = 0; s < e[1]; ++s)
                for (Index h = 0; h < e[2]; ++h) {
                    if (place(in, b, s, h, 0) == nullptr || place(out, b, s, h, 0) == nullptr) continue;
                    const auto at = [&](const HeadsInMemory& m, Index i) { return place(m, b, s, h, i); };
                    rope::detail::Formats::visit(rope::detail::format_of(d).number, [&](auto format) {
                        using Format = decltype(format);
                        if constexpr (std::is_same_v<Format, rope::detail::Elements>) {
                            for (Index i = 0; i < width; ++i) store(at(out, i), out.type, all.at(b, s, h, first + i));
                        } else if constexpr (std::is_same_v<T, float>) {
                            const float* const x = &all.at(b, s, h, first);
                            const auto beside = [&](const rope::detail::ParameterData& p) {
                                return numbers_beside(p, Format::kScales, b, s, h);
                            };
                            Codes<Format>::write(Head(x, x + width),
                                                 {static_cast<unsigned char*>(at(out, 0)), beside(d.scales),
                                                  beside(d.zeros), d.factor, d.use == rope::ScaleUse::divides});
                        }
                    });
                }
    }

    rope::Layout layout_;
    const rope::detail::PathData& path_;
    const rope::CosSinRows<T>& rows_;  // its own, or those of the call
    const rope::Positions& positions_;
};

template <class T>
void reference_pass(rope::Layout layout, const rope::CosSinRows<T>& rows, const rope::Positions& positions,
                    const rope::Path& path) {
    ReferencePath<T>(layout, rows, positions, path).run();
}

}  // namespace support
