// SPDX-License-Identifier: MIT
// The texts of <rope/testing.hpp>: errors about its arguments, and a report.
#pragma once

#include <cstddef>
#include <string>
#include <utility>

#include "../../config.hpp"
#include "../../errors.hpp"
#include "../../frequencies.hpp"
#include "../../testing.hpp"
#include "../base/digits.hpp"
#include "calls.hpp"

ROPE_BEGIN
namespace testing {

ROPE_ABI inline Model::Model(const Config& c, Index length)
    : slice{c.head_dim, c.rotary_offset}, config(c), seq_len(length), has_config(true) {
    unusable = rope::detail::make_frequencies(c, length, frequencies);
}

ROPE_ABI inline Model::Model(Frequencies f, HeadSlice s) : frequencies(static_cast<Frequencies&&>(f)), slice(s) {
    if (slice.head_dim == 0) slice.head_dim = 2 * static_cast<Index>(frequencies.inv_freq.size());
}

ROPE_ABI inline bool Report::ok() const noexcept {
    return complete && dense.ok() && scores.ok() && norms.ok() && inverse.ok() && outside.ok() && alone.ok();
}

ROPE_ABI inline Status check(const Model& model, const Options& options) noexcept {
    using rope::detail::invalid;
    using rope::detail::is_finite;
    constexpr Index kMost = 4096;
    constexpr Index kMaxTestedPosition = 2147483647;
    if (!model.unusable.ok()) return model.unusable;
    if (const Status s = rope::check(model.frequencies); !s.ok()) return s;
    if (!model.frequencies.log_growth.empty())
        return invalid(
            "log_growth has {} {entry|entries}; a measured rotation must have one magnitude (none that grows with the "
            "position).",
            {model.frequencies.log_growth.size()});
    const HeadSlice& slice = model.slice;
    const Index rotary_dim = 2 * static_cast<Index>(model.frequencies.inv_freq.size());
    if (const Status s = rope::detail::check_slice(slice.head_dim, rotary_dim, slice.rotary_offset); !s.ok()) return s;
    if (slice.head_dim > kMost)
        return invalid(
            "head_dim is {}; a measured rotation must have at most {}, because the dense matrix has head_dim^2 "
            "entries.",
            {slice.head_dim, kMost});
    if (options.heads < 1 || options.heads > kMost)
        return invalid("options.heads is {}; it must be from 1 to {}.", {options.heads, kMost});
    if (options.positions.empty() && (options.seq < 1 || options.seq > kMost))
        return invalid("options.seq is {}; it must be from 1 to {}.", {options.seq, kMost});
    if (options.positions.size() > static_cast<std::size_t>(kMost))
        return invalid("options.positions has {} {entry|entries}; it must have at most {}.",
                       {options.positions.size(), kMost});
    if (options.max_position < 1 || options.max_position > kMaxTestedPosition)
        return invalid("options.max_position is {}; it must be from 1 to {}.",
                       {options.max_position, kMaxTestedPosition});
    for (std::size_t i = 0; i < options.positions.size(); ++i)
        if (options.positions[i] < 0 || options.positions[i] > options.max_position)
            return invalid("options.positions[{}] is {}; it must be from 0 to options.max_position ({}).",
                           {i, options.positions[i], options.max_position});
    for (std::size_t i = 0; i < options.shifts.size(); ++i)
        if (options.shifts[i] < 1)
            return invalid("options.shifts[{}] is {}; it must be at least 1.", {i, options.shifts[i]});
    if (!rope::detail::is_positive(options.tolerance) || options.tolerance > 0x1p24)
        return invalid("options.tolerance is {}; it must be above 0 and at most 2^24 units of rounding.",
                       {options.tolerance});
    if (!is_finite(options.angle_epsilon) || options.angle_epsilon < 0.0 || options.angle_epsilon > 1.0)
        return invalid("options.angle_epsilon is {}; it must be from 0 to 1.", {options.angle_epsilon});
    return Status();
}

namespace detail_testing {

ROPE_ABI inline std::string shown(double x) {
    char digits[32] = "not finite";
    if (rope::detail::is_finite(x)) rope::detail::write_number(x, 6, digits);
    return digits;
}

ROPE_ABI inline std::string line_of(const char* name, const Measurement& m) {
    std::string text = std::string("  ") + name;
    if (!m.measured) return text + "not measured\n";
    text += m.ok() ? "ok      " : "FAILED  ";
    text += m.value < kNotFinite / 2 ? shown(m.value) : "not finite";
    text += " (at most " + shown(m.bound) + ")";
    if (m.value <= 0.0) return text + "\n";
    text += " at";
    const bool around = m.where.head < 0;  // only elements outside the buffer belong to no head
    if (around) text += m.where.token < 0 ? " before the buffer" : " after the buffer";
    const std::pair<const char*, Index> parts[] = {{" token ", m.where.token},       {" key token ", m.where.key_token},
                                                   {" position ", m.where.position}, {" shift ", m.where.shift},
                                                   {" head ", m.where.head},         {" feature ", m.where.feature},
                                                   {" pair ", m.where.pair}};
    for (const auto& [name_of_part, index] : parts)
        if (!around && index >= 0) text += name_of_part + std::to_string(index);
    return text + ": expected " + shown(m.expected) + ", got " + shown(m.got) + "\n";
}

}  // namespace detail_testing

ROPE_ABI inline std::string to_string(const Report& report) {
    using detail_testing::line_of;
    using detail_testing::shown;
    if (!report.complete) return "nothing was measured: the arguments were refused\n";
    std::string text = report.subject + (report.ok() ? ": ok\n" : ": FAILED\n");
    text += line_of("dense matrix  ", report.dense);
    if (report.dense.measured)
        text += "                        " + shown(report.dense.epsilons) +
                " epsilons of m (|a| + |b|); largest difference anywhere " + shown(report.dense.largest) + "\n";
    text += line_of("score shift   ", report.scores);
    text += line_of("norm          ", report.norms);
    text += line_of("inverse       ", report.inverse);
    text += line_of("outside       ", report.outside);
    text += line_of("token alone   ", report.alone);
    if (!report.diagnosis.empty()) text += "  " + report.diagnosis + "\n";
    return text;
}

}  // namespace testing
ROPE_END
