// SPDX-License-Identifier: MIT
// What a call must give, from the definition, in long double, one element at a time.
#pragma once

#include <rope/core.hpp>
#include <rope/reference.hpp>

#include <rope/detail/kernels/interface.hpp>
#include <rope/detail/simd/isa_choice.hpp>

#include <cmath>
#include <type_traits>

#include "../data.hpp"

namespace support {

enum class Operation { apply, inverse, transpose };

/// The dense matrix's two entries for one feature: its own and that of its partner.
struct Expected {
    double value;  // the exact result, rounded to double
    double bound;  // what the library promises for the error of its own result
};

template <class T>
struct Precision;
template <>
struct Precision<float> {
    static constexpr double store = 0, store_min = 0;
};
template <>
struct Precision<double> {
    static constexpr double store = 0, store_min = 0;
};
template <>
struct Precision<rope::half> {
    static constexpr double store = 0x1p-11, store_min = 0x1p-25;
};
template <>
struct Precision<rope::bfloat16> {
    static constexpr double store = 0x1p-8, store_min = 0x1p-134;
};

/// Feature j of a head that reads x(0), x(1), ..., turned at `position` and stored as Out.
template <class Out, class Head>
Expected expected(const Head& x, Index j, rope::Layout layout, const rope::Frequencies& f, rope::HeadSlice slice,
                  Index position, Operation operation = Operation::apply) {
    using Storage = typename rope::ElementTraits<Out>::storage;
    const Index pairs = static_cast<Index>(f.inv_freq.size());
    const Index at = j - slice.rotary_offset;
    if (at < 0 || at >= 2 * pairs) {
        const double through = x(j);
        return {through, Precision<Storage>::store * std::fabs(through) + Precision<Storage>::store_min};
    }
    const bool interleaved = layout == rope::Layout::interleaved;
    const Index pair = interleaved ? at / 2 : at % pairs;
    const bool second = interleaved ? at % 2 == 1 : at >= pairs;
    const rope::reference::PairIndex index = rope::reference::pair_index(layout, pair, pairs);
    const long double own = static_cast<long double>(x(slice.rotary_offset + (second ? index.b : index.a)));
    const long double other = static_cast<long double>(x(slice.rotary_offset + (second ? index.a : index.b)));

    const bool forward = operation == Operation::apply;
    const long double m = static_cast<long double>(f.attention_factor);
    const long double scale = operation == Operation::inverse ? 1.0L / m : m;
    const rope::reference::CosSin t = rope::reference::cos_sin(f, pair, position);
    const long double c = scale / m * t.cos;
    const long double s = scale / m * t.sin * ((second == forward) ? 1.0L : -1.0L);
    const long double result = own * c + other * s;

    const bool is_double = std::is_same_v<Storage, double>;
    const double u = is_double ? 0x1p-53 : 0x1p-24;
    const double least = rope::detail::kSmallEntry * static_cast<double>(scale);
    const double own_term = std::fabs(static_cast<double>(own)) * std::fmax(std::fabs(static_cast<double>(c)), least);
    const double other_term =
        std::fabs(static_cast<double>(other)) * std::fmax(std::fabs(static_cast<double>(s)), least);
    // The inverse's division by m^2, and the double table's 0.75 ulp instead of 0.501.
    const double more =
        (operation == Operation::inverse && f.attention_factor != 1.0 ? 2.0 : 0.0) + (is_double ? 0.5 : 0.0);
    const double magnitude = std::fabs(static_cast<double>(result));
    const double computed = (rope::detail::own_term(rope::detail::active_isa_has_fma()) + more) * u * own_term +
                            (rope::detail::kOtherTerm + more) * u * other_term + u * magnitude +
                            (is_double ? 0x1p-1074 : 0x1p-149);
    const double stored = Precision<Storage>::store * (magnitude + computed) + Precision<Storage>::store_min;
    // `value` and the oracle are themselves rounded, to 2^-53 and 2^-57.
    return {static_cast<double>(result), (computed + stored) * (1.0 + 0x1p-20) + 0x1p-53 * magnitude};
}

/// The largest error over a view, as a multiple of its bound: at most 1 when the library keeps its word.
/// `before` reads element (b, s, h, j) of the input.
template <class T, class Before>
double worst_over_bound(const rope::TensorView<T>& after, const Before& before, rope::Layout layout,
                        const rope::Frequencies& f, rope::HeadSlice slice, const rope::Positions& positions,
                        Operation operation = Operation::apply) {
    double worst = 0.0;
    for (Index b = 0; b < after.batch; ++b)
        for (Index s = 0; s < after.seq; ++s)
            for (Index h = 0; h < after.heads; ++h) {
                const auto head = [&](Index j) { return before(b, s, h, j); };
                for (Index j = 0; j < after.head_dim; ++j) {
                    const Expected e = expected<std::remove_const_t<T>>(head, j, layout, f, slice,
                                                                        positions.at(b, s, after.seq), operation);
                    const double error = std::fabs(to_double(after(b, s, h, j)) - e.value);
                    // A NaN must not pass for an error of zero.
                    const double ratio = rope::detail::is_finite(error) ? error / (e.bound + 0x1p-1074) : 1e300;
                    worst = ratio > worst ? ratio : worst;
                }
            }
    return worst;
}

}  // namespace support
