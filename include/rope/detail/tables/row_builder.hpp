// SPDX-License-Identifier: MIT
// RowBuilder: stores and writes the rows of a TokenRows.
#pragma once

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstddef>
#include <memory>
#include <new>
#include <utility>

#include "../../axis_map.hpp"
#include "../../axis_positions.hpp"
#include "../../errors.hpp"
#include "../../frequencies.hpp"
#include "../../list.hpp"
#include "../../positions.hpp"
#include "../../types.hpp"
#include "../base/containers.hpp"
#include "../base/executor.hpp"
#include "../positions/axis_map.hpp"
#include "../positions/position_checks.hpp"
#include "schedule_rows.hpp"
#include "table_memory.hpp"
#include "table_source.hpp"
#include "token_rows.hpp"

ROPE_DETAIL_BEGIN

/// The position of a token on an axis. Positions are the same on all.
inline AxisPosition position_of(const Positions& p, Index, Index token, Index seq) noexcept {
    return {p.at(token / seq, token % seq, seq), 0.0};
}
inline AxisPosition position_of(const AxisPositions& p, Index axis, Index token, Index) noexcept {
    return p.at(axis, token);
}
inline bool is_fractional(const Positions&) noexcept { return false; }
inline bool is_fractional(const AxisPositions& p) noexcept { return p.is_fractional(); }

ROPE_DETAIL_END

ROPE_SOURCE_BEGIN

/// Builds the rows of a TokenRows, for the angle between two positions; for Rows, the old position is 0.
template <class T>
class RowBuilder {
 public:
    RowBuilder(TokenRows<T>& rows, bool has_two) noexcept : has_two_(has_two), rows_(rows) {}

    // The functions of TokenRows and MoveRows.
    void use_memory(T* memory, Index rows) noexcept {
        memory_ = memory;
        room_ = memory != nullptr ? rows : 0;
        own_.reset();
        forget();
    }
    /// Prepares the coarse and fine rows of sources that have passed their checks; with one schedule, of the new one.
    void make(const TableSource& of_old, const TableSource& of_new, AxisMap&& map) {
        const Index entries = static_cast<Index>(of_new.f.inv_freq.size());
        const Index pairs = map.is_mixed ? entries / map.axes : entries;
        HeadSlice slice = of_new.slice;
        const Index heads = of_new.heads, of_head = heads > 0 ? pairs / heads : pairs;
        ok_or_raise(check_heads(heads, entries, map.is_mixed ? map.axes : 1));
        ok_or_raise(check_slice(slice, of_head));
        if (!map.is_mixed) order_ = axis_order(map, pairs);
        if (!new_.prepare(of_new.f, last_position(of_new), order_, map.is_mixed) ||
            (has_two_ && !old_.prepare(of_old.f, last_position(of_old), order_, map.is_mixed)))
            refuse(
                out_of_memory("There is no memory for what rows of {} {entry|entries} are built from.", {2 * pairs}));
        if (!has_two_) old_.last = new_.last;
        map_ = std::move(map);
        pairs_ = pairs;
        rows_.describe(of_new, slice, of_head);
        rows_.heads_ = heads;
        rows_.grows_ = rows_.grows_ || !old_.f.log_growth.empty();
    }

    /// Other frequencies for the same pairs, in the same memory; the rows of the old ones are discarded. For rows of
    /// one schedule.
    void replace_frequencies(const Frequencies& f) {
        ok_or_raise(check(f));
        ok_or_raise(check_replacement(f));
        forget();
        new_.prepare(f, kMaxPosition, order_, map_.is_mixed);  // there is memory
        old_.last = new_.last;
        rows_.attention_factor_ = f.attention_factor;
    }

    /// Builds the rows of positions, given as Positions or AxisPositions.
    template <class Given>
    void build_at(const Given& given, Index seq, Index batch, const AnyExecutor& executor) {
        ok_or_raise(check_tokens(seq, batch));
        ok_or_raise(check_positions("", given, map_.axes, seq, batch, new_.last));
        const auto position = [&](Index axis, Index token) {
            const AxisPosition p = position_of(given, axis, token, seq);
            return static_cast<double>(p.whole) + p.part;  // exact: it was one number
        };
        if (has_rows_of(seq, batch, position)) return;
        build_rows(seq, batch, map_.is_mixed || is_fractional(given), executor, [&](Index axis, Index token) {
            return Move{{0, 0.0}, position_of(given, axis, token, seq)};
        });
        remember(position);
    }

