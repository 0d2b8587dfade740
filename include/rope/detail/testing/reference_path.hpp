// SPDX-License-Identifier: MIT
// A path as plain loops, one operation after the other over the whole tensor: what pass computes, bit for bit.
#pragma once

#include <cmath>
#include <cstring>
#include <vector>

#include "../../apply.hpp"
#include "../../errors.hpp"
#include "../../heads.hpp"
#include "../../positions.hpp"
#include "../../reference_path.hpp"
#include "../../types.hpp"
#include "../paths/destinations.hpp"
#include "../paths/steps.hpp"

#include "../base/hide_macros.hpp"

ROPE_DETAIL_BEGIN

/// x, which no compiler fuses with what follows.
template <class T>
inline T stored(T x) noexcept {
    volatile T result = x;
    return result;
}

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
    ReferencePath(Layout layout, const CosSinRows<T>& rows, const Positions& positions, const Path& path)
        : layout_(layout), rows_(rows), positions_(positions), path_(path), source_(PathAccess::source(path)) {
        x_.resize(static_cast<std::size_t>(extent(0) * extent(1) * extent(2) * extent(3)));
        for_each([&](Index b, Index s, Index h, Index i) {
            x(b, s, h, i) =
                load_element<T>(source_.at(source_.offset_of(b, s, h) + i * source_.strides[3]), source_.type);
        });
    }

    void run() {
        for (int i = 0; i < PathAccess::count(path_); ++i) run_step(PathAccess::steps(path_)[i]);
        write();
    }

 private:
    Index extent(int axis) const noexcept { return source_.extents[axis]; }
    T& x(Index b, Index s, Index h, Index i) noexcept {
        return x_[static_cast<std::size_t>(((b * extent(1) + s) * extent(2) + h) * extent(3) + i)];
    }
    template <class F>
    void for_each(const F& f) {
        for (Index b = 0; b < extent(0); ++b)
            for (Index s = 0; s < extent(1); ++s)
                for (Index h = 0; h < extent(2); ++h)
                    for (Index i = 0; i < extent(3); ++i) f(b, s, h, i);
    }
    T number(const Numbers& n, Index b, Index s, Index h, Index i) const noexcept {
        const Index at = b * n.strides[0] + s * n.strides[1] + h * n.strides[2] + i * n.strides[3];
        return load_element<T>(static_cast<const char*>(n.data) + at * size_of(n.type), n.type);
    }
    T rounded(T value) const noexcept { return rounded_to(source_.type, value); }

    void run_step(const PathStep& step) {
        const T constant = static_cast<T>(step.number);
        if (step.kind == StepKind::norm) return norm(step);
        if (step.kind == StepKind::rotate) return rotate(step);
        if (step.kind == StepKind::hadamard)
            return hadamard(step.number == 0.0 ? extent(3) : static_cast<Index>(step.number));
        for_each([&](Index b, Index s, Index h, Index i) {
            T& value = x(b, s, h, i);
            const T other = step.numbers.data != nullptr ? number(step.numbers, b, s, h, i) : constant;
            if (step.kind == StepKind::add) value = stored(value + other);
            if (step.kind == StepKind::multiply) value = stored(value * other);
            if (step.kind == StepKind::clamp)
                value = value > constant ? constant : value < -constant ? -constant : value;
            if (step.kind == StepKind::round) value = rounded(value);
        });
    }

    /// In double: the sums of every kSums-th number, and of these the sum by halves.
    template <class F>
    double sum_of_head(const F& f) const {
        double lanes[kSums] = {};
        for (Index i = 0; i < extent(3); ++i) lanes[i % kSums] = stored(lanes[i % kSums] + f(i));
        for (Index half_of = kSums / 2; half_of > 0; half_of /= 2)
            for (Index k = 0; k < half_of; ++k) lanes[k] = stored(lanes[k] + lanes[k + half_of]);
        return lanes[0];
    }
    void norm(const PathStep& step) {
        const bool over_token = step.over == NormSpan::token;
        const Index normed = over_token ? extent(2) : 1;
        for (Index b = 0; b < extent(0); ++b)
            for (Index s = 0; s < extent(1); ++s)
                for (Index h = 0; h < extent(2); h += normed) norm_together(step, b, s, h, h + normed);
    }
    void norm_together(const PathStep& step, Index b, Index s, Index begin, Index end) {
        const double count = static_cast<double>((end - begin) * extent(3));
        double shift = 0.0, squares = 0.0;
        if (step.norm == NormKind::layer_norm) {
            for (Index h = begin; h < end; ++h)
                shift = stored(shift + sum_of_head([&](Index i) { return static_cast<double>(x(b, s, h, i)); }));
            shift = static_cast<double>(static_cast<T>(shift / count));
        }
        for (Index h = begin; h < end; ++h)
            squares = stored(squares + sum_of_head([&](Index i) {
                                 const double value = stored(static_cast<double>(x(b, s, h, i)) - shift);
                                 return stored(value * value);
                             }));
        const double mean = step.norm == NormKind::l2 ? squares : stored(squares / count);
        T r = static_cast<T>(stored(1.0 / stored(std::sqrt(stored(mean + step.number)))));
        if (step.norm_rounding == NormRounding::root) r = rounded(r);
        for (Index h = begin; h < end; ++h)
            for (Index i = 0; i < extent(3); ++i) {
                T value = x(b, s, h, i);
                if (step.norm == NormKind::layer_norm) value = stored(value - static_cast<T>(shift));
                value = stored(value * r);
                const bool rounds = step.norm_rounding != NormRounding::none;
                const bool has_weight = step.numbers.data != nullptr;
                if (rounds && (step.norm_rounding == NormRounding::normalised || !has_weight)) value = rounded(value);
                if (has_weight) {
                    const T w = number(step.numbers, b, s, h, i);
                    value = stored(value * (step.adds_one ? stored(w + T(1)) : w));
                    if (step.norm_rounding == NormRounding::normalised) value = rounded(value);
                }
                if (step.bias.data != nullptr) value = stored(value + number(step.bias, b, s, h, i));
                x(b, s, h, i) = value;
            }
    }

    void rotate_all(bool is_back, std::vector<T>& heads, Index count) {
        const TensorView<T> v = view(heads.data(), extent(0), extent(1), count, extent(3));
        if (is_back)
            apply_inverse(layout_, v, rows_, positions_);
        else
            apply(layout_, v, rows_, positions_);
    }
    Index feature(Layout layout, Index pair, bool second) const noexcept {
        const Index pairs = rows_.pairs(), offset = rows_.rotary_offset();
        return offset + (layout == Layout::interleaved ? 2 * pair + (second ? 1 : 0) : pair + (second ? pairs : 0));
    }
    void rotate(const PathStep& step) {
        if (step.rotate_rounding == RotateRounding::none) {
            rotate_all(step.is_back, x_, extent(2));
        } else {  // cos and sin of a token are what becomes of the pairs (1, 0)
            std::vector<T> rows(static_cast<std::size_t>(extent(0) * extent(1) * extent(3)));
            for (std::size_t i = 0; i < rows.size(); ++i)
                for (Index pair = 0; pair < rows_.pairs(); ++pair)
                    if (static_cast<Index>(i) % extent(3) == feature(layout_, pair, false)) rows[i] = T(1);
            rotate_all(step.is_back, rows, 1);
            rotate_rounded(rows, step.rotate_rounding == RotateRounding::all);
        }
        if (!step.has_other_layout) return;
        const std::vector<T> before = x_;
        const auto source_of = [&](Index i) {  // the feature that goes to feature i
            for (Index pair = 0; pair < rows_.pairs(); ++pair)
                for (const bool second : {false, true})
                    if (feature(step.other_layout, pair, second) == i) return feature(layout_, pair, second);
            return i;
        };
        for_each([&](Index b, Index s, Index h, Index i) {
            x(b, s, h, i) = before[static_cast<std::size_t>(&x(b, s, h, source_of(i)) - x_.data())];
        });
    }
    void rotate_rounded(const std::vector<T>& rows, bool rounds_all) {
        const auto round = [&](T value) { return rounds_all ? rounded(value) : value; };
        for (Index b = 0; b < extent(0); ++b)
            for (Index s = 0; s < extent(1); ++s)
                for (Index h = 0; h < extent(2); ++h)
                    for (Index pair = 0; pair < rows_.pairs(); ++pair) {
                        const Index at_a = feature(layout_, pair, false), at_b = feature(layout_, pair, true);
                        const T* const row = rows.data() + (b * extent(1) + s) * extent(3);
                        const T c = rounded(row[at_a]), sn = rounded(row[at_b]);
                        T& first = x(b, s, h, at_a);
                        T& second = x(b, s, h, at_b);
                        const T p = first, q = second;
                        if (rounds_all) {
                            first = round(stored(round(stored(p * c)) - round(stored(q * sn))));
                            second = round(stored(round(stored(q * c)) + round(stored(p * sn))));
                        } else {
                            first = multiply_add(p, c, -stored(q * sn));
                            second = multiply_add(q, c, stored(p * sn));
                        }
                    }
    }
    /// As the instruction set in use has it.
    static T multiply_add(T a, T b, T c) noexcept {
        return active_isa_has_fma() ? std::fma(a, b, c) : stored(stored(a * b) + c);
    }

    void hadamard(Index block) {
        const T factor = static_cast<T>(1.0 / std::sqrt(static_cast<double>(block)));
        for (Index distance = 1; distance < block; distance *= 2)
            for_each([&](Index b, Index s, Index h, Index i) {
                if (i / distance % 2 != 0) return;
                T& first = x(b, s, h, i);
                T& second = x(b, s, h, i + distance);
                const T sum = stored(first + second), difference = stored(first - second);
                first = sum;
                second = difference;
            });
        for (T& value : x_) value = stored(value * factor);
    }

    void write() {
        const Destination& d = PathAccess::destination(path_);
        const HeadsInMemory& codes = PathAccess::codes(d);
        const HeadsInMemory& out = codes.type == kNoElements ? source_ : codes;
        for (Index b = 0; b < extent(0); ++b)
            for (Index s = 0; s < extent(1); ++s)
                for (Index h = 0; h < extent(2) && !is_skipped(out, b, s, extent(1)); ++h) {
                    if (PathAccess::format(d) == CacheFormat::elements) {
                        const Index at = offset_in(out, b, s, extent(1), h);
                        for (Index i = 0; i < extent(3); ++i)
                            store_element(out.at(at + i * out.strides[3]), out.type, x(b, s, h, i));
                    } else if constexpr (std::is_same_v<T, float>) {
                        if (extent(3) > 0)
                            portable::kWriteFormat[static_cast<int>(PathAccess::format(d))](
                                &x(b, s, h, 0), extent(3), format_row(d, b, s, extent(1), h));
                    }
                }
    }

    Layout layout_;
    const CosSinRows<T>& rows_;
    const Positions& positions_;
    const Path& path_;
    const HeadsInMemory& source_;
    std::vector<T> x_;
};

ROPE_DETAIL_END

namespace rope {
inline namespace ROPE_VERSION_NAMESPACE {
namespace reference {

template <class T>
ROPE_ABI inline void pass(Layout layout, const CosSinRows<T>& rows, PositionsArgument&& positions, const Path& path) {
    detail::ReferencePath<T>(layout, rows, positions, path).run();
}

}  // namespace reference
}  // namespace ROPE_VERSION_NAMESPACE
}  // namespace rope

#include "../base/restore_macros.hpp"
