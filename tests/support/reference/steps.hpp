// SPDX-License-Identifier: MIT
// Every step of a path as plain loops, by the formulas of <rope/heads.hpp>: an overload of `define` for each stage. A stage
// without one does not compile.
#pragma once

#include <rope/heads.hpp>
#include <rope/isa.hpp>

#include <rope/detail/paths/stages.hpp>

#include <cmath>
#include <cstring>
#include <type_traits>
#include <vector>

#include "../rounded.hpp"

namespace support {

using rope::Index;
using rope::detail::ElementType;
using rope::detail::HeadsInMemory;
using rope::detail::PathStep;

// ---- Memory ----

inline Index bytes_of(ElementType type) {
    return type == ElementType::f64                                ? 8
           : type == ElementType::f32                              ? 4
           : type == ElementType::f16 || type == ElementType::bf16 ? 2
                                                                   : 1;
}
/// The address of one number of [batch, seq, heads, head_dim], or of [pages, page_size, heads, head_dim].
inline void* address(const rope::detail::AnyView& m, Index b, Index s, Index h, Index i) {
    const Index offset = b * m.strides[0] + s * m.strides[1] + h * m.strides[2] + i * m.strides[3];
    return static_cast<char*>(m.data) + offset * bytes_of(m.type);
}
template <class T>
T load(const void* p, ElementType type) {
    std::uint16_t bits;
    std::memcpy(&bits, p, 2);
    T x;
    if (type == ElementType::f16) return static_cast<T>(number_of(kHalf, bits, 16));
    if (type == ElementType::bf16) return static_cast<T>(number_of(kBfloat16, bits, 16));
    std::memcpy(&x, p, sizeof(T));
    return x;
}
/// The nearest number of the type.
template <class T>
T rounded_to(ElementType type, T x) {
    if (type == ElementType::f16) return static_cast<T>(nearest_in(kHalf, static_cast<double>(x)));
    if (type == ElementType::bf16) return static_cast<T>(nearest_in(kBfloat16, static_cast<double>(x)));
    return x;
}
template <class T>
void store(void* p, ElementType type, T x) {
    if (type == ElementType::f16 || type == ElementType::bf16) {
        const double nearest = static_cast<double>(rounded_to(type, x));
        const auto bits =
            static_cast<std::uint16_t>(bits_in(type == ElementType::f16 ? kHalf : kBfloat16, nearest, 16));
        std::memcpy(p, &bits, 2);
    } else {
        std::memcpy(p, &x, sizeof(T));
    }
}

/// The numbers of a path between two steps, [batch, seq, heads, head_dim].
template <class T>
struct Numbers {
    const Index* extents;
    ElementType type;  // of the source
    std::vector<T> x;

    std::size_t index(Index b, Index s, Index h, Index i) const {
        return static_cast<std::size_t>(((b * extents[1] + s) * extents[2] + h) * extents[3] + i);
    }
    T& at(Index b, Index s, Index h, Index i) { return x[index(b, s, h, i)]; }
    const T& at(Index b, Index s, Index h, Index i) const { return x[index(b, s, h, i)]; }
    T rounded(T value) const { return rounded_to(type, value); }

