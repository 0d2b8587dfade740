// SPDX-License-Identifier: MIT
// What compact tables are compared with: the bounds that their header states, and a plain table of the joined rows.
#pragma once

#include <rope/compact_cos_sin_cache.hpp>
#include <rope/core.hpp>

#include <cmath>
#include <type_traits>
#include <vector>

#include "exact.hpp"

namespace support {

/// The largest error of an entry over m, in units of 2^-23 (float) or 2^-52 (double), as the header states it.
inline double most_error(double m) {
    int exponent = 0;
    return std::frexp(m, &exponent) == 0.5 ? 1.5 : 2.01;
}
template <class T>
inline constexpr double kCompactUnit = std::is_same_v<T, float> ? 0x1p-23 : 0x1p-52;

/// The joined rows as a plain table, in either class of bits.
template <class T>
class Expanded : public rope::CosSinRows<T> {
 public:
    Expanded(const rope::CompactCosSinCache<T>& table, bool has_fma) : rope::CosSinRows<T>(table) {
        const rope::detail::RowSource<T> from = this->source_;
        const Index pairs = this->pairs_;
        for (Index k = 0; k < this->count_; ++k) {
            const Index coarse = k / (Index(1) << from.fine_bits), fine = k % (Index(1) << from.fine_bits);
            const auto entry = [&](bool is_cos, Index i) {
                const T c1 = from.cos[coarse * from.stride + i], s1 = from.sin[coarse * from.stride + i];
                const T c2 = from.fine[fine * from.stride + i], s2 = from.fine[fine * from.stride + pairs + i];
                return is_cos ? product_and_sum(has_fma, c1, c2, -rounded_product(s1, s2))
                              : product_and_sum(has_fma, s1, c2, rounded_product(c1, s2));
            };
            for (Index i = 0; i < pairs; ++i) rows_.push_back(entry(true, i));
            for (Index i = 0; i < pairs; ++i) rows_.push_back(entry(false, i));
        }
        this->source_ = {rows_.data(), rows_.data() + pairs, 2 * pairs, from.first, 0, nullptr, 0};
    }
    const std::vector<T>& rows() const { return rows_; }

 private:
    std::vector<T> rows_;
};

}  // namespace support
