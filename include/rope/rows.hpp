// SPDX-License-Identifier: MIT
// Rows: one row of cos and sin per token, built once per step.
#pragma once

#include <utility>

#include "axis_map.hpp"
#include "axis_positions.hpp"
#include "config.hpp"
#include "frequencies.hpp"
#include "fwd.hpp"
#include "positions.hpp"
#include "types.hpp"

#include "detail/base/hide_macros.hpp"

#include "detail/base/executor.hpp"
#include "detail/base/other_calls.hpp"
#include "detail/tables/token_rows.hpp"

ROPE_BEGIN

/// m*cos and m*sin of every pair at the position of every token of a step: for positions that no table has, because
/// they lie on several axes, are fractions, or are too many.
///
///     rope::Rows<float> rows(config, rope::mrope_sections({16, 24, 24}));  // once
///     rows.build(rope::AxisPositions(ids, 3, tokens), tokens);             // once per step
///     rope::apply<rope::Layout::half_split>(q, k, rows);                   // in every layer
///
/// Sequences with schedules of their own in one packed batch (LongRoPE short and long, dynamic NTK per sequence) have
/// Rows each, built with use_memory into pieces of one buffer, over which one WrappedRows lies.
///
/// For apply, the position of a row is its number: by default token s has row s; rope::start_at(n) gives it row n + s,
/// and ids pick rows in any order. There may be more rows than tokens. Rows that were built for several batch entries
/// are for calls with as many.
///
/// T is float, for data in float, half and bfloat16, or double, for data in double.
///
/// Accuracy. As CosSinCache, and at whole positions with its bits, for positions from -2^52 to 2^52: equal numbers on
/// all axes give the same row as one axis. As there, the largest error is stated below 2^31 (float) and 2^22 (double).
///
/// Cost. Making one takes a millisecond for 64 pairs. Building: in float some 1 ns per pair and token at whole
/// positions, 2 to 3 where axes differ; in double 25. Positions come in blocks of 128: the first one in a new block adds
/// 500 ns per pair, and the last 256 blocks are remembered. Every entry at a fraction or for mixed axes costs 500 ns by
/// itself, so build the rows of an image once for each size of image. A build for the positions of the last one only
/// compares them.
///
/// Half a megabyte is kept for 64 pairs in float, one in double, and the rows, whose memory is reused: building allocates
/// only when there are more tokens than ever before.
///
/// Not copied or moved. Any number of threads may read rows while nobody builds.
template <class T>
class Rows : public detail::TokenRows<T> {
    using Base = detail::TokenRows<T>;

 public:
    ROPE_ABI ~Rows() = default;

    /// For frequencies(config, seq_len); each pair follows its axis of the map. Throws std::invalid_argument where
    /// check(config) or check(map, pairs) is not ok, and for mixed axes, whose frequencies no Config has;
    /// std::bad_alloc when there is no memory.
    ROPE_ABI explicit Rows(const Config& config, AxisMap map = {}, Index seq_len = 0)
        : Base({config, seq_len}, std::move(map)) {}

    /// For given frequencies, which are not divided by anything. The slice says where in the head the rotated features
    /// lie; by default they are the head. Throws as above; mixed axes are allowed, but not with log_growth (xPos).
    ///
    /// With `heads` not 0 each head has frequencies of its own: inv_freq and the map have those of head 0, then of head 1,
    /// ... (with mixed axes inv_freq is [axes, heads, pairs]), and head h of a call, which has a multiple of `heads`, rotates by those of head h % heads. (rope-vit mixed and
    /// FoPE learn them for each head, LTX-2 and Mochi compute them.) Two slices of a head of 2D features with positions of
    /// their own, as Gemma 4's vision tower and ChatGLM-6B have them, are two heads of D: with pairs on axis 0, then on axis
    /// 1, and heads = 2, call rope::view(x, tokens, 2 * heads_of_x, D).
    ROPE_ABI explicit Rows(const Frequencies& frequencies, AxisMap map = {}, HeadSlice slice = {}, Index heads = 0)
        : Base({frequencies, slice, heads}, std::move(map)) {}

    /// Other frequencies for the same pairs, map and slice, as a step of training changes them. They are not divided by
    /// anything. The rows are discarded: build them again. Takes as long as making an object, and allocates nothing (but
    /// once, if inv_freq_low was empty and is not). Throws std::invalid_argument when check(frequencies) is not ok, and
    /// for another number of entries; then nothing has changed.
    ROPE_ABI void use_frequencies(const Frequencies& frequencies) { this->replace_frequencies(frequencies); }

    // The functions below check everything before they write anything: after a refusal the old rows are there.

    /// Rows for batch * seq tokens, entry after entry, whose positions are given as for apply. With several axes a
    /// token stands at the same position on all. Throws std::invalid_argument for a wrong number of positions and for
    /// counts outside 0 .. 2^40; std::out_of_range for a position outside -2^52 .. 2^52, beyond the sequence that a
    /// schedule's numbers for seq_len are meant for, or where a magnitude that grows (xPos) would leave e^-64 .. e^64;
    /// std::bad_alloc when there is no memory.
    ///
    /// Returns at once when the rows of these positions are there, from the last build (but not with use_memory, because
    /// memory of the caller's may have changed).
    ///
    /// The executor (see apply.hpp) gets work that fills at least 1 MiB; where every entry is slow, 4 KiB.
    template <class Executor = detail::CallingThread>
    ROPE_ABI void build(PositionsArgument&& given, Index seq, Index batch = 1, Executor&& executor = {}) {
        this->build_at(given, seq, batch, detail::any_executor(detail::only_throwing(executor)));
    }

    /// Rows for batch * seq tokens at positions of shape [axes, batch * seq], as many axes as the map has. Throws as
    /// above, also for a position that is not a number.
    template <class Executor = detail::CallingThread>
    ROPE_ABI void build(const AxisPositions& positions, Index seq, Index batch = 1, Executor&& executor = {}) {
        this->build_at(positions, seq, batch, detail::any_executor(detail::only_throwing(executor)));
    }

    /// Refuses every other call when it is compiled: a list without the number of tokens, for one.
    template <bool never = false>
    ROPE_ABI void build(ROPE_ANY_ARGUMENTS) {
        detail::refuse_build<never>();
    }

    /// use_memory(T* memory, Index rows): builds from now on into the caller's memory of `rows` rows of rotary_dim
    /// numbers (cosines, then sines; times heads, if these have rows of their own), which must outlive the rows; null returns to memory of its own. Rows built before
    /// are discarded. A build of more rows throws std::invalid_argument.
    using Base::use_memory;

    /// The number of rows that are built.
    using Base::rows;
    /// cos_row(Index row) and sin_row(Index row): pairs() entries m*cos(angle), or m*sin(angle), of a row, 0 ..
    /// rows() - 1, of one head after the other if these have rows of their own; valid until the next build. Throw
    /// std::out_of_range if there is no such row.
    using Base::cos_row;
    using Base::sin_row;
    // map() is the AxisMap that was given.
};

ROPE_END

#if ROPE_HAS_DEFINITIONS
#    include "detail/tables/build_token_rows.hpp"
#endif

#include "detail/base/restore_macros.hpp"
