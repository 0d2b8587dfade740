// SPDX-License-Identifier: MIT
// The schedules: each has its name, its check and its formula in one place. schedule.hpp explains them.
#pragma once

#include <cmath>
#include <cstddef>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "../../schedule.hpp"
#include "double_double.hpp"
#include "schedule_parts.hpp"

ROPE_DETAIL_BEGIN

// A schedule has three functions: `name_of`; `check_parameters`, which refuses parameters; and `scheduled`, its formula,
// which must be given parameters that have passed. One that lacks any of them does not compile.

/// The longest sequence for which the frequencies of seq_len are valid; of most schedules, any.
template <class S>
inline Index longest_of(const S&, Index) noexcept {
    return kMaxIndex;
}

inline const char* name_of(const schedule::Default&) noexcept { return "default"; }
ROPE_COLD Status check_parameters(const schedule::Default&, Index, double) noexcept { return Status(); }
inline Scheduled scheduled(const schedule::Default&, const Powers& powers, Index) { return {powers.of_base()}; }

inline constexpr const char* kNeedsFour =
    "rotary_dim (or head_dim, for which a rotary_dim of 0 stands) is {}; this schedule needs at least 4, because it "
    "divides by rotary_dim - 2.";

inline const char* name_of(const schedule::Ntk&) noexcept { return "ntk"; }
ROPE_COLD Status check_parameters(const schedule::Ntk& s, Index d, double) noexcept {
    return FirstError()
        .factor("factor", s.factor)
        .factor("mixed_b", s.mixed_b)
        .unless(s.mixed_b || d > 2, kNeedsFour, {d});
}
inline Scheduled scheduled(const schedule::Ntk& s, const Powers& powers, Index) {
    if (!s.mixed_b) return {powers.with_base_times(exact(s.factor))};
    Scheduled result = {powers.of_base()};
    const DoubleDouble log_factor = log(exact(s.factor > 1.0 ? s.factor : 1.0));
    const DoubleDouble pairs = exact(powers.d / 2);
    for (std::size_t i = 0; i < result.inv_freq.size(); ++i) {
        const DoubleDouble log_share = exact(*s.mixed_b) * log(exact(static_cast<double>(powers.pair(i) + 1)) / pairs);
        if (log_share.hi < -100.0) continue;  // the divisor is 1 to 43 digits
        result.inv_freq[i] = result.inv_freq[i] * exp(-(exp(log_share) * log_factor));
    }
    return result;
}

inline const char* name_of(const schedule::DynamicNtk&) noexcept { return "dynamic"; }
ROPE_COLD Status check_parameters(const schedule::DynamicNtk& s, Index d, double) noexcept {
    return FirstError()
        .factor("factor", s.factor)
        .unless(s.factor >= 1.0, "schedule.factor is {}; dynamic NTK needs at least 1.", {s.factor})
        .length("max_position_embeddings", s.max_position_embeddings)
        .unless(d > 2, kNeedsFour, {d});
}
inline Index longest_of(const schedule::DynamicNtk& s, Index seq_len) noexcept {
    return seq_len > s.max_position_embeddings ? seq_len : s.max_position_embeddings;
}
inline Scheduled scheduled(const schedule::DynamicNtk& s, const Powers& powers, Index seq_len) {
    // factor * L / max - (factor - 1), and exactly 1 for L = max
    const Index beyond = longest_of(s, seq_len) - s.max_position_embeddings;
    const DoubleDouble growth = exact(s.factor) * (exact(beyond) / exact(s.max_position_embeddings));
    return {powers.with_base_times(exact(1.0) + growth)};
}

/// The largest whole number that is not above x.
inline DoubleDouble floor(DoubleDouble x) noexcept {
    const double hi = std::floor(x.hi);
    return hi == x.hi ? quick_two_sum(hi, std::floor(x.lo)) : exact(hi);
}

/// g(k) = log_coefficient * k * ln f + 1 for f > 1, else 1.
inline DoubleDouble yarn_magnitude(const schedule::Yarn& s, DoubleDouble f, double k) noexcept {
    if (f.hi <= 1.0) return exact(1.0);
    return exact(s.log_coefficient) * exact(k) * log(f) + exact(1.0);
}

/// DeepSeek's factor of the softmax scale, outside the rotation: g(mscale_all_dim)^2.
inline double yarn_softmax_factor(const schedule::Yarn& s) noexcept {
    const DoubleDouble g = yarn_magnitude(s, factor_of(s), s.mscale_all_dim.value_or(0.0));
    return (g * g).hi;
}