    /// f(b, s, h)
    template <class F>
    void for_each_head(const F& f) const {
        for (Index b = 0; b < extents[0]; ++b)
            for (Index s = 0; s < extents[1]; ++s)
                for (Index h = 0; h < extents[2]; ++h) f(b, s, h);
    }
    /// f(b, s, h, i)
    template <class F>
    void for_each(const F& f) const {
        for_each_head([&](Index b, Index s, Index h) {
            for (Index i = 0; i < extents[3]; ++i) f(b, s, h, i);
        });
    }
};

/// Number i of a step for a head.
template <class T>
T number_of_step(const rope::detail::Numbers& n, Index b, Index s, Index h, Index i) {
    return load<T>(address(n, b, s, h, i), n.type);
}

// ---- Steps ----

template <class T>
void define(rope::detail::AddStage, Numbers<T>& all, const PathStep& step) {
    all.for_each([&](Index b, Index s, Index h, Index i) {
        T& x = all.at(b, s, h, i);
        x = rounded_sum(x, number_of_step<T>(step.numbers, b, s, h, i));
    });
}

template <class T>
void define(rope::detail::ClampStage, Numbers<T>& all, const PathStep& step) {
    const T limit = static_cast<T>(step.number);
    for (T& x : all.x)
        if (std::fabs(x) > limit) x = std::copysign(limit, x);
}

template <class T>
void define(rope::detail::MultiplyStage, Numbers<T>& all, const PathStep& step) {
    all.for_each([&](Index b, Index s, Index h, Index i) {
        T& x = all.at(b, s, h, i);
        x = rounded_product(x, step.numbers.data != nullptr ? number_of_step<T>(step.numbers, b, s, h, i)
                                                            : static_cast<T>(step.number));
    });
}

template <class T>
void define(rope::detail::RoundStage, Numbers<T>& all, const PathStep&) {
    for (T& x : all.x) x = all.rounded(x);
}

template <class T>
void define(rope::detail::HadamardStage, Numbers<T>& all, const PathStep& step) {
    const Index block = step.number == 0.0 ? all.extents[3] : static_cast<Index>(step.number);
    const T factor = static_cast<T>(rounded_quotient(1.0, std::sqrt(static_cast<double>(block))));
    for (Index distance = 1; distance < block; distance *= 2)
        all.for_each([&](Index b, Index s, Index h, Index i) {
            if (i / distance % 2 != 0) return;
            T &first = all.at(b, s, h, i), &second = all.at(b, s, h, i + distance);
            const T sum = rounded_sum(first, second), difference = rounded_sum(first, -second);
            first = sum;
            second = difference;
        });
    for (T& x : all.x) x = rounded_product(x, factor);
}

/// The sum of f(0) .. f(count - 1) as norms have it: 16 partial sums, of every 16th number, which are added by halves.
template <class F>
double sum_of_norm(Index count, const F& f) {
    double partial[16] = {};
    for (Index i = 0; i < count; ++i) partial[i % 16] = rounded_sum(partial[i % 16], f(i));
    for (int most = 8; most > 0; most /= 2)
        for (int k = 0; k < most; ++k) partial[k] = rounded_sum(partial[k], partial[k + most]);
    return partial[0];
}

template <class T>
void define(rope::detail::NormStage, Numbers<T>& all, const PathStep& step) {
    const auto norm = rope::detail::options_of<rope::detail::NormStep>(step);
    const Index n = all.extents[3], together = norm.over == rope::NormSpan::token ? all.extents[2] : 1;
    const double count = static_cast<double>(together * n);
    const bool has_mean = norm.kind == rope::NormKind::layer_norm, has_weight = step.numbers.data != nullptr;
    const bool rounds_normalised =
        norm.rounding == rope::NormRounding::normalised || (norm.rounding == rope::NormRounding::root && !has_weight);
    all.for_each_head([&](Index b, Index s, Index first) {
        if (first % together != 0) return;
        const auto sum_of_heads = [&](const auto& f) {
            double sum = 0.0;
            for (Index h = first; h < first + together; ++h)
                sum = rounded_sum(sum,
                                  sum_of_norm(n, [&](Index i) { return f(static_cast<double>(all.at(b, s, h, i))); }));
            return sum;
        };
        const double mean = has_mean ? rounded_quotient(sum_of_heads([](double x) { return x; }), count) : 0.0;
        const double squares = sum_of_heads([&](double x) {
            const double d = rounded_sum(x, -mean);
            return rounded_product(d, d);
        });
        const double of_norm = norm.kind == rope::NormKind::l2 ? squares : rounded_quotient(squares, count);
        T root = static_cast<T>(rounded_quotient(1.0, rounded(std::sqrt(rounded_sum(of_norm, step.number)))));
        if (norm.rounding == rope::NormRounding::root) root = all.rounded(root);
        const T high = static_cast<T>(mean), low = static_cast<T>(rounded_sum(mean, -static_cast<double>(high)));
        for (Index h = first; h < first + together; ++h)
            for (Index i = 0; i < n; ++i) {
                T& x = all.at(b, s, h, i);
                if (has_mean) x = rounded_sum(rounded_sum(x, -high), -low);
                x = rounded_product(x, root);
                if (rounds_normalised) x = all.rounded(x);
                if (has_weight) {
                    const T w = number_of_step<T>(step.numbers, b, s, h, i);
                    x = rounded_product(x, norm.adds_one ? rounded_sum(w, T(1)) : w);
                    if (norm.rounding == rope::NormRounding::normalised) x = all.rounded(x);
                }
                if (step.bias.data != nullptr) x = rounded_sum(x, number_of_step<T>(step.bias, b, s, h, i));
            }
    });
}

/// The rows of a call: of each token the cosines, then the sines.
template <class T>
struct Rotation {
    rope::Layout layout;
    Index pairs, offset;
    double magnitude;
    std::vector<T> rows;

    /// The features of a pair.
    Index first(rope::Layout of, Index pair) const {
        return offset + (of == rope::Layout::interleaved ? 2 * pair : pair);
    }
    Index second(rope::Layout of, Index pair) const {
        return offset + (of == rope::Layout::interleaved ? 2 * pair + 1 : pair + pairs);
    }
};

template <class T>
void define(rope::detail::RotateStage, Numbers<T>& all, const PathStep& step, const Rotation<T>& r) {
    const auto rotation = rope::detail::options_of<rope::detail::RotateStep>(step);
    const bool has_fma = rope::detail::active_isa_has_fma();
    const bool rounds_rows = rotation.rounding != rope::RotateRounding::none;
    const bool rounds_all = rotation.rounding == rope::RotateRounding::all;
    const rope::Layout to = rotation.has_other_layout ? rotation.other_layout : r.layout;
    const T scale =
        rotation.is_back ? static_cast<T>(rounded_quotient(1.0, rounded_product(r.magnitude, r.magnitude))) : T(1);
    all.for_each_head([&](Index b, Index s, Index h) {
        const std::vector<T> old(&all.at(b, s, h, 0), &all.at(b, s, h, 0) + all.extents[3]);
        const T* const row = r.rows.data() + (b * all.extents[1] + s) * 2 * r.pairs;
        for (Index pair = 0; pair < r.pairs; ++pair) {
            const T entry = rounded_product(row[pair], scale);
            const T other = rounded_product(row[pair + r.pairs], rotation.is_back ? -scale : scale);
            const T cos = rounds_rows ? all.rounded(entry) : entry, sin = rounds_rows ? all.rounded(other) : other;
            const T a = old[static_cast<std::size_t>(r.first(r.layout, pair))];
            const T c = old[static_cast<std::size_t>(r.second(r.layout, pair))];
            const auto combined = [&](T x, T y, T sine) {  // x * cos + y * sine
                if (!rounds_all) return product_and_sum(has_fma, x, cos, rounded_product(y, sine));
                return all.rounded(
                    rounded_sum(all.rounded(rounded_product(x, cos)), all.rounded(rounded_product(y, sine))));
            };
            all.at(b, s, h, r.first(to, pair)) = combined(a, c, -sin);
            all.at(b, s, h, r.second(to, pair)) = combined(c, a, sin);
        }
    });
}

}  // namespace support
