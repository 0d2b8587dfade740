// SPDX-License-Identifier: MIT
// CosSinCache: a table of cos and sin by position.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <limits>
#include <memory>
#include <new>
#include <optional>
#include <type_traits>
#include <utility>

#include "config.hpp"
#include "cos_sin_rows.hpp"
#include "errors.hpp"
#include "frequencies.hpp"
#include "fwd.hpp"
#include "types.hpp"

#include "detail/base/containers.hpp"
#include "detail/tables/fill_table.hpp"
#include "detail/tables/table_memory.hpp"

#include "detail/base/hide_macros.hpp"

namespace rope {
inline namespace ROPE_VERSION_NAMESPACE {

namespace detail {

/// Tables hold positions from -2^62 to 2^62.
inline constexpr Index kLastPosition = std::numeric_limits<Index>::max() / 2 + 1;

ROPE_ABI inline Status check_max_positions(Index max_positions) noexcept {
    if (max_positions >= 1) return Status();
    return invalid("max_positions is {}; it must be at least 1.", {max_positions});
}
/// For at least one position.
ROPE_ABI inline Status check_first_position(Index max_positions, Index first_position) noexcept {
    if (first_position >= -kLastPosition && first_position <= kLastPosition - max_positions) return Status();
    return invalid("first_position is {}; the {} positions from there must lie between -2^62 and 2^62.",
                   {first_position, max_positions});
}

/// Whether frequencies(config, seq_len) are for the last position of a table.
ROPE_ABI inline Status check_last_position(const Config& config, Index max_positions, Index first_position,
                                           Index seq_len) noexcept {
    const Index longest = longest_sequence(config, seq_len);
    if (max_positions < 1 || first_position > kLastPosition - max_positions) return Status();  // refused later
    if (first_position + max_positions <= longest) return Status();
    return invalid(
        "seq_len is {}; with this schedule ({}) its frequencies are for sequences of at most {} tokens, and the table "
        "is to hold positions up to {}: name the longest sequence as seq_len.",
        {seq_len, schedule_name(config.schedule), longest, first_position + max_positions - 1});
}

}  // namespace detail

/// m*cos and m*sin of every pair at positions first_position .. first_position + max_positions - 1.
///
/// T is float, for data in float, half and bfloat16, or double, for data in double.
///
/// Accuracy. Angles belong to the real formula: frequencies carry about 95 bits, phases are 128-bit fixed point. An
/// entry is within 0.501 ulp of m*cos or m*sin in float, at every position below 2^31, and within 0.75 ulp in double
/// below 2^22, for frequencies of at most one radian per position (base and interpolation factor at least 1; given
/// numbers are exact, so there the size does not matter). ulp is the ulp of max(|entry|, m * 2^-10), and m, for xPos,
/// the magnitude of the pair at the position. Beyond these ranges the error grows with the angle. Compile flags,
/// -ffast-math included, change none of this.
///
/// Cost. sizeof(T) * rotary_dim * max_positions bytes; 64 MiB for 131072 positions of 128 features in float. Building
/// takes about two nanoseconds per pair and position.
///
/// Immutable once built: any number of threads may read it. Copies share the table and cost a reference count.
template <class T>
class CosSinCache : public CosSinRows<T> {
    static_assert(std::is_same_v<T, float> || std::is_same_v<T, double>,
                  "A table is float (it serves float, half and bfloat16 data) or double.");

 public:
    /// Largest error of an entry, in ulp of max(|entry|, m * 2^-10), over the positions stated above.
    static constexpr double kMaxUlpError = std::is_same_v<T, float> ? 0.501 : 0.75;

    /// The table of a Config, with frequencies(config, seq_len). Throws std::invalid_argument when check(config) is not
    /// ok; when max_positions is below 1, or no machine could hold so many; when a position would lie outside -2^62 ..
    /// 2^62; when a schedule's numbers for seq_len are not meant for sequences as long as the table; and when a
    /// magnitude that grows with the position (xPos) would leave e^-64 .. e^64. Throws std::bad_alloc when there is no
    /// memory.
    ROPE_ABI CosSinCache(const Config& config, Index max_positions, Index first_position = 0, Index seq_len = 0) {
        Frequencies f;
        if (!detail::ok_or_raise(detail::make_frequencies(config, seq_len, f))) return;
        if (!detail::ok_or_raise(detail::check_last_position(config, max_positions, first_position, seq_len))) return;
        build(f, max_positions, {config.head_dim, config.rotary_offset}, first_position);
        layout_ = config.layout;
        longest_ = detail::longest_sequence(config, seq_len);
    }

    /// The table of given frequencies, which are not divided by anything. The slice says where in the head the 2 *
    /// inv_freq.size() rotated features lie; by default they are the head. Throws as above, for check(frequencies).
    ROPE_ABI CosSinCache(const Frequencies& frequencies, Index max_positions, HeadSlice slice = {},
                         Index first_position = 0) {
        if (detail::ok_or_raise(check(frequencies))) build(frequencies, max_positions, slice, first_position);
    }

    /// The table that eager float32 frameworks compute, for comparing with their models: 2i/d, its power of base, the
    /// reciprocal, / factor, float(position) * frequency, cos and sin, * m, each rounded to float. At positions up to
    /// 10^6 it is wrong by as much as 7.3e-2 (bases 10^4, 5 * 10^5 and 10^6, head_dim 64 and 128); each step here is
    /// correctly rounded, where the frameworks may differ by an ulp. base, factor and m are rounded to float first.
    /// With a schedule other than the default, the chain begins with its frequency, rounded to float. Throws as above,
    /// and when base, factor or a frequency does not survive that, and for xPos.
    ROPE_ABI static CosSinCache float32_chain(const Config& config, Index max_positions, Index first_position = 0,
                                              Index seq_len = 0) {
        static_assert(std::is_same_v<T, float>, "The float32 chain makes a float table.");
        CosSinCache cache;
        Frequencies f;
        if (!detail::ok_or_raise(detail::make_float32_frequencies(config, seq_len, f))) return cache;
        if (!detail::ok_or_raise(detail::check_last_position(config, max_positions, first_position, seq_len)))
            return cache;
        if (cache.allocate(detail::rotary_dim(config) / 2, max_positions, {config.head_dim, config.rotary_offset},
                           first_position)) {
            cache.attention_factor_ = f.attention_factor;
            cache.layout_ = config.layout;
            cache.is_chain_ = true;
            if constexpr (std::is_same_v<T, float>)
                detail::fill_float32_chain(f, first_position, max_positions, cache.table_.get());
        }
        return cache;
    }

    /// The same table with max_positions rows, or this one if it has as many. Present rows are copied, not computed
    /// again, and this table does not change. `frequencies` must be the frequencies that it was made of. Throws as
    /// above, and std::invalid_argument for a table of the float32 chain and when the first or the last row shows other
    /// frequencies (which a table of only position 0 cannot).
    ROPE_ABI CosSinCache extended(const Frequencies& frequencies, Index max_positions) const {
        if (max_positions <= count_ || !detail::ok_or_raise(check(frequencies))) return *this;
        if (!detail::ok_or_raise(check_extension(max_positions))) return *this;
        const std::size_t row_size = static_cast<std::size_t>(2 * pairs_);
        const std::unique_ptr<T[]> again(new (std::nothrow) T[row_size]);
        for (const Index row : {Index(0), count_ - 1}) {
            const bool has_pairs = 2 * frequencies.inv_freq.size() == row_size;
            if (has_pairs &&
                (!again || !detail::fill_cos_sin_table(frequencies, source_.first + row, 1, again.get()))) {
                detail::ok_or_raise(detail::no_memory(max_positions, 2 * pairs_, sizeof(T)));
                return *this;
            }
            if (has_pairs && std::memcmp(again.get(), table_.get() + row * 2 * pairs_, row_size * sizeof(T)) == 0)
                continue;
            detail::ok_or_raise(detail::invalid(
                "frequencies are not those that this table was made of: row {} would be another.", {row}));
            return *this;
        }
        if (!detail::ok_or_raise(check_growth(frequencies, max_positions, source_.first))) return *this;
        CosSinCache longer;
        if (!longer.allocate(pairs_, max_positions, {head_dim_, rotary_offset_}, source_.first)) return *this;
        longer.attention_factor_ = attention_factor_;
        longer.grows_ = grows_;
        longer.layout_ = layout_;
        longer.longest_ = longest_;
        std::memcpy(longer.table_.get(), table_.get(), bytes());
        return longer.fill(frequencies, count_) ? longer : *this;
    }

    // Copying is cheap and there is no moving, so that no cache is ever left empty.
    ROPE_ABI CosSinCache(const CosSinCache&) = default;
    ROPE_ABI CosSinCache& operator=(const CosSinCache&) = default;
    ROPE_ABI ~CosSinCache() = default;

    /// Row of a position: pairs() entries m*cos(position * w_i), or m*sin(position * w_i), 64-byte aligned when
    /// pairs() is a multiple of 16. Valid as long as a copy of the cache lives. Throws std::out_of_range when the
    /// table does not hold the position.
    ROPE_ABI const T* cos_row(Index position) const ROPE_LIFETIMEBOUND { return row(position); }
    ROPE_ABI const T* sin_row(Index position) const ROPE_LIFETIMEBOUND {
        const T* cos = row(position);
        return cos != nullptr ? cos + pairs_ : nullptr;
    }

    /// The whole table: max_positions() rows of pairs() cosines and pairs() sines, the row of first_position() first.
    ROPE_ABI const T* data() const noexcept ROPE_LIFETIMEBOUND { return table_.get(); }

    ROPE_ABI Index max_positions() const noexcept { return count_; }
    ROPE_ABI Index first_position() const noexcept { return source_.first; }
    /// Memory of the table.
    ROPE_ABI std::size_t bytes() const noexcept {
        return static_cast<std::size_t>(count_) * static_cast<std::size_t>(2 * pairs_) * sizeof(T);
    }

 private:
    ROPE_ABI CosSinCache() = default;

    ROPE_ABI const T* row(Index position) const {
        if (position < source_.first || position > source_.first + count_ - 1) {
            detail::ok_or_raise(detail::out_of_range("position is {}; this cache holds positions {} to {}.",
                                                     {position, source_.first, source_.first + count_ - 1}));
            return nullptr;
        }
        return table_.get() + (position - source_.first) * 2 * pairs_;
    }

    ROPE_ABI Status check_extension(Index max_positions) const noexcept {
        if (is_chain_)
            return detail::invalid(
                "max_positions is {}; a table of the float32 chain has {} for good, because its rows do not follow "
                "from frequencies alone.",
                {max_positions, count_});
        if (longest_ == kNoLongest || max_positions <= longest_ - source_.first) return Status();
        return detail::invalid(
            "max_positions is {}; the frequencies of this table are for sequences of at most {} tokens: longer ones "
            "need a table made for their seq_len.",
            {max_positions, longest_});
    }

    ROPE_ABI void build(const Frequencies& f, Index max_positions, HeadSlice slice, Index first_position) {
        const Index pairs = static_cast<Index>(f.inv_freq.size());
        if (slice.head_dim == 0) slice.head_dim = 2 * pairs;
        if (!detail::ok_or_raise(check_growth(f, max_positions, first_position))) return;
        if (!allocate(pairs, max_positions, slice, first_position)) return;
        attention_factor_ = f.attention_factor;
        grows_ = !f.log_growth.empty();
        fill(f, 0);
    }

    /// Rows `begin` and after; false when refused and the handler returned.
    ROPE_ABI bool fill(const Frequencies& f, Index begin) {
        T* const to = table_.get() + begin * 2 * pairs_;
        if (detail::fill_cos_sin_table(f, source_.first + begin, count_ - begin, to)) return true;
        const Status refusal = detail::no_memory(count_, 2 * pairs_, sizeof(T));
        *this = CosSinCache();
        return detail::ok_or_raise(refusal);
    }

    /// A magnitude that grows stays a number.
    ROPE_ABI static Status check_growth(const Frequencies& f, Index max_positions, Index first_position) noexcept {
        const double first = static_cast<double>(first_position) - f.centre;
        const double last = first + static_cast<double>(max_positions - 1);
        const double farthest = std::max(std::fabs(first), std::fabs(last));
        for (std::size_t i = 0; i < f.log_growth.size(); ++i)
            if (std::fabs(f.log_growth[i]) * farthest > 64.0)
                return detail::invalid(
                    "log_growth[{}] is {}; at {} positions from the centre the magnitude would leave e^-64 .. e^64, so "
                    "a table must stay nearer to it.",
                    {i, f.log_growth[i], farthest});
        return Status();
    }

    /// Checks and sets the shape and gets the memory; false when refused and the handler returned.
    ROPE_ABI bool allocate(Index pairs, Index max_positions, HeadSlice slice, Index first_position) {
        if (!detail::ok_or_raise(detail::check_slice(slice.head_dim, 2 * pairs, slice.rotary_offset))) return false;
        if (!detail::ok_or_raise(detail::check_max_positions(max_positions))) return false;
        if (!detail::ok_or_raise(
                detail::check_table_size("max_positions", max_positions, max_positions, 2 * pairs, sizeof(T))))
            return false;
        if (!detail::ok_or_raise(detail::check_first_position(max_positions, first_position))) return false;
        std::shared_ptr<T[]> memory = detail::table_memory<T>(max_positions, 2 * pairs);
        if (memory == nullptr) return detail::ok_or_raise(detail::no_memory(max_positions, 2 * pairs, sizeof(T)));
        table_ = std::move(memory);
        source_ = {table_.get(), table_.get() + pairs, 2 * pairs, first_position, 0, nullptr, 0};
        count_ = max_positions;
        pairs_ = pairs;
        head_dim_ = slice.head_dim;
        rotary_offset_ = slice.rotary_offset;
        return true;
    }

    static constexpr Index kNoLongest = std::numeric_limits<Index>::max();

    using Base = CosSinRows<T>;
    using Base::attention_factor_;
    using Base::count_;
    using Base::grows_;
    using Base::head_dim_;
    using Base::layout_;
    using Base::pairs_;
    using Base::rotary_offset_;
    using Base::source_;

    std::shared_ptr<T[]> table_;
    Index longest_ = kNoLongest;  // sequence that the frequencies are for
    bool is_chain_ = false;
};

}  // namespace ROPE_VERSION_NAMESPACE
}  // namespace rope

#include "detail/base/restore_macros.hpp"
