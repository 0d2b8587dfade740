// SPDX-License-Identifier: MIT
// Rows of cos and sin at any position, by angle addition: what tables and the rows of a step are written from.
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

namespace rope {
inline namespace ROPE_VERSION_NAMESPACE {
namespace detail {

/// The arithmetic in which entries of type T are made, before the one rounding to T; and what it is made from, whatever
/// T is: as names that depend on T, because a unit that makes no table then does not compile what keeps them.
struct ROPE_ABI ExactTypes {
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

ROPE_ABI inline void assign(double& to, DoubleDouble x) noexcept { to = x.hi; }
ROPE_ABI inline void assign(DoubleDouble& to, DoubleDouble x) noexcept { to = x; }

/// A row of working numbers, cos and sin apart, as the loop over pairs wants them.
template <class Work>
struct ROPE_ABI WorkingRow {
    Work* cos;
    Work* sin;
};

/// What writes one row of the table: cos and sin of the angles of `coarse` and of `fine` added, each rounded once.
template <class T, class Work>
using WriteRow = void (*)(const WorkingRow<Work>& coarse, const WorkingRow<Work>& fine, Index pairs, T* cos, T* sin);

ROPE_ABI inline void add_angles(const WorkingRow<DoubleDouble>& a, const WorkingRow<DoubleDouble>& b, Index pairs,
                                double* cos, double* sin) noexcept {
    for (Index i = 0; i < pairs; ++i) {
        const CosSin<DoubleDouble> sum =
            CosSin<DoubleDouble>{a.cos[i], a.sin[i]} * CosSin<DoubleDouble>{b.cos[i], b.sin[i]};
        cos[i] = sum.cos.hi;
        sin[i] = sum.sin.hi;
    }
}

}  // namespace detail
}  // namespace ROPE_VERSION_NAMESPACE
}  // namespace rope

#define ROPE_FOR_EACH_ISA "../../tables/table_kernels.hpp"
#include "../simd/isa_list.hpp"

namespace rope {
inline namespace ROPE_VERSION_NAMESPACE {
namespace detail {

ROPE_ABI inline WriteRow<float, double> write_row(float) noexcept {
    // A ROPE_ISA that names no set is reported by the first call that rotates; every set writes the same bits.
    if (!isa_is_chosen() && !choose_isa().ok()) return &portable::add_angles<float, double>;
    const IsaId isa = chosen_isa.load(std::memory_order_relaxed);
#define ROPE_ISA_ENTRY(name) \
    if (isa == isa_id(#name)) return &name::add_angles<float, double>;
#include "../simd/isa_list.hpp"
    return &portable::add_angles<float, double>;
}
ROPE_ABI inline WriteRow<double, DoubleDouble> write_row(double) noexcept { return &add_angles; }

/// n / d rounded towards minus infinity, for d > 0.
ROPE_ABI inline Index floor_divide(Index n, Index d) noexcept { return n / d - (n % d < 0 ? 1 : 0); }

/// The angle of position p is the sum of two: of a coarse row, for the multiple of kFineRows at or below p, and of one
/// of kFineRows fine rows; so an entry costs two products, and one rounding to T. Fine rows are walked in
/// double-double. A coarse row is, in double-double, the sum of an anchor, whose angle is computed afresh, and of one
/// of kAnchorBlocks rows between anchors. Errors stay below 2^-90 before the rounding to Work. All of these are fixed
/// multiples of positions, so an entry's bits depend on its position alone, not on where a table begins or ends or who
/// asks.
template <class T>
class ROPE_ABI AngleRows {
 public:
    using Work = typename WorkingType<T>::type;
    static constexpr Index kFineRows = 128;  // 128 KiB for 64 pairs in float: stays in L2 while a table streams out
    static constexpr Index kAnchorBlocks = 64;

    /// The first `fine_rows` fine rows, and room for coarse rows of blocks whose number modulo kAnchorBlocks is below
    /// `blocks`. False when there is no memory.
    ROPE_ABI bool prepare(const Frequencies& f, Index fine_rows, Index blocks) {
        pairs_ = static_cast<Index>(f.inv_freq.size());
        phase_.reset(new (std::nothrow) Fraction[size(pairs_)]);
        between_.reset(new (std::nothrow) Angle[size(pairs_ * blocks)]);
        anchor_.reset(new (std::nothrow) Angle[size(pairs_)]);
        fine_.reset(new (std::nothrow) Work[size(2 * pairs_ * fine_rows)]);
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

    /// What is added to a coarse row for the position `row` further on.
    ROPE_ABI WorkingRow<Work> fine(Index row) const noexcept { return {cos_of(row), sin_of(row)}; }

    /// The coarse row of position block * kFineRows.
    ROPE_ABI void make_coarse(const Frequencies& f, Index block, WorkingRow<Work> to) noexcept {
        const Index anchor = floor_divide(block, kAnchorBlocks) * kAnchorBlocks;
        if (anchor != anchor_block_)
            for (Index i = 0; i < pairs_; ++i) anchor_[size(i)] = cos_sin(phase_[size(i)] * (anchor * kFineRows));
        anchor_block_ = anchor;
        const Angle* const between = &between_[size((block - anchor) * pairs_)];
        const DoubleDouble growing = exact(block * kFineRows) - exact(f.centre);
        for (Index i = 0; i < pairs_; ++i) put(f, i, anchor_[size(i)] * between[i], f.attention_factor, growing, to);
    }

    /// The angle that pair i turns by over `whole` + `part` positions.
    ROPE_ABI Phase phase(const Frequencies& f, Index i, Index whole, double part) const noexcept {
        const Phase at_whole = phase_[size(i)] * whole;
        return part == 0.0 ? at_whole : at_whole + phase_from_radians(frequency(f, i) * DoubleDouble{part, 0.0});
    }

    /// cos and sin of an angle, times the magnitude of pair i at that position.
    ROPE_ABI CosSin<DoubleDouble> grown(const Frequencies& f, Index i, Phase angle, Index whole,
                                        double part) const noexcept {
        const DoubleDouble m =
            magnitude(f, i, f.attention_factor, exact(whole) + DoubleDouble{part, 0.0} - exact(f.centre));
        const CosSin<DoubleDouble> unit = cos_sin(angle);
        return {unit.cos * m, unit.sin * m};
    }

 private:
    using Angle = typename WorkingType<T>::Angle;
    using Fraction = typename WorkingType<T>::Fraction;
    static constexpr Index kNoAnchor = 1;  // is no multiple of kAnchorBlocks

    ROPE_ABI static std::size_t size(Index n) noexcept { return static_cast<std::size_t>(n); }
    ROPE_ABI Work* cos_of(Index row) const noexcept { return &fine_[size(2 * pairs_ * row)]; }
    ROPE_ABI Work* sin_of(Index row) const noexcept { return &fine_[size(2 * pairs_ * row + pairs_)]; }
    ROPE_ABI static DoubleDouble frequency(const Frequencies& f, Index i) noexcept {
        return {f.inv_freq[size(i)], f.inv_freq_low.empty() ? 0.0 : f.inv_freq_low[size(i)]};
    }

    /// take(row, i, angle) for every pair i at positions 0, step, 2 * step, ...
    template <class Take>
    ROPE_ABI void walk(Index step, Index rows, const Take& take) const {
        for (Index i = 0; i < pairs_; ++i) {
            const Angle by = cos_sin(phase_[size(i)] * step);
            Angle now = cos_sin(Phase());
            for (Index row = 0; row < rows; ++row, now = now * by) take(row, i, now);
        }
    }

    /// A magnitude and, for xPos, the pair's growth over so many positions. That is computed afresh for each row: at an
    /// anchor, thousands of positions before the table, it might be no finite number.
    ROPE_ABI static DoubleDouble magnitude(const Frequencies& f, Index i, double m, DoubleDouble growing) noexcept {
        if (f.log_growth.empty()) return exact(m);
        const double low = f.log_growth_low.empty() ? 0.0 : f.log_growth_low[size(i)];
        return exact(m) * exp(two_sum(f.log_growth[size(i)], low) * growing);
    }
    // The angle comes by value: with -flto, g++ 12 takes for unread what lies behind a reference and is handed on so.
    ROPE_ABI static void put(const Frequencies& f, Index i, Angle angle, double m, DoubleDouble growing,
                             WorkingRow<Work> to) noexcept {
        const DoubleDouble with = magnitude(f, i, m, growing);
        assign(to.cos[i], angle.cos * with);
        assign(to.sin[i], angle.sin * with);
    }

    Index pairs_ = 0;
    std::unique_ptr<Fraction[]> phase_;  // of each pair, per position
    std::unique_ptr<Work[]> fine_;       // fine rows
    std::unique_ptr<Angle[]> between_;   // from an anchor to each of its blocks
    std::unique_ptr<Angle[]> anchor_;    // the last one that was used
    Index anchor_block_ = kNoAnchor;
};

}  // namespace detail
}  // namespace ROPE_VERSION_NAMESPACE
}  // namespace rope
