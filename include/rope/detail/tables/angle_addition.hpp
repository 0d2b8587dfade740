// SPDX-License-Identifier: MIT
// Rows of cos and sin at any position, by angle addition, for tables and for the rows of a step.
#pragma once

#include <cstddef>
#include <memory>
#include <new>
#include <type_traits>

#include "../../frequencies.hpp"
#include "../../types.hpp"
#include "../angles/double_double.hpp"
#include "../angles/phase.hpp"
#include "../base/arithmetic.hpp"
#include "../simd/isa_choice.hpp"

ROPE_DETAIL_BEGIN

/// `type` computes entries of type T, before their one rounding to T. The other two are the same for every T; their names
/// depend on T so that a translation unit that makes no table does not compile their containers.
template <class T>
struct WorkingType {
    using type = std::conditional_t<std::is_same_v<T, float>, double, DoubleDouble>;
    using Angle = CosSin<DoubleDouble>;
    using Fraction = Phase;
};

inline void assign(float& to, DoubleDouble x) noexcept { to = round_to_float(x); }
inline void assign(double& to, DoubleDouble x) noexcept { to = x.hi; }
inline void assign(DoubleDouble& to, DoubleDouble x) noexcept { to = x; }

/// A row in working precision. Its cosines and sines are two arrays, so that the loop over pairs vectorises.
template <class Work>
struct WorkingRow {
    Work* cos;
    Work* sin;
};

/// Writes one row of a table: cos and sin of the sum of the angles of `coarse` and `fine`, each rounded once.
template <class T, class Work>
using WriteRow = void (*)(const WorkingRow<Work>& coarse, const WorkingRow<Work>& fine, Index pairs, T* cos, T* sin);

template <class T>
void add_exact_angles(const WorkingRow<DoubleDouble>& a, const WorkingRow<DoubleDouble>& b, Index pairs, T* cos,
                      T* sin) noexcept {
    for (Index i = 0; i < pairs; ++i) {
        const CosSin<DoubleDouble> sum =
            CosSin<DoubleDouble>{a.cos[i], a.sin[i]} * CosSin<DoubleDouble>{b.cos[i], b.sin[i]};
        assign(cos[i], sum.cos);
        assign(sin[i], sum.sin);
    }
}

ROPE_DETAIL_END

#define ROPE_FOR_EACH_ISA "../../tables/table_kernels.hpp"
#include "../simd/isa_list.hpp"

ROPE_DETAIL_BEGIN

/// With T = Work, sums stay in working precision.
template <class T, class Work>
WriteRow<T, Work> write_row() noexcept {
    if constexpr (std::is_same_v<Work, DoubleDouble>) {
        return &add_exact_angles<T>;
    } else {
        // The first call that rotates reports a ROPE_ISA that names no instruction set; all of them write the same bits.
        if (!isa_is_chosen() && !choose_isa().ok()) return &portable::add_angles<T, Work>;
        const IsaId isa = chosen_isa.load(std::memory_order_relaxed);
#define ROPE_ISA_CHOICE(set) &set::add_angles<T, Work>
#include "../simd/isa_list.hpp"
    }
}

/// n / d rounded towards minus infinity, for d > 0.
inline Index floor_divide(Index n, Index d) noexcept { return n / d - (n % d < 0 ? 1 : 0); }

/// Rows by angle addition. The angle of position p is the sum of two angles: a coarse row has the multiple of kFineRows
/// at or below p, a fine row the rest. So an entry costs two products and one rounding to T. Repeated angle addition in
/// double-double makes the fine rows. A coarse row is, in double-double, an anchor, whose angle is computed afresh,
/// plus one of kAnchorBlocks rows between anchors. Errors stay below 2^-90 before the rounding to Work. Blocks and
/// anchors are fixed multiples of positions, so the bits of an entry depend on its position alone, not on the bounds of
/// a table or on the caller.
template <class T>
class AngleTables {
 public:
    using Work = typename WorkingType<T>::type;
    static constexpr Index kFineRows = 128;  // 128 KiB for 64 pairs in float: stays in L2 while a table streams out
    static constexpr Index kAnchorBlocks = 64;

