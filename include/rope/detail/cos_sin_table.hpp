// SPDX-License-Identifier: MIT
// Filling tables of cos and sin: exactly, by angle addition, and the way float32 frameworks do.
#pragma once

#include <cmath>
#include <cstddef>
#include <memory>
#include <new>

#include "../frequencies.hpp"
#include "../isa.hpp"
#include "../types.hpp"
#include "arithmetic.hpp"
#include "double_double.hpp"
#include "turns.hpp"

namespace rope {
inline namespace ROPE_VERSION_NAMESPACE {
namespace detail {

/// The arithmetic in which entries of type T are made, before the one rounding to T.
template <class T>
struct WorkingType;
template <>
struct WorkingType<float> {
    using type = double;
};
template <>
struct WorkingType<double> {
    using type = DoubleDouble;
};

ROPE_ABI inline void assign(double& to, DoubleDouble x) noexcept { to = x.hi; }
ROPE_ABI inline void assign(DoubleDouble& to, DoubleDouble x) noexcept { to = x; }

/// A row of working numbers, cos and sin apart, as the loop over pairs wants them.
template <class Work>
struct WorkingRow {
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

#define ROPE_FOR_EACH_ISA "../table_kernels.hpp"
#include "isa_list.hpp"

namespace rope {
inline namespace ROPE_VERSION_NAMESPACE {
namespace detail {

ROPE_ABI inline WriteRow<float, double> write_row(float) noexcept {
    // A ROPE_ISA that names no set is reported by the first call that rotates; every set writes the same bits.
    if (!isa_is_chosen() && !choose_isa().ok()) return &portable::add_angles<float, double>;
    const IsaId isa = chosen_isa.load(std::memory_order_relaxed);
#define ROPE_ISA_ENTRY(name) \
    if (isa == isa_id(#name)) return &name::add_angles<float, double>;
#include "isa_list.hpp"
    return &portable::add_angles<float, double>;
}
ROPE_ABI inline WriteRow<double, DoubleDouble> write_row(double) noexcept { return &add_angles; }

/// n / d rounded towards minus infinity, for d > 0.
ROPE_ABI inline Index floor_divide(Index n, Index d) noexcept { return n / d - (n % d < 0 ? 1 : 0); }

/// Writes rows first, first + 1, ..., first + count - 1 to out: per row `pairs` cosines, then `pairs` sines, each
/// multiplied by the attention factor, and by its pair's growth, and rounded once.
///
/// The angle of position p is the sum of two: of a coarse row, for the multiple of kFineRows at or below p, and of
/// one of kFineRows fine rows; so an entry costs two products. Fine rows, and coarse rows within an anchor's reach,
/// are walked in double-double, to an error below 2^-90; at the anchors, angles are computed afresh. All three are
/// fixed multiples of positions, so an entry's bits depend on its position alone, not on where the table begins or
/// ends. False when the working memory (about kFineRows rows in Work) cannot be had.
template <class T>
ROPE_ABI inline bool fill_cos_sin_table(const Frequencies& f, Index first, Index count, T* out) {
    using Work = typename WorkingType<T>::type;
    const WriteRow<T, Work> write = write_row(T());
    constexpr Index kFineRows = 128;  // 128 KiB for 64 pairs in float: stays in L2 while the table streams out
    constexpr Index kAnchorBlocks = 64;

    struct Walk {  // of one pair
        CosSin<DoubleDouble> now, step;
    };
    const Index pairs = static_cast<Index>(f.inv_freq.size());
    const Index end = first + count;
    const Index first_block = floor_divide(first, kFineRows);
    const Index last_block = floor_divide(end - 1, kFineRows);
    const Index fine_rows = first_block == last_block ? end - first_block * kFineRows : kFineRows;
    const auto size = [](Index n) { return static_cast<std::size_t>(n); };
    const std::unique_ptr<Turns[]> turns(new (std::nothrow) Turns[size(pairs)]);
    const std::unique_ptr<Walk[]> walks(new (std::nothrow) Walk[size(pairs)]);
    const std::unique_ptr<Work[]> work(new (std::nothrow) Work[size(2 * pairs * (fine_rows + 1))]);
    if (!turns || !walks || !work) return false;
    const auto row = [&](Index j) {
        return WorkingRow<Work>{&work[size(2 * pairs * j)], &work[size(2 * pairs * j + pairs)]};
    };
    for (Index i = 0; i < pairs; ++i) {
        const double low = f.inv_freq_low.empty() ? 0.0 : f.inv_freq_low[size(i)];
        turns[size(i)] = turns_from_radians(DoubleDouble{f.inv_freq[size(i)], low});
    }
    const auto set_step = [&](Index positions) {
        for (Index i = 0; i < pairs; ++i) walks[size(i)].step = cos_sin(turns[size(i)] * positions);
    };
    const auto start_at = [&](Index position) {
        for (Index i = 0; i < pairs; ++i) walks[size(i)].now = cos_sin(turns[size(i)] * position);
    };
    // Multiplied by a magnitude and, for xPos, by the pair's growth over so many positions. That is computed afresh for
    // each row: at an anchor, thousands of positions before the table, it might be no finite number.
    const auto put_row = [&](WorkingRow<Work> to, double magnitude, DoubleDouble growing) {
        for (Index i = 0; i < pairs; ++i) {
            DoubleDouble m = exact(magnitude);
            if (!f.log_growth.empty()) {
                const double low = f.log_growth_low.empty() ? 0.0 : f.log_growth_low[size(i)];
                m = m * exp(two_sum(f.log_growth[size(i)], low) * growing);
            }
            assign(to.cos[i], walks[size(i)].now.cos * m);
            assign(to.sin[i], walks[size(i)].now.sin * m);
        }
    };
    const auto step = [&] {
        for (Index i = 0; i < pairs; ++i) walks[size(i)].now = walks[size(i)].now * walks[size(i)].step;
    };

    set_step(1);
    start_at(0);
    for (Index j = 0; j < fine_rows; ++j, step()) put_row(row(j), 1.0, exact(j));

    set_step(kFineRows);
    const WorkingRow<Work> coarse = row(fine_rows);
    for (Index block = floor_divide(first_block, kAnchorBlocks) * kAnchorBlocks; block <= last_block; ++block, step()) {
        if (block % kAnchorBlocks == 0) start_at(block * kFineRows);
        if (block < first_block) continue;
        put_row(coarse, f.attention_factor, exact(block * kFineRows) - exact(f.centre));
        const Index begin_row = block == first_block ? first - block * kFineRows : 0;
        const Index end_row = block == last_block ? end - block * kFineRows : kFineRows;
        for (Index j = begin_row; j < end_row; ++j) {
            T* const to = out + 2 * pairs * (block * kFineRows + j - first);
            write(coarse, row(j), pairs, to, to + pairs);
        }
    }
    return true;
}

/// cos and sin of a float angle, each the nearest float.
ROPE_ABI inline CosSin<float> cos_sin_nearest(float angle) noexcept {
    // The C library's double result decides unless it lies within 2^-44 of a tie between two floats; then the
    // double-double result does. Either way the answer is the nearest float, so it is the same everywhere.
    const double c = std::cos(static_cast<double>(angle));
    const double s = std::sin(static_cast<double>(angle));
    const double margin = 0x1p-44;
    const CosSin<float> low = {static_cast<float>(c - c * margin), static_cast<float>(s - s * margin)};
    const CosSin<float> high = {static_cast<float>(c + c * margin), static_cast<float>(s + s * margin)};
    if (low.cos == high.cos && low.sin == high.sin) return low;
    const CosSin<DoubleDouble> exact = cos_sin(turns_from_radians(static_cast<double>(angle)));
    return {round_to_float(exact.cos), round_to_float(exact.sin)};
}

/// a / b and a * b, each the nearest float. In double they are right to more bits than decide the rounding of a float;
/// `opaque` keeps -ffast-math from noticing that and computing in float, by a reciprocal.
ROPE_ABI inline float nearest_quotient(float a, float b) noexcept {
    return static_cast<float>(opaque(static_cast<double>(a) / static_cast<double>(b)));
}
ROPE_ABI inline float nearest_product(float a, float b) noexcept {
    return static_cast<float>(opaque(static_cast<double>(a) * static_cast<double>(b)));
}

/// The frequency of a pair of the default schedule as eager frameworks compute it in float32, every step rounded: e =
/// 2i/d, base^e, its reciprocal, / factor.
ROPE_ABI inline float float32_frequency(const Config& config, Index pair) noexcept {
    const float base = static_cast<float>(config.base);
    const float e = nearest_quotient(static_cast<float>(2 * pair), static_cast<float>(rotary_dim(config)));
    const float power = round_to_float(pow({static_cast<double>(base), 0.0}, {static_cast<double>(e), 0.0}));
    return nearest_quotient(nearest_quotient(1.0f, power), static_cast<float>(config.interpolation_factor));
}

/// The frequencies of the float32 chain, or why there are none: a Config that is right in double may be zero or
/// infinite in float.
ROPE_ABI inline Status make_float32_frequencies(const Config& config, Index seq_len, Frequencies& result) {
    if (const Status s = make_frequencies(config, seq_len, result); !s.ok()) return s;
    const auto in_float = [](double x) { return is_positive(static_cast<double>(static_cast<float>(x))); };
    if (!in_float(config.base))
        return invalid("base is ", config.base, "; rounded to float it must be finite and above 0.");
    if (!in_float(config.interpolation_factor))
        return invalid("interpolation_factor is ", config.interpolation_factor,
                       "; rounded to float it must be finite and above 0.");
    if (!result.log_growth.empty())
        return invalid("schedule is xPos; the float32 chain has no magnitude that changes with the position.");
    const bool is_default = std::holds_alternative<schedule::Default>(config.schedule);
    for (std::size_t i = 0; i < result.inv_freq.size(); ++i) {
        double& w = result.inv_freq[i];
        w = static_cast<double>(is_default ? float32_frequency(config, static_cast<Index>(i))
                                           : round_to_float(DoubleDouble{w, result.inv_freq_low[i]}));
        if (const Status s = check_inv_freq("inv_freq", &w, 1); !s.ok())
            return invalid("inv_freq[", i, "] is ", w,
                           " in float; a frequency must be finite and of magnitude at most 2^32 radians per position.");
    }
    result.inv_freq_low.clear();
    result.attention_factor = static_cast<double>(static_cast<float>(result.attention_factor));
    return Status();
}

/// As fill_cos_sin_table, but with every step rounded to float32: float(position) * frequency, cos and sin, *
/// attention factor. The frequencies must come from make_float32_frequencies.
ROPE_ABI inline void fill_float32_chain(const Frequencies& f, Index first, Index count, float* out) noexcept {
    const Index pairs = static_cast<Index>(f.inv_freq.size());
    const float magnitude = static_cast<float>(f.attention_factor);
    for (Index i = 0; i < pairs; ++i) {
        const float frequency = static_cast<float>(f.inv_freq[static_cast<std::size_t>(i)]);
        for (Index j = 0; j < count; ++j) {
            const float angle = nearest_product(static_cast<float>(first + j), frequency);
            const CosSin<float> entry = cos_sin_nearest(angle);
            out[2 * pairs * j + i] = nearest_product(entry.cos, magnitude);
            out[2 * pairs * j + pairs + i] = nearest_product(entry.sin, magnitude);
        }
    }
}

}  // namespace detail
}  // namespace ROPE_VERSION_NAMESPACE
}  // namespace rope
