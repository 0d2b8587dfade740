// SPDX-License-Identifier: MIT
// Rows of cos and sin at any position, by angle addition, for tables and for the rows of a step.
#pragma once

#include <cstddef>
#include <memory>
#include <new>

#include "../../frequencies.hpp"
#include "../../isa.hpp"
#include "../../types.hpp"
#include "../angles/double_double.hpp"
#include "../angles/phase.hpp"
#include "../base/arithmetic.hpp"

ROPE_DETAIL_BEGIN

/// WorkingType<T>::type computes entries of type T, before their one rounding to T. ExactTypes are the same for every
/// T; their names depend on T so that a translation unit that makes no table does not compile their containers.
struct ExactTypes {
    using Angle = CosSin<DoubleDouble>;
    using Fraction = Phase;
};
template <class T>
struct WorkingType;
template <>
struct WorkingType<float> : ExactTypes {
    using type = double;
};
template <>
struct WorkingType<double> : ExactTypes {
    using type = DoubleDouble;
};

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

inline void add_angles(const WorkingRow<DoubleDouble>& a, const WorkingRow<DoubleDouble>& b, Index pairs, double* cos,
                       double* sin) noexcept {
    for (Index i = 0; i < pairs; ++i) {
        const CosSin<DoubleDouble> sum =
            CosSin<DoubleDouble>{a.cos[i], a.sin[i]} * CosSin<DoubleDouble>{b.cos[i], b.sin[i]};
        cos[i] = sum.cos.hi;
        sin[i] = sum.sin.hi;
    }
}

ROPE_DETAIL_END

#define ROPE_FOR_EACH_ISA "../../tables/table_kernels.hpp"
#include "../simd/isa_list.hpp"

ROPE_DETAIL_BEGIN

inline WriteRow<float, double> write_row(float) noexcept {
    // The first call that rotates reports a ROPE_ISA that names no instruction set; all of them write the same bits.
    if (!isa_is_chosen() && !choose_isa().ok()) return &portable::add_angles<float, double>;
    const IsaId isa = chosen_isa.load(std::memory_order_relaxed);
#define ROPE_ISA_ENTRY(name) \
    if (isa == name::kIsaId) return &name::add_angles<float, double>;
#include "../simd/isa_list.hpp"
    return &portable::add_angles<float, double>;
}
inline WriteRow<double, DoubleDouble> write_row(double) noexcept { return &add_angles; }

/// n / d rounded towards minus infinity, for d > 0.
inline Index floor_divide(Index n, Index d) noexcept { return n / d - (n % d < 0 ? 1 : 0); }

/// Rows by angle addition. The angle of position p is the sum of two angles: a coarse row has the multiple of kFineRows
/// at or below p, a fine row the rest. So an entry costs two products and one rounding to T. Repeated angle addition in
/// double-double makes the fine rows. A coarse row is, in double-double, an anchor, whose angle is computed afresh,
/// plus one of kAnchorBlocks rows between anchors. Errors stay below 2^-90 before the rounding to Work. Blocks and
/// anchors are fixed multiples of positions, so the bits of an entry depend on its position alone, not on the bounds of
/// a table or on the caller.
template <class T>
class AngleRows {
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

    /// The angle by which pair i rotates over `whole` + `part` positions.
    Phase phase(const Frequencies& f, Index i, Index whole, double part) const noexcept {
        const Phase at_whole = phase_[size(i)] * whole;
        return part == 0.0 ? at_whole : at_whole + phase_from_radians(frequency(f, i) * DoubleDouble{part, 0.0});
    }

    /// cos and sin of an angle, times the magnitude of pair i at that position.
    CosSin<DoubleDouble> grown(const Frequencies& f, Index i, Phase angle, Index whole, double part) const noexcept {
        const DoubleDouble m =
            magnitude(f, i, f.attention_factor, exact(whole) + DoubleDouble{part, 0.0} - exact(f.centre));
        const CosSin<DoubleDouble> unit = cos_sin(angle);
        return {unit.cos * m, unit.sin * m};
    }

 private:
    using Angle = typename WorkingType<T>::Angle;
    using Fraction = typename WorkingType<T>::Fraction;
    static constexpr Index kNoAnchor = 1;  // is no multiple of kAnchorBlocks

    static std::size_t size(Index n) noexcept { return static_cast<std::size_t>(n); }
    Work* cos_of(Index row) const noexcept { return &fine_[size(2 * pairs_ * row)]; }
    Work* sin_of(Index row) const noexcept { return &fine_[size(2 * pairs_ * row + pairs_)]; }
    static DoubleDouble frequency(const Frequencies& f, Index i) noexcept {
        return {f.inv_freq[size(i)], f.inv_freq_low.empty() ? 0.0 : f.inv_freq_low[size(i)]};
    }

    /// Calls take(row, i, angle) for every pair i at positions 0, step, 2 * step, ..., by repeated angle addition.
    template <class Take>
    void walk(Index step, Index rows, const Take& take) const {
        for (Index i = 0; i < pairs_; ++i) {
            const Angle by = cos_sin(phase_[size(i)] * step);
            Angle now = cos_sin(Phase());
            for (Index row = 0; row < rows; ++row, now = now * by) take(row, i, now);
        }
    }

    /// The magnitude m, times the growth (xPos) of pair i over `growing` positions. The growth is computed afresh for
    /// each row: at an anchor, thousands of positions before the table, it might not be finite.
    static DoubleDouble magnitude(const Frequencies& f, Index i, double m, DoubleDouble growing) noexcept {
        if (f.log_growth.empty()) return exact(m);
        const double low = f.log_growth_low.empty() ? 0.0 : f.log_growth_low[size(i)];
        return exact(m) * exp(two_sum(f.log_growth[size(i)], low) * growing);
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
