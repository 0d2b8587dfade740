// SPDX-License-Identifier: MIT
// Whether a table can hold the frequencies of a Config, without computing all of them: a file of 200 bytes may name a
// head of 2^20 features, and another base for each of 65536 layers.
#pragma once

#include <algorithm>
#include <cmath>

#include "../../config.hpp"
#include "../../errors.hpp"
#include "../../frequencies.hpp"
#include "../../list.hpp"
#include "../../schedule.hpp"
#include "../../types.hpp"
#include "config_checks.hpp"
#include "frequencies.hpp"
#include "schedules.hpp"

ROPE_DETAIL_BEGIN

/// A schedule's frequencies are the default ones times a ratio. The number of first pairs along which the ratio rises or
/// falls, where these have all frequencies that the schedule makes; 0: each pair has a number of its own.
template <class S>
inline Index monotone_of(const S&, Index pairs) noexcept {
    return pairs;
}
inline Index monotone_of(const schedule::Axial& s, Index pairs) noexcept { return pairs / s.axes; }
inline Index monotone_of(const schedule::LongRope&, Index) noexcept { return 0; }
inline Index monotone_of(const schedule::FreqFactors&, Index) noexcept { return 0; }
inline Index monotone_of(const schedule::Custom&, Index) noexcept { return 0; }
/// The divisors of a sequence of unknown length, one per pair; null: the schedule has none.
template <class S>
inline const List<double>* divisors_of(const S&) noexcept {
    return nullptr;
}
inline const List<double>* divisors_of(const schedule::LongRope& s) noexcept { return &s.short_factor; }
inline const List<double>* divisors_of(const schedule::FreqFactors& s) noexcept { return &s.freq_factors; }

ROPE_COLD Index monotone_pairs(const Schedule& s, Index pairs) noexcept {
    return with_schedule<Index>([&](const auto& it) { return monotone_of(it, pairs); }, s);
}
ROPE_COLD const List<double>* divisors(const Schedule& s) noexcept {
    return with_schedule<const List<double>*>([](const auto& it) { return divisors_of(it); }, s);
}

/// One pair of a Config: the power of the base, the frequency, and whether a table can hold it.
struct CheckedPair {
    Index pair;
    double power = 0.0, frequency = 0.0;
    Status status = {};

    ROPE_COLD CheckedPair(const Config& config, Index i) : pair(i) {
        const Index d = rotary_dim(config);
        Frequencies f;
        status = make_frequencies(config, 0, {d, config.base, i, 1}, f);
        power = std::pow(config.base, static_cast<double>(-2 * i) / static_cast<double>(d));
        frequency = std::fabs(f.inv_freq.front());
    }
};

/// The status of the first pair from a to b, both included, that no table can hold. The power rises or falls along the
/// pairs, and so does the ratio of frequency and power: no frequency between a and b is above the larger power times
/// the larger ratio. Where that is too much, the halves are looked at.
ROPE_COLD Status check_between(const Config& config, const CheckedPair& a, const CheckedPair& b) {
    if (!a.status.ok()) return a.status;
    const double power = a.power > b.power ? a.power : b.power;
    const double ratio_a = a.frequency / a.power, ratio_b = b.frequency / b.power;
    if (b.status.ok() && power * ratio_a <= kMaxInvFreq && power * ratio_b <= kMaxInvFreq) return Status();
    if (b.pair - a.pair < 64) {
        Frequencies f;
        return make_frequencies(config, 0, {rotary_dim(config), config.base, a.pair, b.pair - a.pair + 1}, f);
    }
    const CheckedPair middle(config, a.pair + (b.pair - a.pair) / 2);
    const Status before = check_between(config, a, middle);
    return before.ok() ? check_between(config, middle, b) : before;
}

/// The status of make_frequencies for seq_len 0 and the same Config with learned factors, if it lacks them.
ROPE_COLD Status check_frequencies(const Config& config) {
    if (const Status s = check(config); !s.ok()) return s;
    const Index pairs = monotone_pairs(config.schedule, rotary_dim(config) / 2);
    if (pairs > 0 && config.log_scale.empty())
        return check_between(config, CheckedPair(config, 0), CheckedPair(config, pairs - 1));
    const List<double>* const by = divisors(config.schedule);
    if (by != nullptr && config.interpolation_factor >= 1.0 && config.log_scale.empty()) {
        const CheckedPair first(config, 0), last(config, rotary_dim(config) / 2 - 1);
        const double power = first.power > last.power ? first.power : last.power;
        if (!first.status.ok() || power / *std::min_element(by->begin(), by->end()) <= kMaxInvFreq) return first.status;
    }
    Frequencies f;
    return make_frequencies(config, 0, {rotary_dim(config), config.base}, f);
}

ROPE_DETAIL_END
