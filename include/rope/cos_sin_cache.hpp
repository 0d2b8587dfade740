// SPDX-License-Identifier: MIT
// CosSinCache: a table of cos and sin by position.
#pragma once

#include <cstddef>
#include <type_traits>

#include "config.hpp"
#include "frequencies.hpp"
#include "fwd.hpp"
#include "types.hpp"

#include "detail/base/hide_macros.hpp"

#include "detail/base/containers.hpp"
#include "detail/tables/position_table.hpp"

ROPE_BEGIN

/// m*cos and m*sin of every pair at positions first_position .. first_position + max_positions - 1.
///
///     const rope::CosSinCache<float> cache(config, 8192);             // once per model: positions 0 .. 8191
///     rope::apply<rope::Layout::half_split>(q, k, cache, rope::start_at(n));
///     const auto longer = cache.extended(rope::frequencies(config), 16384);
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
class CosSinCache : public detail::PositionTable<T> {
    static_assert(std::is_same_v<T, float> || std::is_same_v<T, double>,
                  "A table is float (it serves float, half and bfloat16 data) or double.");

 public:
    /// Largest error of an entry, in ulp of max(|entry|, m * 2^-10), over the positions stated above.
    static constexpr double kMaxUlpError = std::is_same_v<T, float> ? 0.501 : 0.75;

    /// The table of frequencies(config, seq_len); see there for seq_len. Throws std::invalid_argument when check(config)
    /// is not ok; when max_positions is below 1, or no machine could hold so many; when a position would lie outside
    /// -2^62 .. 2^62; when a schedule's numbers for seq_len are not meant for sequences as long as the table; and when a
    /// magnitude that grows with the position (xPos) would leave e^-64 .. e^64. Throws std::bad_alloc when there is no
    /// memory.
    ROPE_ABI CosSinCache(const Config& config, Index max_positions, Index first_position = 0, Index seq_len = 0) {
        this->build({config, seq_len}, false, max_positions, first_position);
    }

    /// The table of given frequencies, which are not divided by anything. The slice says where in the head the 2 *
    /// inv_freq.size() rotated features lie; by default they are the head. Throws as above, for check(frequencies).
    ROPE_ABI CosSinCache(const Frequencies& frequencies, Index max_positions, HeadSlice slice = {},
                         Index first_position = 0) {
        this->build({frequencies, slice}, false, max_positions, first_position);
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
        cache.build({config, seq_len}, true, max_positions, first_position);
        return cache;
    }

    /// The same table with max_positions rows, or this one if it has as many. Present rows are copied, not computed
    /// again, and this table does not change. `frequencies` must be the frequencies that it was made of. Throws as
    /// above, and std::invalid_argument for a table of the float32 chain and when the first or the last row shows other
    /// frequencies (which a table of only position 0 cannot).
    ROPE_ABI CosSinCache extended(const Frequencies& frequencies, Index max_positions) const {
        CosSinCache longer = *this;
        longer.extend(frequencies, max_positions);
        return longer;
    }

    // Copying is cheap and there is no moving, so that no cache is ever left empty.
    ROPE_ABI CosSinCache(const CosSinCache&) = default;
    ROPE_ABI CosSinCache& operator=(const CosSinCache&) = default;
    ROPE_ABI ~CosSinCache() = default;

    /// Row of a position: pairs() entries m*cos(position * w_i), or m*sin(position * w_i), 64-byte aligned when
    /// pairs() is a multiple of 16. Valid as long as a copy of the cache lives. Throws std::out_of_range when the
    /// table does not hold the position.
    ROPE_ABI const T* cos_row(Index position) const ROPE_LIFETIMEBOUND { return this->find(position, 0); }
    /// The sines of the same position, pairs() of them.
    ROPE_ABI const T* sin_row(Index position) const ROPE_LIFETIMEBOUND { return this->find(position, this->pairs_); }

    /// The whole table: max_positions() rows of pairs() cosines and pairs() sines, the row of first_position() first.
    ROPE_ABI const T* data() const noexcept ROPE_LIFETIMEBOUND { return this->table_.get(); }

    /// The number of positions that the table holds.
    ROPE_ABI Index max_positions() const noexcept { return this->count_; }
    /// The first of them; negative ones are allowed.
    ROPE_ABI Index first_position() const noexcept { return this->source_.first; }
    /// Memory of the table, which copies share.
    ROPE_ABI std::size_t bytes() const noexcept {
        return static_cast<std::size_t>(this->count_ * 2 * this->pairs_) * sizeof(T);
    }

 private:
    template <class>
    friend class RotaryEmbedding;

    ROPE_ABI CosSinCache() = default;
    ROPE_ABI static CosSinCache of(const detail::TableSource& source, Index max_positions, Index first_position) {
        CosSinCache cache;
        cache.build(source, max_positions, first_position);
        return cache;
    }
};

ROPE_END

#if ROPE_HAS_DEFINITIONS
#    include "detail/tables/build_position_table.hpp"
#endif

#include "detail/base/restore_macros.hpp"
