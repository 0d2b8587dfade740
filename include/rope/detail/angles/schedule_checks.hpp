// SPDX-License-Identifier: MIT
// Checks of a schedule's parameters; its name.
#pragma once

#include <cstddef>
#include <iterator>
#include <limits>
#include <optional>
#include <variant>

#include "../../errors.hpp"
#include "../../list.hpp"
#include "../../schedule.hpp"
#include "../../types.hpp"
#include "../base/bits.hpp"

#include "../base/hide_macros.hpp"

namespace rope {
inline namespace ROPE_VERSION_NAMESPACE {

ROPE_ABI inline const char* schedule_name(const Schedule& s) noexcept {
    static constexpr const char* names[] = {"default",      "ntk",   "dynamic", "yarn",         "llama3", "longrope",
                                            "proportional", "axial", "xpos",    "freq_factors", "custom"};
    static_assert(std::size(names) == std::variant_size_v<Schedule::variant>);
    return s.valueless_by_exception() ? "" : names[s.index()];
}

namespace detail {
inline namespace ROPE_DETAIL_NAMESPACE {

/// Bounds within which all schedules have finite frequencies and magnitudes.
inline constexpr double kMaxFactor = 0x1p32;
inline constexpr Index kMaxLength = Index(1) << 40;

ROPE_COLD Status check_factor(const char* name, double value) noexcept {
    if (is_finite(value) && value >= 1.0 / kMaxFactor && value <= kMaxFactor) return Status();
    return invalid("schedule.{} is {}; it must be from 2^-32 to 2^32.", {name, value});
}
ROPE_COLD Status check_number(const char* name, double value) noexcept {
    if (is_finite(value) && value >= -kMaxFactor && value <= kMaxFactor) return Status();
    return invalid("schedule.{} is {}; it must be from -2^32 to 2^32.", {name, value});
}
ROPE_COLD Status check_length(const char* name, Index value, Index least) noexcept {
    if (value >= least && value <= kMaxLength) return Status();
    return invalid("schedule.{} is {}; it must be from {} to 2^40.", {name, value, least});
}
ROPE_COLD Status check_divisors(const char* name, const List<double>& values, Index pairs) noexcept {
    if (values.size() != static_cast<std::size_t>(pairs))
        return invalid("schedule.{} has {} entries; it must have one per pair ({}).", {name, values.size(), pairs});
    for (std::size_t i = 0; i < values.size(); ++i)
        if (!is_finite(values[i]) || values[i] < 1.0 / kMaxFactor || values[i] > 1e300)
            return invalid("schedule.{}[{}] is {}; it must be from 2^-32 to 1e300.", {name, i, values[i]});
    return Status();
}
ROPE_COLD Status check_numbers(const char* name, const List<double>& values) noexcept {
    for (std::size_t i = 0; i < values.size(); ++i)
        if (!is_finite(values[i]) || values[i] < -kMaxFactor || values[i] > kMaxFactor)
            return invalid("schedule.{}[{}] is {}; it must be from -2^32 to 2^32.", {name, i, values[i]});
    return Status();
}

/// Runs the checks of one schedule and keeps the first error.
class FirstError {
 public:
    ROPE_COLD FirstError& factor(const char* name, double value) noexcept {
        return status_.ok() ? set(check_factor(name, value)) : *this;
    }
    ROPE_COLD FirstError& factor(const char* name, const std::optional<double>& value) noexcept {
        return value ? factor(name, *value) : *this;
    }
    ROPE_COLD FirstError& number(const char* name, const std::optional<double>& value) noexcept {
        return status_.ok() && value ? set(check_number(name, *value)) : *this;
    }
    ROPE_COLD FirstError& length(const char* name, Index value, Index least = 1) noexcept {
        return status_.ok() ? set(check_length(name, value, least)) : *this;
    }
    ROPE_COLD FirstError& divisors(const char* name, const List<double>& values, Index pairs) noexcept {
        return status_.ok() ? set(check_divisors(name, values, pairs)) : *this;
    }
    ROPE_COLD FirstError& numbers(const char* name, const List<double>& values) noexcept {
        return status_.ok() ? set(check_numbers(name, values)) : *this;
    }
    ROPE_COLD FirstError& source(schedule::FactorSource s) noexcept {
        return unless(s == schedule::FactorSource::factor || s == schedule::FactorSource::lengths,
                      "schedule.factor_source is {}; it must be factor (0) or lengths (1).", {static_cast<int>(s)});
    }
    ROPE_COLD FirstError& unless(bool condition, const char* sentence, Pieces pieces = {}) noexcept {
        return status_.ok() && !condition ? set(invalid(sentence, pieces)) : *this;
    }
    ROPE_COLD operator Status() const noexcept { return status_; }  // NOLINT(google-explicit-constructor)

 private:
    ROPE_COLD FirstError& set(const Status& s) noexcept {
        status_ = s;
        return *this;
    }
    Status status_;
};

/// Whether a schedule's factor is the ratio of its two lengths.
template <class S>
inline bool uses_lengths(const S& s) noexcept {
    return !s.factor || s.factor_source == schedule::FactorSource::lengths;
}

/// Calls f with the alternative that s holds. Replaces std::visit, which costs g++ 5 ms more per use.
template <class F>
inline auto visit(const F& f, const Schedule& s) {
    static_assert(std::variant_size_v<Schedule::variant> == 11);
    switch (s.index()) {
        case 1: return f(*std::get_if<1>(&s));
        case 2: return f(*std::get_if<2>(&s));
        case 3: return f(*std::get_if<3>(&s));
        case 4: return f(*std::get_if<4>(&s));
        case 5: return f(*std::get_if<5>(&s));
        case 6: return f(*std::get_if<6>(&s));
        case 7: return f(*std::get_if<7>(&s));
        case 8: return f(*std::get_if<8>(&s));
        case 9: return f(*std::get_if<9>(&s));
        case 10: return f(*std::get_if<10>(&s));
        default: return f(*std::get_if<0>(&s));
    }
}

/// One overload per schedule. `d` is rotary_dim.
struct CheckSchedule {
    Index d;
    double base;

    ROPE_COLD Status operator()(const schedule::Default&) const noexcept { return Status(); }
    ROPE_COLD Status operator()(const schedule::Ntk& s) const noexcept {
        return FirstError().factor("factor", s.factor).unless(d > 2, "rotary_dim is {}{}", {d, kNeedsFour});
    }
    ROPE_COLD Status operator()(const schedule::DynamicNtk& s) const noexcept {
        return FirstError()
            .factor("factor", s.factor)
            .unless(s.factor >= 1.0, "schedule.factor is {}; dynamic NTK needs at least 1.", {s.factor})
            .length("max_position_embeddings", s.max_position_embeddings)
            .unless(d > 2, "rotary_dim is {}{}", {d, kNeedsFour});
    }
    ROPE_COLD Status operator()(const schedule::Yarn& s) const noexcept {
        return FirstError()
            .source(s.factor_source)
            .unless(s.magnitude == schedule::YarnMagnitude::standard ||
                        s.magnitude == schedule::YarnMagnitude::deepseek ||
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
    ROPE_COLD Status operator()(const schedule::Llama3& s) const noexcept {
        return FirstError()
            .factor("factor", s.factor)
            .factor("low_freq_factor", s.low_freq_factor)
            .factor("high_freq_factor", s.high_freq_factor)
            .unless(s.high_freq_factor >= s.low_freq_factor,
                    "schedule.high_freq_factor is {}; it must be at least low_freq_factor ({}).",
                    {s.high_freq_factor, s.low_freq_factor})
            .length("original_max_position_embeddings", s.original_max_position_embeddings);
    }
    ROPE_COLD Status operator()(const schedule::LongRope& s) const noexcept {
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
    ROPE_COLD Status operator()(const schedule::Proportional& s) const noexcept {
        return FirstError()
            .unless(is_positive(s.partial_rotary_factor) && s.partial_rotary_factor <= 1.0,
                    "schedule.partial_rotary_factor is {}; it must be above 0 and at most 1.",
                    {s.partial_rotary_factor})
            .unless(s.partial_rotary_factor * static_cast<double>(d) >= 2.0,
                    "schedule.partial_rotary_factor is {}; it must leave at least one of the {} pairs to turn.",
                    {s.partial_rotary_factor, d / 2})
            .factor("factor", s.factor);
    }
    ROPE_COLD Status operator()(const schedule::Axial& s) const noexcept {
        if (s.axes >= 1 && s.axes <= d / 2 && d / 2 % s.axes == 0) return Status();
        return invalid("schedule.axes is {}; it must divide the number of pairs ({}).", {s.axes, d / 2});
    }
    ROPE_COLD Status operator()(const schedule::Xpos& s) const noexcept {
        return FirstError()
            .unless(is_finite(s.scale_base) && s.scale_base >= 2.0 && s.scale_base <= kMaxFactor,
                    "schedule.scale_base is {}; it must be from 2 to 2^32.", {s.scale_base})
            .number("centre", s.centre)
            .unless(s.side == schedule::Xpos::Side::query || s.side == schedule::Xpos::Side::key,
                    "schedule.side is {}; it must be query (0) or key (1).", {static_cast<int>(s.side)});
    }
    ROPE_COLD Status operator()(const schedule::FreqFactors& s) const noexcept {
        return check_divisors("freq_factors", s.freq_factors, d / 2);
    }
    ROPE_COLD Status operator()(const schedule::Custom& s) const noexcept {
        return FirstError()
            .unless(s.inv_freq.size() == static_cast<std::size_t>(d / 2),
                    "schedule.inv_freq has {} entries; it must have one per pair ({}).", {s.inv_freq.size(), d / 2})
            .unless(s.inv_freq_low.empty() || s.inv_freq_low.size() == s.inv_freq.size(),
                    "schedule.inv_freq_low has {} entries; it must be empty or have as many as inv_freq ({}).",
                    {s.inv_freq_low.size(), s.inv_freq.size()})
            .numbers("inv_freq", s.inv_freq)
            .numbers("inv_freq_low", s.inv_freq_low);
    }

    static constexpr const char* kNeedsFour = "; this schedule needs at least 4, because it divides by rotary_dim - 2.";
};

ROPE_COLD Status check_schedule(const Schedule& s, Index d, double base) noexcept {
    if (s.valueless_by_exception()) return invalid("schedule holds no value: assigning it has thrown.");
    return detail::visit(CheckSchedule{d, base}, s);
}

/// The longest sequence for which the frequencies of seq_len are valid.
ROPE_COLD Index longest_sequence(const schedule::DynamicNtk& s, Index seq_len) noexcept {
    return seq_len > s.max_position_embeddings ? seq_len : s.max_position_embeddings;
}
ROPE_COLD Index longest_sequence(const Schedule& s, Index seq_len) noexcept {
    if (const auto* const dynamic = std::get_if<schedule::DynamicNtk>(&s)) return longest_sequence(*dynamic, seq_len);
    const auto* const longrope = std::get_if<schedule::LongRope>(&s);
    if (longrope != nullptr && seq_len <= longrope->original_max_position_embeddings)
        return longrope->original_max_position_embeddings;
    return std::numeric_limits<Index>::max();
}

}  // namespace ROPE_DETAIL_NAMESPACE
}  // namespace detail
}  // namespace ROPE_VERSION_NAMESPACE
}  // namespace rope

#include "../base/restore_macros.hpp"
