// SPDX-License-Identifier: MIT
// CompactCosSinCache: cos and sin at millions of positions from a few thousand rows.
#pragma once

#include <cstddef>
#include <type_traits>

#include "config.hpp"
#include "frequencies.hpp"
#include "fwd.hpp"
#include "types.hpp"

#include "detail/base/hide_macros.hpp"

#include "detail/tables/compact_table.hpp"

ROPE_BEGIN

/// m*cos and m*sin of every pair at positions first_position .. first_position + max_positions - 1, as CosSinCache, but
/// each row is combined from two when apply fetches it: a coarse one for every 2^n-th position, and one of 2^n fine
/// ones. Their angles add:
///
///     cos = fma(cos1, cos2, -(sin1 * sin2))      sin = fma(sin1, cos2, cos1 * sin2)
///
///     const rope::CompactCosSinCache<float> cache(config, 10000000);
///     rope::apply<rope::Layout::half_split>(q, k, cache, rope::start_at(n));
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
/// are built in a few milliseconds. For each token apply rotates one more row. No xPos.
///
/// Immutable once built: any number of threads may read it. Copies share the table and cost a reference count.
template <class T>
class CompactCosSinCache : public detail::CompactTable<T> {
    static_assert(std::is_same_v<T, float> || std::is_same_v<T, double>,
                  "A table is float (it serves float, half and bfloat16 data) or double.");

 public:
    /// Largest error of an entry over m, for an m that is a power of two, over the positions stated above.
    static constexpr double kMaxError = std::is_same_v<T, float> ? 1.5 * 0x1p-23 : 1.5 * 0x1p-52;

    /// The table of a Config, with frequencies(config, seq_len). Throws std::invalid_argument as CosSinCache does, and
    /// when the magnitude grows with the position (xPos).
    ROPE_ABI CompactCosSinCache(const Config& config, Index max_positions, Index first_position = 0,
                                Index seq_len = 0) {
        this->build({config, seq_len}, max_positions, first_position);
    }

    /// The table of given frequencies, which are not divided by anything. The slice says where in the head the 2 *
    /// inv_freq.size() rotated features lie; by default they are the head. Throws as above, for check(frequencies).
    ROPE_ABI CompactCosSinCache(const Frequencies& frequencies, Index max_positions, HeadSlice slice = {},
                                Index first_position = 0) {
        this->build({frequencies, slice}, max_positions, first_position);
    }

    // Copying is cheap and there is no moving, so that no cache is ever left empty.
    ROPE_ABI CompactCosSinCache(const CompactCosSinCache&) = default;
    ROPE_ABI CompactCosSinCache& operator=(const CompactCosSinCache&) = default;
    ROPE_ABI ~CompactCosSinCache() = default;

    /// Writes the row of a position: pairs() entries m*cos(position * w_i) and as many m*sin(position * w_i), with the
    /// bits that apply uses where the instruction set has fma. Throws std::out_of_range, and writes nothing, when the
    /// table does not hold the position.
    ROPE_ABI void row(Index position, T* cos, T* sin) const { this->combine(position, cos, sin); }

    /// The number of positions that the table holds.
    ROPE_ABI Index max_positions() const noexcept { return this->count_; }
    /// The first of them; negative ones are allowed.
    ROPE_ABI Index first_position() const noexcept { return this->source_.first; }
    /// Memory of the coarse and fine rows, which copies share.
    ROPE_ABI std::size_t bytes() const noexcept {
        return static_cast<std::size_t>(this->rows_ * 2 * this->pairs_) * sizeof(T);
    }
};

ROPE_END

#if ROPE_HAS_DEFINITIONS
#    include "detail/tables/build_compact_table.hpp"
#endif

#include "detail/base/restore_macros.hpp"
