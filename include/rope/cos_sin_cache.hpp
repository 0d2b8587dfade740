// SPDX-License-Identifier: MIT
// CosSinCache: a table of cos and sin by position.
#pragma once

#include <cstddef>
#include <limits>
#include <memory>
#include <type_traits>
#include <utility>

#include "config.hpp"
#include "errors.hpp"
#include "frequencies.hpp"
#include "types.hpp"

#include "detail/cos_sin_table.hpp"
#include "detail/table_memory.hpp"

namespace rope {
inline namespace ROPE_VERSION_NAMESPACE {

/// m*cos and m*sin of every pair at positions first_position .. first_position + max_positions - 1.
///
/// T is float, for data in float, half and bfloat16, or double, for data in double.
///
/// Accuracy. Angles belong to the real formula: frequencies carry about 95 bits, phases are 128-bit fixed point. An
/// entry is within 0.501 ulp of m*cos or m*sin in float, at every position below 2^31, and within 0.75 ulp in double
/// below 2^22, for frequencies of at most one radian per position (base and interpolation factor at least 1; given
/// numbers are exact, so there the size does not matter). ulp is that of max(|entry|, m * 2^-10). Beyond, the error
/// grows with the angle. Compile flags, -ffast-math included, do not change that.
///
/// Cost. sizeof(T) * rotary_dim * max_positions bytes; 64 MiB for 131072 positions of 128 features in float. Building
/// takes about two nanoseconds per pair and position.
///
/// Immutable once built: any number of threads may read it. Copies share the table and cost a reference count.
template <class T = float>
class CosSinCache {
    static_assert(std::is_same_v<T, float> || std::is_same_v<T, double>,
                  "A table is float (it serves float, half and bfloat16 data) or double.");

 public:
    /// Largest error of an entry, in ulp of max(|entry|, m * 2^-10), over the positions stated above.
    static constexpr double kMaxUlpError = std::is_same_v<T, float> ? 0.501 : 0.75;

    /// The table of a Config. Throws std::invalid_argument when check(config) is not ok, when max_positions is below
    /// 1 or needs more memory than there is, or when a position would lie outside -2^62 .. 2^62.
    ROPE_ABI CosSinCache(const Config& config, Index max_positions, Index first_position = 0) {
        if (!detail::proceed(check(config))) return;
        const Frequencies f = frequencies(config);
        if (!f.inv_freq.empty()) build(f, max_positions, {config.head_dim, config.rotary_offset}, first_position);
    }

    /// The table of given frequencies, which are not divided by anything. The slice says where in the head the 2 *
    /// inv_freq.size() rotated features lie; by default they are the head. Throws as above, for check(frequencies).
    ROPE_ABI CosSinCache(const Frequencies& frequencies, Index max_positions, HeadSlice slice = {},
                         Index first_position = 0) {
        if (detail::proceed(check(frequencies))) build(frequencies, max_positions, slice, first_position);
    }

    /// The table that eager float32 frameworks compute, for comparing with their models: 2i/d, its power of base, the
    /// reciprocal, / factor, float(position) * frequency, cos and sin, * m, each rounded to float. At positions up to
    /// 10^6 it is wrong by as much as 7.3e-2 (bases 10^4, 5 * 10^5 and 10^6, head_dim 64 and 128); each step here is
    /// correctly rounded, where theirs may differ by an ulp. base, factor and m are rounded to float first. Throws as
    /// above, and when base, factor or a frequency does not survive that.
    ROPE_ABI static CosSinCache float32_chain(const Config& config, Index max_positions, Index first_position = 0) {
        static_assert(std::is_same_v<T, float>, "The float32 chain makes a float table.");
        CosSinCache cache;
        if (!detail::proceed(detail::check_float32_chain(config))) return cache;
        if (cache.allocate(detail::rotary_dim(config) / 2, max_positions, {config.head_dim, config.rotary_offset},
                           first_position)) {
            cache.attention_factor_ = static_cast<double>(static_cast<float>(config.attention_factor));
            detail::fill_float32_chain(config, first_position, max_positions, cache.table_.get());
        }
        return cache;
    }

    // Copying is cheap and there is no moving, so that no cache is ever left empty.
    ROPE_ABI CosSinCache(const CosSinCache&) = default;
    ROPE_ABI CosSinCache& operator=(const CosSinCache&) = default;

    /// Row of a position: pairs() entries m*cos(position * w_i), or m*sin(position * w_i), 64-byte aligned when
    /// pairs() is a multiple of 16. Valid as long as a copy of the cache lives. Throws std::out_of_range when the
    /// table does not hold the position.
    ROPE_ABI const T* cos_row(Index position) const { return row(position); }
    ROPE_ABI const T* sin_row(Index position) const {
        const T* cos = row(position);
        return cos != nullptr ? cos + pairs_ : nullptr;
    }

    /// The whole table: max_positions() rows of pairs() cosines and pairs() sines, that of first_position() first.
    ROPE_ABI const T* data() const noexcept { return table_.get(); }

    ROPE_ABI Index max_positions() const noexcept { return max_positions_; }
    ROPE_ABI Index first_position() const noexcept { return first_position_; }
    ROPE_ABI Index pairs() const noexcept { return pairs_; }
    ROPE_ABI Index head_dim() const noexcept { return head_dim_; }
    ROPE_ABI Index rotary_dim() const noexcept { return 2 * pairs_; }
    ROPE_ABI Index rotary_offset() const noexcept { return rotary_offset_; }
    /// The magnitude m that the entries contain.
    ROPE_ABI double attention_factor() const noexcept { return attention_factor_; }
    /// Memory of the table.
    ROPE_ABI std::size_t bytes() const noexcept {
        return static_cast<std::size_t>(max_positions_) * static_cast<std::size_t>(2 * pairs_) * sizeof(T);
    }

 private:
    ROPE_ABI CosSinCache() = default;

    ROPE_ABI const T* row(Index position) const {
        if (position < first_position_ || position > first_position_ + max_positions_ - 1) {
            detail::proceed(detail::out_of_range("position is ", position, "; this cache holds positions ",
                                                 first_position_, " to ", first_position_ + max_positions_ - 1, "."));
            return nullptr;
        }
        return table_.get() + (position - first_position_) * 2 * pairs_;
    }

    ROPE_ABI void build(const Frequencies& f, Index max_positions, HeadSlice slice, Index first_position) {
        const Index pairs = static_cast<Index>(f.inv_freq.size());
        if (slice.head_dim == 0) slice.head_dim = 2 * pairs;
        if (!allocate(pairs, max_positions, slice, first_position)) return;
        attention_factor_ = f.attention_factor;
        if (!detail::fill_cos_sin_table(f, first_position, max_positions, table_.get())) {
            *this = CosSinCache();
            detail::proceed(no_memory(max_positions, pairs));
        }
    }

    ROPE_ABI static Status no_memory(Index max_positions, Index pairs) noexcept {
        return detail::invalid("max_positions is ", max_positions, "; a table of ", max_positions, " positions times ",
                               2 * pairs, " entries of ", sizeof(T),
                               " bytes must fit into the memory that can be had here.");
    }

    /// Checks and sets the shape and gets the memory; false when refused and the handler returned.
    ROPE_ABI bool allocate(Index pairs, Index max_positions, HeadSlice slice, Index first_position) {
        if (!detail::proceed(detail::check_slice(slice.head_dim, 2 * pairs, slice.rotary_offset))) return false;
        if (max_positions < 1)
            return detail::proceed(detail::invalid("max_positions is ", max_positions, "; it must be at least 1."));
        std::shared_ptr<T[]> memory = detail::table_memory<T>(max_positions, 2 * pairs);
        if (memory == nullptr) return detail::proceed(no_memory(max_positions, pairs));
        if (first_position < -kLastPosition || first_position > kLastPosition - max_positions)
            return detail::proceed(detail::invalid("first_position is ", first_position, "; the ", max_positions,
                                                   " positions from there must lie between -2^62 and 2^62."));
        table_ = std::move(memory);
        max_positions_ = max_positions;
        first_position_ = first_position;
        pairs_ = pairs;
        head_dim_ = slice.head_dim;
        rotary_offset_ = slice.rotary_offset;
        return true;
    }

    static constexpr Index kLastPosition = std::numeric_limits<Index>::max() / 2 + 1;  // 2^62

    std::shared_ptr<T[]> table_;
    Index max_positions_ = 0;
    Index first_position_ = 0;
    Index pairs_ = 0;
    Index head_dim_ = 0;
    Index rotary_offset_ = 0;
    double attention_factor_ = 1.0;
};

}  // namespace ROPE_VERSION_NAMESPACE
}  // namespace rope
