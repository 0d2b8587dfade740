// SPDX-License-Identifier: MIT
// Fills tables of cos and sin: exactly, by angle addition, or by the float32 chain of eager frameworks.
#pragma once

#include <cmath>
#include <cstddef>
#include <memory>
#include <new>

#include "../../config.hpp"
#include "../../frequencies.hpp"
#include "../../types.hpp"
#include "../angles/double_double.hpp"
#include "../angles/phase.hpp"
#include "../base/arithmetic.hpp"
#include "angle_addition.hpp"
#include "table_source.hpp"

ROPE_DETAIL_BEGIN

/// Writes rows first .. first + count - 1 to out: per row `pairs` cosines, then `pairs` sines, each multiplied by the
/// attention factor and its pair's growth, and rounded once. False without working memory (at most about kFineRows rows
/// in Work and half as many in double-double).
template <class T>
bool fill_cos_sin_table(const Frequencies& f, Index first, Index count, T* out) {
    using Angles = AngleTables<T>;
    using Work = typename Angles::Work;
    constexpr Index kRows = Angles::kFineRows, kBlocks = Angles::kAnchorBlocks;
    const WriteRow<T, Work> write = write_row<T, Work>();
    const Index pairs = static_cast<Index>(f.inv_freq.size());
    const Index end = first + count;
    const Index first_block = floor_divide(first, kRows);
    const Index last_block = floor_divide(end - 1, kRows);
    const Index last_anchor = floor_divide(last_block, kBlocks);
    const bool has_one_anchor = floor_divide(first_block, kBlocks) == last_anchor;
    Angles angles;
    if (!angles.prepare(f, first_block == last_block ? end - first_block * kRows : kRows,
                        has_one_anchor ? last_block - last_anchor * kBlocks + 1 : kBlocks))
        return false;
    const std::unique_ptr<Work[]> coarse_row(new (std::nothrow) Work[static_cast<std::size_t>(2 * pairs)]);
    if (!coarse_row) return false;
    const WorkingRow<Work> coarse = {&coarse_row[0], &coarse_row[static_cast<std::size_t>(pairs)]};
    for (Index block = first_block; block <= last_block; ++block) {
        angles.make_coarse(f, block, coarse);
        const Index begin_row = block == first_block ? first - block * kRows : 0;
        const Index end_row = block == last_block ? end - block * kRows : kRows;
        for (Index j = begin_row; j < end_row; ++j) {
            T* const to = out + 2 * pairs * (block * kRows + j - first);
            write(coarse, angles.fine(j), pairs, to, to + pairs);
        }
    }
    return true;
}

/// cos and sin of a float angle, each the nearest float.
inline CosSin<float> cos_sin_nearest(float angle) noexcept {
    // The C library's double result decides unless it lies within 2^-44 of a tie between two floats; then the
    // double-double result decides. Both give the nearest float, which is the same everywhere.
    const double c = std::cos(static_cast<double>(angle));
    const double s = std::sin(static_cast<double>(angle));
    const double margin = 0x1p-44;
    const CosSin<float> low = {static_cast<float>(c - c * margin), static_cast<float>(s - s * margin)};
    const CosSin<float> high = {static_cast<float>(c + c * margin), static_cast<float>(s + s * margin)};
    if (low.cos == high.cos && low.sin == high.sin) return low;
    const CosSin<DoubleDouble> exact = cos_sin(phase_from_radians(static_cast<double>(angle)));
    return {round_to_float(exact.cos), round_to_float(exact.sin)};
}

/// The frequency of a pair of the default schedule as eager frameworks compute it in float32, rounding every step: e =
/// 2i/d, base^e, its reciprocal, / factor.
inline float float32_frequency(const Config& config, Index pair) noexcept {
    const float base = static_cast<float>(config.base);
    const float e = nearest_quotient(static_cast<float>(2 * pair), static_cast<float>(rotary_dim(config)));
    const float power = round_to_float(pow({static_cast<double>(base), 0.0}, {static_cast<double>(e), 0.0}));
    return nearest_quotient(nearest_quotient(1.0f, power), static_cast<float>(config.interpolation_factor));
}

/// Makes the frequencies of the float32 chain from the exact ones. Refuses parameters that are valid in double, but zero
/// or infinite in float.
inline Status round_to_float32(const Config& config, Frequencies& result) noexcept {
    const auto in_float = [](double x) { return is_positive(static_cast<double>(static_cast<float>(x))); };
    if (!in_float(config.base))
        return invalid("base is {}; rounded to float it must be finite and above 0.", {config.base});
    if (!in_float(config.interpolation_factor))
        return invalid("interpolation_factor is {}; rounded to float it must be finite and above 0.",
                       {config.interpolation_factor});
    if (!result.log_growth.empty())
        return invalid("schedule is xPos; the float32 chain has no magnitude that changes with the position.");
    const bool is_default = std::holds_alternative<schedule::Default>(config.schedule) && config.log_scale.empty();
    for (std::size_t i = 0; i < result.inv_freq.size(); ++i) {
        double& w = result.inv_freq[i];
        const float chain = is_default ? float32_frequency(config, static_cast<Index>(i)) : 0.0f;
        w = static_cast<double>(!is_default          ? round_to_float(DoubleDouble{w, result.inv_freq_low[i]})
                                : config.is_reversed ? -chain
                                                     : chain);
        if (const Status s = check_inv_freq("inv_freq", &w, 1); !s.ok())
            return invalid(
                "The frequency of pair {} is {} in float; it must be finite and of magnitude at most 2^32 radians per "
                "position.",
                {i, w});
    }
    result.inv_freq_low.clear();
    result.attention_factor = static_cast<double>(static_cast<float>(result.attention_factor));
    return Status();
}

inline TableSource float32_source(const Config& config, Index seq_len) {
    TableSource s = table_source(config, seq_len);
    if (s.status.ok()) s.status = round_to_float32(config, s.f);
    s.is_float32_chain = true;
    return s;
}

/// Writes rows as fill_cos_sin_table does, but rounds every step to float32: float(position) * frequency, cos and sin,
/// times the attention factor. The frequencies must come from a float32_source.
inline void fill_float32_chain(const Frequencies& f, Index first, Index count, float* out) noexcept {
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

ROPE_DETAIL_END