    /// Builds the rows of moves between positions, given as Positions or AxisPositions.
    template <class Given>
    void build_between(const Given& from, const Given& to, Index seq, Index batch, const AnyExecutor& executor) {
        ok_or_raise(check_tokens(seq, batch));
        ok_or_raise(check_positions("old_", from, map_.axes, seq, batch, old_.last));
        ok_or_raise(check_positions("new_", to, map_.axes, seq, batch, new_.last));
        const bool is_slow = map_.is_mixed || is_fractional(from) || is_fractional(to);
        build_rows(seq, batch, is_slow, executor, [&](Index axis, Index token) {
            return Move{position_of(from, axis, token, seq), position_of(to, axis, token, seq)};
        });
    }

    /// Builds the rows of move_of(axis, token), whose positions have passed their checks.
    /// is_slow: most entries are computed one by one.
    template <class MoveOf>
    void build_rows(Index seq, Index batch, bool is_slow, const AnyExecutor& executor, const MoveOf& move_of) {
        const Index tokens = batch * seq;
        ok_or_raise(check_growth_of(tokens, move_of));
        make_room(tokens);
        T* const to = memory_ != nullptr ? memory_ : own_.get();
        forget();
        release();
        // This thread makes coarse rows for as many tokens as fit; then the executor writes the rows of these tokens.
        Index begin = 0;
        bool is_complete = true;
        for (Index t = 0; t < tokens; ++t) {
            if (map_.is_mixed || provide(t, move_of)) continue;
            is_complete = write_rows(to, begin, t, is_slow, executor, move_of) && is_complete;
            begin = t;
            release();
            provide(t, move_of);
        }
        is_complete_ = write_rows(to, begin, tokens, is_slow, executor, move_of) && is_complete;
        const Index entry = batch > 1 ? seq : 0;
        if (tokens > 0) rows_.source_ = {to, to + pairs_, 2 * pairs_, 0, entry, nullptr, 0, rows_.heads_, rows_.pairs_};
        rows_.count_ = batch > 0 ? seq : 0;
        rows_.batch_ = batch > 1 ? batch : 0;
        rows_.rows_ = tokens;
    }

    // A token that moves from p to q has the angle q * w_new - p * w_old, and the magnitude of new_ at q times the
    // magnitude of old_ at -p. With one schedule, its row is the row of new_ at q - p.
    ScheduleRows<T> new_, old_;
    const bool has_two_;
    AxisMap map_;

 private:
    using Work = typename WorkingType<T>::type;
    using Row = WorkingRow<Work>;
    using Run = AxisOrder::Run;

    /// Whether these are the positions of the last build. What a caller's memory holds is not known.
    template <class PositionOf>
    bool has_rows_of(Index seq, Index batch, const PositionOf& position) const noexcept {
        if (!is_remembered_ || seq != rows_.count_ || (batch > 1 ? batch : 0) != rows_.batch_ ||
            seq * batch != rows_.rows_)
            return false;
        const Index tokens = rows_.rows_;
        for (Index axis = 0; axis < map_.axes; ++axis)
            for (Index token = 0; token < tokens; ++token)
                if (positions_[static_cast<std::size_t>(axis * tokens + token)] != position(axis, token)) return false;
        return true;
    }
    template <class PositionOf>
    void remember(const PositionOf& position) noexcept {
        is_remembered_ = is_complete_ && memory_ == nullptr;
        if (!is_remembered_) return;
        const Index tokens = rows_.rows_;
        for (Index axis = 0; axis < map_.axes; ++axis)
            for (Index token = 0; token < tokens; ++token)
                positions_[static_cast<std::size_t>(axis * tokens + token)] = position(axis, token);
    }

    void forget() noexcept {
        is_remembered_ = false;
        rows_.source_ = {};
        rows_.count_ = rows_.batch_ = rows_.rows_ = 0;
    }

    static Status check_heads(Index heads, Index entries, Index axes) noexcept {
        if (heads == 0 || (heads > 0 && heads <= entries && entries % (heads * axes) == 0)) return Status();
        return invalid("heads is {}; inv_freq has {} {entry|entries}, as many for each head{}, or heads is 0.",
                       {heads, entries, axes > 1 ? " on each axis" : ""});
    }
    Status check_replacement(const Frequencies& by) const noexcept {
        const std::size_t entries = new_.f.inv_freq.size(), growing = new_.f.log_growth.size();
        if (by.inv_freq.size() != entries)
            return invalid("inv_freq has {} {entry|entries}; these rows were made for {}.",
                           {by.inv_freq.size(), entries});
        if (by.log_growth.size() != growing)
            return invalid("log_growth has {} {entry|entries}; these rows were made for {}.",
                           {by.log_growth.size(), growing});
        return Status();
    }