/// See schedule::YarnMagnitude.
inline DoubleDouble yarn_attention_factor(const schedule::Yarn& s, DoubleDouble f) noexcept {
    DoubleDouble m = exact(1.0);
    if (s.attention_factor) {
        m = exact(*s.attention_factor);
    } else if (s.magnitude == schedule::YarnMagnitude::deepseek) {
        m = yarn_magnitude(s, f, s.mscale.value_or(1.0)) / yarn_magnitude(s, f, s.mscale_all_dim.value_or(0.0));
    } else if (s.magnitude == schedule::YarnMagnitude::standard) {
        const double mscale = s.mscale.value_or(0.0), all_dim = s.mscale_all_dim.value_or(0.0);
        m = mscale != 0.0 && all_dim != 0.0 ? yarn_magnitude(s, f, mscale) / yarn_magnitude(s, f, all_dim)
                                            : yarn_magnitude(s, f, 1.0);
    }
    return m * exact(s.attn_factor);
}

/// The fractional index of the pair that makes r revolutions within the original context.
inline DoubleDouble yarn_pair(const schedule::Yarn& s, const Powers& powers, double r) noexcept {
    const DoubleDouble revolutions = exact(s.original_max_position_embeddings) / (kTwoPi * exact(r));
    return exact(powers.d) * log(revolutions) / (exact(2.0) * log(exact(powers.base)));
}

inline const char* name_of(const schedule::Yarn&) noexcept { return "yarn"; }
ROPE_COLD Status check_parameters(const schedule::Yarn& s, Index, double base) noexcept {
    return FirstError()
        .source(s.factor_source)
        .unless(s.magnitude == schedule::YarnMagnitude::standard || s.magnitude == schedule::YarnMagnitude::deepseek ||
                    s.magnitude == schedule::YarnMagnitude::none,
                "schedule.magnitude is {}; it must be standard (0), deepseek (1) or none (2).",
                {static_cast<int>(s.magnitude)})
        .factor("factor", s.factor)
        .length("original_max_position_embeddings", s.original_max_position_embeddings)
        .length("max_position_embeddings", uses_lengths(s) ? s.max_position_embeddings : 1)
        .factor("beta_fast", s.beta_fast)
        .factor("beta_slow", s.beta_slow)
        .unless(s.beta_fast >= s.beta_slow, "schedule.beta_fast is {}; it must be at least beta_slow ({}).",
                {s.beta_fast, s.beta_slow})
        .unless(s.extrapolation_factor >= 0.0 && s.extrapolation_factor <= 1.0,
                "schedule.extrapolation_factor is {}; it must be from 0 to 1.", {s.extrapolation_factor})
        .factor("attention_factor", s.attention_factor)
        .number("mscale", s.mscale)
        .number("mscale_all_dim", s.mscale_all_dim)
        .factor("attn_factor", s.attn_factor)
        .number("log_coefficient", s.log_coefficient)
        .unless(base > 1.0, "base is {}; YaRN needs a base above 1, because it divides by its logarithm.", {base});
}
inline Scheduled scheduled(const schedule::Yarn& s, const Powers& powers, Index) {
    Scheduled result = {powers.of_base()};
    const DoubleDouble f = factor_of(s);
    DoubleDouble low = yarn_pair(s, powers, s.beta_fast), high = yarn_pair(s, powers, s.beta_slow);
    if (s.truncate) {
        low = floor(low);
        high = -floor(-high);
    }
    if (low.hi < 0.0) low = exact(0.0);
    if ((exact(powers.d - 1) - high).hi < 0.0) high = exact(powers.d - 1);
    if ((high - low).hi == 0.0) high = high + exact(1.0) / exact(1000.0);  // as published: no division by zero
    for (std::size_t i = 0; i < result.inv_freq.size(); ++i) {
        DoubleDouble& w = result.inv_freq[i];
        DoubleDouble ramp = (exact(static_cast<double>(powers.pair(i))) - low) / (high - low);
        if (ramp.hi < 0.0) ramp = exact(0.0);
        if (ramp.hi > 1.0) ramp = exact(1.0);
        const DoubleDouble keep = exact(s.extrapolation_factor) * (exact(1.0) - ramp);
        w = w / f * (exact(1.0) - keep) + w * keep;
    }
    result.attention_factor = yarn_attention_factor(s, f);
    return result;
}

