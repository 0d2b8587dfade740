// SPDX-License-Identifier: MIT
// CosSinCache: a table of cos and sin by position.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <limits>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>
#include <variant>

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
/// numbers are exact, so there the size does not matter). ulp is that of max(|entry|, m * 2^-10), and m, for xPos, the
/// magnitude of the pair at the position. Beyond, the error grows with the angle. Compile flags, -ffast-math included,
/// do not change that.
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

    /// The table of a Config, with frequencies(config, seq_len). Throws std::invalid_argument when check(config) is not
    /// ok; when max_positions is below 1 or needs more memory than there is; when a position would lie outside -2^62 ..
    /// 2^62; when a schedule's numbers for seq_len are not meant for sequences as long as the table; and when a
    /// magnitude that grows with the position (xPos) would leave e^-64 .. e^64.
    ROPE_ABI CosSinCache(const Config& config, Index max_positions, Index first_position = 0, Index seq_len = 0) {
        Frequencies f;
        if (!detail::proceed(detail::make_frequencies(config, seq_len, f))) return;
        if (!detail::proceed(check_seq_len(config, max_positions, first_position, seq_len))) return;
        build(f, max_positions, {config.head_dim, config.rotary_offset}, first_position);
        layout_ = config.layout;
        longest_ = longest_sequence(config, seq_len);
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
    /// correctly rounded, where theirs may differ by an ulp. base, factor and m are rounded to float first. With a
    /// schedule other than the default, the chain begins with its frequency, rounded to float. Throws as above, and
    /// when base, factor or a frequency does not survive that, and for xPos.
    ROPE_ABI static CosSinCache float32_chain(const Config& config, Index max_positions, Index first_position = 0,
                                              Index seq_len = 0) {
        static_assert(std::is_same_v<T, float>, "The float32 chain makes a float table.");
        CosSinCache cache;
        Frequencies f;
        if (!detail::proceed(detail::make_float32_frequencies(config, seq_len, f))) return cache;
        if (!detail::proceed(check_seq_len(config, max_positions, first_position, seq_len))) return cache;
        if (cache.allocate(detail::rotary_dim(config) / 2, max_positions, {config.head_dim, config.rotary_offset},
                           first_position)) {
            cache.attention_factor_ = f.attention_factor;
            cache.layout_ = config.layout;
            cache.is_chain_ = true;
            detail::fill_float32_chain(f, first_position, max_positions, cache.table_.get());
        }
        return cache;
    }

    /// The same table with max_positions rows, or this one if it has as many: the rows that are there are copied, not
    /// computed again, and this table stays what it is. `frequencies` must be those that it was made of. Throws as
    /// above, and std::invalid_argument for a table of the float32 chain and when the first or the last row shows other
    /// frequencies (which a table of position 0 alone cannot).
    ROPE_ABI CosSinCache extended(const Frequencies& frequencies, Index max_positions) const {
        if (max_positions <= max_positions_ || !detail::proceed(check(frequencies))) return *this;
        if (!detail::proceed(check_extension(max_positions))) return *this;
        for (const Index row : {Index(0), max_positions_ - 1}) {
            const CosSinCache same(frequencies, 1, {head_dim_, rotary_offset_}, first_position_ + row);
            const std::size_t row_bytes = static_cast<std::size_t>(2 * pairs_) * sizeof(T);
            if (same.pairs_ == pairs_ &&
                std::memcmp(same.table_.get(), table_.get() + row * 2 * pairs_, row_bytes) == 0)
                continue;
            detail::proceed(detail::invalid("frequencies are not those that this table was made of: row ", row,
                                            " would be another."));
            return *this;
        }
        if (!detail::proceed(check_growth(frequencies, max_positions, first_position_))) return *this;
        CosSinCache longer;
        if (!longer.allocate(pairs_, max_positions, {head_dim_, rotary_offset_}, first_position_)) return *this;
        longer.attention_factor_ = attention_factor_;
        longer.grows_ = grows_;
        longer.layout_ = layout_;
        longer.longest_ = longest_;
        std::memcpy(longer.table_.get(), table_.get(), bytes());
        longer.fill(frequencies, max_positions_);
        return longer;
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
    /// Whether the magnitude also depends on the position (xPos). Such a table has no apply_inverse: the inverse of a
    /// query's rotation is apply_transpose with the table for keys, and the reverse, / m^2.
    ROPE_ABI bool magnitude_grows() const noexcept { return grows_; }
    /// The layout that calls must have, if the Config named one.
    ROPE_ABI std::optional<Layout> layout() const noexcept { return layout_; }
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

    ROPE_ABI static Index longest_sequence(const Config& config, Index seq_len) noexcept {
        return std::visit(detail::LongestSequence{seq_len}, config.schedule);
    }
    ROPE_ABI static Status check_seq_len(const Config& config, Index max_positions, Index first_position,
                                         Index seq_len) noexcept {
        const Index longest = longest_sequence(config, seq_len);
        if (max_positions < 1 || first_position > kLastPosition - max_positions) return Status();  // refused later
        if (first_position + max_positions <= longest) return Status();
        return detail::invalid("seq_len is ", seq_len, "; with this schedule (", schedule_name(config.schedule),
                               ") its frequencies are for sequences of at most ", longest,
                               " tokens, and the table is to hold positions up to ", first_position + max_positions - 1,
                               ": name the longest sequence as seq_len.");
    }
    ROPE_ABI Status check_extension(Index max_positions) const noexcept {
        if (is_chain_)
            return detail::invalid("max_positions is ", max_positions, "; a table of the float32 chain has ",
                                   max_positions_, " for good, because its rows do not follow from frequencies alone.");
        if (longest_ == kNoLongest || max_positions <= longest_ - first_position_) return Status();
        return detail::invalid("max_positions is ", max_positions,
                               "; the frequencies of this table are for sequences "
                               "of at most ",
                               longest_, " tokens: longer ones need a table made for their seq_len.");
    }

    ROPE_ABI void build(const Frequencies& f, Index max_positions, HeadSlice slice, Index first_position) {
        const Index pairs = static_cast<Index>(f.inv_freq.size());
        if (slice.head_dim == 0) slice.head_dim = 2 * pairs;
        if (!detail::proceed(check_growth(f, max_positions, first_position))) return;
        if (!allocate(pairs, max_positions, slice, first_position)) return;
        attention_factor_ = f.attention_factor;
        grows_ = !f.log_growth.empty();
        fill(f, 0);
    }

    /// Rows `begin` and after.
    ROPE_ABI void fill(const Frequencies& f, Index begin) {
        T* const to = table_.get() + begin * 2 * pairs_;
        if (detail::fill_cos_sin_table(f, first_position_ + begin, max_positions_ - begin, to)) return;
        const Status refusal = no_memory(max_positions_, pairs_);
        *this = CosSinCache();
        detail::proceed(refusal);
    }

    /// A magnitude that grows stays a number.
    ROPE_ABI static Status check_growth(const Frequencies& f, Index max_positions, Index first_position) noexcept {
        const double first = static_cast<double>(first_position) - f.centre;
        const double last = first + static_cast<double>(max_positions - 1);
        const double farthest = std::max(std::fabs(first), std::fabs(last));
        for (std::size_t i = 0; i < f.log_growth.size(); ++i)
            if (std::fabs(f.log_growth[i]) * farthest > 64.0)
                return detail::invalid("log_growth[", i, "] is ", f.log_growth[i], "; at ", farthest,
                                       " positions from the centre the magnitude would leave e^-64 .. e^64, so a table "
                                       "must stay nearer to it.");
        return Status();
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

    static constexpr Index kNoLongest = std::numeric_limits<Index>::max();
    static constexpr Index kLastPosition = std::numeric_limits<Index>::max() / 2 + 1;  // 2^62

    std::shared_ptr<T[]> table_;
    Index max_positions_ = 0;
    Index first_position_ = 0;
    Index pairs_ = 0;
    Index head_dim_ = 0;
    Index rotary_offset_ = 0;
    double attention_factor_ = 1.0;
    Index longest_ = kNoLongest;  // sequence that the frequencies are for
    bool grows_ = false;
    bool is_chain_ = false;
    std::optional<Layout> layout_;
};

}  // namespace ROPE_VERSION_NAMESPACE
}  // namespace rope
