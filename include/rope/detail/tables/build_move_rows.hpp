// SPDX-License-Identifier: MIT
// Definitions of MoveRows.
#pragma once

#include <algorithm>
#include <cstddef>
#include <utility>

#include "../../axis_map.hpp"
#include "../../errors.hpp"
#include "../../frequencies.hpp"
#include "../../positions.hpp"
#include "../../types.hpp"
#include "../angles/double_double.hpp"
#include "../base/executor.hpp"
#include "../positions/position_checks.hpp"
#include "build_token_rows.hpp"
#include "move_rows.hpp"
#include "row_builder.hpp"
#include "schedule_rows.hpp"
#include "table_source.hpp"

ROPE_DETAIL_BEGIN

/// Requires both Configs to rotate the same features.
inline Status check_features(const TableSource& of_old, const TableSource& of_new) noexcept {
    const auto differ = [](const char* name, auto a, auto b) {
        return invalid(
            "{} is {} in the old Config and {} in the new one; a move cannot change which features rotate together.",
            {name, a, b});
    };
    const std::size_t a = 2 * of_old.f.inv_freq.size(), b = 2 * of_new.f.inv_freq.size();
    if (of_old.slice.head_dim != of_new.slice.head_dim)
        return differ("head_dim", of_old.slice.head_dim, of_new.slice.head_dim);
    if (a != b) return differ("rotary_dim", a, b);
    if (of_old.slice.rotary_offset != of_new.slice.rotary_offset)
        return differ("rotary_offset", of_old.slice.rotary_offset, of_new.slice.rotary_offset);
    const auto name = [](Layout layout) { return layout == Layout::interleaved ? "interleaved" : "half_split"; };
    if (of_old.layout && of_new.layout && *of_old.layout != *of_new.layout)
        return differ("layout", name(*of_old.layout), name(*of_new.layout));
    return Status();
}

/// Requires two sources, each valid by itself, that fit one another and the map.
inline Status check_moves(const TableSource& of_old, const TableSource& of_new, const AxisMap& map) noexcept {
    if (of_new.schedule != nullptr) {
        if (const Status s = check_features(of_old, of_new); !s.ok()) return s;
        if (const Status s = check_is_not_mixed(of_new, map); !s.ok()) return s;
    }
    if (of_old.f.inv_freq.size() != of_new.f.inv_freq.size())
        return invalid(
            "inv_freq has {} {entry|entries} in the old frequencies and {} in the new ones; a move cannot change which "
            "features rotate together.",
            {of_old.f.inv_freq.size(), of_new.f.inv_freq.size()});
    const double a = of_old.f.attention_factor, b = of_new.f.attention_factor;
    if (b < 0x1p-32 * a || b > 0x1p32 * a)
        return invalid(
            "attention_factor is {} in the old frequencies and {} in the new ones; that must be 2^-32 to 2^32 "
            "times as much.",
            {a, b});
    return check_map(of_new, map, std::max(of_old.f.log_growth.size(), of_new.f.log_growth.size()));
}

ROPE_DETAIL_END

ROPE_SOURCE_BEGIN

/// Within one schedule a move is the row of position q - p, whose magnitude begins at 1.
template <class T>
ROPE_API MoveRows<T>::MoveRows(const GivenSource& given, AxisMap&& map) : TokenRows<T>("table of moves", false) {
    TableSource source = table_source(given);
    ok_or_raise(source.status);
    ok_or_raise(check_map(source, map, source.f.log_growth.size()));
    source.f.attention_factor = 1.0;
    source.f.centre = 0.0;
    this->builder_->make({}, source, std::move(map));
}

/// Between two it is the product of the new row of position q and the old one of -p, whose magnitude is the
/// reciprocal of the magnitude at p.
template <class T>
ROPE_API MoveRows<T>::MoveRows(const GivenSource& given_old, const GivenSource& given_new, AxisMap&& map)
    : TokenRows<T>("table of moves", true) {
    TableSource of_old = table_source(given_old), of_new = table_source(given_new);
    ok_or_raise(of_old.status);
    ok_or_raise(of_new.status);
    ok_or_raise(check_moves(of_old, of_new, map));
    Frequencies& from = of_old.f;
    of_new.f.attention_factor = (exact(of_new.f.attention_factor) / exact(from.attention_factor)).hi;
    from.attention_factor = 1.0;
    from.centre = -from.centre;
    if (!of_new.layout) of_new.layout = of_old.layout;
    this->builder_->make(of_old, of_new, std::move(map));
}

template <class T>
ROPE_API void MoveRows<T>::build_by(Index delta) {
    ok_or_raise(check_delta(delta, this->builder_->has_two_));
    const auto move = [delta](Index, Index) { return Move{{0, 0.0}, {delta, 0.0}}; };
    this->builder_->build_rows(1, 1, false, kCallingThread, move);
    this->source_.stride = 0;
    this->count_ = kEveryToken;
}
template <class T>
ROPE_API void MoveRows<T>::build_by(const Positions& deltas, Index seq, Index batch, const AnyExecutor& executor) {
    RowBuilder<T>& builder = *this->builder_;
    ok_or_raise(check_tokens(seq, batch));
    ok_or_raise(check_deltas(deltas, seq, batch, builder.has_two_));
    builder.build_rows(seq, batch, builder.map_.is_mixed, executor, [&](Index, Index token) {
        return Move{{0, 0.0}, position_of(deltas, 0, token, seq)};
    });
}
template <class T>
ROPE_API void MoveRows<T>::build_between(const Positions& from, const Positions& to, Index seq, Index batch,
                                         const AnyExecutor& executor) {
    this->builder_->build_between(from, to, seq, batch, executor);
}
template <class T>
ROPE_API void MoveRows<T>::build_between(const AxisPositions& from, const AxisPositions& to, Index seq, Index batch,
                                         const AnyExecutor& executor) {
    this->builder_->build_between(from, to, seq, batch, executor);
}

ROPE_SOURCE_END
