// SPDX-License-Identifier: MIT
// A path as plain loops, one operation after the other over the whole tensor: what pass computes, bit for bit.
#pragma once

#include <cmath>
#include <vector>

#include "../../apply.hpp"
#include "../../errors.hpp"
#include "../../heads.hpp"
#include "../../positions.hpp"
#include "../../reference_path.hpp"
#include "../../types.hpp"
#include "../paths/destinations.hpp"
#include "../paths/stages.hpp"
#include "../paths/steps.hpp"

ROPE_DETAIL_BEGIN

template <class T>
inline T load_element(const void* p, ElementType type) noexcept {
    if constexpr (std::is_same_v<T, double>) {
        return *static_cast<const double*>(p);
    } else {
        if (type == ElementType::f16) return Element<float, half>::load(static_cast<const half*>(p));
        if (type == ElementType::bf16) return Element<float, bfloat16>::load(static_cast<const bfloat16*>(p));
        return *static_cast<const float*>(p);
    }
}
template <class T>
inline void store_element(void* p, ElementType type, T x) noexcept {
    if constexpr (std::is_same_v<T, double>) {
        *static_cast<double*>(p) = x;
    } else {
        if (type == ElementType::f16) return Element<float, half>::store(static_cast<half*>(p), x);
        if (type == ElementType::bf16) return Element<float, bfloat16>::store(static_cast<bfloat16*>(p), x);
        *static_cast<float*>(p) = x;
    }
}
template <class T>
inline T rounded_to(ElementType type, T x) noexcept {
    double memory;
    store_element(&memory, type, x);
    return load_element<T>(&memory, type);
}

/// All numbers of a path, contiguous [batch, seq, heads, head_dim].
template <class T>
class ReferencePath {
 public:
    ReferencePath(Layout layout, const CosSinRows<T>& rows, const Positions& positions, const PathData& path)
        : layout_(layout), rows_(rows), positions_(positions), path_(path), source_(path.source) {
        if (is_empty(source_.view(""))) return;
        x_.resize(static_cast<std::size_t>(extent(0) * extent(1) * extent(2) * extent(3)));
        for_each([&](Index b, Index s, Index h, Index i) {
            x(b, s, h, i) =
                load_element<T>(source_.at(source_.offset_of(b, s, h) + i * source_.strides[3]), source_.type);
        });
    }

    void run() {
        if (x_.empty()) return;
        for (int i = 0; i < path_.count; ++i) {
            const PathStep& step = path_.steps[i];
            Stages::visit(step.kind, [&](auto stage) { stage.define(*this, step); });
        }
        write();
    }

    // For the stages: the numbers as they are, and the rotation.
    Index extent(int axis) const noexcept { return source_.extents[axis]; }
    T& x(Index b, Index s, Index h, Index i) noexcept { return x_[index(b, s, h, i)]; }
    std::size_t index(Index b, Index s, Index h, Index i) const noexcept {
        return static_cast<std::size_t>(((b * extent(1) + s) * extent(2) + h) * extent(3) + i);
    }
    const std::vector<T>& numbers() const noexcept { return x_; }
    template <class F>
    void for_each(const F& f) {
        for (Index b = 0; b < extent(0); ++b)
            for (Index s = 0; s < extent(1); ++s)
                for (Index h = 0; h < extent(2); ++h)
                    for (Index i = 0; i < extent(3); ++i) f(b, s, h, i);
    }
    T number(const Numbers& n, Index b, Index s, Index h, Index i) const noexcept {
        return load_element<T>(n.at(n.offset_of(b, s, h) + i * n.strides[3]), n.type);
    }
    T rounded(T value) const noexcept { return rounded_to(source_.type, value); }

    Layout layout() const noexcept { return layout_; }
    Index pairs() const noexcept { return rows_.pairs(); }
    void rotate(bool is_back) { rotate(is_back, x_, extent(2)); }
    /// Cosines and sines, [batch, seq, head_dim]: each pair is (1, 0), rotated for its token.
    std::vector<T> cos_sin(bool is_back) {
        std::vector<T> rows = rotated_units(is_back, T(0));
        const std::vector<T> others = rotated_units(is_back, -T(0));  // an entry of -0 stays so in one of the two
        for (std::size_t i = 0; i < rows.size(); ++i)
            if (std::signbit(others[i])) rows[i] = others[i];
        return rows;
    }
    Index feature(Layout layout, Index pair, bool second) const noexcept {
        const Index pairs = rows_.pairs(), offset = rows_.rotary_offset();
        return offset + (layout == Layout::interleaved ? 2 * pair + (second ? 1 : 0) : pair + (second ? pairs : 0));
    }
    /// As the instruction set in use has it.
    static T multiply_add(T a, T b, T c) noexcept {
        return active_isa_has_fma() ? fused(a, b, c) : stored(stored(a * b) + c);
    }

 private:
    /// Pairs (1, zero), rotated.
    std::vector<T> rotated_units(bool is_back, T zero) {
        std::vector<T> rows(static_cast<std::size_t>(extent(0) * extent(1) * extent(3)), zero);
        for (Index token = 0; token < extent(0) * extent(1); ++token)
            for (Index pair = 0; pair < pairs(); ++pair)
                rows[static_cast<std::size_t>(token * extent(3) + feature(layout_, pair, false))] = T(1);
        rotate(is_back, rows, 1);
        return rows;
    }
    void rotate(bool is_back, std::vector<T>& heads, Index count) {
        const TensorView<T> v = view(heads.data(), extent(0), extent(1), count, extent(3));
        if (is_back)
            apply_inverse(layout_, v, rows_, positions_);
        else
            apply(layout_, v, rows_, positions_);
    }

    void write() {
        const DestinationData& d = path_.destination;
        const HeadsInMemory& codes = d.codes;
        const HeadsInMemory& out = codes.type == kNoElements ? source_ : codes;
        for (Index b = 0; b < extent(0); ++b)
            for (Index s = 0; s < extent(1); ++s)
                for (Index h = 0; h < extent(2) && !is_skipped(out, b, s, extent(1)); ++h) {
                    if (d.format == kElements) {
                        const Index at = offset_in(out, b, s, extent(1), h);
                        for (Index i = 0; i < extent(3); ++i)
                            store_element(out.at(at + i * out.strides[3]), out.type, x(b, s, h, i));
                    } else if constexpr (std::is_same_v<T, float>) {
                        if (extent(3) > 0)
                            write_format(portable::kIsaId, d.format)(&x(b, s, h, 0), extent(3),
                                                                     format_row(d, b, s, extent(1), h));
                    }
                }
    }

    Layout layout_;
    const CosSinRows<T>& rows_;
    const Positions& positions_;
    const PathData& path_;
    const HeadsInMemory& source_;
    std::vector<T> x_;
};

ROPE_DETAIL_END

ROPE_BEGIN
namespace reference {

template <class T>
ROPE_ABI inline void pass(Layout layout, const CosSinRows<T>& rows, PositionsArgument&& positions, const Path& path) {
    detail::ReferencePath<T>(layout, rows, positions, detail::PathAccess::data(path)).run();
}

}  // namespace reference
ROPE_END
