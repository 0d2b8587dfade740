// SPDX-License-Identifier: MIT
// Checks and copies of cos and sin that other programs made.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "../../errors.hpp"
#include "../../types.hpp"
#include "../../wrapped_rows.hpp"
#include "../base/arithmetic.hpp"
#include "../base/bits.hpp"
#include "../base/row_source.hpp"

ROPE_DETAIL_BEGIN

template <class Number>
inline Index row_stride(const CosSinView<Number>& v) noexcept {
    return v.row_stride != 0 ? v.row_stride : v.pairs * v.pair_stride;
}

/// Numbers from the first to the last one that is read of a row, both counted.
template <class Number>
inline Index row_reach(const CosSinView<Number>& v) noexcept {
    return (v.pairs - 1) * v.pair_stride + 1;
}

inline bool share_bytes(const void* a, Index a_bytes, const void* b, Index b_bytes) noexcept {
    // Unsigned: a negative distance is a large one.
    const std::uintptr_t distance = reinterpret_cast<std::uintptr_t>(b) - reinterpret_cast<std::uintptr_t>(a);
    return distance < static_cast<std::uintptr_t>(a_bytes) || 0 - distance < static_cast<std::uintptr_t>(b_bytes);
}

/// Heads with rows of their own, or one for all.
template <class Number>
inline Index heads_of(const CosSinView<Number>& v) noexcept {
    return v.heads > 0 ? v.heads : 1;
}
template <class Number>
inline Index entry_stride(const CosSinView<Number>& v) noexcept {
    const Index of_rows = v.rows * row_stride(v), of_heads = v.heads * v.head_stride;
    return of_rows < of_heads ? of_heads : of_rows;
}
/// f(offset, row, batch entry, head) for each row of each head.
template <class Number, class F>
inline void for_each_row(const CosSinView<Number>& v, const F& f) {
    for (Index b = 0; b < v.batch; ++b)
        for (Index r = 0; r < v.rows; ++r)
            for (Index h = 0; h < heads_of(v); ++h)
                f(b * entry_stride(v) + r * row_stride(v) + h * v.head_stride, r, b, h);
}

/// Numbers from one to its copy in rows of full width; 0 if there are no copies, or they are not to be read. Rows of 2P
/// numbers that begin within one another hold cosines and sines both.
template <class Number>
inline Index copy_distance(const CosSinView<Number>& v) noexcept {
    const Index bytes = 2 * v.pairs * static_cast<Index>(sizeof(Number));
    const Index width = v.heads > 1 && v.head_stride < row_stride(v) ? v.head_stride : row_stride(v);
    if (!v.compares_copies || width != 2 * v.pairs || v.pair_stride > 2 || share_bytes(v.cos, bytes, v.sin, bytes))
        return 0;
    return v.pair_stride == 1 ? v.pairs : 1;
}

/// x as a T: exact, or rounded once where a double becomes a float.
template <class T, class Storage>
inline T converted(const Storage* x) noexcept {
    using Compute = std::conditional_t<std::is_same_v<Storage, double>, double, float>;
    return static_cast<T>(Element<Compute, Storage>::load(x));
}

/// The distance from 1 to the next number above.
template <class Storage>
inline constexpr double kUlpOfOne = std::is_same_v<Storage, double>  ? 0x1p-52
                                    : std::is_same_v<Storage, float> ? 0x1p-23
                                    : std::is_same_v<Storage, half>  ? 0x1p-10
                                                                     : 0x1p-7;

/// Whether two numbers are one that was computed twice, for a pair of this magnitude.
inline bool are_copies(double a, double b, double magnitude, double ulp) noexcept {
    if (!is_finite(a) || !is_finite(b)) return is_finite(a) == is_finite(b);
    return a == b || (is_finite(magnitude) && std::fabs(a - b) <= ulp * magnitude);
}

/// Requires the copies in rows of full width to be copies. For a view that is valid otherwise.
template <class Number>
ROPE_COLD Status check_copies(const CosSinView<Number>& v) noexcept {
    using Storage = typename ElementTraits<Number>::storage;
    if constexpr (!std::is_void_v<Storage>) {
        const Index distance = copy_distance(v), width = 2 * v.pairs;
        if (distance == 0) return Status();
        const std::size_t half_row = static_cast<std::size_t>(v.pairs) * sizeof(Number);
        Status mistake;
        for_each_row(v, [&](Index offset, Index row, Index entry, Index) {
            const Number *const cos = v.cos + offset, *const sin = v.sin + offset;
            if (!mistake.ok() || (distance > 1 && std::memcmp(cos, cos + v.pairs, half_row) == 0 &&
                                  std::memcmp(sin, sin + v.pairs, half_row) == 0))
                return;
            const auto at = [](const Number* x) { return converted<double>(reinterpret_cast<const Storage*>(x)); };
            for (Index i = 0; i < v.pairs; ++i) {
                const Index k = i * v.pair_stride;
                const double magnitude = std::fabs(at(cos + k)) + std::fabs(at(sin + k));
                for (const Number* const x : {cos, sin})
                    if (!are_copies(at(x + k), at(x + k + distance), magnitude, kUlpOfOne<Storage>)) {
                        mistake = invalid(
                            "{} has {} and {} for pair {} of row {} in batch entry {} (numbers {} and {} of {}); both "
                            "features of a pair rotate by one angle, so they must be equal. If rows are {}, set "
                            "pair_stride {}; if these are no copies, compares_copies false.",
                            {x == cos ? "cos" : "sin", at(x + k), at(x + k + distance), i, row, entry, k, k + distance,
                             width, distance > 1 ? "c0 c0 c1 c1 ..." : "c0 c1 ... c0 c1 ...", distance > 1 ? 2 : 1});
                        return;
                    }
            }
        });
        return mistake;
    }
    return Status();
}

