// SPDX-License-Identifier: MIT
// CompactCosSinCache: cos and sin at millions of positions from a few thousand rows.
#pragma once

#include <cmath>
#include <cstddef>
#include <memory>
#include <type_traits>
#include <utility>

#include "config.hpp"
#include "cos_sin_cache.hpp"
#include "cos_sin_rows.hpp"
#include "errors.hpp"
#include "frequencies.hpp"
#include "fwd.hpp"
#include "types.hpp"

#include "detail/tables/fill_table.hpp"
#include "detail/tables/table_memory.hpp"

#include "detail/base/hide_macros.hpp"

namespace rope {
inline namespace ROPE_VERSION_NAMESPACE {

/// m*cos and m*sin of every pair at positions first_position .. first_position + max_positions - 1, as CosSinCache, but
/// each row is combined from two when apply fetches it: a coarse one for every 2^n-th position, and one of 2^n fine
/// ones. Their angles add:
///
///     cos = fma(cos1, cos2, -(sin1 * sin2))      sin = fma(sin1, cos2, cos1 * sin2)
///
/// T is float, for data in float, half and bfloat16, or double, for data in double.
///
/// Accuracy. An entry is within 1.5 u m of m*cos or m*sin if m is a power of two, else within 2.01 u m, because floats
/// just above a power of two are the coarsest; u is 2^-23 for float and 2^-52 for double. That holds with fma and
/// without, at every position of magnitude below 2^31, for frequencies of at most one radian per position (base and
/// interpolation factor at least 1; given numbers are exact, so there the size does not matter). An error of E in the
/// entries adds E (|a| + |b|) to the error of the results of apply, and E / m^2 (|a| + |b|) to the error of
/// apply_inverse. The bits of an entry depend on first_position, on n, and on whether the instruction set in use has
/// fma.
///
/// Cost. 2^n is the largest power of two up to the square root of max_positions, and there are at most 2.5 times as
/// many rows as that root: 3.4 MiB for 10^7 positions of 128 features in float, where a CosSinCache takes 4.8 GiB. They
/// are built in a few milliseconds. For each token apply rotates one more row. At most 1024 pairs, and no xPos.
///
/// Immutable once built: any number of threads may read it. Copies share the table and cost a reference count.
template <class T>
class CompactCosSinCache : public CosSinRows<T> {
    static_assert(std::is_same_v<T, float> || std::is_same_v<T, double>,
                  "A table is float (it serves float, half and bfloat16 data) or double.");

 public:
    /// Largest error of an entry over m, for an m that is a power of two, over the positions stated above.
    static constexpr double kMaxError = std::is_same_v<T, float> ? 1.5 * 0x1p-23 : 1.5 * 0x1p-52;

    /// The table of a Config, with frequencies(config, seq_len). Throws std::invalid_argument as CosSinCache does, and
    /// when there are more than 1024 pairs or the magnitude grows with the position (xPos).
    ROPE_ABI CompactCosSinCache(const Config& config, Index max_positions, Index first_position = 0,
                                Index seq_len = 0) {
        Frequencies f;
        if (!detail::ok_or_raise(detail::make_frequencies(config, seq_len, f))) return;
        if (!detail::ok_or_raise(detail::check_last_position(config, max_positions, first_position, seq_len))) return;
        build(f, max_positions, {config.head_dim, config.rotary_offset}, first_position);
        this->layout_ = config.layout;
    }

    /// The table of given frequencies, which are not divided by anything. The slice says where in the head the 2 *
    /// inv_freq.size() rotated features lie; by default they are the head. Throws as above, for check(frequencies).
    ROPE_ABI CompactCosSinCache(const Frequencies& frequencies, Index max_positions, HeadSlice slice = {},
                                Index first_position = 0) {
        if (detail::ok_or_raise(check(frequencies))) build(frequencies, max_positions, slice, first_position);
    }

    // Copying is cheap and there is no moving, so that no cache is ever left empty.
    ROPE_ABI CompactCosSinCache(const CompactCosSinCache&) = default;
    ROPE_ABI CompactCosSinCache& operator=(const CompactCosSinCache&) = default;
    ROPE_ABI ~CompactCosSinCache() = default;

    /// Writes the row of a position: pairs() entries m*cos(position * w_i) and as many m*sin(position * w_i), with the
    /// bits that apply uses where the instruction set has fma. Throws std::out_of_range, and writes nothing, when the
    /// table does not hold the position.
    ROPE_ABI void row(Index position, T* cos, T* sin) const {
        const Index first = first_position(), last = first + max_positions() - 1;
        if (position < first || position > last) {
            detail::ok_or_raise(
                detail::out_of_range("position is {}; this cache holds positions {} to {}.", {position, first, last}));
            return;
        }
        const detail::RowSource<T>& rows = this->source_;
        const Index block = (position - first) >> rows.fine_bits;
        const Index within = (position - first) - (block << rows.fine_bits);
        const T* const cos1 = rows.cos + block * rows.stride;
        const T* const sin1 = rows.sin + block * rows.stride;
        const T* const cos2 = rows.fine + within * rows.stride;
        const T* const sin2 = cos2 + this->pairs_;
        for (Index i = 0; i < this->pairs_; ++i) {
            cos[i] = std::fma(cos1[i], cos2[i], -(sin1[i] * sin2[i]));
            sin[i] = std::fma(sin1[i], cos2[i], cos1[i] * sin2[i]);
        }
    }

    ROPE_ABI Index max_positions() const noexcept { return this->count_; }
    ROPE_ABI Index first_position() const noexcept { return this->source_.first; }
    /// Memory of the table.
    ROPE_ABI std::size_t bytes() const noexcept {
        return static_cast<std::size_t>(rows_) * static_cast<std::size_t>(2 * this->pairs_) * sizeof(T);
    }

 private:
    ROPE_ABI void build(const Frequencies& f, Index max_positions, HeadSlice slice, Index first_position) {
        const Index pairs = static_cast<Index>(f.inv_freq.size());
        if (slice.head_dim == 0) slice.head_dim = 2 * pairs;
        if (!detail::ok_or_raise(check_table(f, max_positions, slice, first_position))) return;
        int bits = 0;
        while (max_positions >> bits >> bits > 3) ++bits;
        const Index fine = Index(1) << bits;
        const Index coarse = ((max_positions - 1) >> bits) + 1;
        if (!detail::ok_or_raise(
                detail::check_table_size("max_positions", max_positions, fine + coarse, 2 * pairs, sizeof(T))))
            return;
        // A position is a multiple of 2^bits and a rest. Coarse rows are for the multiples, and contain m; fine rows
        // are for the rest and for first_position.
        Frequencies of_fine = f, of_coarse = f;
        of_fine.attention_factor = 1.0;
        for (double& w : of_coarse.inv_freq) w = std::ldexp(w, bits);
        for (double& w : of_coarse.inv_freq_low) w = std::ldexp(w, bits);
        std::shared_ptr<T[]> memory = detail::table_memory<T>(fine + coarse, 2 * pairs);
        T* const to = memory.get();
        if (memory == nullptr || !detail::fill_cos_sin_table(of_fine, first_position, fine, to) ||
            !detail::fill_cos_sin_table(of_coarse, 0, coarse, to + fine * 2 * pairs)) {
            detail::ok_or_raise(detail::no_memory(fine + coarse, 2 * pairs, sizeof(T)));
            return;
        }
        table_ = std::move(memory);
        rows_ = fine + coarse;
        const T* const first_coarse = to + fine * 2 * pairs;
        this->source_ = {first_coarse, first_coarse + pairs, 2 * pairs, first_position, 0, to, bits};
        this->count_ = max_positions;
        this->pairs_ = pairs;
        this->head_dim_ = slice.head_dim;
        this->rotary_offset_ = slice.rotary_offset;
        this->attention_factor_ = f.attention_factor;
    }

    ROPE_ABI static Status check_table(const Frequencies& f, Index max_positions, HeadSlice slice,
                                       Index first_position) noexcept {
        const Index pairs = static_cast<Index>(f.inv_freq.size());
        if (const Status s = detail::check_slice(slice.head_dim, 2 * pairs, slice.rotary_offset); !s.ok()) return s;
        if (pairs > detail::kMaxCombinedPairs)
            return detail::invalid("inv_freq has {} entries; a compact table has at most {} pairs.",
                                   {pairs, detail::kMaxCombinedPairs});
        if (!f.log_growth.empty())
            return detail::invalid(
                "log_growth has {} entries; a compact table has no magnitude that grows with the position (xPos), so "
                "it must be empty.",
                {f.log_growth.size()});
        if (const Status s = detail::check_max_positions(max_positions); !s.ok()) return s;
        return detail::check_first_position(max_positions, first_position);
    }

    std::shared_ptr<T[]> table_;  // fine rows, then coarse ones
    Index rows_ = 0;
};

}  // namespace ROPE_VERSION_NAMESPACE
}  // namespace rope

#include "detail/base/restore_macros.hpp"