inline const char* name_of(const schedule::Llama3&) noexcept { return "llama3"; }
ROPE_COLD Status check_parameters(const schedule::Llama3& s, Index, double) noexcept {
    return FirstError()
        .factor("factor", s.factor)
        .factor("low_freq_factor", s.low_freq_factor)
        .factor("high_freq_factor", s.high_freq_factor)
        .unless(s.high_freq_factor >= s.low_freq_factor,
                "schedule.high_freq_factor is {}; it must be at least low_freq_factor ({}).",
                {s.high_freq_factor, s.low_freq_factor})
        .length("original_max_position_embeddings", s.original_max_position_embeddings);
}
inline Scheduled scheduled(const schedule::Llama3& s, const Powers& powers, Index) {
    Scheduled result = {powers.of_base()};
    const DoubleDouble original = exact(s.original_max_position_embeddings);
    const DoubleDouble low = exact(s.low_freq_factor), high = exact(s.high_freq_factor);
    for (DoubleDouble& w : result.inv_freq) {
        const DoubleDouble revolutions = original * w / kTwoPi;  // revolutions within the original context
        const double above_low = (revolutions - low).hi, above_high = (revolutions - high).hi;
        if (above_high > 0.0) continue;
        const DoubleDouble slow = w / exact(s.factor);
        if (above_low < 0.0) {
            w = slow;
        } else if (s.high_freq_factor > s.low_freq_factor) {
            const DoubleDouble smooth = (revolutions - low) / (high - low);
            w = (exact(1.0) - smooth) * slow + smooth * w;
        }
    }
    return result;
}

inline const char* name_of(const schedule::LongRope&) noexcept { return "longrope"; }
ROPE_COLD Status check_parameters(const schedule::LongRope& s, Index d, double) noexcept {
    const bool has_magnitude = s.attention_factor || (s.short_mscale && s.long_mscale);
    return FirstError()
        .source(s.factor_source)
        .divisors("short_factor", s.short_factor, d / 2)
        .divisors("long_factor", s.long_factor, d / 2)
        .length("original_max_position_embeddings", s.original_max_position_embeddings, 2)
        .length("max_position_embeddings", uses_lengths(s) && !has_magnitude ? s.max_position_embeddings : 1)
        .factor("factor", s.factor)
        .factor("attention_factor", s.attention_factor)
        .factor("short_mscale", s.short_mscale)
        .factor("long_mscale", s.long_mscale);
}
inline Index longest_of(const schedule::LongRope& s, Index seq_len) noexcept {
    const Index original = s.original_max_position_embeddings;
    return seq_len <= original ? original : kMaxIndex;
}
inline Scheduled scheduled(const schedule::LongRope& s, const Powers& powers, Index seq_len) {
    const bool is_long = seq_len > s.original_max_position_embeddings;
    const std::optional<double>& own = is_long ? s.long_mscale : s.short_mscale;
    Scheduled result = {powers.divided_by(is_long ? s.long_factor : s.short_factor)};
    if (s.attention_factor || own) {
        result.attention_factor = exact(s.attention_factor ? *s.attention_factor : *own);
    } else if (const DoubleDouble f = factor_of(s); f.hi > 1.0) {
        const DoubleDouble square = exact(1.0) + log(f) / log(exact(s.original_max_position_embeddings));
        result.attention_factor = exp(exact(0.5) * log(square));
    }
    return result;
}

inline const char* name_of(const schedule::Proportional&) noexcept { return "proportional"; }
ROPE_COLD Status check_parameters(const schedule::Proportional& s, Index d, double) noexcept {
    return FirstError()
        .unless(is_positive(s.partial_rotary_factor) && s.partial_rotary_factor <= 1.0,
                "schedule.partial_rotary_factor is {}; it must be above 0 and at most 1.", {s.partial_rotary_factor})
        .unless(s.partial_rotary_factor * static_cast<double>(d) >= 2.0,
                "schedule.partial_rotary_factor is {}; it must leave at least one of the {} {pair|pairs} to rotate.",
                {s.partial_rotary_factor, d / 2})
        .factor("factor", s.factor);
}
inline Scheduled scheduled(const schedule::Proportional& s, const Powers& powers, Index) {
    Scheduled result = {powers.of_base()};
    const double rotated = std::floor(s.partial_rotary_factor * static_cast<double>(powers.d) / 2.0);
    for (std::size_t i = 0; i < result.inv_freq.size(); ++i)
        result.inv_freq[i] =
            static_cast<double>(powers.pair(i)) < rotated ? result.inv_freq[i] / exact(s.factor) : DoubleDouble();
    return result;
}

inline const char* name_of(const schedule::Axial&) noexcept { return "axial"; }
ROPE_COLD Status check_parameters(const schedule::Axial& s, Index d, double) noexcept {
    if (s.axes >= 1 && s.axes <= d / 2 && d / 2 % s.axes == 0) return Status();
    return invalid("schedule.axes is {}; it must divide the number of pairs ({}).", {s.axes, d / 2});
}
inline Scheduled scheduled(const schedule::Axial& s, const Powers& powers, Index) {
    return {powers.of(log(exact(powers.base)), powers.d / s.axes)};
}