/// The checks of copy_cos_sin.
template <class T, class Number>
inline Status check_copy(const CosSinView<Number>& from, const T* to) noexcept {
    if (const Status s = check(from); !s.ok() || from.batch * from.rows == 0) return s;
    const Index count = from.batch * from.rows * heads_of(from);
    const Index bytes = count * 2 * from.pairs * static_cast<Index>(sizeof(T));
    const Index last = (from.batch - 1) * entry_stride(from) + (from.rows - 1) * row_stride(from) +
                       (heads_of(from) - 1) * from.head_stride;
    const Index read = (last + row_reach(from)) * static_cast<Index>(sizeof(Number));
    if (to == nullptr)
        return invalid("to is a null pointer; it must have room for {} {number|numbers}.", {count * 2 * from.pairs});
    const bool shares_cos = share_bytes(from.cos, read, to, bytes);
    if (shares_cos || share_bytes(from.sin, read, to, bytes))
        return invalid("to overlaps the {}; its {} {byte|bytes} must lie apart from what is copied.",
                       {shares_cos ? "cosines" : "sines", bytes});
    return Status();
}

ROPE_DETAIL_END

ROPE_BEGIN

template <class Number>
ROPE_ABI inline Status check(const CosSinView<Number>& v) noexcept {
    using detail::invalid;
    constexpr Index most = detail::kMemoryBytes / 16;  // so that two doubles for each fit
    if (v.pairs < 1 || v.pairs > detail::kMaxHeadDim / 2)
        return invalid("pairs is {}; it must be from 1 to {}.", {v.pairs, detail::kMaxHeadDim / 2});
    if (v.rows < 0) return invalid("rows is {}; it must not be negative.", {v.rows});
    if (v.batch < 1) return invalid("batch is {}; it must be at least 1.", {v.batch});
    if (v.pair_stride < 1 || v.pair_stride > most / v.pairs)
        return invalid("pair_stride is {}; it must be at least 1, and a row must fit into memory.", {v.pair_stride});
    if (v.row_stride != 0 && v.row_stride < detail::row_reach(v))
        return invalid(
            "row_stride is {}; a row of {} {pair|pairs} with pair_stride {} needs at least {}, and 0 stands for pairs "
            "* pair_stride.",
            {v.row_stride, v.pairs, v.pair_stride, detail::row_reach(v)});
    if (v.heads < 0 || v.heads > most)
        return invalid("heads is {}; it must be from 0, where all share rows, to {}.", {v.heads, most});
    if (v.heads > 0 && (v.head_stride < detail::row_reach(v) || v.head_stride > most / v.heads))
        return invalid(
            "head_stride is {}; a row of {} {pair|pairs} with pair_stride {} needs at least {}, and {} {head|heads} "
            "must fit "
            "into memory.",
            {v.head_stride, v.pairs, v.pair_stride, detail::row_reach(v), v.heads});
    if (v.heads > 0 && v.row_stride == 0)
        return invalid("row_stride is 0; where heads have rows of their own it must be given.");
    if (v.rows == 0) return Status();
    const bool fit_rows = v.batch <= most / v.rows && v.batch * v.rows <= most / detail::row_stride(v) &&
                          v.batch * v.rows <= most / detail::heads_of(v) / v.pairs;
    if (!fit_rows || v.batch > most / detail::entry_stride(v))
        return invalid(
            "batch is {}, rows is {} and row_stride is {}; together they must not exceed what memory can hold ({} "
            "numbers).",
            {v.batch, v.rows, detail::row_stride(v), most});
    if (v.cos == nullptr || v.sin == nullptr)
        return invalid("{} is a null pointer; it must point to {} {row|rows}.",
                       {v.cos == nullptr ? "cos" : "sin", v.batch * v.rows});
    return detail::check_copies(v);
}

template <class T, class Number>
ROPE_ABI inline CosSinView<T> copy_cos_sin(const CosSinView<Number>& from, T* to) {
    using Storage = typename ElementTraits<Number>::storage;
    static_assert(std::is_same_v<T, float> || std::is_same_v<T, double>, "Rows are float or double.");
    static_assert(
        !std::is_void_v<Storage>,
        "Numbers must be float, double, rope::half or rope::bfloat16, or a type for which rope::ElementTraits "
        "names one of these.");
    detail::ok_or_raise(detail::check_copy(from, to));
    const Index pairs = from.pairs, heads = detail::heads_of(from);
    const Storage* const cos = reinterpret_cast<const Storage*>(from.cos);
    const Storage* const sin = reinterpret_cast<const Storage*>(from.sin);
    T* out = to;
    detail::for_each_row(from, [&](Index offset, Index, Index, Index) {
        for (Index i = 0; i < pairs; ++i) {
            const Index k = offset + i * from.pair_stride;
            out[i] = detail::converted<T>(cos + k);
            out[pairs + i] = detail::converted<T>(sin + k);
        }
        out += 2 * pairs;
    });
    CosSinView<T> result = {to, out != to ? to + pairs : to, from.rows, pairs, from.batch, heads * 2 * pairs};
    result.heads = from.heads;
    if (from.heads > 0) result.head_stride = 2 * pairs;
    return result;
}

ROPE_END