    /// Makes the first `fine_rows` fine rows, and prepares coarse rows of blocks whose number modulo kAnchorBlocks is
    /// below `blocks`. False without memory; for the same pairs, rows and blocks as the last time that is at hand.
    bool prepare(const Frequencies& f, Index fine_rows, Index blocks) {
        if (const Index pairs = static_cast<Index>(f.inv_freq.size()); pairs != pairs_) {
            pairs_ = pairs;
            phase_.reset(new (std::nothrow) Fraction[size(pairs_)]);
            between_.reset(new (std::nothrow) Angle[size(pairs_ * blocks)]);
            anchor_.reset(new (std::nothrow) Angle[size(pairs_)]);
            fine_.reset(new (std::nothrow) Work[size(2 * pairs_ * fine_rows)]);
        }
        if (!phase_ || !between_ || !anchor_ || !fine_) return false;
        for (Index i = 0; i < pairs_; ++i) phase_[size(i)] = phase_from_radians(frequency(f, i));
        walk(1, fine_rows, [&](Index row, Index i, Angle angle) {
            put(f, i, angle, 1.0, exact(row), WorkingRow<Work>{cos_of(row), sin_of(row)});
        });
        walk(kFineRows, blocks,
             [&](Index row, Index i, const Angle& angle) { between_[size(row * pairs_ + i)] = angle; });
        anchor_block_ = kNoAnchor;
        return true;
    }

    /// The fine row for the position `row` positions after a coarse row.
    WorkingRow<Work> fine(Index row) const noexcept { return {cos_of(row), sin_of(row)}; }

    /// Makes the coarse row of position block * kFineRows.
    void make_coarse(const Frequencies& f, Index block, WorkingRow<Work> to) noexcept {
        const Index anchor = floor_divide(block, kAnchorBlocks) * kAnchorBlocks;
        if (anchor != anchor_block_)
            for (Index i = 0; i < pairs_; ++i) anchor_[size(i)] = cos_sin(phase_[size(i)] * (anchor * kFineRows));
        anchor_block_ = anchor;
        const Angle* const between = &between_[size((block - anchor) * pairs_)];
        const DoubleDouble growing = exact(block * kFineRows) - exact(f.centre);
        for (Index i = 0; i < pairs_; ++i) put(f, i, anchor_[size(i)] * between[i], f.attention_factor, growing, to);
    }

    /// The angle of pair i per position.
    Phase per_position(Index i) const noexcept { return phase_[size(i)]; }
    static DoubleDouble frequency(const Frequencies& f, Index i) noexcept {
        return {f.inv_freq[size(i)], f.inv_freq_low.empty() ? 0.0 : f.inv_freq_low[size(i)]};
    }
    /// The magnitude m, times the growth (xPos) of pair i over `growing` positions. The growth is computed afresh for
    /// each row: at an anchor, thousands of positions before the table, it might not be finite.
    static DoubleDouble magnitude(const Frequencies& f, Index i, double m, DoubleDouble growing) noexcept {
        if (f.log_growth.empty()) return exact(m);
        const double low = f.log_growth_low.empty() ? 0.0 : f.log_growth_low[size(i)];
        return exact(m) * exp(two_sum(f.log_growth[size(i)], low) * growing);
    }

 private:
    using Angle = typename WorkingType<T>::Angle;
    using Fraction = typename WorkingType<T>::Fraction;
    static constexpr Index kNoAnchor = 1;  // is no multiple of kAnchorBlocks

    static std::size_t size(Index n) noexcept { return static_cast<std::size_t>(n); }
    Work* cos_of(Index row) const noexcept { return &fine_[size(2 * pairs_ * row)]; }
    Work* sin_of(Index row) const noexcept { return &fine_[size(2 * pairs_ * row + pairs_)]; }

    /// Calls take(row, i, angle) for every pair i at positions 0, step, 2 * step, ..., by repeated angle addition.
    template <class Take>
    void walk(Index step, Index rows, const Take& take) const {
        for (Index i = 0; i < pairs_; ++i) {
            const Angle by = cos_sin(phase_[size(i)] * step);
            Angle now = cos_sin(Phase());
            for (Index row = 0; row < rows; ++row, now = now * by) take(row, i, now);
        }
    }

    // The angle is passed by value: with -flto, g++ 12 takes the target of a forwarded reference for unread.
    static void put(const Frequencies& f, Index i, Angle angle, double m, DoubleDouble growing,
                    WorkingRow<Work> to) noexcept {
        const DoubleDouble with = magnitude(f, i, m, growing);
        assign(to.cos[i], angle.cos * with);
        assign(to.sin[i], angle.sin * with);
    }

    Index pairs_ = 0;
    std::unique_ptr<Fraction[]> phase_;  // per position, of each pair
    std::unique_ptr<Work[]> fine_;       // fine rows
    std::unique_ptr<Angle[]> between_;   // from an anchor to each of its blocks
    std::unique_ptr<Angle[]> anchor_;    // the last one that was used
    Index anchor_block_ = kNoAnchor;
};

ROPE_DETAIL_END