    /// Requires growing magnitudes (xPos) to stay within kMaxGrowth.
    template <class MoveOf>
    Status check_growth_of(Index tokens, const MoveOf& move_of) const noexcept {
        if (!rows_.grows_) return Status();
        const auto largest = [](const List<double>& growth) {
            double most = 0.0;
            for (const double g : growth) most = std::max(most, std::fabs(g));
            return most;
        };
        const double new_most = largest(new_.f.log_growth), old_most = largest(old_.f.log_growth);
        const auto at = [](AxisPosition p) { return static_cast<double>(p.whole) + p.part; };
        for (Index axis = 0; axis < map_.axes; ++axis)
            for (Index token = 0; token < tokens; ++token) {
                const Move m = move_of(axis, token);
                const double begin = new_.f.centre + (has_two_ ? 0.0 : at(m.from));
                const double by_new = std::fabs(at(m.to) - begin), by_old = std::fabs(at(m.from) + old_.f.centre);
                if (new_most * by_new + old_most * by_old <= kMaxGrowth) continue;
                const Status s = check_growth_between(new_.f.log_growth, by_new, old_.f.log_growth, by_old, order_);
                if (!s.ok()) return s;
            }
        return Status();
    }

    /// Ensures memory for so many rows.
    void make_room(Index rows) {
        if (rows <= room_) return;
        if (memory_ != nullptr)
            refuse(invalid("batch * seq is {}; the memory given to use_memory holds {} {row|rows}.", {rows, room_}));
        ok_or_raise(check_table_size("batch * seq", rows, rows, 2 * pairs_, sizeof(T)));
        std::shared_ptr<T[]> memory;
        std::unique_ptr<double[]> positions;
        const auto allocate = [&](Index room) {
            memory = table_memory<T>(room, 2 * pairs_);
            positions.reset(new (std::nothrow) double[static_cast<std::size_t>(room * map_.axes)]);
            return memory != nullptr && positions != nullptr;
        };
        Index room = 2 * room_;  // so that rows that grow token by token are seldom moved
        if (room <= rows || !table_can_be(room, 2 * pairs_, sizeof(T)) || !allocate(room)) {
            room = rows;
            if (!allocate(room)) refuse(no_memory(rows, 2 * pairs_, sizeof(T)));
        }
        room_ = room;
        own_ = std::move(memory);
        positions_ = std::move(positions);
    }

    /// Whether angle addition of coarse and fine rows gives the row of a move. (With one schedule, a fraction that both
    /// positions have cancels.)
    bool is_whole(const Move& m) const noexcept {
        return has_two_ ? m.from.part == 0.0 && m.to.part == 0.0 : m.from.part == m.to.part;
    }

    /// Ensures that the coarse rows of a token are present; false if there is no room for one.
    template <class MoveOf>
    bool provide(Index token, const MoveOf& move_of) {
        for (Index axis = 0; axis < map_.axes; ++axis) {
            const Move m = move_of(axis, token);
            if (!is_whole(m)) continue;
            if (!new_.provide(has_two_ ? m.to.whole : m.to.whole - m.from.whole)) return false;
            if (has_two_ && !old_.provide(-m.from.whole)) return false;
        }
        return true;
    }
    void release() noexcept {
        new_.coarse.release();
        old_.coarse.release();
    }

    /// Writes rows begin .. end - 1. The executor gets large calls, cut into pieces of about kItemBytes. False if it has
    /// left some out.
    template <class MoveOf>
    bool write_rows(T* to, Index begin, Index end, bool is_slow, const AnyExecutor& executor,
                    const MoveOf& move_of) const {
        constexpr Index slow = 256;  // an entry takes so many times as long
        const Index weight = 2 * pairs_ * static_cast<Index>(sizeof(T)) * (is_slow ? slow : 1);
        const Index item = kItemBytes / weight + 1;
        const Index items = (end - begin + item - 1) / item;
        std::atomic<Index> done{0};
        const auto write = [&](Index from, Index until) {  // an executor may count beyond the ends
            if (from < 0) from = 0;
            if (until > items) until = items;
            if (from < until) done.fetch_add(until - from, std::memory_order_relaxed);
            const Index last = std::min(end, begin + until * item);
            for (Index t = from < until ? begin + from * item : last; t < last; ++t)
                write_token(to + t * 2 * pairs_, t, move_of);
        };
        // With rope::part every thread has rows of its own, and makes all of them.
        const Cutting cutting = executor.cutting;
        if (cutting == Cutting::if_large ? (end - begin) * weight >= kSplitBytes : cutting == Cutting::always)
            executor(items, write);
        else
            write(0, items);
        return done.load(std::memory_order_relaxed) == items;
    }