inline const char* name_of(const schedule::Xpos&) noexcept { return "xpos"; }
ROPE_COLD Status check_parameters(const schedule::Xpos& s, Index, double) noexcept {
    return FirstError()
        .unless(is_finite(s.scale_base) && s.scale_base >= 2.0 && s.scale_base <= kMaxFactor,
                "schedule.scale_base is {}; it must be from 2 to 2^32.", {s.scale_base})
        .number("centre", s.centre)
        .unless(s.side == schedule::Xpos::Side::query || s.side == schedule::Xpos::Side::key,
                "schedule.side is {}; it must be query (0) or key (1).", {static_cast<int>(s.side)});
}
inline Scheduled scheduled(const schedule::Xpos& s, const Powers& powers, Index) {
    Scheduled result = {powers.of_base()};
    result.centre = s.centre;
    const double side = s.side == schedule::Xpos::Side::query ? 1.0 : -1.0;
    for (Index i = powers.first; i < powers.first + powers.count; ++i) {
        // (2i + 0.4 d) / (1.4 d), without the rounding of 0.4 and 1.4
        const DoubleDouble zeta = exact(10 * i + 2 * powers.d) / exact(7 * powers.d);
        result.log_growth.push_back(log(zeta) / exact(side * s.scale_base));
    }
    return result;
}

inline const char* name_of(const schedule::FreqFactors&) noexcept { return "freq_factors"; }
ROPE_COLD Status check_parameters(const schedule::FreqFactors& s, Index d, double) noexcept {
    return FirstError().divisors("freq_factors", s.freq_factors, d / 2);
}
inline Scheduled scheduled(const schedule::FreqFactors& s, const Powers& powers, Index) {
    return {powers.divided_by(s.freq_factors)};
}

inline const char* name_of(const schedule::Custom&) noexcept { return "custom"; }
ROPE_COLD Status check_parameters(const schedule::Custom& s, Index d, double) noexcept {
    return FirstError()
        .unless(s.inv_freq.size() == static_cast<std::size_t>(d / 2),
                "schedule.inv_freq has {} {entry|entries}; it must have one per pair ({}).", {s.inv_freq.size(), d / 2})
        .unless(s.inv_freq_low.empty() || s.inv_freq_low.size() == s.inv_freq.size(),
                "schedule.inv_freq_low has {} {entry|entries}; it must be empty or have as many as inv_freq ({}).",
                {s.inv_freq_low.size(), s.inv_freq.size()})
        .numbers("inv_freq", s.inv_freq)
        .numbers("inv_freq_low", s.inv_freq_low);
}
inline Scheduled scheduled(const schedule::Custom& s, const Powers& powers, Index) {
    Scheduled result;
    for (std::size_t k = 0; k < static_cast<std::size_t>(powers.count); ++k) {
        const std::size_t i = powers.pair(k);
        result.inv_freq.push_back(two_sum(s.inv_freq[i], s.inv_freq_low.empty() ? 0.0 : s.inv_freq_low[i]));
    }
    return result;
}

/// Calls f with the alternative that a Schedule holds, and returns its result; R() if it holds none. Replaces std::visit,
/// which costs g++ 5 ms more per use.
template <class R, class F, std::size_t... i>
inline R with_schedule(const F& f, const Schedule::variant& s, std::index_sequence<i...>) {
    R result = R();
    (void)((s.index() == i && ((void)(result = f(*std::get_if<i>(&s))), true)) || ...);
    return result;
}
template <class R, class F>
inline R with_schedule(const F& f, const Schedule& s) {
    return with_schedule<R>(f, s, std::make_index_sequence<std::variant_size_v<Schedule::variant>>());
}

ROPE_COLD Status check_schedule(const Schedule& s, Index d, double base) noexcept {
    if (s.valueless_by_exception()) return invalid("schedule holds no value: assigning it has thrown.");
    return with_schedule<Status>([&](const auto& it) { return check_parameters(it, d, base); }, s);
}
inline Scheduled make_schedule(const Schedule& s, const Powers& powers, Index seq_len) {
    return with_schedule<Scheduled>([&](const auto& it) { return scheduled(it, powers, seq_len); }, s);
}
ROPE_COLD Index longest_sequence(const Schedule& s, Index seq_len) noexcept {
    return with_schedule<Index>([&](const auto& it) { return longest_of(it, seq_len); }, s);
}

ROPE_DETAIL_END

#if ROPE_HAS_DEFINITIONS
ROPE_BEGIN

ROPE_API const char* schedule_name(const Schedule& s) noexcept {
    const char* const name = detail::with_schedule<const char*>([](const auto& it) { return detail::name_of(it); }, s);
    return name != nullptr ? name : "";
}

ROPE_END
#endif