    template <class MoveOf>
    void write_token(T* to, Index token, const MoveOf& move_of) const {
        Move moves[kMaxAxes];
        bool all_equal = !map_.is_mixed;
        for (Index axis = 0; axis < map_.axes; ++axis) {
            moves[axis] = move_of(axis, token);
            all_equal = all_equal && moves[axis] == moves[0];
        }
        if (all_equal) return write_run(to, {0, 0, pairs_}, moves[0]);
        for (const Run& run : order_.runs) write_run(to, run, moves[run.axis]);
        for (Index i = 0; map_.is_mixed && i < pairs_; ++i) {
            Phase angle;
            for (Index axis = 0; axis < map_.axes; ++axis) angle = angle + angle_of(axis * pairs_ + i, moves[axis]);
            put(new_.grown(i, angle, {0, 0.0}), to + i, to + pairs_ + i);
        }
    }

    void write_run(T* to, const Run& run, const Move& m) const {
        if (!has_two_ && order_.pair_at.empty())
            return write_entries(run.begin, run.end, m, to + run.begin, to + pairs_ + run.begin);
        T cos[kChunk], sin[kChunk];
        for (Index begin = run.begin; begin < run.end; begin += kChunk) {
            const Index end = std::min(begin + kChunk, run.end);
            write_entries(begin, end, m, cos, sin);
            for (Index i = begin; i < end; ++i) {
                to[order_.pair(i)] = cos[i - begin];
                to[pairs_ + order_.pair(i)] = sin[i - begin];
            }
        }
    }

    /// Writes entries begin .. end - 1; with two schedules at most kChunk of them.
    void write_entries(Index begin, Index end, const Move& m, T* cos, T* sin) const {
        const Index count = end - begin;
        if (!is_whole(m)) {
            for (Index i = 0; i < count; ++i) put(at_fraction(begin + i, m), cos + i, sin + i);
            return;
        }
        const Index position = has_two_ ? m.to.whole : m.to.whole - m.from.whole;
        const Row coarse = new_.coarse_row(position, begin), fine = new_.fine_row(position, begin);
        if (!has_two_) return write_(coarse, fine, count, cos, sin);
        Work a[2 * kChunk], b[2 * kChunk];
        add_(coarse, fine, count, a, a + kChunk);
        add_(old_.coarse_row(-m.from.whole, begin), old_.fine_row(-m.from.whole, begin), count, b, b + kChunk);
        write_({a, a + kChunk}, {b, b + kChunk}, count, cos, sin);
    }

    Phase angle_of(Index i, const Move& m) const noexcept {
        return new_.phase(i, m.to) + -(has_two_ ? old_ : new_).phase(i, m.from);
    }
    CosSin<DoubleDouble> at_fraction(Index i, const Move& m) const noexcept {
        const Phase angle = angle_of(i, m);
        if (!has_two_) return new_.grown(i, angle, {m.to.whole - m.from.whole, m.to.part - m.from.part});
        const DoubleDouble reciprocal = old_.grown(i, {}, {-m.from.whole, -m.from.part}).cos;
        const CosSin<DoubleDouble> entry = new_.grown(i, angle, m.to);
        return {entry.cos * reciprocal, entry.sin * reciprocal};
    }

    static void put(CosSin<DoubleDouble> entry, T* cos, T* sin) noexcept {
        assign(*cos, entry.cos);
        assign(*sin, entry.sin);
    }

    static constexpr Index kChunk = 64;

    TokenRows<T>& rows_;
    AxisOrder order_;  // of the frequencies, if axes are not mixed
    WriteRow<T, Work> write_ = write_row<T, Work>();
    WriteRow<Work, Work> add_ = write_row<Work, Work>();
    std::shared_ptr<T[]> own_;
    T* memory_ = nullptr;                  // the caller's, if any
    Index pairs_ = 0, room_ = 0;           // of a row, of all its heads; the capacity
    std::unique_ptr<double[]> positions_;  // of the last build, axis after axis
    bool is_complete_ = true, is_remembered_ = false;
};

ROPE_SOURCE_END
